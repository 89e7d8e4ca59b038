//! `get_wakashu_ranking`: a range of ranks of one round, poems and pictures in one answer.

use wakashu_archive::{ArchivedRound, RankRange};

use crate::entries::data::{entry_schema, write_entries};
use crate::entries::{self, Held, Links, Selection, Size};
use crate::exchange::Scope;
use crate::fault::ToolError;
use crate::text::Answer;
use crate::tools::arguments::{read_ranks, refuse_form};
use crate::tools::{Call, Form, Kind, Parameter, Tool, rounds};

/// Most runs of missing ranks named in one remark.
const MAX_NAMED_GAPS: usize = 10;

pub(super) static TOOL: Tool = Tool {
    name: "get_wakashu_ranking",
    title: "和歌集ランキング情報取得",
    description: "「{title}」の指定した回から、順位ごとの投稿（投稿者、歌、本歌のURL、ジャケット画像とその生成プロンプト）を返します。画像は一緒に返ります。回の題が分からないときは list_rounds で確かめてください。",
    version: "1.0.0",
    category: "ranking",
    tags: &["和歌", "ランキング", "本歌取り", "画像"],
    examples: &[
        r#"{"round_title":"第1回"}"#,
        r#"{"round_title":"第1回","rank_range":"1-3"}"#,
        r#"{"round_title":"2","rank_range":"5","pictures":"none"}"#,
    ],
    needs_index: true,
    needs: Scope::Read,
    parameters: &[
        ROUND_TITLE,
        Parameter {
            name: "rank_range",
            kind: Kind::Text { max_characters: 64 },
            pattern: None,
            description: "順位の範囲。1位だけなら「1」、1位から3位までなら「1-3」のように指定します。",
            default: Some(r#""1-3""#),
            required: false,
        },
        Parameter {
            name: "pictures",
            kind: Kind::Choice(&["auto", "none"]),
            pattern: None,
            description: "auto は画像も返し、none は文章だけを返します。",
            default: Some(r#""auto""#),
            required: false,
        },
    ],
    pictures: true,
    data_schema: concat!(
        r#"{"type":"object","required":["round","entries","missing"],"properties":{"round":{"type":"string"},"#,
        r#""entries":{"type":"array","items":"#,
        entry_schema!(),
        r#"},"missing":{"type":"array","items":{"type":"object","required":["first","last"],"properties":{"#,
        r#""first":{"type":"integer"},"last":{"type":"integer"}}}},"nextRankRange":{"type":"string"}}}"#
    ),
    run: |call, out| Box::pin(run(call, out)),
};

/// The argument that names a round; several tools take it.
pub(super) const ROUND_TITLE: Parameter = Parameter {
    name: "round_title",
    // What a directory's name can be.
    kind: Kind::Text { max_characters: 255 },
    pattern: None,
    description: "回の題。例: 第1回（「第一回」「1」でも見つかります）。",
    default: None,
    required: true,
};

async fn run(call: Call<'_>, out: &mut Answer) -> Result<(), ToolError> {
    let Some(index) = call.snapshot.index() else {
        return Err(ToolError::IndexUnavailable { configured: call.snapshot.is_configured() });
    };
    let range = call.arguments.text("rank_range").unwrap_or_default();
    let range = read_ranks(range).ok_or_else(|| refuse_form(&TOOL, "rank_range"))?;
    let round = rounds::find(index, TOOL.name, call.arguments.text("round_title").unwrap_or_default())?;
    let pictures = call.arguments.text("pictures") != Some("none");
    let is_given = call.arguments.is_given("rank_range");

    let links = Links::new(call.picture_base, round);
    let selection = entries::select(index, round, range, pictures, call.form, &links).await?;
    if selection.entries.is_empty() {
        let ranks = format!("{}-{}", range.first(), range.last());
        return Err(rounds::no_such_rank(TOOL.name, round, ranks, is_given));
    }
    let size = if pictures { entries::largest_size(&selection, call.form, &links) } else { Size::None };
    if call.form == Form::Data {
        out.raw(r#"{"round":"#).string(&round.title).raw(r#","entries":["#);
        write_entries(out, index, round, &selection, size, &links).await;
        write_what_is_left(out, &selection, range);
        return Ok(());
    }
    out.raw(r#""content":["#);
    entries::write_blocks(out, index, &selection, size, &links).await;
    if let Some(remark) = remark(&selection, round, range, is_given) {
        out.raw(r#",{"type":"text","text":"#).string(&remark).raw("}");
    }
    out.raw("]");
    Ok(())
}

/// Closes the data with what of the range is not in it.
fn write_what_is_left(out: &mut Answer, selection: &Selection, range: RankRange) {
    out.raw(r#"],"missing":["#);
    for (at, (first, last)) in gaps(selection, range).into_iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," });
        out.raw(r#"{"first":"#).number(u64::from(first)).raw(r#","last":"#).number(u64::from(last)).raw("}");
    }
    out.raw("]");
    if let Some(next) = selection.next_rank {
        out.raw(r#","nextRankRange":"#).string(&format!("{next}-{}", range.last()));
    }
    out.raw("}");
}

/// Says what of the range is not in the answer: ranks that do not exist, where the reader asked for them, and ranks that
/// did not fit.
fn remark(selection: &Selection, round: &ArchivedRound, range: RankRange, is_given: bool) -> Option<String> {
    let mut remark = String::new();
    let gaps = gaps(selection, range);
    if !gaps.is_empty() && is_given {
        let named: Vec<String> = gaps
            .iter()
            .take(MAX_NAMED_GAPS)
            .map(
                |(first, last)| {
                    if first == last { format!("{first}位") } else { format!("{first}位から{last}位") }
                },
            )
            .collect();
        let more = if gaps.len() > named.len() { "ほか" } else { "" };
        remark.push_str(rounds::NO_SUCH_RANK);
        remark.push_str(&format!("（{}{more}）", named.join("、")));
        remark.push_str(&rounds::which_ranks_exist(round));
    }
    if let Some(next) = selection.next_rank {
        let shown = selection.entries.last().and_then(Held::entry).map_or(0, |entry| entry.rank.to_native());
        remark.push_str(&format!(
            "一度に返せる量を超えるため、{shown}位までを返しました。続きは rank_range に \"{next}-{}\" を指定してください。",
            range.last()
        ));
    }
    (!remark.is_empty()).then_some(remark)
}

/// Returns the runs of asked-for ranks that do not exist, as far as the answer reaches.
fn gaps(selection: &Selection, range: RankRange) -> Vec<(u32, u32)> {
    let end = selection.next_rank.unwrap_or(range.last().saturating_add(1));
    let mut expected = range.first();
    let mut gaps = Vec::new();
    let present = selection.entries.iter().filter_map(Held::entry).map(|entry| entry.rank.to_native());
    for rank in present.chain([end]) {
        if rank > expected {
            gaps.push((expected, rank - 1));
        }
        expected = rank.saturating_add(1);
    }
    gaps
}
