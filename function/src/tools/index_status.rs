//! `index_status`: what is being served, and how fresh it is. Answers even without an index.

use crate::exchange::Scope;
use crate::fault::ToolError;
use crate::served::snapshot::{IndexState, Snapshot, shortened};
use crate::text::Answer;
use crate::tools::{Call, Form, Tool};

/// Most characters of the collection's description in an answer.
const MAX_DESCRIPTION_CHARACTERS: usize = 2_000;

pub(super) static TOOL: Tool = Tool {
    name: "index_status",
    title: "索引の状態",
    description: "「{title}」の索引の状態（読み込み済みか、回と投稿の数、版、公開日時、更新の遅れ）を返します。",
    version: "1.0.0",
    category: "status",
    tags: &["状態"],
    examples: &["{}"],
    needs_index: false,
    needs: Scope::Status,
    parameters: &[],
    pictures: false,
    data_schema: concat!(
        r#"{"type":"object","required":["state","title","stale"],"properties":{"#,
        r#""state":{"type":"string","enum":["NOT_CONFIGURED","UNAVAILABLE","READY"]},"#,
        r#""title":{"type":"string"},"description":{"type":"string"},"stale":{"type":"boolean"},"#,
        r#""staleSince":{"type":"string"},"rounds":{"type":"integer"},"entries":{"type":"integer"},"#,
        r#""pictures":{"type":"integer"},"digest":{"type":"string"},"formatVersion":{"type":"integer"},"#,
        r#""bytes":{"type":"integer"},"publishedAt":{"type":"string"},"loadedAt":{"type":"string"}}}"#
    ),
    run: |call, out| Box::pin(std::future::ready(run(call, out))),
};

#[expect(clippy::unnecessary_wraps, reason = "the signature of every tool")]
fn run(call: Call<'_>, out: &mut Answer) -> Result<(), ToolError> {
    let snapshot = call.snapshot;
    if call.form == Form::Result {
        out.raw(r#""content":[{"type":"text","text":"#).string(&sentence(snapshot));
        out.raw(r#"}],"structuredContent":"#);
    }
    out.raw(r#"{"state":"#).string(snapshot.state().as_str());
    out.raw(r#","title":"#).string(snapshot.title());
    out.raw(r#","stale":"#).raw(if snapshot.stale_since().is_some() { "true" } else { "false" });
    if let Some(since) = snapshot.stale_since() {
        out.raw(r#","staleSince":"#).string(&since.to_string());
    }
    if let Some(loaded) = snapshot.loaded() {
        let archive = loaded.index.archive();
        let root = archive.root();
        out.raw(r#","description":"#).string(&shortened(&root.description, MAX_DESCRIPTION_CHARACTERS));
        out.raw(r#","rounds":"#).number(root.rounds.len() as u64);
        out.raw(r#","entries":"#).number(u64::from(root.entries.to_native()));
        out.raw(r#","pictures":"#).number(pictures(snapshot));
        out.raw(r#","digest":"#).string(&loaded.digest);
        out.raw(r#","formatVersion":"#).number(u64::from(archive.trailer().version()));
        out.raw(r#","bytes":"#).number(archive.trailer().total_length());
        if let Some(published) = loaded.published_at {
            out.raw(r#","publishedAt":"#).string(&published.to_string());
        }
        out.raw(r#","loadedAt":"#).string(&loaded.loaded_at.to_string());
    }
    out.raw("}");
    Ok(())
}

fn pictures(snapshot: &Snapshot) -> u64 {
    let rounds = snapshot.index().map(|index| &index.archive().root().rounds);
    rounds
        .into_iter()
        .flat_map(|rounds| rounds.iter())
        .map(|round| u64::from(round.pictures.to_native()))
        .sum()
}

fn sentence(snapshot: &Snapshot) -> String {
    let Some(loaded) = snapshot.loaded() else {
        return match snapshot.state() {
            IndexState::NotConfigured => {
                "索引は設定されていません。運用者が WAKASHU_ARCHIVE を設定すると使えるようになります。"
            }
            _ => "索引をまだ読み込めていません。しばらくしてからもう一度お試しください。",
        }
        .to_owned();
    };
    let root = loaded.index.archive().root();
    let mut text = format!(
        "「{}」の索引は読み込み済みです。\n回: {}\n投稿: {}\n画像: {}\n版: {}\n読み込み: {}",
        snapshot.title(),
        root.rounds.len(),
        root.entries.to_native(),
        pictures(snapshot),
        loaded.digest,
        loaded.loaded_at.in_japanese(),
    );
    if let Some(published) = loaded.published_at {
        text.push_str(&format!("\n公開: {}", published.in_japanese()));
    }
    if let Some(since) = snapshot.stale_since() {
        let since = since.in_japanese();
        text.push_str(&format!("\n{since}から更新を確かめられていません。古い内容の可能性があります。"));
    }
    text
}
