//! The connection of a proxy to its exit, which is made again when it is lost.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anabranch_live::PathReport;
use anabranch_live::connect::{ClientSession, Target as Server};
use anabranch_live::quic::{Connection, ConnectionError};
use anabranch_live::session::{Application, Session};
use anabranch_live::url::Url;
use anabranch_proto::Protocol;
use bytes::Bytes;
use h3::client::RequestStream;
use h3::ext::Protocol as Carried;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at};

use crate::exit::{CONTROL, proxying};
use crate::http3::{self, ALPN, Asking, BidiStream};
use crate::packets::flows::{Flow, Flows};
use crate::packets::{self, CAPSULES};
use crate::target::{Host, Target};
use crate::token::Token;
use crate::unreached::Unreached;

/// The longest wait of a request for a connection to the exit.
const WAIT: Duration = Duration::from_secs(10);

/// The longest wait for an answer: the exit itself gives up before.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// Time before another try to connect: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(8));

/// Time between looks at the paths.
const TICK: Duration = Duration::from_millis(50);

/// An exit, and how to reach it.
#[derive(Clone, Debug)]
pub struct Exit {
    /// URL of the exit, which may contain fingerprints of its certificate.
    pub url: Url,
    /// File of certificates that signed the exit's, instead of fingerprints in the URL.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces, with a path over each; empty if the system chooses.
    pub via: Vec<String>,
    /// Further local addresses or interfaces: what is sent takes their paths while no other is open.
    pub backup: Vec<String>,
    /// The token that the exit knows.
    pub token: Token,
    /// Name of the control in both directions.
    pub control: String,
    /// The control with this name.
    pub protocol: Protocol,
}

/// The state of the connection to an exit.
#[derive(Clone, Debug)]
pub enum UplinkState {
    /// There is a connection with these paths.
    Up(Vec<PathReport>),
    /// There is none, for this reason.
    Down(String),
}

/// A stream to a target, and the connection that it is of.
pub(crate) struct Tunnel {
    pub stream: Stream,
    pub quic: Connection,
    flows: Flows,
}

impl Tunnel {
    /// The datagrams of the stream.
    pub fn flow(&self) -> Flow {
        self.flows.of(self.stream.id().into_inner())
    }
}

/// A stream to an exit.
pub(crate) type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

/// A connection to an exit, on which requests can be sent.
#[derive(Clone)]
struct Line {
    asking: Asking,
    quic: Connection,
    flows: Flows,
}

/// Opens streams to targets over the connection to an exit.
#[derive(Clone)]
pub(crate) struct Uplink {
    exit: Arc<Exit>,
    line: watch::Receiver<Option<Line>>,
}

impl Uplink {
    /// An uplink, and the work that keeps its connection; `tell` hears of each change.
    pub fn new(
        exit: Exit,
        tell: impl Fn(UplinkState) + Send + Sync + 'static,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let exit = Arc::new(exit);
        let (give, line) = watch::channel(None);
        (Self { exit: exit.clone(), line }, keep(exit, give, tell))
    }

    /// Opens a stream to a target, as a connection of TCP.
    ///
    /// # Errors
    /// If there is no connection to the exit, or the exit does not reach the target.
    pub async fn open(&self, target: &Target) -> Result<Tunnel, Unreached> {
        self.ask(|exit| exit.request(Method::CONNECT, &target.to_string())).await
    }

    /// Opens a flow of packets to a target.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_packets(&self, target: &Target) -> Result<Tunnel, Unreached> {
        self.ask(|exit| exit.request_for_packets(target)).await
    }

    /// Sends a request. Where the connection to the exit is lost before the answer, the next one is tried.
    ///
    /// # Errors
    /// As [`Self::open`].
    async fn ask(&self, request: impl Fn(&Exit) -> Request<()>) -> Result<Tunnel, Unreached> {
        let end = Instant::now() + WAIT;
        let mut lines = self.line.clone();
        loop {
            let there = timeout_at(end, lines.wait_for(Option::is_some)).await.map_err(|_| Unreached::NoExit)?;
            let mut line = there.ok().and_then(|line| line.clone()).ok_or(Unreached::NoExit)?;
            lines.mark_unchanged();
            match timeout(ANSWER_TIME, ask(&mut line.asking, request(&self.exit))).await {
                Ok(Some((stream, answer))) if answer.status() == StatusCode::OK => {
                    return Ok(Tunnel { stream, quic: line.quic, flows: line.flows });
                }
                Ok(Some((_, answer))) => {
                    let header = answer.headers().get("proxy-status").and_then(|value| value.to_str().ok());
                    return Err(Unreached::read(answer.status(), header));
                }
                Ok(None) => {
                    let next = timeout_at(end, lines.changed()).await;
                    next.ok().and_then(Result::ok).ok_or(Unreached::NoExit)?;
                }
                Err(_) => return Err(Unreached::TimedOut),
            }
        }
    }
}

/// Sends a request, and waits for the answer; nothing if the connection does not carry it.
async fn ask(asking: &mut Asking, request: Request<()>) -> Option<(Stream, Response<()>)> {
    let mut stream = asking.send_request(request).await.ok()?;
    let answer = stream.recv_response().await.ok()?;
    Some((stream, answer))
}

impl Exit {
    /// The name or address of the exit, as requests to itself have it.
    fn authority(&self) -> String {
        Host::parse(&self.url.host).map_or_else(|_| "exit".to_owned(), |host| host.to_string())
    }

    fn request_for_packets(&self, target: &Target) -> Request<()> {
        let uri = Uri::builder().scheme("https").authority(self.authority()).path_and_query(packets::path(target));
        let uri = uri.build().expect("targets are written as parts of paths");
        let mut request = self.request(Method::CONNECT, "exit");
        *request.uri_mut() = uri;
        request.extensions_mut().insert(Carried::CONNECT_UDP);
        request.headers_mut().insert(CAPSULES.0, HeaderValue::from_static(CAPSULES.1));
        request
    }

    fn request(&self, method: Method, authority: &str) -> Request<()> {
        let uri = Uri::builder().authority(authority);
        let uri = if method == Method::CONNECT { uri } else { uri.scheme("https").path_and_query("/") };
        let uri = uri.build().expect("targets are written as authorities");
        let request = Request::builder().method(method).uri(uri);
        let request = request.header(header::PROXY_AUTHORIZATION, self.token.header());
        request.header(CONTROL, &self.control).body(()).expect("tokens and names of controls are plain")
    }
}

/// Keeps a connection to the exit; does not return.
async fn keep(exit: Arc<Exit>, give: watch::Sender<Option<Line>>, tell: impl Fn(UplinkState) + Send + Sync) {
    let mut pause = BACK_OFF.0;
    loop {
        let reason = match connect(&exit).await {
            Ok(session) => {
                let reason = hold(&exit, &session.session, &give, &tell).await;
                if give.send_replace(None).is_some() {
                    pause = BACK_OFF.0;
                }
                reason
            }
            Err(error) => error,
        };
        tell(UplinkState::Down(reason));
        sleep(pause).await;
        pause = (2 * pause).min(BACK_OFF.1);
    }
}

/// Uses a connection until it is lost; why it was.
async fn hold(
    exit: &Exit,
    session: &Session,
    give: &watch::Sender<Option<Line>>,
    tell: &(impl Fn(UplinkState) + Send + Sync),
) -> String {
    let (mut keeping, mut asking) = match http3::ask(session.connection().clone()).await {
        Ok(both) => both,
        Err(error) => return error,
    };
    let flows = Flows::new(session.connection().clone());
    let line = Line { asking: asking.clone(), quic: session.connection().clone(), flows: flows.clone() };
    let using = async {
        // The exit waits for the token, and it alone knows whether it is right.
        let request = exit.request(Method::OPTIONS, &exit.authority());
        match timeout(ANSWER_TIME, ask(&mut asking, request)).await {
            Ok(Some((_, answer))) if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                return Unreached::Unknown.to_string();
            }
            Ok(_) => {}
            Err(_) => return "the exit does not answer".to_owned(),
        }
        give.send_replace(Some(line));
        watch_paths(session, tell).await
    };
    tokio::select! {
        _ = std::future::poll_fn(|context| keeping.poll_close(context)) => lost(session),
        () = flows.pass_on() => lost(session),
        reason = using => reason,
    }
}

/// Why a connection was lost.
fn lost(session: &Session) -> String {
    match session.connection().close_reason() {
        Some(ConnectionError::ApplicationClosed(_)) => "the exit has closed the connection".to_owned(),
        Some(ConnectionError::TimedOut) => "no path answers any more".to_owned(),
        Some(other) => other.to_string(),
        None => "the exit breaks the rules of HTTP/3".to_owned(),
    }
}

async fn connect(exit: &Exit) -> Result<ClientSession, String> {
    let server = Server {
        url: &exit.url,
        authorities: exit.authorities.as_deref(),
        via: &exit.via,
        backup: &exit.backup,
        protocol: &exit.protocol,
        application: Application { alpn: ALPN, quic_config: proxying() },
    };
    server.connect().await.map_err(|error| error.to_string())
}

/// Tells of paths that come and go, and fits the send buffer to their windows; does not return.
async fn watch_paths(session: &Session, tell: &impl Fn(UplinkState)) -> String {
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told: Option<Vec<(String, bool)>> = None;
    loop {
        tick.tick().await;
        session.fit_send_window();
        let paths = session.paths();
        let open = Some(paths.iter().map(|path| (path.label.clone(), path.is_open)).collect());
        if open != told {
            told = open;
            tell(UplinkState::Up(paths));
        }
    }
}
