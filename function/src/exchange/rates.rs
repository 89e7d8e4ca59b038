//! How often clients may ask: all together, and each by itself. For the local HTTP server; on Lambda the platform
//! limits how many copies run at a time.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};

/// After this many requests, clients that have not asked for a while are forgotten.
const FORGET_EVERY: u64 = 4_096;

/// Why the messages of a batch are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// After so many seconds others may come.
    Now(u64),
    /// Never may more come at once than these.
    Ever(u32),
}

/// The limits. A second's worth of requests may come at once.
#[derive(Debug)]
pub(crate) struct Rates {
    together: Option<DefaultDirectRateLimiter>,
    each: Option<DefaultKeyedRateLimiter<IpAddr>>,
    /// Most that one client can send at once.
    most: u32,
    clock: DefaultClock,
    count: AtomicU64,
}

impl Rates {
    /// Allows so many requests per second, 0 meaning any number. Returns `None` where nothing is limited.
    #[must_use]
    pub(crate) fn new(together: u32, each: u32) -> Option<Self> {
        let quota = |number| NonZeroU32::new(number).map(Quota::per_second);
        let rates = Self {
            together: quota(together).map(RateLimiter::direct),
            each: quota(each).map(RateLimiter::keyed),
            most: [together, each].into_iter().filter(|limit| *limit > 0).min().unwrap_or(u32::MAX),
            clock: DefaultClock::default(),
            count: AtomicU64::new(0),
        };
        (together > 0 || each > 0).then_some(rates)
    }

    /// Counts a request.
    ///
    /// # Errors
    ///
    /// The request is one too many; after so many seconds another may come.
    pub(crate) fn check(&self, client: Option<IpAddr>) -> Result<(), u64> {
        self.take(client, NonZeroU32::MIN)
    }

    /// Counts the messages of a batch, of which the first has been counted. Where they are too many none of the others is.
    ///
    /// # Errors
    ///
    /// They are too many.
    pub(crate) fn check_batch(&self, client: Option<IpAddr>, messages: usize) -> Result<(), TooMany> {
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        if messages > self.most {
            return Err(TooMany::Ever(self.most));
        }
        let others = NonZeroU32::new(messages.saturating_sub(1));
        others.map_or(Ok(()), |others| self.take(client, others).map_err(TooMany::Now))
    }

    /// Counts so many at once, which are no more than a second's worth.
    fn take(&self, client: Option<IpAddr>, count: NonZeroU32) -> Result<(), u64> {
        let wait = |until: NotUntil<_>| seconds(until.wait_time_from(self.clock.now()));
        // The client's own limit first: a client that asks too often does not use up the limit of all.
        if let (Some(each), Some(client)) = (&self.each, client) {
            if self.count.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
                each.retain_recent();
                each.shrink_to_fit();
            }
            each.check_key_n(&network(client), count).map_err(|_| 1_u64)?.map_err(wait)?;
        }
        match &self.together {
            None => Ok(()),
            Some(together) => together.check_n(count).map_err(|_| 1_u64)?.map_err(wait),
        }
    }
}

/// Returns what stands for a client: an IPv4 address, or the /64 that one IPv6 customer has to itself.
pub(crate) fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
    }
}

fn seconds(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_too_many_leaves_the_others_alone() {
        assert!(Rates::new(0, 0).is_none());
        let rates = Rates::new(5, 2).unwrap();
        let [first, second] = ["192.0.2.1", "192.0.2.2"].map(|address| Some(address.parse().unwrap()));
        let taken = |client| (0..10).filter(|_| rates.check(client).is_ok()).count();
        assert_eq!((taken(first), taken(second)), (2, 2));
        assert_eq!(taken(None), 1, "what is left for all");
        assert_eq!(rates.check(None), Err(1));
    }

    #[test]
    fn a_batch_is_taken_whole_or_not_at_all() {
        let client = Some("192.0.2.1".parse().unwrap());
        let rates = Rates::new(0, 10).unwrap();
        assert_eq!(rates.check_batch(client, 11), Err(TooMany::Ever(10)));
        rates.check(client).unwrap();
        assert_eq!(rates.check_batch(client, 8), Ok(()), "one and seven");
        rates.check(client).unwrap();
        assert_eq!(rates.check_batch(client, 8), Err(TooMany::Now(1)));
        assert_eq!(rates.check(client), Ok(()), "nothing was spent on what was refused");
    }

    #[test]
    fn an_ipv6_customer_is_one_client() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }
}
