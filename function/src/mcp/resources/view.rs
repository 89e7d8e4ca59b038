//! `ui://wakashu/poems.html`: the view that hosts show beside a tool's answer (MCP Apps, revision 2026-01-26).
//!
//! Its address names the build, as hosts keep what they have read. Lists live longer than builds, so that every version
//! of the address is answered with today's view.

use std::sync::LazyLock;

use bytes::Bytes;
use wakashu_archive::escape_into;
use wakashu_pages::view;

use super::{Address, Read, Resource};
use crate::served::uri;
use crate::text::{Answer, field};

pub(super) static RESOURCE: Resource = Resource {
    address: Address::Fixed(uri::VIEW),
    name: "poems_view",
    title: "歌の画面",
    description: "歌と画像を会話の中に示す画面（MCP Apps）",
    media_type: Some(MEDIA_TYPE),
    read: Read::Always(read),
};

/// The kind of resource that hosts show as a view.
pub(in crate::mcp) const MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// The extension of the protocol that views belong to.
pub(in crate::mcp) const EXTENSION: &str = "io.modelcontextprotocol/ui";

static ESCAPED: LazyLock<Bytes> = LazyLock::new(|| {
    let mut escaped = String::with_capacity(view().len() + (view().len() >> 3));
    escape_into(&mut escaped, view());
    escaped.into()
});

/// Lists the view.
pub(super) fn write_listing(out: &mut Answer) {
    out.object(|out| {
        field!(out, "uri").string(&uri::of_view());
        field!(out, "name").string(RESOURCE.name);
        field!(out, "title").string(RESOURCE.title);
        field!(out, "description").string(RESOURCE.description);
        field!(out, "mimeType").string(MEDIA_TYPE);
        write_ui(out);
    });
}

fn read(address: &str, out: &mut Answer) {
    out.object(|out| {
        field!(out, "uri").string(address);
        field!(out, "mimeType").string(MEDIA_TYPE);
        field!(out, "text").quoted(|out| {
            out.splice(ESCAPED.clone());
        });
        write_ui(out);
    });
}

/// Writes what the view needs of a host: pictures that come with the answers, and nothing from anywhere else. Some hosts
/// read this from the list, others from what is read.
fn write_ui(out: &mut Answer) {
    field!(out, "_meta").object(|out| {
        field!(out, "ui").object(|out| {
            field!(out, "csp").object(|out| {
                field!(out, "resourceDomains").strings(["data:"]);
            });
            field!(out, "prefersBorder").boolean(false);
        });
    });
}
