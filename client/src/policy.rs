//! When a failed request is sent again, and how long to wait before.
//!
//! A request is repeated by itself only where that is safe: it was never sent, or it only reads. Whoever names codes in
//! [`RetryPolicy::retryable_errors`] has these repeated for every request.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER};

use crate::error::{Error, ErrorCode, Result};

/// How failed requests are repeated. The names are those of the configuration, in the style of this language.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// How often a request is sent again.
    pub max_retries: u32,
    /// The wait before the first repetition.
    pub initial_delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
    /// By what each wait is longer than the one before.
    pub backoff_multiplier: f64,
    /// The codes that are repeated, whatever the request does. `None` repeats what may help, and only where it is safe.
    pub retryable_errors: Option<Vec<ErrorCode>>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(10),
            backoff_multiplier: 2.0,
            retryable_errors: None,
        }
    }
}

/// Whether a request may reach a server twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It only reads.
    Safe,
    /// It may change something.
    Unsafe,
}

impl Repeat {
    /// Tells by its method whether a request only reads. A tool may do anything.
    #[must_use]
    pub fn of_method(method: &str) -> Self {
        match method {
            "initialize"
            | "server/discover"
            | "ping"
            | "tools/list"
            | "prompts/list"
            | "prompts/get"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "completion/complete" => Self::Safe,
            _ => Self::Unsafe,
        }
    }
}

impl RetryPolicy {
    /// A policy that never sends anything twice.
    #[must_use]
    pub fn never() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }

    /// Tells whether a request that failed like this is sent again.
    #[must_use]
    pub fn allows(&self, error: &Error, repeat: Repeat) -> bool {
        match &self.retryable_errors {
            Some(codes) => codes.contains(&error.code),
            None => error.retryable() && (error.never_sent || repeat == Repeat::Safe),
        }
    }

    /// Returns the wait before the repetition after `attempt` failed, counted from 0. What the server asks for counts as
    /// it is, up to [`RetryPolicy::max_delay`]; all else is shortened by up to a half, so that many clients do not come
    /// back at once. `None` if the server asks for more patience than that.
    #[must_use]
    pub fn delay(&self, attempt: u32, error: &Error) -> Option<Duration> {
        if let Some(asked) = error.retry_after {
            return (asked <= self.max_delay).then_some(asked);
        }
        let growth = self.backoff_multiplier.max(1.0).powi(i32::try_from(attempt).unwrap_or(i32::MAX));
        let longest = self.max_delay.as_secs_f64();
        let delay = (self.initial_delay.as_secs_f64() * growth).min(longest);
        Some(Duration::from_secs_f64(delay * (0.5 + random_part() / 2.0)))
    }

    /// Runs `attempt` until it succeeds, or until a failure is final.
    pub async fn run<T, F>(&self, repeat: Repeat, mut attempt: impl FnMut(u32) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut tried = 0;
        loop {
            let error = match attempt(tried).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if self.max_retries == 0 || !self.allows(&error, repeat) {
                return Err(error);
            }
            let delay = self.delay(tried, &error).filter(|_| tried < self.max_retries);
            let Some(delay) = delay else { return Err(self.given_up(tried, error)) };
            tracing::debug!(code = %error.code, attempt = tried + 1, ?delay, "trying again");
            tokio::time::sleep(delay).await;
            tried += 1;
        }
    }

    fn given_up(&self, tried: u32, error: Error) -> Error {
        if tried < self.max_retries {
            // The server asks for more patience than the policy has.
            return error;
        }
        let message = format!("failed after {tried} retries: {}", error.message);
        let details = serde_json::to_value(&error).unwrap_or_default();
        Error { code: ErrorCode::MaxRetriesExceeded, message, details: Some(details), ..error }
    }
}

/// Returns a number from 0 to 1, another each time.
fn random_part() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

/// Reads `Retry-After`: seconds, or a date. A date is counted from that of the answer, so that clocks which differ do no
/// harm; from ours where the answer has none. One that is not ahead says nothing.
pub(crate) fn retry_after(headers: &http::HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let asked = text(RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let since_1970 = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_secs());
    let now = text(DATE).and_then(http_date).or_else(|| since_1970().ok())?;
    let seconds = http_date(asked)?.checked_sub(now).filter(|seconds| *seconds > 0)?;
    Some(Duration::from_secs(seconds))
}

/// Reads a date as HTTP writes it, `Wed, 18 Nov 2026 09:30:00 GMT`, as seconds since 1970.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = text.split_once(", ")?;
    let parts: Vec<&str> = rest.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second, "GMT"] = parts.as_slice() else { return None };
    let number = |digits: &str, most: u64| digits.parse::<u64>().ok().filter(|number| *number <= most);
    let month = u64::try_from(MONTHS.iter().position(|name| name == month)?).ok()?;
    let (day, year) = (number(day, 31)?, number(year, 9999).filter(|year| *year >= 1970)?);
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days = (year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day)
        .checked_sub(719_469)?;
    Some(((days * 24 + number(hour, 23)?) * 60 + number(minute, 59)?) * 60 + number(second, 60)?)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn quick() -> RetryPolicy {
        RetryPolicy { initial_delay: Duration::from_millis(1), ..RetryPolicy::default() }
    }

    async fn attempts(policy: &RetryPolicy, repeat: Repeat, error: Error) -> (u32, Error) {
        let count = Cell::new(0);
        let failed = policy.run::<(), _>(repeat, |_| {
            count.set(count.get() + 1);
            std::future::ready(Err(error.clone()))
        });
        let failed = failed.await.unwrap_err();
        (count.get(), failed)
    }

    #[tokio::test]
    async fn what_may_have_been_done_is_not_done_twice() {
        let lost = Error::new(ErrorCode::ConnectionLost, "cut");
        let (count, error) = attempts(&quick(), Repeat::Unsafe, lost.clone()).await;
        assert_eq!((count, error.code), (1, ErrorCode::ConnectionLost));
        let (count, error) = attempts(&quick(), Repeat::Safe, lost.clone()).await;
        assert_eq!((count, error.code), (4, ErrorCode::MaxRetriesExceeded));
        assert_eq!(error.details.unwrap()["code"], "CONNECTION_LOST");
        let unsent = Error::unsent(ErrorCode::ConnectionFailed, "refused");
        assert_eq!(attempts(&quick(), Repeat::Unsafe, unsent).await.0, 4);
        let named = RetryPolicy { retryable_errors: Some(vec![ErrorCode::ConnectionLost]), ..quick() };
        assert_eq!(attempts(&named, Repeat::Unsafe, lost).await.0, 4);
        let wrong = Error::new(ErrorCode::InvalidParams, "no");
        assert_eq!(attempts(&quick(), Repeat::Safe, wrong).await.0, 1);
        let never = RetryPolicy::never();
        let timeout = Error::new(ErrorCode::Timeout, "late");
        assert_eq!(attempts(&never, Repeat::Safe, timeout).await.1.code, ErrorCode::Timeout);
    }

    #[test]
    fn waits_grow_to_their_bound_and_servers_are_heeded() {
        let policy = RetryPolicy::default();
        let error = Error::new(ErrorCode::Timeout, "late");
        for (attempt, whole) in [(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0), (4, 10.0), (90, 10.0)] {
            let delay = policy.delay(attempt, &error).unwrap().as_secs_f64();
            assert!((whole / 2.0..=whole).contains(&delay), "{attempt}: {delay}");
        }
        let asked = |seconds| Error { retry_after: Some(Duration::from_secs(seconds)), ..error.clone() };
        assert_eq!(policy.delay(0, &asked(7)), Some(Duration::from_secs(7)));
        assert_eq!(policy.delay(0, &asked(11)), None);
    }

    #[test]
    fn a_server_may_name_the_time_to_come_back() {
        for (date, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Wed, 18 Nov 2026 09:30:00 GMT", Some(1_794_994_200)),
            ("Tue, 29 Feb 2028 23:59:60 GMT", Some(1_835_481_600)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Wed, 31 Dec 1969 23:59:59 GMT", None),
            ("Wed, 0 Jan 1970 00:00:00 GMT", None),
            ("Wed, 18 Nov 99999999999999999999 09:30:00 GMT", None),
            ("Wed, 18 Nov 2026 24:30:00 GMT", None),
            ("Wed, 18 Nov 2026 09:30:00 JST", None),
            ("Wed, 18 Nov 2026 09:30 GMT", None),
            ("soon", None),
        ] {
            assert_eq!(http_date(date), seconds, "{date}");
        }
        let wait = |asked: &str, now: Option<&str>| {
            let mut headers = http::HeaderMap::new();
            headers.insert(RETRY_AFTER, asked.parse().unwrap());
            headers.extend(now.map(|now| (DATE, now.parse().unwrap())));
            retry_after(&headers).map(|wait| wait.as_secs())
        };
        // By the server's clock, whatever ours says.
        let now = Some("Tue, 17 Nov 1987 23:59:55 GMT");
        assert_eq!(wait("Wed, 18 Nov 1987 00:00:02 GMT", now), Some(7));
        assert_eq!(wait("Tue, 17 Nov 1987 23:59:55 GMT", now), None);
        assert_eq!(wait("Tue, 17 Nov 1987 23:59:00 GMT", now), None);
        assert_eq!(wait("Tue, 17 Nov 1987 23:59:00 GMT", None), None);
        assert!(wait("Fri, 31 Dec 9999 23:59:59 GMT", None).unwrap() > 1_000_000);
        assert_eq!((wait("7", None), wait("7", now), wait("-7", now)), (Some(7), Some(7), None));
    }

    #[tokio::test]
    async fn a_server_that_wants_more_patience_than_allowed_is_not_asked_again() {
        let error = Error::new(ErrorCode::RateLimitExceeded, "slow down");
        let error = Error { retry_after: Some(Duration::from_mins(1)), ..error };
        let (count, error) = attempts(&quick(), Repeat::Safe, error).await;
        assert_eq!((count, error.code), (1, ErrorCode::RateLimitExceeded));
    }
}
