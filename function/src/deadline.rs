//! Time limits that cost nothing where there is nothing to wait for.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// Runs `work` for at most `limit`; returns `None` if that was not enough. What is done at the first try, as most work
/// here is, needs no clock.
pub(crate) async fn within<T>(limit: Duration, mut work: impl Future<Output = T> + Unpin) -> Option<T> {
    match poll_fn(|context| Poll::Ready(Pin::new(&mut work).poll(context))).await {
        Poll::Ready(done) => Some(done),
        Poll::Pending => tokio::time::timeout(limit, work).await.ok(),
    }
}
