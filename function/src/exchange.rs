//! What every request carries, whichever door it came through. Nothing of HTTP.

pub(crate) mod rates;
pub(crate) mod streams;

use std::borrow::Cow;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use arrayvec::ArrayString;
use tokio::sync::watch;
use wakashu_pages::Preview;
use wakashu_storage::Timestamp;

use crate::desk::{Desk, Wants};
use crate::exchange::rates::{Rates, TooMany};
use crate::exchange::streams::Streams;
use crate::fault::ToolError;
use crate::gateway::Gateway;
use crate::observe::detail::Detail;
use crate::observe::facts::{Answered, Facts};
use crate::observe::metrics::Metrics;
use crate::served::limits::{MAX_ANSWER_BYTES, SHARE_OF_CONNECTIONS};
use crate::served::reading::Reading;
use crate::served::snapshot::Snapshot;
use crate::served::state::{ArchiveState, Generation};
use crate::text::Answer;

/// What a token is good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything. Also what holds where no tokens are configured.
    #[default]
    Read,
    /// Seeing what there is and in what state: the lists, `index_status`; no poem, no picture.
    Status,
}

impl Scope {
    /// Returns the scope's name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Status => "status",
        }
    }

    /// Tells whether the scope is enough for what `needs` one.
    pub(crate) fn covers(self, needs: Self) -> bool {
        self == Self::Read || needs == Self::Status
    }
}

/// What is built once and used by every request.
#[derive(Debug)]
pub(crate) struct Core {
    /// Which archive is served.
    pub(crate) state: Arc<ArchiveState>,
    /// Who answers in its place, if anybody does.
    pub(crate) gateway: Option<Arc<dyn Gateway>>,
    /// What its pages show besides, where they are those of a preview.
    pub(crate) preview: Option<watch::Receiver<Arc<Preview>>>,
    /// The limits under which answers are worked on.
    pub(crate) desk: Desk,
    /// How often clients may ask, where that is limited.
    pub(crate) rates: Option<Rates>,
    /// Where picture links begin, where that does not depend on the request.
    pub(crate) base: Option<String>,
    /// Whether tokens are asked for: then no shared cache may keep an answer.
    pub(crate) is_guarded: bool,
    /// What is counted, where anybody can see it.
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// When the process began to serve.
    pub(crate) started: Instant,
    /// The same on the calendar.
    pub(crate) started_at: Timestamp,
    ids: RequestIds,
    /// The places of event streams.
    pub(crate) streams: Arc<Streams>,
    closing: watch::Sender<bool>,
}

impl Core {
    /// Puts the parts together, with the usual limits.
    pub(crate) fn new(state: Arc<ArchiveState>, base: Option<String>) -> Self {
        Self {
            state,
            gateway: None,
            preview: None,
            desk: Desk::default(),
            rates: None,
            base,
            is_guarded: false,
            metrics: None,
            started: Instant::now(),
            started_at: SystemTime::now().into(),
            ids: RequestIds::new(),
            streams: Streams::new(SHARE_OF_CONNECTIONS),
            closing: watch::Sender::new(false),
        }
    }

    /// Hears of changed lists.
    pub(crate) fn changes(&self) -> watch::Receiver<Generation> {
        self.gateway.as_ref().map_or_else(|| self.state.changes(), |gateway| gateway.changes())
    }

    /// Ends the streams that would otherwise stay open for good.
    pub(crate) fn close_streams(&self) {
        self.closing.send_replace(true);
    }

    /// Hears when streams are to end.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }
}

/// What a door knows of a request besides the request itself.
#[derive(Debug, Default)]
pub struct Arrival {
    /// The id the platform gave it, as on Lambda.
    pub id: Option<String>,
    /// The address it came from.
    pub client: Option<IpAddr>,
    /// Where picture links begin, where only the request tells.
    pub base: Option<String>,
}

/// One request on its way to its answer.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) core: &'a Core,
    /// By this its line in the log is found.
    pub(crate) id: RequestId,
    pub(crate) started: Instant,
    /// When its time is over, where several messages share the time of one.
    pub(crate) end: Option<Instant>,
    /// What it is answered from. It stays the same to the end, unless the archive turns out to be gone.
    pub(crate) served: Arc<Snapshot>,
    /// How it reads the archive, if one is open.
    reading: Option<Reading>,
    /// What the caller's token is good for.
    pub(crate) scope: Scope,
    pub(crate) client: Option<IpAddr>,
    pub(crate) base: Option<Cow<'a, str>>,
    /// The number of its row in the table of routes, by which it is counted.
    pub(crate) row: usize,
    pub(crate) facts: Facts,
}

/// Work that an [`Exchange`] owes somebody: it can be done a second time, from another archive.
pub(crate) trait Owed: Sync {
    /// What comes of it.
    type Done: Weighed;
    /// What else may come of it.
    type Refused: From<ToolError>;

    /// Does the work.
    fn work(&self, x: &mut Exchange<'_>) -> impl Future<Output = Result<Self::Done, Self::Refused>> + Send;
}

/// What counts against the budget of an answer.
pub(crate) trait Weighed {
    /// Returns its bytes, where they count.
    fn bytes(&self) -> usize;
}

impl Weighed for Answer {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl<'a> Exchange<'a> {
    /// Begins with a request that has just come in.
    pub(crate) fn begin(core: &'a Core, arrival: Arrival) -> Self {
        let served = core.state.current();
        Self {
            core,
            reading: served.index().cloned().map(Reading::new),
            id: arrival.id.map_or_else(|| core.ids.next(), |id| given_id(&id)),
            started: Instant::now(),
            end: None,
            served,
            scope: Scope::Read,
            client: arrival.client,
            base: arrival.base.map(Cow::Owned).or(core.base.as_deref().map(Cow::Borrowed)),
            row: 0,
            facts: Facts::default(),
        }
    }

    /// Returns where picture links begin, if that is known.
    pub(crate) fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Returns the way to the archive's bytes, if one is open.
    pub(crate) fn index(&self) -> Option<&Reading> {
        self.reading.as_ref()
    }

    /// Does what is owed: in its place and time, behind a fence, within the budget of an answer. Should the archive turn
    /// out to be gone from storage, the pointer is read again and the work done once more.
    pub(crate) async fn work<T: Owed>(&mut self, wants: Wants, owed: &T) -> Result<T::Done, T::Refused> {
        let desk = &self.core.desk;
        let mut done = desk.run(wants, self.end, pin!(owed.work(self))).await;
        if self.reading.as_ref().is_some_and(Reading::is_gone) {
            // Both attempts, and the look between them, have the time of one.
            let end = self.end.unwrap_or_else(|| self.started + desk.limit(wants));
            if Instant::now() < end {
                done = Box::pin(desk.run(wants, Some(end), pin!(self.look_again(owed)))).await;
            }
        }
        match done {
            // Budgets are kept where answers are made; this is the last line of defence for all of them.
            Ok(done) if done.bytes() > MAX_ANSWER_BYTES => {
                tracing::error!(bytes = done.bytes(), request = &*self.id, "an answer outgrew its budget");
                Err(ToolError::Internal(Detail::note("an answer outgrew its budget")).into())
            }
            done => done,
        }
    }

    /// Does what is owed from the archive that has taken the place of the one that is gone.
    async fn look_again<T: Owed>(&mut self, owed: &T) -> Result<T::Done, T::Refused> {
        self.core.state.replace_gone(&self.served).await;
        self.served = self.core.state.current();
        self.reading = self.served.index().cloned().map(Reading::new);
        owed.work(self).await
    }

    /// Counts the messages of a batch; its first came with the request, which has been counted.
    ///
    /// # Errors
    ///
    /// They are too many.
    pub(crate) fn charge(&self, messages: usize) -> Result<(), TooMany> {
        self.core.rates.as_ref().map_or(Ok(()), |rates| rates.check_batch(self.client, messages))
    }

    /// Counts a fault of the tool called `tool`.
    pub(crate) fn count_fault(&self, tool: &'static str, fault: &ToolError) {
        if let Some(metrics) = &self.core.metrics {
            metrics.failed(tool, fault.code());
        }
    }

    /// Ends with an answer: counts the request and writes its line into the log. `path` is what a request for nothing
    /// asked for.
    pub(crate) fn close(&self, status: u16, bytes: usize, path: Option<&str>) {
        let (metrics, is_logged) = (&self.core.metrics, Facts::are_wanted());
        if metrics.is_none() && !is_logged {
            return;
        }
        let took = self.started.elapsed();
        if let Some(metrics) = metrics {
            metrics.answered(self.row, self.facts.outcome(status), took);
        }
        if is_logged {
            let archive = self.served.loaded().and_then(|loaded| loaded.digest.get(..16));
            self.facts.write(&Answered { request: &self.id, status, bytes, took, archive, path });
        }
    }
}

/// The id of a request: two numbers in hexadecimal, or what the platform calls it. Every request has one, so it takes no
/// memory of its own.
pub(crate) type RequestId = ArrayString<64>;

/// Returns an id that the platform gave, as far as there is room for it.
fn given_id(text: &str) -> RequestId {
    let mut id = RequestId::new();
    text.chars().try_for_each(|character| id.try_push(character)).unwrap_or_default();
    id
}

/// Ids that differ between requests and, by the process's start time and id, between processes.
#[derive(Debug)]
struct RequestIds {
    /// What all ids of this process begin with.
    process: RequestId,
    count: AtomicU64,
}

impl RequestIds {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seed = (now.as_nanos() ^ u128::from(std::process::id()).rotate_left(40)).to_le_bytes();
        let hash = wakashu_archive::ContentHash::of(&seed).0;
        let number = hash.first_chunk().copied().map_or(0, u32::from_le_bytes);
        let mut process = RequestId::new();
        push_hex(&mut process, u64::from(number), 8);
        process.push('-');
        Self { process, count: AtomicU64::new(1) }
    }

    fn next(&self) -> RequestId {
        let mut id = self.process;
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
