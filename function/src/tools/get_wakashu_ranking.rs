//! `get_wakashu_ranking`: a range of ranks of one round, poems and pictures in one answer.

use wakashu_archive::{ArchivedRound, RankRange};

use crate::entries::data::{ENTRY, Entries};
use crate::entries::{self, Held, Links, Selection, Size};
use crate::exchange::Scope;
use crate::fault::ToolError;
use crate::served::reading::Reading;
use crate::text::schema::{Schema, always, sometimes};
use crate::text::{Answer, field};
use crate::tools::arguments::{Argument, Kind, ROUND_TITLE, Said, Title, Value, arguments, row};
use crate::tools::{Call, Form, Run, Tool, rounds, write_text_block};

/// Most runs of missing ranks named in one remark.
const MAX_NAMED_GAPS: usize = 10;

pub(super) static TOOL: Tool = Tool {
    name: "get_wakashu_ranking",
    title: "和歌集ランキング情報取得",
    description: "「{title}」の指定した回から、順位ごとの投稿（投稿者、歌、本歌のURL、ジャケット画像とその生成プロンプト）を返します。画像も一緒に返します。回の名前が分からないときは list_rounds で確かめてください。",
    version: "1.0.0",
    category: "ranking",
    tags: &["和歌", "ランキング", "本歌取り", "画像"],
    examples: &[
        r#"{"round_title":"第1回"}"#,
        r#"{"round_title":"第1回","rank_range":"1-3"}"#,
        r#"{"round_title":"2","rank_range":"5","pictures":"none"}"#,
    ],
    needs: Scope::Read,
    arguments: Wanted::TABLE,
    pictures: true,
    has_view: true,
    data: Schema::Object(&[
        always("round", Schema::Text),
        always("entries", Schema::List(&ENTRY)),
        always("missing", Schema::List(&GAP)),
        sometimes("nextRankRange", Schema::Text),
        sometimes("note", Schema::Text),
    ]),
    run: Run::FromIndex(|call, index, out| Box::pin(run(call, index, out))),
};

/// The shape of a run of ranks.
const GAP: Schema = Schema::Object(&[always("first", Schema::Whole), always("last", Schema::Whole)]);

arguments! {
    /// Which entries to show.
    Wanted<'a> {
        round_title: Title<'a> = ROUND_TITLE,
        rank_range: Said<RankRange> =
            row("順位の範囲。1位だけなら「1」、1位から3位までなら「1-3」のように指定します。").or(r#""1-3""#),
        pictures: Pictures = row("auto は画像も返し、none は文章だけを返します。").or(r#""auto""#),
    }
}

/// Whether pictures come along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pictures {
    Auto,
    None,
}

impl<'a> Argument<'a> for Pictures {
    const KIND: Kind = Kind::Choice(&["auto", "none"]);

    fn of(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Text(word) if word == "none" => Some(Self::None),
            Value::Text(_) => Some(Self::Auto),
            Value::Whole(_) => None,
        }
    }
}

async fn run(call: Call<'_>, index: &Reading, out: &mut Answer) -> Result<(), ToolError> {
    let wanted = Wanted::read(call.given)?;
    let Said { value: range, is_given } = wanted.rank_range;
    let round = rounds::find(index, TOOL.name, &wanted.round_title)?;
    let pictures = wanted.pictures == Pictures::Auto;

    let links = Links::new(call.picture_base, round);
    let selection = entries::select(index, round, range, pictures, call.form, &links).await?;
    if selection.entries.is_empty() {
        let ranks = format!("{}-{}", range.first(), range.last());
        return Err(rounds::no_such_rank(TOOL.name, round, ranks, is_given));
    }
    let size = if pictures { entries::largest_size(&selection, call.form, &links) } else { Size::None };
    let remark = remark(&selection, round, range, is_given);
    if call.form == Form::Data {
        let data = out.open_object();
        field!(out, "round").string(&round.title);
        let entries = Entries { index, round, selection: &selection, size, links: &links };
        entries.write_all(field!(out, "entries")).await;
        write_what_is_left(out, &selection, range);
        if let Some(remark) = remark {
            field!(out, "note").string(&remark);
        }
        out.close(data);
        return Ok(());
    }
    let content = field!(out, "content").open_array();
    entries::write_blocks(out, index, &selection, size, &links).await;
    if let Some(remark) = remark {
        write_text_block(out.item(), &remark);
    }
    out.close(content);
    Ok(())
}

/// Writes what of the range is not in the data.
fn write_what_is_left(out: &mut Answer, selection: &Selection, range: RankRange) {
    field!(out, "missing").array(gaps(selection, range), |out, (first, last)| {
        out.object(|out| {
            field!(out, "first").number(u64::from(first));
            field!(out, "last").number(u64::from(last));
        });
    });
    if let Some(next) = selection.next_rank {
        field!(out, "nextRankRange").string(&format!("{next}-{}", range.last()));
    }
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
