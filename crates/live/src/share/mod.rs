//! Sharing of files: the sharer's side of a connection.
//!
//! Every request has its own stream. The resources that a fetcher can occupy are bounded: the streams of a connection
//! by the transport, the files that it holds open, the number of files hashed at a time, and the time for which it may
//! leave requested data unread.

mod files;
mod list;
mod service;

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::Rate;
use anabranch_transfer::{Answer, Name, Refusal, Request, Root, listing};
use bytes::Bytes;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};

pub use self::files::{Files, FilesError, SharedFile};
pub use self::service::{Service, ShareError, ShareEvent, share};
use crate::control::{Ceiling, named};
use crate::messages::{AskError, WORKING, WRONG_SERVICE, read_at_once, write};
use crate::quic::{RecvStream, SendStream, VarInt};
use crate::session::{Server, Session};

/// The most connections at a time: each may have its windows in flight, and a piece for each of its requests.
const MOST_FETCHERS: usize = 128;

/// The most open files of a connection.
const MOST_FILES: usize = 64;

/// The most files that are hashed at a time, over all connections.
const MOST_HASHED: usize = 2;

/// The most paths that a fetcher may number.
const MOST_GROUPS: usize = 64;

/// The most characters of a reason.
const MOST_WORDS: usize = 500;

/// Time between checks of a connection.
const TICK: Duration = Duration::from_millis(50);

/// Bytes that are read from a file at a time: waking a thread for it takes as long as sending some packets.
const PIECE: usize = 128 << 10;

/// The longest time for which a fetcher may accept nothing of a requested chunk.
const PATIENCE: Duration = Duration::from_mins(1);

/// Shared files, with the state that connections share.
pub struct Share {
    files: Files,
    hashed: Arc<Semaphore>,
    /// The most that all connections may send together, on links.
    most: watch::Receiver<Rate>,
    /// Number of connections that have something to send.
    busy: AtomicUsize,
}

impl Share {
    /// Shares these files. Connections that have something to send share `most` equally.
    pub fn new(files: Files, most: watch::Receiver<Rate>) -> Self {
        Self { files, hashed: Arc::new(Semaphore::new(MOST_HASHED)), most, busy: AtomicUsize::new(0) }
    }

    /// The most that a connection may send now.
    fn part(&self) -> Rate {
        Rate(self.most.borrow().0 / self.busy.load(Ordering::Relaxed).max(1) as f64)
    }

    /// The hash of the single shared file, which is read completely for it; `None` if a directory is shared.
    ///
    /// # Errors
    /// If the file cannot be read, or changes meanwhile.
    pub async fn hash_of_only(self: &Arc<Self>) -> Result<Option<Root>, FilesError> {
        let Some(name) = self.files.only().cloned() else { return Ok(None) };
        match self.hash(name).await {
            Ok(file) => Ok(Some(file.digests().root())),
            Err(Refusal::Changed) => Err(FilesError::Changing),
            Err(refusal) => Err(FilesError::Unreadable(io::Error::other(refusal))),
        }
    }

    /// Reads a file completely when it has its turn; the reading continues if the fetcher leaves.
    async fn hash(self: &Arc<Self>, name: Name) -> Result<SharedFile, Refusal> {
        let turn = Arc::clone(&self.hashed).acquire_owned().await.expect("nobody closes it");
        let share = Arc::clone(self);
        let find = move || {
            let found = share.files.find(&name);
            drop(turn);
            found
        };
        spawn_blocking(find).await.map_err(|_| Refusal::NotNow)?
    }
}

/// A connection that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// First address of the fetcher.
    pub remote: String,
    /// Bytes of files that it received.
    pub bytes: u64,
    /// Whether it reported that it has a file completely.
    pub has_file: bool,
}

/// The text of an error, cut to a length that fits into a message.
fn short(error: &impl ToString) -> String {
    let mut text = error.to_string();
    if let Some((end, _)) = text.char_indices().nth(MOST_WORDS) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// Locks state; after a panic elsewhere it is still valid, since every change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Time after its last chunk for which a connection counts among those that have something to send.
const LINGER: Duration = Duration::from_millis(600);

/// State of a connection at the sharer.
struct Serving {
    share: Arc<Share>,
    /// Session with the fetcher.
    session: Session,
    /// Groups by the numbers of paths, as far as the fetcher reported them; paths of one group share links.
    groups: Mutex<Vec<(u32, u32)>>,
    /// The most that the fetcher wants, on links.
    wanted: Mutex<Rate>,
    /// Number of chunks and lists that are being sent, and the time of the last.
    chunks: AtomicUsize,
    idle: Mutex<Instant>,
    /// Whether this counts among the connections that have something to send.
    is_busy: AtomicBool,
    /// Files that were requested.
    files: Mutex<Vec<(Root, Arc<SharedFile>)>>,
    /// Number of chunks sent so far; earlier chunks have priority over later ones.
    order: AtomicI32,
    /// Bytes that the transport has accepted.
    taken: AtomicU64,
    /// Number of answers that wait for the transport.
    waiting: AtomicUsize,
    /// Whether the fetcher has reported that it has a file.
    has_file: AtomicBool,
}

/// Serves all fetchers until the server is closed; if it is dropped, all connections end.
///
/// `tell` receives each connection that has ended.
pub async fn serve_all(server: Server, share: Arc<Share>, tell: impl Fn(Served) + Send + Sync + 'static) {
    let tell = Arc::new(tell);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            arrival = server.next() => {
                let Some(arrival) = arrival else { return };
                if connections.len() >= MOST_FETCHERS {
                    arrival.refuse();
                    continue;
                }
                let (share, tell) = (Arc::clone(&share), Arc::clone(&tell));
                connections.spawn(async move {
                    if let Ok(session) = arrival.accept_asking().await {
                        let remote = session.paths().first().map_or_else(String::new, |path| path.label.clone());
                        let (bytes, has_file) = serve(session, share).await;
                        tell(Served { remote, bytes, has_file });
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves a connection until it ends; returns its bytes, and whether the fetcher has a file completely.
async fn serve(session: Session, share: Arc<Share>) -> (u64, bool) {
    let serving = Arc::new(Serving {
        share,
        session,
        groups: Mutex::default(),
        wanted: Mutex::new(Rate(f64::INFINITY)),
        chunks: AtomicUsize::new(0),
        idle: Mutex::new(Instant::now()),
        is_busy: AtomicBool::new(false),
        files: Mutex::default(),
        order: AtomicI32::new(0),
        taken: AtomicU64::new(0),
        waiting: AtomicUsize::new(0),
        has_file: AtomicBool::new(false),
    });
    let mut requests = JoinSet::new();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut progress = (0, Instant::now());
    loop {
        tokio::select! {
            stream = serving.session.connection().accept_bi() => match stream {
                Ok((send, receive)) => {
                    let serving = Arc::clone(&serving);
                    requests.spawn(async move { serving.answer(send, receive).await });
                }
                Err(_) => return (serving.taken.load(Ordering::Relaxed), serving.has_file.load(Ordering::Relaxed)),
            },
            Some(_) = requests.join_next() => {}
            _ = tick.tick() => serving.look_after(&mut progress),
        }
    }
}

/// A chunk or a list that is being sent.
struct Sending<'a>(&'a Serving);

impl<'a> Sending<'a> {
    fn of(serving: &'a Serving) -> Self {
        serving.chunks.fetch_add(1, Ordering::Relaxed);
        if !serving.is_busy.swap(true, Ordering::Relaxed) {
            serving.share.busy.fetch_add(1, Ordering::Relaxed);
        }
        serving.limit();
        Self(serving)
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        *lock(&self.0.idle) = Instant::now();
        self.0.chunks.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.rest();
    }
}

impl Serving {
    /// Fits the send buffer to the paths, and disconnects a fetcher that reads nothing.
    fn look_after(&self, progress: &mut (u64, Instant)) {
        let groups = lock(&self.groups);
        if !groups.is_empty() {
            self.session.regroup_numbered(&groups);
        }
        // What was handed to the transport last may not have been sent yet.
        if self.chunks.load(Ordering::Relaxed) == 0 && lock(&self.idle).elapsed() > LINGER {
            self.rest();
        }
        self.limit();
        let taken = self.taken.load(Ordering::Relaxed);
        if taken != progress.0 || self.waiting.load(Ordering::Relaxed) == 0 {
            *progress = (taken, Instant::now());
        } else if progress.1.elapsed() > PATIENCE {
            self.session.close(1, "nothing was read for long");
        }
    }

    /// Counts this no longer among the connections that have something to send.
    fn rest(&self) {
        if self.is_busy.swap(false, Ordering::Relaxed) {
            self.share.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sends no more than the fetcher wants, and than the part of this connection.
    fn limit(&self) {
        let most = lock(&self.wanted).0.min(self.share.part().0);
        self.session.limit(&Ceiling::asked(Rate(most)));
        self.session.fit_send_window();
    }

    /// Reads a request and answers it.
    async fn answer(&self, mut send: SendStream, mut receive: RecvStream) {
        let request = match read_at_once(&mut receive).await {
            // A client of measurements begins with a longer length, which reads as an empty message here.
            Err(AskError::Empty) => {
                self.session.close(WRONG_SERVICE, "this is `anabranch share`");
                return;
            }
            request => request,
        };
        let Ok(request) = request else {
            let _ = timeout(PATIENCE, write(&mut send, &Answer::Refused(Refusal::Malformed))).await;
            return;
        };
        if self.carry_out(request, &mut send).await.is_err() {
            let _ = send.reset(VarInt::from_u32(0));
        }
    }

    /// Carries out a request, and sends the answer.
    async fn carry_out(&self, request: Request, send: &mut SendStream) -> Result<(), AskError> {
        let answer = match request {
            Request::Control { protocol } => self.choose(&protocol).map(|()| Answer::Done).map_err(Refusal::Control),
            Request::Groups { groups } if groups.len() > MOST_GROUPS => Err(Refusal::TooMuch),
            Request::Groups { groups } => {
                let mut known = lock(&self.groups);
                self.session.regroup_numbered(&groups);
                *known = groups;
                Ok(Answer::Done)
            }
            Request::Ceiling { bps } => {
                *lock(&self.wanted) = Rate(bps as f64);
                self.limit();
                Ok(Answer::Done)
            }
            Request::Look { name } => self.look(&name, send).await?,
            Request::Digests { root } => match self.file(root) {
                Ok(file) => return self.send(send, file.digests().list()).await,
                Err(refusal) => Err(refusal),
            },
            Request::Chunk { root, chunk } => match self.chunk(root, chunk) {
                Ok((file, offset, length)) => return self.send_chunk(send, file, offset, length).await,
                Err(refusal) => Err(refusal),
            },
            Request::List => match self.list().await {
                Ok(listing) => return self.send(send, &listing).await,
                Err(refusal) => Err(refusal),
            },
            Request::Have { root } => self.file(root).map(|_| {
                self.has_file.store(true, Ordering::Relaxed);
                Answer::Done
            }),
        };
        self.say(send, &answer.unwrap_or_else(Answer::Refused)).await
    }

    /// Sets the requested protocol, with its default parameters, which the fetcher cannot change.
    fn choose(&self, protocol: &str) -> Result<(), String> {
        let chosen = named(protocol).and_then(|protocol| self.session.group().choose(&protocol));
        chosen.map_err(|unsuited| short(&unsuited))
    }

    /// Finds a file, with signs of life while this takes long.
    async fn look(&self, name: &str, send: &mut SendStream) -> Result<Result<Answer, Refusal>, AskError> {
        let name: Name = match name.parse() {
            Ok(name) => name,
            Err(error) => return Ok(Err(Refusal::Name(short(&error)))),
        };
        let mut found = pin!(self.find(name));
        loop {
            match timeout(WORKING, &mut found).await {
                Ok(found) => return Ok(found),
                Err(_) => self.say(send, &Answer::Working).await?,
            }
        }
    }

    /// The listing of all files, when this has its turn.
    async fn list(&self) -> Result<Vec<u8>, Refusal> {
        let _turn = self.share.hashed.acquire().await.expect("nobody closes it");
        let share = Arc::clone(&self.share);
        let listed = spawn_blocking(move || share.files.list()).await.map_err(|_| Refusal::NotNow)??;
        listing::encode(&listed).map_err(|_| Refusal::TooManyFiles)
    }

    /// Finds a file, and reads it completely if its digests are not known.
    async fn find(&self, name: Name) -> Result<Answer, Refusal> {
        let share = Arc::clone(&self.share);
        let (known, name) =
            spawn_blocking(move || (share.files.find_known(&name), name)).await.map_err(|_| Refusal::NotNow)?;
        let found = match known? {
            Some(found) => found,
            None => self.share.hash(name).await?,
        };
        let (size, root) = (found.digests().size(), found.digests().root());
        let mut files = lock(&self.files);
        files.retain(|(other, _)| *other != root);
        if files.len() >= MOST_FILES {
            return Err(Refusal::TooMuch);
        }
        files.push((root, Arc::new(found)));
        Ok(Answer::Found { size, root })
    }

    /// A file that was requested before.
    fn file(&self, root: Root) -> Result<Arc<SharedFile>, Refusal> {
        let files = lock(&self.files);
        let file = files.iter().find(|(other, _)| *other == root).map(|(_, file)| Arc::clone(file));
        file.ok_or(Refusal::Unknown)
    }

    /// The file of a chunk, with the offset and the size of the chunk.
    fn chunk(&self, root: Root, chunk: u32) -> Result<(Arc<SharedFile>, u64, usize), Refusal> {
        let file = self.file(root)?;
        file.check()?;
        let (offset, length) = file.digests().extent(chunk).ok_or(Refusal::Unknown)?;
        Ok((file, offset, length))
    }

    /// Sends a chunk, after the chunks that were requested before it.
    async fn send_chunk(
        &self,
        send: &mut SendStream,
        file: Arc<SharedFile>,
        offset: u64,
        length: usize,
    ) -> Result<(), AskError> {
        let _sending = Sending::of(self);
        let _ = send.set_priority(self.order.fetch_sub(1, Ordering::Relaxed));
        self.say(send, &Answer::Follows).await?;
        for at in (0..length).step_by(PIECE) {
            let (file, length) = (Arc::clone(&file), PIECE.min(length - at));
            let read = spawn_blocking(move || {
                let mut bytes = vec![0; length];
                file.read(offset + at as u64, &mut bytes).map(|()| bytes)
            });
            // The fetcher detects missing data by the digest, or by the early end.
            let bytes = read.await.map_err(|_| AskError::Other)?.map_err(AskError::Refused)?;
            self.write(send, bytes.into()).await?;
        }
        Ok(())
    }

    /// Sends an answer and the data that follow it.
    async fn send(&self, send: &mut SendStream, bytes: &[u8]) -> Result<(), AskError> {
        let _sending = Sending::of(self);
        self.say(send, &Answer::Follows).await?;
        self.write(send, Bytes::copy_from_slice(bytes)).await
    }

    /// Sends an answer, which the fetcher must read.
    async fn say(&self, send: &mut SendStream, answer: &Answer) -> Result<(), AskError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let said = write(send, answer).await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        said
    }

    /// Writes as fast as the fetcher reads, without a copy.
    async fn write(&self, send: &mut SendStream, mut bytes: Bytes) -> Result<(), AskError> {
        while !bytes.is_empty() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            let written = send.write_many_chunks(&mut std::slice::from_mut(&mut bytes)).await;
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.taken.fetch_add(written? as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}
