//! A run from its beginning to its end, in one shard or several at once.
//!
//! Shards go on together in windows of time. Within a window, nothing that happens in a shard can reach another shard,
//! since every link between them takes longer. Then the shards exchange packets, and agree on the next window. Events
//! of the same time in one shard have the order that they would have without shards, and touch nothing that another
//! shard has. So the outcome is the same to the last bit, whatever the number of shards, and whether each shard has a
//! thread or one thread serves all. At samples all shards stand still.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anabranch_core::{ConnectionId, Link, Rate, Samples, Time};
use anabranch_links::Totals;
use anabranch_plan::{LinkPlan, Plan};

use crate::barrier::Barrier;
use crate::crew::Crew;
use crate::gain::{Gain, Threads, Way};
use crate::partition::divide;
use crate::record::{Grant, Outcome, Recorder};
use crate::routes::Routes;
use crate::shard::{Message, Owners, Shard};
use crate::world::{Connection, Wait, Waits, Window, World};

/// The number of events between two reports of progress.
const SPELL: u64 = 1 << 16;

/// The time of the next event of a shard that has none.
const NEVER: u64 = u64::MAX;

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time, in seconds.
    pub time_s: f64,
    /// The number of events served.
    pub events: u64,
}

/// A function that is called at each sample with all samples so far; the newest is the last.
pub type Onlooker<'a> = &'a mut dyn FnMut(&Samples);

/// Runs a plan to its end on up to `threads` threads, or until `watch` says no; it is asked every 65,536 events.
///
/// The outcome is the same to the last bit on any number of threads, except for [`Outcome::threads`], the number of
/// threads that most of the run used. The run uses fewer threads than wanted if the network cannot be divided into as
/// many parts with work, one thread if links lose, repeat or delay packets at random, and never more than 64.
pub fn simulate_on(plan: &Plan, threads: impl Into<Threads>, watch: &mut dyn FnMut(Progress) -> bool) -> Outcome {
    simulate_seen(plan, threads, watch, None)
}

/// Runs a plan as [`simulate_on`] does, and shows the samples to an onlooker; the outcome is the same.
///
/// The onlooker is called at each sample, on the calling thread, while all shards stand still.
pub fn simulate_seen(
    plan: &Plan,
    threads: impl Into<Threads>,
    watch: &mut dyn FnMut(Progress) -> bool,
    onlooker: Option<Onlooker<'_>>,
) -> Outcome {
    let (routes, threads) = (Routes::new(plan), threads.into());
    let (owners, lookahead) = divide(plan, &routes, threads).unwrap_or_else(|| (Owners::alone(plan, &routes), NEVER));
    let shared = Shared::new(plan, &routes, &owners, lookahead);
    let mut recorder = Recorder::new(plan);
    let mut gain = Gain::new(owners.shards, threads);
    thread::scope(|scope| {
        let shared = &shared;
        for number in 1..owners.shards {
            scope.spawn(move || shared.follow(number));
        }
        // Within an option, a borrow is not shortened by itself.
        let onlooker = onlooker.map(|see| see as Onlooker<'_>);
        shared.lead(&mut Lead { recorder: &mut recorder, gain: &mut gain, watch, onlooker, told: 0 });
    });
    let is_whole = !shared.is_called_off.load(Ordering::Relaxed);
    let mut shards = shared.stand_still(0);
    let reached = shards.worlds.iter().map(|world| world.now()).min().unwrap_or(0);
    shards.now = if is_whole { plan.run.duration.0 } else { reached };
    let threads = if gain.went_together(shared.served()) { owners.shards } else { 1 };
    let outcome = recorder.finish(&shards, is_whole, threads);
    watch(Progress { time_s: Time(shards.now).seconds(), events: outcome.events });
    outcome
}

/// The times at which all shards stand still.
#[derive(Clone, Copy)]
struct Instants {
    warm: Option<u64>,
    sample: u64,
    period: u64,
    end: u64,
}

impl Instants {
    fn new(plan: &Plan, has_samples: bool) -> Self {
        let period = if has_samples { plan.run.sample.0 } else { NEVER };
        Self { warm: Some(plan.run.warm_up.0), sample: period, period, end: plan.run.duration.0 }
    }

    fn next(&self) -> u64 {
        self.warm.unwrap_or(NEVER).min(self.sample).min(self.end)
    }

    /// Passes the next instant. Says whether it was the last.
    fn pass(&mut self) -> bool {
        let now = self.next();
        if self.warm == Some(now) {
            self.warm = None;
        }
        if self.sample == now {
            self.sample = self.sample.saturating_add(self.period);
        }
        now == self.end
    }
}

/// The state that all threads share.
struct Shared<'p> {
    plan: &'p Plan,
    routes: &'p Routes,
    owners: &'p Owners,
    /// The shortest time in picoseconds in which an event in a shard can reach another shard.
    lookahead: u64,
    worlds: Vec<Mutex<World<'p>>>,
    /// The packets that shard a sends to shard b, at index a * shards + b.
    mail: Vec<Mutex<Vec<Message>>>,
    /// For each shard the time of its next event in picoseconds.
    next: Vec<AtomicU64>,
    /// For each shard the number of events that it has served.
    events: Vec<AtomicU64>,
    barrier: Barrier,
    /// Tells threads that come back from a rest at which instant all shards stand still next.
    crew: Crew<Instants>,
    /// Whether `watch` has said no.
    is_called_off: AtomicBool,
    /// The value of `is_called_off` when all threads had come to the barrier, so that all leave after the same window.
    is_over: AtomicBool,
}

/// The additional duties of the first thread.
struct Lead<'a> {
    recorder: &'a mut Recorder,
    gain: &'a mut Gain,
    watch: &'a mut dyn FnMut(Progress) -> bool,
    onlooker: Option<Onlooker<'a>>,
    /// The number of events when `watch` was last called.
    told: u64,
}

impl Lead<'_> {
    /// Reports the progress, if there were enough events since the last report. Says whether the run may go on.
    fn tell(&mut self, now: u64, events: u64) -> bool {
        if events < self.told + SPELL {
            return true;
        }
        self.told = events;
        (self.watch)(Progress { time_s: Time(now).seconds(), events })
    }
}

impl<'p> Shared<'p> {
    fn new(plan: &'p Plan, routes: &'p Routes, owners: &'p Owners, lookahead: u64) -> Self {
        let shards = owners.shards;
        let world = |number| Mutex::new(World::new(plan, routes, Shard::new(owners, number)));
        let shared = Self {
            plan,
            routes,
            owners,
            lookahead,
            worlds: (0..shards).map(world).collect(),
            mail: (0..shards * shards).map(|_| Mutex::default()).collect(),
            next: (0..shards).map(|_| AtomicU64::new(NEVER)).collect(),
            events: (0..shards).map(|_| AtomicU64::new(0)).collect(),
            barrier: Barrier::new(shards),
            crew: Crew::new(Instants::new(plan, Recorder::has_samples(plan))),
            is_called_off: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        };
        for number in 0..shards {
            shared.announce(number);
        }
        shared
    }

    /// Drives the first shard, or all shards while that is faster, and takes the samples.
    fn lead(&self, lead: &mut Lead<'_>) {
        let (_alarm, _until) = (self.barrier.alarm(), self.crew.until_over());
        let mut instants = Instants::new(self.plan, Recorder::has_samples(self.plan));
        loop {
            let Some(limit) = self.limit(&instants) else {
                self.record(lead, &instants);
                if lead.gain.way() == Way::Together {
                    self.barrier.wait();
                }
                if instants.pass() {
                    return;
                }
                continue;
            };
            let is_over = match lead.gain.way() {
                Way::Together => self.window_together(limit, lead),
                Way::Alone => self.window_alone(limit, lead, &instants),
            };
            if is_over {
                return;
            }
        }
    }

    /// Drives the first shard through a window in which each shard has its thread. Says whether it was the last window.
    fn window_together(&self, limit: u64, lead: &mut Lead<'_>) -> bool {
        self.serve(0, limit, Some(lead));
        self.barrier.wait();
        let is_over = self.is_called_off.load(Ordering::Relaxed);
        self.is_over.store(is_over, Ordering::Relaxed);
        if !is_over && self.decide(lead) == Way::Alone {
            self.crew.send_to_rest();
        }
        self.receive(0);
        self.announce(0);
        self.barrier.wait();
        is_over
    }

    /// Drives all shards in turn through a window. Says whether it was the last window.
    fn window_alone(&self, limit: u64, lead: &mut Lead<'_>, instants: &Instants) -> bool {
        let shards = 0..self.owners.shards;
        shards.clone().for_each(|number| self.serve(number, limit, Some(lead)));
        for number in shards {
            self.receive(number);
            self.announce(number);
        }
        let is_over = self.is_called_off.load(Ordering::Relaxed);
        if !is_over && self.decide(lead) == Way::Together {
            self.crew.call(*instants);
        }
        is_over
    }

    /// Decides which threads drive the next window.
    fn decide(&self, lead: &mut Lead<'_>) -> Way {
        if lead.gain.is_fixed() { lead.gain.way() } else { lead.gain.decide(self.served(), Instant::now()) }
    }

    /// Drives one of the other shards, and rests while the first thread drives all shards.
    fn follow(&self, number: usize) {
        let _alarm = self.barrier.alarm();
        let mut instants = Instants::new(self.plan, Recorder::has_samples(self.plan));
        let mut rested = 0;
        loop {
            let Some(limit) = self.limit(&instants) else {
                self.barrier.wait();
                if instants.pass() {
                    return;
                }
                continue;
            };
            self.serve(number, limit, None);
            self.barrier.wait();
            self.receive(number);
            self.announce(number);
            self.barrier.wait();
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            if self.crew.rests() > rested {
                rested += 1;
                match self.crew.rest(rested) {
                    Some(now) => instants = now,
                    None => return,
                }
            }
        }
    }

    /// The time until which shards may go on by themselves; `None` if all have to stand still first.
    fn limit(&self, instants: &Instants) -> Option<u64> {
        let (start, instant) = (self.earliest(), instants.next());
        (start <= instant).then(|| start.saturating_add(self.lookahead).min(instant.saturating_add(1)))
    }

    /// Takes the counts or the sample of an instant at which all shards stand still.
    fn record(&self, lead: &mut Lead<'_>, instants: &Instants) {
        let instant = instants.next();
        let mut shards = self.stand_still(instant);
        if instants.warm == Some(instant) {
            lead.recorder.on_warm(&mut shards);
        }
        if instants.sample == instant {
            lead.recorder.on_sample(&mut shards);
            if let Some(see) = &mut lead.onlooker {
                see(lead.recorder.samples());
            }
        }
    }

    /// Serves all events of a shard before `limit`, and posts the packets that it sends to other shards.
    fn serve(&self, number: usize, limit: u64, mut lead: Option<&mut Lead<'_>>) {
        let mut world = lock(&self.worlds[number]);
        loop {
            let is_done = world.serve_until(limit, SPELL);
            self.events[number].store(world.events(), Ordering::Relaxed);
            if lead.as_mut().is_some_and(|lead| !lead.tell(world.now(), self.served())) {
                self.is_called_off.store(true, Ordering::Relaxed);
            }
            if is_done || self.is_called_off.load(Ordering::Relaxed) {
                break;
            }
        }
        for to in (0..self.owners.shards).filter(|&to| to != number) {
            *lock(&self.mail[number * self.owners.shards + to]) = world.take_mail(to);
        }
    }

    /// The number of events that all shards have served.
    fn served(&self) -> u64 {
        self.events.iter().map(|events| events.load(Ordering::Relaxed)).sum()
    }

    /// Hands a shard the packets that other shards have sent to it.
    fn receive(&self, number: usize) {
        let mut world = lock(&self.worlds[number]);
        for from in (0..self.owners.shards).filter(|&from| from != number) {
            let messages = std::mem::take(&mut *lock(&self.mail[from * self.owners.shards + number]));
            world.receive(messages);
        }
    }

    /// Announces the time of the next event of a shard.
    fn announce(&self, number: usize) {
        let next = lock(&self.worlds[number]).next_time().unwrap_or(NEVER);
        self.next[number].store(next, Ordering::Relaxed);
    }

    /// The time of the next event of all shards.
    fn earliest(&self) -> u64 {
        self.next.iter().map(|next| next.load(Ordering::Relaxed)).min().unwrap_or(NEVER)
    }

    fn stand_still(&self, now: u64) -> Shards<'_, 'p> {
        let (plan, routes, owners) = (self.plan, self.routes, self.owners);
        Shards { plan, routes, owners, now, worlds: self.worlds.iter().map(lock).collect() }
    }
}

/// Locks a mutex, even if another thread has panicked with it: the barrier reports such a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All shards while they stand still.
pub(crate) struct Shards<'a, 'p> {
    pub plan: &'p Plan,
    pub routes: &'p Routes,
    owners: &'p Owners,
    pub now: u64,
    worlds: Vec<MutexGuard<'a, World<'p>>>,
}

impl<'p> Shards<'_, 'p> {
    /// The state of a connection in the shard of its source.
    pub fn connection(&self, connection: usize) -> &Connection {
        let home = &self.worlds[self.owners.of_source(ConnectionId::new(connection))];
        &home.connections()[connection as u32]
    }

    /// The shard where a subflow begins.
    pub fn source_of(&self, subflow: usize) -> &World<'p> {
        let connection = self.worlds[0].subflow(subflow).connection();
        &self.worlds[usize::from(self.owners.source[connection as usize])]
    }

    /// The shard where a subflow ends.
    pub fn sink_of(&self, subflow: usize) -> &World<'p> {
        let connection = self.worlds[0].subflow(subflow).connection();
        &self.worlds[usize::from(self.owners.sink[connection as usize])]
    }

    /// The rate that a subflow may send at now: its granted rate, or the rate that its window comes to.
    pub fn granted(&self, subflow: usize) -> Rate {
        let source = self.source_of(subflow);
        source.window_rate(subflow).unwrap_or_else(|| source.subflow(subflow).rate())
    }

    /// The window of a subflow, and the values that belong to it.
    pub fn window(&self, subflow: usize) -> Window {
        self.source_of(subflow).window(subflow).unwrap_or(Window::NONE)
    }

    /// The time in picoseconds at which the sink of a connection had all data, or `UNSET`; `None` if the connection is
    /// not under a window protocol.
    pub fn completed_at(&self, connection: usize) -> Option<u64> {
        let transfer = &self.plan.transfers[connection];
        let keeps_windows = self.plan.protocols[transfer.protocol].capabilities().keeps_windows();
        let sink = &self.worlds[usize::from(self.owners.sink[connection])];
        keeps_windows.then(|| sink.transport().completed_at(connection))
    }

    /// Whether a connection takes part in the sharing.
    pub fn is_present(&self, connection: usize) -> bool {
        self.connection(connection).is_present()
    }

    /// Says whether fair rates may have changed since this was last asked.
    pub fn take_changes(&mut self) -> bool {
        // Every shard is asked, so that no change is reported twice.
        let changes = self.worlds.iter_mut().filter_map(|world| world.take_change().then_some(()));
        changes.count() > 0
    }

    /// The present capacity of a link in use, in bit/s.
    pub fn capacity(&self, link: usize) -> f64 {
        self.worlds[0].links().capacity(link, Time(self.now)).0
    }

    /// The counts of a link in use.
    pub fn totals(&self, link: usize) -> Totals {
        self.owner(link).links().totals(link, self.now)
    }

    /// Bytes that wait at a link in use.
    pub fn backlog(&self, link: usize) -> u64 {
        let owner = self.owner(link);
        owner.links().backlog(link, self.now) + owner.data().backlog(link)
    }

    /// The most packets that waited at a link in use since this was last asked.
    pub fn peak(&mut self, link: usize) -> u32 {
        let now = self.now;
        self.worlds[usize::from(self.owners.tail[link])].take_peak(link, now)
    }

    /// The number of control packets that entered a link in use.
    pub fn crossed(&self, link: usize) -> u64 {
        self.owner(link).control().crossed(link)
    }

    fn owner(&self, link: usize) -> &World<'p> {
        &self.worlds[usize::from(self.owners.tail[link])]
    }

    /// For each link in use the sum of the given rates over the subflows that use it.
    pub fn loads(&self, rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.routes.used.len()];
        for (s, &rate) in rates.iter().enumerate().filter(|(_, rate)| **rate > 0.0) {
            for &link in self.routes.path(s).iter().filter(|&&l| !self.routes.is_of_demand(l)) {
                loads[link as usize] += rate;
            }
        }
        loads
    }

    /// The present capacity of each link of the network, in bit/s.
    pub fn capacities(&self) -> impl Iterator<Item = f64> {
        let capacity = |(link, plan): (&Link, &LinkPlan)| {
            let past = plan.changes.partition_point(|(time, _)| time.0 <= self.now);
            past.checked_sub(1).map_or(link.capacity.0, |last| plan.changes[last].1.0)
        };
        self.plan.network.links().iter().zip(&self.plan.links).map(capacity)
    }

    /// Values of links in use for all links of the network, with `none` for the others.
    pub fn of_network<T: Copy>(&self, values: &[T], none: T) -> impl Iterator<Item = T> {
        let mut own = self.routes.used.iter().zip(values).peekable();
        (0..self.plan.links.len()).map(move |l| own.next_if(|(link, _)| link.index() == l).map_or(none, |(_, &v)| v))
    }

    /// The sum of a count over all shards.
    pub fn sum(&self, of: impl Fn(&World<'p>) -> u64) -> u64 {
        self.worlds.iter().map(|world| of(world)).sum()
    }

    /// The largest value of all shards.
    pub fn latest(&self, of: impl Fn(&World<'p>) -> u64) -> u64 {
        self.worlds.iter().map(|world| of(world)).max().unwrap_or(0)
    }

    /// The number of control packets under way.
    pub fn control_under_way(&self) -> u64 {
        self.sum(|world| world.control().under_way() as u64)
    }

    /// The number of links, those of demands included, whose controls hold something of a connection.
    pub fn links_not_clear(&self) -> u64 {
        let is_held = |l: &usize| self.worlds.iter().any(|world| !world.control().is_clear(*l));
        (0..self.owners.tail.len()).filter(is_held).count() as u64
    }

    /// The waits of data packets at links of the network, in the order of the network.
    pub fn link_waits(&self) -> Vec<Wait> {
        let of = |waits: &Waits, l: usize| waits.at_link(l, self.routes.used[l].0);
        self.waits(self.routes.used.len(), of)
    }

    /// The waits of data packets on the whole way of each subflow.
    pub fn subflow_waits(&self) -> Vec<Wait> {
        self.waits(self.plan.paths.len(), Waits::of_subflow)
    }

    /// The waits of `count` links or subflows, without those that have none; each has its waits in one shard.
    fn waits(&self, count: usize, of: impl Fn(&Waits, usize) -> Option<Wait>) -> Vec<Wait> {
        let found = |i| self.worlds.iter().filter_map(|world| world.data().waits()).find_map(|waits| of(waits, i));
        (0..count).filter_map(found).collect()
    }

    /// All changes of granted rates, sorted by time, then subflow, then the order in which they came.
    pub fn grants(&self) -> Vec<Grant> {
        let mut grants: Vec<Grant> =
            self.worlds.iter().flat_map(|world| world.connections().grants().iter().copied()).collect();
        grants.sort_by_key(|grant| (grant.time, grant.subflow));
        grants
    }
}
