//! Disciplines in a loop with sources: what becomes of a standing queue.
//!
//! Time goes in steps in which the link sends a packet. A source keeps a window: it grows by a packet in a round trip
//! and is cut at most once in a round trip, when it hears of a mark or a loss, a round trip after the packet left.

use std::collections::VecDeque;

use anabranch_core::Rate;

use super::testing::{Driven, ms, packets, with_ecn};
use super::{Ecn, Item, Limits};

/// Steps in a millisecond: 120 Mbit/s in packets of 1,500 bytes.
const STEPS: u32 = 10;

/// How a source takes marks.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Halves its window.
    Halving(Ecn),
    /// Cuts it by half of the average share of marked packets, as DCTCP does.
    Scalable,
}

struct Source {
    kind: Kind,
    /// Steps without a queue.
    round_trip: u32,
    window: f64,
    in_flight: u32,
    /// When it may cut again; a round trip ends here.
    next_round: u32,
    acknowledged: u32,
    marked: u32,
    share: f64,
    was_cut: bool,
}

impl Source {
    fn new(kind: Kind, round_trip_ms: u32) -> Self {
        Self {
            kind,
            round_trip: round_trip_ms * STEPS,
            window: 2.0,
            in_flight: 0,
            next_round: 0,
            acknowledged: 0,
            marked: 0,
            share: 1.0,
            was_cut: false,
        }
    }

    fn hears(&mut self, step: u32, is_marked: bool, is_lost: bool) {
        self.in_flight -= 1;
        if step >= self.next_round {
            let marked = f64::from(self.marked) / f64::from(self.acknowledged.max(1));
            self.share += (marked - self.share) / 16.0;
            (self.acknowledged, self.marked, self.was_cut) = (0, 0, false);
            self.next_round = step + self.round_trip;
        }
        self.acknowledged += 1;
        self.marked += u32::from(is_marked);
        if !is_marked && !is_lost {
            self.window += 1.0 / self.window;
        } else if !self.was_cut {
            let cut = if self.kind == Kind::Scalable && !is_lost { self.share / 2.0 } else { 0.5 };
            self.window = (self.window * (1.0 - cut)).max(2.0);
            self.was_cut = true;
        }
    }

    fn ecn(&self) -> Ecn {
        match self.kind {
            Kind::Halving(ecn) => ecn,
            Kind::Scalable => Ecn::Ect1,
        }
    }
}

/// What was seen in the second half of a run.
#[derive(Debug, Default)]
struct Seen {
    marks: u32,
    drops: u32,
    sent: Vec<u32>,
    /// Milliseconds that packets waited, by flow: their sum.
    waits: Vec<f64>,
}

impl Seen {
    fn mean_wait_ms(&self) -> f64 {
        self.waits.iter().sum::<f64>() / f64::from(self.sent.iter().sum::<u32>())
    }
}

/// What comes back to its source at a step.
struct Return {
    at: u32,
    is_marked: bool,
    is_lost: bool,
}

fn run(queue: &str, mut sources: Vec<Source>, steps: u32) -> Seen {
    let mut link = Driven::new(queue, Limits::default());
    link.capacity = Rate(120e6);
    let mut returns: Vec<VecDeque<Return>> = sources.iter().map(|_| VecDeque::new()).collect();
    let mut seen = Seen { sent: vec![0; sources.len()], waits: vec![0.0; sources.len()], ..Seen::default() };
    for step in 0..steps {
        link.now = ms(f64::from(step) / f64::from(STEPS));
        for (flow, source) in sources.iter_mut().enumerate() {
            while let Some(back) = returns[flow].pop_front_if(|back| back.at <= step) {
                source.hears(step, back.is_marked, back.is_lost);
            }
            while f64::from(source.in_flight) < source.window.floor() {
                source.in_flight += 1;
                let item = Item { flow: flow as u32, ecn: source.ecn(), ..packets(0..1, 1500)[0] };
                link.offer(vec![item]);
            }
        }
        let sent = link.send();
        let counts = step >= steps / 2;
        for item in link.drops.drain(..) {
            let flow = item.flow as usize;
            returns[flow].push_back(Return { at: step + sources[flow].round_trip, is_marked: false, is_lost: true });
            seen.drops += u32::from(counts);
        }
        let Some(item) = sent else { continue };
        let flow = item.flow as usize;
        let is_marked = item.ecn == Ecn::Ce;
        returns[flow].push_back(Return { at: step + sources[flow].round_trip, is_marked, is_lost: false });
        if counts {
            seen.marks += u32::from(is_marked);
            seen.sent[flow] += 1;
            seen.waits[flow] += item.wait(link.now).seconds() * 1e3;
        }
    }
    seen
}

/// Eight sources that halve, with round trips of 30 to 37 ms, for a minute.
fn eight_halving(queue: &str, ecn: Ecn) -> Seen {
    run(queue, (30..38).map(|round_trip| Source::new(Kind::Halving(ecn), round_trip)).collect(), 60_000 * STEPS)
}

#[test]
fn sources_that_halve_on_a_mark_wait_for_the_target() {
    for (queue, target) in [("codel", 5.0), ("pie", 15.0), ("dualpi2", 15.0)] {
        let seen = eight_halving(queue, Ecn::Ect0);
        let wait = seen.mean_wait_ms();
        assert!((wait - target).abs() < 0.5 * target, "{queue}: {wait} ms");
        assert!(seen.marks > 50 && seen.drops == 0, "{queue}: {seen:?}");
    }
}

#[test]
fn sources_that_cannot_be_marked_lose_packets_and_wait_for_the_target() {
    for (queue, target) in [("codel", 5.0), ("pie", 15.0), ("dualpi2", 15.0)] {
        let seen = eight_halving(queue, Ecn::NotEct);
        let wait = seen.mean_wait_ms();
        assert!((wait - target).abs() < 0.5 * target, "{queue}: {wait} ms");
        assert!(seen.drops > 50 && seen.marks == 0, "{queue}: {seen:?}");
    }
}

#[test]
fn red_keeps_its_average_between_the_thresholds() {
    // 50 to 150 packets are 5 to 15 ms.
    let sources = (0..40).map(|number| Source::new(Kind::Halving(Ecn::Ect0), 20 + number % 20)).collect();
    let seen = run("red = { min = 50, max = 150, max_probability = 0.02 }", sources, 60_000 * STEPS);
    let wait = seen.mean_wait_ms();
    assert!((5.0..15.0).contains(&wait), "{wait} ms");
}

#[test]
fn scalable_sources_wait_a_millisecond_beside_classic_ones_with_as_large_windows() {
    let kinds = [Kind::Halving(Ecn::NotEct), Kind::Scalable];
    let seen = run("dualpi2", kinds.map(|kind| Source::new(kind, 10)).into(), 60_000 * STEPS);
    let waits: Vec<_> = seen.waits.iter().zip(&seen.sent).map(|(sum, &sent)| sum / f64::from(sent)).collect();
    assert!(waits[1] < 1.0 && waits[0] > 5.0, "{waits:?}");
    let windows: Vec<_> = waits.iter().zip(&seen.sent).map(|(wait, &sent)| (10.0 + wait) * f64::from(sent)).collect();
    assert!((0.5..2.0).contains(&(windows[0] / windows[1])), "{windows:?}");
}

/// For so many seconds, 21 packets come while 20 can be sent: how many were marked and dropped in all, and how long the
/// last packet waited, in milliseconds.
fn overload(queue: &str, ecn: Ecn, seconds: u32) -> (usize, usize, f64) {
    let mut link = Driven::new(queue, Limits::default());
    let (mut marked, mut wait) = (0, 0.0);
    for millisecond in 0..1000 * seconds {
        link.now = ms(f64::from(millisecond));
        let count = if millisecond % 20 == 0 { 2 } else { 1 };
        link.offer(with_ecn(packets(0..count, 1500), ecn));
        let item = link.send().expect("more comes than leaves");
        marked += usize::from(item.ecn == Ecn::Ce);
        wait = item.wait(link.now).seconds() * 1e3;
    }
    (marked, link.drops.len(), wait)
}

#[test]
fn a_standing_queue_of_packets_that_can_be_marked_is_marked() {
    // Marks make no difference to such a source. So PIE drops in the end, unless it may mark however likely; CoDel
    // never.
    for queue in ["codel", "pie.most_marked = 1"] {
        let (marked, dropped, _) = overload(queue, Ecn::Ect0, 30);
        assert!(marked > 10 && dropped == 0, "{queue}: {marked} marked, {dropped} dropped");
    }
    let (_, dropped, wait) = overload("pie", Ecn::Ect0, 60);
    assert!(dropped > 100 && wait < 100.0, "{dropped} dropped, waited {wait} ms");
}

#[test]
fn a_standing_queue_of_packets_that_cannot_be_marked_is_dropped_until_it_is_short() {
    // A packet in 21 has to go: 2,857 in a minute, less what waits.
    for queue in ["codel", "pie"] {
        let (marked, dropped, wait) = overload(queue, Ecn::NotEct, 60);
        assert!(marked == 0 && dropped.abs_diff(2857) < 200, "{queue}: {dropped} dropped");
        assert!(wait < 50.0, "{queue}: the last packet waited {wait} ms");
    }
}
