//! A connection of a live run whose target receives from several sources, each over its own paths.
//!
//! Each source has a session with the target and controls the windows of its paths, as in a fetch of a file. The target
//! sends each source snapshots of the others' subflows, so that coupled controls act as one. A source is connected while
//! its node answers and one of its paths is usable.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_core::{ConnectionId, NodeId, Time};
use anabranch_plan::{Fetch, Plan};
use tokio::task::JoinSet;

use super::connection::{Course, STREAMS, SessionEnds, Status, all_of, said};
use super::group;
use super::supply::Supply;
use super::unsupported::changes;
use crate::control::RemoteSubflow;
use crate::fetch::coupling::{OPENING, PERIOD, others, subflows};

/// The most data of a packet, in bytes.
const MOST_DATA: usize = 1500;

/// Time without an arrival after which a source counts as silent: at least the first, and the second number of round
/// trips.
const SILENCE: (Duration, f64) = (Duration::from_millis(200), 2.0);

/// A time from which a source sends, and the time at which it stops; `None` for no end.
type Presence = (Time, Option<Time>);

/// The nodes that send data of a connection, each with the numbers of its paths among those of the connection.
pub(super) fn paths_by_source(plan: &Plan, id: ConnectionId) -> Vec<(NodeId, Vec<usize>)> {
    let Some(fetch) = plan.fetch(id) else {
        return vec![(plan.demands.connections()[id.index()].source, (0..plan.paths.of(id).count()).collect())];
    };
    let of = |node: NodeId| {
        let begins = |(path, links): (usize, &[_])| (plan.network.link(links[0]).source == node).then_some(path);
        (node, plan.paths.of(id).enumerate().filter_map(begins).collect::<Vec<usize>>())
    };
    fetch.servers.iter().map(|server| of(server.node)).filter(|(_, paths)| !paths.is_empty()).collect()
}

/// Receives all data of a connection from its sources; without an amount it does not end.
pub(super) async fn receive_from_sources(course: &Arc<Course>, fetch: &Fetch) -> Result<(), String> {
    let reception = Arc::new(Reception::new(course, fetch));
    let mut sources = JoinSet::new();
    for source in 0..course.senders.len() {
        sources.spawn(reception.clone().attend(source));
    }
    let failed = async {
        while let Some(ended) = sources.join_next().await {
            ended.map_err(said)??;
        }
        std::future::pending().await
    };
    let outcome = tokio::select! {
        () = reception.supply.all_arrived(&course.status.data) => Ok(()),
        failed = failed => failed,
        never = reception.look_after() => never,
    };
    sources.shutdown().await;
    outcome
}

/// The reception of a connection's data from several sources.
struct Reception {
    course: Arc<Course>,
    supply: Arc<Supply>,
    /// The times at which each source is connected.
    presence: Vec<Vec<Presence>>,
    /// Whether the controls of the sources are coupled.
    is_coupled: bool,
    /// Group of each path of the connection; paths of one group share links.
    groups: Mutex<Vec<u32>>,
}

impl Reception {
    fn new(course: &Arc<Course>, fetch: &Fetch) -> Self {
        let supply = Supply::new(course.tokens(course.packet_data()), course.amount(), course.senders.len());
        let is_coupled = course.capabilities().is_joint() && course.senders.len() > 1;
        let presence = (0..course.senders.len()).map(|source| presence(course, fetch, source)).collect();
        let paths = course.plan.paths.of(course.id).count();
        let reception = Self {
            course: course.clone(),
            supply: Arc::new(supply),
            presence,
            is_coupled,
            groups: Mutex::new(vec![0; paths]),
        };
        reception.regroup(course.now());
        reception
    }

    /// Connects a source at its times, and lets it send; does not return before the last time.
    async fn attend(self: Arc<Self>, source: usize) -> Result<(), String> {
        for &(start, stop) in &self.presence[source] {
            self.course.until(start).await;
            let mut streams = JoinSet::new();
            let stopped = async {
                match stop {
                    Some(stop) => self.course.until(stop).await,
                    None => std::future::pending().await,
                }
            };
            let outcome = tokio::select! {
                failed = self.send(source, &mut streams) => failed,
                () = stopped => Ok(()),
            };
            streams.shutdown().await;
            self.course.status.set_session(source, None);
            outcome?;
            self.supply.end(source).await;
        }
        Ok(())
    }

    /// Connects a source, and lets it send over `streams`; returns with an error only.
    async fn send(&self, source: usize, streams: &mut JoinSet<Result<(), String>>) -> Result<(), String> {
        let (course, now) = (&self.course, self.course.now());
        let control = group(&course.plan, course.id).map_err(said)?;
        if self.is_coupled {
            control.set_remotes(&self.others(source, now), &[]);
        }
        let (near, mut far) = course.connect(&course.senders[source], control, now).await?;
        if course.capabilities().is_scalable() {
            far.tell_marks();
        }
        let ends = Arc::new(SessionEnds { near, far });
        course.status.set_session(source, Some(ends.clone()));
        self.tell_groups();
        self.supply.begin(source);
        for _ in 0..STREAMS {
            streams.spawn(send(ends.clone(), self.supply.clone(), source));
            streams.spawn(receive(ends.clone(), self.supply.clone(), source, course.status.clone()));
        }
        tokio::select! {
            failed = all_of(streams) => failed,
            never = course.look_after(source, &ends.near, &self.supply.tokens, None) => never,
        }
    }

    /// Couples the controls of all sources, updates their groups, and relieves silent sources; does not return.
    async fn look_after(&self) -> Result<(), String> {
        loop {
            let now = self.course.now();
            self.regroup(now);
            self.tell_groups();
            for source in (0..self.course.senders.len()).filter(|_| self.is_coupled) {
                if let Some(ends) = self.course.status.session(source) {
                    ends.far.tell_others(&self.others(source, now));
                }
            }
            self.supply.relieve_silent(&self.patience()).await;
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// Whether a source is to be connected at a time.
    fn is_present(&self, source: usize, now: Time) -> bool {
        self.presence[source].iter().any(|(start, stop)| *start <= now && stop.is_none_or(|stop| now < stop))
    }

    /// Finds the groups of all paths that are open or are being opened.
    fn regroup(&self, now: Time) {
        let course = &self.course;
        if !course.capabilities().hears_groups() {
            return;
        }
        let mut counts = vec![false; course.plan.paths.of(course.id).count()];
        for (source, sender) in course.senders.iter().enumerate() {
            let (numbers, is_present) = (self.numbers(source), self.is_present(source, now));
            for (&path, number) in sender.paths.iter().zip(numbers) {
                counts[path] = number.is_some() || (is_present && course.plan.is_usable(course.id, path, now));
            }
        }
        *self.groups.lock().unwrap_or_else(PoisonError::into_inner) = course.groups(&counts);
    }

    /// Groups of the paths of a source.
    fn groups_of(&self, source: usize) -> Vec<u32> {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        self.course.senders[source].paths.iter().map(|&path| groups[path]).collect()
    }

    /// Tells the control of each source which of its paths share links.
    fn tell_groups(&self) {
        for source in 0..self.course.senders.len() {
            if let Some(ends) = self.course.status.session(source) {
                ends.near.regroup(&self.groups_of(source));
            }
        }
    }

    /// Number of each path of a source in QUIC; `None` for paths that are not open.
    fn numbers(&self, source: usize) -> Vec<Option<u32>> {
        let session = self.course.status.session(source);
        session.map_or_else(|| vec![None; self.course.senders[source].paths.len()], |ends| ends.near.numbers())
    }

    /// The subflows of all sources except one: those that they have reported, and those that are being opened.
    fn others(&self, source: usize, now: Time) -> Vec<RemoteSubflow> {
        let all: Vec<_> = (0..self.course.senders.len()).map(|source| self.subflows(source, now)).collect();
        others(&all, source)
    }

    /// The subflows of a source.
    fn subflows(&self, source: usize, now: Time) -> Vec<RemoteSubflow> {
        let course = &self.course;
        let told = course.status.session(source).map_or_else(Vec::new, |ends| ends.far.snapshots());
        let begun = |&&(start, _): &&Presence| start <= now && (now - start).seconds() < OPENING.as_secs_f64();
        let is_opening = self.is_present(source, now) && self.presence[source].iter().any(|own| begun(&own));
        let counts = |(path, number): &(usize, Option<u32>)| {
            number.is_some() || course.plan.is_usable(course.id, course.senders[source].paths[*path], now)
        };
        let groups = self.groups_of(source);
        let (groups, numbers): (Vec<u32>, Vec<Option<u32>>) = self
            .numbers(source)
            .into_iter()
            .enumerate()
            .filter(counts)
            .map(|(path, number)| (groups[path], number))
            .unzip();
        subflows(&told, &numbers, &groups, is_opening)
    }

    /// Time after which each source counts as silent; `None` for sources that are not connected.
    fn patience(&self) -> Vec<Option<Duration>> {
        let of = |source| {
            let states = self.course.status.session(source)?.near.states();
            let longest = states.into_iter().flatten().map(|state| state.rtt).fold(0.0, f64::max);
            Some(SILENCE.0.max(Duration::from_secs_f64(SILENCE.1 * longest)))
        };
        (0..self.course.senders.len()).map(of).collect()
    }
}

/// Sends data of a source over a stream.
async fn send(ends: Arc<SessionEnds>, supply: Arc<Supply>, source: usize) -> Result<(), String> {
    static ZEROS: [u8; MOST_DATA] = [0; MOST_DATA];
    let mut stream = ends.near.connection().open_uni().await.map_err(said)?;
    loop {
        let bytes = supply.take(source).await;
        // Little is buffered, so that a source takes no more than it can send soon.
        ends.near.fit_send_window_closely();
        stream.write_all(&ZEROS[..bytes]).await.map_err(said)?;
    }
}

/// Receives data of a source over a stream.
async fn receive(
    ends: Arc<SessionEnds>,
    supply: Arc<Supply>,
    source: usize,
    status: Arc<Status>,
) -> Result<(), String> {
    let mut stream = ends.far.connection().accept_uni().await.map_err(said)?;
    while let Some(chunk) = stream.read_chunk(MOST_DATA).await.map_err(said)? {
        supply.arrive(source, chunk.len() as u64, &status.data);
    }
    Ok(())
}

/// The times at which a source sends: while its node answers, and one of its paths is usable.
fn presence(course: &Course, fetch: &Fetch, source: usize) -> Vec<Presence> {
    let (plan, id, paths) = (&course.plan, course.id, &course.senders[source].paths);
    let server = fetch.servers.iter().find(|server| server.node == course.senders[source].node);
    let server = server.expect("each sender is a source");
    let begin = Time(plan.demands.connections()[id.index()].start.0.saturating_add(fetch.set_up.0));
    let answers = |now: Time| server.start <= now && server.stop.is_none_or(|stop| now < stop);
    let is_there = |now: Time| answers(now) && paths.iter().any(|&path| plan.is_usable(id, path, now));
    let mut times: BTreeSet<Time> = changes(plan, id);
    times.extend([server.start].into_iter().chain(server.stop));
    times.retain(|time| *time > begin);
    times.insert(begin);
    let mut all: Vec<Presence> = Vec::new();
    for time in times {
        match (is_there(time), all.last_mut().filter(|(_, stop)| stop.is_none())) {
            (true, None) => all.push((time, None)),
            (false, Some((_, stop))) => *stop = Some(time),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests;
