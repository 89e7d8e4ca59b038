//! About archives. Their parts and faults are named by the format's own words, in English.

use wakashu_archive::ContentHash;

use super::{Remark, Wording};

const AGAIN: &str = "copy the archive again, or build it again";
const AGAIN_JA: &str = "アーカイブをコピーし直すか、作り直してください。";

pub(crate) fn damaged(error: &str) -> Wording {
    Wording::new(
        "ARCHIVE_DAMAGED",
        (error, AGAIN),
        (format!("アーカイブが壊れています（{error}）。"), AGAIN_JA.to_owned()),
    )
}

pub(crate) fn not_an_archive(error: &str) -> Wording {
    Wording::new(
        "ARCHIVE_NOT_ONE",
        (error, "name an archive, or a collection's directory"),
        (
            format!("アーカイブではありません（{error}）。"),
            "アーカイブか、和歌集のフォルダーを指定してください。".to_owned(),
        ),
    )
}

pub(crate) fn other_version(error: &str) -> Wording {
    Wording::bare(
        "ARCHIVE_VERSION",
        error,
        format!("このプログラムでは読めない版のアーカイブです（{error}）。"),
    )
}

pub(crate) fn named_otherwise(digest: ContentHash, named: ContentHash) -> Wording {
    Wording::new(
        "ARCHIVE_NAME",
        (format!("digest is {digest}, but the file is named {named}"), AGAIN),
        (
            format!("ファイルの名前（{named}）が、中身から計算した番号（{digest}）と違います。"),
            AGAIN_JA.to_owned(),
        ),
    )
}

pub(crate) fn unreadable(error: &std::io::Error) -> Wording {
    Wording::new(
        "UNREADABLE",
        (format!("could not be read: {error}"), "look at the disk"),
        (format!("読めません（{error}）。"), "ディスクの状態を確かめてください。"),
    )
}

/// A picture or a page that could not be taken out.
pub(crate) fn not_shown(error: &str) -> Wording {
    Wording::bare("ARCHIVE_PART", error, format!("取り出せませんでした（{error}）。"))
}

pub(crate) fn nothing_checked() -> Remark {
    Remark::new("everything that trailer and root would have named", "目次に載っているはずのものすべて")
}

pub(crate) fn pages_not_checked(pages: usize) -> Remark {
    Remark::new(
        format!("entries and pictures of {pages} damaged pages"),
        format!("壊れた {pages} ページの歌と画像"),
    )
}

pub(crate) fn columns_too_large() -> Remark {
    Remark::new(
        "whether the search columns, which are large, hold the texts' keys",
        "検索用のデータが歌と合っているか（大きいため）",
    )
}

pub(crate) fn columns_of_other_keys(found: impl std::fmt::Display, ours: impl std::fmt::Display) -> Remark {
    Remark::new(
        format!(
            "whether the search columns hold the texts' keys: they hold keys {found}, this build makes {ours}; build again to have them searched"
        ),
        format!(
            "検索用のデータが歌と合っているか（版が {found}、このプログラムは {ours}。作り直すと検索できます）"
        ),
    )
}

pub(crate) fn metadata_not_checked() -> Remark {
    Remark::new("whether pictures carry metadata", "画像に撮影場所などの情報が残っていないか")
}

pub(crate) fn currency_not_checked() -> Remark {
    Remark::new(
        "whether it is what a collection holds now; build again and compare",
        "今の和歌集と同じ内容か（作り直して比べてください）",
    )
}
