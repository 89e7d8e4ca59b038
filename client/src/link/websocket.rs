//! A link over a WebSocket, a message in each text frame. No revision of the protocol names it; the servers there are
//! use the subprotocol `mcp`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::Uri;
use http::header::{HeaderMap, HeaderValue, SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::http::{AGENT, CONNECT_TIMEOUT, read_address, tls, without_secrets};
use super::stream::{Ends, Running, Start, StreamLink, take_message};
use super::{BoxFuture, Inbox, MAX_MESSAGE_BYTES};
use crate::error::{Error, ErrorCode, Result};

static SUBPROTOCOL: HeaderValue = HeaderValue::from_static("mcp");
/// How long a server may take to agree that the connection ends.
const GRACE: Duration = Duration::from_secs(1);

/// A link to an endpoint over a WebSocket.
pub type WebSocketLink = StreamLink<Endpoint>;

/// The endpoint of a WebSocket.
pub struct Endpoint {
    name: Arc<str>,
    uri: Uri,
    headers: HeaderMap,
}

impl Endpoint {
    /// Reads an address, which begins with wss:// or ws://; `headers` go with the request that opens the connection.
    pub fn new(name: impl Into<Arc<str>>, address: &str, headers: HeaderMap) -> Result<Self> {
        let uri = read_address(address, &["wss", "ws"])?;
        Ok(Self { name: name.into(), uri, headers })
    }

    async fn open(&self, inbox: Inbox) -> Result<Running> {
        let host = self.uri.host().unwrap_or_default();
        let is_encrypted = self.uri.scheme_str() == Some("wss");
        let port = self.uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        let failed = |error: &dyn std::fmt::Display| {
            let address = without_secrets(&self.uri.to_string());
            Error::unsent(ErrorCode::ConnectionFailed, format!("cannot connect to `{address}`: {error}"))
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((bare, port)).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        if !is_encrypted {
            return self.greet(stream, inbox).await;
        }
        let name = ServerName::try_from(bare.to_owned()).map_err(|error| failed(&error))?;
        let encrypted = TlsConnector::from(Arc::new(tls(true)?)).connect(name, stream).await;
        self.greet(encrypted.map_err(|error| failed(&error))?, inbox).await
    }

    /// Opens the WebSocket on a connection.
    async fn greet<S>(&self, stream: S, inbox: Inbox) -> Result<Running>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut request = self.uri.clone().into_client_request().map_err(refused)?;
        let headers = request.headers_mut();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.extend(self.headers.clone());
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let (socket, _) = client_async_with_config(request, stream, Some(limits)).await.map_err(refused)?;
        let (running, ends) = Running::new();
        tokio::spawn(serve(socket, ends, Arc::clone(&self.name), inbox));
        Ok(running)
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Endpoint({})", without_secrets(&self.uri.to_string()))
    }
}

impl Start for Endpoint {
    fn start(&self, inbox: Inbox) -> BoxFuture<'_, Result<Running>> {
        Box::pin(async move {
            let late =
                |_| Error::unsent(ErrorCode::ConnectionFailed, "the server does not open the WebSocket");
            timeout(CONNECT_TIMEOUT, self.open(inbox)).await.map_err(late)?
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Says why a server did not open the WebSocket.
fn refused(error: tungstenite::Error) -> Error {
    match error {
        tungstenite::Error::Http(answer) => {
            let code = match answer.status().as_u16() {
                401 | 403 => ErrorCode::PermissionDenied,
                429 => ErrorCode::RateLimitExceeded,
                _ => ErrorCode::ConnectionFailed,
            };
            Error::unsent(
                code,
                format!("the server answers {} instead of opening a WebSocket", answer.status()),
            )
        }
        error => {
            Error::unsent(ErrorCode::ConnectionFailed, format!("the server opens no WebSocket: {error}"))
        }
    }
}

/// Passes messages both ways until either side ends the connection.
async fn serve<S>(mut socket: WebSocketStream<S>, ends: Ends, name: Arc<str>, inbox: Inbox)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Ends { mut to_write, mut stopped, ended, waiting } = ends;
    let reason = loop {
        tokio::select! {
            // Also when everyone who could send a message is gone.
            _ = &mut stopped => break "the connection was closed".to_owned(),
            Some(message) = to_write.recv() => {
                // What was read as JSON is UTF-8.
                let Ok(text) = Utf8Bytes::try_from(message.into_bytes()) else { continue };
                if let Err(error) = socket.send(Message::Text(text)).await {
                    break format!("the connection ended: {error}");
                }
            }
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    take_message(Bytes::from(text), &name, &waiting, &inbox).await;
                    // Whoever waited for this message passes it on before the next one is.
                    tokio::task::yield_now().await;
                }
                Some(Ok(Message::Close(_))) | None => break "the server closed the connection".to_owned(),
                Some(Ok(_)) => {}
                Some(Err(error)) => break format!("the connection ended: {error}"),
            },
        }
    };
    let _ = timeout(GRACE, socket.close(None)).await;
    tracing::info!(server = %name, "{reason}");
    ended.tell(&reason);
}
