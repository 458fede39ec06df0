//! Fetches of a file from several sources at once.
//!
//! A task for each source keeps a connection to it, and makes a new one when it is lost. A source is a sharer, or a mirror
//! over one interface: a mirror counts once for each interface. One loop requests chunks as
//! the [`Schedule`] says, verifies those that arrive, and passes them to the disk. Whatever ends a fetch, the disk has
//! all verified chunks, so a repeated fetch continues from there.

mod agreement;
pub(crate) mod coupling;
mod disk;
mod lane;
mod listing;
mod mirrors;
mod place;
mod progress;
mod proof;
mod request;
mod source;
mod start;
mod store;
mod validators;
mod work;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anabranch_core::Time;
use anabranch_transfer::{Chunks, Digests, Root, Schedule};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, timeout};

use self::agreement::Agreement;
use self::coupling::Sender;
use self::disk::Disk;
use self::lane::{Offer, Order};
pub use self::listing::{ListError, list};
use self::mirrors::Mirrors;
pub use self::progress::{PathProgress, Progress, SourceProgress, SourceStanding};
pub use self::proof::Expected;
pub use self::request::{FetchError, FetchRequest, Fetched, Proof, Wanted};
use self::source::{Common, Event, SILENCE};
pub use self::store::{Opened, Store, StoreError};
use crate::session::Session;

/// Time between assignments of chunks without events, since silence counts too.
const TURN: Duration = Duration::from_millis(100);

/// The longest wait at the end until sharers, connected or being connected, know that the file is complete.
const FAREWELL: Duration = Duration::from_secs(2);

/// Events that wait; each may hold a chunk.
const MOST_EVENTS: usize = 16;

/// Where chunks are requested of a source.
#[derive(Clone)]
enum Link {
    Sharer(Arc<Session>),
    Mirror(mpsc::Sender<Order>),
}

/// A running fetch.
struct Fetch {
    common: Arc<Common>,
    progress: Arc<Progress>,
    start: Instant,
    /// Decision which file the fetch is for, among sharers.
    agreement: Agreement,
    /// Decision which file mirrors have, and which may take part.
    mirrors: Mirrors,
    /// What each mirror offers that does not take part yet.
    offers: Vec<Option<Offer>>,
    /// Number of each lane among the paths of its mirror.
    paths: Vec<usize>,
    /// Tasks that keep each source connected.
    keepers: Vec<AbortHandle>,
    /// Session with each sharer, while there is one, and the time since which it lasts.
    sessions: Vec<Option<(Arc<Session>, Instant)>>,
    /// Link to each source that has the file.
    links: Vec<Option<Link>>,
    /// State of each source.
    standings: Vec<SourceStanding>,
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

/// The work on a file whose chunks are known.
struct Work {
    expected: Expected,
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
    request.check()?;
    let is_coupled = request.protocol.capabilities().is_joint() && request.sources.len() > 1;
    let (events, mut news) = mpsc::channel(MOST_EVENTS);
    let mut sources = JoinSet::new();
    let mut fetch = Fetch::start(request, progress, events, &mut sources)?;
    let (mut turn, mut exchange) = (interval(TURN), interval(coupling::PERIOD));
    turn.set_missed_tick_behavior(MissedTickBehavior::Skip);
    exchange.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let outcome = loop {
        let step = tokio::select! {
            event = news.recv() => fetch.on_event(event.expect("the fetch itself holds a sender")).await,
            // A source that is trusted by now may still send.
            // A decision that was only waiting for the patience to end comes first: the check would give up at that time.
            _ = turn.tick() => fetch.decide().await.and_then(|()| fetch.check()),
            _ = exchange.tick(), if is_coupled => {
                fetch.tell_each();
                continue;
            }
            Some(_) = fetch.transfers.join_next() => Ok(()),
        };
        let step = match step {
            Ok(()) => fetch.decide().await,
            Err(error) => Err(error),
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
                self.stand(source, SourceStanding::Preparing);
                Ok(())
            }
            Event::Found { source, root } => {
                self.last_good = Instant::now();
                self.stand(source, SourceStanding::Waiting);
                let said = self.agreement.on_found(source, root);
                said.map_err(|said| self.disagree(said))
            }
            Event::Ready { source, session, digests } => self.on_ready(source, session, digests).await,
            Event::Offered { source, offer } => self.on_offered(source, *offer).await,
            Event::Lost { source, why } => {
                self.on_lost(source);
                self.stand(source, SourceStanding::Lost(why));
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

    /// Decides on the file, once all sources have reported what they have or the patience is over. Where there are
    /// sharers, their hashes decide.
    async fn decide(&mut self) -> Result<(), FetchError> {
        let is_up = self.start.elapsed() > self.common.request.patience;
        if self.common.request.sources.is_empty() {
            return self.decide_on_mirrors(is_up).await;
        }
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
            groups: wanted.conditions.borrow().groups.clone(),
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
            self.begin(Chunks::from(digests)).await?;
        }
        let work = self.work.as_mut().expect("it has begun");
        work.schedule.on_return(source);
        self.progress.connected(source, &session);
        self.stand(source, SourceStanding::Sending);
        self.round_trips[source] = round_trip(&session);
        self.links[source] = Some(Link::Sharer(session));
        self.received[source].2 = Instant::now();
        Ok(())
    }

    /// Ends the connection to a source, which is then connected again.
    fn cut_off(&mut self, source: usize) {
        if let Some(Some((session, _))) = self.sessions.get(source) {
            session.close(0, "");
        }
        self.on_lost(source);
    }

    /// Withdraws the requests to a source that was lost.
    fn on_lost(&mut self, source: usize) {
        let was_ready = self.links[source].take().is_some();
        if let Some(session) = self.sessions.get_mut(source) {
            *session = None;
            self.agreement.reach(source, false);
        } else {
            self.on_lane_lost(source);
        }
        if was_ready {
            self.progress.lost(self.shown(source));
        }
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
        self.refused[source] = Some(why.clone());
        self.stand(source, SourceStanding::Refused(why));
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
            let (offset, _) = work.expected.chunks.extent(chunk).expect("it was asked for");
            let shown = self.common.shown(source);
            self.progress.brought(shown, bytes.len() as u64);
            work.disk.write(chunk, offset, bytes).await?;
        }
        Ok(())
    }

    /// Disconnects silent sources; an error if no source can be expected to send.
    fn check(&mut self) -> Result<(), FetchError> {
        for source in 0..self.links.len() {
            self.check_silence(source);
            if let Some(Link::Sharer(session)) = &self.links[source] {
                self.round_trips[source] = round_trip(session);
            }
        }
        self.show_silences();
        let patience = self.common.request.patience;
        let why = || self.progress.reasons();
        if self.refused.iter().all(Option::is_some) {
            return Err(FetchError::Refused(why()));
        }
        let is_alone = self.links.iter().all(Option::is_none);
        if is_alone && self.last_good.elapsed() > patience {
            return Err(FetchError::Unreachable { patience, why: why(), has_some: self.progress.has_some() });
        }
        Ok(())
    }

    /// Whether chunks are requested of a source.
    fn is_asked(&self, source: usize) -> bool {
        self.work.as_ref().is_some_and(|work| work.schedule.is_asked(source))
    }

    /// Disconnects a source that has sent nothing of a requested chunk for long.
    fn check_silence(&mut self, source: usize) {
        let is_asked = self.is_asked(source);
        let (received, had, since) = &mut self.received[source];
        let has = received.load(Ordering::Relaxed);
        if !is_asked || has != *had {
            (*had, *since) = (has, Instant::now());
        } else if since.elapsed() > SILENCE {
            self.cut_off(source);
        }
    }
}
