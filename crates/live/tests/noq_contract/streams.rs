//! Streams: why one has some megabytes under way at most.

use std::sync::Arc;
use std::time::Duration;

use noq_proto::Event;

use crate::pair::{AddressPair, DELAY, From, transport, unless};
use crate::recorder::Recorder;

/// Why a connection is lost, if it is, where a stream has so many bytes under way at once and every other packet is lost.
fn fate(bytes: usize) -> Option<String> {
    // A window beyond 4 GiB is not paced: all leaves at once.
    let mut own = transport();
    own.congestion_controller_factory(Arc::new(Recorder::new(1 << 40, None)));
    let mut pair = AddressPair::connected(own, transport());
    pair.fate = Box::new(|datagram| {
        let is_lost = datagram.from == From::Client && datagram.number % 2 == 0;
        unless(is_lost, datagram)
    });
    pair.write(From::Client, bytes);
    pair.run(DELAY);
    pair.fate = Box::new(|datagram| unless(false, datagram));
    pair.run(Duration::from_secs(1));
    let reason = |event: &Event| match event {
        Event::ConnectionLost { reason } => Some(reason.to_string()),
        _ => None,
    };
    pair.events(From::Server).iter().find_map(reason)
}

#[test]
fn a_stream_with_thousands_of_gaps_ends_its_connection_and_one_with_a_thousand_does_not() {
    // 2 MiB are 1,800 packets, of which 900 are missing; of 6 MB 2,600 are.
    assert_eq!(fate(2 << 20), None);
    let reason = fate(6_000_000).expect("the connection is lost");
    assert!(reason.contains("gaps"), "{reason}");
}
