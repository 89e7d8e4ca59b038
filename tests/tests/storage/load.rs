//! Ten clients at once, for as long as it takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wakashu_tests::{Connection, HttpRequest, Reply, Server, check_answer};

/// How many ask at a time.
pub(crate) const CLIENTS: usize = 10;

/// Tells whether all is to be tried that is promised, however long it takes.
pub(crate) fn is_long() -> bool {
    std::env::var_os("WAKASHU_LONG").is_some()
}

/// Returns how long a test under load takes: a few seconds, or as long as is promised.
pub(crate) fn length(short: u64, promised: u64) -> Duration {
    Duration::from_secs(if is_long() { promised } else { short })
}

/// A client with a connection of its own.
pub(crate) struct Client<'a> {
    pub(crate) number: usize,
    server: &'a Server,
    connection: Connection,
    stop: &'a AtomicBool,
}

impl Client<'_> {
    /// Tells whether to go on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Asks, and returns the answer with the time it took. No answer at all fails the test.
    pub(crate) fn ask(&mut self, request: &HttpRequest) -> (Reply, Duration) {
        let begun = Instant::now();
        self.connection.send(&request.bytes()).expect("the connection is open");
        let reply = self.connection.receive().expect("an answer");
        check_answer(&reply.body);
        (reply, begun.elapsed())
    }

    /// Takes a new connection, as clients do now and then.
    pub(crate) fn reconnect(&mut self) {
        self.connection = self.server.connect();
    }
}

/// Lets all clients ask while `meanwhile` runs, and returns what each of them has seen.
pub(crate) fn under_load<T: Send>(
    server: &Server,
    client: impl Fn(Client<'_>) -> T + Sync,
    meanwhile: impl FnOnce(),
) -> Vec<T> {
    let stop = AtomicBool::new(false);
    let (stop, client) = (&stop, &client);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn(move || client(Client { number, server, connection: server.connect(), stop }))
            })
            .collect();
        // A failure here must not leave the clients asking for ever.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(meanwhile));
        stop.store(true, Ordering::Relaxed);
        let seen = clients.into_iter().map(|client| client.join().expect("a client saw only what it may"));
        let seen = seen.collect();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        seen
    })
}
