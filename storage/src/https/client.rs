//! The HTTP client: how it connects, whom it trusts, where it lets itself be sent.
//!
//! It is built on the first request: a program that reads folders or buckets does not pay for certificates it never uses.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

use super::fault::{Failed, Subject};
use crate::error::Cause;
use crate::reach::Reach;
use crate::storage::BoxFuture;
use crate::web_address::{WebAddress, without_credentials};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a connection waits for the next request. Servers close theirs after a minute or more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How often one request may be sent on to another address.
const MOST_REDIRECTS: usize = 3;

const USER_AGENT: &str = concat!("wakashu/", env!("CARGO_PKG_VERSION"));

type Hyper = legacy::Client<HttpsConnector<HttpConnector<Resolver>>, Empty<Bytes>>;

/// A client for the host of one store.
#[derive(Debug)]
pub(super) struct Client {
    resolver: Resolver,
    is_encrypted: bool,
    built: OnceCell<Hyper>,
}

impl Client {
    pub(super) fn new(store: &WebAddress, outside: Outside) -> Self {
        let resolver = Resolver { reach: store.reach(), outside };
        Self { resolver, is_encrypted: store.is_encrypted(), built: OnceCell::new() }
    }

    /// Gets what is at an address, following redirects. Only the head of the answer has come when this returns.
    pub(super) async fn get(
        &self,
        subject: Subject<'_>,
        headers: &HeaderMap,
    ) -> Result<Response<Incoming>, Failed> {
        let client = self.built.get_or_try_init(async || self.build()).await;
        let client = client.map_err(|problem| subject.unusable(problem))?;
        let mut target = Target { address: subject.address.clone(), query: String::new() };
        for _ in 0..=MOST_REDIRECTS {
            let mut request = Request::new(Empty::new());
            *request.uri_mut() = target.uri().map_err(|problem| subject.unusable(problem.into()))?;
            *request.headers_mut() = headers.clone();
            request.headers_mut().insert("accept-encoding", HeaderValue::from_static("identity"));
            request.headers_mut().insert("user-agent", HeaderValue::from_static(USER_AGENT));
            let answer = client.request(request).await.map_err(|error| subject.explain(error))?;
            if !is_redirect(answer.status()) {
                return Ok(answer);
            }
            target = self.follow(subject, &target, answer.headers())?;
        }
        Err(subject.fault(
            format!("redirects more than {MOST_REDIRECTS} times"),
            "name the address at which the files are",
        ))
    }

    fn follow(&self, subject: Subject<'_>, from: &Target, headers: &HeaderMap) -> Result<Target, Failed> {
        const ADVICE: &str = "name the address at which the files are; a redirect must lead to another https:// address on the public internet";
        let named = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // A query often signs the address; it is used and never shown.
        let (address, query) = named.split_once('?').unwrap_or((named, ""));
        let without_fragment = |part: &str| part.split('#').next().unwrap_or_default().to_owned();
        let (shown, query) = (without_fragment(address), without_fragment(query));
        if self.resolver.reach == Reach::Loopback {
            return Err(subject.fault(
                format!(
                    "redirects to `{}`, and a store on this machine must not",
                    without_credentials(&shown)
                ),
                "name the address at which the files are",
            ));
        }
        match from.address.redirected(&shown) {
            Ok(address) if address.reach() == self.resolver.reach => Ok(Target { address, query }),
            Ok(_) => Err(subject.fault(
                format!("redirects to `{}`, which is on this machine", without_credentials(&shown)),
                ADVICE,
            )),
            Err(problem) => {
                Err(subject
                    .fault(format!("redirects to `{}`: {problem}", without_credentials(&shown)), ADVICE))
            }
        }
    }

    fn build(&self) -> Result<Hyper, Cause> {
        let roots = if self.is_encrypted { (self.resolver.outside.roots)() } else { RootCertStore::empty() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_root_certificates(roots).with_no_client_auth();

        let mut connector = HttpConnector::new_with_resolver(self.resolver.clone());
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let builder = HttpsConnectorBuilder::new().with_tls_config(config);
        let builder = if self.is_encrypted { builder.https_only() } else { builder.https_or_http() };
        let connector = builder.enable_http1().wrap_connector(connector);
        let mut client = legacy::Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
        Ok(client.build(connector))
    }
}

/// Where a request goes.
struct Target {
    address: WebAddress,
    query: String,
}

impl Target {
    fn uri(&self) -> Result<hyper::Uri, hyper::http::uri::InvalidUri> {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.address, self.query).parse()
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// What the client finds outside: names, the way to an address, certificates. Tests stage it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outside {
    /// Resolves a name.
    pub(super) resolve: fn(&str) -> io::Result<Vec<SocketAddr>>,
    /// Returns where to connect to for an address that may be connected to.
    pub(super) way: fn(SocketAddr) -> SocketAddr,
    /// Returns the certificates to trust.
    pub(super) roots: fn() -> RootCertStore,
}

impl Outside {
    /// The system's resolver, straight ways, and the certificates this machine trusts; `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` name others.
    pub(super) const REAL: Self = Self {
        resolve: |name| Ok((name, 0).to_socket_addrs()?.collect()),
        way: |address| address,
        roots: || {
            let mut roots = RootCertStore::empty();
            // Certificates that cannot be read are left out. A host that needs one of them is refused: unknown issuer.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots
        },
    };
}

/// Resolves names, and lets pass only what is within the store's reach: here a connection is about to be made,
/// whatever the name resolved to a moment ago. Addresses that are not names are not resolved here; they were checked when
/// they were read.
#[derive(Debug, Clone)]
struct Resolver {
    reach: Reach,
    outside: Outside,
}

/// A name of which no address may be connected to.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` resolves to {address}")]
pub(super) struct OutOfReach {
    name: String,
    address: IpAddr,
}

impl Resolver {
    fn resolve(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        let found = (self.outside.resolve)(name)?;
        let is_within = |found: &SocketAddr| Reach::of(found.ip()) == Some(self.reach);
        let within: Vec<_> = found.iter().copied().filter(is_within).map(self.outside.way).collect();
        match found.first() {
            Some(refused) if within.is_empty() => {
                Err(io::Error::other(OutOfReach { name: name.to_owned(), address: refused.ip() }))
            }
            _ => Ok(within),
        }
    }
}

impl tower_service::Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        Box::pin(async move {
            // The system's resolver blocks.
            let resolving = tokio::task::spawn_blocking(move || resolver.resolve(name.as_str()));
            Ok(resolving.await.map_err(io::Error::other)??.into_iter())
        })
    }
}
