//! Starting a collection and adding to it.

use super::{Remark, Wording};

pub(crate) fn finished_new(folder: &str) -> Remark {
    Remark::new(
        format!("finished what an earlier `new` had begun in {folder}"),
        format!("前の new が途中で終わっていたので、続きを済ませました：{folder}"),
    )
}

pub(crate) fn undone_new(folder: &str) -> Remark {
    Remark::new(
        format!("removed what an earlier `new` had left half-written in {folder}"),
        format!("前の new が作りかけたものを片付けました：{folder}"),
    )
}

pub(crate) fn finished_adding(folder: &str) -> Remark {
    Remark::new(
        format!("finished what an earlier `add` had begun in {folder}"),
        format!("前の add が途中で終わっていたので、続きを済ませました：{folder}"),
    )
}

pub(crate) fn undone_adding(folder: &str) -> Remark {
    Remark::new(
        format!("removed what an earlier `add` had left half-written in {folder}; add that poem again"),
        format!("前の add が作りかけたものを片付けました。その歌は、もう一度加えてください：{folder}"),
    )
}

/// An `add` that moves ranks was stopped half-way.
pub(crate) fn adding_begun() -> Wording {
    Wording::new(
        "ADD_BEGUN",
        (
            "an `add` was stopped half-way: ranks of this round are being moved",
            "run `wakashu check --fix`, which finishes it; nothing is lost",
        ),
        (
            "前の add が、この回の順位を動かす途中で止まっています。",
            "wakashu check --fix で続きを済ませられます。歌も画像も、なくなっていません。",
        ),
    )
}

/// An `add` was stopped before anything moved.
pub(crate) fn adding_left() -> Wording {
    Wording::new(
        "ADD_LEFT",
        (
            "an `add` was stopped while it wrote a new entry; nothing else was touched",
            "run `wakashu check --fix`, which removes what was half-written, and add the poem again",
        ),
        (
            "前の add が、新しい歌のファイルを作る途中で止まっています。ほかの歌には触れていません。",
            "wakashu check --fix で作りかけのものを片付けてから、その歌をもう一度加えてください。",
        ),
    )
}

pub(crate) fn new_begun() -> Wording {
    Wording::new(
        "NEW_BEGUN",
        ("a `new` was stopped half-way in the folder above", "run `wakashu check --fix`, which finishes it"),
        (
            "一つ上のフォルダーで、new が途中で止まっています。",
            "wakashu check --fix で続きを済ませられます。",
        ),
    )
}

pub(crate) fn not_empty(folder: &str, found: &str) -> Remark {
    Remark::new(
        format!("`{folder}` is not empty: `{found}` is there; name a folder that is empty or not there yet"),
        format!(
            "「{folder}」は空ではありません（「{found}」があります）。空のフォルダーか、まだないフォルダーを指定してください。"
        ),
    )
}

pub(crate) fn not_an_action(found: &str) -> Remark {
    Remark::new(
        format!("`{found}` does not name an action; write OWNER/NAME@REF"),
        format!("「{found}」ではアクションの場所が分かりません。OWNER/NAME@REF の形で書いてください。"),
    )
}

pub(crate) fn not_a_title(found: &str) -> Remark {
    Remark::new(
        format!("`{found}` cannot be a title; name one with --title"),
        format!("「{found}」は題にできません。--title で題を指定してください。"),
    )
}

pub(crate) fn made(folder: &str, title: &str) -> Remark {
    Remark::new(format!("made {folder}: {title}"), format!("「{title}」を作りました：{folder}"))
}

pub(crate) fn without_workflow() -> Remark {
    Remark::new(
        "without a workflow: the action's address is not known; README.md says how to add it",
        "GitHub のワークフローは入れていません（アクションの場所が分からないため）。加え方は README.md にあります。",
    )
}

/// What to type next, one command a line below it.
pub(crate) fn next() -> Remark {
    Remark::new("next:", "次に打つコマンド：")
}

/// How to get the program, for the README of a data repository, which is Japanese. The action lies in the program's repository.
pub(crate) fn install(action: Option<&str>) -> String {
    let repository = action.and_then(|action| {
        let mut names = action.split('@').next()?.split('/');
        Some(format!("https://github.com/{}/{}", names.next()?, names.next()?))
    });
    match repository {
        Some(repository) => {
            format!("入れ方は [インストールの説明]({repository}/blob/HEAD/docs/install.md) にあります。")
        }
        None => "入れ方は、wakashu を配っているところの docs/install.md にあります。".to_owned(),
    }
}

/// How a data repository is published, for its README, which is Japanese.
pub(crate) fn publishing(has_action: bool) -> &'static str {
    if has_action {
        "GitHub に置くと、投稿（プルリクエスト）ごとに和歌集が調べられ、main に入ると公開されます。初めに一度だけ、リポジトリの\n\
         Settings → Pages → Source を「GitHub Actions」にしてください。S3 に公開するときは、`.github/workflows/collection.yml` の\n\
         先頭に書いてある変数を、リポジトリの設定（Settings → Secrets and variables → Actions）に登録してください。"
    } else {
        "GitHub で自動的に調べて公開するには、wakashu のアクションの場所が要ります。分かったら、空のフォルダーで\n\
         `wakashu new DIR --action OWNER/NAME@REF` と打ち、できた `.github` フォルダーをここに移してください。"
    }
}

/// What `add` asks for, or misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Account,
    Picture,
    Poem,
    Name,
}

impl Wanted {
    fn option(self) -> &'static str {
        match self {
            Self::Account => "--account",
            Self::Picture => "--picture",
            Self::Poem => "--poem",
            Self::Name => "--name",
        }
    }
}

pub(crate) fn question(wanted: Wanted) -> Remark {
    match wanted {
        Wanted::Account => Remark::new("account, as @name: ", "投稿した人のアカウント名（@名前）： "),
        Wanted::Picture => {
            Remark::new("picture file (nothing for none): ", "画像のファイル（なければ Enter）： ")
        }
        Wanted::Poem => Remark::new("poem, an empty line ends it:\n", "歌（空の行で終わります）：\n"),
        Wanted::Name => Remark::new("name for the folder: ", "フォルダーに付ける名前： "),
    }
}

pub(crate) fn missing(wanted: Wanted) -> Remark {
    let option = wanted.option();
    Remark::new(
        format!("`{option}` is missing, and there is no terminal to ask on"),
        format!("{option} を指定してください（端末ではないので、その場でおたずねできません）。"),
    )
}

pub(crate) fn not_answered() -> Remark {
    Remark::new("nothing was added: there was no answer", "答えがなかったので、何も加えていません。")
}

pub(crate) fn unreadable_picture(path: &str, error: &std::io::Error) -> Remark {
    let (en, ja) = super::reason(error);
    Remark::new(format!("could not read `{path}`: {en}"), format!("「{path}」を読めません（{ja}）。"))
}

pub(crate) fn picture_too_large(path: &str, most: u64) -> Remark {
    let most = most / 1_000_000;
    Remark::new(
        format!("`{path}` is too large: at most {most} MB are accepted"),
        format!("「{path}」は大きすぎます。{most} MB まで使えます。"),
    )
}

pub(crate) fn stdin_too_long(most: u64) -> Remark {
    Remark::new(
        format!("the poem on stdin is longer than {most} bytes, or not UTF-8"),
        format!("標準入力の歌が長すぎる（{most} バイトまで）か、UTF-8 ではありません。"),
    )
}

pub(crate) fn not_a_round(found: &str) -> Remark {
    Remark::new(
        format!("`{found}` cannot be the name of a round; write one like `第2回`"),
        format!("「{found}」は回の名前にできません。「第2回」のように書いてください。"),
    )
}

pub(crate) fn not_a_name(found: &str) -> Remark {
    Remark::new(
        format!(
            "`{found}` cannot be the name of a folder; leave out `/`, `\\`, a leading dot and control characters"
        ),
        format!(
            "「{found}」はフォルダーの名前にできません。「/」「\\」、先頭の「.」、目に見えない文字は使えません。"
        ),
    )
}

pub(crate) fn round_has_errors(round: &str) -> Remark {
    Remark::new(
        format!(
            "round `{round}` has errors, so its ranks are not moved; put them right first: `wakashu check`"
        ),
        format!(
            "「{round}」には直すところがあるので、順位を動かせません。先に wakashu check で調べて直してください。"
        ),
    )
}

pub(crate) fn no_rank_left(round: &str) -> Remark {
    Remark::new(
        format!("round `{round}` has no rank left: the last one is 999999"),
        format!("「{round}」には空いた順位がありません。順位は 999999 までです。"),
    )
}

pub(crate) fn added(path: &str, dry_run: bool) -> Remark {
    if dry_run {
        Remark::new(format!("would add {path}"), format!("加えるもの：{path}"))
    } else {
        Remark::new(format!("added {path}"), format!("加えました：{path}"))
    }
}

pub(crate) fn moved(from: &str, to: &str, dry_run: bool) -> Remark {
    if dry_run {
        Remark::new(format!("  would move {from} to {to}"), format!("  動かすもの：{from} → {to}"))
    } else {
        Remark::new(format!("  moved {from} to {to}"), format!("  動かしました：{from} → {to}"))
    }
}

pub(crate) fn addresses_move(count: usize) -> Remark {
    Remark::new(
        format!("the addresses of {count} poems change with their ranks"),
        format!("順位とともに、{count} 首のページのアドレスが変わります。"),
    )
}

pub(crate) fn nothing_changed() -> Remark {
    Remark::new("nothing was changed", "まだ何も変えていません。")
}
