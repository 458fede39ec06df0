//! A target that asks several sources for an object, over paths that lose, delay and repeat, and sources that die: every
//! byte is right, and is read once and in order.

use std::collections::BTreeMap;

use anabranch_core::units::MILLISECOND;
use anabranch_core::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Chunk, Segment, Settings, Sink, Source};
use crate::ConnectionView;
use crate::protocols::{Control, Protocol};
use crate::testing::alone;

/// A path from a source to the target; each direction of a packet has a fate of its own.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// In milliseconds, one way.
    delay: u64,
    /// The time that a data packet takes, in microseconds, one after the other; a hundred may wait.
    packet: u64,
    /// The shares of packets that are lost, late by up to a round trip, or come twice.
    loss: f64,
    late: f64,
    twice: f64,
    /// When its source dies, in milliseconds.
    dies: u64,
}

const GOOD: Way = Way { delay: 2, packet: 100, loss: 0.0, late: 0.0, twice: 0.0, dies: u64::MAX / MILLISECOND };

/// So many packets may wait at a path.
const QUEUE: u64 = 100;

enum Cargo {
    Request(Segment),
    Data(Segment, Vec<u8>),
}

/// What has come of a fetch.
#[derive(Debug)]
struct Fetched {
    /// What the application has read, in order.
    read: Vec<u8>,
    /// In milliseconds.
    took: f64,
    /// Bytes that came in vain.
    repeated: u64,
}

fn object(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Fetches an object of so many bytes in packets of 100; `None` if it comes to no end.
fn fetch(protocol: &str, bytes: u64, ways: &[Way], room: u64, seed: u64) -> Option<Fetched> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let object = object(bytes);
    let settings = Settings { packet: Bytes(100), buffer: room, ..Settings::default() };
    let view = ConnectionView { subflows: ways.len(), packet: Bytes(100), ..alone() };
    let Control::Windows(control) = Protocol::named(protocol).unwrap().source(&view) else { unreachable!() };
    let mut source = Source::new(control, settings, Time(0), ways.len(), Some(bytes), Rate(f64::INFINITY));
    (0..ways.len()).for_each(|path| source.open(path, Time(0)));
    let mut sink = Sink::new(ways.len());
    let mut under_way: BTreeMap<(u64, u64), (usize, Cargo)> = BTreeMap::new();
    let (mut free, mut count, mut now, mut repeated) = (vec![0_u64; ways.len()], 0, 0, 0);
    // What has arrived, wherever it belongs; the application reads what is in order.
    let (mut kept, mut read): (Vec<Option<u8>>, Vec<u8>) = (vec![None; object.len()], Vec::new());
    let mut hint = 0;
    for _ in 0..2_000_000 {
        let arrivals = |rng: &mut ChaCha8Rng, at: u64, way: &Way| -> Vec<u64> {
            let late = if rng.random_bool(way.late) { rng.random_range(0..2 * way.delay * MILLISECOND) } else { 0 };
            let copies = if rng.random_bool(way.loss) { 0 } else { 1 + usize::from(rng.random_bool(way.twice)) };
            vec![at + way.delay * MILLISECOND + late; copies]
        };
        let mut put = |under_way: &mut BTreeMap<_, _>, at: u64, path: usize, cargo: Cargo| {
            count += 1;
            under_way.insert((at, count), (path, cargo));
        };
        while let Some((path, segment)) = source.poll(Time(now), hint) {
            for at in arrivals(&mut rng, now, &ways[path]) {
                put(&mut under_way, at, path, Cargo::Request(segment));
            }
        }
        let deadline = (0..ways.len()).filter_map(|path| Some((source.deadline(path)?.0, path))).min();
        let wake = source.wake_at().map(|time| time.0);
        let arrival = under_way.keys().next().copied();
        let next = [arrival.map(|key| key.0), deadline.map(|own| own.0), wake].into_iter().flatten().min()?;
        now = now.max(next);
        if let Some(key) = arrival.filter(|key| key.0 <= now) {
            match under_way.remove(&key).unwrap() {
                (path, Cargo::Request(segment)) if now < ways[path].dies * MILLISECOND => {
                    let Chunk { offset, bytes } = segment.chunk;
                    let data = object[offset as usize..][..bytes as usize].to_vec();
                    let wait = free[path].saturating_sub(now);
                    if wait > QUEUE * ways[path].packet * 1_000_000 {
                        continue;
                    }
                    free[path] = now + wait + ways[path].packet * 1_000_000;
                    for at in arrivals(&mut rng, free[path], &ways[path]) {
                        put(&mut under_way, at, path, Cargo::Data(segment, data.clone()));
                    }
                }
                (_, Cargo::Request(_)) => {}
                (path, Cargo::Data(segment, data)) => {
                    hint = path;
                    let (new, ack) = sink.on_segment(&settings, Time(now), path, &segment, false);
                    repeated += data.len() as u64 - new;
                    let from = segment.chunk.offset as usize;
                    kept[from..from + data.len()].iter_mut().zip(data).for_each(|(place, byte)| *place = Some(byte));
                    read.extend(
                        (read.len()..sink.complete() as usize).map(|place| kept[place].expect("it is in order")),
                    );
                    assert!(sink.waiting() <= room, "more waits than there is room for");
                    source.on_ack(Time(now), path, &ack.expect("every packet is told of"));
                }
            }
        } else if let Some((_, path)) = deadline.filter(|own| own.0 <= now) {
            hint = path;
            source.on_deadline(Time(now), path);
        }
        if source.is_done() {
            return Some(Fetched { read, took: Span(now).seconds() * 1e3, repeated });
        }
    }
    None
}

const PLENTY: u64 = u64::MAX / 4;

#[test]
fn two_sources_take_half_of_the_time() {
    // 20,000 packets of 100 us over two paths: 1 s, and little over for slow start.
    let fetched = fetch("nmcc", 2_000_000, &[GOOD; 2], PLENTY, 1).unwrap();
    assert!(fetched.read == object(2_000_000));
    assert!((1000.0..1100.0).contains(&fetched.took) && fetched.repeated == 0, "{} ms", fetched.took);
}

#[test]
fn a_slow_source_does_not_hold_the_others_back() {
    // The slow one has a hundredth of the rate and ten times the delay: with the fast one alone it would take 2 s.
    let slow = Way { delay: 100, packet: 10_000, ..GOOD };
    let fetched = fetch("nmcc", 2_000_000, &[GOOD, slow], PLENTY, 1).unwrap();
    assert!(fetched.read == object(2_000_000));
    assert!((1900.0..2150.0).contains(&fetched.took), "{} ms", fetched.took);
}

#[test]
fn a_source_that_dies_costs_what_it_had_to_give() {
    // Half of what is there after 300 ms; the rest takes as long over one path as over none: 300 + 2 (1000 - 300) ms, a
    // round trip or two until it is missed.
    let dies = Way { dies: 300, ..GOOD };
    let fetched = fetch("nmcc", 2_000_000, &[GOOD, dies], PLENTY, 1).unwrap();
    assert!(fetched.read == object(2_000_000));
    assert!((1650.0..1900.0).contains(&fetched.took), "{} ms", fetched.took);
}

#[test]
fn what_a_source_does_not_bring_at_the_end_is_asked_of_another() {
    // 1,000 packets of 100 us over two paths take 50 ms and slow start. One dies just before the end: what it did not
    // bring is asked of the other after three round trips or so, of 4 ms and 10 ms in its queue.
    for dies in 44..56 {
        let dies = Way { dies, ..GOOD };
        for ways in [[GOOD, dies], [dies, GOOD]] {
            let fetched = fetch("nmcc", 100_000, &ways, PLENTY, 1).unwrap();
            assert!(fetched.read == object(100_000) && fetched.took < 110.0, "{dies:?}: {} ms", fetched.took);
        }
    }
}

#[test]
fn a_source_that_never_answers_is_not_waited_for() {
    // 200 packets of 100 us: 20 ms and slow start. The silent one was asked for the first ten: they are asked for again
    // as soon as the good one would have brought them, and not after the first wait of 1 s.
    let silent = Way { dies: 0, ..GOOD };
    for ways in [vec![GOOD, silent], vec![silent, GOOD], vec![silent, GOOD, silent]] {
        let fetched = fetch("nmcc", 20_000, &ways, PLENTY, 1).unwrap();
        assert!(fetched.read == object(20_000) && fetched.took < 100.0, "{} ms", fetched.took);
    }
}

#[test]
fn five_in_a_hundred_lost_and_many_late_change_no_byte() {
    let bad = Way { loss: 0.05, late: 0.2, twice: 0.05, ..GOOD };
    for protocol in ["nmcc", "reno", "uncoupled", "bbr"] {
        let ways = if protocol == "reno" || protocol == "bbr" { &[bad][..] } else { &[bad; 3] };
        let fetched = fetch(protocol, 300_000, ways, PLENTY, 7).unwrap();
        assert!(fetched.read == object(300_000), "{protocol}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_byte_is_read_once_and_in_order(
        bytes in 1_u64..60_000,
        ways in prop::collection::vec(
            (1_u64..200, 1_u64..5_000, 0.0..0.3_f64, 0.0..0.5_f64, 0.0..0.3_f64, prop::option::of(0_u64..2_000)),
            1..5,
        ),
        room in prop::option::of(100_u64..5_000),
        seed in any::<u64>(),
    ) {
        let mut ways: Vec<Way> = ways
            .into_iter()
            .map(|(delay, packet, loss, late, twice, dies)| {
                Way { delay, packet, loss, late, twice, dies: dies.unwrap_or(GOOD.dies) }
            })
            .collect();
        // One lives.
        ways[0].dies = GOOD.dies;
        let fetched = fetch("nmcc", bytes, &ways, room.unwrap_or(PLENTY), seed);
        prop_assert!(fetched.is_some_and(|fetched| fetched.read == object(bytes)));
    }
}
