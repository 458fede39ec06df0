//! The sessions of the agent's own whose traffic is kept to their rates.
//!
//! ```text
//! answers of the agent: paths, rates ──► Enforced ──► Enforcer (a thread of its own) ──► tc, nft, ip
//! file: matches, devices, segments  ──►     │
//!                                           └──► what is measured, for `show`
//! ```
//!
//! Rates go on at once. Changes of paths and of matches take programs, so that a task hands them on where it may block. A
//! session changes its paths once rates have been granted to the new ones; rates of the others go on meanwhile.

mod file;
mod groups;
mod measured;
mod routes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::{NodeId, Rate};
use anabranch_enforce::{Backend, EnforceError, Enforcer, Session};
use anabranch_live::agents::LEASE;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep};

pub use self::file::{Carried, Kind, Mark, Match, Ports, Prefix, Segment, Table};
use self::groups::Groups;
use self::measured::Meter;
pub use self::routes::Enforcement;
pub(crate) use self::routes::Written;
use crate::config::{self, Config};
use crate::network::Map;
use crate::shown;

/// The time for changes to gather, such as those of all sessions at the start.
const GATHER: Duration = Duration::from_millis(20);

/// Time between two measurements.
const MEASURE: Duration = Duration::from_secs(1);

/// Number of measurements after which a change is tried again that was refused: at first, and at most.
const RETRY: (u32, u32) = (1, 32);

/// What keeps traffic to rates, if anything does.
#[derive(Clone, Default)]
pub(crate) struct Enforced(Option<Arc<Hub>>);

struct Hub {
    enforcer: Enforcer,
    map: Map,
    node: NodeId,
    known: Mutex<Known>,
    changed: Notify,
}

/// The paths of sessions by name: the numbers of the links of each.
type Links = BTreeMap<String, Vec<Vec<u32>>>;

/// What is known of sessions.
struct Known {
    enforcement: Enforcement,
    /// The sessions with matches, in the order of the file.
    sessions: Vec<config::Session>,
    /// Those that were opened while the agent runs; they come first, as they match single programs.
    opened: Vec<config::Session>,
    /// The names of all sessions of the file: those without a match may have one later.
    named: BTreeSet<String>,
    grants: BTreeMap<String, Grant>,
    /// The sessions that are kept to rates now.
    applied: Vec<Session>,
    /// The links of their paths; absent while they change.
    links: Links,
    /// The control groups that their matches name.
    groups: Groups,
    /// The capacities that devices have been given.
    capacities: BTreeMap<String, Option<Rate>>,
    meter: Meter,
    problems: Problems,
}

/// What goes wrong, in words.
#[derive(Default)]
struct Problems {
    group: Option<String>,
    change: Option<String>,
    capacity: Option<String>,
    counters: Option<String>,
}

impl Problems {
    fn first(&self) -> Option<String> {
        let Self { group, change, capacity, counters } = self;
        [change, group, capacity, counters].into_iter().find_map(Clone::clone)
    }
}

/// What a session has been granted.
#[derive(Default)]
struct Grant {
    links: Vec<Vec<u32>>,
    rates: Vec<f64>,
    told: Option<Instant>,
    /// Other paths, to which nothing has been granted yet. Those before keep their rates meanwhile, as far as their lease
    /// goes.
    next: Option<Vec<Vec<u32>>>,
}

impl Grant {
    fn rates(&self) -> Vec<Option<Rate>> {
        self.rates.iter().map(|&rate| Some(Rate(rate))).collect()
    }
}

impl Enforced {
    /// Sets up what the configuration asks for; nothing if it does not. It may block.
    pub fn start(config: &Config) -> Result<Self, EnforceError> {
        let Some(enforcement) = &config.enforcement else { return Ok(Self::default()) };
        let backend = match enforcement.backend {
            Kind::Kernel => Backend::Kernel,
            Kind::Print => Backend::Print(Box::new(std::io::stdout())),
        };
        let setup = enforcement.setup.clone();
        let enforcer = Enforcer::start(setup.clone(), backend)?;
        let node = config.map.node(&config.node).expect("the configuration was checked");
        let known = Known {
            enforcement: enforcement.clone(),
            sessions: Vec::new(),
            opened: Vec::new(),
            named: BTreeSet::new(),
            grants: BTreeMap::new(),
            applied: Vec::new(),
            links: BTreeMap::new(),
            groups: Groups::default(),
            capacities: (setup.devices.iter()).map(|device| (device.name.clone(), device.capacity)).collect(),
            meter: Meter::default(),
            problems: Problems::default(),
        };
        let hub = Hub { enforcer, map: config.map.clone(), node, known: known.into(), changed: Notify::new() };
        Ok(Self(Some(Arc::new(hub))))
    }

    /// Takes the matches, segments and capacities of a configuration.
    pub fn set(&self, config: &Config) {
        let (Some(hub), Some(enforcement)) = (&self.0, &config.enforcement) else { return };
        let mut known = hub.lock();
        known.enforcement = enforcement.clone();
        known.sessions = config.sessions.iter().filter(|session| !session.traffic.is_empty()).cloned().collect();
        known.named = config.sessions.iter().map(|session| session.name.clone()).collect();
        known.forget();
        hub.changed.notify_one();
    }

    /// Takes a session that was opened while the agent runs.
    pub fn open(&self, session: &config::Session) {
        let Some(hub) = self.0.as_ref().filter(|_| !session.traffic.is_empty()) else { return };
        hub.lock().opened.push(session.clone());
    }

    /// Ends what [`Self::open`] began.
    pub fn close(&self, session: &str) {
        let Some(hub) = &self.0 else { return };
        let mut known = hub.lock();
        known.opened.retain(|opened| opened.name != session);
        known.forget();
        hub.changed.notify_one();
    }

    /// Keeps no traffic to rates any more.
    pub fn end(&self) {
        let Some(hub) = &self.0 else { return };
        let mut known = hub.lock();
        (known.sessions, known.opened) = (Vec::new(), Vec::new());
        hub.changed.notify_one();
    }

    /// Takes the paths of a session: the numbers of their links.
    pub fn take_paths(&self, session: &str, links: Vec<Vec<u32>>) {
        let Some(hub) = &self.0 else { return };
        hub.lock().grants.entry(session.to_owned()).or_default().next = Some(links);
    }

    /// Takes the rates of a session's paths in bit/s, as the agent tells them.
    pub fn grant(&self, session: &str, rates: Vec<f64>) {
        let Some(hub) = &self.0 else { return };
        let known = &mut *hub.lock();
        let Some(grant) = known.grants.get_mut(session) else { return };
        if let Some(next) = &grant.next {
            if next.len() != rates.len() || rates.iter().all(|&rate| rate <= 0.0) {
                return;
            }
            let links = grant.next.take().unwrap_or_default();
            *grant = Grant { links, rates, told: Some(Instant::now()), next: None };
            hub.changed.notify_one();
        } else if grant.links.len() == rates.len() {
            (grant.rates, grant.told) = (rates, Some(Instant::now()));
        }
        if known.links.get(session) == Some(&grant.links) {
            hub.tell(session, grant);
        }
    }

    /// Whether the packets of a session are kept to its rates now.
    ///
    /// # Errors
    /// Returns the reason why they are not.
    pub fn keeps(&self, session: &str) -> Result<(), String> {
        let Some(hub) = &self.0 else { return Err("the agent keeps no traffic to rates".to_owned()) };
        let known = hub.lock();
        if known.applied.iter().any(|kept| kept.name == session) {
            return Ok(());
        }
        Err(known.problems.first().unwrap_or_else(|| "no rates have been granted to it yet".to_owned()))
    }

    /// What is measured at the paths of a session, each by the numbers of its links.
    pub fn measured(&self, session: &str, links: &[u32]) -> Option<shown::Measured> {
        let known = self.0.as_ref()?.lock();
        known.meter.of(session, links)
    }

    /// What a session has sent since it is kept to rates.
    pub fn total(&self, session: &str) -> Option<shown::Total> {
        self.0.as_ref()?.lock().meter.total(session)
    }

    /// How enforcement goes.
    pub fn shown(&self) -> Option<shown::Enforcement> {
        let known = self.0.as_ref()?.lock();
        Some(shown::Enforcement {
            backend: known.enforcement.backend.name(),
            sessions: known.links.len(),
            refused: known.meter.refused(),
            problem: known.problems.first(),
        })
    }

    /// Makes changes and measures, as long as the agent runs.
    pub async fn run(self) {
        let Some(hub) = self.0 else { return };
        let mut beat = interval(MEASURE);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut wait, mut left) = (RETRY.0, None);
        loop {
            let is_change = tokio::select! {
                () = hub.changed.notified() => true,
                _ = beat.tick() => false,
            };
            if is_change {
                sleep(GATHER).await;
                (wait, left) = (RETRY.0, Some(0));
            }
            let here = hub.clone();
            let is_due = left == Some(0);
            let Ok(is_refused) = spawn_blocking(move || here.work(is_due)).await else { return };
            left = match (is_due, is_refused) {
                (true, true) => {
                    wait = (2 * wait).min(RETRY.1);
                    Some(wait)
                }
                (true, false) => None,
                (false, _) => left.map(|left| left.saturating_sub(1)),
            };
        }
    }
}

impl std::fmt::Debug for Enforced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Enforced").field(&self.0.is_some()).finish()
    }
}

impl Known {
    /// All sessions with matches.
    fn all(&self) -> impl Iterator<Item = &config::Session> {
        self.opened.iter().chain(&self.sessions)
    }

    /// The control groups that matches name, as they are now.
    fn present_groups(&self) -> Groups {
        // What is only printed needs no group.
        if self.enforcement.backend == Kind::Print { Groups::default() } else { Groups::now(self.all()) }
    }

    /// Whether a control group has come, gone, or been made anew.
    fn have_groups_changed(&self) -> bool {
        !self.groups.is_empty() && self.present_groups() != self.groups
    }

    /// Forgets the grants of sessions that are no more.
    fn forget(&mut self) {
        let (opened, named) = (&self.opened, &self.named);
        let is_there = |name: &String| named.contains(name) || opened.iter().any(|session| session.name == *name);
        self.grants.retain(|name, _| is_there(name));
    }
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the rates of a session whose paths are in place.
    fn tell(&self, session: &str, grant: &Grant) {
        // The session may go at this moment.
        let _ = self.enforcer.set_rates(session, &grant.rates());
    }

    /// Makes changes, if they are due, and measures; whether a change was refused.
    fn work(&self, is_due: bool) -> bool {
        let is_due = is_due || self.lock().have_groups_changed();
        if is_due {
            let refused = self.apply().err();
            self.lock().problems.change = refused;
        }
        let refused = self.set_capacities().err();
        let counters = self.enforcer.counters();
        let known = &mut *self.lock();
        known.problems.capacity = refused;
        known.problems.counters = known.meter.take(counters, &known.links, known.enforcement.backend, Instant::now());
        known.problems.change.is_some()
    }

    /// Keeps the sessions to rates that are wanted now.
    fn apply(&self) -> Result<(), String> {
        let groups = self.lock().present_groups();
        let (wanted, links) = self.wanted(&groups)?;
        let mut known = self.lock();
        known.problems.group = groups.problem();
        if wanted != known.applied || groups != known.groups {
            // Rates of other paths must not go to those that are in place.
            known.links.retain(|name, path| links.get(name) == Some(path));
            let valid = |(name, grant): (&String, &Grant)| {
                let told = grant.told.filter(|told| told.elapsed() < LEASE && links.get(name) == Some(&grant.links))?;
                Some((name.clone(), (grant.rates(), told)))
            };
            let grants = known.grants.iter().filter_map(valid).collect();
            drop(known);
            self.enforcer.set_sessions_at(&wanted, &grants).map_err(|error| error.to_string())?;
            known = self.lock();
            (known.applied, known.groups) = (wanted, groups);
        }
        for (name, path) in &links {
            let grant = known.grants.get(name).filter(|grant| grant.links == *path);
            if let Some(grant) = grant.filter(|grant| grant.told.is_some_and(|told| told.elapsed() < LEASE)) {
                self.tell(name, grant);
            }
        }
        known.links = links;
        Ok(())
    }

    /// The sessions whose paths and control groups are known, with the links of these paths.
    fn wanted(&self, groups: &Groups) -> Result<(Vec<Session>, Links), String> {
        let known = self.lock();
        let (mut wanted, mut all) = (Vec::new(), BTreeMap::new());
        for session in known.all() {
            let Some(session) = &groups.matched(session) else { continue };
            let Some(grant) = known.grants.get(&session.name).filter(|grant| grant.told.is_some()) else { continue };
            let path = |links: &Vec<u32>| {
                let places = self.map.places(self.node, links.iter().copied());
                let places = places.ok_or_else(|| "a path of the agent is over links that are not there".to_owned())?;
                known.enforcement.path(&self.map, &places)
            };
            let paths: Result<Vec<_>, String> = grant.links.iter().map(path).collect();
            let paths = paths.map_err(|error| format!("session `{}`: {error}", session.name))?;
            wanted.push(known.enforcement.session(session, paths));
            all.insert(session.name.clone(), grant.links.clone());
        }
        Ok((wanted, all))
    }

    /// Takes the capacities that devices have now.
    fn set_capacities(&self) -> Result<(), String> {
        let present = self.lock().enforcement.devices(&self.map);
        for device in present {
            let old = self.lock().capacities.get(&device.name).copied();
            if old != Some(device.capacity) {
                self.enforcer.set_capacity(&device.name, device.capacity).map_err(|error| error.to_string())?;
                self.lock().capacities.insert(device.name, device.capacity);
            }
        }
        Ok(())
    }
}
