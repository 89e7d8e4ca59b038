//! Turns what S3 and the SDK report into the sentences of [`StorageError`].

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use crate::error::StorageError;

/// A request that failed.
pub(super) type Refused<E> = SdkError<E, HttpResponse>;

/// What a request was about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) bucket: &'a str,
    pub(super) region: &'a str,
    /// The full address of the object or prefix.
    pub(super) object: &'a str,
    /// How long the caller waits, for the message.
    pub(super) seconds: u64,
}

/// Returns the HTTP status of a refused request.
pub(super) fn status<E>(error: &Refused<E>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

/// Says what went wrong.
pub(super) fn explain<E>(subject: Subject<'_>, error: Refused<E>) -> StorageError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let object = || subject.object.to_owned();
    if let Some(credentials) = find::<CredentialsError>(&error) {
        // Single sign-on says so in words only.
        let expired = chain(credentials).any(|cause| cause.to_string().contains("expired"));
        return match credentials {
            _ if expired => StorageError::ExpiredCredentials { source: error.into() },
            CredentialsError::CredentialsNotLoaded(_) => {
                StorageError::MissingCredentials { source: error.into() }
            }
            CredentialsError::ProviderTimedOut(_) => {
                StorageError::Unreachable { object: object(), source: error.into() }
            }
            _ => StorageError::BadCredentials { source: error.into() },
        };
    }
    match &error {
        SdkError::TimeoutError(_) => {
            return StorageError::Timeout { object: object(), seconds: subject.seconds };
        }
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            return StorageError::Timeout { object: object(), seconds: subject.seconds };
        }
        SdkError::DispatchFailure(failure) if !failure.is_user() => {
            return StorageError::Unreachable { object: object(), source: error.into() };
        }
        _ => {}
    }
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code).unwrap_or_default();
    match (code, status(&error)) {
        ("NoSuchBucket", _) => StorageError::NoSuchBucket { bucket: subject.bucket.to_owned() },
        (
            "PermanentRedirect"
            | "TemporaryRedirect"
            | "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException",
            _,
        )
        | (_, Some(301 | 307)) => StorageError::WrongRegion {
            bucket: subject.bucket.to_owned(),
            asked: subject.region.to_owned(),
            expected: error.raw_response().and_then(region_of),
        },
        ("ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired", _) => {
            StorageError::ExpiredCredentials { source: error.into() }
        }
        ("InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "RequestTimeTooSkewed", _) => {
            StorageError::BadCredentials { source: error.into() }
        }
        // Objects and uploads; a bucket was told apart above.
        ("NoSuchKey" | "NotFound", _) | (_, Some(404)) => StorageError::NotFound { object: object() },
        ("AccessDenied", _) | (_, Some(401 | 403)) => {
            StorageError::Denied { object: object(), source: error.into() }
        }
        (_, Some(409 | 412)) => StorageError::Changed { object: object() },
        _ => StorageError::Other { object: object(), source: error.into() },
    }
}

/// Returns the region S3 names when the wrong one was asked: in a header, else in the message's `Region`.
fn region_of(response: &HttpResponse) -> Option<String> {
    if let Some(region) = response.headers().get("x-amz-bucket-region") {
        return Some(region.to_owned());
    }
    let body = std::str::from_utf8(response.body().bytes()?).ok()?;
    let (_, after) = body.split_once("<Region>")?;
    after.split_once("</Region>").map(|(region, _)| region.to_owned())
}

fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
