//! `get_poem`: one entry in full, with its picture as large as an answer can carry.

use wakashu_archive::{Rank, RankRange};

use crate::entries::data::{entry_schema, write_entries};
use crate::entries::{self, Links};
use crate::exchange::Scope;
use crate::fault::ToolError;
use crate::text::Answer;
use crate::tools::get_wakashu_ranking::ROUND_TITLE;
use crate::tools::{Call, Form, Kind, Parameter, Tool, rounds};

pub(super) static TOOL: Tool = Tool {
    name: "get_poem",
    title: "投稿の詳細取得",
    description: "「{title}」の指定した回・順位の投稿をひとつ、大きな画像とともに返します。",
    version: "1.0.0",
    category: "ranking",
    tags: &["和歌", "本歌取り", "画像"],
    examples: &[r#"{"round_title":"第1回","rank":1}"#],
    needs_index: true,
    needs: Scope::Read,
    parameters: &[
        ROUND_TITLE,
        Parameter {
            name: "rank",
            kind: Kind::Rank,
            pattern: None,
            description: "順位。例: 1。",
            default: None,
            required: true,
        },
    ],
    pictures: true,
    data_schema: entry_schema!(),
    run: |call, out| Box::pin(run(call, out)),
};

async fn run(call: Call<'_>, out: &mut Answer) -> Result<(), ToolError> {
    let Some(index) = call.snapshot.index() else {
        return Err(ToolError::IndexUnavailable { configured: call.snapshot.is_configured() });
    };
    let round = rounds::find(index, TOOL.name, call.arguments.text("round_title").unwrap_or_default())?;
    let rank = call.arguments.integer("rank").unwrap_or(0);
    let missing = || rounds::no_such_rank(TOOL.name, round, rank.to_string(), true);
    let range = u32::try_from(rank).ok().and_then(Rank::new).map(RankRange::single).ok_or_else(missing)?;
    let links = Links::new(call.picture_base, round);
    let selection = entries::select(index, round, range, true, call.form, &links).await?;
    if selection.entries.is_empty() {
        return Err(missing());
    }
    let size = entries::largest_size(&selection, call.form, &links);
    match call.form {
        Form::Result => {
            out.raw(r#""content":["#);
            entries::write_blocks(out, index, &selection, size, &links).await;
            out.raw("]");
        }
        Form::Data => write_entries(out, index, round, &selection, size, &links).await,
    }
    Ok(())
}
