//! Fetching a file from several sources at once.
//!
//! A task for each source keeps a connection to it, and makes a new one when it is lost. One loop asks them for chunks as
//! the [`Schedule`] says, verifies what comes, and hands it to the disk. Whatever ends it, the disk has all that was
//! verified, so that the same fetch goes on from there.

mod coupling;
mod disk;
mod progress;
mod source;
mod store;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anabranch_core::Time;
use anabranch_transfer::digests::chunk_bytes;
use anabranch_transfer::{Digests, Name, Root, Schedule};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};

use self::disk::Disk;
pub use self::progress::{Progress, SourceProgress, SourceStanding};
use self::source::{Common, Event, Job, SILENCE};
pub use self::store::{Opened, Store, StoreError};
use crate::control::{Unsuited, named};
use crate::session::Session;
use crate::url::Url;

/// How often chunks are handed out though nothing happens: silence counts too.
const TURN: Duration = Duration::from_millis(100);

/// How long sharers may take to hear that the file is there: those that are being reached too.
const FAREWELL: Duration = Duration::from_secs(2);

/// The most bytes that are asked of a source at a time.
const MOST_ASKED: u64 = 64 << 20;

/// Where a file is to be fetched from.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The sharer.
    pub url: Url,
    /// What the file is called there.
    pub name: Name,
    /// Which of the paths to all sources share links, by a number for each path to this one; empty if it is not known.
    pub groups: Vec<u32>,
}

/// What is to be fetched.
#[derive(Clone, Debug)]
pub struct Order {
    /// From where, from all of these at once.
    pub sources: Vec<Wanted>,
    /// A file of certificates that those of the sharers are signed by, instead of fingerprints in the URLs.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces, a path over each; none for what the system chooses.
    pub via: Vec<String>,
    /// The name of the protocol that controls the sharers' paths.
    pub control: String,
    /// Where the file is to be.
    pub target: PathBuf,
    /// The hash that it has to have; `None` to believe the first sharer that has it.
    pub hash: Option<Root>,
    /// How long no sharer may be reached before the fetch is given up.
    pub patience: Duration,
}

/// A file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its hash.
    pub root: Root,
    /// Its bytes.
    pub size: u64,
    /// How many of them were there before.
    pub was_there: u64,
    /// For each source how many bytes it brought.
    pub brought: Vec<u64>,
}

/// Why a file was not fetched. What was verified is on the disk; the same fetch goes on from there.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum FetchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    #[error("no source has it: {0}")]
    Refused(String),
    #[error("no source was reached for {} s: {why}; fetch it again to go on", patience.as_secs())]
    Unreachable { patience: Duration, why: String },
}

/// A fetch that is going on.
struct Fetch {
    common: Arc<Common>,
    progress: Arc<Progress>,
    start: Instant,
    /// For each source what keeps it connected.
    keepers: Vec<AbortHandle>,
    /// For each source its connection, while it has one and the file.
    connections: Vec<Option<Arc<Session>>>,
    /// For each source why it is out of the question.
    refused: Vec<Option<String>>,
    /// For each source how many bytes have come of it; how many had, and since when.
    received: Vec<(Arc<AtomicU64>, u64, Instant)>,
    /// When something came last that was good.
    last_good: Instant,
    /// Chunks that are under way, by source and number.
    under_way: HashMap<(usize, u32), AbortHandle>,
    transfers: JoinSet<()>,
    work: Option<Work>,
}

/// What there is to do once it is known what the file consists of.
struct Work {
    digests: Arc<Digests>,
    schedule: Schedule,
    disk: Disk,
    was_there: u64,
}

/// Fetches a file. If it is dropped, what was verified stays on the disk.
///
/// # Errors
/// If no source has it, none can be reached, or the disk refuses.
pub async fn fetch(order: Order, progress: Arc<Progress>) -> Result<Fetched, FetchError> {
    let is_coupled = named(&order.control)?.terms().many_paths && order.sources.len() > 1;
    let (events, mut news) = mpsc::channel(64);
    let count = order.sources.len();
    let common = Arc::new(Common { order, digests: OnceLock::new(), is_there: watch::Sender::new(false), events });
    let mut sources = JoinSet::new();
    let keepers = (0..count).map(|source| sources.spawn(source::keep(source, Arc::clone(&common)))).collect();
    let mut fetch = Fetch {
        common,
        progress,
        start: Instant::now(),
        keepers,
        connections: vec![None; count],
        refused: vec![None; count],
        received: (0..count).map(|_| (Arc::default(), 0, Instant::now())).collect(),
        last_good: Instant::now(),
        under_way: HashMap::new(),
        transfers: JoinSet::new(),
        work: None,
    };
    let (mut turn, mut exchange) = (interval(TURN), interval(coupling::PERIOD));
    turn.set_missed_tick_behavior(MissedTickBehavior::Skip);
    exchange.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let outcome = loop {
        let step = tokio::select! {
            event = news.recv() => fetch.on_event(event.expect("the fetch itself holds a sender")).await,
            _ = turn.tick() => fetch.check(),
            _ = exchange.tick(), if is_coupled => {
                coupling::tell_each(&fetch.connections, &fetch.common.order.sources);
                continue;
            }
            Some(_) = fetch.transfers.join_next() => Ok(()),
        };
        if let Err(error) = step {
            break Err(error);
        }
        if fetch.work.as_ref().is_some_and(|work| work.schedule.is_done()) {
            break Ok(());
        }
        fetch.hand_out();
    };
    let fetched = fetch.end(outcome).await;
    if fetched.is_ok() {
        fetch.common.is_there.send_replace(true);
        let told = async {
            loop {
                tokio::select! {
                    source = sources.join_next() => if source.is_none() { break },
                    // Nothing more is asked of who is ready only now.
                    _ = news.recv() => {}
                }
            }
        };
        let _ = timeout(FAREWELL, told).await;
    }
    for connection in fetch.connections.iter().flatten() {
        connection.close(0, "");
    }
    fetched
}

impl Fetch {
    /// The time of the schedule.
    fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX))
    }

    /// Something was heard of a source.
    async fn on_event(&mut self, event: Event) -> Result<(), FetchError> {
        match event {
            Event::Alive { source } => {
                self.last_good = Instant::now();
                self.progress.stands(source, SourceStanding::Preparing);
                Ok(())
            }
            Event::Ready { source, session, digests } => self.on_ready(source, session, digests).await,
            Event::Lost { source, why } => {
                self.on_lost(source);
                self.progress.stands(source, SourceStanding::Lost(why));
                Ok(())
            }
            Event::Refused { source, why } => {
                self.refuse(source, why);
                Ok(())
            }
            Event::Arrived { source, chunk, bytes } => self.on_arrival(source, chunk, bytes).await,
            Event::Failed { source, chunk } => {
                if self.under_way.remove(&(source, chunk)).is_some() {
                    self.cut_off(source);
                }
                Ok(())
            }
        }
    }

    /// A source has the file.
    async fn on_ready(
        &mut self,
        source: usize,
        session: Arc<Session>,
        digests: Arc<Digests>,
    ) -> Result<(), FetchError> {
        if self.refused[source].is_some() {
            // It was reached again before it was found to be out of the question.
            return Ok(());
        }
        if self.work.is_none() {
            self.begin(digests).await?;
        }
        let work = self.work.as_mut().expect("it has begun");
        work.schedule.on_return(source);
        self.progress.connected(source, &session);
        self.connections[source] = Some(session);
        self.received[source].2 = Instant::now();
        Ok(())
    }

    /// It is known what the file consists of.
    async fn begin(&mut self, digests: Arc<Digests>) -> Result<(), FetchError> {
        let (target, known) = (self.common.order.target.clone(), Arc::clone(&digests));
        self.progress.begins(digests.size(), digests.root());
        let opened = spawn_blocking(move || Store::open(&target, &known)).await.expect("the disk does not panic")?;
        let (disk, there) = match opened {
            Opened::Whole => (Disk::none(), (0..digests.len()).collect()),
            Opened::Part(store, there) => (Disk::new(store, digests.size()), there),
        };
        let most_depth = (MOST_ASKED / chunk_bytes(digests.size())).clamp(2, 64) as usize;
        let mut schedule = Schedule::new(digests.len(), &there, most_depth);
        for source in 0..self.connections.len() {
            schedule.add();
            schedule.on_lost(source);
        }
        let was_there = there.iter().filter_map(|&chunk| digests.extent(chunk)).map(|(_, bytes)| bytes as u64).sum();
        self.progress.was_there(was_there);
        self.work = Some(Work { digests, schedule, disk, was_there });
        // It may have taken long to verify what was there.
        self.last_good = Instant::now();
        Ok(())
    }

    /// Ends the connection to a source; it is reached for again.
    fn cut_off(&mut self, source: usize) {
        if let Some(connection) = &self.connections[source] {
            connection.close(0, "");
        }
        self.on_lost(source);
    }

    /// A source cannot be asked for now.
    fn on_lost(&mut self, source: usize) {
        self.connections[source] = None;
        if let Some(work) = &mut self.work {
            work.schedule.on_lost(source);
        }
        self.under_way.retain(|&(of, _), transfer| {
            if of == source {
                transfer.abort();
            }
            of != source
        });
    }

    /// A source is not asked again.
    fn refuse(&mut self, source: usize, why: String) {
        self.keepers[source].abort();
        self.cut_off(source);
        self.progress.stands(source, SourceStanding::Refused(why.clone()));
        self.refused[source] = Some(why);
    }

    /// What was sent for a chunk has come.
    async fn on_arrival(&mut self, source: usize, chunk: u32, bytes: Option<Vec<u8>>) -> Result<(), FetchError> {
        self.under_way.remove(&(source, chunk));
        let Some(bytes) = bytes else {
            self.refuse(source, format!("it sent something else for chunk {chunk}"));
            return Ok(());
        };
        let now = self.now();
        let Some(work) = &mut self.work else { return Ok(()) };
        let (is_new, superfluous) = work.schedule.on_arrival(source, chunk, now);
        for other in superfluous {
            if let Some(transfer) = self.under_way.remove(&(other, chunk)) {
                transfer.abort();
            }
        }
        if is_new {
            self.last_good = Instant::now();
            let (offset, _) = work.digests.extent(chunk).expect("it was asked for");
            self.progress.brought(source, bytes.len() as u64);
            work.disk.write(chunk, offset, bytes).await?;
        }
        Ok(())
    }

    /// Cuts off who has sent nothing for long, and says whether there is still hope.
    fn check(&mut self) -> Result<(), FetchError> {
        for source in 0..self.connections.len() {
            self.check_silence(source);
        }
        let patience = self.common.order.patience;
        let why = || self.progress.reasons();
        if self.refused.iter().all(Option::is_some) {
            return Err(FetchError::Refused(why()));
        }
        let is_alone = self.connections.iter().all(Option::is_none);
        if is_alone && self.last_good.elapsed() > patience {
            return Err(FetchError::Unreachable { patience, why: why() });
        }
        Ok(())
    }

    /// Cuts off a source that was asked for something and has sent nothing for long.
    fn check_silence(&mut self, source: usize) {
        let is_asked = self.work.as_ref().is_some_and(|work| work.schedule.is_asked(source));
        let (received, had, since) = &mut self.received[source];
        let has = received.load(Ordering::Relaxed);
        if !is_asked || has != *had {
            (*had, *since) = (has, Instant::now());
        } else if since.elapsed() > SILENCE {
            self.cut_off(source);
        }
    }

    /// Asks sources for chunks.
    fn hand_out(&mut self) {
        let now = self.now();
        let Some(work) = &mut self.work else { return };
        for (source, connection) in self.connections.iter().enumerate() {
            let Some(connection) = connection else { continue };
            while let Some(chunk) = work.schedule.next(source, now) {
                let job = Job {
                    source,
                    chunk,
                    digests: Arc::clone(&work.digests),
                    received: Arc::clone(&self.received[source].0),
                    events: self.common.events.clone(),
                };
                let transfer = self.transfers.spawn(source::bring(connection.connection().clone(), job));
                self.under_way.insert((source, chunk), transfer);
            }
        }
    }

    /// Brings to the disk what has come, and gives the file its name if it is whole.
    async fn end(&mut self, outcome: Result<(), FetchError>) -> Result<Fetched, FetchError> {
        self.transfers.abort_all();
        self.progress.look();
        let Some(mut work) = self.work.take() else {
            return Err(outcome.expect_err("a fetch ends well only if it has begun"));
        };
        let ended = work.disk.end(outcome.is_ok()).await;
        outcome?;
        ended?;
        Ok(Fetched {
            root: work.digests.root(),
            size: work.digests.size(),
            was_there: work.was_there,
            brought: self.progress.all_brought(),
        })
    }
}
