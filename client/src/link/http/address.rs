//! Where a server is: its address, and the client that reaches it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, Uri};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, ErrorCode, Result};

/// How long a server may take to accept a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection waits for the next request. Servers close theirs after a minute or more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of an answer is read at a time, and how long its head may be. With hyper's own 400 KiB a bridge that has passed on
/// pictures holds 0.3 MB more.
const READ_BYTES: usize = 128 << 10;
/// How the addresses begin that this link takes.
pub(crate) const SCHEMES: &[&str] = &["https", "http"];

pub(super) type Hyper = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Reads the address of an endpoint, which begins with one of these schemes.
pub(crate) fn read_address(address: &str, schemes: &[&str]) -> Result<Uri> {
    let wrong = |problem: &str| {
        Error::unsent(ErrorCode::ConnectionFailed, format!("`{}` {problem}", without_secrets(address)))
    };
    let uri: Uri = address.parse().map_err(|_| wrong("is not an address"))?;
    let is_known = uri.scheme_str().is_some_and(|scheme| schemes.contains(&scheme));
    if !is_known || uri.host().is_none_or(str::is_empty) {
        let begin = schemes.iter().map(|scheme| format!("{scheme}://")).collect::<Vec<_>>().join(" or ");
        return Err(wrong(&format!("is not an address that begins with {begin}")));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("has a user name or a password in it; put credentials into a header"));
    }
    Ok(uri)
}

/// Returns an address for a message: without credentials and query.
pub(crate) fn without_secrets(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    match address.split_once("//").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1))) {
        Some((scheme, rest)) => format!("{scheme}//…@{rest}"),
        None => address.to_owned(),
    }
}

/// Returns how connections are encrypted: with the system's certificates, if they are needed.
pub(crate) fn tls(is_encrypted: bool) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if is_encrypted {
        // One that cannot be read is as good as one that is not there: whoever needs it is told that the issuer is
        // unknown.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::unsent(ErrorCode::ConnectionFailed, format!("no TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

pub(super) fn build_client(is_encrypted: bool) -> Result<Hyper> {
    let config = tls(is_encrypted)?;
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    let builder = if is_encrypted { builder.https_only() } else { builder.https_or_http() };
    let connector = builder.enable_http1().wrap_connector(connector);
    let mut client = Client::builder(TokioExecutor::new());
    client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT).http1_max_buf_size(READ_BYTES);
    Ok(client.build(connector))
}

/// Returns where a redirect leads. Another origin is refused: what is sent may hold secrets.
pub(super) fn redirected(from: &Uri, headers: &HeaderMap) -> Result<Uri> {
    let named = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let refuse = |problem: &str| {
        let sentence = format!("redirects to `{}`, {problem}", without_secrets(named));
        Error::new(ErrorCode::ConnectionFailed, sentence)
    };
    let absolute = if named.starts_with('/') && !named.starts_with("//") {
        let authority = from.authority().map(ToString::to_string).unwrap_or_default();
        format!("{}://{authority}{named}", from.scheme_str().unwrap_or("https"))
    } else {
        named.to_owned()
    };
    let to: Uri = absolute.parse().map_err(|_| refuse("which is not an address"))?;
    let port = |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    let same_host = from.host().zip(to.host()).is_some_and(|(from, to)| from.eq_ignore_ascii_case(to));
    if from.scheme() != to.scheme() || !same_host || port(from) != port(&to) {
        return Err(refuse("which is another origin: configure that address if it is meant"));
    }
    Ok(to)
}

pub(super) fn unreachable(uri: &Uri, error: &legacy::Error) -> Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let address = without_secrets(&uri.to_string());
    if error.is_connect() {
        return Error::unsent(ErrorCode::ConnectionFailed, format!("cannot connect to `{address}`: {cause}"));
    }
    Error::new(ErrorCode::ConnectionLost, format!("the connection to `{address}` ended: {cause}"))
}
