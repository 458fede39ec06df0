//! Keys: why a server takes new ones as soon as a client is there.

use std::sync::Arc;
use std::time::Duration;

use noq_proto::PathId;

use crate::pair::{AddressPair, CLIENT, From, transport};
use crate::recorder::{Call, Recorder};

/// Packets that a client loses which sends 3 MB over two paths with other delays, of which the wire loses none.
fn lost(seed: u8, renews: bool) -> usize {
    let recorder = Recorder::new(50 * 1200, None);
    let mut own = transport();
    own.congestion_controller_factory(Arc::new(recorder.clone()));
    let mut pair = AddressPair::seeded(seed, own, transport());
    pair.run(Duration::from_secs(1));
    if renews {
        pair.of(From::Server).force_key_update();
        pair.of(From::Server).ping_path(PathId::ZERO).unwrap();
        pair.run(Duration::from_secs(1));
    }
    pair.fate = Box::new(|datagram| {
        let delay = if datagram.client == CLIENT[0] { 20 } else { 15 };
        Some((Duration::from_millis(delay), datagram.ecn))
    });
    // The first path is ahead of the second by a hundred packets.
    pair.write(From::Client, 120_000);
    pair.run(Duration::from_secs(1));
    pair.open_second();
    recorder.forget();
    pair.write(From::Client, 3_000_000);
    pair.run(Duration::from_secs(20));
    let all = [recorder.of(0), recorder.of(1)].concat();
    let count = |is_it: fn(&Call) -> bool| all.iter().filter(|call| is_it(call)).count();
    let acked = count(|call| matches!(call, Call::Acked { .. }));
    assert!(acked > 2000, "all is sent: {acked}");
    count(|call| matches!(call, Call::Lost { .. }))
}

#[test]
fn new_keys_cost_packets_of_other_paths_unless_they_are_taken_before_these_open() {
    // When keys change by themselves is drawn at random, from 10 to 1000 packets.
    let all = |renews: bool| (1..=4).map(|seed| lost(seed, renews)).collect::<Vec<_>>();
    assert_eq!(all(true), [0; 4]);
    assert!(all(false).iter().any(|lost| *lost > 0), "`quic::renew_keys` is not needed any more");
}
