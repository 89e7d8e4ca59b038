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
--fix を付けると、迷いなく直せる名前と文章を直します。元のファイルは、同じフォルダーに「.」で始まる名前で残します。

終了コード：0 問題なし、1 直すところがある、2 調べられなかった

例：
  wakashu-indexer check wakashu_dir
  wakashu-indexer check wakashu_dir --fix --dry-run
  wakashu-indexer check wakashu_dir --deep --strict
  wakashu-indexer check out/<digest>.wakashu";

/// Returns the command with the help of `check` in a language.
pub(crate) fn translated(command: Command, language: Language) -> Command {
    match language {
        Language::English => command,
        Language::Japanese => command.mut_args(in_japanese).mut_subcommand("check", |check| {
            // Its own flag for help, because the one clap adds speaks English.
            let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
            let check = check
                .disable_help_flag(true)
                .disable_version_flag(true)
                .arg(help.help("この説明を表示します"));
            check.about(CHECK).after_help(AFTER_CHECK).help_template(TEMPLATE).mut_args(in_japanese)
        }),
    }
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
        "strict" => "警告もエラーとして扱います",
        "format" => "結果の形：text（人が読む形）、json、github（GitHub の画面に表示する形）",
        "json" => "結果を JSON で出力します（--format json と同じ）",
        "fix" => "迷いなく直せるところを直し、何を変えたかを表示します",
        "dry_run" => "--fix とともに使います。何が変わるかを表示するだけで、変えません",
        "deep" => "和歌集の画像をすべて開いて調べます",
        "max_pixels" => "これより画素の多い画像を認めません（ふだんは 50000000）",
        "no_progress" => "進みぐあいを表示しません",
        "threads" => "同時に働かせるスレッドの数（ふだんは CPU の数）",
        "quiet" => "問題だけを表示します",
        "verbose" => "くわしく表示します。二度付けると、さらにくわしくなります",
        "color" => "色を使うとき：auto（自動）、always（いつも）、never（使わない）",
        "language" => "表示する言葉：ja、en（ふだんは WAKASHU_LANGUAGE か、システムの言葉）",
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
    fn every_argument_of_check_is_explained_in_japanese() {
        let mut command = translated(Cli::command(), Language::Japanese);
        command.build();
        let check = command.find_subcommand_mut("check").unwrap();
        for argument in check.get_arguments() {
            let help = argument.get_help().unwrap().to_string();
            assert!(
                help.chars().any(|letter| ('ぁ'..='ヿ').contains(&letter)),
                "{}: {help}",
                argument.get_id()
            );
        }
        let help = check.render_help().to_string();
        for english in ["Usage", "Options", "Arguments", "possible values", "default", "Print", "Examples"] {
            assert!(!help.contains(english), "{english}: {help}");
        }
    }

    #[test]
    fn the_command_is_sound_in_both_languages() {
        for language in [Language::English, Language::Japanese] {
            translated(Cli::command(), language).debug_assert();
        }
    }
}
