//! The common part of TCP Reno and of the protocols that couple it over several paths: slow start, additive increase,
//! and a decrease at a loss or a mark [rfc5681].
//!
//! ```text
//! slow start, window < threshold:   window += packets acknowledged, or less
//! congestion avoidance:             window += increase, for each packet acknowledged
//! loss or mark, once a window:      threshold = window = decreased, at least the floor
//! timeout:                          threshold = decreased, window = 1
//! ```
//!
//! The protocols differ only in `increase` and `decreased`, except NMCC, which changes slow start too.

use anabranch_core::Time;

use crate::window::{Acked, MOST_WINDOW, Signal, SubflowSnapshot, WindowControl};

/// The state of a subflow that couplings read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Congestion window in packets.
    pub window: f64,
    /// Slow-start threshold in packets: below it the window grows by slow start.
    pub threshold: f64,
    /// Smoothed round trip in seconds; 0 before the first.
    pub rtt: f64,
    /// Whether the subflow is in use.
    pub is_open: bool,
    /// Whether the subflow has timed out and nothing was acknowledged since.
    pub is_silent: bool,
}

impl Flow {
    /// Creates a subflow in use with a window of this many packets.
    pub fn new(window: f64) -> Self {
        Self { window, threshold: f64::INFINITY, rtt: 0.0, is_open: true, is_silent: false }
    }

    /// Whether the subflow is in use and its round trip is known.
    pub fn is_known(&self) -> bool {
        self.is_open && self.rtt > 0.0
    }

    /// Window divided by round trip, in packets a second.
    pub fn rate(&self) -> f64 {
        self.window / self.rtt
    }
}

/// Iterates over the subflows in use whose round trip is known.
pub fn known(flows: &[Flow]) -> impl Iterator<Item = &Flow> + Clone {
    flows.iter().filter(|flow| flow.is_known())
}

/// The dependence between the subflows of a connection.
pub trait Coupling: Send {
    /// The growth of a subflow's window for each packet acknowledged in congestion avoidance; it may be negative.
    ///
    /// The round trip of the subflow itself is known. Other subflows count only if they are [`known`].
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64;

    /// The window of a subflow after a loss or a mark; its round trip may be unknown.
    fn decreased(&self, flows: &[Flow], subflow: usize) -> f64 {
        flows[subflow].window / 2.0
    }

    /// The least window after a loss, in packets.
    fn floor(&self) -> f64 {
        2.0
    }

    /// The growth of a subflow's window for this many packets acknowledged in slow start.
    fn slow_start(&mut self, flows: &[Flow], subflow: usize, packets: f64) -> f64 {
        let _ = (flows, subflow);
        packets
    }

    /// Sets which subflows share links, by a group number for each subflow.
    fn regroup(&mut self, groups: &[u32]) {
        let _ = groups;
    }

    /// Called when a subflow opens.
    fn on_open(&mut self, flows: &[Flow], subflow: usize) {
        let _ = (flows, subflow);
    }

    /// Called when packets of a subflow are acknowledged, before its window grows.
    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        let _ = (subflow, acked);
    }

    /// Called when a subflow has sent nothing for long; its window is now no larger than the first.
    fn on_idle(&mut self, flows: &[Flow], subflow: usize) {
        let _ = (flows, subflow);
    }

    /// Called when packets of a subflow were lost or marked, after its window was reduced from `before` packets.
    fn on_signal(&mut self, flows: &[Flow], subflow: usize, before: f64) {
        let _ = (flows, subflow, before);
    }

    /// A coupling-specific value of the subflow, such as wVegas' rate at saturation.
    fn rank(&self, subflow: usize) -> f64 {
        let _ = subflow;
        0.0
    }

    /// Sets the coupling-specific value of a remote subflow.
    fn set_rank(&mut self, subflow: usize, rank: f64) {
        let _ = (subflow, rank);
    }
}

/// Additive increase and multiplicative decrease under a coupling.
#[derive(Clone, Debug)]
pub struct Aimd<C> {
    flows: Vec<Flow>,
    coupling: C,
    first: f64,
}

impl<C: Coupling> Aimd<C> {
    /// Creates the control of this many closed subflows; their first window is `first` packets.
    pub fn new(subflows: usize, first: f64, coupling: C) -> Self {
        Self { flows: vec![Flow { is_open: false, ..Flow::new(1.0) }; subflows], coupling, first }
    }
}

impl<C: Coupling> WindowControl for Aimd<C> {
    fn open(&mut self, subflow: usize, _now: Time) {
        self.flows[subflow] = Flow::new(self.first);
        self.coupling.on_open(&self.flows, subflow);
    }

    fn close(&mut self, subflow: usize) {
        self.flows[subflow].is_open = false;
    }

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        self.flows[subflow].rtt = acked.smoothed;
        self.flows[subflow].is_silent = false;
        self.coupling.on_ack(subflow, acked);
        if !acked.is_recovering && acked.is_limited {
            self.grow(subflow, f64::from(acked.packets));
        }
    }

    fn on_signal(&mut self, subflow: usize, signal: Signal, in_flight: u32, _now: Time) {
        let least = self.coupling.floor();
        // Half of the packets in flight, if they are fewer than the window: an unused window says nothing of the path.
        let used = f64::from(in_flight.max(1));
        let before = self.flows[subflow].window.min(used + 1.0);
        self.flows[subflow].window = before;
        let down = self.coupling.decreased(&self.flows, subflow).max(least);
        let flow = &mut self.flows[subflow];
        flow.threshold = down;
        flow.is_silent |= signal == Signal::Timeout;
        flow.window = if signal == Signal::Timeout { 1.0 } else { down };
        self.coupling.on_signal(&self.flows, subflow, before);
    }

    fn on_idle(&mut self, subflow: usize) {
        let flow = &mut self.flows[subflow];
        flow.window = flow.window.min(self.first);
        self.coupling.on_idle(&self.flows, subflow);
    }

    fn regroup(&mut self, groups: &[u32]) {
        self.coupling.regroup(groups);
    }

    fn window(&self, subflow: usize) -> f64 {
        self.flows[subflow].window
    }

    fn snapshot(&self, subflow: usize) -> Option<SubflowSnapshot> {
        let Flow { window, threshold, rtt, is_open, is_silent } = self.flows[subflow];
        let rank = self.coupling.rank(subflow);
        is_open.then_some(SubflowSnapshot { window, rtt, rank, is_starting: window < threshold, is_silent })
    }

    fn set_remote(&mut self, subflow: usize, snapshot: Option<SubflowSnapshot>) {
        let Some(SubflowSnapshot { window, rtt, rank, is_starting, is_silent }) = snapshot else {
            return self.close(subflow);
        };
        let threshold = if is_starting { f64::INFINITY } else { window };
        self.flows[subflow] = Flow { window, threshold, rtt, is_open: true, is_silent };
        self.coupling.set_rank(subflow, rank);
    }
}

impl<C: Coupling> Aimd<C> {
    /// Grows the window of a subflow after this many packets were acknowledged.
    fn grow(&mut self, subflow: usize, mut packets: f64) {
        let Flow { window, threshold, .. } = self.flows[subflow];
        if window < threshold {
            let up = self.coupling.slow_start(&self.flows, subflow, packets);
            let room = threshold - window;
            self.flows[subflow].window = (window + up.min(room)).min(MOST_WINDOW);
            packets *= (1.0 - room / up).max(0.0);
        }
        if packets > 0.0 && self.flows[subflow].is_known() {
            let up = packets * self.coupling.increase(&self.flows, subflow);
            let flow = &mut self.flows[subflow];
            flow.window = (flow.window + up).clamp(1.0, MOST_WINDOW);
        }
    }
}
