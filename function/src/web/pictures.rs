//! `GET /pictures/{round}/{rank}`: the picture itself, for people who follow a link.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, HeaderName, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderValue, Method};
use wakashu_archive::{ArchivedRendition, Rank, decode_picture};

use crate::desk::Wants;
use crate::entries;
use crate::exchange::{Exchange, Owed};
use crate::fault::ToolError;
use crate::served::index::ReadError;
use crate::served::reading::Reading;
use crate::served::uri;
use crate::web::conditional;
use crate::web::query::parameter;
use crate::web::refusal::Refusal;
use crate::web::reply::{Media, Payload, Reply};
use crate::web::routes::Route;

/// A link with a matching `v` names bytes that never change.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const A_WHILE: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// A picture may stand in anybody's page.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const CROSS_ORIGIN: HeaderValue = HeaderValue::from_static("cross-origin");

pub(super) async fn answer(x: &mut Exchange<'_>, route: &Route, parts: &Parts) -> Reply {
    picture(x, route, parts).await.with(RESOURCE_POLICY, CROSS_ORIGIN)
}

async fn picture(x: &mut Exchange<'_>, route: &Route, parts: &Parts) -> Reply {
    let mut segments = route.path.segments(parts.uri.path()).map(uri::decode);
    let (Some(Some(round)), Some(Some(rank))) = (segments.next(), segments.next()) else {
        return Reply::plain(400, "the path is not UTF-8");
    };
    let asked = Asked { round: &round, rank: &rank, parts };
    match x.work(Wants::PLACE, &asked).await {
        Ok(reply) => reply,
        Err(ToolError::Execution(detail)) => {
            let fault = ToolError::Execution(detail);
            fault.report(None, &x.id);
            x.facts.error = Some(fault.code());
            Reply::plain(503, "this picture cannot be read at the moment; try again later")
        }
        Err(fault) => {
            fault.report(None, &x.id);
            Refusal::Fault(fault).in_form(x, route.form)
        }
    }
}

/// A picture that is asked for.
struct Asked<'a> {
    round: &'a str,
    rank: &'a str,
    parts: &'a Parts,
}

impl Owed for Asked<'_> {
    type Done = Reply;
    type Refused = ToolError;

    async fn work(&self, x: &mut Exchange<'_>) -> Result<Reply, ToolError> {
        let Some(index) = x.index() else {
            return Err(ToolError::IndexUnavailable { configured: x.served.is_configured() });
        };
        let missing = || Ok(Reply::plain(404, "no such picture"));
        let Ok(rank) = self.rank.parse().map(Rank::get) else { return missing() };
        let Some(round) = index.archive().find_round(self.round) else { return missing() };
        let Some(held) = entries::find(index, round, rank).await? else { return missing() };
        let Some(picture) = held.entry().and_then(|entry| entry.picture.as_ref()) else { return missing() };
        let (rendition, is_original) = match parameter(&self.parts.uri, "rendition") {
            None | Some("large") => (&picture.large, false),
            Some("medium") => (&picture.medium, false),
            Some("small") => (&picture.small, false),
            Some("original") => match picture.original.as_ref() {
                Some(original) => (original, true),
                None => return Ok(Reply::plain(404, "this archive was built without originals")),
            },
            Some(_) => return Ok(Reply::plain(400, "rendition is large, medium, small or original")),
        };
        let etag = format!("\"{}\"", rendition.hash());
        let lasting = parameter(&self.parts.uri, "v") == Some(rendition.hash().to_short_hex().as_str());
        let named = |reply: Reply| {
            let reply = reply.with(CACHE_CONTROL, if lasting { FOREVER } else { A_WHILE });
            conditional::tagged(reply, &etag)
        };
        if conditional::is_known(&self.parts.headers, &etag) {
            return Ok(named(Reply::empty(304)));
        }
        let mut reply =
            named(Reply { media: Media::Picture(rendition.media_type().as_str()), ..Reply::empty(200) });
        reply = reply.with(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.parts.method == Method::HEAD {
            return Ok(reply.with(CONTENT_LENGTH, rendition.file_bytes.to_native()));
        }
        let body = Payload::Bytes(bytes_of(index, rendition, is_original).await?);
        Ok(Reply { body, ..reply })
    }
}

/// Returns the picture file. Only here is base64 decoded.
async fn bytes_of(
    index: &Reading,
    rendition: &ArchivedRendition,
    is_original: bool,
) -> Result<Bytes, ReadError> {
    if is_original {
        return index.original(rendition).await;
    }
    let Some(stored) = index.pictures([rendition]).await.next() else { return Ok(Bytes::new()) };
    // Verified base64 decodes; an empty picture would be the archive's own fault.
    Ok(decode_picture(&stored?).map(Bytes::from).unwrap_or_default())
}
