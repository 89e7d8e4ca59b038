//! About published versions: what they changed, and which are served.

use wakashu_storage::{ArchiveWrite, Changes, Counts};

use super::Remark;

/// What a version changed, in one line.
pub(crate) fn changes(changes: Option<&Changes>) -> Remark {
    let Some(Changes { rounds, poems }) = changes else {
        return Remark::new("not counted", "数えていません");
    };
    let (rounds_en, rounds_ja) = counted(*rounds, "round");
    let (poems_en, poems_ja) = counted(*poems, "poem");
    let en: Vec<String> = [rounds_en, poems_en].into_iter().flatten().collect();
    let ja: Vec<String> = [("回", rounds_ja), ("歌", poems_ja)]
        .into_iter()
        .filter_map(|(what, counted)| counted.map(|counted| format!("{what}：{counted}")))
        .collect();
    if en.is_empty() {
        return Remark::new("no round and no poem changed", "回にも歌にも変わりはありません");
    }
    Remark::new(en.join("; "), ja.join("／"))
}

fn counted(Counts { added, changed, removed }: Counts, what: &str) -> (Option<String>, Option<String>) {
    let parts = [(added, "added", "追加"), (changed, "changed", "変更"), (removed, "removed", "削除")];
    let parts: Vec<_> = parts.into_iter().filter(|(count, ..)| *count > 0).collect();
    if parts.is_empty() {
        return (None, None);
    }
    let mut en = String::new();
    for (at, (count, how, _)) in parts.iter().enumerate() {
        let plural = if *count == 1 { "" } else { "s" };
        en.push_str(&match at {
            0 => format!("{count} {what}{plural} {how}"),
            _ => format!(", {count} {how}"),
        });
    }
    let ja: Vec<String> = parts.iter().map(|(count, _, how)| format!("{how} {count}")).collect();
    (Some(en), Some(ja.join("、")))
}

pub(crate) fn note(note: &str) -> Remark {
    let note = crate::problem::printable(note);
    Remark::new(format!("note: {note}"), format!("メモ：{note}"))
}

/// Marks the version that readers get.
pub(crate) fn served() -> Remark {
    Remark::new("served", "公開中")
}

/// Marks a version that was taken back.
pub(crate) fn rolled_back() -> Remark {
    Remark::new("rolled back", "取り消し")
}

pub(crate) fn taken_back(changes: &Remark) -> Remark {
    Remark::new(format!("taken back: {}", changes.en), format!("取り消した変更：{}", changes.ja))
}

pub(crate) fn archive(write: ArchiveWrite, bytes: &str, dry_run: bool) -> Remark {
    let (en, ja, ja_dry) = match write {
        ArchiveWrite::Uploaded => ("uploaded", "書き込みました", "書き込みます"),
        ArchiveWrite::AlreadyThere => ("already there", "すでにあります", "すでにあります"),
        ArchiveWrite::Restored => ("restored", "書き直しました", "書き直します"),
    };
    let (done, ja) = if dry_run { ("would be ", ja_dry) } else { ("", ja) };
    Remark::new(format!("{done}{en}, {bytes}"), format!("{ja}（{bytes}）"))
}

pub(crate) fn pointer_unchanged() -> Remark {
    Remark::new("unchanged: these inputs are already served", "変わりません。同じ内容をすでに公開しています")
}

pub(crate) fn pointer_first(dry_run: bool) -> Remark {
    if dry_run {
        Remark::new("would be written, the first version here", "ここで初めての版になります")
    } else {
        Remark::new("written, the first version here", "ここで初めての版です")
    }
}

pub(crate) fn pruned(count: usize, bytes: &str, dry_run: bool) -> Remark {
    let (done, ja) = if dry_run { ("would be ", "消します") } else { ("", "消しました") };
    Remark::new(
        format!("{done}removed: {count} old archives, {bytes}"),
        format!("古いアーカイブ {count} 個（{bytes}）を{ja}"),
    )
}

pub(crate) fn not_pruned(reason: &str) -> Remark {
    Remark::new(
        format!("published, but old archives could not be removed: {reason}"),
        format!("公開しましたが、古いアーカイブを消せませんでした（{reason}）。"),
    )
}

pub(crate) fn note_not_kept() -> Remark {
    Remark::new(
        "the note was not kept: nothing new was published",
        "新しく公開したものがないので、メモは残しませんでした。",
    )
}
