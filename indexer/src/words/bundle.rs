//! About the bundle that readers install.

use super::Remark;

pub(crate) fn only_here(platform: &str) -> Remark {
    Remark::new(
        format!("the bundle works on {platform} alone; --program TARGET=PATH puts in programs for others"),
        format!(
            "このバンドルは、{platform} でだけ動きます。ほかの環境のプログラムは --program TARGET=PATH で加えられます。"
        ),
    )
}

pub(crate) fn made(title: &str, bytes: &str, address: Option<&str>) -> Remark {
    match address {
        None => Remark::new(
            format!("{title}, {bytes}: the collection is inside"),
            format!("{title}（{bytes}）：歌集が中に入っています"),
        ),
        Some(address) => Remark::new(
            format!("{title}, {bytes}: reads {address} and is always current"),
            format!("{title}（{bytes}）：{address} をそのつど読み、いつも最新です"),
        ),
    }
}
