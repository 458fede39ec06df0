//! A connection of a live run, from its beginning to its end.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::{ConnectionId, Rate, Time};
use anabranch_plan::Plan;
use anabranch_proto::protocols::Capabilities;
use tokio::task::JoinSet;

use super::capacities::{known, next_change};
use super::rates::Rates;
use super::relay::{Inlet, RelayEnd};
use super::token_bucket::{PIECE, TokenBucket};
use super::unsupported::changes;
use super::{OUTER, PORT};
use crate::agents::Application;
use crate::control::{Group, PathState};
use crate::paths::AddressPair;
use crate::quic_config::QuicConfig;
use crate::security::Trust;
use crate::session::{Client, Server, Session};

/// Number of streams for data; each has at most some megabytes in flight.
const STREAMS: usize = 8;

/// Least and greatest number of bytes that QUIC needs in a packet: its header, the tag of its cipher, the heads of
/// frames.
const INNER: (u64, u64) = (30, 40);

/// Time between updates of a connection.
const TICK: Duration = Duration::from_millis(20);

/// Time between updates of a connection with granted rates, since capacity that it must release may be granted to
/// others already.
const RATES_TICK: Duration = Duration::from_millis(5);

/// A time that has not come.
const UNSET: u64 = u64::MAX;

/// The totals of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionTotal {
    /// Time in seconds when all data had arrived or the connection was stopped; infinite otherwise.
    pub finished_s: f64,
    /// Bytes of data that arrived, without any headers.
    pub data_bytes: u64,
}

/// State of a connection that is visible outside of its task.
pub(super) struct Status {
    start: Time,
    session: OnceLock<Session>,
    /// Time when all data had arrived or the connection was stopped.
    finished: AtomicU64,
    failure: Mutex<Option<String>>,
    /// Bytes of data that arrived.
    data: AtomicU64,
}

impl Status {
    pub fn new(start: Time) -> Self {
        let (session, failure) = (OnceLock::new(), Mutex::new(None));
        Self { start, session, finished: AtomicU64::new(UNSET), failure, data: AtomicU64::new(0) }
    }

    /// The reason why the connection failed; `None` if it did not.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The state of each path; empty while the connection does not exist.
    pub fn states(&self, time: Time) -> Vec<Option<PathState>> {
        let is_there = self.start <= time && self.finished.load(Ordering::Relaxed) == UNSET;
        self.session.get().filter(|_| is_there).map(Session::states).unwrap_or_default()
    }

    pub fn total(&self) -> ConnectionTotal {
        let finished = self.finished.load(Ordering::Relaxed);
        let finished_s = if finished == UNSET { f64::INFINITY } else { Time(finished).seconds() };
        ConnectionTotal { finished_s, data_bytes: self.data.load(Ordering::Relaxed) }
    }
}

/// All inputs of a connection's task.
pub(super) struct Course {
    pub plan: Arc<Plan>,
    pub id: ConnectionId,
    /// Beginning of the run.
    pub start: Instant,
    pub client: Client,
    pub server: Server,
    /// Addresses of each path.
    pub ends: Vec<(IpAddr, IpAddr)>,
    pub trust: Trust,
    pub group: Arc<Group>,
    /// Application that asks for rates; `None` if the connection keeps windows.
    pub application: Option<Arc<Application>>,
    pub quic_config: QuicConfig,
    /// Size of packets, all headers included.
    pub packet: u64,
    pub status: Arc<Status>,
    /// Relay whose data the connection sends, if it begins at one.
    pub source: Option<Arc<RelayEnd>>,
    /// Inlet of the relay at which the connection ends, if it does.
    pub sink: Option<Arc<Inlet>>,
}

/// Data bytes that a packet of `packet` bytes carries at least.
pub(super) fn data_of(packet: u64) -> u64 {
    packet - OUTER - INNER.1
}

/// Runs a connection from its beginning to its end.
pub(super) async fn drive(course: Course) {
    let connection = &course.plan.demands.connections()[course.id.index()];
    course.until(connection.start).await;
    let stop = async {
        match connection.stop {
            Some(stop) => course.until(stop).await,
            None => std::future::pending().await,
        }
    };
    let finished = tokio::select! {
        done = course.run() => done.map(|()| course.now()),
        () = stop => Ok(connection.stop.unwrap_or_default()),
    };
    if let Some(inlet) = &course.sink {
        inlet.end();
    }
    match finished {
        Ok(time) => course.status.finished.store(time.0, Ordering::Relaxed),
        Err(reason) => *course.status.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason),
    }
    if let Some(session) = course.status.session.get() {
        session.close(0, "");
    }
}

impl Course {
    fn now(&self) -> Time {
        Time::from_seconds(self.start.elapsed().as_secs_f64()).unwrap_or_default()
    }

    async fn until(&self, time: Time) {
        tokio::time::sleep_until((self.start + Duration::from_secs_f64(time.seconds())).into()).await;
    }

    /// Connects, and sends until all data have arrived.
    async fn run(&self) -> Result<(), String> {
        let rates = self.application.clone().map(|application| Rates::ask(application, &self.plan, self.id));
        let now = self.plan.demands.connections()[self.id.index()].start;
        let pairs = self.ends.iter().enumerate().map(|(path, &(from, to))| AddressPair {
            local: Some(from),
            remote: (to, PORT).into(),
            is_wanted: self.plan.is_usable(self.id, path, now),
        });
        let (group, quic_config) = (self.group.clone(), self.quic_config);
        let connect = self.client.connect_with_config("anabranch", pairs.collect(), &self.trust, group, quic_config);
        let accept = async {
            match self.server.next().await {
                Some(arrival) => arrival.accept_with_config(quic_config).await.map_err(said),
                None => Err("its target is gone".to_owned()),
            }
        };
        let (mine, mut theirs) = tokio::try_join!(async { connect.await.map_err(said) }, accept)?;
        match &self.sink {
            Some(inlet) => theirs.guide(inlet.guidance()),
            None if self.capabilities().is_scalable() => theirs.tell_marks(),
            None => {}
        }
        let mine = self.status.session.get_or_init(|| mine);
        let tokens = Arc::new(self.tokens());
        tokio::select! {
            done = async { tokio::try_join!(self.send(mine, &tokens), self.receive(&theirs)) } => done.map(drop),
            never = self.look_after(mine, &tokens, rates.as_ref()) => never,
            never = self.guide(&theirs) => never,
        }
    }

    /// Sends the data of the source or of a relay.
    async fn send(&self, mine: &Session, tokens: &Arc<TokenBucket>) -> Result<(), String> {
        let Some(relay) = &self.source else { return send(mine, tokens).await };
        let mut streams = JoinSet::new();
        for _ in 0..STREAMS {
            let mut stream = mine.connection().open_uni().await.map_err(said)?;
            let (relay, most) = (relay.clone(), self.packet_data() as u32);
            streams.spawn(async move {
                relay.send(&mut stream, most).await.map_err(said)?;
                stream.finish().map_err(said)
            });
        }
        all_of(streams).await
    }

    /// Guides the sender for a relay, if the connection ends at one; does not return.
    async fn guide(&self, theirs: &Session) -> Result<(), String> {
        match &self.sink {
            Some(inlet) => inlet.guide(theirs.connection(), STREAMS).await,
            None => std::future::pending().await,
        }
    }

    /// Least number of data bytes in a packet.
    fn packet_data(&self) -> u64 {
        data_of(self.packet)
    }

    fn capabilities(&self) -> &Capabilities {
        self.plan.protocols[self.plan.transfers[self.id.index()].protocol].capabilities()
    }

    /// Share of data in each packet: amounts and demands count whole packets, as in the simulator.
    fn data_share(&self) -> f64 {
        (self.packet - OUTER - INNER.0) as f64 / self.packet as f64
    }

    fn tokens(&self) -> TokenBucket {
        let amount = self.plan.transfers[self.id.index()].amount;
        let amount = amount.map(|amount| ((amount.0 as f64 * self.data_share()).ceil() as u64).max(1));
        let tokens = TokenBucket::new(amount, self.packet_data());
        tokens.set(Rate(self.demand(self.now()).0 * self.data_share()));
        tokens
    }

    /// Demand at a time.
    fn demand(&self, now: Time) -> Rate {
        let mut changes =
            self.plan.demand_changes.iter().filter(|change| change.connection == self.id && change.time <= now);
        let first = self.plan.demands.connections()[self.id.index()].demand;
        changes.next_back().map(|change| change.demand).or(first).unwrap_or(Rate(f64::INFINITY))
    }

    /// Counts data that arrive, until all have.
    async fn receive(&self, theirs: &Session) -> Result<(), String> {
        let mut streams = JoinSet::new();
        for _ in 0..STREAMS {
            let mut stream = theirs.connection().accept_uni().await.map_err(said)?;
            let status = self.status.clone();
            if let Some(inlet) = self.sink.clone() {
                let connection = theirs.connection().clone();
                streams.spawn(async move { inlet.read(&connection, &mut stream, &status.data).await.map_err(said) });
                continue;
            }
            streams.spawn(async move {
                while let Some(chunk) = stream.read_chunk(PIECE).await.map_err(said)? {
                    status.data.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        all_of(streams).await
    }

    /// Opens and closes paths and changes the demand at their times, and reports groups and capacities of paths to the
    /// control.
    async fn look_after(&self, mine: &Session, tokens: &TokenBucket, rates: Option<&Rates>) -> Result<(), String> {
        let capabilities = self.capabilities();
        let mut changes = changes(&self.plan, self.id);
        let mut open = Vec::new();
        loop {
            if self.source.is_some() {
                mine.fit_send_window_closely();
            } else {
                mine.fit_send_window();
            }
            let now = self.now();
            let demand = self.demand(now);
            tokens.set(Rate(demand.0 * self.data_share()));
            if let Some(rates) = rates {
                rates.apply(mine, demand, (self.packet - OUTER) as f64 / self.packet as f64)?;
            }
            let later = changes.split_off(&Time(now.0 + 1));
            if let Some(last) = std::mem::replace(&mut changes, later).last() {
                let usable = |path| self.plan.is_usable(self.id, path, *last);
                (0..self.ends.len()).for_each(|path| mine.want(path, usable(path)));
            }
            let present: Vec<bool> = mine.paths().iter().map(|path| path.is_open).collect();
            if capabilities.hears_groups() && present != open {
                self.regroup(mine, &present);
                open = present;
            }
            if capabilities.hears_capacities && capabilities.keeps_windows() {
                let links = self.plan.paths.of(self.id);
                mine.set_capacities(links.map(|links| known(&self.plan, links, now)));
            }
            let tick = if rates.is_some() { RATES_TICK } else { TICK };
            let tick = Time(now.0 + (tick.as_nanos() * 1000) as u64);
            let change = next_change(&self.plan, self.id, now).filter(|_| capabilities.hears_capacities);
            self.until(change.map_or(tick, |change| change.min(tick))).await;
        }
    }

    fn regroup(&self, mine: &Session, open: &[bool]) {
        let links = |(path, links)| if open[path] { links } else { &[][..] };
        let groups = self.plan.group_search().groups(self.plan.paths.of(self.id).enumerate().map(links));
        mine.regroup(&groups);
    }
}

/// Sends all data of the source.
async fn send(mine: &Session, tokens: &Arc<TokenBucket>) -> Result<(), String> {
    static ZEROS: [u8; PIECE] = [0; PIECE];
    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        let mut stream = mine.connection().open_uni().await.map_err(said)?;
        let tokens = tokens.clone();
        streams.spawn(async move {
            loop {
                let bytes = tokens.take().await;
                if bytes == 0 {
                    return stream.finish().map_err(said);
                }
                stream.write_all(&ZEROS[..bytes]).await.map_err(said)?;
            }
        });
    }
    all_of(streams).await
}

async fn all_of(mut tasks: JoinSet<Result<(), String>>) -> Result<(), String> {
    while let Some(done) = tasks.join_next().await {
        done.map_err(said)??;
    }
    Ok(())
}

/// The text of an error with all its causes.
fn said(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let more = deeper.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = deeper.source();
    }
    text
}
