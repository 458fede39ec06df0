//! NMCC: subflows that share links grow together as the fastest of them alone would, in slow start too; subflows that
//! share no link are independent [thomas2016].
//!
//! ```text
//! growth_i  = 1 / rtt_i           in congestion avoidance, in packets a second and round trip
//!             window_i / rtt_i    in slow start
//! m         = sum of growth_i / max of growth_i    over the subflows of a group: the friendliness factor
//!
//! congestion avoidance:   window += 1 / (m window)        for each packet acknowledged
//! slow start:             window += shadow / (m window)   for each packet acknowledged
//! loss or mark:           threshold = window = window / 2, at least 2
//! ```
//!
//! shadow is the window that slow start of a single TCP would have reached on the path: it doubles each round. So the
//! slow starts of a group together grow as one does, packet for packet. Both windows in the formula are those of the
//! beginning of the round, in whole packets.
//!
//! A group consists of the subflows whose paths share links, directly or through other subflows; the network reports
//! groups (`WindowControl::regroup`). Without its help all subflows are one group. An unknown round trip counts as the
//! fastest, so m begins as the number of subflows. A subflow that has timed out does not grow, so it does not count
//! until it is acknowledged again.
//!
//! differs: the text of the paper has regular windows in m, those that a single TCP would have (`cwnd_tcp`); its
//! algorithm 1 has the present windows, as here. Where the windows of a group differ from their shadows by different
//! factors, m differs.
//!
//! differs: for unfriendly slow start (`slow_start = "unfriendly"`) the paper has results, not the rule. Here each
//! subflow doubles its window in a round, as TCP does, and m counts all subflows as if they were in congestion
//! avoidance.
//!
//! differs: e-NMCC-like, a reconstruction from the abstract of the follow-up, also shares the decrease: a loss takes m
//! / 2 of the window, down to 1. With shared growth and separate losses, subflows that lose packets at different times
//! get more than one TCP does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Sources};
pub use crate::window::links;
use crate::window::{Aimd, Coupling, Flow, MOST_WINDOW, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { sources: Sources::GroupedWindows, ..Capabilities::WINDOWS };

/// Parameters of NMCC; the defaults are those of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NmccParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The effect of a loss.
    pub variant: Variant,
    /// Whether slow starts of a group are shared.
    pub slow_start: SlowStart,
    /// Whether the network reports which subflows share links; otherwise all subflows count as one group.
    pub assistance: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { variant: Variant::Nmcc, slow_start: SlowStart::Friendly, assistance: true }
    }
}

/// The effect of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NmccVariant")]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// A loss halves the window of its subflow.
    Nmcc,
    /// A loss takes m / 2 of the window of its subflow: a reconstruction of e-NMCC.
    ENmccLike,
}

/// Whether slow starts of a group are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NmccSlowStart")]
#[serde(rename_all = "kebab-case")]
pub enum SlowStart {
    /// Slow starts of a group together grow as one TCP.
    Friendly,
    /// Each slow start grows as a TCP; m counts subflows as in congestion avoidance.
    Unfriendly,
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let nmcc = Nmcc::new(parameters.clone(), connection.subflows);
    Box::new(Aimd::new(connection.subflows, connection.first_window, nmcc))
}

struct Nmcc {
    parameters: Parameters,
    groups: Vec<u32>,
    starts: Vec<Start>,
}

/// Slow start of a subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    /// Window that a single TCP would have, in packets.
    shadow: f64,
    /// Growth of a single TCP's window for each packet acknowledged in this round, and packets left in the round.
    step: f64,
    left: f64,
}

impl Start {
    /// Creates a slow start in which both windows are equal.
    fn at(window: f64) -> Self {
        Self { shadow: window, step: 1.0, left: whole(window) }
    }

    /// Processes acknowledged packets for a window that grows by 1 / `factor` of the growth of a single TCP; returns
    /// its growth.
    fn grow(&mut self, window: f64, factor: f64, packets: f64) -> f64 {
        let now = packets.min(self.left);
        let up = now * self.step / factor;
        self.shadow = (self.shadow + now * self.step).min(MOST_WINDOW);
        self.left -= now;
        if self.left > 0.0 {
            return up;
        }
        self.left = whole(window + up);
        self.step = self.shadow / self.left;
        // Further packets belong to the next round; one acknowledgement begins at most one round.
        let over = (packets - now).min(self.left);
        self.shadow = (self.shadow + over * self.step).min(MOST_WINDOW);
        self.left -= over;
        up + over * self.step / factor
    }
}

/// Whole packets that a window permits in a round.
fn whole(window: f64) -> f64 {
    window.floor().max(1.0)
}

impl Nmcc {
    fn new(parameters: Parameters, subflows: usize) -> Self {
        Self { parameters, groups: vec![0; subflows], starts: vec![Start::default(); subflows] }
    }

    /// Friendliness factor of the group of a subflow (m), 1 or more.
    fn factor(&self, flows: &[Flow], subflow: usize) -> f64 {
        let (mut sum, mut most, mut unknown) = (0.0, 0.0_f64, 0.0);
        for (flow, group) in flows.iter().zip(&self.groups) {
            if !flow.is_open || flow.is_silent || *group != self.groups[subflow] {
                continue;
            }
            if !flow.is_known() {
                unknown += 1.0;
                continue;
            }
            let is_starting = flow.window < flow.threshold && self.parameters.slow_start == SlowStart::Friendly;
            let growth = if is_starting { flow.rate() } else { 1.0 / flow.rtt };
            sum += growth;
            most = most.max(growth);
        }
        let known = if most > 0.0 { sum / most } else { 0.0 };
        (known + unknown).max(1.0)
    }
}

impl Coupling for Nmcc {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        1.0 / (self.factor(flows, subflow) * flows[subflow].window)
    }

    fn decreased(&self, flows: &[Flow], subflow: usize) -> f64 {
        let share = match self.parameters.variant {
            Variant::Nmcc => 0.5,
            Variant::ENmccLike => 0.5 * self.factor(flows, subflow),
        };
        flows[subflow].window * (1.0 - share)
    }

    fn floor(&self) -> f64 {
        match self.parameters.variant {
            Variant::Nmcc => 2.0,
            Variant::ENmccLike => 1.0,
        }
    }

    fn slow_start(&mut self, flows: &[Flow], subflow: usize, packets: f64) -> f64 {
        if self.parameters.slow_start == SlowStart::Unfriendly {
            return packets;
        }
        let factor = self.factor(flows, subflow);
        self.starts[subflow].grow(flows[subflow].window, factor, packets)
    }

    fn regroup(&mut self, groups: &[u32]) {
        if self.parameters.assistance {
            self.groups.copy_from_slice(groups);
        }
    }

    fn on_open(&mut self, flows: &[Flow], subflow: usize) {
        self.starts[subflow] = Start::at(flows[subflow].window);
    }

    fn on_idle(&mut self, flows: &[Flow], subflow: usize) {
        self.starts[subflow] = Start::at(flows[subflow].window);
    }

    fn on_signal(&mut self, flows: &[Flow], subflow: usize, _: f64) {
        self.starts[subflow] = Start::at(flows[subflow].window);
    }
}

#[cfg(test)]
mod tests {
    use anabranch_core::Time;

    use super::*;
    use crate::testing::alone;
    use crate::window::testing::{acked, flow, is_near, is_within};
    use crate::window::{Acked, Signal};

    fn nmcc(subflows: usize) -> Nmcc {
        Nmcc::new(Parameters::default(), subflows)
    }

    #[test]
    fn the_factor_of_two_round_trips() {
        // 50 and 100 ms: (20 + 10) / 20. 10 and 100: 110 / 100. 10 and 250: 104 / 100, where the paper prints 1.004.
        for (rtts, factor) in [([0.05, 0.1], 1.5), ([0.01, 0.1], 1.1), ([0.01, 0.25], 1.04)] {
            let flows = rtts.map(|rtt| flow(20.0, rtt));
            assert!(is_near(nmcc(2).factor(&flows, 0), factor) && is_near(nmcc(2).factor(&flows, 1), factor));
        }
    }

    #[test]
    fn in_150_ms_it_grows_by_two_packets_and_one() {
        // Over 50 ms 3 windows in 150 ms, over 100 ms 1.5, each by 1 / 1.5.
        let flows = [flow(20.0, 0.05), flow(20.0, 0.1)];
        let nmcc = nmcc(2);
        let grown = [(0, 3.0), (1, 1.5)].map(|(i, windows)| windows * 20.0 * nmcc.increase(&flows, i));
        assert!(is_near(grown[0], 2.0) && is_near(grown[1], 1.0), "{grown:?}");
    }

    #[test]
    fn slow_start_counts_with_its_window() {
        // 1 / 0.05 = 20, 4 / 0.1 = 40: 60 / 40.
        let mut flows = [flow(20.0, 0.05), flow(4.0, 0.1)];
        flows[1].threshold = f64::INFINITY;
        assert!(is_near(nmcc(2).factor(&flows, 0), 1.5));
        let unfriendly = Parameters { slow_start: SlowStart::Unfriendly, ..Parameters::default() };
        flows[1].rtt = 0.05;
        assert!(is_near(Nmcc::new(unfriendly, 2).factor(&flows, 0), 2.0));
    }

    #[test]
    fn who_is_not_there_does_not_count_and_who_is_not_known_counts_as_the_fastest() {
        let mut flows = [flow(20.0, 0.05), flow(20.0, 0.0), flow(20.0, 0.0)];
        assert!(is_near(nmcc(3).factor(&flows, 0), 3.0));
        flows[2].is_open = false;
        assert!(is_near(nmcc(3).factor(&flows, 0), 2.0));
        flows[0].rtt = 0.0;
        assert!(is_near(nmcc(3).factor(&flows, 1), 2.0));
    }

    #[test]
    fn who_has_timed_out_does_not_count_until_it_answers() {
        let view = ConnectionView { subflows: 2, ..alone() };
        let mut control = source(&Parameters::default(), &view);
        (0..2).for_each(|i| control.open(i, Time(0)));
        let grown = |control: &mut dyn WindowControl| {
            let before = control.window(0);
            control.on_ack(0, &acked(0.1, 0.1));
            control.window(0) - before
        };
        // Slow start: 1 / 2 while nothing is known of the other, 1 when that has timed out, less when it answers.
        assert!(is_near(grown(&mut *control), 0.5));
        control.on_signal(1, Signal::Timeout, 10, Time(0));
        assert!(is_near(grown(&mut *control), 1.0));
        control.on_ack(1, &Acked { packets: 0, ..acked(0.1, 0.1) });
        assert!(grown(&mut *control) < 1.0);
    }

    #[test]
    fn groups_mind_their_own() {
        let flows = [0.05, 0.05, 0.1].map(|rtt| flow(20.0, rtt));
        let mut told = nmcc(3);
        told.regroup(&[0, 1, 0]);
        assert!(is_near(told.factor(&flows, 0), 1.5) && is_near(told.factor(&flows, 1), 1.0));
        let mut alone = Nmcc::new(Parameters { assistance: false, ..Parameters::default() }, 3);
        alone.regroup(&[0, 1, 0]);
        assert!(is_near(alone.factor(&flows, 1), 2.5));
    }

    #[test]
    fn three_slow_starts_grow_as_one_tcp() {
        // One TCP from 2 packets: 2, 4, 8 ... more each round, 2, 6, 14, 30, 62, 126 in all.
        let view = ConnectionView { subflows: 3, first_window: 2.0, ..alone() };
        let mut control = source(&Parameters::default(), &view);
        (0..3).for_each(|i| control.open(i, Time(0)));
        (0..3).for_each(|i| control.on_ack(i, &Acked { packets: 0, ..acked(0.0, 0.1) }));
        let mut grown = Vec::new();
        for _ in 0..6 {
            let packets = control.window(0).floor() as u32;
            (0..packets).for_each(|_| (0..3).for_each(|i| control.on_ack(i, &acked(0.1, 0.1))));
            grown.push((0..3).map(|i| control.window(i)).sum::<f64>() - 6.0);
        }
        let wanted = [2.0, 6.0, 14.0, 30.0, 62.0, 126.0];
        // While one subflow is ahead of the others by a packet, m is a little under 3.
        assert!(grown.iter().zip(wanted).all(|(&grown, wanted)| is_within(grown, wanted, 0.07)), "{grown:?}");
    }

    #[test]
    fn after_a_timeout_slow_start_is_shared_again_up_to_half() {
        let view = ConnectionView { subflows: 2, ..alone() };
        let mut control = source(&Parameters::default(), &view);
        (0..2).for_each(|i| control.open(i, Time(0)));
        (0..2).for_each(|i| control.on_ack(i, &Acked { packets: 0, ..acked(0.0, 0.1) }));
        (0..2).for_each(|i| control.on_signal(i, Signal::Timeout, 10, Time(0)));
        (0..2).for_each(|i| control.on_ack(i, &Acked { packets: 0, ..acked(0.1, 0.1) }));
        // From 1 packet each by 1/2, then by 2/2 since TCP has 2, then by 4/2 over 2 packets; the threshold is 5.
        let windows: Vec<f64> = (0..3)
            .map(|_| {
                (0..2).for_each(|i| control.on_ack(i, &acked(0.1, 0.1)));
                control.window(0)
            })
            .collect();
        assert!(
            windows.iter().zip([1.5, 2.5, 3.5]).all(|(&window, wanted)| is_within(window, wanted, 0.03)),
            "{windows:?}"
        );
    }

    #[test]
    fn after_an_idle_time_slow_start_begins_anew() {
        let mut control = source(&Parameters::default(), &alone());
        control.open(0, Time(0));
        // In the middle of a round; then 10 packets, and 10 more when these are acknowledged.
        (0..2546).for_each(|_| control.on_ack(0, &acked(0.1, 0.1)));
        control.on_idle(0);
        (0..10).for_each(|_| control.on_ack(0, &acked(0.2, 0.1)));
        assert!(is_near(control.window(0), 20.0), "{}", control.window(0));
    }

    #[test]
    fn a_loss_halves_the_window_that_had_it() {
        let mut control = source(&Parameters::default(), &ConnectionView { subflows: 2, ..alone() });
        (0..2).for_each(|i| control.open(i, Time(0)));
        control.on_signal(0, Signal::Loss, 10, Time(0));
        assert!(is_near(control.window(0), 5.0) && is_near(control.window(1), 10.0));
    }

    #[test]
    fn e_nmcc_like_shares_the_decrease() {
        // m = 1.5: three quarters of 20 go. m = 2: all, down to 1.
        let like = Nmcc::new(Parameters { variant: Variant::ENmccLike, ..Parameters::default() }, 2);
        let flows = [flow(20.0, 0.05), flow(20.0, 0.1)];
        assert!(is_near(like.decreased(&flows, 0), 5.0));
        let flows = [flow(20.0, 0.1), flow(20.0, 0.1)];
        assert!(is_near(like.decreased(&flows, 0).max(like.floor()), 1.0));
    }
}
