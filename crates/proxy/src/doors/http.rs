//! The door for HTTP: CONNECT for any protocol [rfc9110, sec. 9.3.6], and plain requests with whole URLs.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{Either, Full};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;

use super::{PATIENCE, Password};
use crate::target::Target;
use crate::unreached::Unreached;
use crate::uplink::{Tunnel, Uplink};

/// Greatest size of the head of a request, in bytes.
const MOST_HEAD: usize = 16 << 10;

/// Bytes that wait between a stream and the reader of an answer.
const WAITING: usize = 64 << 10;

/// Headers that are for the proxy alone [rfc9110, sec. 7.6.1].
const OF_THE_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

type Body = Either<Incoming, Full<Bytes>>;

/// Serves an application.
pub(super) async fn serve(stream: TcpStream, uplink: &Uplink, password: Option<&Password>) {
    let upgrading = Mutex::new(None);
    let answer = |request| async { Ok::<_, Infallible>(answer(request, uplink, password, &upgrading).await) };
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(MOST_HEAD).preserve_header_case(true);
    // An application that breaks the rules is answered as far as it can be; who has gone needs no answer.
    let _ = http.serve_connection(TokioIo::new(stream), service_fn(answer)).with_upgrades().await;
    let upgrading = upgrading.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((upgrading, tunnel)) = upgrading
        && let Ok(upgraded) = upgrading.await
    {
        carry_upgraded(upgraded, tunnel).await;
    }
}

/// A connection that becomes a tunnel after the answer.
type Upgrading = Mutex<Option<(OnUpgrade, Tunnel)>>;

async fn answer(
    request: Request<Incoming>,
    uplink: &Uplink,
    password: Option<&Password>,
    upgrading: &Upgrading,
) -> Response<Body> {
    if let Some(own) = password
        && !request.headers().get(header::PROXY_AUTHORIZATION).is_some_and(|shown| shows(own, shown))
    {
        let mut answer = told(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "show a name and a password");
        let wanted = HeaderValue::from_static("Basic realm=\"anabranch proxy\"");
        answer.headers_mut().insert(header::PROXY_AUTHENTICATE, wanted);
        return answer;
    }
    let outcome = if request.method() == Method::CONNECT {
        connect(request, uplink, upgrading).await
    } else {
        forward(request, uplink).await
    };
    outcome.unwrap_or_else(|refused| refused)
}

/// Whether a header shows a name and a password.
fn shows(own: &Password, shown: &HeaderValue) -> bool {
    let text = shown.to_str().unwrap_or_default();
    let Some((scheme, coded)) = text.trim().split_once(' ') else { return false };
    let decoded = STANDARD.decode(coded.trim()).unwrap_or_default();
    let colon = decoded.iter().position(|byte| *byte == b':');
    scheme.eq_ignore_ascii_case("basic")
        && colon.is_some_and(|colon| own.accepts(&decoded[..colon], &decoded[colon + 1..]))
}

/// Connects to a target, and carries bytes after the answer.
async fn connect(
    request: Request<Incoming>,
    uplink: &Uplink,
    upgrading: &Upgrading,
) -> Result<Response<Body>, Response<Body>> {
    let authority = request.uri().authority().map(http::uri::Authority::as_str).unwrap_or_default();
    let target: Target =
        authority.parse().map_err(|error| told(StatusCode::BAD_REQUEST, &format!("no target: {error}")))?;
    let tunnel = uplink.open(&target).await.map_err(|reason| unreached(&target, reason))?;
    *upgrading.lock().unwrap_or_else(PoisonError::into_inner) = Some((hyper::upgrade::on(request), tunnel));
    Ok(Response::new(Either::Right(Full::default())))
}

async fn carry_upgraded(upgraded: Upgraded, tunnel: Tunnel) {
    let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else { return };
    // What came with the request is for the target.
    tunnel.send_first(parts.read_buf);
    tunnel.join(parts.io.into_inner()).await;
}

/// Sends a plain request on, and gives the answer.
async fn forward(mut request: Request<Incoming>, uplink: &Uplink) -> Result<Response<Body>, Response<Body>> {
    let wrong = |reason: &str| told(StatusCode::BAD_REQUEST, reason);
    let uri = request.uri().clone();
    let authority = uri.authority().ok_or_else(|| wrong("this is a proxy: ask it for whole URLs, or by CONNECT"))?;
    if uri.scheme_str() != Some("http") || authority.as_str().contains('@') {
        return Err(wrong("a proxy serves URLs that begin with http://; others are asked for by CONNECT"));
    }
    let place = if authority.port().is_some() { authority.to_string() } else { format!("{authority}:80") };
    let target: Target = place.parse().map_err(|error| wrong(&format!("no target: {error}")))?;
    let path = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    *request.uri_mut() = path.parse::<Uri>().map_err(|_| wrong("a URL without a path"))?;
    let host = HeaderValue::from_str(authority.as_str()).map_err(|_| wrong("a URL without a host"))?;
    request.headers_mut().insert(header::HOST, host);
    keep_own(request.headers_mut());
    *request.version_mut() = Version::HTTP_11;
    if !request.body().is_end_stream() && request.body().size_hint().exact().is_none() {
        request.headers_mut().insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let tunnel = uplink.open(&target).await.map_err(|reason| unreached(&target, reason))?;
    let (near, far) = tokio::io::duplex(WAITING);
    let has_failed = Arc::<AtomicBool>::default();
    let near = Near { stream: near, has_failed: has_failed.clone() };
    tokio::spawn(async move {
        let (mut reader, mut writer) = tokio::io::split(far);
        let failed = tunnel.carry(&mut reader, &mut writer).await;
        // Before both halves are dropped, which is the end that the other side sees.
        has_failed.store(failed, Ordering::Release);
    });
    let lost = |error: hyper::Error| told(StatusCode::BAD_GATEWAY, &format!("{target} sent no answer: {error}"));
    let mut http = hyper::client::conn::http1::Builder::new();
    http.preserve_header_case(true);
    let (mut asking, connection) = http.handshake(TokioIo::new(near)).await.map_err(lost)?;
    tokio::spawn(connection);
    let mut answer = asking.send_request(request).await.map_err(lost)?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(told(StatusCode::BAD_GATEWAY, &format!("{target} speaks another protocol than was asked for")));
    }
    *answer.version_mut() = Version::HTTP_11;
    keep_own(answer.headers_mut());
    Ok(answer.map(Either::Left))
}

/// The near end of a stream to a target: where the stream has failed, its end is a failure too.
struct Near {
    stream: DuplexStream,
    has_failed: Arc<AtomicBool>,
}

impl AsyncRead for Near {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let has_ended = buf.filled().len() == before && buf.remaining() > 0;
        if has_ended && self.has_failed.load(Ordering::Acquire) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Near {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Takes away headers that are for one hop, and those that the header `connection` names.
fn keep_own(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_THE_HOP) {
        headers.remove(name);
    }
}

fn unreached(target: &Target, reason: Unreached) -> Response<Body> {
    let mut answer = told(reason.status(), &format!("{target}: {reason}"));
    // The exit knows this proxy; that it does not is no matter of the application.
    if reason == Unreached::Unknown {
        *answer.status_mut() = StatusCode::BAD_GATEWAY;
    }
    if let Ok(value) = HeaderValue::from_str(&reason.header()) {
        answer.headers_mut().insert("proxy-status", value);
    }
    answer
}

/// An answer with a line of text.
fn told(status: StatusCode, text: &str) -> Response<Body> {
    let mut answer = Response::new(Either::Right(Full::from(format!("{text}\n"))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
