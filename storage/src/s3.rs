//! A bucket, or the part of it below a prefix, as storage.
//!
//! Conditional requests carry the promises: `If-None-Match` makes a read conditional and a write create-if-absent,
//! `If-Match` makes a write compare-and-swap. The SDK retries what fails before an answer begins; a body that breaks
//! off is read again here, because the SDK has returned by then. Every call has a deadline.

mod client;
mod fault;
mod upload;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use bytes::{Bytes, BytesMut};
use wakashu_archive::Span;

use crate::error::{StorageError, check_total};
use crate::key::{check_key, check_prefix};
use crate::storage::{
    BoxFuture, Etag, Fetched, MAX_SMALL_BYTES, Object, ObjectInfo, Progress, PutOutcome, ReadStore, Source,
    Store, Tail,
};
use client::{Connected, connect, timeouts, while_reading};
pub use client::{Keys, S3Settings};
use fault::{Subject, explain, status};

/// The longest a write or a page of a listing may take, retries included. Publishers wait longer than this for the
/// removals of others ([`PublishOptions::settle`](crate::PublishOptions)).
const DEADLINE: Duration = Duration::from_secs(25);

/// The longest a small read may take: three attempts of 2 s, the pauses between them, and the body.
const READ_DEADLINE: Duration = Duration::from_secs(8);

/// A larger read may take longer: the time its bytes need on a slow line.
const SLOWEST_BYTES_PER_SECOND: u64 = 1 << 20;

/// How often a body that breaks off is read again, the first time included.
const BODY_ATTEMPTS: u32 = 3;

/// A bucket, or the part of it below a prefix.
#[derive(Clone)]
pub struct Bucket {
    client: Client,
    region: String,
    name: String,
    prefix: String,
}

impl Bucket {
    /// Prepares a bucket. Nothing is asked of it yet; credentials may be looked up.
    pub async fn open(
        name: impl Into<String>,
        prefix: impl Into<String>,
        settings: &S3Settings,
    ) -> Result<Self, StorageError> {
        let (name, prefix) = (name.into(), prefix.into());
        if !prefix.is_empty() {
            check_key(&prefix)?;
        }
        let Connected { client, region } = connect(settings).await?;
        Ok(Self { client, region, name, prefix })
    }

    /// Names an object of the bucket.
    fn named(&self, key: &str) -> Result<BucketObject, StorageError> {
        check_key(key)?;
        Ok(BucketObject { key: self.full_key(key), store: self.clone(), length: None })
    }

    fn full_key(&self, key: &str) -> String {
        if self.prefix.is_empty() { key.to_owned() } else { format!("{}/{key}", self.prefix) }
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({} in {})", self.describe(), self.region)
    }
}

impl ReadStore for Bucket {
    fn object<'a>(
        &'a self,
        key: &'a str,
        length: Option<u64>,
    ) -> BoxFuture<'a, Result<Arc<dyn Object>, StorageError>> {
        let object = self.named(key);
        let object = object.map(|object| Arc::new(BucketObject { length, ..object }) as Arc<dyn Object>);
        Box::pin(std::future::ready(object))
    }

    fn get_if_changed<'a>(
        &'a self,
        key: &'a str,
        known: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(async move {
            let object = self.named(key)?;
            within(READ_DEADLINE, &object, object.get_if_changed(known)).await
        })
    }

    fn describe(&self) -> String {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        format!("s3://{}{slash}{}", self.name, self.prefix)
    }
}

impl Store for Bucket {
    fn put_if_absent<'a>(
        &'a self,
        key: &'a str,
        source: Source,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<PutOutcome, StorageError>> {
        Box::pin(async move {
            let object = self.named(key)?;
            Box::pin(object.put_if_absent(source, progress)).await
        })
    }

    fn compare_and_swap<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expected: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Etag, StorageError>> {
        Box::pin(async move {
            let object = self.named(key)?;
            let found = bytes.len() as u64;
            if found > MAX_SMALL_BYTES {
                return Err(StorageError::TooLarge {
                    object: object.to_string(),
                    found,
                    most: MAX_SMALL_BYTES,
                });
            }
            let swapped = within(DEADLINE, &object, object.swap(bytes.clone(), expected)).await;
            let Err(refused) = swapped else { return swapped };
            // An answer may be lost after the write was done, and the SDK's next attempt then meets our own
            // write. What is stored tells.
            match within(READ_DEADLINE, &object, object.get_if_changed(None)).await {
                Ok(Fetched::Changed { value, etag }) if value == bytes => Ok(etag),
                _ => Err(refused),
            }
        })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<ObjectInfo>, StorageError>> {
        Box::pin(async move {
            check_prefix(prefix)?;
            let folder = BucketObject { key: self.full_key(prefix), store: self.clone(), length: None };
            folder.list(prefix).await
        })
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let object = self.named(key)?;
            within(DEADLINE, &object, object.delete()).await
        })
    }
}

/// One object of a bucket, named but not asked for.
#[derive(Debug, Clone)]
struct BucketObject {
    store: Bucket,
    /// The key in the bucket, the prefix included.
    key: String,
    /// How long the object must be, where that is known.
    length: Option<u64>,
}

impl fmt::Display for BucketObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.store.name, self.key)
    }
}

impl Object for BucketObject {
    fn tail(&self, most: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        within(read_deadline(most), self, self.read_tail(most))
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        within(read_deadline(span.length), self, self.read_span(span))
    }
}

/// What a range request gave.
enum Ranged {
    /// The bytes, and the object's whole length.
    Bytes(Bytes, u64),
    /// Nothing of the range lies inside the object.
    Outside,
}

impl BucketObject {
    async fn read_tail(&self, most: u64) -> Result<Tail, StorageError> {
        match self.read_range(format!("bytes=-{most}"), most).await? {
            Ranged::Bytes(bytes, total_length) => {
                let expected = most.min(total_length);
                self.check_length(&bytes, expected)?;
                Ok(Tail { bytes, total_length })
            }
            // An empty object has no last byte.
            Ranged::Outside => {
                check_total(self, self.length, 0)?;
                Ok(Tail { bytes: Bytes::new(), total_length: 0 })
            }
        }
    }

    async fn read_span(&self, span: Span) -> Result<Bytes, StorageError> {
        if span.length == 0 {
            return Ok(Bytes::new());
        }
        let range = format!("bytes={}-{}", span.offset, span.end().saturating_sub(1));
        let bytes = match self.read_range(range, span.length).await? {
            Ranged::Bytes(bytes, _) => bytes,
            Ranged::Outside => Bytes::new(),
        };
        self.check_length(&bytes, span.length)?;
        Ok(bytes)
    }

    fn check_length(&self, bytes: &Bytes, expected: u64) -> Result<(), StorageError> {
        let found = bytes.len() as u64;
        if found == expected {
            Ok(())
        } else {
            Err(StorageError::ShortRead { object: self.to_string(), expected, found })
        }
    }

    async fn read_range(&self, range: String, most: u64) -> Result<Ranged, StorageError> {
        let mut attempt = 1;
        loop {
            let request = self.store.client.get_object().bucket(&self.store.name).key(&self.key);
            let request = request.range(&range).customize().config_override(while_reading());
            let answer = match request.send().await {
                Ok(answer) => answer,
                Err(refused) if status(&refused) == Some(416) => return Ok(Ranged::Outside),
                Err(refused) => return Err(self.explain_read(refused)),
            };
            let length = length_of(&answer);
            // `bytes 0-99/1234`; a server that ignores ranges sends the whole object and no such header.
            let total = answer.content_range().and_then(|range| range.rsplit_once('/')?.1.parse().ok());
            let total = total.unwrap_or(length);
            check_total(self, self.length, total)?;
            match self.body(answer.body, length, most).await {
                Ok(bytes) => return Ok(Ranged::Bytes(bytes, total)),
                Err(StorageError::Unreachable { .. }) if attempt < BODY_ATTEMPTS => attempt += 1,
                Err(broken) => return Err(broken),
            }
        }
    }

    /// Reads a body that the answer says is `length` bytes long.
    async fn body(&self, mut body: ByteStream, length: u64, most: u64) -> Result<Bytes, StorageError> {
        if length > most {
            return Err(StorageError::TooLarge { object: self.to_string(), found: length, most });
        }
        let broken = |source| StorageError::Unreachable { object: self.to_string(), source };
        let Some(first) = body.next().await else { return Ok(Bytes::new()) };
        let first = first.map_err(|error| broken(error.into()))?;
        if first.len() as u64 == length {
            return Ok(first);
        }
        let mut bytes = BytesMut::with_capacity(usize::try_from(length).unwrap_or(0));
        bytes.extend_from_slice(&first);
        while let Some(next) = body.next().await {
            bytes.extend_from_slice(&next.map_err(|error| broken(error.into()))?);
            if bytes.len() as u64 > most {
                let found = bytes.len() as u64;
                return Err(StorageError::TooLarge { object: self.to_string(), found, most });
            }
        }
        Ok(bytes.freeze())
    }

    async fn get_if_changed(&self, known: Option<&Etag>) -> Result<Fetched, StorageError> {
        let mut attempt = 1;
        loop {
            let request = self.store.client.get_object().bucket(&self.store.name).key(&self.key);
            let request = request.set_if_none_match(known.map(|etag| etag.0.clone()));
            let answer = match request.customize().config_override(while_reading()).send().await {
                Ok(answer) => answer,
                Err(refused) if status(&refused) == Some(304) => return Ok(Fetched::Unchanged),
                Err(refused) => {
                    return match self.explain_read(refused) {
                        missing if missing.is_not_found() => Ok(Fetched::Missing),
                        other => Err(other),
                    };
                }
            };
            let etag = self.etag(answer.e_tag())?;
            // Some servers ignore the condition and send what is known already.
            if Some(&etag) == known {
                return Ok(Fetched::Unchanged);
            }
            let length = length_of(&answer);
            match self.body(answer.body, length, MAX_SMALL_BYTES).await {
                Ok(value) => return Ok(Fetched::Changed { value, etag }),
                Err(StorageError::Unreachable { .. }) if attempt < BODY_ATTEMPTS => attempt += 1,
                Err(broken) => return Err(broken),
            }
        }
    }

    async fn swap(&self, bytes: Bytes, expected: Option<&Etag>) -> Result<Etag, StorageError> {
        let request = self.store.client.put_object().bucket(&self.store.name).key(&self.key);
        let request = match expected {
            Some(etag) => request.if_match(&etag.0),
            None => request.if_none_match("*"),
        };
        match request.content_type("application/json").body(bytes.into()).send().await {
            Ok(written) => self.etag(written.e_tag()),
            Err(refused) => Err(match self.explain(refused) {
                // Expected to be there, and gone.
                missing if missing.is_not_found() => StorageError::Changed { object: self.to_string() },
                other => other,
            }),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StorageError> {
        let request = self.store.client.list_objects_v2().bucket(&self.store.name);
        let mut pages = request.prefix(&self.key).delimiter("/").into_paginator().send();
        let mut objects = Vec::new();
        loop {
            // The deadline is each page's; a long listing is many of them.
            let page = within(DEADLINE, self, async {
                pages.next().await.transpose().map_err(|refused| self.explain(refused))
            });
            let Some(page) = page.await? else { break };
            for object in page.contents() {
                let name = object.key().and_then(|key| key.strip_prefix(&self.key));
                let Some(key) = name.map(|name| format!("{prefix}{name}")) else { continue };
                // Consoles mark a folder by an empty object named like the prefix.
                if check_key(&key).is_err() {
                    continue;
                }
                let modified = object.last_modified().and_then(|at| SystemTime::try_from(*at).ok());
                objects.push(ObjectInfo {
                    key,
                    bytes: object.size().and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
                    // An object without a time counts as new, so that it is not removed as old.
                    modified: modified.unwrap_or_else(SystemTime::now),
                });
            }
        }
        objects.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(objects)
    }

    /// Deletes without retries: a second attempt could arrive after someone has written the object anew.
    async fn delete(&self) -> Result<(), StorageError> {
        let once = aws_sdk_s3::config::Builder::new()
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts(DEADLINE / 5));
        let request = self.store.client.delete_object().bucket(&self.store.name).key(&self.key);
        match request.customize().config_override(once).send().await {
            Ok(_) => Ok(()),
            Err(refused) => match self.explain(refused) {
                missing if missing.is_not_found() => Ok(()),
                other => Err(other),
            },
        }
    }

    fn etag(&self, etag: Option<&str>) -> Result<Etag, StorageError> {
        etag.map(|etag| Etag(etag.to_owned())).ok_or_else(|| StorageError::Other {
            object: self.to_string(),
            source: "the answer carries no ETag".into(),
        })
    }

    fn explain<E>(&self, error: fault::Refused<E>) -> StorageError
    where
        E: aws_sdk_s3::error::ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        self.explain_after(DEADLINE, error)
    }

    fn explain_read<E>(&self, error: fault::Refused<E>) -> StorageError
    where
        E: aws_sdk_s3::error::ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        self.explain_after(READ_DEADLINE, error)
    }

    fn explain_after<E>(&self, deadline: Duration, error: fault::Refused<E>) -> StorageError
    where
        E: aws_sdk_s3::error::ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let (bucket, region) = (&self.store.name, &self.store.region);
        explain(Subject { bucket, region, object: &self.to_string(), seconds: deadline.as_secs() }, error)
    }
}

fn length_of(answer: &GetObjectOutput) -> u64 {
    answer.content_length().and_then(|length| u64::try_from(length).ok()).unwrap_or(0)
}

fn read_deadline(bytes: u64) -> Duration {
    READ_DEADLINE + Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND)
}

/// Gives up on a call after its deadline. Boxed: the SDK's futures are large.
fn within<'a, T>(
    deadline: Duration,
    object: &'a BucketObject,
    call: impl Future<Output = Result<T, StorageError>> + Send + 'a,
) -> BoxFuture<'a, Result<T, StorageError>> {
    Box::pin(async move {
        let late = |_| StorageError::Timeout { object: object.to_string(), seconds: deadline.as_secs() };
        tokio::time::timeout(deadline, call).await.map_err(late)?
    })
}
