//! `GET /v1/tools`, `GET /v1/tools/{name}`, `POST /v1/tools/search`.

use super::describe::{description, write_listed, write_whole};
use super::fields::{Fields, Query, refuse};
use crate::exchange::Exchange;
use crate::fault::{Received, ToolError};
use crate::text::{Answer, field};
use crate::tools::{self, TOOLS, Tool};

/// The last page there can be; bounds the arithmetic, not the registry.
pub(super) const MAX_PAGE: u64 = 1_000_000;
pub(super) const MAX_LIMIT: u64 = 100;
pub(super) const LIST_LIMIT: u64 = 50;
pub(super) const SEARCH_LIMIT: u64 = 20;

/// Most characters of a search's query.
pub(super) const MAX_QUERY_CHARACTERS: usize = 200;

/// Lists the tools, also those that are switched off or wait for an index.
pub(super) fn list(x: &Exchange<'_>, query: Option<&str>) -> Result<Answer, ToolError> {
    let query = Query::new(query);
    let (category, tag) = (query.text("category"), query.text("tag"));
    let enabled = query.flag("enabled")?;
    let page = query.whole("page", 1, 1, MAX_PAGE)?;
    let limit = query.whole("limit", LIST_LIMIT, 1, MAX_LIMIT)?;
    let found: Vec<&Tool> = TOOLS
        .iter()
        .copied()
        .filter(|tool| category.as_deref().is_none_or(|category| tool.category == category))
        .filter(|tool| tag.as_deref().is_none_or(|tag| tool.tags.contains(&tag)))
        .filter(|tool| enabled.is_none_or(|enabled| tool.unavailable(x).is_none() == enabled))
        .collect();
    let total = found.len() as u64;
    let from = usize::try_from((page - 1) * limit).unwrap_or(usize::MAX);
    let shown = found.into_iter().skip(from).take(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut out = Answer::default();
    out.object(|out| {
        field!(out, "tools").array(shown, |out, tool| write_listed(out, tool, x));
        field!(out, "pagination").object(|out| {
            field!(out, "page").number(page);
            field!(out, "limit").number(limit);
            field!(out, "total").number(total);
            field!(out, "totalPages").number(total.div_ceil(limit));
        });
    });
    Ok(out)
}

/// Shows one tool.
pub(super) fn one(x: &Exchange<'_>, name: &str) -> Result<Answer, ToolError> {
    let tool = tools::find(name).ok_or(ToolError::ToolNotFound)?;
    let mut out = Answer::default();
    write_whole(&mut out, tool, x);
    Ok(out)
}

/// Finds tools by a part of their name, title, description or tags.
pub(super) fn search(x: &Exchange<'_>, body: &[u8]) -> Result<Answer, ToolError> {
    let fields = Fields::body(body, &["query", "filters", "limit"])?;
    let query = fields.text("query")?.unwrap_or_default();
    let wanted = query.trim().to_lowercase();
    if wanted.is_empty() {
        return Err(refuse("query", "探す言葉を渡してください。", Received::Nothing, "required"));
    }
    if query.chars().count() > MAX_QUERY_CHARACTERS {
        let expected = format!("{MAX_QUERY_CHARACTERS}文字以内で渡してください。");
        return Err(refuse("query", &expected, Received::Text, "length"));
    }
    let filters = fields.object("filters", "filters.", &["category", "tags"])?;
    let (category, tags) = (filters.text("category")?, filters.texts("tags")?);
    let limit = fields.whole("limit", 1, MAX_LIMIT)?.unwrap_or(SEARCH_LIMIT);
    let found: Vec<&Tool> = TOOLS
        .iter()
        .copied()
        .filter(|tool| category.as_deref().is_none_or(|category| tool.category == category))
        .filter(|tool| tags.iter().all(|tag| tool.tags.contains(&&**tag)))
        .filter(|tool| {
            let texts = [tool.name, tool.title].into_iter().chain(tool.tags.iter().copied());
            texts.into_iter().any(|text| text.to_lowercase().contains(&wanted))
                || description(tool, x).to_lowercase().contains(&wanted)
        })
        .collect();
    let shown = found.iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut out = Answer::default();
    out.object(|out| {
        field!(out, "query").string(&query);
        field!(out, "total").number(found.len() as u64);
        field!(out, "results").array(shown, |out, tool| write_listed(out, tool, x));
    });
    Ok(out)
}
