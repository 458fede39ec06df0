//! A connection of a live run, from its beginning to its end.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::{ConnectionId, NodeId, Rate, Time};
use anabranch_plan::Plan;
use anabranch_proto::protocols::Capabilities;
use tokio::task::JoinSet;

use super::capacities::{known, next_change};
use super::rates::Rates;
use super::relay::{Inlet, RelayEnd};
use super::sources::receive_from_sources;
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
pub(super) const STREAMS: usize = 8;

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

/// Both ends of a session between a sender and the target of its connection.
pub(super) struct SessionEnds {
    /// End at the sender.
    pub near: Session,
    /// End at the target.
    pub far: Session,
}

/// State of a sender that is visible outside of its task.
struct SenderStatus {
    /// Numbers of its paths among those of the connection.
    paths: Vec<usize>,
    /// Its session; `None` while there is none.
    session: Mutex<Option<Arc<SessionEnds>>>,
}

/// State of a connection that is visible outside of its task.
pub(super) struct Status {
    start: Time,
    senders: Vec<SenderStatus>,
    /// Time when all data had arrived or the connection was stopped.
    finished: AtomicU64,
    failure: Mutex<Option<String>>,
    /// Bytes of data that arrived, each byte once.
    pub data: AtomicU64,
}

impl Status {
    /// Creates the state of a connection that begins at `start`, with the numbers of the paths of each sender.
    pub fn new(start: Time, senders: impl Iterator<Item = Vec<usize>>) -> Self {
        let senders = senders.map(|paths| SenderStatus { paths, session: Mutex::new(None) }).collect();
        Self { start, senders, finished: AtomicU64::new(UNSET), failure: Mutex::new(None), data: AtomicU64::new(0) }
    }

    /// The session of a sender; `None` while there is none.
    pub fn session(&self, sender: usize) -> Option<Arc<SessionEnds>> {
        self.senders[sender].session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the session of a sender.
    pub fn set_session(&self, sender: usize, session: Option<Arc<SessionEnds>>) {
        *self.senders[sender].session.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// The reason why the connection failed; `None` if it did not.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The state of each path; empty while the connection does not exist.
    pub fn states(&self, time: Time) -> Vec<Option<PathState>> {
        if time < self.start || self.finished.load(Ordering::Relaxed) != UNSET {
            return Vec::new();
        }
        let mut states = vec![None; self.senders.iter().map(|sender| sender.paths.len()).sum()];
        for (place, sender) in self.senders.iter().enumerate() {
            let Some(ends) = self.session(place) else { continue };
            sender.paths.iter().zip(ends.near.states()).for_each(|(&path, state)| states[path] = state);
        }
        states
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
    /// The nodes that send; one unless the target receives from several sources.
    pub senders: Vec<Sender>,
    pub trust: Trust,
    /// Control of the only sender. Each session with one of several sources has its own.
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

/// A node that sends data of a connection.
pub(super) struct Sender {
    pub node: NodeId,
    /// Numbers of its paths among those of the connection.
    pub paths: Vec<usize>,
    /// Addresses of its paths.
    pub ends: Vec<(IpAddr, IpAddr)>,
    /// Endpoint at the node, which begins sessions.
    pub client: Client,
    /// Endpoint at the target.
    pub server: Server,
}

/// Data bytes that a packet of `packet` bytes carries at least.
pub(super) fn data_of(packet: u64) -> u64 {
    packet - OUTER - INNER.1
}

/// Runs a connection from its beginning to its end.
pub(super) async fn drive(course: Course) {
    let course = Arc::new(course);
    let connection = &course.plan.demands.connections()[course.id.index()];
    course.until(connection.start).await;
    let stop = async {
        match connection.stop {
            Some(stop) => course.until(stop).await,
            None => std::future::pending().await,
        }
    };
    let work = async {
        match course.plan.fetch(course.id) {
            Some(fetch) => receive_from_sources(&course, fetch).await,
            None => course.run().await,
        }
    };
    let finished = tokio::select! {
        done = work => done.map(|()| course.now()),
        () = stop => Ok(connection.stop.unwrap_or_default()),
    };
    if let Some(inlet) = &course.sink {
        inlet.end();
    }
    match finished {
        Ok(time) => course.status.finished.store(time.0, Ordering::Relaxed),
        Err(reason) => *course.status.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason),
    }
    (0..course.senders.len()).for_each(|sender| course.status.set_session(sender, None));
}

impl Course {
    pub fn now(&self) -> Time {
        Time::from_seconds(self.start.elapsed().as_secs_f64()).unwrap_or_default()
    }

    pub async fn until(&self, time: Time) {
        tokio::time::sleep_until((self.start + Duration::from_secs_f64(time.seconds())).into()).await;
    }

    /// Connects the only sender, and sends until all data have arrived.
    async fn run(&self) -> Result<(), String> {
        let rates = self.application.clone().map(|application| Rates::ask(application, &self.plan, self.id));
        let now = self.plan.demands.connections()[self.id.index()].start;
        let (near, mut far) = self.connect(&self.senders[0], self.group.clone(), now).await?;
        match &self.sink {
            Some(inlet) => far.guide(inlet.guidance()),
            None if self.capabilities().is_scalable() => far.tell_marks(),
            None => {}
        }
        let ends = Arc::new(SessionEnds { near, far });
        self.status.set_session(0, Some(ends.clone()));
        let tokens = Arc::new(self.tokens(PIECE as u64));
        tokio::select! {
            done = async { tokio::try_join!(self.send(&ends.near, &tokens), self.receive(&ends.far)) } => done.map(drop),
            never = self.look_after(0, &ends.near, &tokens, rates.as_ref()) => never,
            never = self.guide(&ends.far) => never,
        }
    }

    /// Creates a session between a sender and the target under a control, over the paths that are usable now: its end at
    /// the sender, and its end at the target.
    pub async fn connect(&self, sender: &Sender, group: Arc<Group>, now: Time) -> Result<(Session, Session), String> {
        let pair = |(&path, &(from, to)): (&usize, &(IpAddr, IpAddr))| AddressPair {
            local: Some(from),
            remote: (to, PORT).into(),
            is_wanted: self.plan.is_usable(self.id, path, now),
            is_backup: false,
        };
        let pairs = sender.paths.iter().zip(&sender.ends).map(pair).collect();
        let quic_config = self.quic_config;
        let connect = sender.client.connect_with_config("anabranch", pairs, &self.trust, group, quic_config);
        let accept = async {
            match sender.server.next().await {
                Some(arrival) => arrival.accept_with_config(quic_config).await.map_err(said),
                None => Err("its target is gone".to_owned()),
            }
        };
        tokio::try_join!(async { connect.await.map_err(said) }, accept)
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
        all_of(&mut streams).await
    }

    /// Guides the sender for a relay, if the connection ends at one; does not return.
    async fn guide(&self, theirs: &Session) -> Result<(), String> {
        match &self.sink {
            Some(inlet) => inlet.guide(theirs.connection(), STREAMS).await,
            None => std::future::pending().await,
        }
    }

    /// Least number of data bytes in a packet.
    pub fn packet_data(&self) -> u64 {
        data_of(self.packet)
    }

    pub fn capabilities(&self) -> &Capabilities {
        self.plan.protocols[self.plan.transfers[self.id.index()].protocol].capabilities()
    }

    /// Share of data in each packet: amounts and demands count whole packets, as in the simulator.
    fn data_share(&self) -> f64 {
        (self.packet - OUTER - INNER.0) as f64 / self.packet as f64
    }

    /// Data bytes of the connection; `None` if it sends for as long as it stays.
    pub fn amount(&self) -> Option<u64> {
        let amount = self.plan.transfers[self.id.index()].amount;
        amount.map(|amount| ((amount.0 as f64 * self.data_share()).ceil() as u64).max(1))
    }

    /// A token bucket for the amount and the demand of the connection, which grants at most `most` bytes at a time.
    pub fn tokens(&self, most: u64) -> TokenBucket {
        let tokens = TokenBucket::new(self.amount(), self.packet_data(), most);
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
        all_of(&mut streams).await
    }

    /// Opens and closes paths of a sender and changes the demand at their times, and reports groups and capacities of
    /// paths to the control; does not return.
    pub async fn look_after(
        &self,
        sender: usize,
        near: &Session,
        tokens: &TokenBucket,
        rates: Option<&Rates>,
    ) -> Result<(), String> {
        let (capabilities, paths) = (self.capabilities(), &self.senders[sender].paths);
        // Of several senders the groups depend on all.
        let hears_groups = capabilities.hears_groups() && self.senders.len() == 1;
        let mut changes = changes(&self.plan, self.id);
        let mut open = Vec::new();
        loop {
            if self.source.is_some() || self.plan.fetch(self.id).is_some() {
                near.fit_send_window_closely();
            } else {
                near.fit_send_window();
            }
            let now = self.now();
            let demand = self.demand(now);
            tokens.set(Rate(demand.0 * self.data_share()));
            if let Some(rates) = rates {
                rates.apply(near, demand, (self.packet - OUTER) as f64 / self.packet as f64)?;
            }
            let later = changes.split_off(&Time(now.0 + 1));
            if let Some(last) = std::mem::replace(&mut changes, later).last() {
                let usable = |path| self.plan.is_usable(self.id, path, *last);
                paths.iter().enumerate().for_each(|(place, &path)| near.want(place, usable(path)));
            }
            let present: Vec<bool> = near.paths().iter().map(|path| path.is_open).collect();
            if hears_groups && present != open {
                near.regroup(&self.groups(&present));
                open = present;
            }
            if capabilities.hears_capacities && capabilities.keeps_windows() {
                let links = paths.iter().filter_map(|&path| self.plan.paths.of(self.id).nth(path));
                near.set_capacities(links.map(|links| known(&self.plan, links, now)));
            }
            let tick = if rates.is_some() { RATES_TICK } else { TICK };
            let tick = Time(now.0 + (tick.as_nanos() * 1000) as u64);
            let change = next_change(&self.plan, self.id, now).filter(|_| capabilities.hears_capacities);
            self.until(change.map_or(tick, |change| change.min(tick))).await;
        }
    }

    /// The group of each path of the connection, with the paths that are open; paths of one group share links.
    pub fn groups(&self, open: &[bool]) -> Vec<u32> {
        let links = |(path, links)| if open[path] { links } else { &[][..] };
        self.plan.group_search().groups(self.plan.paths.of(self.id).enumerate().map(links))
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
    all_of(&mut streams).await
}

pub(super) async fn all_of(tasks: &mut JoinSet<Result<(), String>>) -> Result<(), String> {
    while let Some(done) = tasks.join_next().await {
        done.map_err(said)??;
    }
    Ok(())
}

/// The text of an error with all its causes.
pub(super) fn said(error: impl std::error::Error) -> String {
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
