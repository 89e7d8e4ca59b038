//! The places of event streams. A stream stays as long as its client likes, so that no address may have all of them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::exchange::rates::network;
use crate::served::limits::{MAX_CONNECTIONS, MAX_STREAMS};

/// The streams that are held.
#[derive(Debug)]
pub(crate) struct Streams {
    /// Most of one address.
    each: usize,
    /// How many there are, by where they go.
    held: Mutex<BTreeMap<Option<IpAddr>, usize>>,
}

/// The place of a stream, given back when dropped.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    streams: Arc<Streams>,
    network: Option<IpAddr>,
}

impl Streams {
    /// Gives an address the same share of the streams as it has of the connections.
    pub(crate) fn new(connections_per_client: u32) -> Arc<Self> {
        let each = MAX_STREAMS * connections_per_client as usize / MAX_CONNECTIONS as usize;
        Arc::new(Self { each: each.max(1), held: Mutex::default() })
    }

    /// Takes a place for one more stream to `client`. Returns `None` where its address has its share, or all are taken.
    pub(crate) fn place(self: &Arc<Self>, client: Option<IpAddr>) -> Option<StreamPlace> {
        let network = client.map(network);
        let mut held = self.held();
        let all: usize = held.values().sum();
        let of_network = held.get(&network).copied().unwrap_or_default();
        if all >= MAX_STREAMS || of_network >= self.each {
            return None;
        }
        held.insert(network, of_network + 1);
        Some(StreamPlace { streams: Arc::clone(self), network })
    }

    /// Returns how many are held.
    pub(crate) fn open(&self) -> usize {
        self.held().values().sum()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Option<IpAddr>, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut held = self.streams.held();
        if let Some(count) = held.get_mut(&self.network) {
            *count -= 1;
        }
        held.retain(|_, count| *count > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::served::limits::SHARE_OF_CONNECTIONS;

    #[test]
    fn no_address_has_all_streams() {
        let streams = Streams::new(SHARE_OF_CONNECTIONS);
        let [first, neighbour, other] =
            ["2001:db8::1", "2001:db8::2", "192.0.2.1"].map(|address| Some(address.parse().unwrap()));
        let held: Vec<StreamPlace> = std::iter::from_fn(|| streams.place(first)).collect();
        assert_eq!(held.len(), MAX_STREAMS / 4 * 3);
        assert!(streams.place(neighbour).is_none(), "the same customer");
        let others: Vec<StreamPlace> = std::iter::from_fn(|| streams.place(other)).collect();
        assert_eq!((others.len(), streams.open()), (MAX_STREAMS / 4, MAX_STREAMS));
        drop(held);
        assert!(streams.place(first).is_some());
        drop(others);
        assert_eq!((streams.open(), streams.held().len()), (0, 0), "nobody is remembered");
    }

    #[test]
    fn an_address_that_may_have_all_connections_may_have_all_streams() {
        let places = |connections| {
            let streams = Streams::new(connections);
            std::iter::from_fn(|| streams.place(None)).collect::<Vec<_>>().len()
        };
        assert_eq!((places(MAX_CONNECTIONS), places(1)), (MAX_STREAMS, 1));
    }
}
