//! Paths: their numbers, when they open and end, and what becomes of their controllers. `live::paths` goes by this.

use std::sync::Arc;
use std::time::Duration;

use anabranch_live::quic::path_number;
use noq_proto::{AckFrequencyConfig, Event, FourTuple, PathError, PathId, PathStatus};

use crate::pair::{AddressPair, CLIENT, From, SERVER, transport, unless};
use crate::recorder::{Call, Recorder};

#[test]
fn paths_are_numbered_from_0_and_their_numbers_can_be_read() {
    assert_eq!(path_number(PathId::ZERO), Some(0));
    for number in [1_u32, 7, u32::MAX] {
        assert_eq!(path_number(PathId::from(number)), Some(number));
    }
}

#[test]
fn a_path_has_one_number_at_both_ends_and_no_other_path_has_it_later() {
    let mut pair = AddressPair::connected(transport(), transport());
    let second = pair.open_second();
    assert_eq!(path_number(second), Some(1));
    assert_eq!(pair.paths(From::Server).0, [second]);
    let now = pair.now;
    pair.of(From::Client).close_path(now, second, 0_u32.into()).unwrap();
    pair.run(Duration::from_secs(2));
    assert_eq!((pair.paths(From::Client).1, pair.paths(From::Server).1), (vec![second], vec![second]));
    assert_eq!(path_number(pair.open_second()), Some(2));
}

#[test]
fn a_moment_after_the_handshake_there_is_no_room_for_another_path_yet() {
    let mut pair = AddressPair::new(transport(), transport());
    pair.run(Duration::from_millis(25));
    assert!(!pair.of(From::Client).is_handshaking(), "it is connected after a round trip");
    let between = FourTuple::new(SERVER, Some(CLIENT[1]));
    let now = pair.now;
    let refused = pair.of(From::Client).open_path(between, PathStatus::Available, now).unwrap_err();
    assert!(matches!(refused, PathError::RemoteCidsExhausted | PathError::MaxPathIdReached), "{refused}");
    pair.run(Duration::from_secs(1));
    pair.open_second();
}

#[test]
fn a_path_without_an_answer_ends_and_the_connection_goes_on() {
    let idle = Duration::from_secs(2);
    let mut own = transport();
    own.default_path_max_idle_timeout(Some(idle));
    let mut pair = AddressPair::connected(own, transport());
    let second = pair.open_second();
    pair.fate = Box::new(|datagram| unless(datagram.client != CLIENT[0], datagram));
    for _ in 0..8 {
        pair.of(From::Client).ping_path(PathId::ZERO).unwrap();
        pair.run(idle / 2);
    }
    assert_eq!(pair.paths(From::Client).1, [second]);
    assert!(!pair.of(From::Client).is_closed());
}

/// Lets the client give up the only path that the server knows, while its next one gets no answer. The server asks for
/// certain acknowledgements or not.
fn lose_all_paths(asks: bool) -> AddressPair {
    let mut served = transport();
    served.ack_frequency_config(asks.then(AckFrequencyConfig::default));
    let mut pair = AddressPair::connected(transport(), served);
    pair.fate = Box::new(|datagram| unless(datagram.client == CLIENT[1], datagram));
    let now = pair.now;
    let between = FourTuple::new(SERVER, Some(CLIENT[1]));
    pair.of(From::Client).open_path(between, PathStatus::Available, now).unwrap();
    pair.of(From::Client).close_path(now, PathId::ZERO, 0_u32.into()).unwrap();
    pair.run(Duration::from_secs(1));
    pair
}

#[test]
fn a_connection_without_a_path_waits_for_the_next_for_a_while_and_ends() {
    let mut pair = lose_all_paths(false);
    assert_eq!(pair.paths(From::Server).1, [PathId::ZERO]);
    assert!(!pair.of(From::Server).is_closed());
    pair.fate = Box::new(|datagram| unless(false, datagram));
    let next = pair.open_second();
    pair.run(Duration::from_secs(9));
    assert!(pair.paths(From::Server).0.contains(&next));
    assert!(!pair.of(From::Server).is_closed());
    let mut pair = lose_all_paths(false);
    pair.run(Duration::from_secs(9));
    assert!(pair.events(From::Server).iter().any(|event| matches!(event, Event::ConnectionLost { .. })));
}

#[test]
#[should_panic(expected = "one path exists")]
fn a_connection_that_asks_for_acknowledgements_must_not_lose_all_its_paths() {
    // Since it panics with a lock, the process ends. `QuicConfig::acks` goes by this.
    lose_all_paths(true);
}

#[test]
fn a_controller_is_copied_when_the_address_of_the_other_end_changes() {
    let recorder = Recorder::new(100 * 1200, None);
    let mut own = transport();
    own.congestion_controller_factory(Arc::new(recorder.clone()));
    let mut pair = AddressPair::connected(transport(), own);
    pair.write(From::Client, 1000);
    pair.run(Duration::from_secs(1));
    assert!(!recorder.of(0).contains(&Call::Copied));
    pair.client_port += 1;
    pair.write(From::Client, 1000);
    pair.run(Duration::from_secs(1));
    assert!(recorder.of(0).contains(&Call::Copied));
    assert!(recorder.of(1).is_empty(), "none is built anew");
}

#[test]
fn what_comes_on_one_path_may_be_acknowledged_on_another() {
    let recorder = Recorder::new(100 * 1200, None);
    let mut own = transport();
    own.congestion_controller_factory(Arc::new(recorder.clone()));
    let mut pair = AddressPair::connected(own, transport());
    let second = pair.open_second();
    recorder.forget();
    // Nothing comes back on the second path.
    pair.fate = Box::new(|datagram| {
        let is_cut = datagram.from == From::Server && datagram.client == CLIENT[1];
        unless(is_cut, datagram)
    });
    for _ in 0..10 {
        pair.of(From::Client).ping_path(second).unwrap();
        pair.run(Duration::from_millis(100));
    }
    assert!(recorder.of(1).iter().any(|call| matches!(call, Call::Acked { .. })));
}
