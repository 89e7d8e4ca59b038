//! What a gateway puts in the place of an archive: the answers of other servers. All else, from the host that is allowed
//! to the line in the log, is the same; what the protocol says of eras, methods, scopes and batches is decided before a
//! request comes here.

use std::fmt::Debug;
use std::pin::Pin;

use bytes::Bytes;
use tokio::sync::watch;
use wakashu_wire::{Request, Revision, RpcError};

use crate::served::state::Generation;

/// A request that a gateway is to answer.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The whole message. What is read of it lies in it, so that a part can be replaced and the rest passed on as it is.
    pub message: &'a str,
    /// What is read of it.
    pub request: &'a Request<'a>,
    /// The revision it is answered in; of an `initialize` the one that is agreed on.
    pub revision: Revision,
    /// Whether tokens are asked for: then no shared cache may keep the answer.
    pub is_guarded: bool,
}

/// An answer under way: the whole message in its pieces, without line breaks.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Vec<Bytes>, RpcError>> + Send + 'a>>;

/// Answers in place of an archive.
pub trait Gateway: Send + Sync + Debug {
    /// Answers a request. Dropping the future cancels it.
    fn answer<'a>(&'a self, ask: Ask<'a>) -> Answering<'a>;

    /// Hears of changed lists.
    fn changes(&self) -> watch::Receiver<Generation>;

    /// Tells whether there is a server to answer from, and how all of them are, as a JSON object.
    fn health(&self) -> (bool, String);

    /// Writes what is counted in the text format of Prometheus.
    fn metrics(&self) -> String;
}
