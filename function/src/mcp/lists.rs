//! Answers that depend on the archive alone, written once per archive instead of once per request.

use bytes::Bytes;

use crate::mcp::resources::view::{EXTENSION, MEDIA_TYPE};
use crate::served::snapshot::{Basis, Prepared};
use crate::text::{Answer, field};
use crate::tools::{TOOLS, Tool};
use wakashu_wire::SUPPORTED;

const NAME: &str = "wakashu_mcp_server";
const INSTRUCTIONS: &str = "短歌コンテストの入選作を収めた和歌集です。回の名前は list_rounds で確かめてから get_wakashu_ranking に渡してください。画像が読者に見えないことがあるので、歌・投稿者・本歌のURL・画像のURLを文章でも伝えてください。";

/// How long clients may keep lists, in milliseconds; short while there is no index, so that one is noticed soon.
const LIST_TTL_MS: u64 = 300_000;
const EMPTY_TTL_MS: u64 = 30_000;

/// Prepares them.
pub(crate) fn prepare(basis: &Basis<'_>) -> Prepared {
    let Basis { title, is_ready, can_push, tools_off } = *basis;
    let server_info = |out: &mut Answer| {
        out.object(|out| {
            field!(out, "name").string(NAME);
            field!(out, "title").string(title);
            field!(out, "version").string(env!("CARGO_PKG_VERSION"));
        });
    };
    let capabilities = |out: &mut Answer| {
        field!(out, "capabilities").object(|out| {
            for (name, changes) in
                [("tools", true), ("resources", true), ("prompts", false), ("completions", false)]
            {
                out.field_called(name).object(|out| {
                    if changes && can_push {
                        field!(out, "listChanged").boolean(true);
                    }
                });
            }
            // Whoever asks: lists are the same for all, and many requests do not say what a client can do.
            field!(out, "extensions").object(|out| {
                out.field_called(EXTENSION).object(|out| {
                    field!(out, "mimeTypes").strings([MEDIA_TYPE]);
                });
            });
        });
    };
    let tools = text(|out| {
        let is_listed = |tool: &&&Tool| (is_ready || !tool.needs_index()) && !tools_off.contains(&tool.name);
        field!(out, "tools")
            .array(TOOLS.iter().filter(is_listed), |out, tool| tool.write_listing(out, title));
    });
    let discover = text(|out| {
        field!(out, "supportedVersions").strings(SUPPORTED.iter().map(|revision| revision.as_str()));
        capabilities(out);
        field!(out, "instructions").string(INSTRUCTIONS);
    });
    let initialize = text(|out| {
        capabilities(out);
        server_info(field!(out, "serverInfo"));
        field!(out, "instructions").string(INSTRUCTIONS);
    });
    let stamp = text(|out| {
        field!(out, "_meta").object(|out| server_info(field!(out, "io.modelcontextprotocol/serverInfo")));
    });
    let list_ttl_ms = if is_ready { LIST_TTL_MS } else { EMPTY_TTL_MS };
    Prepared { tools: Bytes::from(tools), discover, initialize, stamp, list_ttl_ms }
}

fn text(write: impl FnOnce(&mut Answer)) -> String {
    let mut out = Answer::default();
    write(&mut out);
    out.into_text()
}
