//! The places of live links: who has one, and who gives his up.

use std::sync::Arc;

use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::{Inner, Member, lock, read};
use crate::error::{Error, ErrorCode, Result};
use crate::metrics::Counter;
use crate::server::Busy;

impl Inner {
    /// Finds a place for a server among the live links, and marks it as in use. Where all places are taken, the server
    /// that was idle longest is stopped; where none is idle, this waits as long as a request may take.
    pub(super) async fn take_place(&self, member: &Member) -> Result<InUse> {
        let in_use = InUse { busy: Some(member.server.busy()), released: Arc::clone(&self.released) };
        let deadline = tokio::time::Instant::now() + member.config.timeout.unwrap_or(self.options.timeout);
        loop {
            let released = self.released.notified();
            if lock(&member.place).is_some() {
                return Ok(in_use);
            }
            let free = Arc::clone(&self.places).try_acquire_owned().ok();
            if let Some(place) = match free {
                Some(place) => Some(place),
                None => self.evict().await,
            } {
                *lock(&member.place) = Some(place);
                return Ok(in_use);
            }
            if tokio::time::timeout_at(deadline, released).await.is_err() {
                let most = self.options.max_connections;
                let sentence =
                    format!("all {most} links are busy: raise `maxConnections`, or ask for less at a time");
                return Err(Error::unsent(ErrorCode::Timeout, sentence));
            }
        }
    }

    /// Stops the server that was idle longest and returns its place.
    async fn evict(&self) -> Option<OwnedSemaphorePermit> {
        let (member, place) = {
            let members = read(&self.members);
            let idle =
                members.values().filter(|member| lock(&member.place).is_some() && !member.server.is_busy());
            let oldest = Arc::clone(idle.min_by_key(|member| member.server.last_used())?);
            let place = lock(&oldest.place).take()?;
            if oldest.server.is_busy() {
                // It was asked something meanwhile, and relies upon its place.
                *lock(&oldest.place) = Some(place);
                return None;
            }
            (oldest, place)
        };
        self.metrics.count(Counter::Evictions, member.server.name());
        // Where it was asked something meanwhile and has another place, it stays.
        member.server.disconnect_if(|| Some(lock(&member.place)).filter(|place| place.is_none())).await;
        Some(place)
    }
}

/// Keeps a server from being stopped.
pub(super) struct InUse {
    busy: Option<Busy>,
    released: Arc<Notify>,
}

impl Drop for InUse {
    fn drop(&mut self) {
        // First the mark goes, then those who wait are told.
        drop(self.busy.take());
        self.released.notify_waiters();
    }
}
