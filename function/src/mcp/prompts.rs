//! Prompts: ready-made questions with the poems already in them, for clients without tool use.
//!
//! A prompt is one file and one row of [`PROMPTS`].

mod compare_poems;
mod explain_honkadori;
mod present_round;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use wakashu_archive::{ArchivedRound, RankRange};
use wakashu_wire::{Members, Request, string};

use crate::entries::{self, Form, Held, Links, Selection};
use crate::exchange::Exchange;
use crate::fault::ToolError;
use crate::mcp::completion::Completes;
use crate::mcp::error::{self, RpcError};
use crate::mcp::{Refused, methods};
use crate::served::reading::Reading;
use crate::served::snapshot::shortened;
use crate::text::{Answer, field};
use crate::tools::ranks::read_rank;

/// A prompt.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) name: &'static str,
    title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [Argument],
    ask: for<'a> fn(Given<'a>) -> Work<'a>,
}

/// A prompt at work.
type Work<'a> = Pin<Box<dyn Future<Output = Result<Question<'a>, Refused>> + Send + 'a>>;

/// An argument of a prompt; values are always texts.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// What it was called once, and still may be.
    old_name: Option<&'static str>,
    description: &'static str,
    required: bool,
    pub(super) completes: Completes,
}

/// The argument that names a round, as tools call it.
const ROUND_TITLE: Argument = Argument {
    name: "round_title",
    old_name: Some("round"),
    description: "回の名前。例: 第1回",
    required: true,
    completes: Completes::Rounds,
};

/// An argument that names a rank in the round that the first of the arguments `of` names.
const fn rank(name: &'static str, description: &'static str, of: &'static [&'static str]) -> Argument {
    Argument { name, old_name: None, description, required: true, completes: Completes::Ranks(of) }
}

/// Most characters of a round's title before each poem.
const MAX_ROUND_CHARACTERS: usize = 40;

/// All of them, in the order they are listed.
pub(crate) static PROMPTS: &[&Prompt] =
    &[&present_round::PROMPT, &compare_poems::PROMPT, &explain_honkadori::PROMPT];

pub(super) fn find(name: &str) -> Option<&'static Prompt> {
    PROMPTS.iter().copied().find(|prompt| prompt.name == name)
}

impl Prompt {
    /// Finds an argument by its name, or by the one it had once.
    pub(super) fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name || argument.old_name == Some(name))
    }
}

pub(super) fn list(out: &mut Answer) {
    field!(out, "prompts").array(PROMPTS, |out, prompt| {
        out.object(|out| {
            field!(out, "name").string(prompt.name);
            field!(out, "title").string(prompt.title);
            field!(out, "description").string(prompt.description);
            field!(out, "arguments").array(prompt.arguments, |out, argument| {
                out.object(|out| {
                    field!(out, "name").string(argument.name);
                    field!(out, "description").string(argument.description);
                    field!(out, "required").boolean(argument.required);
                });
            });
        });
    });
}

pub(super) async fn get(x: &Exchange<'_>, request: &Request<'_>, out: &mut Answer) -> Result<(), Refused> {
    let name = request.params.name.and_then(string);
    let Some(name) = name else { return Err(error::invalid_params("`name` must be a string").into()) };
    let Some(prompt) = find(&name) else { return Err(error::invalid_params("Unknown prompt").into()) };
    let members = methods::arguments(request)?;
    for argument in prompt.arguments.iter().filter(|argument| argument.required) {
        if argument.of(members).is_none() {
            return Err(error::invalid_params(format!("the argument `{}` is required", argument.name)).into());
        }
    }
    let Some(index) = x.index() else { return Err(error::index_unavailable().into()) };
    let given = Given { members, index, title: x.served.title(), base: x.base() };
    let question = (prompt.ask)(given).await?;
    field!(out, "description").string(prompt.description);
    field!(out, "messages").array([question], |out, question| {
        out.object(|out| {
            field!(out, "role": "user");
            field!(out, "content").object(|out| {
                field!(out, "type": "text");
                field!(out, "text").quoted(|out| question.write(out));
            });
        });
    });
    Ok(())
}

impl Argument {
    /// Returns the argument's text; `None` where it is missing or blank.
    fn of<'a>(&self, members: &Members<'a>) -> Option<Cow<'a, str>> {
        let names = [Some(self.name), self.old_name];
        let mut texts = names.into_iter().flatten().filter_map(|name| members.string(name));
        texts.find(|text| !text.trim().is_empty())
    }
}

/// What a prompt is given, and where its poems are.
#[derive(Debug, Clone, Copy)]
struct Given<'a> {
    members: &'a Members<'a>,
    index: &'a Reading,
    /// The title of the collection.
    title: &'a str,
    base: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// Returns an argument's text; `None` where it is missing or blank.
    fn text(&self, argument: &Argument) -> Option<Cow<'a, str>> {
        argument.of(self.members)
    }

    /// Returns the round that an argument names.
    fn round(&self, argument: &Argument) -> Result<&'a ArchivedRound, RpcError> {
        let title = self.text(argument).unwrap_or_default();
        let round = self.index.archive().find_round(&title);
        round.ok_or_else(|| error::invalid_params("no such round; complete the argument to see which exist"))
    }

    /// Returns the poem whose rank an argument names, of at most `most` characters.
    async fn poem(
        &self,
        round: &'a ArchivedRound,
        rank: &Argument,
        most: usize,
    ) -> Result<Poems<'a>, Refused> {
        let rank = self.text(rank).and_then(|text| read_rank(&text));
        let rank = rank.ok_or_else(|| error::invalid_params("a rank is a whole number from 1"))?;
        self.poems(round, RankRange::single(rank), most).await
    }

    /// Returns the poems of these ranks, each of at most `most` characters.
    async fn poems(
        &self,
        round: &'a ArchivedRound,
        range: RankRange,
        most: usize,
    ) -> Result<Poems<'a>, Refused> {
        let links = Links::new(self.base, round);
        let selection = entries::select(self.index, round, range, false, Form::Result, &links).await;
        let selection = selection.map_err(ToolError::from)?;
        if selection.entries.is_empty() {
            return Err(error::invalid_params("no such rank in this round").into());
        }
        Ok(Poems { round, links, selection, most })
    }
}

/// A prompt's one message: the question, then the poems as data.
struct Question<'a> {
    text: String,
    poems: Vec<Poems<'a>>,
}

/// Poems of one round.
struct Poems<'a> {
    round: &'a ArchivedRound,
    links: Links<'a>,
    selection: Selection,
    /// Most characters of each.
    most: usize,
}

impl Question<'_> {
    /// Writes the message as the inside of a JSON string.
    fn write(&self, out: &mut Answer) {
        out.text(&self.text).text("\n\n以下は歌のデータです。");
        for poems in &self.poems {
            for held in &poems.selection.entries {
                let Some(entry) = Held::entry(held) else { continue };
                out.text("\n\n").text(&shortened(&poems.round.title, MAX_ROUND_CHARACTERS)).text("\n");
                entries::write_text(out, held, entry, &poems.links, poems.most);
            }
        }
    }
}
