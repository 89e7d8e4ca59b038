//! A part of a web host as a store that can be read: any host of static files, as `https://host/path`.
//!
//! Nothing a host says is taken on trust. It must send the very bytes that were asked for, unencoded, and as many as
//! it announced; what it says of the whole must agree with the pointer. Hosts that know no ranges are told by their
//! answer: a small object is then taken whole, once, and a larger one refused with the reason.

mod answer;
mod client;
mod fault;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderValue, RANGE};
use hyper::{Response, StatusCode};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use wakashu_archive::Span;

use crate::error::{StorageError, check_total};
use crate::key::check_key;
use crate::storage::{BoxFuture, Etag, Fetched, MAX_SMALL_BYTES, Object, ReadStore, Tail};
use crate::web_address::WebAddress;
use answer::{ContentRange, check_kind, check_no_page, condition, declared_length, hosts_mark, own_mark};
use client::{Client, Outside};
use fault::{Failed, SERVE_AS_THEY_ARE, Subject};

/// The longest a small read may take: three attempts of 2 s, the pauses between them, and the body. As in buckets.
const READ_DEADLINE: Duration = Duration::from_secs(8);

/// A larger read may take longer: the time its bytes need on a slow line.
const SLOWEST_BYTES_PER_SECOND: u64 = 1 << 20;

/// Attempts of one read, the first included.
const ATTEMPTS: u32 = 3;

/// One attempt up to the answer's head, redirects included.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// The pause before the second attempt; before the third it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The largest object that is taken whole from a host that ignores ranges.
const MOST_WHOLE_BYTES: u64 = 8 << 20;

/// A store on a web host.
#[derive(Clone)]
pub struct WebHost {
    address: WebAddress,
    client: Arc<Client>,
}

impl WebHost {
    /// Names a store. The first read opens the connection.
    #[must_use]
    pub fn new(address: WebAddress) -> Self {
        Self::in_surroundings(address, Outside::REAL)
    }

    fn in_surroundings(address: WebAddress, outside: Outside) -> Self {
        Self { client: Arc::new(Client::new(&address, outside)), address }
    }

    async fn get_small(
        &self,
        key: &str,
        known: Option<&Etag>,
        past_caches: bool,
    ) -> Result<Fetched, StorageError> {
        let object = self.named(key, None)?;
        let mut headers = HeaderMap::from_iter(known.and_then(condition));
        if past_caches {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        let mut patience = Patience::new();
        loop {
            match object.get_if_changed(known, &headers, &patience).await {
                Ok(fetched) => return Ok(fetched),
                Err(failed) => patience.after(failed).await?,
            }
        }
    }

    fn named(&self, key: &str, length: Option<u64>) -> Result<WebObject, StorageError> {
        check_key(key)?;
        let (address, client) = (self.address.join(key), Arc::clone(&self.client));
        Ok(WebObject { address, client, length, whole: OnceLock::new() })
    }
}

impl fmt::Debug for WebHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebHost({})", self.address)
    }
}

impl ReadStore for WebHost {
    fn object<'a>(
        &'a self,
        key: &'a str,
        length: Option<u64>,
    ) -> BoxFuture<'a, Result<Arc<dyn Object>, StorageError>> {
        let object = self.named(key, length).map(|object| Arc::new(object) as Arc<dyn Object>);
        Box::pin(std::future::ready(object))
    }

    fn get_if_changed<'a>(
        &'a self,
        key: &'a str,
        known: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(self.get_small(key, known, false))
    }

    fn get_past_caches<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(self.get_small(key, None, true))
    }

    fn describe(&self) -> String {
        self.address.to_string()
    }
}

/// One object of a web host.
#[derive(Debug)]
struct WebObject {
    address: WebAddress,
    client: Arc<Client>,
    /// How long the object must be, where that is known.
    length: Option<u64>,
    /// All of it, once a host that ignores ranges has sent it.
    whole: OnceLock<Bytes>,
}

impl fmt::Display for WebObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl Object for WebObject {
    fn tail(&self, most: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        // Not all hosts know ranges that are counted from the end.
        let wanted = match self.length {
            Some(length) if length > 0 => {
                let taken = most.min(length);
                Wanted::Span(Span { offset: length - taken, length: taken })
            }
            _ => Wanted::Last(most),
        };
        Box::pin(async move {
            let (bytes, total_length) = self.fetch(wanted).await?;
            let expected = most.min(total_length);
            self.check_length(&bytes, expected)?;
            Ok(Tail { bytes, total_length })
        })
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        Box::pin(async move {
            if span.length == 0 {
                return Ok(Bytes::new());
            }
            let (bytes, _) = self.fetch(Wanted::Span(span)).await?;
            self.check_length(&bytes, span.length)?;
            Ok(bytes)
        })
    }
}

/// What part of an object is asked for.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Span(Span),
    /// The last so many bytes.
    Last(u64),
}

impl Wanted {
    fn most(self) -> u64 {
        match self {
            Self::Span(span) => span.length,
            Self::Last(most) => most,
        }
    }

    /// Returns what there is of it in an object of that length.
    fn within(self, total: u64) -> Span {
        match self {
            Self::Span(span) => {
                let offset = span.offset.min(total);
                Span { offset, length: span.end().min(total) - offset }
            }
            Self::Last(most) => Span { offset: total.saturating_sub(most), length: total.min(most) },
        }
    }

    fn cut_out(self, whole: &Bytes) -> Bytes {
        let span = self.within(whole.len() as u64);
        let range = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
        range.map_or_else(Bytes::new, |(start, end)| whole.slice(start..end))
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Span(span) => write!(f, "bytes={}-{}", span.offset, span.end().saturating_sub(1)),
            Self::Last(most) => write!(f, "bytes=-{most}"),
        }
    }
}

impl WebObject {
    fn subject(&self) -> Subject<'_> {
        Subject { address: &self.address }
    }

    fn check_length(&self, bytes: &Bytes, expected: u64) -> Result<(), StorageError> {
        let found = bytes.len() as u64;
        if found == expected {
            Ok(())
        } else {
            Err(StorageError::ShortRead { object: self.to_string(), expected, found })
        }
    }

    /// Returns what there is of the wanted part, and the length of the whole object.
    async fn fetch(&self, wanted: Wanted) -> Result<(Bytes, u64), StorageError> {
        let mut patience = Patience::new();
        loop {
            if let Some(whole) = self.whole.get() {
                return Ok((wanted.cut_out(whole), whole.len() as u64));
            }
            match self.get_range(wanted, &patience).await {
                Ok(fetched) => return Ok(fetched),
                Err(failed) => patience.after(failed).await?,
            }
        }
    }

    async fn get_range(&self, wanted: Wanted, patience: &Patience) -> Result<(Bytes, u64), Failed> {
        let range = HeaderValue::try_from(wanted.to_string());
        let range = range.map_err(|problem| self.subject().unusable(problem.into()))?;
        let answer = self.get(&HeaderMap::from_iter([(RANGE, range)])).await?;
        match answer.status() {
            StatusCode::PARTIAL_CONTENT => self.part(wanted, answer, patience).await,
            StatusCode::OK => self.all(wanted, answer, patience).await,
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let total = ContentRange::total_of_refusal(answer.headers());
                check_total(self, self.length, total.or(self.length).unwrap_or_default())?;
                match (wanted, total) {
                    // An empty object has no last byte; a span may lie outside.
                    (Wanted::Last(_), Some(0)) | (Wanted::Span(_), _) => {
                        Ok((Bytes::new(), total.unwrap_or_default()))
                    }
                    _ => Err(self.subject().fault("refuses to send the end of the file", SERVE_AS_THEY_ARE)),
                }
            }
            other => Err(self.subject().refused(other)),
        }
    }

    /// Takes the part that was asked for.
    async fn part(
        &self,
        wanted: Wanted,
        answer: Response<Incoming>,
        patience: &Patience,
    ) -> Result<(Bytes, u64), Failed> {
        let ContentRange { span, total } = ContentRange::of(self.subject(), answer.headers())?;
        check_total(self, self.length, total)?;
        if span != wanted.within(total) {
            let problem =
                format!("sends the bytes {} to {} where `{wanted}` was asked for", span.offset, span.end());
            return Err(self.subject().fault(problem, SERVE_AS_THEY_ARE));
        }
        let declared = declared_length(answer.body());
        if declared.is_some_and(|declared| declared != span.length) {
            let problem =
                format!("sends {} bytes as a part of {}", declared.unwrap_or_default(), span.length);
            return Err(self.subject().fault(problem, SERVE_AS_THEY_ARE));
        }
        let bytes = self.body(answer.into_body(), span.length, patience).await?;
        if bytes.len() as u64 != span.length {
            let problem = format!("sends {} bytes as a part of {}", bytes.len(), span.length);
            return Err(self.subject().fault(problem, SERVE_AS_THEY_ARE));
        }
        Ok((bytes, total))
    }

    /// Takes all of an object from a host that ignores ranges, if it is small or all was wanted.
    async fn all(
        &self,
        wanted: Wanted,
        answer: Response<Incoming>,
        patience: &Patience,
    ) -> Result<(Bytes, u64), Failed> {
        let most = wanted.most().max(MOST_WHOLE_BYTES);
        let declared = declared_length(answer.body());
        if let Some(declared) = declared {
            check_total(self, self.length, declared)?;
        }
        let length = declared.or(self.length);
        let too_large = || {
            let problem = format!(
                "ignores range requests, and the file is too large to be fetched whole (at most {} MiB)",
                MOST_WHOLE_BYTES >> 20
            );
            self.subject()
                .fault(problem, "use a host that answers range requests with 206, a bucket or a folder")
        };
        if length.is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let whole = self.body(answer.into_body(), length.unwrap_or(most), patience).await;
        let whole = match whole {
            Err(Failed::Lasting(StorageError::TooLarge { .. })) if length.is_none() => {
                return Err(too_large());
            }
            whole => whole?,
        };
        check_total(self, self.length, whole.len() as u64)?;
        check_no_page(self.subject(), &whole)?;
        let part = wanted.cut_out(&whole);
        let total = whole.len() as u64;
        // Another read may have been quicker; both have the same.
        let _ = self.whole.set(whole);
        Ok((part, total))
    }

    async fn get_if_changed(
        &self,
        known: Option<&Etag>,
        headers: &HeaderMap,
        patience: &Patience,
    ) -> Result<Fetched, Failed> {
        let answer = self.get(headers).await?;
        match answer.status() {
            StatusCode::NOT_MODIFIED if known.and_then(condition).is_some() => return Ok(Fetched::Unchanged),
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Fetched::Missing),
            StatusCode::OK => {}
            other => return Err(self.subject().refused(other)),
        }
        let mark = hosts_mark(answer.headers());
        // Some hosts ignore the condition and send what is known already.
        if mark.is_some() && mark.as_ref() == known {
            return Ok(Fetched::Unchanged);
        }
        if let Some(found) = declared_length(answer.body()).filter(|found| *found > MAX_SMALL_BYTES) {
            return Err(self.too_large(found, MAX_SMALL_BYTES));
        }
        let value = self.body(answer.into_body(), MAX_SMALL_BYTES, patience).await?;
        check_no_page(self.subject(), &value)?;
        let etag = mark.unwrap_or_else(|| own_mark(&value));
        if Some(&etag) == known { Ok(Fetched::Unchanged) } else { Ok(Fetched::Changed { value, etag }) }
    }

    /// Asks once, and returns the answer of which the head has come and is in order.
    async fn get(&self, headers: &HeaderMap) -> Result<Response<Incoming>, Failed> {
        let asking = timeout(ATTEMPT_TIMEOUT, self.client.get(self.subject(), headers));
        let answer = asking.await.map_err(|_| Failed::Passing(self.late(ATTEMPT_TIMEOUT * ATTEMPTS)))??;
        if answer.status().is_success() {
            check_kind(self.subject(), answer.headers())?;
        }
        Ok(answer)
    }

    /// Reads a body of at most `most` bytes.
    async fn body(&self, mut body: Incoming, most: u64, patience: &Patience) -> Result<Bytes, Failed> {
        let declared = declared_length(&body);
        let allowed = read_deadline(declared.unwrap_or(most).min(most));
        let reading = async {
            let mut bytes = BytesMut::new();
            let mut only: Option<Bytes> = None;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| self.subject().broken(error))?;
                let Ok(data) = frame.into_data() else { continue };
                let found = (bytes.len() + only.as_ref().map_or(0, Bytes::len) + data.len()) as u64;
                if found > most {
                    return Err(self.too_large(found, most));
                }
                if only.is_none() && bytes.is_empty() {
                    only = Some(data);
                    continue;
                }
                if let Some(first) = only.take() {
                    bytes.reserve(usize::try_from(declared.unwrap_or(0).min(most)).unwrap_or(0));
                    bytes.extend_from_slice(&first);
                }
                bytes.extend_from_slice(&data);
            }
            Ok(only.unwrap_or_else(|| bytes.freeze()))
        };
        timeout_at(patience.started + allowed, reading).await.map_err(|_| self.late(allowed))?
    }

    fn too_large(&self, found: u64, most: u64) -> Failed {
        Failed::Lasting(StorageError::TooLarge { object: self.to_string(), found, most })
    }

    fn late(&self, waited: Duration) -> StorageError {
        StorageError::Timeout { object: self.to_string(), seconds: waited.as_secs() }
    }
}

fn read_deadline(bytes: u64) -> Duration {
    READ_DEADLINE + Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND)
}

/// When a read began, and how often it was tried.
#[derive(Debug)]
struct Patience {
    started: Instant,
    attempt: u32,
}

impl Patience {
    fn new() -> Self {
        Self { started: Instant::now(), attempt: 1 }
    }

    /// Pauses before the next attempt; fails if it was the last.
    async fn after(&mut self, failed: Failed) -> Result<(), StorageError> {
        match failed {
            Failed::Passing(_) if self.attempt < ATTEMPTS && self.started.elapsed() < READ_DEADLINE => {
                sleep(FIRST_PAUSE * self.attempt).await;
                self.attempt += 1;
                Ok(())
            }
            Failed::Passing(error) | Failed::Lasting(error) => Err(error),
        }
    }
}
