//! The thread that makes the kernel follow.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::Rate;

use crate::counters::Counters;
use crate::enforcer::{Grants, Inbox, Request};
use crate::error::EnforceError;
use crate::plan::{self, Batch, Leaf, Placed, Tool, Way};
use crate::rates::Ledger;
use crate::settings::{Device, Session, Setup};
use crate::sink::{Beside, Errors, Sink, run_beside};

/// The least time between two changes of rates.
const CHANGES: Duration = Duration::from_millis(10);

/// The least time between two changes of how connections are split, unless a path comes or goes.
const SPLITS: Duration = Duration::from_millis(250);

pub(crate) struct Worker {
    setup: Setup,
    sink: Sink,
    leaf: Leaf,
    ledger: Ledger,
    sessions: Vec<Placed>,
    inbox: Arc<Inbox>,
    errors: Arc<Mutex<Errors>>,
    split_at: Instant,
    beside: Option<Beside>,
    /// Routes of paths that work again.
    routes: Vec<Way>,
}

impl Worker {
    /// Sets devices up; what fails is undone.
    pub fn begin(
        setup: Setup,
        mut sink: Sink,
        leaf: Leaf,
        inbox: Arc<Inbox>,
        errors: Arc<Mutex<Errors>>,
    ) -> Result<Self, EnforceError> {
        // The hash of flows is secret where it matters: nobody can choose flows that share an entry.
        let seed = match sink {
            Sink::Print(_) => 0,
            #[cfg(target_os = "linux")]
            Sink::Kernel(_) => RandomState::new().build_hasher().finish() as u32,
        };
        if let Err(error) = sink.run(&plan::begin(&setup, leaf, seed)) {
            sink.run_all(&plan::end(&setup, &[]));
            return Err(error);
        }
        let now = Instant::now();
        let mut ledger = Ledger::new(&setup, leaf);
        ledger.set(&[], now);
        let sessions = Vec::new();
        Ok(Self { setup, sink, leaf, ledger, sessions, inbox, errors, split_at: now, beside: None, routes: Vec::new() })
    }

    /// Works until the stop, and then removes everything.
    pub fn work(mut self) {
        let tick = (self.setup.lease / 8).clamp(CHANGES, Duration::from_millis(250));
        let mut next = Instant::now();
        loop {
            let requests = self.await_post(next, tick);
            for request in requests {
                match request {
                    Request::Sessions(sessions, grants, tell) => {
                        let _ = tell.send(self.set(&sessions, &grants));
                    }
                    Request::Capacity(device, capacity, tell) => {
                        let _ = tell.send(self.set_capacity(device, capacity));
                    }
                    Request::Counters(tell) => {
                        let _ = tell.send(self.counters());
                    }
                    Request::Stop => return self.end(),
                }
            }
            let now = Instant::now();
            if now >= next {
                next = now + CHANGES;
                self.tell_rates(now);
                self.tell_splits(now);
            }
        }
    }

    /// Waits for a request, a rate once changes may go out, or a tick; takes what has come.
    fn await_post(&mut self, next: Instant, tick: Duration) -> Vec<Request> {
        let inbox = self.inbox.clone();
        let mut post = inbox.lock();
        let begin = Instant::now();
        loop {
            let now = Instant::now();
            if !post.requests.is_empty() || now >= begin + tick || (!post.rates.is_empty() && now >= next) {
                break;
            }
            let until = if post.rates.is_empty() { begin + tick } else { next.min(begin + tick) };
            let wait = until.saturating_duration_since(now);
            post = inbox.arrived.wait_timeout(post, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        let rates = std::mem::take(&mut post.rates);
        let requests = std::mem::take(&mut post.requests);
        drop(post);
        for placed in &self.sessions {
            if let Some((rates, at)) = rates.get(&placed.session.name) {
                let back = self.ledger.grant(placed, rates, *at);
                self.routes.extend(back.into_iter().map(|index| placed.ways[index].clone()));
            }
        }
        requests
    }

    fn tell_rates(&mut self, now: Instant) {
        let text = self.ledger.due(now);
        if !text.is_empty() && !self.sink.change(&text) {
            self.ledger.tell_all();
        }
    }

    /// Changes how connections are split, and sets routes of paths that are back; one such change runs at a time.
    fn tell_splits(&mut self, now: Instant) {
        if self.beside.as_ref().is_some_and(|beside| !beside.is_finished()) {
            return;
        }
        let mut text = String::new();
        let is_time = now >= self.split_at + SPLITS;
        for placed in &mut self.sessions {
            let round = self.ledger.round(placed);
            let is_urgent = plan::standing(&round) != plan::standing(&placed.round);
            if placed.ways.len() > 1 && (is_urgent || is_time && round != placed.round) {
                placed.round = round;
                text += &plan::split_text(placed);
            }
        }
        let mut routes = [String::new(), String::new()];
        for way in self.routes.drain(..) {
            for (all, own) in routes.iter_mut().zip(plan::replace_routes(&self.setup, &way)) {
                *all += &own;
            }
        }
        let [four, six] = routes;
        let batches: Vec<Batch> = [(Tool::Ip4, four), (Tool::Ip6, six), (Tool::Nft, text)]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(tool, text)| Batch { tool, text })
            .collect();
        if !batches.is_empty() {
            self.split_at = now;
            self.beside = run_beside(&mut self.sink, batches, &self.errors);
        }
    }

    fn set(&mut self, sessions: &[Session], grants: &Grants) -> Result<(), EnforceError> {
        let old = std::mem::take(&mut self.sessions);
        let mut new = plan::place(&old, sessions);
        let (now, mut ledger) = (Instant::now(), self.ledger.clone());
        ledger.set(&new, now);
        for placed in &mut new {
            if let Some((rates, at)) = grants.get(&placed.session.name) {
                ledger.grant(placed, rates, *at);
                placed.round = ledger.round(placed);
            }
        }
        self.settle();
        let room = Batch { tool: Tool::Tc, text: ledger.make_room(now) };
        let grown = plan::grow(&self.setup, self.leaf, &|way| ledger.rate(way, now), &old, &new);
        let batches: Vec<Batch> = [room].into_iter().filter(|batch| !batch.text.is_empty()).chain(grown).collect();
        if let Err(error) = self.sink.run(&batches) {
            self.ledger.tell_all();
            self.sink.run_all(&plan::shrink(&self.setup, &new, &old));
            self.sessions = old;
            return Err(error);
        }
        self.ledger = ledger;
        // The turns of sessions that stay are in the kernel as they were.
        for placed in &mut new {
            if let Some(before) =
                old.iter().find(|before| (before.number, &before.ways) == (placed.number, &placed.ways))
            {
                placed.round.clone_from(&before.round);
            }
        }
        let guarded = self.sink.guard(Some(&self.ledger.floor()));
        self.sink.run_all(&plan::shrink(&self.setup, &old, &new));
        let paths = new.iter().map(|placed| (placed.session.name.clone(), placed.ways.len()));
        self.inbox.lock().paths = paths.collect();
        self.sessions = new;
        guarded
    }

    fn set_capacity(&mut self, device: usize, capacity: Option<Rate>) -> Result<(), EnforceError> {
        let changed = Device { capacity, ..self.setup.devices[device].clone() };
        self.sink.run(&[Batch { tool: Tool::Tc, text: plan::capacity_change(&changed) }])?;
        self.ledger.set_device(device, &changed);
        self.setup.devices[device] = changed;
        Ok(())
    }

    fn counters(&mut self) -> Result<Counters, EnforceError> {
        let mut classes = BTreeMap::new();
        for device in &self.setup.devices {
            let begin = Instant::now();
            let mut counted = self.sink.count(&device.name)?;
            let asked = Some(begin + begin.elapsed() / 2);
            for row in counted.values_mut() {
                row.asked = asked;
            }
            classes.insert(device.name.clone(), counted);
        }
        let of = |device: &str, class| classes[device].get(&class).copied().unwrap_or_default();
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let rows = |placed: &Placed| {
            placed.ways.iter().map(|way| of(&way.path.device, plan::Class::Way(way.number))).collect()
        };
        Ok(Counters {
            sessions: self.sessions.iter().map(|placed| (placed.session.name.clone(), rows(placed))).collect(),
            others: classes.keys().map(|device| (device.clone(), of(device, plan::Class::Others))).collect(),
            errors: errors.count,
            last_error: errors.last,
        })
    }

    fn settle(&mut self) {
        self.sink.settle();
        if let Some(beside) = self.beside.take() {
            let _ = beside.join();
        }
    }

    fn end(mut self) {
        self.settle();
        let _ = self.sink.guard(None);
        self.sink.run_all(&plan::end(&self.setup, &self.sessions));
    }
}
