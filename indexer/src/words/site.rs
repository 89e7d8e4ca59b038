//! About the folder that is site and store, and about the book.

use std::fmt::Display;

use wakashu_archive::ContentHash;

use super::Remark;
use crate::site::Kind;

/// How many there are of a kind of file, and their bytes.
pub(crate) fn kind(kind: Kind) -> Remark {
    let (en, ja) = match kind {
        Kind::Pages => ("pages", "ページ"),
        Kind::Pictures => ("pictures", "画像"),
        Kind::Archives => ("archives", "アーカイブ"),
        Kind::Search => ("search", "検索用のデータ"),
        Kind::Other => ("other", "そのほか"),
    };
    Remark::new(en, ja)
}

pub(crate) fn all() -> Remark {
    Remark::new("all", "合計")
}

pub(crate) fn files() -> Remark {
    Remark::new("files", "ファイル")
}

pub(crate) fn bytes_in_files(bytes: &str, count: usize) -> Remark {
    Remark::new(format!("{bytes} in {count} files"), format!("{bytes}（{count} 個）"))
}

pub(crate) fn changes(written: usize, unchanged: usize, removed: usize, dry_run: bool) -> Remark {
    if dry_run {
        Remark::new(
            format!("{written} would be written, {unchanged} stay as they are, {removed} would be removed"),
            format!("書くもの {written}、そのまま {unchanged}、消すもの {removed}（まだ何も変えていません）"),
        )
    } else {
        Remark::new(
            format!("{written} written, {unchanged} unchanged, {removed} removed"),
            format!("書いたもの {written}、そのまま {unchanged}、消したもの {removed}"),
        )
    }
}

/// Free static hosts end at 1 GB.
pub(crate) fn large(bytes: &str) -> Remark {
    Remark::new(
        format!(
            "the site has {bytes}; GitHub Pages takes at most 1 GB. Build without --originals, keep fewer earlier \
             versions (--history 0), or publish to a bucket and serve from there"
        ),
        format!(
            "サイトは {bytes} あります。GitHub Pages に置けるのは 1 GB までです。--originals を外す、\
             前の版を残さない（--history 0）、またはバケットに公開してそこから見せる、のどれかを選んでください。"
        ),
    )
}

/// Readers who come with yesterday's pointer meet a missing archive.
pub(crate) fn lost(digest: ContentHash) -> Remark {
    Remark::new(
        format!("an earlier version could not be carried over, because it is gone there: {digest}"),
        format!("前の版 {digest} は、元のサイトにもうないため引き継げませんでした。"),
    )
}

pub(crate) fn nothing_before(place: &str) -> Remark {
    Remark::new(
        format!("nothing is there yet to carry over: {place}"),
        format!("引き継ぐものはまだありません：{place}"),
    )
}

pub(crate) fn poems_in_book(rounds: usize, poems: usize, pictures: usize) -> Remark {
    Remark::new(
        format!("{rounds} rounds, {poems} poems, {pictures} pictures"),
        format!("{rounds} 回、{poems} 首、画像 {pictures} 枚"),
    )
}

pub(crate) fn book() -> Remark {
    Remark::new("book", "歌集")
}

/// What may be done when a verb could not run.
pub(crate) mod failure {
    use super::{Display, Remark};

    pub(crate) fn foreign() -> Remark {
        Remark::new(
            "name a folder that is new, or one that `export` has written",
            "新しいフォルダーか、前に export で書いたフォルダーを指定してください。",
        )
    }

    pub(crate) fn list(path: impl Display) -> Remark {
        Remark::new(
            format!("remove `{path}` and run it again; files of the site are then taken for its own"),
            format!("{path} を消してから、もう一度実行してください。"),
        )
    }
}
