//! `GET /pictures/{round}/{rank}`: the picture itself, for people who follow a link.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use wakashu_archive::{ArchiveError, ArchivedRendition, Damage, Part, Rank, decode_picture};

use crate::entries;
use crate::exchange::Context;
use crate::fault::Detail;
use crate::served::index::{Index, ReadError};
use crate::served::limits::MAX_ANSWER_BYTES;
use crate::web::{GivenId, plain};

/// A link with a matching `v` names bytes that never change.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const A_WHILE: HeaderValue = HeaderValue::from_static("public, max-age=300");

pub(super) async fn serve(
    State(context): State<Arc<Context>>,
    method: Method,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
    RawQuery(query): RawQuery,
    Extension(GivenId(request_id)): Extension<GivenId>,
    headers: HeaderMap,
) -> Response<Body> {
    if context.access.check(&headers).is_err() {
        return plain(StatusCode::FORBIDDEN, "this Host or Origin is not answered here");
    }
    let Ok(Path((round, rank))) = path else {
        return plain(StatusCode::BAD_REQUEST, "the path is not UTF-8");
    };
    let query = query.unwrap_or_default();
    let snapshot = context.state.current();
    let Some(index) = snapshot.index() else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "no archive is loaded; try again later");
    };
    let mut answered = answer(index, &round, &rank, &query, &method, &headers).await;
    if index.is_gone() {
        context.state.refresh().await;
        index.look_again();
        if let Some(index) = context.state.current().index() {
            answered = answer(index, &round, &rank, &query, &method, &headers).await;
        }
    }
    match answered {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(
                request = &*request_id,
                detail = Detail::of(&error).for_log(),
                "a picture could not be read"
            );
            plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "this picture cannot be read at the moment; try again later",
            )
        }
    }
}

async fn answer(
    index: &Index,
    round: &str,
    rank: &str,
    query: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Response<Body>, ReadError> {
    let missing = || Ok(plain(StatusCode::NOT_FOUND, "no such picture"));
    let Ok(rank) = rank.parse().map(Rank::get) else { return missing() };
    let Some(round) = index.archive().find_round(round) else { return missing() };
    let Some(held) = entries::find(index, round, rank).await? else { return missing() };
    let Some(picture) = held.entry().and_then(|entry| entry.picture.as_ref()) else { return missing() };

    let parameter = |name: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let (rendition, is_original) = match parameter("rendition") {
        None | Some("large") => (&picture.large, false),
        Some("medium") => (&picture.medium, false),
        Some("small") => (&picture.small, false),
        Some("original") => match picture.original.as_ref() {
            Some(original) => (original, true),
            None => return Ok(plain(StatusCode::NOT_FOUND, "this archive was built without originals")),
        },
        Some(_) => {
            return Ok(plain(StatusCode::BAD_REQUEST, "rendition is large, medium, small or original"));
        }
    };
    let etag = format!("\"{}\"", rendition.hash());
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let known = known.flat_map(|value| value.split(',')).map(|tag| tag.trim().trim_start_matches("W/"));
    let unchanged = known.into_iter().any(|tag| tag == etag || tag == "*");

    let mut response = Response::new(Body::empty());
    let lasting = parameter("v") == Some(rendition.hash().to_short_hex().as_str());
    response.headers_mut().insert(CACHE_CONTROL, if lasting { FOREVER } else { A_WHILE });
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let media_type = HeaderValue::from_static(rendition.media_type().as_str());
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if method == Method::HEAD {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(rendition.file_bytes.to_native()));
    } else {
        *response.body_mut() = Body::from(bytes_of(index, rendition, is_original).await?);
    }
    Ok(response)
}

/// Returns the picture file. Only here is base64 decoded.
async fn bytes_of(
    index: &Index,
    rendition: &ArchivedRendition,
    is_original: bool,
) -> Result<Bytes, ReadError> {
    if is_original {
        return index.original(rendition).await;
    }
    // No rendition that fits an answer is larger; a crafted archive may name hundreds of megabytes here.
    let span = rendition.span();
    if span.length > MAX_ANSWER_BYTES as u64 {
        return Err(ReadError::Archive(ArchiveError::Damaged {
            part: Part::Picture,
            offset: span.offset,
            damage: Damage::Rule("a rendition is larger than any answer"),
        }));
    }
    let Some(stored) = index.pictures([rendition]).await.next() else { return Ok(Bytes::new()) };
    // Verified base64 decodes; an empty picture would be the archive's own fault.
    Ok(decode_picture(&stored?).map(Bytes::from).unwrap_or_default())
}
