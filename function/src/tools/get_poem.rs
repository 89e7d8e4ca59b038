//! `get_poem`: one entry in full, with its picture as large as an answer can carry.

use wakashu_archive::{Rank, RankRange};

use crate::entries::data::{ENTRY, Entries};
use crate::entries::{self, Links};
use crate::exchange::Scope;
use crate::fault::ToolError;
use crate::served::reading::Reading;
use crate::text::{Answer, field};
use crate::tools::arguments::{ROUND_TITLE, Title, arguments, row};
use crate::tools::{Call, Form, Run, Tool, rounds};

pub(super) static TOOL: Tool = Tool {
    name: "get_poem",
    title: "投稿の詳細取得",
    description: "「{title}」の指定した回・順位の投稿をひとつ、大きな画像とともに返します。",
    version: "1.0.0",
    category: "ranking",
    tags: &["和歌", "本歌取り", "画像"],
    examples: &[r#"{"round_title":"第1回","rank":1}"#],
    needs: Scope::Read,
    arguments: Wanted::TABLE,
    pictures: true,
    has_view: true,
    data: ENTRY,
    run: Run::FromIndex(|call, index, out| Box::pin(run(call, index, out))),
};

arguments! {
    /// Which entry to show.
    Wanted<'a> {
        round_title: Title<'a> = ROUND_TITLE,
        rank: Rank = row("順位。例: 1。"),
    }
}

async fn run(call: Call<'_>, index: &Reading, out: &mut Answer) -> Result<(), ToolError> {
    let wanted = Wanted::read(call.given)?;
    let round = rounds::find(index, TOOL.name, &wanted.round_title)?;
    let links = Links::new(call.picture_base, round);
    let range = RankRange::single(wanted.rank);
    let selection = entries::select(index, round, range, true, call.form, &links).await?;
    if selection.entries.is_empty() {
        return Err(rounds::no_such_rank(TOOL.name, round, wanted.rank.to_string(), true));
    }
    let size = entries::largest_size(&selection, call.form, &links);
    match call.form {
        Form::Result => {
            let content = field!(out, "content").open_array();
            entries::write_blocks(out, index, &selection, size, &links).await;
            out.close(content);
        }
        Form::Data => {
            Entries { index, round, selection: &selection, size, links: &links }.write_one(out).await;
        }
    }
    Ok(())
}
