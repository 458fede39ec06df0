//! One source of a fetch: kept connected, looked at, asked for chunks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anabranch_transfer::{Answer, Digests, DigestsError, Refusal, Request, Root};
use thiserror::Error;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::{FetchRequest, Wanted};
use crate::connect::{ClientSession, Target};
use crate::messages::{AskError, answer, ask};
use crate::paths::numbered;
use crate::quic::{Connection, ConnectionError, ReadExactError};
use crate::session::{Session, SessionError};
use crate::sockets::SocketError;

/// How long to wait before a source is reached for again, at first and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// How long a source may send nothing of a chunk that was requested.
pub const SILENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether paths have opened.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes after which it counts as having sent something.
const PIECE: usize = 16 << 10;

/// What is heard of a source.
pub enum Event {
    /// It is connected.
    Connected { source: usize, session: Arc<Session> },
    /// It is at work.
    Alive { source: usize },
    /// It has a file by the name, with this hash.
    Found { source: usize, root: Root },
    /// It has the file that is believed, which consists of this.
    Ready { source: usize, session: Arc<Session>, digests: Arc<Digests> },
    /// Its connection is lost, or could not be made.
    Lost { source: usize, why: String },
    /// It is out of the question.
    Refused { source: usize, why: String },
    /// A chunk came; `None` if it is not what it should be.
    Arrived { source: usize, chunk: u32, bytes: Option<Vec<u8>> },
    /// A chunk did not come, or not whole.
    Failed { source: usize, chunk: u32 },
}

/// A chunk to be brought.
pub struct Job {
    pub source: usize,
    pub chunk: u32,
    pub digests: Arc<Digests>,
    /// Counts the bytes that come.
    pub received: Arc<AtomicU64>,
    pub events: Sender<Event>,
}

/// Why a source is of no use, or not now.
#[derive(Debug, Error)]
enum LookError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Digests(#[from] DigestsError),
    #[error("it has another file by this name, with hash {root} instead of {wanted}")]
    Another { root: Root, wanted: Root },
}

/// What the tasks of all sources share.
pub struct Common {
    pub request: FetchRequest,
    /// The hash of the file, once it is known which it is.
    pub believed: watch::Sender<Option<Root>>,
    /// The digests of the file, from the source that was first to send them.
    pub digests: OnceLock<Arc<Digests>>,
    /// Whether the file has its name.
    pub is_there: watch::Sender<bool>,
    pub events: Sender<Event>,
}

/// Keeps a source connected until it is out of the question, or has heard that the file is there.
pub async fn keep(source: usize, common: Arc<Common>) {
    let mut wait = WAITS.0;
    loop {
        let since = Instant::now();
        let Some(event) = serve_until_lost(source, &common).await else { return };
        let is_over = matches!(event, Event::Refused { .. });
        if common.events.send(event).await.is_err() || is_over {
            return;
        }
        // One that has lasted is worth trying at once.
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
    /// Waits until the file has its name.
    async fn there(&self) {
        // The sender is here.
        let _ = self.is_there.subscribe().wait_for(|&is_there| is_there).await;
    }

    /// Waits until it is known which file it is: its hash.
    async fn wanted(&self) -> Root {
        let mut believed = self.believed.subscribe();
        let known = believed.wait_for(Option::is_some).await.expect("the sender is here");
        known.expect("it was waited for")
    }
}

/// Connects to a source and tells of it: what is to be told when it is lost, or nothing once it has heard that the file is
/// there.
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
            let groups = common.request.sources[source].groups.as_slice();
            tokio::select! {
                why = session.connection().closed() => lost(why.to_string()),
                why = tell_groups(&session, groups) => lost(why.to_string()),
                () = common.there() => {
                    // It makes no difference here what it answers.
                    let _ = ask(session.connection(), &Request::Have { root }).await;
                    None
                }
            }
        }
        Err(LookError::Ask(AskError::Refused(refusal))) if refusal != Refusal::NotNow => {
            Some(Event::Refused { source, why: refusal.to_string() })
        }
        Err(LookError::Ask(error)) => lost(error.to_string()),
        Err(error) => Some(Event::Refused { source, why: error.to_string() }),
    }
}

/// Makes a connection to a source, over all paths to it.
async fn connect(source: usize, request: &FetchRequest) -> Result<ClientSession, SessionError> {
    let Wanted { url, .. } = &request.sources[source];
    let target =
        Target { url, authorities: request.authorities.as_deref(), via: &request.via, protocol: &request.protocol };
    let mut reached = target.connect().await?;
    if reached.session.group().counts_marks() {
        reached.session.tell_marks();
    }
    Ok(reached)
}

/// Whether it will not be otherwise next time.
fn is_final(error: &SessionError) -> bool {
    use SessionError::{Refused, Security, Socket, TooManyPaths, Unreached, Unsuited, WrongPlace};
    match error {
        Security(_)
        | Unsuited(_)
        | TooManyPaths(_)
        | WrongPlace(_)
        | Socket(SocketError::UnknownInterface { .. } | SocketError::Mixed(_) | SocketError::Twice(_)) => true,
        Unreached { tried, .. } => tried.iter().all(is_final),
        // Who is not who it should be is not asked again.
        Refused { reason: ConnectionError::TransportError(error), .. } => error.crypto.is_some(),
        _ => false,
    }
}

/// Tells a source which of its paths share links, whenever others are open; ends with the connection.
async fn tell_groups(session: &Session, groups: &[u32]) -> AskError {
    let mut told: Vec<(u32, u32)> = Vec::new();
    loop {
        let open = numbered(&session.numbers(), groups);
        if !groups.is_empty() && open != told {
            if let Err(error) = ask(session.connection(), &Request::Groups { groups: open.clone() }).await {
                return error;
            }
            told = open;
        }
        sleep(LOOK).await;
    }
}

/// Says under which control to send and which paths share links, asks for the file, and, if it is the one that is wanted, for
/// its digests if no other source has sent them.
async fn look(source: usize, common: &Common, session: &Session) -> Result<Arc<Digests>, LookError> {
    let (request, connection) = (&common.request, session.connection());
    let Wanted { name, groups, .. } = &request.sources[source];
    ask(connection, &Request::Control { protocol: request.protocol.name().to_owned() }).await?;
    if !groups.is_empty() {
        ask(connection, &Request::Groups { groups: numbered(&session.numbers(), groups) }).await?;
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

/// Fetches a chunk, verifies it, and tells of it.
pub async fn bring(connection: Connection, job: Job) {
    let Job { source, chunk, ref digests, ref events, .. } = job;
    let event = match chunk_bytes(&connection, &job).await {
        Ok(bytes) => Event::Arrived { source, chunk, bytes: digests.fit(chunk, &bytes).then_some(bytes) },
        Err(AskError::Refused(refusal @ (Refusal::Changed | Refusal::Unknown))) => {
            Event::Refused { source, why: refusal.to_string() }
        }
        Err(_) => Event::Failed { source, chunk },
    };
    // Who no longer listens has all it wants.
    let _ = events.send(event).await;
}

/// The bytes of a chunk as they come.
async fn chunk_bytes(connection: &Connection, job: &Job) -> Result<Vec<u8>, AskError> {
    let Job { chunk, digests, received, .. } = job;
    let (_, length) = digests.extent(*chunk).expect("the schedule knows its chunks");
    let request = Request::Chunk { root: digests.root(), chunk: *chunk };
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
