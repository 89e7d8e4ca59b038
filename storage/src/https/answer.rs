//! What the head of an answer says: ranges, lengths, encodings, marks.

use hyper::body::Body as _;
use hyper::header::{
    CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use wakashu_archive::{ContentHash, Span};

use super::fault::{Failed, SERVE_AS_THEY_ARE, Subject};
use crate::storage::Etag;
use crate::timestamp::Timestamp;

/// How long an object must have been left alone before the host's own mark is trusted to tell it from the next one.
/// Many hosts make marks of the time in whole seconds and the length, and two pointers written within a second are
/// often equally long.
const SETTLED_SECONDS: u64 = 60;

/// Refuses answers that are not the file: encoded ones, and web pages that stand in for it.
pub(super) fn check_kind(subject: Subject<'_>, headers: &HeaderMap) -> Result<(), Failed> {
    for encoding in headers.get_all(CONTENT_ENCODING) {
        let encoding = String::from_utf8_lossy(encoding.as_bytes());
        if !matches!(encoding.trim(), "" | "identity") {
            return Err(subject.fault(
                format!(
                    "sends it compressed (`content-encoding: {}`) although it was asked not to",
                    cut(&encoding)
                ),
                SERVE_AS_THEY_ARE,
            ));
        }
    }
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let kind = String::from_utf8_lossy(kind).to_ascii_lowercase();
    if kind.starts_with("text/html") || kind.starts_with("application/xhtml") {
        return Err(web_page(subject));
    }
    Ok(())
}

/// Refuses a web page whatever it is called.
pub(super) fn check_no_page(subject: Subject<'_>, body: &[u8]) -> Result<(), Failed> {
    let beginning = body.trim_ascii_start();
    let is = |opening: &str| {
        beginning.get(..opening.len()).is_some_and(|found| found.eq_ignore_ascii_case(opening.as_bytes()))
    };
    if is("<!doctype html") || is("<html") { Err(web_page(subject)) } else { Ok(()) }
}

fn web_page(subject: Subject<'_>) -> Failed {
    subject.fault(
        "sends a web page (HTML) instead of the file",
        "check the address; hosts also answer with a page when one has to sign in, or for any address that they do not know",
    )
}

/// Where the bytes of an answer lie in the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// Which bytes they are.
    pub(super) span: Span,
    /// Length of the whole object.
    pub(super) total: u64,
}

impl ContentRange {
    /// Reads the one `Content-Range` that a part must come with: `bytes 0-99/1234`.
    pub(super) fn of(subject: Subject<'_>, headers: &HeaderMap) -> Result<Self, Failed> {
        let mut all = headers.get_all(CONTENT_RANGE).iter();
        let (Some(value), None) = (all.next(), all.next()) else {
            return Err(subject.fault("sends a part of the file and does not say which", SERVE_AS_THEY_ARE));
        };
        let text = String::from_utf8_lossy(value.as_bytes());
        let read = || {
            let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
            let (first, last) = range.split_once('-')?;
            let (first, last, total) = (number(first)?, number(last)?, number(total)?);
            let span = Span { offset: first, length: last.checked_sub(first)?.checked_add(1)? };
            (last < total).then_some(Self { span, total })
        };
        read().ok_or_else(|| {
            subject
                .fault(format!("describes a part of the file wrongly (`{}`)", cut(&text)), SERVE_AS_THEY_ARE)
        })
    }

    /// Reads the length that comes with the refusal of a range: `bytes */1234`.
    pub(super) fn total_of_refusal(headers: &HeaderMap) -> Option<u64> {
        number(headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes */")?)
    }
}

/// Returns the beginning of what a host says, for a message.
fn cut(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(100).collect()
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Returns the length a body says it has.
pub(super) fn declared_length(body: &hyper::body::Incoming) -> Option<u64> {
    body.size_hint().exact()
}

/// Returns the mark of an object by what the host says about it; `None` if that does not tell its states apart.
pub(super) fn hosts_mark(headers: &HeaderMap) -> Option<Etag> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let modified = text(LAST_MODIFIED);
    let seconds = |date: Option<&str>| date.and_then(http_date).map(Timestamp::unix_seconds);
    let has_settled = match (seconds(modified), seconds(text(DATE))) {
        (Some(modified), Some(now)) => modified + SETTLED_SECONDS <= now,
        _ => false,
    };
    match (text(ETAG), modified) {
        (Some(etag), None) => Some(Etag(format!("etag {etag}"))),
        (Some(etag), Some(_)) if has_settled => Some(Etag(format!("etag {etag}"))),
        (None, Some(modified)) if has_settled => Some(Etag(format!("date {modified}"))),
        _ => None,
    }
}

/// Returns the mark of an object by its bytes.
pub(super) fn own_mark(body: &[u8]) -> Etag {
    Etag(format!("hash {}", ContentHash::of(body)))
}

/// Returns the header that asks for an object only if it has another mark now; `None` if the mark is our own.
pub(super) fn condition(known: &Etag) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = match known.0.split_once(' ')? {
        ("etag", etag) => (IF_NONE_MATCH, etag),
        ("date", date) => (IF_MODIFIED_SINCE, date),
        _ => return None,
    };
    Some((name, HeaderValue::from_str(value).ok()?))
}

/// Reads a date as HTTP writes it: `Wed, 18 Nov 2026 09:30:00 GMT`.
fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = text.split(' ').skip(1);
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    format!("{year}-{month:02}-{day}T{time}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web_address::WebAddress;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn a_content_range_is_read_exactly() {
        let address = WebAddress::parse("https://example.org/x").unwrap();
        let read = |text: &str| {
            ContentRange::of(Subject { address: &address }, &headers(&[(CONTENT_RANGE, text)])).ok()
        };
        let span = Span { offset: 2, length: 3 };
        assert_eq!(read("bytes 2-4/10"), Some(ContentRange { span, total: 10 }));
        let last = ContentRange { span: Span { offset: 9, length: 1 }, total: 10 };
        assert_eq!(read("bytes 9-9/10"), Some(last));
        for wrong in [
            "",
            "bytes",
            "bytes 2-4",
            "bytes 2-4/*",
            "bytes */10",
            "bytes 4-2/10",
            "bytes 2-10/10",
            "octets 2-4/10",
            "bytes=2-4/10",
            "bytes 2-4/+10",
            "bytes -4/10",
            "bytes 2-/10",
            "bytes  2-4/10",
            "bytes 0-18446744073709551615/5",
            "bytes 2-99999999999999999999/99999999999999999999",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(ContentRange::total_of_refusal(&headers(&[(CONTENT_RANGE, "bytes */10")])), Some(10));
        assert_eq!(ContentRange::total_of_refusal(&headers(&[(CONTENT_RANGE, "bytes */*")])), None);
    }

    #[test]
    fn a_hosts_mark_is_trusted_once_the_object_has_settled() {
        const THEN: &str = "Wed, 18 Nov 2026 09:30:00 GMT";
        const SOON: &str = "Wed, 18 Nov 2026 09:30:59 GMT";
        const LATER: &str = "Wed, 18 Nov 2026 09:31:00 GMT";
        let mark = |pairs: &[(HeaderName, &str)]| hosts_mark(&headers(pairs)).map(|mark| mark.0);
        let etag = Some("etag \"x\"".to_owned());
        assert_eq!(mark(&[(ETAG, "\"x\"")]), etag);
        assert_eq!(mark(&[(ETAG, "\"x\""), (LAST_MODIFIED, THEN), (DATE, LATER)]), etag);
        assert_eq!(mark(&[(ETAG, "\"x\""), (LAST_MODIFIED, THEN), (DATE, SOON)]), None);
        assert_eq!(mark(&[(LAST_MODIFIED, THEN), (DATE, LATER)]), Some(format!("date {THEN}")));
        assert_eq!(mark(&[(LAST_MODIFIED, THEN), (DATE, SOON)]), None);
        assert_eq!(mark(&[(LAST_MODIFIED, THEN)]), None);
        assert_eq!(mark(&[(LAST_MODIFIED, "yesterday"), (DATE, LATER)]), None);
        assert_eq!(mark(&[]), None);
    }

    #[test]
    fn a_mark_becomes_the_condition_it_came_from() {
        let asked = |mark: &str| condition(&Etag::new(mark)).map(|(name, value)| (name.to_string(), value));
        assert_eq!(
            asked("etag W/\"x y\""),
            Some(("if-none-match".to_owned(), HeaderValue::from_static("W/\"x y\"")))
        );
        let date = "Wed, 18 Nov 2026 09:30:00 GMT";
        assert_eq!(
            asked(&format!("date {date}")),
            Some(("if-modified-since".to_owned(), HeaderValue::from_static(date)))
        );
        assert_eq!(asked(&own_mark(b"x").0), None);
        assert_eq!(asked("etag \n"), None);
    }
}
