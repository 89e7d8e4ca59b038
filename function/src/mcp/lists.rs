//! Answers that depend on the archive alone, written once per archive instead of once per request.

use bytes::Bytes;

use crate::served::snapshot::{Basis, Prepared};
use crate::text::Answer;
use crate::tools::TOOLS;
use wakashu_wire::SUPPORTED;

const NAME: &str = "wakashu_mcp_server";
const INSTRUCTIONS: &str = "短歌コンテストの入選作を収めた和歌集です。回の題は list_rounds で確かめてから get_wakashu_ranking に渡してください。画像が読者に見えないことがあるので、歌・投稿者・本歌のURL・画像のURLを文章でも伝えてください。";

/// How long clients may keep lists, in milliseconds; short while there is no index, so that one is noticed soon.
const LIST_TTL_MS: u64 = 300_000;
const EMPTY_TTL_MS: u64 = 30_000;

/// Prepares them.
pub(crate) fn prepare(basis: &Basis<'_>) -> Prepared {
    let Basis { title, is_ready, can_push, tools_off } = *basis;
    let server_info = text(|out| {
        out.raw(r#"{"name":"#).string(NAME).raw(r#","title":"#).string(title);
        out.raw(r#","version":"#).string(env!("CARGO_PKG_VERSION")).raw("}");
    });
    let capabilities = if can_push {
        r#"{"tools":{"listChanged":true},"resources":{"listChanged":true},"prompts":{},"completions":{}}"#
    } else {
        r#"{"tools":{},"resources":{},"prompts":{},"completions":{}}"#
    };
    let tools = text(|out| {
        out.raw(r#""tools":["#);
        let listed =
            TOOLS.iter().filter(|tool| (is_ready || !tool.needs_index) && !tools_off.contains(&tool.name));
        for (at, tool) in listed.enumerate() {
            out.raw(if at == 0 { "" } else { "," });
            tool.write_listing(out, title);
        }
        out.raw("]");
    });
    let discover = text(|out| {
        out.raw(r#""supportedVersions":["#);
        for (at, revision) in SUPPORTED.iter().enumerate() {
            out.raw(if at == 0 { "" } else { "," }).string(revision.as_str());
        }
        out.raw(r#"],"capabilities":"#).raw(capabilities);
        out.raw(r#","instructions":"#).string(INSTRUCTIONS);
    });
    let initialize = text(|out| {
        out.raw(r#""capabilities":"#).raw(capabilities).raw(r#","serverInfo":"#).raw(&server_info);
        out.raw(r#","instructions":"#).string(INSTRUCTIONS);
    });
    let stamp = format!(r#","_meta":{{"io.modelcontextprotocol/serverInfo":{server_info}}}"#);
    let list_ttl_ms = if is_ready { LIST_TTL_MS } else { EMPTY_TTL_MS };
    Prepared { tools: Bytes::from(tools), discover, initialize, stamp, list_ttl_ms }
}

fn text(write: impl FnOnce(&mut Answer)) -> String {
    let mut out = Answer::default();
    write(&mut out);
    out.into_text()
}
