//! The local HTTP server.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_service::Service as _;

use crate::http::ClientAddress;

/// Most connections at a time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 1_024;

/// How long a client may take to send its headers.
const HEADER_DEADLINE: Duration = Duration::from_secs(15);

/// How long answers under way may take after the stop was asked for.
const CLOSING_DEADLINE: Duration = Duration::from_secs(10);

/// Serves `router` on `listener` until `stop` resolves, then lets answers under way finish. `names_clients` has every
/// request carry its client's address.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    names_clients: bool,
    stop: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_DEADLINE);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => accepted,
        };
        let (stream, client) = match accepted {
            Ok((stream, client)) => (stream, client.ip()),
            Err(error) => {
                // Out of descriptors, most likely: wait for some to come free instead of spinning.
                tracing::warn!(detail = %error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Answers are written whole; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let service = hyper::service::service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
            if names_clients {
                request.extensions_mut().insert(ClientAddress(client));
            }
            let mut router = router.clone();
            async move {
                let response = router.call(request.map(axum::body::Body::new)).await;
                response.map_err(|never: Infallible| never)
            }
        });
        let connection = graceful.watch(server.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // What goes wrong on one connection is its client's affair.
            if let Err(error) = connection.await {
                tracing::debug!(detail = %error, "a connection ended early");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(CLOSING_DEADLINE, graceful.shutdown()).await.is_err() {
        tracing::warn!("some answers were still under way when the server stopped");
    }
}

/// Resolves when the process is asked to stop: Ctrl-C or SIGTERM.
pub async fn stop_requested() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Tells whether only this machine can reach `address`.
#[must_use]
pub fn is_local(address: SocketAddr) -> bool {
    address.ip().is_loopback()
}
