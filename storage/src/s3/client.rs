//! The S3 client: where its settings and credentials come from, how long it waits, how it connects.
//!
//! In Lambda everything comes from the environment, without look-ups, and nothing is loaded that the first
//! request does not need: certificates only when a connection is encrypted, and then once.

use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Builder, Credentials, IdentityCache, Region, ResponseChecksumValidation,
    SharedCredentialsProvider, SharedHttpClient,
};
use aws_smithy_http_client::{Connector, proxy::ProxyConfig, tls};
use aws_smithy_runtime_api::client::http::{SharedHttpConnector, http_client_fn};

use crate::error::StorageError;

/// Attempts of one request, the first included. The SDK waits between them, longer each time, with jitter.
const ATTEMPTS: u32 = 3;
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_secs(2);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// One attempt up to the answer's headers, for writes, listings and whatever a publisher waits for.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(6);

/// One attempt to read, up to the answer's headers. A reader of poems waits for it, and S3's own advice is to give up
/// on a slow small GET after 2 s and ask again
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-guidelines.html>, checked
/// 2026-11-16): the next attempt most likely meets another server.
const READ_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// Region used when a custom endpoint is set without a region. S3-compatible servers usually ignore it.
const FALLBACK_REGION: &str = "us-east-1";

/// How to reach S3.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct S3Settings {
    /// The region; `AWS_REGION`, else `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// Another server than AWS's; `AWS_ENDPOINT_URL_S3`, else `AWS_ENDPOINT_URL`.
    pub endpoint: Option<String>,
    /// Whether the bucket stands in the path rather than in the host name; `WAKASHU_S3_PATH_STYLE`. Where it is
    /// not said, it does exactly where a custom endpoint is set.
    pub path_style: Option<bool>,
    /// Keys to use instead of looking for some.
    pub keys: Option<Keys>,
}

/// An access key. Its secret parts are not shown.
#[derive(Clone)]
#[non_exhaustive]
pub struct Keys {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
}

impl Keys {
    /// Names a key pair that lasts.
    pub fn new(access_key_id: impl Into<String>, secret_access_key: impl Into<String>) -> Self {
        Self {
            access_key_id: access_key_id.into(),
            secret_access_key: secret_access_key.into(),
            session_token: None,
        }
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

impl S3Settings {
    /// Reads the settings from the environment. In Lambda, and in builds without the `chain` feature, the keys
    /// as well; elsewhere the standard chain finds them when the bucket is opened.
    pub fn from_env() -> Result<Self, StorageError> {
        let path_style = match variable("WAKASHU_S3_PATH_STYLE").as_deref() {
            None => None,
            Some("true" | "1") => Some(true),
            Some("false" | "0") => Some(false),
            Some(_) => {
                let problem = "WAKASHU_S3_PATH_STYLE must be `true` or `false`".to_owned();
                return Err(StorageError::Setting { problem });
            }
        };
        let mut settings = Self {
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")),
            endpoint: variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL")),
            path_style,
            keys: None,
        };
        if cfg!(not(feature = "chain")) || variable("AWS_LAMBDA_RUNTIME_API").is_some() {
            settings.keys = Some(Keys {
                access_key_id: required("AWS_ACCESS_KEY_ID")?,
                secret_access_key: required("AWS_SECRET_ACCESS_KEY")?,
                session_token: variable("AWS_SESSION_TOKEN"),
            });
        }
        Ok(settings)
    }
}

/// A client and the region it asks.
#[derive(Debug, Clone)]
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) region: String,
}

/// Builds the client. Asks nothing of S3 yet.
pub(super) async fn connect(settings: &S3Settings) -> Result<Connected, StorageError> {
    if let Some(endpoint) = &settings.endpoint
        && !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme))
    {
        let problem = format!("the S3 endpoint `{endpoint}` must begin with http:// or https://");
        return Err(StorageError::Setting { problem });
    }
    let encrypted = settings.endpoint.as_ref().is_none_or(|endpoint| endpoint.starts_with("https://"));
    let builder = match &settings.keys {
        Some(keys) => Builder::new()
            .behavior_version(BehaviorVersion::latest())
            // Fixed keys need no cache in front of them.
            .identity_cache(IdentityCache::no_cache())
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new(
                &keys.access_key_id,
                &keys.secret_access_key,
                keys.session_token.clone(),
                None,
                "wakashu",
            )))
            .http_client(http_client(encrypted)),
        None => look_up(encrypted).await?,
    };

    let mut builder = builder
        .retry_config(
            RetryConfig::standard()
                .with_max_attempts(ATTEMPTS)
                .with_initial_backoff(FIRST_BACKOFF)
                .with_max_backoff(LONGEST_BACKOFF),
        )
        .timeout_config(timeouts(ATTEMPT_TIMEOUT))
        // Ranges carry no checksum, and everything read is verified against the archive's hash tree anyway.
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        .force_path_style(settings.path_style.unwrap_or(settings.endpoint.is_some()));
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.endpoint_url(endpoint);
    }
    if let Some(region) = &settings.region {
        builder = builder.region(Region::new(region.clone()));
    }
    let mut config = builder.build();
    if config.region().is_none() {
        if settings.endpoint.is_none() {
            let problem = "no AWS region is set; set AWS_REGION to the bucket's region".to_owned();
            return Err(StorageError::Setting { problem });
        }
        config = config.to_builder().region(Region::from_static(FALLBACK_REGION)).build();
    }
    let region = config.region().map_or_else(String::new, ToString::to_string);
    Ok(Connected { client: Client::from_conf(config), region })
}

/// Returns the limits of one request whose attempts may take `attempt` each. The whole of it is bounded once more
/// by the caller's deadline, which also covers the body.
pub(super) fn timeouts(attempt: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(attempt)
        .operation_timeout(attempt * ATTEMPTS + LONGEST_BACKOFF * (ATTEMPTS - 1))
        .build()
}

/// Returns what one read is bound by instead of the client's own limits.
pub(super) fn while_reading() -> Builder {
    Builder::new().timeout_config(timeouts(READ_ATTEMPT_TIMEOUT))
}

/// Finds credentials and region as the AWS tools do: environment, profiles, single sign-on, roles.
#[cfg(feature = "chain")]
async fn look_up(encrypted: bool) -> Result<Builder, StorageError> {
    // The look-ups talk to AWS themselves, whatever the storage's endpoint is.
    let found = aws_config::defaults(BehaviorVersion::latest()).http_client(http_client(true)).load().await;
    Ok(Builder::from(&found).http_client(http_client(encrypted)))
}

#[cfg(not(feature = "chain"))]
async fn look_up(_: bool) -> Result<Builder, StorageError> {
    Err(StorageError::MissingCredentials { source: "this build reads them from the environment only".into() })
}

/// Returns an HTTP client that is built on the first request, once. The SDK's own one builds its connector, with all root
/// certificates parsed, when the client is made and again on the first request.
fn http_client(encrypted: bool) -> SharedHttpClient {
    let once: OnceLock<SharedHttpConnector> = OnceLock::new();
    http_client_fn(move |settings, components| {
        let build = || {
            let mut builder = Connector::builder().connector_settings(settings.clone());
            builder.set_sleep_impl(components.sleep_impl());
            SharedHttpConnector::new(if encrypted {
                let provider = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
                builder.proxy_config(ProxyConfig::from_env()).tls_provider(provider).build()
            } else {
                builder.build_http()
            })
        };
        once.get_or_init(build).clone()
    })
}

/// Returns a variable of the environment; an empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    // Without blanks around it, as `wakashu-function config` reads its settings.
    env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn required(name: &'static str) -> Result<String, StorageError> {
    variable(name)
        .ok_or_else(|| StorageError::MissingCredentials { source: format!("{name} is not set").into() })
}
