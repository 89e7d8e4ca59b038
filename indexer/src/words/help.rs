//! The help of the curator's verbs. English is written beside the arguments; this is the Japanese.

use clap::{Arg, ArgAction, Command};

use super::Language;

const TEMPLATE: &str = "\
{about}

使い方： {usage}

引数：
{positionals}

オプション：
{options}{after-help}";

const CHECK: &str = "和歌集を（アーカイブを作らずに）調べます。アーカイブを調べることもできます";

const AFTER_CHECK: &str = "\
和歌集では、名前、文章、時期、画像の先頭を調べます。--deep を付けると、画像をすべて開いて調べます。
アーカイブでは、中身のすべてを調べます。問題が見つかっても、最後まで調べます。
--fix を付けると、自動で直せる名前と文章を直します。元のファイルは、同じフォルダーに「.」で始まる名前で残します。

終了コード：0 問題なし、1 直すところがある、2 調べられなかった

例：
  wakashu-indexer check wakashu_dir
  wakashu-indexer check wakashu_dir --fix --dry-run
  wakashu-indexer check wakashu_dir --deep --strict
  wakashu-indexer check out/<digest>.wakashu";

const NEW: &str = "和歌集を、自分のリポジトリとして始めます";

const AFTER_NEW: &str = "\
フォルダーに、見本が一首入った和歌集、エディターのための設定、GitHub のワークフロー、使い方の README を置きます。
空のフォルダーか、まだないフォルダーを指定してください（.git だけが入っているフォルダーも使えます）。

例：
  wakashu-indexer new 私の和歌集
  wakashu-indexer new poems --title 春の和歌集 --action OWNER/NAME@REF";

const ADD: &str = "歌を一首、回に加えます";

const AFTER_ADD: &str = "\
順位は、最後の歌の次になります。--rank で途中に入れると、後ろの歌の順位が、空きのあるところまで一つずつ下がり、
歌のページのアドレスも変わります。--dry-run で、何が変わるかを先に見られます。
足りないものは、端末ならその場でおたずねします。途中で止まっても、歌も画像もなくなりません。
次に add か check --fix を使うと、続きを済ませるか、元に戻します。

例：
  wakashu-indexer add wakashu_dir 第2回 --account \"@花子\" --picture IMG_0042.HEIC --poem -
      歌を標準入力から読みます
  wakashu-indexer add wakashu_dir 2 --rank 3 --dry-run --account \"@花子\" --picture a.png --poem 歌";

/// The verbs that are explained in Japanese: name, what it does, what is said after its arguments.
const VERBS: [(&str, &str, &str); 3] =
    [("new", NEW, AFTER_NEW), ("add", ADD, AFTER_ADD), ("check", CHECK, AFTER_CHECK)];

/// Returns the command with the help of the curator's verbs in a language.
pub(crate) fn translated(command: Command, language: Language) -> Command {
    if language == Language::English {
        return command;
    }
    VERBS.into_iter().fold(command.mut_args(in_japanese), |command, (name, about, after)| {
        command.mut_subcommand(name, |verb| {
            // Its own flag for help, because the one clap adds speaks English.
            let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
            let verb = verb
                .disable_help_flag(true)
                .disable_version_flag(true)
                .arg(help.help("この説明を表示します"));
            let of_verb = |argument: Arg| match (name, argument.get_id().as_str()) {
                ("add", "wakashu_dir") => argument.help("和歌集のフォルダー"),
                ("add", "dry_run") => argument.help("何をするかを表示するだけで、何もしません"),
                _ => in_japanese(argument),
            };
            verb.about(about).after_help(after).help_template(TEMPLATE).mut_args(of_verb)
        })
    })
}

/// Gives an argument its help. Those of other verbs keep theirs.
fn in_japanese(argument: Arg) -> Arg {
    let Some(help) = help_of(argument.get_id().as_str()) else { return argument };
    // What clap would add by itself is English; the texts name values and defaults.
    let takes_value = argument.get_action().takes_values();
    argument.help(help).hide_possible_values(takes_value).hide_default_value(takes_value)
}

fn help_of(argument: &str) -> Option<&'static str> {
    Some(match argument {
        "target" => "和歌集のフォルダー、またはアーカイブ",
        "dir" => "和歌集を置くフォルダー",
        "title" => "和歌集の題（指定しなければフォルダーの名前）",
        "action" => "ワークフローが使うアクション（指定しなければ、このプログラムの公開元のもの）",
        "round" => "回の名前か番号。まだない回なら、新しく始めます",
        "account" => "投稿した人のアカウント名（@名前）",
        "picture" => "画像のファイル（png、jpg、webp、gif、heic）",
        "name" => "フォルダーの名前の後ろ半分（指定しなければアカウント名から付けます）",
        "poem" => "歌。- と書くと、標準入力から読みます",
        "yomi" => "歌のよみがな",
        "honka" => "本歌のリンク。いくつでも付けられます",
        "prompt" => "画像を作ったときのプロンプト",
        "rank" => "順位（指定しなければ最後の歌の次）",
        "strict" => "警告もエラーとして扱います",
        "format" => "結果の形：text（人が読む形）、json、github（GitHub の画面に表示する形）",
        "json" => "結果を JSON で出力します（--format json と同じ）",
        "fix" => "自動で直せるところを直し、何を変えたかを表示します",
        "dry_run" => "--fix とともに使います。何が変わるかを表示するだけで、変えません",
        "deep" => "和歌集の画像をすべて開いて調べます",
        "max_pixels" => "これより画素数の多い画像は受け付けません（指定しなければ 50000000）",
        "no_progress" => "進みぐあいを表示しません",
        "threads" => "同時に動かすスレッドの数（指定しなければ CPU の数）",
        "quiet" => "問題だけを表示します",
        "verbose" => "くわしく表示します。二度付けると、さらにくわしくなります",
        "color" => "色を使うとき：auto（自動）、always（いつも）、never（使わない）",
        "language" => "表示する言葉：ja、en（指定しなければ WAKASHU_LANGUAGE か、システムの言葉）",
        "help" => "この説明を表示します",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_argument_of_the_curators_verbs_is_explained_in_japanese() {
        let mut command = translated(Cli::command(), Language::Japanese);
        command.build();
        for (name, ..) in VERBS {
            let verb = command.find_subcommand_mut(name).unwrap();
            for argument in verb.get_arguments() {
                let help = argument.get_help().unwrap().to_string();
                assert!(
                    help.chars().any(|letter| ('ぁ'..='ヿ').contains(&letter)),
                    "{}: {help}",
                    argument.get_id()
                );
            }
            let help = verb.render_help().to_string();
            for english in
                ["Usage", "Options", "Arguments", "possible values", "default", "Print", "Examples"]
            {
                assert!(!help.contains(english), "{english}: {help}");
            }
        }
    }

    #[test]
    fn the_command_is_sound_in_both_languages() {
        for language in [Language::English, Language::Japanese] {
            translated(Cli::command(), language).debug_assert();
        }
    }
}
