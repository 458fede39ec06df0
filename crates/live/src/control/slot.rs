//! A slot of a group, as the QUIC library's controller of a path.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_proto::window::{Signal, WindowControl};

use super::{BITS, FIRST_WINDOW, Group, LEAST_WINDOW, Open, at_hosts, window_bytes};
use crate::qlog::{ConnectionLog, PathLog, Sample};
use crate::quic::congestion::{Controller, ControllerFactory, ControllerMetrics, RttEstimator};

/// The controller of a path: it keeps no state, and passes everything to its group.
///
/// The QUIC library copies it when the path moves to other addresses. The copies share one slot, which is free again
/// when the last of them is dropped.
#[derive(Clone, Debug)]
pub struct Slot {
    home: Arc<Mutex<Home>>,
    first_mtu: u16,
    /// What is told of the path, if a log is kept.
    log: Option<Arc<PathLog>>,
}

/// The slot in a group; `None` if all were taken, which makes the window the least.
#[derive(Debug)]
struct Home {
    group: Arc<Group>,
    slot: Option<usize>,
}

impl Home {
    fn new(group: Arc<Group>, now: Instant, mtu: u16) -> Self {
        let slot = group.enter(group.time(now), mtu);
        Self { group, slot }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.group.leave(slot);
        }
    }
}

impl ControllerFactory for Group {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Slot::new(self, now, current_mtu, None))
    }
}

/// A factory of controllers that keep a log.
pub(crate) struct Logged {
    pub(crate) group: Arc<Group>,
    pub(crate) log: Arc<ConnectionLog>,
}

impl ControllerFactory for Logged {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Slot::new(self.group.clone(), now, current_mtu, Some(self.log.path().into())))
    }
}

impl Slot {
    fn new(group: Arc<Group>, now: Instant, first_mtu: u16, log: Option<Arc<PathLog>>) -> Self {
        Self { home: Arc::new(Mutex::new(Home::new(group, now, first_mtu))), first_mtu, log }
    }

    /// The log of the path, if one is kept.
    pub(crate) fn log(&self) -> Option<&PathLog> {
        self.log.as_deref()
    }

    /// Number of the slot in its group; `None` if no slot was left.
    pub fn number(&self) -> Option<usize> {
        self.home().1
    }

    /// The group, and the number of the slot in it.
    pub(super) fn home(&self) -> (Arc<Group>, Option<usize>) {
        let home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        (home.group.clone(), home.slot)
    }

    /// Moves the path to another group, where it begins anew. So paths of several connections have one control.
    pub(crate) fn move_to(&self, group: &Arc<Group>, now: Instant) {
        let mtu = self.with(|open, _, _| open.mtu).unwrap_or(self.first_mtu);
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&home.group, group) {
            *home = Home::new(group.clone(), now, mtu);
        }
    }

    /// The round trip of the path and how much it changes; `None` before the first.
    pub(crate) fn round_trip(&self) -> Option<(Duration, Duration)> {
        self.with(|open, _, _| open.path.round_trip()).flatten()
    }

    /// Processes the acknowledgement of a packet.
    pub(super) fn on_acked(&self, now: Instant, sent: Instant, pn: u64) {
        let news = self.at(|group, open, control, own| {
            let news = self.settle(open, control, own);
            open.path.on_acked(group.time(now), pn, group.time(sent));
            news
        });
        self.tell(news.flatten());
    }

    /// Passes complete acknowledgements to the control; what the log is to hear of them, if one is kept.
    fn settle(&self, open: &mut Open, control: &mut dyn WindowControl, own: usize) -> Option<Sample> {
        if self.log.is_none() || !open.path.is_to_settle() {
            open.path.settle(control, own);
            return None;
        }
        let latest_rtt = open.path.latest_rtt();
        open.path.settle(control, own);
        let (packets_in_flight, is_recovering) = open.path.in_flight();
        let window = window_bytes(control.window(own) + at_hosts(&*control, own), open.mtu);
        let smoothed_rtt = open.path.rtt();
        Some(Sample { smoothed_rtt, latest_rtt, window, packets_in_flight, pacing_rate: None, is_recovering })
    }

    /// Tells the log how the path is.
    fn tell(&self, news: Option<Sample>) {
        if let (Some(log), Some(news)) = (&self.log, news) {
            let (group, slot) = self.home();
            let pace = slot.and_then(|slot| group.lock().pace(slot));
            log.metrics(Instant::now(), &Sample { pacing_rate: pace.map(|pace| pace.0 as u64), ..news });
        }
    }

    /// Calls a function on the path and its control, if there is a slot.
    fn with<T>(&self, act: impl FnOnce(&mut Open, &mut dyn WindowControl, usize) -> T) -> Option<T> {
        self.at(|_, open, control, own| act(open, control, own))
    }

    /// Calls a function on the group, the path and its control, if there is a slot.
    fn at<T>(&self, act: impl FnOnce(&Group, &mut Open, &mut dyn WindowControl, usize) -> T) -> Option<T> {
        let (group, slot) = self.home();
        let slot = slot?;
        let inner = &mut *group.lock();
        if inner.subflows[slot].as_ref()?.path.is_to_settle() {
            inner.grow_remotes(slot);
        }
        let open = inner.subflows[slot].as_mut()?;
        let (control, own) = inner.controls.of(slot);
        Some(act(&group, open, control, own))
    }
}

impl Controller for Slot {
    fn on_packet_sent(&mut self, now: Instant, _bytes: u16, pn: u64) {
        let news = self.at(|group, open, control, own| {
            let news = self.settle(open, control, own);
            if open.path.on_sent(group.time(now), pn) {
                control.on_idle(own);
            }
            news
        });
        self.tell(news.flatten());
    }

    fn on_cwnd_limited(&mut self) {
        self.with(|open, _, _| open.path.on_full());
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, _bytes: u64, pn: u64, _app_limited: bool, _rtt: &RttEstimator) {
        self.on_acked(now, sent, pn);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        if let Some(log) = &self.log {
            log.in_flight(in_flight);
        }
        // The library reads the clock before its sockets. If this machine halts in between, packets that arrive
        // meanwhile have a time before their arrival, and round trips would be shorter than paths are.
        let now = now.max(Instant::now());
        self.at(|group, open, _, _| open.path.on_end(group.time(now), app_limited));
    }

    fn on_packet_lost(&mut self, _lost_bytes: u16, pn: u64, now: Instant) {
        if let Some(log) = &self.log {
            log.lost(now, pn);
        }
        self.with(|open, _, _| open.path.on_lost(pn));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let (signal, trigger) = match (is_ecn, is_persistent_congestion) {
            (true, _) => (Signal::Mark, "ecn"),
            (false, true) => (Signal::Timeout, "persistent_congestion"),
            (false, false) => (Signal::Loss, "packet_loss"),
        };
        let is_taken = self.at(|group, open, control, own| {
            let taken = open.path.on_signal(signal);
            if let Some((signal, in_flight)) = taken {
                control.on_signal(own, signal, in_flight, group.time(now));
            }
            taken.is_some()
        });
        if let (Some(log), Some(true)) = (&self.log, is_taken) {
            log.recovers(now, trigger);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.with(|open, _, _| open.mtu = new_mtu);
    }

    fn window(&self) -> u64 {
        let found = self.with(|open, control, own| {
            let news = self.settle(open, control, own);
            (window_bytes(control.window(own) + at_hosts(&*control, own), open.mtu), news)
        });
        let (window, news) = found.unwrap_or_else(|| (window_bytes(LEAST_WINDOW, self.first_mtu), None));
        self.tell(news);
        window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        let (group, slot) = self.home();
        let pace = slot.and_then(|slot| group.lock().pace(slot));
        metrics.pacing_rate = pace.map(|pace| (pace.0 / BITS) as u64);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        window_bytes(FIRST_WINDOW, self.first_mtu)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
