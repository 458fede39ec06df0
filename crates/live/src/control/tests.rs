//! What window controls are told, where the calls of the QUIC library are made by hand.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anabranch_core::{Rate, Time};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::wvegas::Drain;
use anabranch_proto::window::{Acked, Signal, SubflowSnapshot, WindowControl};

use super::{Controls, Group, MOST_REMOTE, RemoteSubflow, SLOTS, Slot, Unsuited, check, named, suited};
use crate::quic::congestion::{Controller, ControllerFactory};

#[derive(Clone, Copy, Debug)]
enum Call {
    Open(usize),
    Close(usize),
    Acked(usize, Acked),
    Signal(usize, Signal, u32),
    Idle(usize),
    Capacity(usize, Rate),
}

impl Call {
    fn capacity(&self) -> f64 {
        match self {
            Self::Capacity(0, rate) => rate.0,
            told => panic!("{told:?}"),
        }
    }
}

/// A control with a window of 4 packets and a pace of 9.6 Mbit/s, which writes down what it is told.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Call>>>);

impl Recorder {
    fn write(&self, told: Call) {
        self.0.lock().unwrap().push(told);
    }

    /// What it was told since the last time.
    fn read(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The one acknowledgement that it was told of since the last time.
    fn acked(&self) -> Acked {
        match self.read()[..] {
            [Call::Acked(0, acked)] => acked,
            ref told => panic!("{told:?}"),
        }
    }
}

impl WindowControl for Recorder {
    fn open(&mut self, subflow: usize, _now: Time) {
        self.write(Call::Open(subflow));
    }

    fn close(&mut self, subflow: usize) {
        self.write(Call::Close(subflow));
    }

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        self.write(Call::Acked(subflow, *acked));
    }

    fn on_signal(&mut self, subflow: usize, signal: Signal, in_flight: u32, _now: Time) {
        self.write(Call::Signal(subflow, signal, in_flight));
    }

    fn on_idle(&mut self, subflow: usize) {
        self.write(Call::Idle(subflow));
    }

    fn on_capacity(&mut self, subflow: usize, capacity: Rate) {
        self.write(Call::Capacity(subflow, capacity));
    }

    fn window(&self, _subflow: usize) -> f64 {
        4.0
    }

    fn pace(&self, _subflow: usize) -> Option<Rate> {
        Some(Rate(9.6e6))
    }
}

/// A path under a recorder, and the instant at which it began.
struct Path {
    recorder: Recorder,
    start: Instant,
    slot: Slot,
}

impl Path {
    /// One whose times are all to come: the clock of this machine says nothing of them.
    fn new() -> Self {
        Self::since(Instant::now() + Duration::from_hours(1))
    }

    fn since(start: Instant) -> Self {
        let recorder = Recorder::default();
        let group = Group::with(start, Controls::Joint(Box::new(recorder.clone())), true);
        let slot = enter(&group, start);
        assert!(matches!(recorder.read()[..], [Call::Open(0)]));
        Self { recorder, start, slot }
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn send(&mut self, ms: u64, numbers: std::ops::Range<u64>) {
        let now = self.at(ms);
        numbers.for_each(|number| self.slot.on_packet_sent(now, 1200, number));
    }

    /// Packets that were sent at one time are acknowledged.
    fn ack(&mut self, ms: u64, sent_ms: u64, numbers: std::ops::Range<u64>) {
        let (now, sent) = (self.at(ms), self.at(sent_ms));
        let last = numbers.end - 1;
        numbers.for_each(|number| self.slot.on_acked(now, sent, number));
        self.slot.on_end_acks(now, 0, false, Some(last));
    }

    fn lose(&mut self, ms: u64, numbers: std::ops::Range<u64>, is_persistent: bool) {
        let (now, last) = (self.at(ms), numbers.end - 1);
        numbers.for_each(|number| self.slot.on_packet_lost(1200, number, now));
        self.slot.on_congestion_event(now, now, is_persistent, false, 1200, last);
    }
}

fn enter(group: &Arc<Group>, now: Instant) -> Slot {
    *group.clone().build(now, 1200).into_any().downcast::<Slot>().expect("a group makes slots")
}

#[test]
fn a_path_of_another_connection_can_come_under_the_same_control() {
    let mut path = Path::new();
    let mut other = Path::new();
    let (group, from) = (path.slot.home().0, other.slot.home().0);
    let copy = other.slot.clone();
    other.slot.move_to(&group, path.start);
    assert!(matches!(other.recorder.read()[..], [Call::Close(0)]) && from.slots().is_empty());
    assert!(matches!(path.recorder.read()[..], [Call::Open(1)]));
    assert_eq!((copy.number(), group.slots()), (Some(1), vec![0, 1]));
    // What is sent there is told to the control that both have now.
    other.start = path.start;
    other.send(0, 0..2);
    other.ack(10, 0, 0..2);
    other.slot.window();
    assert!(matches!(path.recorder.read()[..], [Call::Acked(1, acked)] if acked.packets == 2));
    drop((other.slot, copy));
    assert_eq!(group.slots(), [0]);
    path.send(0, 0..1);
}

#[test]
fn what_came_while_the_machine_halted_had_not_come_before() {
    let mut path = Path::since(Instant::now());
    path.send(0, 0..1);
    std::thread::sleep(Duration::from_millis(5));
    // The QUIC library looked at the clock after 1 ms, and then at its sockets.
    path.ack(1, 0, 0..1);
    path.slot.window();
    assert!(path.recorder.acked().rtt.is_some_and(|rtt| rtt >= 0.005));
}

#[test]
fn what_is_acknowledged_at_a_time_is_told_as_one_when_the_window_is_asked_for() {
    let mut path = Path::new();
    path.send(0, 0..4);
    path.slot.on_cwnd_limited();
    path.ack(10, 0, 0..3);
    assert!(path.recorder.read().is_empty(), "losses may still follow");
    assert_eq!(path.slot.window(), 4 * 1200);
    let acked = path.recorder.acked();
    assert_eq!((acked.packets, acked.in_flight, acked.marked), (3, (4, 1), 0));
    assert_eq!((acked.rtt, acked.smoothed), (Some(0.01), 0.01));
    assert!(acked.is_limited && !acked.is_recovering);
    // The first round began before anything was sent; the next ends when all four are acknowledged.
    assert!(acked.ends_round);
    // 3 packets in the 10 ms since the newest of them was sent: 300 a second.
    let delivery = acked.delivery.unwrap();
    assert!((delivery.rate - 300.0).abs() < 1e-6 && (delivery.before, delivery.delivered) == (0, 3), "{delivery:?}");
    path.slot.window();
    assert!(path.recorder.read().is_empty(), "it is told once");
}

#[test]
fn a_round_ends_when_all_is_acknowledged_that_was_under_way_at_the_end_of_the_last() {
    let mut path = Path::new();
    path.send(0, 0..4);
    path.ack(10, 0, 0..1);
    path.slot.window();
    path.recorder.read();
    let mut ends = |ms: u64, numbers: std::ops::Range<u64>| {
        path.ack(ms, 0, numbers);
        path.slot.window();
        path.recorder.acked().ends_round
    };
    assert_eq!([ends(11, 1..2), ends(12, 2..3), ends(13, 3..4)], [false, false, true]);
}

#[test]
fn losses_are_told_before_what_shows_them_and_once_for_what_is_under_way() {
    let mut path = Path::new();
    path.send(0, 0..6);
    path.ack(10, 0, 3..4);
    path.lose(10, 0..1, false);
    path.slot.window();
    let told = path.recorder.read();
    let [Call::Signal(0, Signal::Loss, 6), Call::Acked(0, acked)] = told[..] else { panic!("{told:?}") };
    assert!(acked.is_recovering && acked.in_flight == (6, 4), "{acked:?}");
    // 1 and 2 were under way then, as were 4 and 5; 6 to 9 are sent afterwards, and six are left.
    path.send(11, 6..10);
    path.lose(12, 1..3, false);
    assert!(path.recorder.read().is_empty());
    path.ack(13, 11, 9..10);
    path.lose(13, 4..7, false);
    assert!(matches!(path.recorder.read()[..], [Call::Signal(0, Signal::Loss, 6)]));
}

#[test]
fn persistent_congestion_is_a_timeout_and_ecn_is_a_mark() {
    let mut path = Path::new();
    path.send(0, 0..4);
    path.ack(10, 0, 0..1);
    path.slot.on_congestion_event(path.at(10), path.at(0), false, true, 0, 0);
    path.slot.window();
    let told = path.recorder.read();
    assert!(matches!(told[..], [Call::Signal(0, Signal::Mark, 4), Call::Acked(0, _)]), "{told:?}");
    path.send(20, 4..8);
    path.ack(900, 20, 7..8);
    path.lose(900, 1..7, true);
    assert!(matches!(path.recorder.read()[..], [Call::Signal(0, Signal::Timeout, 7)]));
}

#[test]
fn a_window_that_is_not_used_is_not_limited() {
    let mut path = Path::new();
    path.send(0, 0..2);
    path.ack(10, 0, 0..2);
    path.slot.window();
    // Two packets of a window of four: 1.25 times three is less than that.
    assert!(!path.recorder.acked().is_limited);
}

#[test]
fn marks_are_told_with_what_is_acknowledged_and_no_more_at_a_time_than_that() {
    let mut path = Path::new();
    path.send(0, 0..6);
    let group = path.slot.home().0;
    // Three came marked; two are acknowledged, and then one more.
    group.on_marked(0, 3).unwrap();
    let mut marked = |ms: u64, numbers: std::ops::Range<u64>| {
        path.ack(ms, 0, numbers);
        path.slot.window();
        path.recorder.acked().marked
    };
    assert_eq!([marked(10, 0..2), marked(11, 2..3), marked(12, 3..4)], [2, 1, 0]);
    // It is the sum since the beginning that is told, and no more can be marked than were sent.
    group.on_marked(0, 3).unwrap();
    assert_eq!(marked(13, 4..5), 0);
    assert_eq!(group.on_marked(0, 2).unwrap_err().to_string(), "2 packets came marked, and 3 had before");
    group.on_marked(0, u64::MAX).unwrap();
    assert_eq!(marked(14, 5..6), 1);
}

#[test]
fn a_control_is_told_the_lesser_of_capacity_and_onward_rate_in_packets_of_its_own() {
    let path = Path::new();
    let group = path.slot.home().0;
    // 1,200 bytes of payload are 1,228 on a link: 12.28 Mbit/s there are 12 for a control.
    group.set_capacity(0, Rate(12.28e6));
    group.set_onward(Some(24_560_000));
    group.set_onward(Some(6_140_000));
    group.set_onward(None);
    let told: Vec<f64> = path.recorder.read().iter().map(Call::capacity).collect();
    assert_eq!(told.iter().map(|bps| (bps / 1e4).round() / 1e2).collect::<Vec<_>>(), [12.0, 6.0, 12.0]);
    // A path that begins is told of the next loop at once.
    group.set_onward(Some(6_140_000));
    let _second = enter(&group, path.start);
    assert!(matches!(path.recorder.read()[..], [Call::Capacity(0, _), Call::Open(1), Call::Capacity(1, _)]));
}

#[test]
fn the_loop_before_may_count_on_what_is_sent_or_on_what_comes_through() {
    use anabranch_proto::transport::Told::{Sent, Through};
    let mut path = Path::new();
    let group = path.slot.home().0;
    // The recorder paces at 9.6 Mbit/s in packets of 1,200 bytes; on a link these have 1,228.
    assert_eq!((group.onward_bps(Sent), group.onward_bps(Through)), (Some(9_824_000), Some(9_824_000)));
    // Full windows of 4 packets in rounds of 10 ms: 400 a second come through, which are 3.9296 Mbit/s.
    for round in 0..4 {
        let (sent, numbers) = (10 * round, 4 * round..4 * round + 4);
        path.send(sent, numbers.clone());
        path.slot.on_cwnd_limited();
        path.ack(sent + 10, sent, numbers);
        path.slot.window();
    }
    assert_eq!((group.onward_bps(Sent), group.onward_bps(Through)), (Some(9_824_000), Some(3_929_600)));
}

#[test]
fn a_pause_of_more_than_a_timeout_is_told() {
    let mut path = Path::new();
    path.send(0, 0..1);
    path.ack(10, 0, 0..1);
    path.slot.window();
    path.recorder.read();
    // The round trip is 10 ms, so the wait is the least: 200 ms.
    path.send(150, 1..2);
    assert!(path.recorder.read().is_empty());
    path.ack(160, 150, 1..2);
    path.slot.window();
    path.recorder.read();
    path.send(400, 2..3);
    assert!(matches!(path.recorder.read()[..], [Call::Idle(0)]));
}

#[test]
fn windows_and_paces_follow_the_mtu() {
    let mut path = Path::new();
    // Controls take packets to be of 1200 bytes: 9.6 Mbit/s are 1000 of them a second.
    assert_eq!(path.slot.metrics().pacing_rate, Some(1_200_000));
    path.slot.on_mtu_update(9000);
    assert_eq!((path.slot.window(), path.slot.metrics().pacing_rate), (36_000, Some(9_000_000)));
}

#[test]
fn a_path_that_moves_keeps_its_slot_and_leaves_it_with_its_last_copy() {
    let path = Path::new();
    let group = path.slot.home().0;
    let moved = path.slot.clone_box();
    let second = enter(&group, path.start);
    assert!(matches!(path.recorder.read()[..], [Call::Open(1)]));
    drop(path.slot);
    assert_eq!(group.slots(), [0, 1]);
    drop(moved);
    assert!(matches!(path.recorder.read()[..], [Call::Close(0)]));
    assert_eq!((group.slots(), group.state(0)), (vec![1], None));
    // The next path takes the slot that is free.
    let third = enter(&group, path.start);
    assert_eq!((third.number(), second.number()), (Some(0), Some(1)));
}

#[test]
fn a_path_too_many_has_the_least_window() {
    let group = Group::new(&named("lia").unwrap()).unwrap();
    let slots: Vec<Slot> = (0..=SLOTS).map(|_| enter(&group, Instant::now())).collect();
    assert_eq!((slots[SLOTS - 1].number(), slots[SLOTS].number()), (Some(SLOTS - 1), None));
    assert_eq!((slots[0].window(), slots[SLOTS].window()), (12_000, 2_400));
}

#[test]
fn another_control_begins_with_the_paths_that_are_open() {
    let group = Group::new(&named("lia").unwrap()).unwrap();
    let mut slot = enter(&group, Instant::now());
    slot.on_packet_sent(Instant::now(), 1200, 0);
    for name in suited() {
        group.choose(&named(name).unwrap()).unwrap();
        group.regroup(&[1, 1, 2]);
        assert!(group.state(0).is_some_and(|state| state.window >= 1.0), "{name}");
        assert!(slot.window() >= 2_400, "{name}");
    }
}

#[test]
fn protocols_that_need_links_or_capacities_are_refused() {
    let of = |name| check(&Protocol::named(name).unwrap());
    for name in
        ["reno", "cubic", "uncoupled", "lia", "olia", "balia", "ewtcp", "wvegas", "vegas", "nmcc", "bbr", "dctcp"]
    {
        assert_eq!((of(name), named(name).err()), (Ok(()), None), "{name}");
    }
    for name in ["lgc", "lgcc", "log-rate"] {
        assert_eq!(of(name), Ok(()), "{name}");
        assert!(matches!(named(name), Err(Unsuited::NeedsCapacities { .. })), "{name}");
    }
    for name in ["d-slen", "xcp", "rcp"] {
        assert!(matches!(of(name), Err(Unsuited::NeedsLinks { .. })), "{name}");
    }
    assert!(of("formulas").is_ok() && matches!(named("formulas"), Err(Unsuited::NeedsParameters { .. })));
    assert!(matches!(named("linux"), Err(Unsuited::Unknown { .. })));
    // On machines that halt it must not take every halt for a queue.
    assert!(matches!(named("wvegas"), Ok(Protocol::Wvegas(own)) if own.drain == Drain::Steady));
}

/// By how many packets the first window of a path grows under NMCC, when all of it is acknowledged, where others send on so
/// many subflows of group 2; the path itself is in this one.
fn grown(group: u32, others: usize) -> f64 {
    let control = Group::new(&named("nmcc").unwrap()).unwrap();
    let start = Instant::now();
    let mut slot = enter(&control, start);
    control.regroup(&[group]);
    let snapshot = SubflowSnapshot { window: 10.0, rtt: 0.0, rank: 0.0, is_starting: true, is_silent: false };
    control.set_remotes(&vec![RemoteSubflow { group: 2, snapshot }; others], &[]);
    (0..10).for_each(|number| slot.on_packet_sent(start, 1200, number));
    slot.on_cwnd_limited();
    let now = start + Duration::from_millis(10);
    (0..10).for_each(|number| slot.on_acked(now, start, number));
    slot.on_end_acks(now, 0, false, Some(9));
    slot.window();
    control.state(0).unwrap().window - 10.0
}

#[test]
fn subflows_of_others_count_in_the_group_that_they_are_in() {
    // Together with one more the window of 10 grows by half of 10, with three more by a quarter, alone by all.
    for (group, others, wanted) in [(2, 1, 5.0), (2, 3, 2.5), (2, 0, 10.0), (1, 3, 10.0)] {
        assert!((grown(group, others) - wanted).abs() < 1e-9, "{group}, {others}: {}", grown(group, others));
    }
    assert!((grown(2, MOST_REMOTE + 5) - 10.0 / (1.0 + MOST_REMOTE as f64)).abs() < 1e-9);
}

#[test]
fn a_control_tells_how_its_own_subflows_stand_if_it_may_be_coupled() {
    let control = Group::new(&named("lia").unwrap()).unwrap();
    let _slot = enter(&control, Instant::now());
    assert_eq!(control.snapshot(0).map(|snapshot| snapshot.window), Some(10.0));
    assert_eq!((control.snapshot(1), control.snapshot(SLOTS)), (None, None), "these are not its own");
    control.choose(&named("cubic").unwrap()).unwrap();
    assert_eq!(control.snapshot(0), None, "CUBIC is never coupled");
}

#[test]
fn a_rate_by_marks_has_room_for_packets_at_the_hosts() {
    for (name, wanted_s) in [("lgcc", 0.002), ("lgc", 0.002), ("bbr", 0.0), ("reno", 0.0)] {
        let start = Instant::now();
        let control = Group::new(&Protocol::named(name).unwrap()).unwrap();
        let mut slot = enter(&control, start);
        control.set_capacity(0, Rate(96e6));
        for round in 0..10 {
            let at = |ms: u64| start + Duration::from_millis(10 * round + ms);
            slot.on_packet_sent(at(0), 1200, round);
            slot.on_acked(at(10), at(0), round);
            slot.on_end_acks(at(10), 0, false, Some(round));
            slot.window();
        }
        let (bytes, state) = (slot.window() as f64, control.state(0).unwrap());
        let rate = state.pace.map_or(0.0, |pace| pace.0);
        let room = bytes / 1200.0 - state.window;
        // 2 ms at a rate in bit/s, in packets of 9,600 bits.
        assert!((room - rate * wanted_s / 9600.0).abs() < 0.01, "{name}: {room} at {rate}");
        assert!(rate > 0.0 || name == "reno", "{name}");
    }
}
