//! Writing an object: in one request when it is small, in parts when it is not.

use std::time::Duration;

use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use bytes::Bytes;
use tokio::task::JoinSet;
use wakashu_archive::Span;

use super::client::timeouts;
use super::{BucketObject, DEADLINE, status, within};
use crate::error::StorageError;
use crate::file::on_blocking_pool;
use crate::storage::{Progress, PutOutcome, Source};

/// Objects up to this size are written in one request.
const ONE_REQUEST_BYTES: u64 = 16 << 20;

/// The usual size of a part: a step of the progress bar, and what a broken connection costs.
const PART_BYTES: u64 = 8 << 20;

/// S3 takes at most this many parts:
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>, checked 2026-11-16.
const MOST_PARTS: u64 = 10_000;

/// Parts on their way at a time.
const CONCURRENT_PARTS: usize = 4;

/// One attempt of writing a part; 16 MiB in that time is 140 KB/s.
const WRITE_TIMEOUT: Duration = Duration::from_mins(2);

/// Putting the parts together can take minutes for large objects.
const COMPLETE_TIMEOUT: Duration = Duration::from_mins(5);

/// How often an upload is begun anew because another one of the same name is under way.
const CONFLICT_ATTEMPTS: u32 = 5;
const CONFLICT_PAUSE: Duration = Duration::from_millis(500);

/// How one attempt to create an object ended.
enum Created {
    Done(PutOutcome),
    /// Another writer of the same name is at work (409); S3 asks to try again.
    Conflict,
}

impl BucketObject {
    pub(super) async fn put_if_absent(
        &self,
        source: Source,
        progress: &Progress,
    ) -> Result<PutOutcome, StorageError> {
        for _ in 0..CONFLICT_ATTEMPTS {
            let created = if source.length() <= ONE_REQUEST_BYTES {
                let whole = Span { offset: 0, length: source.length() };
                self.put_whole(self.piece(&source, whole).await?, progress).await?
            } else {
                Box::pin(self.put_in_parts(&source, progress)).await?
            };
            match created {
                Created::Done(outcome) => return Ok(outcome),
                Created::Conflict => tokio::time::sleep(CONFLICT_PAUSE).await,
            }
        }
        Err(StorageError::Changed { object: self.to_string() })
    }

    async fn put_whole(&self, bytes: Bytes, progress: &Progress) -> Result<Created, StorageError> {
        let length = bytes.len() as u64;
        let request = self.store.client.put_object().bucket(&self.store.name).key(&self.key);
        let request =
            request.if_none_match("*").body(bytes.into()).customize().config_override(slow(WRITE_TIMEOUT));
        match request.send().await {
            Ok(_) => {
                progress.report(length);
                Ok(Created::Done(PutOutcome::Created))
            }
            Err(refused) => match status(&refused) {
                Some(412) => Ok(Created::Done(PutOutcome::AlreadyThere)),
                Some(409) => Ok(Created::Conflict),
                _ => Err(self.explain(refused)),
            },
        }
    }

    /// Reads a piece of what is written.
    async fn piece(&self, source: &Source, span: Span) -> Result<Bytes, StorageError> {
        let source = source.clone();
        on_blocking_pool(&self.to_string(), move || source.read_blocking(span)).await
    }

    async fn put_in_parts(&self, source: &Source, progress: &Progress) -> Result<Created, StorageError> {
        let request = self.store.client.create_multipart_upload().bucket(&self.store.name).key(&self.key);
        let begun =
            within(DEADLINE, self, async { request.send().await.map_err(|refused| self.explain(refused)) });
        let upload_id = begun.await?.upload_id.unwrap_or_default();
        let completed = match self.put_parts(source, &upload_id, progress).await {
            Ok(parts) => match self.complete(&upload_id, parts).await {
                // The answer to an earlier attempt may have been lost, and the upload be no more because it is
                // done. What is there tells.
                Err(_) if self.has_length(source.length()).await => {
                    Ok(Created::Done(PutOutcome::AlreadyThere))
                }
                completed => completed,
            },
            Err(failed) => Err(failed),
        };
        if !matches!(completed, Ok(Created::Done(PutOutcome::Created))) {
            // Parts that nobody completes are paid for until removed. Should this fail too, or the process die
            // before, the bucket's lifecycle rule removes them.
            let request = self.store.client.abort_multipart_upload().bucket(&self.store.name).key(&self.key);
            let _ = tokio::time::timeout(DEADLINE, request.upload_id(&upload_id).send()).await;
        }
        completed
    }

    async fn has_length(&self, length: u64) -> bool {
        let tail = within(DEADLINE, self, self.read_tail(1)).await;
        tail.is_ok_and(|tail| tail.total_length == length)
    }

    async fn put_parts(
        &self,
        source: &Source,
        upload_id: &str,
        progress: &Progress,
    ) -> Result<Vec<CompletedPart>, StorageError> {
        let (total, part_bytes) = (source.length(), part_bytes(source.length()));
        let mut parts = (0..total.div_ceil(part_bytes)).map(|part| part * part_bytes).zip(1..);
        let mut written = 0;
        let mut completed = Vec::new();
        // Dropped, and with it every part under way, when one fails.
        let mut running = JoinSet::new();
        loop {
            while running.len() < CONCURRENT_PARTS
                && let Some((offset, number)) = parts.next()
            {
                let span = Span { offset, length: part_bytes.min(total - offset) };
                running.spawn(self.clone().put_part(upload_id.to_owned(), number, source.clone(), span));
            }
            let Some(finished) = running.join_next().await else { break };
            let (part, length) = finished.map_err(|stopped| StorageError::Other {
                object: self.to_string(),
                source: stopped.into(),
            })??;
            written += length;
            progress.report(written);
            completed.push(part);
        }
        completed.sort_by_key(CompletedPart::part_number);
        Ok(completed)
    }

    async fn put_part(
        self,
        upload_id: String,
        number: i32,
        source: Source,
        span: Span,
    ) -> Result<(CompletedPart, u64), StorageError> {
        let part = self.piece(&source, span).await?;
        let request = self.store.client.upload_part().bucket(&self.store.name).key(&self.key);
        let request = request.upload_id(upload_id).part_number(number).body(part.into());
        match request.customize().config_override(slow(WRITE_TIMEOUT)).send().await {
            Ok(written) => {
                let part = CompletedPart::builder()
                    .part_number(number)
                    .set_e_tag(written.e_tag)
                    .set_checksum_crc32(written.checksum_crc32)
                    .build();
                Ok((part, span.length))
            }
            Err(refused) => Err(self.explain(refused)),
        }
    }

    async fn complete(&self, upload_id: &str, parts: Vec<CompletedPart>) -> Result<Created, StorageError> {
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let request = self.store.client.complete_multipart_upload().bucket(&self.store.name).key(&self.key);
        let request = request.upload_id(upload_id).multipart_upload(parts).if_none_match("*");
        match request.customize().config_override(slow(COMPLETE_TIMEOUT)).send().await {
            Ok(_) => Ok(Created::Done(PutOutcome::Created)),
            Err(refused) => match status(&refused) {
                Some(412) => Ok(Created::Done(PutOutcome::AlreadyThere)),
                Some(409) => Ok(Created::Conflict),
                _ => Err(self.explain(refused)),
            },
        }
    }
}

/// Returns the size of a part: the usual one, or as much more as keeps the number of parts within bounds.
fn part_bytes(total: u64) -> u64 {
    total.div_ceil(MOST_PARTS).next_multiple_of(1 << 20).max(PART_BYTES)
}

fn slow(attempt: Duration) -> aws_sdk_s3::config::Builder {
    aws_sdk_s3::config::Builder::new().timeout_config(timeouts(attempt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_within_the_bounds_of_s3() {
        assert_eq!(part_bytes(1), PART_BYTES);
        assert_eq!(part_bytes(PART_BYTES * MOST_PARTS), PART_BYTES);
        for total in [PART_BYTES * MOST_PARTS + 1, 5 << 40] {
            assert!(total.div_ceil(part_bytes(total)) <= MOST_PARTS, "{total}");
        }
    }
}
