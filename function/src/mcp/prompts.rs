//! Prompts: ready-made questions with the poems already in them, for clients without tool use.

use wakashu_archive::{ArchivedRound, RankRange};

use crate::entries::{self, Form, Held, Links, MAX_ENTRY_CHARACTERS};
use crate::exchange::Exchange;
use crate::fault::ToolError;
use crate::mcp::Refused;
use crate::mcp::error::{self, RpcError};
use crate::served::index::Index;
use crate::served::snapshot::shortened;
use crate::text::Answer;
use wakashu_wire::{Part, Request, string};

/// A prompt.
pub(super) struct Prompt {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    pub(super) arguments: &'static [Argument],
}

/// An argument of a prompt; values are always texts.
pub(super) struct Argument {
    pub(super) name: &'static str,
    description: &'static str,
    required: bool,
}

const ROUND: Argument = Argument { name: "round", description: "回の題。例: 第1回", required: true };

/// Most entries put into one prompt.
const MAX_ENTRIES: u32 = 12;

/// Most characters of a round's title before each poem.
const MAX_ROUND_CHARACTERS: usize = 40;

static PROMPTS: [Prompt; 3] = [
    Prompt {
        name: "present_round",
        title: "回を紹介する",
        description: "ひとつの回の上位の歌を、読み物として紹介する",
        arguments: &[
            ROUND,
            Argument {
                name: "style",
                description: "紹介の調子。例: やさしく、解説つき、朗読用",
                required: false,
            },
        ],
    },
    Prompt {
        name: "compare_poems",
        title: "二首を比べる",
        description: "ふたつの歌を、本歌の取り方と趣の違いから比べる",
        arguments: &[
            ROUND,
            Argument { name: "rank", description: "一首目の順位。例: 1", required: true },
            Argument { name: "other_rank", description: "二首目の順位。例: 2", required: true },
            Argument {
                name: "other_round", description: "二首目の回。省くと同じ回", required: false
            },
        ],
    },
    Prompt {
        name: "explain_honkadori",
        title: "本歌取りを解き明かす",
        description: "ひとつの歌が本歌の何を受け、何を変えたかを説明する",
        arguments: &[ROUND, Argument { name: "rank", description: "順位。例: 1", required: true }],
    },
];

pub(super) fn find(name: &str) -> Option<&'static Prompt> {
    PROMPTS.iter().find(|prompt| prompt.name == name)
}

pub(super) fn list(out: &mut Answer) {
    out.raw(r#""prompts":["#);
    for (at, prompt) in PROMPTS.iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," });
        out.raw(r#"{"name":"#).string(prompt.name).raw(r#","title":"#).string(prompt.title);
        out.raw(r#","description":"#).string(prompt.description).raw(r#","arguments":["#);
        for (at, argument) in prompt.arguments.iter().enumerate() {
            out.raw(if at == 0 { "" } else { "," }).raw(r#"{"name":"#).string(argument.name);
            out.raw(r#","description":"#).string(argument.description);
            out.raw(if argument.required { r#","required":true}"# } else { r#","required":false}"# });
        }
        out.raw("]}");
    }
    out.raw("]");
}

pub(super) async fn get(x: &Exchange<'_>, request: &Request<'_>, out: &mut Answer) -> Result<(), Refused> {
    let name = request.params.name.and_then(string);
    let Some(name) = name else { return Err(error::invalid_params("`name` must be a string").into()) };
    let Some(prompt) = find(&name) else { return Err(error::invalid_params("Unknown prompt").into()) };
    if matches!(request.params.arguments, Part::Other) {
        return Err(error::invalid_params("`arguments` must be an object").into());
    }
    let given = request.params.arguments.members();
    for argument in prompt.arguments.iter().filter(|argument| argument.required) {
        if given.string(argument.name).is_none_or(|value| value.trim().is_empty()) {
            return Err(error::invalid_params(format!("the argument `{}` is required", argument.name)).into());
        }
    }
    let Some(index) = x.index() else { return Err(error::index_unavailable().into()) };
    let round = find_round(index, &given.string("round").unwrap_or_default())?;
    let mut poems = Poems { out, index, base: x.base() };
    match prompt.name {
        "present_round" => {
            let style = given.string("style").unwrap_or_default();
            let style: String = style.trim().chars().take(100).collect();
            let style = if style.is_empty() {
                String::new()
            } else {
                format!("調子は「{style}」でお願いします。")
            };
            let (first, last) = round.rank_bounds().unwrap_or((1, 1));
            poems.begin(prompt, &format!(
                "「{}」{}の上位の歌を、順位ごとに歌を引きながら紹介してください。{style}\n\n以下は歌のデータです。",
                x.served.title(), shortened(&round.title, MAX_ROUND_CHARACTERS)
            ));
            let last = last.min(first.saturating_add(MAX_ENTRIES - 1));
            poems.add(round, &format!("{first}-{last}"), MAX_ENTRY_CHARACTERS).await?;
        }
        "compare_poems" => {
            let other_round = given.string("other_round").filter(|title| !title.trim().is_empty());
            let other = other_round.map_or(Ok(round), |title| find_round(index, &title))?;
            poems.begin(prompt, "次の二首を、本歌の取り方、言葉の選び、余韻の違いから比べてください。\n\n以下は歌のデータです。");
            // Two poems share the room of one.
            let most = MAX_ENTRY_CHARACTERS / 2;
            poems.add_one(round, &given.string("rank").unwrap_or_default(), most).await?;
            poems.add_one(other, &given.string("other_rank").unwrap_or_default(), most).await?;
        }
        _ => {
            poems.begin(prompt, "次の歌が本歌の何を受け、何を変えたのかを、本歌を引きながら説明してください。\n\n以下は歌のデータです。");
            let rank = given.string("rank").unwrap_or_default();
            poems.add_one(round, &rank, MAX_ENTRY_CHARACTERS).await?;
        }
    }
    out.raw(r#""}}]"#);
    Ok(())
}

fn find_round<'a>(index: &'a Index, title: &str) -> Result<&'a ArchivedRound, RpcError> {
    index
        .archive()
        .find_round(title)
        .ok_or_else(|| error::invalid_params("no such round; complete the argument to see which exist"))
}

/// A prompt's one message, being written: the question, then the poems as data.
struct Poems<'a, 'b> {
    out: &'b mut Answer,
    index: &'a Index,
    base: Option<&'a str>,
}

impl Poems<'_, '_> {
    fn begin(&mut self, prompt: &Prompt, question: &str) {
        self.out.raw(r#""description":"#).string(prompt.description);
        self.out.raw(r#","messages":[{"role":"user","content":{"type":"text","text":""#).text(question);
    }

    /// Adds one poem, of at most `most` characters.
    async fn add_one(&mut self, round: &ArchivedRound, rank: &str, most: usize) -> Result<(), Refused> {
        match RankRange::parse(rank) {
            Ok(range) if range.first() == range.last() => self.add(round, rank, most).await,
            _ => Err(error::invalid_params("a rank is a whole number from 1").into()),
        }
    }

    async fn add(&mut self, round: &ArchivedRound, ranks: &str, most: usize) -> Result<(), Refused> {
        let range =
            RankRange::parse(ranks).map_err(|_| error::invalid_params("a rank is a whole number from 1"))?;
        let links = Links::new(self.base, round);
        let selection = entries::select(self.index, round, range, false, Form::Result, &links).await;
        let selection = selection.map_err(ToolError::from)?;
        if selection.entries.is_empty() {
            return Err(error::invalid_params("no such rank in this round").into());
        }
        for held in &selection.entries {
            let Some(entry) = Held::entry(held) else { continue };
            self.out.raw("\\n\\n").text(&shortened(&round.title, MAX_ROUND_CHARACTERS)).raw("\\n");
            entries::write_text(self.out, held, entry, &links, most);
        }
        Ok(())
    }
}
