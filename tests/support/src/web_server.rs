//! A host of static files that lies on request.
//!
//! It writes its answers byte by byte, so that it can also send what no server would, and closes every connection
//! after one answer, so that what it is told next holds from the next request on.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// What is wrong with an answer.
#[derive(Debug, Clone)]
pub enum Lie {
    /// The whole file where a part was asked for.
    IgnoresRanges,
    /// The whole file where a part was asked for, without its length.
    IgnoresRangesAndLengths,
    /// Another `Content-Range`; `{start}`, `{end}` and `{total}` are filled in. None if it is empty.
    ContentRange(&'static str),
    /// So many bytes fewer than announced.
    Short(usize),
    /// A body as announced, but shorter by one than the range.
    ShortAndHonest,
    /// More bytes than the range, in a body of unknown length.
    Long,
    /// One more header.
    Header(&'static str),
    /// The beginning of a web page, as HTML.
    Page,
    /// The beginning of a web page, said to be JSON.
    PageAsJson,
    /// A redirect, to this address.
    Redirect(String),
    /// A status and nothing else.
    Status(u16),
    /// No answer.
    Hang,
    /// The head of an answer and one byte.
    HangInBody,
    /// The connection closes instead.
    Close,
    /// Another file.
    Another(PathBuf),
}

/// By what the host tells the states of a file apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// `ETag`.
    Etag,
    /// `Last-Modified`, some time ago.
    Date,
    /// `ETag` and `Last-Modified`, just now: they may not tell this state from the next.
    Fresh,
    /// Nothing.
    None,
}

/// One answered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The path as it was asked for.
    pub path: String,
    /// The header `Range`.
    pub range: Option<String>,
    /// The status.
    pub status: u16,
}

/// A running host. It stops with the runtime it was started on.
#[derive(Debug, Clone)]
pub struct WebServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    folder: PathBuf,
    certificate: Option<Arc<ServerConfig>>,
    marks: Marks,
    lies: Vec<(String, Lie, usize)>,
    seen: Vec<Seen>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "State({})", self.folder.display())
    }
}

impl WebServer {
    /// Starts a host of the files in a folder; encrypted, if there is a certificate.
    pub async fn start(folder: PathBuf, certificate: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = State { folder, certificate, marks: Marks::Etag, lies: Vec::new(), seen: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&serving);
                tokio::spawn(async move {
                    let certificate = lock(&state).certificate.clone();
                    // An error is a client that went away, or did not like the certificate.
                    let _ = match certificate {
                        None => answer(&state, stream).await,
                        Some(certificate) => match TlsAcceptor::from(certificate).accept(stream).await {
                            Ok(stream) => answer(&state, stream).await,
                            Err(refused) => Err(refused),
                        },
                    };
                });
            }
        });
        Ok(Self { address, state })
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lies about every path that contains `path`, until [`heal`](Self::heal).
    pub fn lie(&self, path: &str, lie: Lie) {
        self.lie_times(path, lie, usize::MAX);
    }

    /// Lies so many times.
    pub fn lie_times(&self, path: &str, lie: Lie, times: usize) {
        lock(&self.state).lies.push((path.to_owned(), lie, times));
    }

    /// Tells the truth again.
    pub fn heal(&self) {
        lock(&self.state).lies.clear();
    }

    /// Tells the states of files apart in another way.
    pub fn mark_by(&self, marks: Marks) {
        lock(&self.state).marks = marks;
    }

    /// Shows another certificate from the next connection on.
    pub fn show(&self, certificate: Arc<ServerConfig>) {
        lock(&self.state).certificate = Some(certificate);
    }

    /// Returns what was asked since the last call.
    #[must_use]
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut lock(&self.state).seen)
    }
}

async fn answer(state: &Mutex<State>, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let range = header("range");
    let known = header("if-none-match").or_else(|| header("if-modified-since"));
    let lie = lock(state).lie_about(&path);
    if matches!(lie, Some(Lie::Hang)) {
        tokio::time::sleep(Duration::from_hours(1)).await;
    }
    let (status, bytes) = lock(state).reply(&path, range.as_deref(), known.as_deref(), lie.as_ref());
    lock(state).seen.push(Seen { path, range, status });
    if matches!(lie, Some(Lie::Close)) {
        return Ok(());
    }
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    if matches!(lie, Some(Lie::HangInBody)) {
        tokio::time::sleep(Duration::from_hours(1)).await;
    }
    stream.shutdown().await
}

impl State {
    fn lie_about(&mut self, path: &str) -> Option<Lie> {
        let (_, lie, times) =
            self.lies.iter_mut().find(|(part, _, times)| path.contains(part.as_str()) && *times > 0)?;
        *times -= 1;
        Some(lie.clone())
    }

    fn reply(
        &self,
        path: &str,
        range: Option<&str>,
        known: Option<&str>,
        lie: Option<&Lie>,
    ) -> (u16, Vec<u8>) {
        let plain = |status: u16, headers: &str, body: &[u8]| {
            let head = format!(
                "HTTP/1.1 {status} Something\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
                body.len()
            );
            (status, [head.as_bytes(), body].concat())
        };
        match lie {
            Some(Lie::Status(status)) => return plain(*status, "", b""),
            Some(Lie::Redirect(to)) => return plain(302, &format!("Location: {to}\r\n"), b"elsewhere"),
            Some(Lie::Page) => {
                return plain(200, "Content-Type: text/html; charset=utf-8\r\n", b"<!DOCTYPE html><p>");
            }
            Some(Lie::PageAsJson) => {
                return plain(200, "Content-Type: application/json\r\n", b"\n<!doctype HTML><p>");
            }
            _ => {}
        }
        let name = path.split('?').next().unwrap_or_default().trim_start_matches('/');
        let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        let file = match lie {
            Some(Lie::Another(file)) => file.clone(),
            _ => self.folder.join(name.as_ref()),
        };
        let Ok(whole) = std::fs::read(file) else {
            return plain(404, "Content-Type: text/html\r\n", b"<html>no");
        };

        // The same for the same bytes.
        let hash = wakashu_archive::ContentHash::of(&whole).to_string();
        let digit = |at: usize| u32::from(hash.as_bytes().get(at).copied().unwrap_or_default()) % 10;
        let date = format!("Thu, 1{} Oct 2026 1{}:1{}:1{} GMT", digit(0), digit(1), digit(2), digit(3));
        let (marks, current) = match self.marks {
            Marks::Etag => (format!("ETag: \"{hash}\"\r\n"), Some(format!("\"{hash}\""))),
            Marks::Date => {
                (format!("Last-Modified: {date}\r\nDate: Wed, 18 Nov 2026 00:00:00 GMT\r\n"), Some(date))
            }
            Marks::Fresh => (
                format!("ETag: \"same\"\r\nLast-Modified: {date}\r\nDate: {date}\r\n"),
                Some("\"same\"".to_owned()),
            ),
            Marks::None => (String::new(), None),
        };
        if known.is_some() && known == current.as_deref() {
            return plain(304, &marks, b"");
        }

        let total = whole.len();
        let asked = range.and_then(|range| span_of(range, total));
        let (start, end) = match (asked, lie) {
            (Some((start, end)), lie)
                if !matches!(lie, Some(Lie::IgnoresRanges | Lie::IgnoresRangesAndLengths)) =>
            {
                if start >= end {
                    return plain(416, &format!("Content-Range: bytes */{total}\r\n"), b"");
                }
                (start, end)
            }
            _ => {
                return match lie {
                    Some(Lie::IgnoresRangesAndLengths) => (200, unmeasured("200 OK", &marks, &whole)),
                    Some(Lie::HangInBody) => {
                        let (status, mut bytes) = plain(200, &marks, &whole);
                        bytes.truncate(bytes.len().saturating_sub(whole.len() / 2));
                        (status, bytes)
                    }
                    Some(Lie::Short(missing)) => {
                        let (status, mut bytes) = plain(200, &marks, &whole);
                        bytes.truncate(bytes.len().saturating_sub(*missing));
                        (status, bytes)
                    }
                    Some(Lie::Header(header)) => plain(200, &format!("{marks}{header}\r\n"), &whole),
                    _ => plain(200, &marks, &whole),
                };
            }
        };
        let body = whole.get(start..end).unwrap_or_default();
        let described = match lie {
            Some(Lie::ContentRange("")) => String::new(),
            Some(Lie::ContentRange(form)) => {
                let filled = form.replace("{start}", &start.to_string());
                let filled = filled.replace("{end}", &(end - 1).to_string());
                format!("Content-Range: {}\r\n", filled.replace("{total}", &total.to_string()))
            }
            _ => format!("Content-Range: bytes {start}-{}/{total}\r\n", end - 1),
        };
        let headers = format!("{marks}{described}");
        let (status, mut bytes) = match lie {
            Some(Lie::ShortAndHonest) => plain(206, &headers, body.get(1..).unwrap_or_default()),
            Some(Lie::Long) => (206, unmeasured("206 Partial", &headers, &[body, b"and more"].concat())),
            Some(Lie::Header(header)) => plain(206, &format!("{headers}{header}\r\n"), body),
            _ => plain(206, &headers, body),
        };
        match lie {
            Some(Lie::Short(missing)) => bytes.truncate(bytes.len().saturating_sub(*missing)),
            Some(Lie::HangInBody) => bytes.truncate(bytes.len() - body.len() + 1),
            _ => {}
        }
        (status, bytes)
    }
}

/// Writes an answer that does not say how long it is.
fn unmeasured(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n{headers}\r\n{:x}\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
}

/// Returns where a range begins and ends; the end is behind its last byte.
fn span_of(range: &str, total: usize) -> Option<(usize, usize)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        let most = last.parse().unwrap_or(usize::MAX);
        return Some((total.saturating_sub(most), total));
    }
    let last: usize = last.parse().ok()?;
    Some((first.parse().ok()?, total.min(last.saturating_add(1))))
}

/// Locks, whatever a test that failed elsewhere left behind.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
