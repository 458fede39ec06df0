//! Fetches of a file from several sources at once.
//!
//! A task for each source keeps a connection to it, and makes a new one when it is lost. One loop requests chunks as
//! the [`Schedule`] says, verifies those that arrive, and passes them to the disk. Whatever ends a fetch, the disk has
//! all verified chunks, so a repeated fetch continues from there.

mod agreement;
pub(crate) mod coupling;
mod disk;
mod place;
mod progress;
mod request;
mod source;
mod store;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anabranch_core::Time;
use anabranch_transfer::digests::chunk_bytes;
use anabranch_transfer::{Digests, Root, Schedule};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};

use self::agreement::Agreement;
use self::coupling::Sender;
use self::disk::Disk;
pub use self::progress::{Progress, SourceProgress, SourceStanding};
pub use self::request::{FetchError, FetchRequest, Fetched, Wanted};
use self::source::{Common, Event, Job, SILENCE};
pub use self::store::{Opened, Store, StoreError};
use crate::session::Session;

/// Time between assignments of chunks without events, since silence counts too.
const TURN: Duration = Duration::from_millis(100);

/// The longest wait at the end until sharers, connected or being connected, know that the file is complete.
const FAREWELL: Duration = Duration::from_secs(2);

/// The most bytes that are requested of a source at a time.
const MOST_ASKED: u64 = 64 << 20;

/// A running fetch.
struct Fetch {
    common: Arc<Common>,
    progress: Arc<Progress>,
    start: Instant,
    /// Decision which file the fetch is for.
    agreement: Agreement,
    /// Tasks that keep each source connected.
    keepers: Vec<AbortHandle>,
    /// Session with each source, while there is one, and the time since which it lasts.
    sessions: Vec<Option<(Arc<Session>, Instant)>>,
    /// Session with each source that has the file.
    connections: Vec<Option<Arc<Session>>>,
    /// Reason why each source was refused.
    refused: Vec<Option<String>>,
    /// For each source the counter of its bytes, its value at the last progress, and the time of that.
    received: Vec<(Arc<AtomicU64>, u64, Instant)>,
    /// Longest round trip of each source in seconds, as of the last turn.
    round_trips: Vec<f64>,
    /// Time of the last good chunk.
    last_good: Instant,
    /// Requested chunks, by source and number.
    under_way: HashMap<(usize, u32), AbortHandle>,
    transfers: JoinSet<()>,
    work: Option<Work>,
}

/// The work on a file whose digests are known.
struct Work {
    digests: Arc<Digests>,
    schedule: Schedule,
    disk: Disk,
    was_there: u64,
}

/// Fetches a file. If it is dropped, verified chunks stay on the disk.
///
/// # Errors
/// If no source has the file, sources have different files and no hash decides, no source can be reached, or the disk
/// fails.
pub async fn fetch(request: FetchRequest, progress: Arc<Progress>) -> Result<Fetched, FetchError> {
    request.check_groups()?;
    let given = request.hash()?;
    let is_coupled = request.protocol.capabilities().many_paths && request.sources.len() > 1;
    let (events, mut news) = mpsc::channel(64);
    let count = request.sources.len();
    let (believed, is_there) = (watch::Sender::new(given), watch::Sender::new(false));
    let common = Arc::new(Common { request, believed, digests: OnceLock::new(), is_there, events });
    let mut sources = JoinSet::new();
    let keepers = (0..count).map(|source| sources.spawn(source::keep(source, Arc::clone(&common)))).collect();
    let mut fetch = Fetch {
        common,
        progress,
        start: Instant::now(),
        agreement: Agreement::new(given, count),
        keepers,
        sessions: vec![None; count],
        connections: vec![None; count],
        refused: vec![None; count],
        received: (0..count).map(|_| (Arc::default(), 0, Instant::now())).collect(),
        round_trips: vec![0.0; count],
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
            // A source that is trusted by now may still send.
            _ = turn.tick() => fetch.decide().and_then(|()| fetch.check()),
            _ = exchange.tick(), if is_coupled => {
                fetch.tell_each();
                continue;
            }
            Some(_) = fetch.transfers.join_next() => Ok(()),
        };
        if let Err(error) = step.and_then(|()| fetch.decide()) {
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
                    // Sources that become ready now get no requests.
                    _ = news.recv() => {}
                }
            }
        };
        let _ = timeout(FAREWELL, told).await;
    }
    for (session, _) in fetch.sessions.iter().flatten() {
        session.close(0, "");
    }
    fetched
}

/// The longest round trip of the open paths in seconds, since a request may take any path.
fn round_trip(session: &Session) -> f64 {
    session.paths().iter().filter(|path| path.is_open).map(|path| path.rtt_s).fold(0.0, f64::max)
}

impl Fetch {
    /// The time of the schedule.
    fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX))
    }

    /// Processes an event of a source.
    async fn on_event(&mut self, event: Event) -> Result<(), FetchError> {
        match event {
            Event::Connected { source, session } => {
                self.on_connected(source, session);
                Ok(())
            }
            Event::Alive { source } => {
                self.last_good = Instant::now();
                self.progress.stands(source, SourceStanding::Preparing);
                Ok(())
            }
            Event::Found { source, root } => {
                self.last_good = Instant::now();
                self.progress.stands(source, SourceStanding::Waiting);
                let said = self.agreement.on_found(source, root);
                said.map_err(|said| self.disagree(said))
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

    /// Records the session of a source.
    fn on_connected(&mut self, source: usize, session: Arc<Session>) {
        // The source may have been connected again before it was refused.
        if self.refused[source].is_none() {
            self.agreement.reach(source, true);
            self.sessions[source] = Some((session, Instant::now()));
        }
    }

    /// The error for sources with different files where no hash decides.
    fn disagree(&self, said: Vec<(usize, Root)>) -> FetchError {
        let place = |(source, root): (usize, Root)| (self.common.request.sources[source].url.place(), root);
        FetchError::Disagree { said: said.into_iter().map(place).collect() }
    }

    /// Decides on the file, once all sources have reported their hashes or the patience is over.
    fn decide(&mut self) -> Result<(), FetchError> {
        let is_up = self.start.elapsed() > self.common.request.patience;
        let decided = self.agreement.decide(is_up).map_err(|said| self.disagree(said))?;
        if decided.is_some() {
            self.last_good = Instant::now();
            self.common.believed.send_replace(decided);
        }
        Ok(())
    }

    /// Sends each source the snapshots of the others.
    fn tell_each(&self) {
        let request = &self.common.request;
        let sources = request.sources.iter().enumerate();
        let senders = sources.map(|(source, wanted)| Sender {
            session: self.sessions[source].as_ref(),
            is_awaited: self.agreement.is_reached(source),
            paths: request.paths(),
            groups: &wanted.groups,
        });
        coupling::tell_each(&senders.collect::<Vec<_>>());
    }

    /// Records that a source has the file.
    async fn on_ready(
        &mut self,
        source: usize,
        session: Arc<Session>,
        digests: Arc<Digests>,
    ) -> Result<(), FetchError> {
        if self.refused[source].is_some() {
            // The source was connected again before it was refused.
            return Ok(());
        }
        if self.work.is_none() {
            self.begin(digests).await?;
        }
        let work = self.work.as_mut().expect("it has begun");
        work.schedule.on_return(source);
        self.progress.connected(source, &session);
        self.round_trips[source] = round_trip(&session);
        self.connections[source] = Some(session);
        self.received[source].2 = Instant::now();
        Ok(())
    }

    /// Begins the work on the file, whose digests are known now.
    async fn begin(&mut self, digests: Arc<Digests>) -> Result<(), FetchError> {
        let (target, known) = (self.common.request.target.clone(), Arc::clone(&digests));
        self.progress.begins(digests.size(), digests.root());
        let opened = spawn_blocking(move || Store::open(&target, &known)).await.expect("the disk does not panic")?;
        let (disk, there) = match opened {
            Opened::Whole => (Disk::none(), (0..digests.len()).collect()),
            Opened::Part(store, there) => (Disk::new(store, digests.size()), there),
        };
        let most_depth = (MOST_ASKED / chunk_bytes(digests.size())).clamp(2, 64) as usize;
        let mut schedule = Schedule::new(digests.len(), &there, chunk_bytes(digests.size()), most_depth);
        for source in 0..self.connections.len() {
            schedule.add();
            schedule.on_lost(source);
        }
        let was_there = there.iter().filter_map(|&chunk| digests.extent(chunk)).map(|(_, bytes)| bytes as u64).sum();
        self.progress.was_there(was_there);
        self.work = Some(Work { digests, schedule, disk, was_there });
        // The verification of existing chunks may have taken long.
        self.last_good = Instant::now();
        Ok(())
    }

    /// Ends the connection to a source, which is then connected again.
    fn cut_off(&mut self, source: usize) {
        if let Some((session, _)) = &self.sessions[source] {
            session.close(0, "");
        }
        self.on_lost(source);
    }

    /// Withdraws the requests to a source that was lost.
    fn on_lost(&mut self, source: usize) {
        (self.sessions[source], self.connections[source]) = (None, None);
        self.agreement.reach(source, false);
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

    /// Refuses a source, which gets no more requests.
    fn refuse(&mut self, source: usize, why: String) {
        self.keepers[source].abort();
        self.cut_off(source);
        self.progress.stands(source, SourceStanding::Refused(why.clone()));
        self.refused[source] = Some(why);
    }

    /// Processes a chunk that has arrived.
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

    /// Disconnects silent sources; an error if no source can be expected to send.
    fn check(&mut self) -> Result<(), FetchError> {
        for source in 0..self.connections.len() {
            self.check_silence(source);
            if let Some(session) = &self.connections[source] {
                self.round_trips[source] = round_trip(session);
            }
        }
        let patience = self.common.request.patience;
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

    /// Disconnects a source that has sent nothing of a requested chunk for long.
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

    /// Requests chunks of sources.
    fn hand_out(&mut self) {
        let now = self.now();
        let Some(work) = &mut self.work else { return };
        for (source, connection) in self.connections.iter().enumerate() {
            let Some(connection) = connection else { continue };
            let received = self.received[source].0.load(Ordering::Relaxed);
            work.schedule.on_received(source, received, self.round_trips[source], now);
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

    /// Syncs the chunks that have arrived to the disk, and gives the file its name if it is whole.
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
