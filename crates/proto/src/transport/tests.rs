//! A source and a sink with paths between them that lose, delay and repeat packets.

use std::collections::BTreeMap;

use anabranch_core::units::MILLISECOND;
use anabranch_core::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::{Ack, Chunk, NO_RATE, Scheduler, Segment, Settings, Sink, Source};
use crate::window::{Acked, Signal, WindowControl};

/// Windows that stay as they are, and what they were told.
#[derive(Default)]
struct Fixed(f64);

impl WindowControl for Fixed {
    fn open(&mut self, _: usize, _: Time) {}
    fn close(&mut self, _: usize) {}
    fn on_ack(&mut self, _: usize, acked: &Acked) {
        assert!(acked.in_flight.1 <= acked.in_flight.0 && f64::from(acked.in_flight.0) <= self.0);
        assert!(acked.rtt.is_none_or(|rtt| rtt > 0.0) && acked.smoothed >= 0.0);
        assert!(acked.delivery.is_none_or(|delivery| delivery.rate > 0.0 && delivery.rate.is_finite()));
    }
    fn on_signal(&mut self, _: usize, _: Signal, _: u32, _: Time) {}
    fn window(&self, _: usize) -> f64 {
        self.0
    }
}

/// What is under way.
#[derive(Clone, Copy)]
enum Cargo {
    Segment(Segment),
    Ack(Ack),
}

/// Source, sink, and paths between them.
struct Pair {
    source: Source,
    sink: Sink,
    settings: Settings,
    /// Delay of each path in milliseconds, one way.
    delays: Vec<u64>,
    now: u64,
    /// By time and order.
    under_way: BTreeMap<(u64, u64), (usize, Cargo)>,
    sent: u64,
    new: u64,
}

impl Pair {
    fn new(settings: Settings, window: f64, delays: &[u64], amount: Option<u64>) -> Self {
        let control = Box::new(Fixed(window));
        let mut source = Source::new(control, settings, Time(0), delays.len(), amount, Rate(f64::INFINITY));
        (0..delays.len()).for_each(|path| source.open(path, Time(0)));
        let (sink, under_way) = (Sink::new(delays.len()), BTreeMap::new());
        Self { source, sink, settings, delays: delays.to_vec(), now: 0, under_way, sent: 0, new: 0 }
    }

    /// Puts something on a path; `fate` 0 loses it, 1 sends it twice, 2 delays it.
    fn put(&mut self, path: usize, cargo: Cargo, fate: u8) {
        let late = if fate == 2 { 7 } else { 0 };
        let time = self.now + (self.delays[path] + late) * MILLISECOND;
        for _ in 0..[0, 2, 1, 1][usize::from(fate.min(3))] {
            self.sent += 1;
            self.under_way.insert((time, self.sent), (path, cargo));
        }
    }

    fn pump(&mut self, hint: usize, fates: &mut impl Iterator<Item = u8>) {
        while let Some((path, segment)) = self.source.poll(Time(self.now), hint) {
            self.put(path, Cargo::Segment(segment), fates.next().unwrap_or(3));
        }
    }

    /// Lets the next thing happen; false if nothing is to come.
    fn step(&mut self, fates: &mut impl Iterator<Item = u8>) -> bool {
        let arrival = self.under_way.keys().next().copied();
        let paths = 0..self.delays.len();
        let patience = paths.clone().filter_map(|p| Some((self.source.deadline(p)?.0, p))).min();
        let due = paths.filter_map(|p| Some((self.sink.due(p)?.0, p))).min();
        let wake = self.source.wake_at().map(|time| time.0);
        let times = [arrival.map(|(time, _)| time), patience.map(|(time, _)| time), due.map(|(time, _)| time), wake];
        let Some(now) = times.into_iter().flatten().min() else { return false };
        self.now = self.now.max(now);
        if let Some(key) = arrival.filter(|key| key.0 == now) {
            let (path, cargo) = self.under_way.remove(&key).unwrap();
            match cargo {
                Cargo::Segment(segment) => {
                    let (new, ack) = self.sink.on_segment(&self.settings, Time(self.now), path, &segment, false);
                    self.new += new;
                    if let Some(ack) = ack {
                        self.put(path, Cargo::Ack(ack), fates.next().unwrap_or(3));
                    }
                }
                Cargo::Ack(ack) => {
                    self.source.on_ack(Time(self.now), path, &ack);
                    self.pump(path, fates);
                }
            }
        } else if let Some((_, path)) = patience.filter(|(time, _)| *time == now) {
            self.source.on_deadline(Time(self.now), path);
            self.pump(path, fates);
        } else if let Some((_, path)) = due.filter(|(time, _)| *time == now) {
            let ack = self.sink.tell(&self.settings, Time(self.now), path);
            self.put(path, Cargo::Ack(ack), fates.next().unwrap_or(3));
        } else {
            self.pump(0, fates);
        }
        true
    }
}

fn settings() -> Settings {
    Settings { packet: Bytes(10), ..Settings::default() }
}

#[test]
fn a_window_is_sent_in_a_round_trip() {
    // 5 packets of 10 bytes every 20 ms: 100 bytes take two rounds.
    let mut pair = Pair::new(settings(), 5.0, &[10], Some(100));
    pair.pump(0, &mut std::iter::empty());
    assert_eq!(pair.under_way.len(), 5);
    while !pair.source.is_done() {
        assert!(pair.step(&mut std::iter::empty()));
    }
    assert_eq!((pair.now, pair.sink.complete(), pair.new), (40 * MILLISECOND, 100, 100));
}

#[test]
fn one_lost_packet_takes_one_round_trip_more() {
    // The second is lost. When the third to fifth are acknowledged, at 20 ms, it goes again.
    let mut pair = Pair::new(settings(), 5.0, &[10], Some(50));
    let mut fates = [3, 0].into_iter();
    pair.pump(0, &mut fates);
    while !pair.source.is_done() {
        assert!(pair.step(&mut fates));
    }
    assert_eq!((pair.now, pair.new), (40 * MILLISECOND, 50));
}

#[test]
fn a_lost_tail_waits_for_patience() {
    // The last packet is lost, and nothing overtakes it: after the first wait of 1 s (no round trip is known when it is
    // sent) or, from the last acknowledgement at 20 ms on, the least wait of 200 ms.
    let mut pair = Pair::new(settings(), 5.0, &[10], Some(30));
    let mut fates = [3, 3, 0].into_iter();
    pair.pump(0, &mut fates);
    while !pair.source.is_done() {
        assert!(pair.step(&mut fates));
    }
    assert_eq!(pair.now, (20 + 200 + 20) * MILLISECOND);
}

#[test]
fn acknowledgements_that_are_put_off_are_waited_for() {
    // A packet at a time, told of 40 ms after it arrives: 240 ms each, and none is sent twice.
    let settings = Settings { ack_every: 2, ack_delay: Span(40 * MILLISECOND), ..settings() };
    let mut pair = Pair::new(settings, 1.0, &[100], Some(200));
    pair.pump(0, &mut std::iter::empty());
    while !pair.source.is_done() {
        assert!(pair.step(&mut std::iter::empty()));
    }
    // 20 packets and as many acknowledgements.
    assert_eq!((pair.now, pair.sent), (20 * 240 * MILLISECOND, 40));
}

#[test]
fn the_end_is_sent_once_more_when_it_is_overdue() {
    // A packet of three over each of two paths, told of after 20 ms: round trip 20 ms, patience 60 ms. The third leaves
    // at 20 ms; the other path, no faster, sends it once more 60 ms later, and 40 ms more if the sink may put its
    // acknowledgement off.
    for (ack_every, overdue) in [(1, 80), (2, 120)] {
        let at = |ms: u64| Time(ms * MILLISECOND);
        let settings = Settings { ack_every, ..settings() };
        let control = Box::new(Fixed(1.0));
        let mut source = Source::new(control, settings, at(0), 2, Some(30), Rate(f64::INFINITY));
        (0..2).for_each(|path| source.open(path, at(0)));
        let mut paths: Vec<usize> = std::iter::from_fn(|| source.poll(at(0), 0)).map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!(paths, [0, 1]);
        let ack = Ack { newest: 0, seen: 1, complete: 0, room: 1000, marked: 0, delay_ns: 0, onward_bps: NO_RATE };
        source.on_ack(at(20), 0, &ack);
        assert_eq!(source.poll(at(20), 0).map(|(path, segment)| (path, segment.chunk.offset)), Some((0, 20)));
        source.on_ack(at(20), 1, &ack);
        assert_eq!((source.poll(at(20), 1), source.wake_at()), (None, Some(at(overdue))));
        assert_eq!(source.poll(at(overdue - 1), 1), None);
        assert_eq!(source.poll(at(overdue), 0).map(|(path, segment)| (path, segment.chunk.offset)), Some((1, 20)));
        assert_eq!((source.poll(at(overdue), 1), source.wake_at()), (None, None));
    }
}

#[test]
fn a_path_that_stays_silent_is_told_of_once() {
    struct Counts(std::sync::Arc<std::sync::atomic::AtomicU32>);
    impl WindowControl for Counts {
        fn open(&mut self, _: usize, _: Time) {}
        fn close(&mut self, _: usize) {}
        fn on_ack(&mut self, _: usize, _: &Acked) {}
        fn on_signal(&mut self, _: usize, signal: Signal, _: u32, _: Time) {
            assert_eq!(signal, Signal::Timeout);
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        fn window(&self, _: usize) -> f64 {
            1.0
        }
    }
    // The first five packets are lost, each after a wait twice as long; then one arrives, and three more are lost.
    let told = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let mut pair = Pair::new(settings(), 1.0, &[10], Some(20));
    let control = Box::new(Counts(std::sync::Arc::clone(&told)));
    pair.source = Source::new(control, settings(), Time(0), 1, Some(20), Rate(f64::INFINITY));
    pair.source.open(0, Time(0));
    let mut fates = [0, 0, 0, 0, 0, 3, 3, 0, 0, 0].into_iter();
    pair.pump(0, &mut fates);
    while !pair.source.is_done() {
        assert!(pair.step(&mut fates));
    }
    assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 2);
}

#[test]
fn a_path_that_fails_does_not_hold_up_the_data() {
    // All on path 1 is lost for ever; path 0 carries it in the end.
    let mut pair = Pair::new(settings(), 4.0, &[10, 10], Some(2000));
    let mut done_at = None;
    for _ in 0..100_000 {
        while let Some((path, segment)) = pair.source.poll(Time(pair.now), 0) {
            pair.put(path, Cargo::Segment(segment), if path == 1 { 0 } else { 3 });
        }
        if pair.source.is_done() || !pair.step(&mut std::iter::empty()) {
            done_at = Some(pair.now);
            break;
        }
        pair.under_way.retain(|_, (path, _)| *path == 0);
    }
    // 200 packets at 4 in 20 ms take 1 s, and the first wait of path 1 as long.
    assert!(done_at.unwrap() <= 1500 * MILLISECOND, "{done_at:?}");
    assert_eq!(pair.sink.complete(), 2000);
}

#[test]
fn a_small_buffer_does_not_stop_a_connection_for_ever() {
    // Room for 3 packets; paths of 1 and 50 ms. What the slow one holds goes over the fast one too.
    let mut pair = Pair::new(Settings { buffer: 30, ..settings() }, 8.0, &[1, 50], Some(1000));
    pair.pump(0, &mut std::iter::empty());
    while !pair.source.is_done() {
        assert!(pair.step(&mut std::iter::empty()));
        assert!(pair.sink.waiting() <= 30);
    }
    assert_eq!(pair.new, 1000);
}

#[test]
fn a_source_asks_for_room_less_and_less_often() {
    // An answer takes 20 ms; packets have 10 bytes, so that room for 5 is as good as none. It asks after 200 ms, and then
    // 400 later, 800, ... 51,200, and no later than 60,000 from then on.
    for room in [0, 5] {
        let settings = Settings { buffer: 10, ..settings() };
        let mut source = Source::new(Box::new(Fixed(1.0)), settings, Time(0), 1, None, Rate(f64::INFINITY));
        source.open(0, Time(0));
        source.poll(Time(0), 0).unwrap();
        let mut now = 0;
        let mut asks = Vec::new();
        for newest in 0..12 {
            now += 20 * MILLISECOND;
            let seen = u64::MAX;
            let ack = Ack { newest, seen, complete: 10, room, marked: 0, delay_ns: 0, onward_bps: NO_RATE };
            source.on_ack(Time(now), 0, &ack);
            assert_eq!(source.poll(Time(now), 0), None);
            now = source.wake_at().unwrap().0;
            assert_eq!(source.poll(Time(now), 0).unwrap().1.chunk, Chunk { offset: 9, bytes: 1 });
            asks.push(now / MILLISECOND);
        }
        let gaps: Vec<u64> = asks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000]);
    }
}

#[test]
fn redundant_paths_each_carry_all() {
    let settings = Settings { scheduler: Scheduler::Redundant, ..settings() };
    let mut pair = Pair::new(settings, 5.0, &[10, 10], Some(50));
    pair.pump(0, &mut std::iter::empty());
    assert_eq!(pair.under_way.len(), 10);
    while !pair.source.is_done() {
        pair.step(&mut std::iter::empty());
    }
    assert_eq!((pair.now, pair.new), (20 * MILLISECOND, 50));
}

fn any_scheduler() -> impl Strategy<Value = Scheduler> {
    prop::sample::select(vec![Scheduler::LowestRtt, Scheduler::RoundRobin, Scheduler::Redundant])
}

proptest! {
    #[test]
    fn all_arrives_once_whatever_is_lost_late_or_twice(
        fates in prop::collection::vec(0u8..8, 0..200),
        delays in prop::collection::vec(1u64..80, 1..4),
        window in 1u8..20,
        amount in 1u64..2000,
        every in 1u32..4,
        room in prop::option::of(10u64..200),
        scheduler in any_scheduler(),
    ) {
        let settings = Settings {
            ack_every: every,
            buffer: room.unwrap_or(u64::MAX / 4),
            scheduler,
            ..settings()
        };
        let mut pair = Pair::new(settings, f64::from(window), &delays, Some(amount));
        let mut fates = fates.into_iter();
        pair.pump(0, &mut fates);
        let mut steps = 0;
        while !pair.source.is_done() {
            steps += 1;
            prop_assert!(pair.step(&mut fates) && steps < 1_000_000, "it hangs after {} steps", steps);
        }
        prop_assert_eq!((pair.sink.complete(), pair.new, pair.sink.waiting()), (amount, amount, 0));
    }

    #[test]
    fn no_acknowledgement_confuses_a_source(
        acks in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>()), 1..50),
        small in any::<bool>(),
    ) {
        let mut source = Source::new(Box::new(Fixed(1e9)), settings(), Time(0), 1, None, Rate(f64::INFINITY));
        source.open(0, Time(0));
        for (number, (newest, seen, complete, room, delay_ns)) in acks.into_iter().enumerate() {
            let now = Time(number as u64 * MILLISECOND);
            for _ in 0..20 {
                source.poll(now, 0);
            }
            let most = if small { 40 } else { u64::MAX };
            let ack = Ack { newest: newest % most, seen, complete: complete % most, room, marked: delay_ns, delay_ns, onward_bps: room };
            source.on_ack(now, 0, &ack);
            source.on_deadline(Time(now.0 + Span(5).0), 0);
        }
    }
}
