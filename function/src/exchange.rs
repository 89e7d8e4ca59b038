//! Everything built once and shared by all requests.

pub(crate) mod rates;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use arrayvec::ArrayString;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use wakashu_storage::Timestamp;

use crate::config::Config;
use crate::desk::Execution;
use crate::exchange::rates::Rates;
use crate::served::limits::MAX_STREAMS;
use crate::served::state::ArchiveState;
use crate::web::access::Access;
use crate::web::tokens::Token;

/// What every request may use.
#[derive(Debug)]
pub struct Context {
    /// Which archive is served.
    pub state: Arc<ArchiveState>,
    /// Whom to answer.
    pub access: Access,
    /// Where picture links begin, where that does not depend on the request.
    pub picture_base: Option<String>,
    /// The limits tools run under.
    pub execution: Execution,
    /// Who may ask; everyone if there are none.
    pub tokens: Vec<Token>,
    /// How often clients may ask, where that is limited.
    pub rates: Option<Rates>,
    /// When the process began to serve.
    pub started: Instant,
    /// The same on the calendar.
    pub started_at: Timestamp,
    requests: RequestIds,
    closing: watch::Sender<bool>,
    streams: Arc<Semaphore>,
}

impl Context {
    /// Puts the parts together, open to all and with the usual limits.
    #[must_use]
    pub fn new(state: Arc<ArchiveState>, access: Access, picture_base: Option<String>) -> Self {
        Self {
            state,
            access,
            picture_base,
            execution: Execution::default(),
            tokens: Vec::new(),
            rates: None,
            started: Instant::now(),
            started_at: SystemTime::now().into(),
            requests: RequestIds::new(),
            closing: watch::Sender::new(false),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        }
    }

    /// Takes a place for one more stream, given back when dropped; nothing if there are [`MAX_STREAMS`] already.
    pub(crate) fn stream_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Ends the streams that would otherwise stay open for good.
    pub fn close_streams(&self) {
        self.closing.send_replace(true);
    }

    /// Hears when streams are to end.
    #[must_use]
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Takes over who may ask and the limits tools run under.
    #[must_use]
    pub fn with_config(self, config: &Config) -> Self {
        Self { execution: config.execution(), tokens: config.tokens.clone(), ..self }
    }

    /// Limits how often clients may ask.
    #[must_use]
    pub fn with_rates(self, rates: Option<Rates>) -> Self {
        Self { rates, ..self }
    }

    /// Returns a new id, by which a request is found in the log.
    #[must_use]
    pub fn next_request_id(&self) -> RequestId {
        self.requests.next()
    }
}

/// The id of a request: two numbers in hexadecimal. Every request has one, so it takes no memory of its own.
pub type RequestId = ArrayString<25>;

/// Ids that differ between requests and, by the process's start time and id, between processes.
#[derive(Debug)]
struct RequestIds {
    process: u32,
    count: AtomicU64,
}

impl RequestIds {
    fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seed = (now.as_nanos() ^ u128::from(std::process::id()).rotate_left(40)).to_le_bytes();
        let hash = wakashu_archive::ContentHash::of(&seed).0;
        Self { process: hash.first_chunk().copied().map_or(0, u32::from_le_bytes), count: AtomicU64::new(1) }
    }

    fn next(&self) -> RequestId {
        let mut id = RequestId::new();
        push_hex(&mut id, u64::from(self.process), 8);
        id.push('-');
        push_hex(&mut id, self.count.fetch_add(1, Ordering::Relaxed), 1);
        id
    }
}

/// Appends a number in hexadecimal, at least `digits` long. Every request has an id; the formatting machinery spent 950
/// instructions on it, a twentieth of a small answer.
fn push_hex(text: &mut RequestId, number: u64, digits: u32) {
    let used = (u64::BITS - number.leading_zeros()).div_ceil(4);
    for at in (0..used.max(digits)).rev() {
        let digit = u32::try_from(number >> (4 * at) & 0xf).unwrap_or(0);
        text.push(char::from_digit(digit, 16).unwrap_or('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_as_the_standard_library_writes_it() {
        for number in [0, 1, 0xf, 0x10, 0xdead_beef, u64::MAX] {
            for (digits, expected) in [(8, format!("{number:08x}")), (1, format!("{number:x}"))] {
                let mut text = RequestId::new();
                push_hex(&mut text, number, digits);
                assert_eq!(*text, *expected);
            }
        }
    }
}
