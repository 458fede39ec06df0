//! The work of a fetch on a known file: its beginning, mirrors that join, requests for chunks, and its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anabranch_transfer::{Chunks, Schedule};
use tokio::task::spawn_blocking;

use super::disk::Disk;
use super::lane::{Offer, Order};
use super::proof::Expected;
use super::request::Proof;
use super::source::{self, Job};
use super::{Fetch, FetchError, Fetched, Link, Opened, SourceStanding, Store, Work};

/// The most bytes that are requested of a source at a time.
const MOST_ASKED: u64 = 64 << 20;

impl Fetch {
    /// The number of a source among those that are shown: all lanes to a mirror are one.
    pub(super) fn shown(&self, source: usize) -> usize {
        self.common.shown(source)
    }

    /// The lane of a source that is a mirror.
    fn lane(&self, source: usize) -> usize {
        source - self.sessions.len()
    }

    /// Sets the state of a source, unless it is refused, and shows that of its best lane.
    pub(super) fn stand(&mut self, source: usize, standing: SourceStanding) {
        if matches!(self.standings[source], SourceStanding::Refused(_)) {
            return;
        }
        self.standings[source] = standing;
        let shown = self.shown(source);
        let lanes = (0..self.standings.len()).filter(|&other| self.shown(other) == shown);
        let best = lanes.map(|other| &self.standings[other]).min_by_key(|standing| match standing {
            SourceStanding::Sending => 0,
            SourceStanding::Waiting => 1,
            SourceStanding::Preparing => 2,
            SourceStanding::Awaited => 3,
            SourceStanding::Lost(_) => 4,
            SourceStanding::Refused(_) => 5,
        });
        self.progress.stands(shown, best.expect("a source has a lane").clone());
    }

    /// Shows for how long each source has been silent: as long as the lane that sent last.
    pub(super) fn show_silences(&self) {
        let mut least: Vec<Option<Duration>> = Vec::new();
        for source in 0..self.links.len() {
            let shown = self.shown(source);
            least.resize(least.len().max(shown + 1), None);
            let silence = if self.is_asked(source) { self.received[source].2.elapsed() } else { continue };
            least[shown] = Some(least[shown].map_or(silence, |other| other.min(silence)));
        }
        for (shown, silence) in least.into_iter().enumerate() {
            self.progress.silent(shown, silence.unwrap_or_default());
        }
    }

    /// Records that a lane to a mirror is closed.
    pub(super) fn on_lane_lost(&mut self, source: usize) {
        let lane = self.lane(source);
        self.offers[lane] = None;
        self.mirrors.on_lost(lane);
        self.progress.lane(self.shown(source), self.paths[lane], None);
    }

    /// Records what a mirror offers.
    pub(super) async fn on_offered(&mut self, source: usize, offer: Offer) -> Result<(), FetchError> {
        if self.refused[source].is_some() {
            return Ok(());
        }
        let lane = self.lane(source);
        self.mirrors.on_found(lane, offer.url.clone(), offer.facts.clone());
        self.progress.lane(self.shown(source), self.paths[lane], Some((&offer.label, offer.round_trip)));
        self.progress.takes_ranges(self.shown(source), offer.facts.takes_ranges);
        self.stand(source, SourceStanding::Waiting);
        if offer.facts.size.or(self.common.request.size).is_none() {
            self.refuse(source, "it does not say how large the file is".to_owned());
            return Ok(());
        }
        self.offers[lane] = Some(offer);
        self.admit(source).await
    }

    /// Decides on the file where there are mirrors alone, and begins.
    pub(super) async fn decide_on_mirrors(&mut self, is_up: bool) -> Result<(), FetchError> {
        if !self.mirrors.decide(is_up).map_err(|said| FetchError::MirrorsDisagree { said })? {
            return Ok(());
        }
        let size = self.mirrors.decided().expect("it is decided").size;
        let chunks = match &self.common.request.pieces {
            Some(pieces) => Chunks::of_pieces(size, pieces.clone())?,
            None => Chunks::unverified(size)?,
        };
        self.begin(chunks).await
    }

    /// Begins the work on the file, whose chunks are known now.
    pub(super) async fn begin(&mut self, chunks: Chunks) -> Result<(), FetchError> {
        let (target, request) = (self.common.request.target.clone(), &self.common.request);
        let expected = Expected { chunks: Arc::new(chunks), hashes: request.hashes.clone() };
        let chunks = Arc::clone(&expected.chunks);
        self.progress.begins(chunks.size());
        let known = expected.clone();
        let opened = spawn_blocking(move || Store::open(&target, known)).await.expect("the disk does not panic")?;
        let (disk, there) = match opened {
            Opened::Whole(hashes) => (Disk::whole(hashes), (0..chunks.len()).collect()),
            Opened::Part(store, there) => {
                if !there.is_empty() {
                    self.mirrors.remember(store.mirrors().to_vec());
                }
                (Disk::new(store, chunks.chunk_bytes()), there)
            }
        };
        let most_depth = (MOST_ASKED / chunks.chunk_bytes()).clamp(2, 64) as usize;
        let mut schedule = Schedule::new(chunks.len(), &there, chunks.chunk_bytes(), most_depth);
        for source in 0..self.links.len() {
            schedule.add();
            schedule.on_lost(source);
        }
        let was_there = there.iter().filter_map(|&chunk| chunks.extent(chunk)).map(|(_, bytes)| bytes as u64).sum();
        self.progress.was_there(was_there);
        self.work = Some(Work { expected, schedule, disk, was_there });
        // The verification of existing chunks may have taken long.
        self.last_good = Instant::now();
        if self.mirrors.decided().is_none() {
            self.mirrors.settle(chunks.size());
        }
        for source in self.sessions.len()..self.links.len() {
            self.admit(source).await?;
        }
        Ok(())
    }

    /// Lets a mirror take part, if the file is known and the mirror has it.
    async fn admit(&mut self, source: usize) -> Result<(), FetchError> {
        let lane = self.lane(source);
        let Some(work) = &mut self.work else { return Ok(()) };
        let Some(Offer { url, facts, orders, .. }) = self.offers[lane].take() else { return Ok(()) };
        let is_verified = work.expected.chunks.is_verified();
        if let Err(why) = self.mirrors.check(&url, &facts, is_verified) {
            self.refuse(source, why);
            return Ok(());
        }
        if self.mirrors.take(&url, &facts) && !is_verified {
            work.disk.note(url, facts).await?;
        }
        if !is_verified && self.mirrors.agree_in_size_alone() {
            self.progress.agree_in_size_alone();
        }
        work.schedule.on_return(source);
        self.links[source] = Some(Link::Mirror(orders));
        self.received[source].2 = Instant::now();
        self.stand(source, SourceStanding::Sending);
        Ok(())
    }

    /// Requests chunks of sources.
    pub(super) fn hand_out(&mut self) {
        let links = self.links.iter().cloned().enumerate();
        let links: Vec<(usize, Link)> = links.filter_map(|(source, link)| Some((source, link?))).collect();
        for (source, link) in links {
            match link {
                Link::Sharer(session) => self.ask_sharer(source, &session),
                Link::Mirror(orders) => {
                    let order = self.order(source);
                    // A lane that takes no order is about to report why.
                    if order.is_some_and(|order| orders.try_send(order).is_err()) {
                        self.on_lost(source);
                    }
                }
            }
        }
    }

    /// Requests chunks of a sharer, as many as keep its paths busy.
    fn ask_sharer(&mut self, source: usize, session: &crate::session::Session) {
        let now = self.now();
        let Some(work) = &mut self.work else { return };
        let received = self.received[source].0.load(Ordering::Relaxed);
        work.schedule.on_received(source, received, self.round_trips[source], now);
        while let Some(chunk) = work.schedule.next(source, now) {
            let job = Job {
                source,
                chunk,
                chunks: Arc::clone(&work.expected.chunks),
                received: Arc::clone(&self.received[source].0),
                events: self.common.events.clone(),
            };
            let transfer = self.transfers.spawn(source::bring(session.connection().clone(), job));
            self.under_way.insert((source, chunk), transfer);
        }
    }

    /// The chunks to request of a mirror now, if there are any.
    fn order(&mut self, source: usize) -> Option<Order> {
        let now = self.now();
        let work = self.work.as_mut()?;
        let is_whole = !self.mirrors.decided()?.is_in_parts;
        let wanted = if is_whole { work.schedule.all_left(source, now) } else { work.schedule.next_run(source, now) };
        let (chunks, received) = (Arc::clone(&work.expected.chunks), Arc::clone(&self.received[source].0));
        (!wanted.is_empty()).then_some(Order { wanted, chunks, is_whole, received })
    }

    /// Syncs the chunks that have arrived to the disk, and gives the file its name if it is whole.
    pub(super) async fn end(&mut self, outcome: Result<(), FetchError>) -> Result<Fetched, FetchError> {
        self.transfers.abort_all();
        self.progress.look();
        let Some(mut work) = self.work.take() else {
            return Err(outcome.expect_err("a fetch ends well only if it has begun"));
        };
        let ended = work.disk.end(outcome.is_ok()).await;
        outcome?;
        let Expected { chunks, hashes } = work.expected;
        let proof = match (chunks.tree(), chunks.is_verified()) {
            (Some(_), _) => Proof::Tree(hashes),
            (None, true) => Proof::Pieces(hashes),
            (None, false) if hashes.is_empty() => Proof::Nothing,
            (None, false) => Proof::Whole(hashes),
        };
        Ok(Fetched {
            hashes: ended?,
            proof,
            size: chunks.size(),
            was_there: work.was_there,
            brought: self.progress.all_brought(),
        })
    }
}
