//! Summaries, figures and remarks of the verbs.

use super::{Language, Remark};
use crate::problem::{Severity, Tally};

pub(crate) fn severity(severity: Severity) -> Remark {
    match severity {
        Severity::Error => Remark::new(severity.as_str(), "エラー"),
        Severity::Warning => Remark::new(severity.as_str(), "警告"),
    }
}

pub(crate) fn hint() -> Remark {
    Remark::new("hint", "直し方")
}

pub(crate) fn tally(Tally { errors, warnings }: Tally) -> Remark {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    Remark::new(
        format!("{}, {}", plural(errors, "error"), plural(warnings, "warning")),
        format!("エラー {errors} 件、警告 {warnings} 件"),
    )
}

pub(crate) fn verdict(path: &str, fails: bool) -> Remark {
    let (en, ja) = if fails {
        ("not in order", "直すところがあります")
    } else {
        ("in order", "問題ありません")
    };
    Remark::new(format!("{path}: {en}"), format!("{path}：{ja}"))
}

pub(crate) fn checked(rounds: u64, entries: u64, pictures: u64, bytes: &str) -> Remark {
    Remark::new(
        format!("checked: {rounds} rounds, {entries} entries, {pictures} pictures, {bytes}"),
        format!("調べたもの：{rounds} 回、{entries} 首、画像 {pictures} 枚、{bytes}"),
    )
}

pub(crate) fn not_checked(what: &Remark) -> Remark {
    Remark::new(format!("not checked: {}", what.en), format!("調べていないもの：{}", what.ja))
}

pub(crate) fn pictures_not_decoded() -> Remark {
    Remark::new(
        "pictures beyond their headers; --deep decodes them",
        "画像の中身（--deep を付けると調べます）",
    )
}

pub(crate) fn links_not_asked() -> Remark {
    Remark::new("whether links answer", "本歌のリンクがつながるか")
}

/// Only some annotations are shown beside a change.
pub(crate) fn more_in_summary(shown: usize, all: usize) -> Remark {
    Remark::new(
        format!(
            "{shown} of {all} are shown beside the change; all of them are in the job's summary and its log"
        ),
        format!(
            "変更の横に表示されるのは {all} 件のうち {shown} 件です。すべてはジョブの概要とログにあります。"
        ),
    )
}

/// Headings of the table in a job's summary: what, where, message, hint.
pub(crate) fn summary_headings() -> [Remark; 4] {
    [
        Remark::new("", ""),
        Remark::new("where", "場所"),
        Remark::new("what is wrong", "何が起きているか"),
        Remark::new("what to do", "直し方"),
    ]
}

pub(crate) fn left_off_summary(count: usize) -> Remark {
    Remark::new(
        format!("{count} more did not fit here; the log has them"),
        format!("ほかに {count} 件あります。ログを見てください。"),
    )
}

pub(crate) fn nothing_to_fix() -> Remark {
    Remark::new("nothing to fix without guessing", "自動で直せるところはありません。")
}

pub(crate) fn fixed(count: usize, dry_run: bool) -> Remark {
    if dry_run {
        Remark::new(
            format!("{count} would be fixed; nothing was changed"),
            format!("{count} か所を直せます。まだ何も変えていません。"),
        )
    } else {
        Remark::new(format!("{count} fixed"), format!("{count} か所を直しました。"))
    }
}

pub(crate) fn renamed(from: &str, to: &str) -> Remark {
    Remark::new(format!("rename {from} to {to}"), format!("名前の変更：{from} → {to}"))
}

pub(crate) fn rewritten(path: &str, encoding: Option<&str>) -> Remark {
    match encoding {
        Some(encoding) => Remark::new(
            format!("rewrite {path} as UTF-8 (it was {encoding})"),
            format!("書き直し：{path}（{encoding} から UTF-8 へ）"),
        ),
        None => Remark::new(format!("rewrite {path}"), format!("書き直し：{path}")),
    }
}

pub(crate) fn kept_as(path: &str) -> Remark {
    Remark::new(format!("  what it was is kept as {path}"), format!("  元のファイルは {path} に残しました。"))
}

pub(crate) fn not_fixed(what: &str, reason: &str) -> Remark {
    Remark::new(format!("not fixed: {what}: {reason}"), format!("直せませんでした：{what}（{reason}）"))
}

pub(crate) fn name_is_taken(to: &str) -> Remark {
    Remark::new(format!("`{to}` is there already"), format!("「{to}」がすでにあります"))
}

pub(crate) fn changed_meanwhile() -> Remark {
    Remark::new("the file has changed meanwhile", "ファイルがその間に変わりました")
}

pub(crate) fn system_says(error: &std::io::Error) -> Remark {
    let (en, ja) = super::reason(error);
    Remark { en, ja }
}

/// Why no archive came of a build.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unwritten {
    Problems,
    NothingLeft,
    ForStore,
}

pub(crate) fn no_archive(why: Unwritten) -> Remark {
    match why {
        Unwritten::Problems => Remark::new(
            "no archive was written; put the problems right, or leave bad entries out with --keep-going",
            "アーカイブは作りませんでした。問題を直してください。--keep-going を付けると、問題のある歌を除いて作ります。",
        ),
        Unwritten::NothingLeft => Remark::new(
            "no archive was written: no entry is left; put the problems right",
            "アーカイブは作りませんでした。載せられる歌が残っていません。問題を直してください。",
        ),
        Unwritten::ForStore => Remark::new(
            "no archive was made; put the problems right",
            "アーカイブは作りませんでした。問題を直してください。",
        ),
    }
}

pub(crate) fn partial(count: usize) -> Remark {
    Remark::new(
        format!("the archive is partial: {count} entries were left out"),
        format!("入っていない歌があります（{count} 首）。"),
    )
}

/// Rounds that are drafts are told of wherever they are not shown.
pub(crate) fn drafts_left_out(titles: &[String]) -> Remark {
    let (en, ja) = super::listed(titles);
    Remark::new(format!("drafts, not included: {en}"), format!("下書きの回なので、入れていません：{ja}"))
}

pub(crate) fn drafts_shown(titles: &[String]) -> Remark {
    let (en, ja) = super::listed(titles);
    Remark::new(format!("drafts, shown here only: {en}"), format!("下書きの回です。ここだけで見えます：{ja}"))
}

pub(crate) fn left_out(path: &str) -> Remark {
    Remark::new(format!("  left out: {path}"), format!("  除いた歌：{path}"))
}

/// What a closing figure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Rounds,
    Entries,
    Small,
    Medium,
    Large,
    Originals,
    Renditions,
    In,
    Out,
    Time,
    Digest,
    Archive,
    Serves,
    Before,
    Changes,
    Note,
    Pointer,
    Pruned,
}

impl Figure {
    fn remark(self) -> Remark {
        Remark::new(self.label(Language::English), self.label(Language::Japanese))
    }

    pub(crate) fn label(self, language: Language) -> &'static str {
        let (en, ja) = match self {
            Self::Rounds => ("rounds", "回"),
            Self::Entries => ("entries", "歌"),
            Self::Small => ("small", "画像（小）"),
            Self::Medium => ("medium", "画像（中）"),
            Self::Large => ("large", "画像（大）"),
            Self::Originals => ("originals", "元の画像"),
            Self::Renditions => ("renditions", "画像の変換"),
            Self::In => ("in", "読んだ量"),
            Self::Out => ("out", "書いた量"),
            Self::Time => ("time", "時間"),
            Self::Digest => ("digest", "版の番号（ハッシュ）"),
            Self::Archive => ("archive", "アーカイブ"),
            Self::Serves => ("serves", "公開する版"),
            Self::Before => ("before", "前の版"),
            Self::Changes => ("changes", "変わったこと"),
            Self::Note => ("note", "メモ"),
            Self::Pointer => ("pointer", "版の記録"),
            Self::Pruned => ("pruned", "片付け"),
        };
        match language {
            Language::English => en,
            Language::Japanese => ja,
        }
    }
}

pub(crate) fn serves() -> Remark {
    Figure::Serves.remark()
}

pub(crate) fn written() -> Remark {
    Figure::Out.remark()
}

pub(crate) fn bytes_in_files(bytes: &str, count: u64) -> Remark {
    Remark::new(format!("{bytes} in {count}"), format!("{bytes}（{count} 枚）"))
}

pub(crate) fn renditions(cached: usize, made: usize) -> Remark {
    Remark::new(
        format!("{cached} from the cache, {made} made"),
        format!("前回のものを使った {cached} 枚、新しく作った {made} 枚"),
    )
}

/// The last thing a preview says before it waits.
pub(crate) fn look_at(page: &str) -> Remark {
    Remark::new(
        format!("\nopen {page} in a browser; Ctrl-C ends the preview"),
        format!("\nブラウザーで {page} を開いてください。Ctrl-C で終わります。"),
    )
}

pub(crate) fn not_opened(page: &str) -> Remark {
    Remark::new(
        format!("no browser could be started; open {page} yourself"),
        format!("ブラウザーを開けませんでした。{page} を開いてください。"),
    )
}

pub(crate) fn changed_again() -> Remark {
    Remark::new("the collection changed; building it again", "和歌集が変わりました。作り直します。")
}

pub(crate) fn serving_new() -> Remark {
    Remark::new("serving the new version", "新しい版を見せています。")
}

pub(crate) fn serving_same() -> Remark {
    Remark::new(
        "nothing readers see has changed; serving the same version",
        "読者に見えるところは変わっていません。同じ版を見せています。",
    )
}

pub(crate) fn serving_before() -> Remark {
    Remark::new("still serving the version before", "前の版を見せたままです。")
}

pub(crate) fn serving_nothing() -> Remark {
    Remark::new("there is nothing to serve yet", "見せられる版は、まだありません。")
}

/// On top of a page that shows the collection as it is, with what there is to mend.
pub(crate) fn found_but_shown(found: Tally) -> Remark {
    let Remark { en, ja } = tally(found);
    Remark::new(
        format!("{en}; the collection can be published as it is"),
        format!("{ja}。このままでも公開できます。"),
    )
}

/// On top of a page that shows the version before.
pub(crate) fn found_before_shown(found: Tally) -> Remark {
    let Remark { en, ja } = tally(found);
    Remark::new(
        format!("{en}; the version before is shown until they are put right"),
        format!("{ja}。直すまでは、前の版を見せています。"),
    )
}

/// On top of a page that has nothing else to show.
pub(crate) fn found_nothing_shown(found: Tally) -> Remark {
    let Remark { en, ja } = tally(found);
    Remark::new(
        format!("{en}; the collection appears here once they are put right"),
        format!("{ja}。直すと、ここに和歌集が表示されます。"),
    )
}

pub(crate) fn more_in_terminal(count: usize) -> Remark {
    Remark::new(
        format!("{count} more; the terminal has them all"),
        format!("ほかに {count} 件あります。preview を動かしている画面で、すべて読めます。"),
    )
}

pub(crate) fn port_taken(port: u16) -> Remark {
    Remark::new(
        format!(
            "port {port} is taken, perhaps by another preview; choose another with --port, or any with --port 0"
        ),
        format!(
            "ポート {port} はほかのプログラム（別の preview など）が使っています。--port で別の番号を指定するか、--port 0 を付けてください。"
        ),
    )
}
