//! The connection of a proxy to its exit, which is made again when it is lost.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anabranch_live::PathReport;
use anabranch_live::connect::{ClientSession, Target as Server};
use anabranch_live::session::{Application, Session};
use anabranch_live::url::Url;
use anabranch_proto::Protocol;
use bytes::Bytes;
use h3::client::RequestStream;
use http::{Method, Request, StatusCode, Uri, header};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::exit::{CONTROL, proxying};
use crate::fate::Unreached;
use crate::http3::{self, ALPN, Asking, BidiStream};
use crate::target::Target;
use crate::token::Token;

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

/// A stream to a target.
pub(crate) type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

/// Opens streams to targets over the connection to an exit.
#[derive(Clone)]
pub(crate) struct Uplink {
    exit: Arc<Exit>,
    asking: watch::Receiver<Option<Asking>>,
}

impl Uplink {
    /// An uplink, and the work that keeps its connection; `tell` hears of each change.
    pub fn new(
        exit: Exit,
        tell: impl Fn(UplinkState) + Send + Sync + 'static,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let exit = Arc::new(exit);
        let (give, asking) = watch::channel(None);
        (Self { exit: exit.clone(), asking }, keep(exit, give, tell))
    }

    /// Opens a stream to a target.
    ///
    /// # Errors
    /// If there is no connection to the exit, or the exit does not reach the target.
    pub async fn open(&self, target: &Target) -> Result<Stream, Unreached> {
        let mut asking = self.asking.clone();
        let there = timeout(WAIT, asking.wait_for(Option::is_some)).await.map_err(|_| Unreached::NoExit)?;
        let mut asking = there.ok().and_then(|asking| asking.clone()).ok_or(Unreached::NoExit)?;
        let asked = timeout(ANSWER_TIME, async {
            let mut stream = asking.send_request(self.request(target)).await.map_err(|_| Unreached::NoExit)?;
            let answer = stream.recv_response().await.map_err(|_| Unreached::NoExit)?;
            Ok((stream, answer))
        });
        let (stream, answer) = asked.await.unwrap_or(Err(Unreached::TimedOut))?;
        if answer.status() == StatusCode::OK {
            return Ok(stream);
        }
        let header = answer.headers().get("proxy-status").and_then(|value| value.to_str().ok());
        Err(Unreached::read(answer.status(), header))
    }

    fn request(&self, target: &Target) -> Request<()> {
        let authority = target.to_string().parse::<http::uri::Authority>().expect("targets are written as authorities");
        let uri = Uri::builder().authority(authority).build().expect("an authority is enough");
        let request = Request::builder().method(Method::CONNECT).uri(uri);
        let request = request.header(header::PROXY_AUTHORIZATION, self.exit.token.header());
        request.header(CONTROL, &self.exit.control).body(()).expect("tokens and names of controls are plain")
    }
}

/// Keeps a connection to the exit; does not return.
async fn keep(exit: Arc<Exit>, give: watch::Sender<Option<Asking>>, tell: impl Fn(UplinkState) + Send + Sync) {
    let mut pause = BACK_OFF.0;
    loop {
        let reason = match connect(&exit).await {
            Ok(session) => match http3::ask(session.session.connection().clone()).await {
                Ok((mut keeping, asking)) => {
                    pause = BACK_OFF.0;
                    give.send_replace(Some(asking));
                    let ended = tokio::select! {
                        error = std::future::poll_fn(|context| keeping.poll_close(context)) => error.to_string(),
                        never = watch_paths(&session.session, &tell) => never,
                    };
                    give.send_replace(None);
                    ended
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        tell(UplinkState::Down(reason));
        sleep(pause).await;
        pause = (2 * pause).min(BACK_OFF.1);
    }
}

async fn connect(exit: &Exit) -> Result<ClientSession, String> {
    let server = Server {
        url: &exit.url,
        authorities: exit.authorities.as_deref(),
        via: &exit.via,
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
