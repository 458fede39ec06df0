//! Fetching a file from several sources at once.
//!
//! A task for each source keeps a connection to it, and makes a new one when it is lost. One loop asks them for chunks as
//! the [`Schedule`] says, verifies what comes, and hands it to the disk. Whatever ends it, the disk has all that was
//! verified, so that the same fetch goes on from there.

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

/// How often chunks are handed out though nothing happens: silence counts too.
const TURN: Duration = Duration::from_millis(100);

/// How long sharers may take to hear that the file is there: those that are being reached too.
const FAREWELL: Duration = Duration::from_secs(2);

/// The most bytes that are asked of a source at a time.
const MOST_ASKED: u64 = 64 << 20;

/// A fetch that is going on.
struct Fetch {
    common: Arc<Common>,
    progress: Arc<Progress>,
    start: Instant,
    /// Which file it is.
    agreement: Agreement,
    /// For each source what keeps it connected.
    keepers: Vec<AbortHandle>,
    /// For each source its connection, while it has one, and since when.
    sessions: Vec<Option<(Arc<Session>, Instant)>>,
    /// For each source its connection, if it has the file.
    connections: Vec<Option<Arc<Session>>>,
    /// For each source why it is out of the question.
    refused: Vec<Option<String>>,
    /// For each source how many bytes have come of it; how many had, and since when.
    received: Vec<(Arc<AtomicU64>, u64, Instant)>,
    /// For each source its longest round trip in seconds, as of the last turn.
    round_trips: Vec<f64>,
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
/// If no source has it, sources have different files and no hash says which it is to be, none can be reached, or the disk
/// refuses.
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
            // A source that can be believed by now is some hope.
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
                    // Nothing more is asked of who is ready only now.
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

/// The longest round trip of the paths that are open, in seconds: a request may take any of them.
fn round_trip(session: &Session) -> f64 {
    session.paths().iter().filter(|path| path.is_open).map(|path| path.rtt_s).fold(0.0, f64::max)
}

impl Fetch {
    /// The time of the schedule.
    fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX))
    }

    /// Something was heard of a source.
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

    /// A source is connected.
    fn on_connected(&mut self, source: usize, session: Arc<Session>) {
        // It may have been reached again before it was found to be out of the question.
        if self.refused[source].is_none() {
            self.agreement.reach(source, true);
            self.sessions[source] = Some((session, Instant::now()));
        }
    }

    /// Sources have different files, and nothing says which is wanted.
    fn disagree(&self, said: Vec<(usize, Root)>) -> FetchError {
        let place = |(source, root): (usize, Root)| (self.common.request.sources[source].url.place(), root);
        FetchError::Disagree { said: said.into_iter().map(place).collect() }
    }

    /// Believes what sources say, once all have said what they have or the patience is over.
    fn decide(&mut self) -> Result<(), FetchError> {
        let is_up = self.start.elapsed() > self.common.request.patience;
        let decided = self.agreement.decide(is_up).map_err(|said| self.disagree(said))?;
        if decided.is_some() {
            self.last_good = Instant::now();
            self.common.believed.send_replace(decided);
        }
        Ok(())
    }

    /// Tells each source how the subflows of the others stand.
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
        self.round_trips[source] = round_trip(&session);
        self.connections[source] = Some(session);
        self.received[source].2 = Instant::now();
        Ok(())
    }

    /// It is known what the file consists of.
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
        // It may have taken long to verify what was there.
        self.last_good = Instant::now();
        Ok(())
    }

    /// Ends the connection to a source; it is reached for again.
    fn cut_off(&mut self, source: usize) {
        if let Some((session, _)) = &self.sessions[source] {
            session.close(0, "");
        }
        self.on_lost(source);
    }

    /// A source cannot be requested from now.
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

    /// Cuts off a source that has sent nothing of a requested chunk for long.
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
