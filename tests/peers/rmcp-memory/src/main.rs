//! A server on the official Rust SDK: the collection is read once, the pictures are encoded once, and every call
//! clones what it needs.
//!
//! `rmcp-memory COLLECTION` prints its address.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;

/// The blocks of every entry, by round and rank.
type Rounds = HashMap<String, BTreeMap<u32, [ContentBlock; 2]>>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TextData {
    account_name: String,
    honkadori_waka: String,
    honka: Vec<String>,
    prompt: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct RankingArguments {
    /// 回の名前。例: 第1回
    round_title: String,
    /// 順位の範囲。例: 1-3
    #[serde(default = "first_three")]
    rank_range: String,
}

fn first_three() -> String {
    "1-3".to_owned()
}

#[derive(Clone)]
struct Poems {
    rounds: Arc<Rounds>,
}

#[tool_router]
impl Poems {
    #[tool(
        title = "和歌集ランキング情報取得",
        description = "指定した回のランキングの投稿を、歌・本歌・プロンプト・画像とともに取得します。"
    )]
    fn get_wakashu_ranking(
        &self,
        Parameters(arguments): Parameters<RankingArguments>,
    ) -> Result<CallToolResult, ErrorData> {
        let refuse = || ErrorData::invalid_params("no such round or range", None);
        let entries = self.rounds.get(&arguments.round_title).ok_or_else(refuse)?;
        let range = arguments.rank_range;
        let (first, last) = range.split_once('-').unwrap_or((&range, &range));
        let rank = |text: &str| text.parse::<u32>().map_err(|_| refuse());
        let (first, last) = (rank(first)?, rank(last)?);
        if first > last {
            return Err(refuse());
        }
        let blocks = entries.range(first..=last).flat_map(|(_, blocks)| blocks.clone());
        Ok(CallToolResult::success(blocks.collect()))
    }
}

#[tool_handler]
impl ServerHandler for Poems {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

fn read_collection(folder: &Path) -> anyhow::Result<Rounds> {
    let mut rounds = Rounds::new();
    for round in fs::read_dir(folder)? {
        let round = round?;
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(round.path())? {
            let folder = entry?.path();
            let name = folder.file_name().and_then(|name| name.to_str()).context("a name beyond UTF-8")?;
            let rank = name.split('-').next().context("no rank")?.parse()?;
            entries.insert(rank, read_entry(&folder, rank)?);
        }
        let title = round.file_name().into_string().ok().context("a name beyond UTF-8")?;
        rounds.insert(title, entries);
    }
    Ok(rounds)
}

fn read_entry(folder: &Path, rank: u32) -> anyhow::Result<[ContentBlock; 2]> {
    let data: TextData = serde_json::from_slice(&fs::read(folder.join(format!("TextData{rank}.json")))?)?;
    let picture = fs::read(folder.join(format!("Picture{rank}.webp")))?;
    let text = format!(
        "{rank}位：{}\n{}\n{}\nジャケット生成に使ったプロンプト\n{}",
        data.account_name,
        data.honkadori_waka,
        data.honka.join("\n"),
        data.prompt
    );
    Ok([ContentBlock::text(text), ContentBlock::image(STANDARD.encode(picture), "image/webp")])
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).context("usage: rmcp-memory COLLECTION")?;
    let poems = Poems { rounds: Arc::new(read_collection(Path::new(&folder))?) };
    let service = StreamableHttpService::new(
        move || Ok(poems.clone()),
        Arc::new(NeverSessionManager::default()),
        StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
