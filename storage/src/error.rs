//! What can go wrong with a storage, in sentences for the operator.

use std::fmt;
use std::io;
use std::path::PathBuf;

use wakashu_archive::{ArchiveError, ContentHash};

use crate::timestamp::Timestamp;

/// The cause behind a failed request, kept for the log.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a storage did not do what it was asked.
///
/// Messages name buckets, keys and paths: they are for the operator's terminal and log, never for a client.
/// They hold no credentials. [`StorageError::hint`] gives the next step where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// No object of that name.
    #[error("`{object}` does not exist")]
    NotFound {
        /// Which object.
        object: String,
    },
    /// The credentials do not allow it.
    #[error("access to `{object}` is denied")]
    Denied {
        /// Which object or bucket.
        object: String,
        /// What the service said.
        source: Cause,
    },
    /// The bucket does not exist.
    #[error("the bucket `{bucket}` does not exist")]
    NoSuchBucket {
        /// Its name.
        bucket: String,
    },
    /// The bucket lives in another region than the one asked.
    #[error("the bucket `{bucket}` is not in region `{asked}`{}", expected.as_ref().map_or(String::new(), |region| format!(" but in `{region}`")))]
    WrongRegion {
        /// Its name.
        bucket: String,
        /// The region that was asked.
        asked: String,
        /// The region it is in, when the service says so.
        expected: Option<String>,
    },
    /// The credentials were valid once.
    #[error("the AWS credentials have expired")]
    ExpiredCredentials {
        /// What the service said.
        source: Cause,
    },
    /// No credentials were found.
    #[error("no AWS credentials were found")]
    MissingCredentials {
        /// Where they were looked for.
        source: Cause,
    },
    /// The credentials are unknown to the service, or sign wrongly.
    #[error("the AWS credentials were not accepted")]
    BadCredentials {
        /// What the service said.
        source: Cause,
    },
    /// A setting is missing or makes no sense.
    #[error("{problem}")]
    Setting {
        /// What is wrong, naming the setting.
        problem: String,
    },
    /// No answer in time, retries included.
    #[error("`{object}` did not answer within {seconds} s")]
    Timeout {
        /// Which object.
        object: String,
        /// How long was waited.
        seconds: u64,
    },
    /// No connection, or it broke, retries included.
    #[error("the storage of `{object}` cannot be reached")]
    Unreachable {
        /// Which object.
        object: String,
        /// What the network said.
        source: Cause,
    },
    /// Someone else changed the object first.
    #[error("`{object}` was changed by someone else in the meantime")]
    Changed {
        /// Which object.
        object: String,
    },
    /// The object is larger than one that is read whole may be.
    #[error("`{object}` has {found} bytes, at most {most} are accepted")]
    TooLarge {
        /// Which object.
        object: String,
        /// Its size.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// A span reaches past the end, or the storage sent another number of bytes than asked for.
    #[error("`{object}` gave {found} bytes where {expected} were asked for")]
    ShortRead {
        /// Which object.
        object: String,
        /// How many were asked for.
        expected: u64,
        /// How many came.
        found: u64,
    },
    /// The object is not as long as the pointer says.
    #[error("`{object}` has {found} bytes, but the pointer says {expected}")]
    OtherLength {
        /// Which object.
        object: String,
        /// What the pointer says.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// A web host does something that no archive can be read from.
    #[error("the host of `{object}` {problem}; {advice}")]
    HostFault {
        /// Which object.
        object: String,
        /// What the host does.
        problem: String,
        /// What to do about it; part of the message, because logs show no hints.
        advice: &'static str,
    },
    /// A web host cannot prove that it is the one asked.
    #[error("the certificate of the host of `{object}` is not accepted")]
    Untrusted {
        /// Which object.
        object: String,
        /// What is wrong with it.
        source: Cause,
    },
    /// A name that no object may have.
    #[error("`{key}` is not a valid object key")]
    BadKey {
        /// The name, or its beginning.
        key: String,
    },
    /// The pointer cannot be read as one.
    #[error("`{object}` is not a valid pointer")]
    BadPointer {
        /// Which object.
        object: String,
        /// Where it goes wrong.
        source: serde_json::Error,
    },
    /// The file to publish is not an archive.
    #[error("`{}` cannot be published", path.display())]
    BadArchive {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: ArchiveError,
    },
    /// The file to publish was written to meanwhile; nothing of it stays in the storage.
    #[error("`{}` was changed while it was being published", path.display())]
    SourceChanged {
        /// Which file.
        path: PathBuf,
    },
    /// The archive to publish holds nothing to serve.
    #[error("`{}` cannot be published: no round has an entry", path.display())]
    NoEntries {
        /// Which file.
        path: PathBuf,
    },
    /// The archive object is gone or broken again after every attempt to write it.
    #[error("`{object}` does not stay in the storage: it was written and found missing or broken afterwards")]
    DoesNotStay {
        /// Which object.
        object: String,
    },
    /// There is no pointer yet.
    #[error("nothing has been published to `{store}`")]
    NothingPublished {
        /// Which storage.
        store: String,
    },
    /// The digest is not one of those the history names.
    #[error("the history of `{store}` holds no version `{digest}`")]
    NotInHistory {
        /// Which storage.
        store: String,
        /// The digest asked for.
        digest: ContentHash,
    },
    /// The history holds nothing to go back to from the current version.
    #[error("`{store}` holds no version from before the current one, published at {}", published_at.jst())]
    NoEarlierVersion {
        /// Which storage.
        store: String,
        /// When the current version was published.
        published_at: Timestamp,
        /// How many versions there are that were rolled back from.
        others: usize,
    },
    /// The history names a version whose archive is not there any more, or not whole.
    #[error("`{object}` is gone, though the history names it")]
    ArchiveGone {
        /// Which archive.
        object: String,
    },
    /// A file could not be read or written.
    #[error("could not {verb} `{}`", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else the service answered.
    #[error("the storage of `{object}` failed")]
    Other {
        /// Which object.
        object: String,
        /// What the service said.
        source: Cause,
    },
}

/// Compares the length of a whole object with the one that was announced.
pub(crate) fn check_total(
    object: &impl fmt::Display,
    expected: Option<u64>,
    found: u64,
) -> Result<(), StorageError> {
    match expected {
        Some(expected) if expected != found => {
            Err(StorageError::OtherLength { object: object.to_string(), expected, found })
        }
        _ => Ok(()),
    }
}

impl StorageError {
    /// Returns the next step for the operator, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { .. } | Self::NothingPublished { .. } => {
                Some("publish an archive there first, or check the address")
            }
            Self::Denied { object, .. } if is_on_the_web(object) => {
                Some("make the files readable for everyone: on the web they are read without credentials")
            }
            Self::Timeout { object, .. } | Self::Unreachable { object, .. } if is_on_the_web(object) => {
                Some("check the network and the address, then retry")
            }
            Self::Untrusted { .. } => Some(
                "check the host's certificate and this machine's clock; SSL_CERT_FILE names the certificates to trust instead of the system's",
            ),
            Self::Denied { .. } => Some(
                "reading needs s3:GetObject; publishing also s3:PutObject, s3:ListBucket and s3:DeleteObject on the bucket and prefix",
            ),
            Self::NoSuchBucket { .. } => Some("check the bucket's name, or create it first"),
            Self::WrongRegion { .. } => Some("set AWS_REGION to the region the bucket is in"),
            Self::ExpiredCredentials { .. } => Some("sign in again (for example `aws sso login`) and retry"),
            Self::MissingCredentials { .. } => Some(
                "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with `aws sso login`",
            ),
            Self::BadCredentials { .. } => {
                Some("check the access key, and that this machine's clock is right")
            }
            Self::Timeout { .. } | Self::Unreachable { .. } => {
                Some("check the network and AWS_ENDPOINT_URL, then retry")
            }
            Self::Changed { .. } => Some(
                "another publish finished first; look at the history, then run this again if it is still wanted",
            ),
            Self::BadPointer { .. } => {
                Some("restore the object from the storage's versions, or remove it and publish again")
            }
            Self::OtherLength { .. } => Some(
                "copy or publish the archive again, and have whatever serves it pass it on unchanged and uncompressed",
            ),
            Self::BadArchive { .. } => Some("build it again, and run `wakashu check` on it"),
            Self::SourceChanged { .. } => Some("wait until it is written, then publish again"),
            Self::NoEntries { .. } => Some("build it again from a collection with entries"),
            Self::NotInHistory { .. } => {
                Some("`wakashu history` lists the versions that can be served again")
            }
            Self::NoEarlierVersion { others: 0, .. } => {
                Some("it is the only version here; publish what should be served instead")
            }
            Self::NoEarlierVersion { .. } => Some(
                "name one of the versions that were rolled back from with its digest; `wakashu history` lists them",
            ),
            Self::ArchiveGone { .. } => {
                Some("name another version of `wakashu history`, or publish the collection again")
            }
            Self::DoesNotStay { .. } => {
                Some("look for another program or lifecycle rule that removes objects, then publish again")
            }
            Self::Setting { .. }
            | Self::HostFault { .. }
            | Self::TooLarge { .. }
            | Self::ShortRead { .. }
            | Self::BadKey { .. }
            | Self::Io { .. }
            | Self::Other { .. } => None,
        }
    }

    /// Says whether the object is simply not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

/// Says whether an object is read from a web host, by its name.
fn is_on_the_web(object: &str) -> bool {
    object.starts_with("https://") || object.starts_with("http://")
}
