//! One source of a fetch: its connection, the look-up of the file, and requests for chunks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anabranch_transfer::{Answer, Chunks, Digests, DigestsError, Refusal, Request, Root};
use thiserror::Error;
use tokio::sync::mpsc::Sender;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{sleep, timeout};

use super::lane::{self, Offer};
use super::{FetchRequest, Wanted};
use crate::conditions::Present;
use crate::connect::{ClientSession, Target};
use crate::messages::{AskError, answer, ask, is_wrong_service};
use crate::paths::numbered;
use crate::quic::{Connection, ConnectionError, ReadExactError};
use crate::session::{Application, Session, SessionError};
use crate::sockets::SocketError;
use crate::web::{Dialer, WebUrl};

/// Time before a source is connected again: at first, and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// The longest silence of a source while a chunk is requested of it.
pub const SILENCE: Duration = Duration::from_secs(30);

/// Time between checks whether paths have opened.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes after which a source counts as having sent something.
const PIECE: usize = 16 << 10;

/// An event of a source.
pub enum Event {
    /// The source is connected.
    Connected { source: usize, session: Arc<Session> },
    /// The source works on an answer.
    Alive { source: usize },
    /// The source has a file of the name, with this hash.
    Found { source: usize, root: Root },
    /// The source has the file that was decided on, with these digests.
    Ready { source: usize, session: Arc<Session>, digests: Arc<Digests> },
    /// The connection to the source is lost, or could not be made.
    Lost { source: usize, why: String },
    /// The source is refused, and is not connected again.
    Refused { source: usize, why: String },
    /// A mirror has a file; it sends what it is ordered to.
    Offered { source: usize, offer: Box<Offer> },
    /// A chunk has arrived; `None` if its digest is wrong.
    Arrived { source: usize, chunk: u32, bytes: Option<Vec<u8>> },
    /// A chunk has not arrived, or not whole.
    Failed { source: usize, chunk: u32 },
}

/// A chunk to be fetched.
pub struct Job {
    pub source: usize,
    pub chunk: u32,
    pub chunks: Arc<Chunks>,
    /// Counter of the bytes that arrive.
    pub received: Arc<AtomicU64>,
    pub events: Sender<Event>,
}

/// The reason why a source is of no use, now or at all.
#[derive(Debug, Error)]
enum LookError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Digests(#[from] DigestsError),
    #[error("it has another file by this name, with hash {root} instead of {wanted}")]
    Another { root: Root, wanted: Root },
}

/// State that the tasks of all sources share.
pub struct Common {
    pub request: FetchRequest,
    /// Lanes to mirrors: the number of the mirror, and the way to it. They follow the sharers in the numbers of sources.
    pub lanes: Vec<(usize, Dialer)>,
    /// Room for lanes that are connected at a time; others wait until one is lost.
    pub room: Semaphore,
    /// Hash of the file, once it is decided.
    pub believed: watch::Sender<Option<Root>>,
    /// Digests of the file, from the first source that sent them.
    pub digests: OnceLock<Arc<Digests>>,
    /// Whether the file is whole and has its name.
    pub is_there: watch::Sender<bool>,
    pub events: Sender<Event>,
}

/// Keeps a source connected until it is refused, or knows that the file is complete.
pub async fn keep(source: usize, common: Arc<Common>) {
    let mut wait = WAITS.0;
    loop {
        let room = tokio::select! {
            room = common.room_for(source) => room,
            () = common.there() => return,
        };
        let since = Instant::now();
        let served = match common.lane(source) {
            Some((url, dialer)) => lane::serve_until_lost(source, url, dialer, &common).await,
            None => serve_until_lost(source, &common).await,
        };
        drop(room);
        let Some(event) = served else { return };
        let is_over = matches!(event, Event::Refused { .. });
        if common.events.send(event).await.is_err() || is_over {
            return;
        }
        // A connection that has lasted is worth an immediate retry.
        if since.elapsed() > WAITS.1 {
            wait = WAITS.0;
        }
        tokio::select! {
            () = sleep(wait) => {}
            () = common.there() => return,
        }
        wait = (wait * 2).min(WAITS.1);
    }
}

impl Common {
    /// The mirror and the way to it, if this source is one.
    pub fn lane(&self, source: usize) -> Option<(&WebUrl, &Dialer)> {
        let (mirror, dialer) = self.lanes.get(source.checked_sub(self.request.sources.len())?)?;
        Some((&self.request.mirrors[*mirror], dialer))
    }

    /// The number of a source among those that are shown: all lanes to a mirror are one.
    pub fn shown(&self, source: usize) -> usize {
        let sharers = self.request.sources.len();
        source.checked_sub(sharers).map_or(source, |lane| sharers + self.lanes[lane].0)
    }

    /// Waits until a lane may connect; sharers always may.
    async fn room_for(&self, source: usize) -> Option<SemaphorePermit<'_>> {
        self.lane(source)?;
        Some(self.room.acquire().await.expect("nobody closes it"))
    }

    /// Waits until the file has its name.
    pub async fn there(&self) {
        // The sender is in `self`, so it cannot be gone.
        let _ = self.is_there.subscribe().wait_for(|&is_there| is_there).await;
    }

    /// Waits for the hash of the file that is decided on.
    async fn wanted(&self) -> Root {
        let mut believed = self.believed.subscribe();
        let known = believed.wait_for(Option::is_some).await.expect("the sender is here");
        known.expect("it was waited for")
    }
}

/// Connects to a source and reports its events. Returns the event to report when it is lost; `None` once it knows that
/// the file is complete.
async fn serve_until_lost(source: usize, common: &Common) -> Option<Event> {
    let lost = |why: String| Some(Event::Lost { source, why });
    let (_client, session) = match connect(source, &common.request).await {
        Ok(ClientSession { client, session, .. }) => (client, Arc::new(session)),
        Err(error) if is_final(&error) => return Some(Event::Refused { source, why: error.to_string() }),
        Err(error) => return lost(error.to_string()),
    };
    let connected = Event::Connected { source, session: Arc::clone(&session) };
    if common.events.send(connected).await.is_err() {
        return lost(String::new());
    }
    match look(source, common, &session).await {
        Ok(digests) => {
            let root = digests.root();
            let ready = Event::Ready { source, session: Arc::clone(&session), digests };
            if common.events.send(ready).await.is_err() {
                return lost(String::new());
            }
            let conditions = &common.request.sources[source].conditions;
            tokio::select! {
                why = session.connection().closed() => lost(why.to_string()),
                why = tell_conditions(&session, conditions) => lost(why.to_string()),
                () = common.there() => {
                    // The answer makes no difference here.
                    let _ = ask(session.connection(), &Request::Have { root }).await;
                    None
                }
            }
        }
        Err(LookError::Ask(AskError::Refused(refusal))) if refusal != Refusal::NotNow => {
            Some(Event::Refused { source, why: refusal.to_string() })
        }
        Err(_) if is_wrong_service(session.connection()) => {
            let why = "this is `anabranch perf --serve`, which has no files; measure with it by `anabranch perf`";
            Some(Event::Refused { source, why: why.to_owned() })
        }
        Err(LookError::Ask(error)) => lost(error.to_string()),
        Err(error) => Some(Event::Refused { source, why: error.to_string() }),
    }
}

/// Connects to a source, over all paths.
async fn connect(source: usize, request: &FetchRequest) -> Result<ClientSession, SessionError> {
    let Wanted { url, .. } = &request.sources[source];
    let target = Target {
        url,
        authorities: request.authorities.as_deref(),
        identity: None,
        qlog: request.qlog.as_ref(),
        via: &request.via,
        backup: &[],
        protocol: &request.protocol,
        application: Application::default(),
    };
    let mut reached = target.connect().await?;
    if reached.session.group().counts_marks() {
        reached.session.tell_marks();
    }
    Ok(reached)
}

/// Whether another attempt would fail in the same way.
fn is_final(error: &SessionError) -> bool {
    use SessionError::{Refused, Security, Socket, TooManyPaths, Unreached, Unsuited, WrongPlace};
    match error {
        Security(_)
        | Unsuited(_)
        | TooManyPaths(_)
        | WrongPlace(_)
        | Socket(
            SocketError::UnknownInterface { .. }
            | SocketError::Loopback { .. }
            | SocketError::Mixed(_)
            | SocketError::Twice(_),
        ) => true,
        Unreached { tried, .. } => tried.iter().all(is_final),
        // A server with the wrong certificate is not connected again.
        Refused { reason: ConnectionError::TransportError(error), .. } => error.crypto.is_some(),
        _ => false,
    }
}

/// Reports to a source which of its paths share links and how much it may send, whenever that changes or other paths are
/// open; ends with the connection.
async fn tell_conditions(session: &Session, conditions: &Present) -> AskError {
    let mut told = (Vec::new(), None);
    loop {
        let groups = grouped(session, conditions);
        if groups != told.0 {
            if let Err(error) = ask(session.connection(), &Request::Groups { groups: groups.clone() }).await {
                return error;
            }
            told.0 = groups;
        }
        let most = conditions.borrow().ceiling.total.0;
        let bps = most.is_finite().then_some(most as u64);
        if let Some(bps) = bps.filter(|_| bps != told.1) {
            if let Err(error) = ask(session.connection(), &Request::Ceiling { bps }).await {
                return error;
            }
            told.1 = Some(bps);
        }
        sleep(LOOK).await;
    }
}

/// The groups of open paths, by their numbers; empty if there are no groups.
fn grouped(session: &Session, conditions: &Present) -> Vec<(u32, u32)> {
    let groups = &conditions.borrow().groups;
    if groups.is_empty() { Vec::new() } else { numbered(&session.numbers(), groups) }
}

/// Sends the control and the groups of paths, asks for the file, and, if it is the right one, for its digests if no
/// other source has sent them.
async fn look(source: usize, common: &Common, session: &Session) -> Result<Arc<Digests>, LookError> {
    let (request, connection) = (&common.request, session.connection());
    let Wanted { name, conditions, .. } = &request.sources[source];
    ask(connection, &Request::Control { protocol: request.protocol.name().to_owned() }).await?;
    let groups = grouped(session, conditions);
    if !groups.is_empty() {
        ask(connection, &Request::Groups { groups }).await?;
    }
    let name = name.to_string();
    let (mut found, mut stream) = ask(connection, &Request::Look { name }).await?;
    while found == Answer::Working {
        let _ = common.events.send(Event::Alive { source }).await;
        found = answer(&mut stream).await?;
    }
    let Answer::Found { size, root } = found else { return Err(AskError::Other.into()) };
    let _ = common.events.send(Event::Found { source, root }).await;
    let wanted = tokio::select! {
        wanted = common.wanted() => wanted,
        error = connection.closed() => return Err(AskError::Connection(error).into()),
    };
    if wanted != root {
        return Err(LookError::Another { root, wanted });
    }
    if let Some(digests) = common.digests.get() {
        return Ok(Arc::clone(digests));
    }
    let digests = Arc::new(list(connection, size, root).await?);
    // Another source may have been faster.
    Ok(Arc::clone(common.digests.get_or_init(|| digests)))
}

/// Fetches the digests of a file.
async fn list(connection: &Connection, size: u64, root: Root) -> Result<Digests, LookError> {
    let mut list = vec![0; Digests::list_bytes(size)?];
    let (Answer::Follows, mut stream) = ask(connection, &Request::Digests { root }).await? else {
        return Err(AskError::Other.into());
    };
    for piece in list.chunks_mut(PIECE) {
        timeout(SILENCE, stream.read_exact(piece)).await.map_err(|_| AskError::Silent)?.map_err(AskError::Read)?;
    }
    Ok(Digests::listed(size, root, &list)?)
}

/// Fetches a chunk, verifies it, and reports it.
pub async fn bring(connection: Connection, job: Job) {
    let Job { source, chunk, ref chunks, ref events, .. } = job;
    let event = match chunk_bytes(&connection, &job).await {
        Ok(bytes) => Event::Arrived { source, chunk, bytes: chunks.fit(chunk, &bytes).then_some(bytes) },
        Err(AskError::Refused(refusal @ (Refusal::Changed | Refusal::Unknown))) => {
            Event::Refused { source, why: refusal.to_string() }
        }
        Err(_) => Event::Failed { source, chunk },
    };
    // A fetch that has ended needs no report.
    let _ = events.send(event).await;
}

/// Reads the bytes of a chunk.
async fn chunk_bytes(connection: &Connection, job: &Job) -> Result<Vec<u8>, AskError> {
    let Job { chunk, chunks, received, .. } = job;
    let (_, length) = chunks.extent(*chunk).expect("the schedule knows its chunks");
    let request = Request::Chunk { root: chunks.id(), chunk: *chunk };
    let (Answer::Follows, mut stream) = ask(connection, &request).await? else { return Err(AskError::Other) };
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let end = AskError::Read(ReadExactError::FinishedEarly(bytes.len()));
        let piece = stream.read_chunk(length - bytes.len()).await.map_err(ReadExactError::from)?.ok_or(end)?;
        bytes.extend_from_slice(&piece);
        received.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    Ok(bytes)
}
