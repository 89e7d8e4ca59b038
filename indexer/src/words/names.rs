//! About names of files and directories.

use super::{Wording, listed, reason};

const FIX: &str = "`check --fix` does it";
const FIX_JA: &str = "check --fix でも直せます。";
const SHAPE: &str = "expected `{rank}-{name}` with a rank from 1 to 999999 without leading zeros";

pub(crate) fn not_utf8() -> Wording {
    Wording::new(
        "NAME_NOT_UTF8",
        ("name is not UTF-8; bytes that are no text are shown as \\xNN", "rename it with UTF-8 characters"),
        (
            "名前の文字が読めません。読めない部分は \\xNN と表示しています。",
            "ふつうの文字で名前を付け直してください。",
        ),
    )
}

pub(crate) fn control_character() -> Wording {
    Wording::new(
        "NAME_CONTROL_CHARACTER",
        ("name contains a control character", "rename it without line breaks and the like"),
        (
            "名前に、改行など目に見えない文字が入っています。",
            "見えない文字を除いて、名前を付け直してください。",
        ),
    )
}

pub(crate) fn blank_title() -> Wording {
    Wording::new(
        "ROUND_TITLE_BLANK",
        ("round has a blank title", "rename the directory to the round's title, such as 第1回"),
        ("回の名前が空白だけです。", "フォルダーの名前を「第1回」のような回の名前にしてください。"),
    )
}

/// A round whose name has blanks at an end; it is read without them.
pub(crate) fn blanks_around_title(to: &str) -> Wording {
    Wording::new(
        "NAME_BLANKS",
        (
            format!("name has blanks at an end; the round is served as `{to}`"),
            format!("rename it to `{to}`; {FIX}"),
        ),
        (
            format!("フォルダーの名前の端に空白があります。「{to}」という回として扱います。"),
            format!("名前を「{to}」に変えてください。{FIX_JA}"),
        ),
    )
}

/// A round whose name is spelt with marks apart from their letters.
pub(crate) fn decomposed(to: &str) -> Wording {
    Wording::new(
        "NAME_DECOMPOSED",
        (
            "name is written with its voicing marks apart from the letters (NFD), as some Macs do; it is served that way",
            format!("rename it to `{to}`, spelt anew; {FIX}"),
        ),
        (
            "名前の濁点や半濁点が、文字と別々に記録されています（NFD）。一部の Mac で起こります。そのままの形で公開します。",
            format!("「{to}」と入力し直してください。{FIX_JA}"),
        ),
    )
}

/// What is wrong with the name of an entry's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankFault {
    NoHyphen,
    LeadingZero,
    NoName,
    TooLarge,
    Zero,
}

/// `name` is what follows the rank `rank`; `fixable` if the right name needs no guess.
pub(crate) fn rank_misspelt(fault: RankFault, rank: &str, name: &str, fixable: bool) -> Wording {
    let or = |placeholder| if name.is_empty() { placeholder } else { name };
    let (to, to_ja) = (format!("{rank}-{}", or("name")), format!("{rank}-{}", or("名前")));
    if fixable {
        let hint = format!("rename it to `{to}`; {FIX}");
        return rank_wrong(fault, hint, format!("名前を「{to_ja}」に変えてください。{FIX_JA}"));
    }
    let hint_ja = format!("たとえば「{to_ja}」という名前に変えてください。");
    rank_wrong(fault, format!("rename it, for example to `{to}`"), hint_ja)
}

pub(crate) fn rank_out_of_range(fault: RankFault) -> Wording {
    rank_wrong(fault, "give it a rank from 1 to 999999", "1 から 999999 までの順位を付けてください。")
}

fn rank_wrong(fault: RankFault, hint: impl AsRef<str>, hint_ja: impl AsRef<str>) -> Wording {
    let (code, en, ja) = match fault {
        RankFault::NoHyphen => {
            ("RANK_HYPHEN", "name has no `-` after the rank", "順位のあとに「-」がありません。")
        }
        RankFault::LeadingZero => ("RANK_ZEROS", "rank begins with 0", "順位の頭に 0 が付いています。"),
        RankFault::NoName => {
            ("RANK_NAME", "name after the rank is missing", "順位のあとの名前がありません。")
        }
        RankFault::TooLarge => ("RANK_TOO_LARGE", "rank is too large", "順位が大きすぎます。"),
        RankFault::Zero => ("RANK_ZERO", "rank is 0", "順位が 0 です。"),
    };
    let ja = format!(
        "{ja}フォルダーの名前は「順位-名前」の形です。順位は 1 から 999999 までの数字で、頭に 0 は付けません。"
    );
    Wording::new(code, (format!("{en}; {SHAPE}"), hint), (ja, hint_ja))
}

/// A directory whose rank is clear although its name is spelt otherwise.
pub(crate) fn rank_read_as(rank: u32, to: &str) -> Wording {
    Wording::new(
        "RANK_SPELLING",
        (
            format!(
                "name is read as rank {rank}; expected `{{rank}}-{{name}}` in plain digits with a plain hyphen"
            ),
            format!("rename it to `{to}`; {FIX}"),
        ),
        (
            format!(
                "{rank}位として読みました。正しい形は、半角の数字と半角のハイフンで書いた「順位-名前」です。"
            ),
            format!("名前を「{to}」に変えてください。{FIX_JA}"),
        ),
    )
}

/// A file whose meaning is clear although its name is spelt otherwise.
pub(crate) fn read_as(to: &str) -> Wording {
    Wording::new(
        "NAME_SPELLING",
        (format!("name is read as `{to}`"), format!("rename it to `{to}`; {FIX}")),
        (format!("「{to}」として読みました。"), format!("名前を「{to}」に変えてください。{FIX_JA}")),
    )
}

pub(crate) fn text_of_other_rank(name: &str, expected: &str) -> Wording {
    Wording::new(
        "TEXT_OF_OTHER_RANK",
        (
            format!("`{name}` does not carry the directory's rank; expected `{expected}`"),
            format!("rename it to `{expected}`, or move it to the directory of its rank"),
        ),
        (
            format!("「{name}」の番号が、フォルダーの順位と違います。ここに置けるのは「{expected}」です。"),
            format!(
                "この順位の歌なら、名前を「{expected}」に変えてください。別の順位の歌なら、その順位のフォルダーに移してください。"
            ),
        ),
    )
}

pub(crate) fn picture_of_other_rank(name: &str, expected_stem: &str, to: &str) -> Wording {
    Wording::new(
        "PICTURE_OF_OTHER_RANK",
        (
            format!("`{name}` does not carry the directory's rank; expected `{expected_stem}.*`"),
            format!("rename it to `{to}`, or move it to the directory of its rank"),
        ),
        (
            format!("「{name}」の番号が、フォルダーの順位と違います。"),
            format!(
                "この順位の画像なら、名前を「{to}」に変えてください。別の順位の画像なら、その順位のフォルダーに移してください。"
            ),
        ),
    )
}

pub(crate) fn picture_extension(extension: &str) -> Wording {
    Wording::new(
        "PICTURE_EXTENSION",
        (
            format!("pictures are png, jpg, jpeg, webp, gif, heic or heif, found `.{extension}`"),
            "export the picture as PNG or JPEG",
        ),
        (
            format!(
                "「.{extension}」の画像は使えません。使えるのは png、jpg、jpeg、webp、gif、heic、heif です。"
            ),
            "画像を PNG か JPEG で保存し直してください。",
        ),
    )
}

/// A picture whose name ends before it says what kind of picture it is.
pub(crate) fn picture_without_extension(stem: &str) -> Wording {
    Wording::new(
        "PICTURE_EXTENSION",
        (
            "name has no ending; pictures are png, jpg, jpeg, webp, gif, heic or heif",
            format!("add the ending of its kind, as in `{stem}.png`"),
        ),
        (
            "名前の終わりに .png などがありません。使えるのは png、jpg、jpeg、webp、gif、heic、heif です。",
            format!("画像の種類に合わせて、「{stem}.png」のような名前に変えてください。"),
        ),
    )
}

/// A text under another name, where no text of the right name is.
pub(crate) fn text_name(name: &str, expected: &str, fixable: bool) -> Wording {
    let (fix, fix_ja) = if fixable { ("; `check --fix` does it", FIX_JA) } else { ("", "") };
    Wording::new(
        "TEXT_NAME",
        (
            format!("`{name}` looks like the text of this entry; expected `{expected}`"),
            format!("rename it to `{expected}`{fix}"),
        ),
        (
            format!("「{name}」はこの歌の文章のようですが、名前が違います。正しい名前は「{expected}」です。"),
            format!("名前を「{expected}」に変えてください。{fix_ja}"),
        ),
    )
}

/// A second text beside the one that is used.
pub(crate) fn text_not_used(used: &str) -> Wording {
    Wording::new(
        "TEXT_NOT_USED",
        (
            format!("another text is not used; `{used}` is"),
            "begin its name with a dot to keep it out of the collection",
        ),
        (
            format!("歌の文章がもう一つあります。「{used}」を使い、これは使いません。"),
            "控えとして残すなら、名前の頭に「.」を付けてください。",
        ),
    )
}

pub(crate) fn two_texts(names: &[String], expected: &str) -> Wording {
    let (en, ja) = listed(names);
    Wording::new(
        "TEXT_TWICE",
        (
            format!("entry has {} texts: {en}; expected one", names.len()),
            format!(
                "rename the right one to `{expected}`, and begin the others' names with a dot to keep them"
            ),
        ),
        (
            format!("一つの歌に、文章のファイルが {} 個あります：{ja}", names.len()),
            format!("使うものを「{expected}」に変え、残りは名前の頭に「.」を付けてください。"),
        ),
    )
}

/// Several files whose names are nearly `expected`, and none that has it.
pub(crate) fn two_files(names: &[String], expected: &str) -> Wording {
    let (en, ja) = listed(names);
    Wording::new(
        "FILE_TWICE",
        (
            format!("{} files can be meant by `{expected}`: {en}; expected one", names.len()),
            format!(
                "rename the right one to `{expected}`, and begin the others' names with a dot to keep them"
            ),
        ),
        (
            format!("「{expected}」として読めるファイルが {} 個あります：{ja}", names.len()),
            format!("使うものを「{expected}」に変え、残りは名前の頭に「.」を付けてください。"),
        ),
    )
}

/// A picture under a name that does not say whose it is.
pub(crate) fn picture_name(to: &str) -> Wording {
    Wording::new(
        "PICTURE_NAME",
        (format!("picture is not used; expected `{to}`"), format!("rename it to `{to}`")),
        (
            format!("この画像は使われません。使う画像の名前は「{to}」です。"),
            format!("この歌の画像なら、名前を「{to}」に変えてください。"),
        ),
    )
}

/// A picture beside the one that is used.
pub(crate) fn picture_not_used(used: &str) -> Wording {
    Wording::new(
        "PICTURE_NOT_USED",
        (
            format!("another picture is not used; `{used}` is"),
            "begin its name with a dot to keep it out of the collection",
        ),
        (
            format!("画像がもう一つあります。「{used}」を使い、これは使いません。"),
            "控えとして残すなら、名前の頭に「.」を付けてください。",
        ),
    )
}

pub(crate) fn unfinished_download(finished: &str) -> Wording {
    Wording::new(
        "DOWNLOAD_UNFINISHED",
        (
            "a download that was not finished is ignored",
            format!("download it again, so that it is named `{finished}`"),
        ),
        (
            "ダウンロードが途中で止まったファイルです。使われません。",
            format!("もう一度ダウンロードして、「{finished}」になったことを確かめてください。"),
        ),
    )
}

/// What a file that has no place looks like, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stray {
    /// An archive of ours.
    Archive,
    /// A poem or a picture directly in the collection.
    LostAtRoot,
    /// A poem or a picture directly in a round.
    LostInRound,
    /// Something else, which may hold anything.
    Other,
}

pub(crate) fn unexpected_file(stray: Stray) -> Wording {
    let (hint, hint_ja) = match stray {
        Stray::Archive => (
            "keep archives outside the collection: `build -o DIR`",
            "アーカイブは和歌集のフォルダーの外に置いてください（build -o フォルダー）。",
        ),
        Stray::LostAtRoot => (
            "move it into the directory of its entry, such as `第1回/1-Laptop`",
            "「第1回/1-Laptop」のような、その歌のフォルダーに移してください。",
        ),
        Stray::LostInRound => (
            "move it into the directory of its entry, such as `1-Laptop`",
            "「1-Laptop」のような、その歌のフォルダーに移してください。",
        ),
        Stray::Other => (
            "begin its name with a dot to keep it out of the collection",
            "控えとして残すなら、名前の頭に「.」を付けてください。",
        ),
    };
    let ja = match stray {
        Stray::LostAtRoot | Stray::LostInRound => {
            "歌や画像は、その歌のフォルダーに置きます。ここにあるものは使われません。"
        }
        _ => "和歌集のファイルではないようです。使われません。",
    };
    Wording::new("FILE_UNEXPECTED", ("unexpected file is ignored", hint), (ja, hint_ja))
}

/// A directory inside an entry.
pub(crate) fn unexpected_directory_in_entry() -> Wording {
    Wording::new(
        "DIRECTORY_UNEXPECTED",
        (
            "unexpected directory is ignored",
            "begin its name with a dot to keep it out of the collection, or move its files up into the entry",
        ),
        (
            "歌のフォルダーの中に、別のフォルダーがあります。中のものは使われません。",
            "使うファイルがあれば、歌のフォルダーに移してください。控えとして残すなら、名前の頭に「.」を付けてください。",
        ),
    )
}

pub(crate) fn unexpected_directory() -> Wording {
    Wording::new(
        "DIRECTORY_UNEXPECTED",
        (
            "unexpected directory is ignored; expected `{rank}-{name}`, for example `1-Laptop`",
            "begin its name with a dot to keep it out of the collection",
        ),
        (
            "歌のフォルダーではないようです。使われません。歌のフォルダーは「1-Laptop」のような「順位-名前」の形です。",
            "控えとして残すなら、名前の頭に「.」を付けてください。",
        ),
    )
}

/// A directory with a poem or a picture in it; `example` is its name with a rank before it.
pub(crate) fn directory_without_rank(example: &str) -> Wording {
    Wording::new(
        "RANK_MISSING",
        (
            "directory holds a text or a picture but has no rank; expected `{rank}-{name}`, for example `1-Laptop`",
            format!("put the rank and a hyphen before its name: rename it to `{example}`, with its own rank"),
        ),
        (
            "歌か画像が入っていますが、フォルダーの名前に順位がありません。名前は「1-Laptop」のような「順位-名前」の形です。",
            format!("名前の前に順位と「-」を付けてください。1位なら「{example}」です。"),
        ),
    )
}

/// An entry that lies directly in the collection.
pub(crate) fn entry_without_round(name: &str) -> Wording {
    Wording::new(
        "ROUND_MISSING",
        (
            "an entry lies outside a round",
            format!("make a directory for its round, such as `第1回`, and move this into it: `第1回/{name}`"),
        ),
        (
            "歌のフォルダーが、回のフォルダーの外にあります。",
            format!("「第1回」のような回のフォルダーを作り、その中に移してください（第1回/{name}）。"),
        ),
    )
}

pub(crate) fn symlink_leads_out() -> Wording {
    Wording::new(
        "SYMLINK_OUTSIDE",
        (
            "symlink leads out of the collection and is not followed",
            "copy what it points to into the collection",
        ),
        (
            "リンク（シンボリックリンク）の先が和歌集のフォルダーの外にあります。使われません。",
            "リンクの代わりに、ファイルそのものを和歌集のフォルダーにコピーしてください。",
        ),
    )
}

pub(crate) fn symlink_loops() -> Wording {
    Wording::new(
        "SYMLINK_LOOP",
        ("symlink leads back to a directory it lies in and is not followed", "remove the symlink"),
        (
            "リンク（シンボリックリンク）が、自分の入っているフォルダーに戻っています。使われません。",
            "このリンクを消してください。",
        ),
    )
}

pub(crate) fn symlink_leads_nowhere() -> Wording {
    Wording::new(
        "SYMLINK_BROKEN",
        ("symlink leads nowhere", "remove it, or restore what it points to"),
        (
            "リンク（シンボリックリンク）の先に何もありません。",
            "リンクの先のファイルを元に戻すか、このリンクを消してください。",
        ),
    )
}

pub(crate) fn symlink_unfollowable(reason: &str) -> Wording {
    Wording::new(
        "SYMLINK_BROKEN",
        (format!("symlink could not be followed: {reason}"), "remove it, or let it point to what is meant"),
        (
            format!("リンク（シンボリックリンク）の先をたどれません（{reason}）。"),
            "正しいファイルを指すように直すか、このリンクを消してください。",
        ),
    )
}

pub(crate) fn unlistable(error: Option<&std::io::Error>, other: &str) -> Wording {
    let (en, ja) = error.map_or_else(|| (other.to_owned(), other.to_owned()), reason);
    Wording::new(
        "UNREADABLE",
        (format!("could not be read: {en}"), "look at its permissions and the disk"),
        (format!("読めません（{ja}）。"), "アクセス権と、ディスクの状態を確かめてください。"),
    )
}

pub(crate) fn not_a_regular_file() -> Wording {
    Wording::new(
        "FILE_KIND",
        ("not a regular file", "replace it by an ordinary file"),
        ("ふつうのファイルではありません。", "ふつうのファイルに置き換えてください。"),
    )
}

pub(crate) fn unreadable(error: &std::io::Error) -> Wording {
    let (en, ja) = reason(error);
    Wording::new(
        "UNREADABLE",
        (format!("file could not be read: {en}"), "look at the file's permissions and the disk"),
        (
            format!("ファイルを読めません（{ja}）。"),
            "ファイルのアクセス権と、ディスクの状態を確かめてください。",
        ),
    )
}

pub(crate) fn too_large(found: u64, most: u64) -> Wording {
    Wording::new(
        "FILE_TOO_LARGE",
        (format!("file has {found} bytes; at most {most} are accepted"), "make the file smaller"),
        (
            format!("ファイルが大きすぎます（{found} バイト）。{most} バイトまで使えます。"),
            "ファイルを小さくしてください。",
        ),
    )
}

pub(crate) fn changed_while_read() -> Wording {
    Wording::new(
        "FILE_CHANGED",
        ("file changed while it was read", "wait until nothing writes to the collection, and try again"),
        (
            "読んでいる間に、ファイルが書き換えられました。",
            "書き込みが終わるのを待って、もう一度試してください。",
        ),
    )
}
