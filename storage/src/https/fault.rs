//! Turns what goes wrong between here and a web host into the sentences of [`StorageError`].

use std::error::Error;
use std::io;

use hyper::StatusCode;

use super::client::OutOfReach;
use crate::error::{Cause, StorageError};
use crate::web_address::WebAddress;

/// What to do about a host that changes what it passes on.
pub(super) const SERVE_AS_THEY_ARE: &str = "have the host or CDN serve `.wakashu` and `.json` files as they are, without compression, or use another host, a bucket or a folder";

/// An attempt that failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// The next one may do better.
    Passing(StorageError),
    /// The next one would end the same way.
    Lasting(StorageError),
}

impl From<StorageError> for Failed {
    fn from(error: StorageError) -> Self {
        Self::Lasting(error)
    }
}

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) address: &'a WebAddress,
}

impl Subject<'_> {
    fn object(self) -> String {
        self.address.to_string()
    }

    /// The host does something that no archive can be read from.
    pub(super) fn fault(self, problem: impl Into<String>, advice: &'static str) -> Failed {
        Failed::Lasting(StorageError::HostFault { object: self.object(), problem: problem.into(), advice })
    }

    /// The client itself cannot be used.
    pub(super) fn unusable(self, source: Cause) -> Failed {
        Failed::Lasting(StorageError::Other { object: self.object(), source })
    }

    /// The connection broke.
    pub(super) fn broken(self, source: impl Into<Cause>) -> Failed {
        Failed::Passing(StorageError::Unreachable { object: self.object(), source: source.into() })
    }

    /// Says why there is no answer.
    pub(super) fn explain(self, error: hyper_util::client::legacy::Error) -> Failed {
        if let Some(refused) = find::<OutOfReach>(&error) {
            return self.fault(
                format!("is not on the public internet: {refused}"),
                "a store named by a host name is read from public addresses alone; a private one may be mirrored to a folder or a bucket",
            );
        }
        match find::<rustls::Error>(&error) {
            Some(rustls::Error::InvalidCertificate(_)) => {
                Failed::Lasting(StorageError::Untrusted { object: self.object(), source: error.into() })
            }
            _ => self.broken(error),
        }
    }

    /// Says what an answer without content means.
    pub(super) fn refused(self, status: StatusCode) -> Failed {
        let object = self.object();
        let said = || Cause::from(format!("the host answered {status}"));
        match status.as_u16() {
            404 | 410 => Failed::Lasting(StorageError::NotFound { object }),
            401 | 403 => Failed::Lasting(StorageError::Denied { object, source: said() }),
            408 | 429 | 500..=599 => Failed::Passing(StorageError::Other { object, source: said() }),
            _ => self.fault(format!("answers {status}"), "check the address"),
        }
    }
}

/// Looks for a cause in an error, also inside of I/O errors, which do not name what they carry as their source.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(carried) => Some(carried),
            None => error.source(),
        };
    }
    None
}
