//! How a controller is called: `control::slot`, `control::subflow` and `control::under_way` go by this.

use std::sync::Arc;
use std::time::Duration;

use noq_proto::{AckFrequencyConfig, EcnCodepoint, MtuDiscoveryConfig, PathId, TransportConfig};

use crate::pair::{AddressPair, DELAY, From, transport, unless};
use crate::recorder::{Call, Recorder};

/// Bytes of a full packet.
const PACKET: u64 = 1200;

/// A client under a recorder, connected to a server.
fn recorded(window: u64, pace: Option<u64>, set: impl FnOnce(&mut TransportConfig)) -> (AddressPair, Recorder) {
    let recorder = Recorder::new(window, pace);
    let mut own = transport();
    own.congestion_controller_factory(Arc::new(recorder.clone()));
    set(&mut own);
    let pair = AddressPair::connected(own, transport());
    (pair, recorder)
}

/// What a path was told of acknowledgements, losses and marks, in order.
fn outcomes(recorder: &Recorder) -> Vec<Call> {
    let is_outcome = |call: &Call| {
        matches!(call, Call::Acked { .. } | Call::AcksEnd { .. } | Call::Lost { .. } | Call::Event { .. })
    };
    recorder.of(0).into_iter().filter(is_outcome).collect()
}

#[test]
fn acknowledgements_are_told_one_by_one_then_their_end_then_losses_then_the_event() {
    let (mut pair, recorder) = recorded(100 * PACKET, None, |_| {});
    recorder.forget();
    let first = 40;
    pair.fate = Box::new(move |datagram| {
        let is_lost = datagram.from == From::Client && [first, first + 1, first + 30].contains(&datagram.number);
        unless(is_lost, datagram)
    });
    pair.write(From::Client, 300_000);
    pair.run(Duration::from_secs(1));
    let calls = outcomes(&recorder);
    for (before, after) in calls.iter().zip(&calls[1..]) {
        match after {
            Call::Lost { .. } => assert!(matches!(before, Call::AcksEnd { .. } | Call::Lost { .. }), "{before:?}"),
            Call::Event { .. } => assert!(matches!(before, Call::Lost { .. }), "{before:?}"),
            _ => assert!(!matches!(before, Call::Lost { .. }), "an event closes losses, not {after:?}"),
        }
        if let Call::Acked { at, .. } = before {
            let same = |after: &Call| matches!(after, Call::Acked { at: other, .. } | Call::AcksEnd { at: other, .. } if other == at);
            assert!(same(after), "acknowledgements end before {after:?}");
        }
    }
    let lost = calls.iter().filter(|call| matches!(call, Call::Lost { .. })).count();
    assert_eq!(lost, 3, "each packet is told as lost once");
}

#[test]
fn a_packet_is_lost_when_one_three_numbers_later_is_acknowledged() {
    let (mut pair, recorder) = recorded(100 * PACKET, None, |_| {});
    pair.fate = Box::new(|datagram| {
        let is_lost = datagram.from == From::Client && datagram.number == 40;
        unless(is_lost, datagram)
    });
    pair.write(From::Client, 200_000);
    pair.run(Duration::from_secs(1));
    let calls = outcomes(&recorder);
    let at = calls.iter().position(|call| matches!(call, Call::Lost { .. })).expect("it is lost");
    let Call::Lost { number: lost } = calls[at] else { unreachable!() };
    let newest = |calls: &[Call]| {
        let acked = |call: &Call| if let Call::Acked { number, .. } = call { Some(*number) } else { None };
        calls.iter().filter_map(acked).max().unwrap_or(0)
    };
    let ends: Vec<usize> = (0..at).filter(|&place| matches!(calls[place], Call::AcksEnd { .. })).collect();
    let before = &calls[..=ends[ends.len() - 2]];
    assert!(newest(&calls[..at]) >= lost + 3 && newest(before) < lost + 3, "{lost}");
}

#[test]
fn marks_are_told_after_the_end_of_acknowledgements_and_without_their_number() {
    let (mut pair, recorder) = recorded(100 * PACKET, None, |_| {});
    recorder.forget();
    pair.fate = Box::new(|datagram| {
        let is_marked = datagram.from == From::Client && (30..60).contains(&datagram.number);
        Some((DELAY, if is_marked { Some(EcnCodepoint::Ce) } else { datagram.ecn }))
    });
    pair.write(From::Client, 200_000);
    pair.run(Duration::from_secs(1));
    let calls = outcomes(&recorder);
    let marked: Vec<usize> = (0..calls.len()).filter(|&at| matches!(calls[at], Call::Event { .. })).collect();
    assert!(!marked.is_empty() && marked.len() < 30, "{} events for 30 marked packets", marked.len());
    for at in marked {
        assert_eq!(calls[at], Call::Event { is_persistent: false, is_ecn: true });
        assert!(matches!(calls[at - 1], Call::AcksEnd { .. }), "{:?}", calls[at - 1]);
    }
}

#[test]
fn a_long_silence_is_persistent_congestion() {
    let (mut pair, recorder) = recorded(100 * PACKET, None, |_| {});
    pair.write(From::Client, 2_000_000);
    pair.run(Duration::from_millis(30));
    pair.fate = Box::new(|_| None);
    pair.run(Duration::from_secs(3));
    pair.fate = Box::new(|datagram| unless(false, datagram));
    pair.run(Duration::from_secs(5));
    let is_persistent = |call: &Call| *call == Call::Event { is_persistent: true, is_ecn: false };
    assert!(outcomes(&recorder).iter().any(is_persistent));
}

#[test]
fn each_space_of_the_handshake_numbers_its_packets_from_0() {
    let (_pair, recorder) = recorded(100 * PACKET, None, |_| {});
    let is_first = |call: &Call| matches!(call, Call::Sent { number: 0, .. });
    assert_eq!(recorder.of(0).into_iter().filter(is_first).count(), 3);
}

#[test]
fn probes_of_the_mtu_that_are_lost_are_forgotten_without_a_word() {
    let recorder = Recorder::new(100 * PACKET, None);
    let mut own = transport();
    own.congestion_controller_factory(Arc::new(recorder.clone()))
        .mtu_discovery_config(Some(MtuDiscoveryConfig::default()));
    let mut pair = AddressPair::new(own, transport());
    pair.fate = Box::new(|datagram| unless(datagram.bytes > 1300, datagram));
    pair.run(Duration::from_secs(1));
    pair.write(From::Client, 200_000);
    pair.run(Duration::from_secs(5));
    let calls = recorder.of(0);
    let is_probe = |call: &Call| matches!(call, Call::Sent { bytes, .. } if *bytes > 1300);
    let first = calls.iter().position(is_probe).expect("probes are sent");
    let number = |call: &Call| match call {
        Call::Sent { number, .. } if is_probe(call) => Some(*number),
        _ => None,
    };
    let probes: Vec<u64> = calls.iter().filter_map(number).collect();
    let is_told = |call: &Call| match call {
        Call::Acked { number, .. } | Call::Lost { number } => probes.contains(number),
        _ => false,
    };
    assert!(!calls[first..].iter().any(is_told), "of {probes:?}");
}

#[test]
fn the_mtu_is_told_when_it_grows_and_not_where_it_is_set() {
    let grown = |call: &Call| matches!(call, Call::Mtu(mtu) if u64::from(*mtu) > PACKET);
    let searching = |own: &mut TransportConfig| _ = own.mtu_discovery_config(Some(MtuDiscoveryConfig::default()));
    assert!(recorded(100 * PACKET, None, searching).1.of(0).iter().any(grown));
    let (mut pair, recorder) = recorded(100 * PACKET, None, |own| _ = own.initial_mtu(1350));
    pair.write(From::Client, 100_000);
    pair.run(Duration::from_secs(1));
    let calls = recorder.of(0);
    assert_eq!(calls[0], Call::Built { mtu: 1350 });
    assert!(!calls.iter().any(|call| matches!(call, Call::Mtu(_))));
    let size = |call: &Call| if let Call::Sent { bytes, .. } = call { *bytes } else { 0 };
    assert_eq!(calls.iter().map(size).max(), Some(1350));
}

#[test]
fn a_window_that_is_full_is_told_and_so_is_that_there_was_nothing_to_send() {
    let starved = |call: &Call| if let Call::AcksEnd { is_starved, .. } = call { Some(*is_starved) } else { None };
    let (mut pair, recorder) = recorded(4 * PACKET, None, |_| {});
    recorder.forget();
    pair.write(From::Client, 100_000);
    pair.run(Duration::from_secs(2));
    let calls = recorder.of(0);
    assert!(calls.contains(&Call::Full));
    let ends: Vec<bool> = calls.iter().filter_map(starved).collect();
    assert!(ends.len() > 10 && !ends[ends.len() / 2], "in the middle there is more to send");
    let (mut pair, recorder) = recorded(100 * PACKET, None, |_| {});
    recorder.forget();
    pair.write(From::Client, 2000);
    pair.run(Duration::from_secs(2));
    let calls = recorder.of(0);
    assert!(!calls.contains(&Call::Full));
    assert!(calls.iter().filter_map(starved).all(|starved| starved));
}

/// How fast a client that always has more to send sends from 30 ms to 70 ms after it has begun, in bytes a second, and its
/// round trip in seconds.
fn pace(window: u64, pace: Option<u64>) -> (f64, f64) {
    let recorder = Recorder::new(window, pace);
    let mut own = transport();
    own.congestion_controller_factory(Arc::new(recorder.clone()));
    let mut pair = AddressPair::new(own, transport());
    pair.fate = Box::new(|datagram| Some((Duration::from_millis(50), datagram.ecn)));
    pair.run(Duration::from_secs(2));
    recorder.forget();
    let (begin, round_trip) = (pair.now, pair.of(From::Client).rtt(PathId::ZERO).unwrap().as_secs_f64());
    pair.write(From::Client, 1_000_000);
    pair.run(Duration::from_millis(80));
    let within = Duration::from_millis(30)..Duration::from_millis(70);
    let sent = |call: Call| match call {
        Call::Sent { at, bytes, .. } if within.contains(&(at - begin)) => u64::from(bytes),
        _ => 0,
    };
    (recorder.of(0).into_iter().map(sent).sum::<u64>() as f64 / 0.04, round_trip)
}

#[test]
fn the_pacer_sends_a_quarter_more_than_a_window_in_a_round_trip_or_at_the_rate_of_the_controller() {
    let window = 200 * PACKET;
    let (rate, round_trip) = pace(window, None);
    let wanted = 1.25 * window as f64 / round_trip;
    assert!((rate / wanted - 1.0).abs() < 0.1, "{rate} bytes a second, not {wanted}");
    let (rate, _) = pace(1000 * PACKET, Some(1_200_000));
    assert!((rate / 1_200_000.0 - 1.0).abs() < 0.1, "{rate} bytes a second, not 1,200,000");
}

#[test]
fn a_lone_packet_is_acknowledged_after_the_delay_that_was_asked_for_and_a_millisecond_at_the_least() {
    let late = |delay: Duration| {
        let (mut pair, recorder) = recorded(100 * PACKET, None, |own| {
            let mut acks = AckFrequencyConfig::default();
            acks.ack_eliciting_threshold(1_u32.into()).max_ack_delay(Some(delay));
            own.ack_frequency_config(Some(acks));
        });
        // The first goes with the request for such acknowledgements.
        pair.write(From::Client, 100);
        pair.run(Duration::from_secs(1));
        recorder.forget();
        pair.write(From::Client, 100);
        pair.run(Duration::from_secs(1));
        let took = |call: Call| if let Call::Acked { at, sent, .. } = call { Some(at - sent) } else { None };
        recorder.of(0).into_iter().find_map(took).expect("it is acknowledged").saturating_sub(2 * DELAY)
    };
    let millisecond = Duration::from_millis(1);
    assert_eq!([late(5 * millisecond), late(millisecond)], [5 * millisecond, millisecond]);
    assert_eq!(late(millisecond / 10), millisecond, "no less can be asked for");
}

#[test]
fn packets_leave_as_ect0_until_a_path_changes_the_field() {
    for (seen, still) in [(Some(EcnCodepoint::Ect0), true), (Some(EcnCodepoint::Ect1), false), (None, false)] {
        let (mut pair, _) = recorded(100 * PACKET, None, |_| {});
        let last = Arc::new(std::sync::Mutex::new(None));
        let own = last.clone();
        pair.fate = Box::new(move |datagram| match datagram.from {
            From::Client => {
                *own.lock().unwrap() = datagram.ecn;
                Some((DELAY, seen))
            }
            From::Server => unless(false, datagram),
        });
        pair.write(From::Client, 1000);
        pair.run(Duration::from_millis(5));
        assert_eq!(*last.lock().unwrap(), Some(EcnCodepoint::Ect0));
        for _ in 0..5 {
            pair.write(From::Client, 20_000);
            pair.run(Duration::from_secs(1));
        }
        assert_eq!(last.lock().unwrap().is_some(), still, "{seen:?}");
    }
}
