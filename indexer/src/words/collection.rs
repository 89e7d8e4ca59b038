//! About what a collection holds and lacks.

use super::{Wording, listed};

pub(crate) fn no_round() -> Wording {
    Wording::new(
        "NO_ROUND",
        (
            "no round was found; expected directories such as `第1回`",
            "name the directory that holds the rounds",
        ),
        (
            "回のフォルダーが見つかりません。「第1回」のようなフォルダーが必要です。",
            "回のフォルダーが入っているフォルダーを指定してください。",
        ),
    )
}

/// What was probably meant by a collection without entries.
pub(crate) enum Meant {
    /// The directory that holds this one.
    Parent,
    /// One of these directories inside.
    Inside(Vec<String>),
    /// Nobody knows.
    Unknown,
}

pub(crate) fn no_entry(meant: &Meant) -> Wording {
    let (hint, hint_ja) = match meant {
        Meant::Parent => (
            "this looks like a round: name the directory that holds the rounds".to_owned(),
            "これは一つの回のフォルダーのようです。回のフォルダーが入っている、一つ上のフォルダーを指定してください。".to_owned(),
        ),
        Meant::Inside(likely) => (
            format!("did you mean `{}`?", likely.join("` or `")),
            format!("「{}」のことではありませんか。", likely.join("」か「")),
        ),
        Meant::Unknown => (
            "add entries, or name the directory that holds the rounds".to_owned(),
            "歌を加えるか、回のフォルダーが入っているフォルダーを指定してください。".to_owned(),
        ),
    };
    Wording::new(
        "NO_ENTRY",
        ("no round has an entry; expected directories such as `1-Laptop` inside a round", hint),
        ("どの回にも歌がありません。回のフォルダーの中に「1-Laptop」のようなフォルダーが必要です。", hint_ja),
    )
}

pub(crate) fn is_a_store(pointer: &str, archives: &str) -> Wording {
    Wording::new(
        "IS_A_STORE",
        (
            format!("this is a store, not a collection: it holds `{pointer}` and `{archives}`"),
            "name the collection, a directory of rounds such as `第1回`",
        ),
        (
            format!("これは和歌集ではなく、公開の置き場所です（「{pointer}」と「{archives}」があります）。"),
            "「第1回」のような回のフォルダーが入っている、和歌集のフォルダーを指定してください。",
        ),
    )
}

pub(crate) fn only_drafts() -> Wording {
    Wording::new(
        "ONLY_DRAFTS",
        (
            "every round with entries is a draft: there is nothing to publish",
            "remove `Draft` from the `編纂時期.json` of a round that is ready; `preview` shows drafts",
        ),
        (
            "歌のある回がすべて下書きなので、公開するものがありません。",
            "公開する回の「編纂時期.json」から「下書き」（Draft）の行を消してください。下書きは preview で見られます。",
        ),
    )
}

pub(crate) fn rounds_alike(number: Option<u32>, names: &[String]) -> Wording {
    let (en, ja) = listed(names);
    let (what, what_ja) = match number {
        Some(number) => {
            (format!("rounds have the same number {number}"), format!("第{number}回が二つ以上あります"))
        }
        None => (
            "rounds have titles that read the same".to_owned(),
            "読むと同じになる名前の回が二つ以上あります".to_owned(),
        ),
    };
    Wording::new(
        "ROUND_TWICE",
        (format!("{what}: {en}"), "rename or merge them, so that each title stands for one round"),
        (
            format!("{what_ja}：{ja}"),
            "一つの名前が一つの回になるように、名前を変えるか、一つにまとめてください。",
        ),
    )
}

pub(crate) fn rounds_alike_but_for_marks(names: &[String]) -> Wording {
    let (en, ja) = listed(names);
    Wording::new(
        "ROUND_TWICE",
        (
            format!("rounds have titles that differ by marks without width only: {en}"),
            "rename or merge them, so that each title stands for one round",
        ),
        (
            format!("見えない文字のほかは同じ名前の回が二つ以上あります：{ja}"),
            "一つの名前が一つの回になるように、見えない文字を除いて名前を付け直すか、一つにまとめてください。",
        ),
    )
}

pub(crate) fn round_empty() -> Wording {
    Wording::new(
        "ROUND_EMPTY",
        (
            "round is empty; expected directories such as `1-Laptop`",
            "add entries, or begin its name with a dot to keep it out of the collection",
        ),
        (
            "この回には歌がありません。「1-Laptop」のようなフォルダーが必要です。",
            "歌を加えてください。まだ始めない回なら、フォルダーの名前の頭に「.」を付けてください。",
        ),
    )
}

pub(crate) fn rank_twice(rank: u32, names: &[String]) -> Wording {
    let (en, ja) = listed(names);
    Wording::new(
        "RANK_TWICE",
        (
            format!("rank {rank} is given more than once: {en}"),
            "ranks are unique, ties are not kept: give each directory its own rank",
        ),
        (
            format!("{rank}位が二つ以上あります：{ja}"),
            "同じ順位は付けられません。フォルダーごとに別の順位を付けてください。",
        ),
    )
}

pub(crate) fn text_missing(expected: &str) -> Wording {
    Wording::new(
        "TEXT_MISSING",
        (
            format!("text is missing; expected `{expected}`"),
            "add the text file, or begin the directory's name with a dot to keep it out of the collection",
        ),
        (
            format!("歌のファイルがありません。「{expected}」が必要です。"),
            format!(
                "「{expected}」を加えてください。まだ載せない歌なら、フォルダーの名前の頭に「.」を付けてください。"
            ),
        ),
    )
}

pub(crate) fn two_pictures(names: &[String]) -> Wording {
    let (en, ja) = listed(names);
    Wording::new(
        "PICTURE_TWICE",
        (
            format!("entry has {} pictures: {en}; expected one", names.len()),
            "keep one of them, and begin the others' names with a dot",
        ),
        (
            format!("一つの歌に、画像が {} 枚あります：{ja}", names.len()),
            "使う一枚を残し、ほかの画像は名前の頭に「.」を付けてください。",
        ),
    )
}

pub(crate) fn picture_missing(rank: u32) -> Wording {
    Wording::new(
        "PICTURE_MISSING",
        (
            format!("picture is missing; expected `Picture{rank}` as png, jpg, webp, gif or heic"),
            "add a picture, or leave it out: the entry is then served without one",
        ),
        (
            format!(
                "画像がありません。「Picture{rank}.png」のような画像を置けます（png、jpg、webp、gif、heic）。"
            ),
            "画像を加えてください。なくても、歌だけで公開できます。",
        ),
    )
}

/// The collection does not say its own title.
pub(crate) fn untitled(file: &str, title: &str) -> Wording {
    Wording::new(
        "TITLE_DEFAULT",
        (
            format!("`{file}` is missing; the poems are served under the title `{title}`"),
            format!("to change it, write {{\"Title\": \"…\"}} into `{file}`"),
        ),
        (
            format!("「{file}」がありません。歌は「{title}」という題で公開されます。"),
            format!("題を変えるには、{{\"Title\": \"…\"}} と書いた「{file}」を置いてください。"),
        ),
    )
}
