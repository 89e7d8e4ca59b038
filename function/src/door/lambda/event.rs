//! Function-URL events (payload format 2.0) as HTTP, and answers as their envelope.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html>, checked 2026-11-16.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What may not stand in a query as it is.
const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// What may not stand in a path as it is; `%` may, the path arrives encoded.
const PATH: &AsciiSet = &QUERY.add(b'?');

/// A request as the platform hands it over; only what is used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    #[serde(default, deserialize_with = "null_as_default")]
    raw_path: String,
    #[serde(default, deserialize_with = "null_as_default")]
    raw_query_string: String,
    /// Repeated headers arrive joined by commas.
    #[serde(default, deserialize_with = "null_as_default")]
    headers: BTreeMap<String, String>,
    request_context: RequestContext,
    body: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    is_base64_encoded: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext {
    domain_name: Option<String>,
    http: Http,
}

#[derive(Debug, Deserialize)]
struct Http {
    method: String,
}

/// Reads what may be null: emulators write it where the platform leaves a field out.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Event {
    /// Returns where this deployment's picture links begin.
    pub(super) fn picture_base(&self) -> Option<String> {
        let name = self.request_context.domain_name.as_deref()?;
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'[' | b']');
        (!name.is_empty() && name.bytes().all(plain)).then(|| format!("https://{name}"))
    }

    /// Returns the request, or what is wrong with it. Whatever a stranger sends, this does not panic.
    pub(super) fn into_request(self) -> Result<Request<Full<Bytes>>, &'static str> {
        let method = Method::from_bytes(self.request_context.http.method.as_bytes());
        let method = method.map_err(|_| "the method is not one")?;
        let uri = uri_of(&self.raw_path, &self.raw_query_string).ok_or("the address is too long")?;
        let body = match self.body {
            Some(text) if self.is_base64_encoded => {
                Bytes::from(STANDARD.decode(text).map_err(|_| "the body is not base64")?)
            }
            Some(text) => Bytes::from(text),
            None => Bytes::new(),
        };
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, value) in self.headers {
            // What is not a header by HTTP's rules cannot be one that we read.
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_maybe_shared(Bytes::from(value))) {
                headers.append(name, value);
            }
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

fn uri_of(path: &str, query: &str) -> Option<Uri> {
    let mut whole = String::with_capacity(path.len() + query.len() + 2);
    if !path.starts_with('/') {
        whole.push('/');
    }
    whole.extend(utf8_percent_encode(path, PATH));
    if !query.is_empty() {
        whole.push('?');
        whole.extend(utf8_percent_encode(query, QUERY));
    }
    PathAndQuery::from_maybe_shared(Bytes::from(whole)).ok().map(Uri::from)
}

/// An answer for the buffered mode: the platform takes one JSON object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope {
    status_code: u16,
    headers: BTreeMap<String, String>,
    /// Always empty, as in AWS's own library; the emulator of cargo-lambda insists on it.
    multi_value_headers: BTreeMap<String, String>,
    body: Content,
    is_base64_encoded: bool,
    /// Likewise.
    cookies: [String; 0],
}

impl Envelope {
    /// Wraps an answer up. Text stays text, anything else travels as base64.
    pub(super) fn new(parts: &Parts, pieces: Vec<Bytes>) -> Self {
        let body = Content::new(pieces, is_text(&parts.headers));
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            headers
                .entry(name.as_str().to_owned())
                .and_modify(|known| {
                    known.push_str(", ");
                    known.push_str(&value);
                })
                .or_insert_with(|| value.into_owned());
        }
        let is_base64_encoded = matches!(body, Content::Binary(_));
        Self {
            status_code: parts.status.as_u16(),
            headers,
            multi_value_headers: BTreeMap::new(),
            body,
            is_base64_encoded,
            cookies: [],
        }
    }
}

/// Tells whether the body may stand in the envelope as it is.
fn is_text(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    essence.starts_with(b"text/") || essence.ends_with(b"+xml") || essence == b"application/json"
}

/// A body on its way into the envelope.
#[derive(Debug)]
enum Content {
    /// Each piece is UTF-8 by itself: they are escaped straight into the envelope, without being joined first.
    Text(Vec<Bytes>),
    Binary(Bytes),
}

impl Content {
    fn new(pieces: Vec<Bytes>, is_text: bool) -> Self {
        let empty = pieces.iter().all(Bytes::is_empty);
        if empty || (is_text && pieces.iter().all(|piece| std::str::from_utf8(piece).is_ok())) {
            return Self::Text(pieces);
        }
        match <[Bytes; 1]>::try_from(pieces) {
            Ok([only]) => Self::Binary(only),
            Err(pieces) => Self::Binary(Bytes::from(pieces.concat())),
        }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(pieces) => serializer.collect_str(&Joined(pieces)),
            Self::Binary(bytes) => serializer.collect_str(&Base64Display::new(bytes, &STANDARD)),
        }
    }
}

struct Joined<'a>(&'a [Bytes]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| f.write_str(std::str::from_utf8(piece).map_err(|_| fmt::Error)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Response;

    fn event(json: &str) -> Event {
        serde_json::from_str(json).unwrap()
    }

    fn got(path: &str, query: &str) -> Result<Request<Full<Bytes>>, &'static str> {
        let json = serde_json::json!({
            "rawPath": path,
            "rawQueryString": query,
            "requestContext": {"http": {"method": "GET"}},
        });
        event(&json.to_string()).into_request()
    }

    fn envelope(response: Response<Vec<Bytes>>) -> serde_json::Value {
        let (parts, body) = response.into_parts();
        serde_json::to_value(Envelope::new(&parts, body)).unwrap()
    }

    #[test]
    fn addresses_of_every_kind_become_requests() {
        for (path, query, expected) in [
            ("/mcp", "", "/mcp"),
            ("/pictures/%E7%AC%AC1%E5%9B%9E/1", "v=1", "/pictures/%E7%AC%AC1%E5%9B%9E/1?v=1"),
            // A platform that decodes the path is understood as well.
            ("/pictures/第1回/1", "", "/pictures/%E7%AC%AC1%E5%9B%9E/1"),
            ("/a b?c#d", "x=<a>&y=\"#\"", "/a%20b%3Fc%23d?x=%3Ca%3E&y=%22%23%22"),
            ("", "", "/"),
            ("mcp", "", "/mcp"),
            ("//evil.example/", "", "//evil.example/"),
            ("/\u{0}\n", "", "/%00%0A"),
            ("/%zz", "%", "/%zz?%"),
        ] {
            let request = got(path, query).unwrap();
            assert_eq!(request.uri().path_and_query().unwrap().as_str(), expected, "{path} {query}");
        }
        assert!(got(&"/a".repeat(40_000), "").is_err());
    }

    #[tokio::test]
    async fn bodies_and_headers_arrive_as_they_were_sent() {
        let sent = event(
            r#"{"rawPath":"/mcp","headers":{"host":"a.example","x-odd":"第1回","bad name":"x","x-bad":"a\nb"},
                "requestContext":{"domainName":"a.example","http":{"method":"POST"}},
                "body":"eyJpZCI6MX0=","isBase64Encoded":true}"#,
        );
        assert_eq!(sent.picture_base().as_deref(), Some("https://a.example"));
        let request = sent.into_request().unwrap();
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.headers().len(), 2);
        assert_eq!(request.headers()["host"], "a.example");
        let body = http_body_util::BodyExt::collect(request.into_body()).await.unwrap().to_bytes();
        assert_eq!(body, r#"{"id":1}"#);
        let broken = event(
            r#"{"rawPath":"/mcp","requestContext":{"http":{"method":"POST"}},"body":"?","isBase64Encoded":true}"#,
        );
        assert_eq!(broken.into_request().unwrap_err(), "the body is not base64");
    }

    #[test]
    fn emulators_write_null_where_the_platform_leaves_fields_out() {
        let sent = event(
            r#"{"rawPath":"/mcp","rawQueryString":null,"headers":null,"body":null,"isBase64Encoded":null,
                "requestContext":{"domainName":null,"http":{"method":"GET"}}}"#,
        );
        assert_eq!(sent.into_request().unwrap().uri().path(), "/mcp");
    }

    #[test]
    fn a_name_that_is_no_name_begins_no_links() {
        for name in ["", "a.example/\"", "a b", "<a>"] {
            let json = serde_json::json!({
                "rawPath": "/",
                "requestContext": {"domainName": name, "http": {"method": "GET"}},
            });
            assert_eq!(event(&json.to_string()).picture_base(), None, "{name}");
        }
    }

    #[test]
    fn text_stays_text_and_pictures_become_base64() {
        for (media_type, body, expected, base64) in [
            ("application/json", "{\"題\":\"\\n\"}".as_bytes(), "{\"題\":\"\\n\"}", false),
            ("text/plain; charset=utf-8", b"hello", "hello", false),
            ("image/svg+xml", b"<svg/>", "<svg/>", false),
            ("image/webp", b"RIFF", "UklGRg==", true),
            ("image/png", b"\x89PNG", "iVBORw==", true),
            ("text/plain", b"\xff", "/w==", true),
            ("image/jpeg", b"", "", false),
        ] {
            let mut response = Response::new(vec![Bytes::from_static(body)]);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            let envelope = envelope(response);
            assert_eq!(envelope["body"], expected, "{media_type}");
            assert_eq!(envelope["isBase64Encoded"], base64, "{media_type}");
            assert_eq!(envelope["headers"]["content-type"], media_type);
        }
    }

    #[test]
    fn repeated_headers_are_joined_and_pieces_too() {
        let mut answer = crate::text::Answer::default();
        answer.raw("{\"a\":\"").splice(Bytes::from_static(b"AAAA")).raw("\"}");
        let mut response = Response::new(answer.into_pieces().into());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().append("vary", HeaderValue::from_static("a"));
        response.headers_mut().append("vary", HeaderValue::from_static("b"));
        let envelope = envelope(response);
        assert_eq!(envelope["body"], r#"{"a":"AAAA"}"#);
        assert_eq!(envelope["headers"]["vary"], "a, b");
        assert_eq!(envelope["statusCode"], 200);
    }
}
