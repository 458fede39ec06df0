//! Requests to web servers: one at a time on a connection, with redirects, limits and time limits.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HOST, LOCATION, RANGE, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::answer::{AnswerError, Facts, Range, read_answer};
use super::dial::{DialError, Dialed, Dialer};
use super::{WebUrl, WebUrlError};

/// Bytes of an answer that are read ahead, and the most that its head may have.
const MOST_BUFFER: usize = 256 << 10;

/// The most redirects of a request.
const MOST_REDIRECTS: usize = 10;

/// The longest time from a request to the end of the answer's head.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// A server that sends less than [`PIECE`] bytes in this time is cut off.
const SLOW_TIME: Duration = Duration::from_secs(30);

/// Bytes after which a server counts as having sent something.
const PIECE: u64 = 16 << 10;

/// How this program names itself to servers.
const AGENT: &str = concat!("anabranch/", env!("CARGO_PKG_VERSION"));

/// The reason why a request has failed.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum WebError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error("it redirects to where nothing can be fetched: {0}")]
    Redirect(#[from] WebUrlError),
    #[error("it redirects more than {MOST_REDIRECTS} times")]
    ManyRedirects,
    #[error("it redirects from https to http ({0}), which would not be verified")]
    Downgrade(WebUrl),
    #[error("it redirects ({0}) without saying where to")]
    Nowhere(StatusCode),
    #[error("it does not speak HTTP as it should: {}", cause(.0))]
    Http(hyper::Error),
    #[error("the connection is lost: {}", cause(.0))]
    Lost(hyper::Error),
    #[error("it sent no answer for {} s", HEAD_TIME.as_secs())]
    NoAnswer,
    #[error("it sent less than {} KiB in {} s", PIECE >> 10, SLOW_TIME.as_secs())]
    Slow,
    #[error("it ended the answer after {came} of {asked} bytes")]
    Short { came: u64, asked: u64 },
    #[error("it sent more than what was asked for")]
    Long,
}

impl WebError {
    /// Whether the same request may succeed later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Dial(error) => error.is_passing(),
            Self::Answer(error) => error.is_passing(),
            Self::Lost(_) | Self::NoAnswer | Self::Slow | Self::Short { .. } => true,
            _ => false,
        }
    }

    /// Tells a server that breaks the rules from one that is gone.
    fn of(error: hyper::Error) -> Self {
        if error.is_parse() { Self::Http(error) } else { Self::Lost(error) }
    }
}

/// The deepest cause of an error.
fn cause(error: &hyper::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

/// Whether a body ended early.
fn is_cut_off(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    error.is_incomplete_message() || source.is_some_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof)
}

/// A connection to a web server, on which one request is open at a time.
pub struct Connection {
    sender: SendRequest<Empty<Bytes>>,
    /// Task that drives the connection.
    driver: AbortHandle,
    /// Addresses of both ends, for readers.
    pub label: String,
    /// Time in which the server accepted the connection.
    pub round_trip: Duration,
}

impl Connection {
    /// Connects to the server of a URL.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub async fn open(dialer: &Dialer, url: &WebUrl) -> Result<Self, WebError> {
        let Dialed { stream, local, remote, round_trip } = dialer.dial(url).await?;
        let built = Builder::new().max_buf_size(MOST_BUFFER).handshake(TokioIo::new(stream)).await;
        let (sender, connection) = built.map_err(WebError::of)?;
        // Errors of the connection are reported to its requests.
        let driver = tokio::spawn(async { drop(connection.await) }).abort_handle();
        Ok(Self { sender, driver, label: format!("{local} - {}", remote.ip()), round_trip })
    }

    /// Whether the server has not closed the connection, so that another request can follow.
    pub async fn is_reusable(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Requests a range of a file, or all of it; returns the head of the answer, with its body to be read.
    ///
    /// # Errors
    /// If no answer comes.
    async fn ask(&mut self, url: &WebUrl, range: Option<&Range>) -> Result<Response<Incoming>, WebError> {
        let mut request = Request::get(url.target())
            .header(HOST, url.authority())
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, "*/*")
            // A compressed file has other bytes.
            .header(ACCEPT_ENCODING, "identity");
        if let Some(range) = range {
            request = request.header(RANGE, format!("bytes={}-{}", range.start(), range.end()));
        }
        let request = request.body(Empty::new()).expect("a URL is made of what requests may have");
        timeout(HEAD_TIME, self.sender.send_request(request))
            .await
            .map_err(|_| WebError::NoAnswer)?
            .map_err(WebError::of)
    }

    /// Requests a range of a file, or all of it; returns what the server says of the file, and the body.
    ///
    /// # Errors
    /// If no answer comes, or it is none to this request.
    pub async fn get(&mut self, url: &WebUrl, range: Option<&Range>) -> Result<(Facts, Body), WebError> {
        read(self.ask(url, range).await?, range)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The body of an answer, of as many bytes as were asked for.
pub struct Body {
    incoming: Incoming,
    asked: u64,
    came: u64,
    /// Bytes that had come, and the time, when the server last had sent [`PIECE`] bytes.
    mark: (u64, Instant),
    /// Bytes that have come and were not used yet.
    rest: Bytes,
}

impl Body {
    fn new(incoming: Incoming, asked: u64) -> Self {
        Self { incoming, asked, came: 0, mark: (0, Instant::now()), rest: Bytes::new() }
    }

    /// The next bytes; `None` after the last.
    ///
    /// # Errors
    /// If the body is shorter or longer than it should be, or the server is slow or gone.
    pub async fn next(&mut self) -> Result<Option<Bytes>, WebError> {
        loop {
            let frame = tokio::time::timeout_at(self.mark.1 + SLOW_TIME, self.incoming.frame());
            match frame.await.map_err(|_| WebError::Slow)? {
                Some(Ok(frame)) => {
                    // Trailers say nothing that is needed.
                    let Ok(bytes) = frame.into_data() else { continue };
                    self.came += bytes.len() as u64;
                    if self.came > self.asked {
                        return Err(WebError::Long);
                    }
                    if self.came >= self.mark.0 + PIECE {
                        self.mark = (self.came, Instant::now());
                    }
                    return Ok(Some(bytes));
                }
                Some(Err(error)) if is_cut_off(&error) => {
                    return Err(WebError::Short { came: self.came, asked: self.asked });
                }
                Some(Err(error)) => return Err(WebError::of(error)),
                None if self.came < self.asked && self.asked < u64::MAX => {
                    return Err(WebError::Short { came: self.came, asked: self.asked });
                }
                None => return Ok(None),
            }
        }
    }

    /// Keeps bytes for the next reader.
    pub fn put_back(&mut self, rest: Bytes) {
        self.rest = rest;
    }

    /// The bytes that were put back, as far as the next reader needs them.
    pub fn take_rest(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(most);
        bytes.extend_from_slice(&self.rest.split_to(most.min(self.rest.len())));
        bytes
    }

    /// Checks that nothing follows the bytes that were used.
    ///
    /// # Errors
    /// If something does, or the body ends in another way than it should.
    pub async fn end(&mut self) -> Result<(), WebError> {
        if self.rest.is_empty() && self.next().await?.is_none() { Ok(()) } else { Err(WebError::Long) }
    }

    /// Begins the time anew in which the server has to send something, after a pause of the reader.
    pub fn resume(&mut self) {
        self.mark.1 = Instant::now();
    }
}

/// A URL, and the way to its server.
pub struct Follower<'a> {
    /// Way to the server.
    pub dialer: &'a Dialer,
    /// URL of the file.
    pub url: &'a WebUrl,
}

impl Follower<'_> {
    /// Requests a range of the file, or all of it, wherever redirects lead; returns that place too.
    ///
    /// # Errors
    /// If there is no answer to this request.
    pub async fn get(&self, range: Option<&Range>) -> Result<(Connection, WebUrl, Facts, Body), WebError> {
        let mut url = self.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut connection = Connection::open(self.dialer, &url).await?;
            let answer = connection.ask(&url, range).await?;
            if !is_redirect(answer.status()) {
                let (facts, body) = read(answer, range)?;
                return Ok((connection, url, facts, body));
            }
            let to = answer.headers().get(LOCATION).ok_or(WebError::Nowhere(answer.status()))?;
            let to = url.join(&String::from_utf8_lossy(to.as_bytes()))?;
            if url.is_https && !to.is_https {
                return Err(WebError::Downgrade(to));
            }
            url = to;
        }
        Err(WebError::ManyRedirects)
    }
}

/// What the server says of the file, and the body with the length that it must have.
fn read(answer: Response<Incoming>, range: Option<&Range>) -> Result<(Facts, Body), WebError> {
    let facts = read_answer(answer.status(), answer.headers(), range)?;
    let asked = match range {
        Some(range) if answer.status() == StatusCode::PARTIAL_CONTENT => range.end() - range.start() + 1,
        _ => facts.size.unwrap_or(u64::MAX),
    };
    Ok((facts, Body::new(answer.into_body(), asked)))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Fetches a small file into memory, such as a Metalink file.
///
/// # Errors
/// If it cannot be fetched, or has more than `most` bytes.
pub async fn small_file(dialer: &Dialer, url: &WebUrl, most: usize) -> Result<Vec<u8>, WebError> {
    let (_connection, _, _, mut body) = Follower { dialer, url }.get(None).await?;
    let mut all = Vec::new();
    while let Some(bytes) = body.next().await? {
        if all.len() + bytes.len() > most {
            return Err(WebError::Long);
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}
