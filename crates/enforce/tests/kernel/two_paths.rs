//! Ordinary programs over two paths.

use std::io::Read;
use std::time::Duration;

use crate::node::{alone, assert_near, hold, iperf, measure, rates, session, setup, two_cables, via};

fn uplinks() -> Vec<anabranch_enforce::Path> {
    vec![via("a0", "10.1.0.2"), via("a1", "10.2.0.2")]
}

#[test]
fn parallel_streams_use_both_paths_and_follow_their_rates() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let before = a.state();
    let enforcer = a.enforce(setup(&[("a0", None), ("a1", None)]));
    enforcer.set_sessions(&[session("bulk", 5201..=5201, uplinks())]).unwrap();
    enforcer.set_rates("bulk", &rates(&[20.0, 10.0])).unwrap();
    let (mut client, _server) = iperf(&a, &b, "10.9.0.2", 5201, 8, 11);
    for granted in [[20.0, 10.0], [5.0, 40.0], [100.0, 8.0]] {
        hold(&enforcer, 1.0, &[("bulk", &granted)]);
        let (measured, _) = measure(&enforcer, &[("bulk", &granted)]);
        assert_near(&measured[0], &granted);
    }
    drop(client.0.stdout.take().map(|mut text| text.read_to_end(&mut Vec::new())));
    assert!(client.0.wait().unwrap().success());
    a.run(move || enforcer.stop());
    assert_eq!(a.state(), before);
}

#[test]
fn two_connections_use_two_paths() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let enforcer = a.enforce(setup(&[("a0", None), ("a1", None)]));
    enforcer.set_sessions(&[session("few", 5201..=5201, uplinks())]).unwrap();
    enforcer.set_rates("few", &rates(&[4.0, 4.0])).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    // The first connection of iperf3 controls the others, which take the next turns.
    let _programs = iperf(&a, &b, "10.9.0.2", 5201, 2, 4);
    hold(&enforcer, 1.0, &[("few", &[4.0, 4.0])]);
    assert_near(&measure(&enforcer, &[("few", &[4.0, 4.0])]).0[0], &[4.0, 4.0]);
}

#[test]
fn connections_go_to_a_path_whose_rate_rises_from_nothing() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let enforcer = a.enforce(setup(&[("a0", None), ("a1", None)]));
    enforcer.set_sessions(&[session("bulk", 5201..=5201, uplinks())]).unwrap();
    hold(&enforcer, 0.5, &[("bulk", &[12.0, 1e-6])]);
    let _programs = iperf(&a, &b, "10.9.0.2", 5201, 8, 11);
    for granted in [[12.0, 1e-6], [4.0, 9.0], [1e-6, 10.0]] {
        hold(&enforcer, 1.0, &[("bulk", &granted)]);
        let (measured, _) = measure(&enforcer, &[("bulk", &granted)]);
        let used: Vec<usize> = (0..2).filter(|&path| granted[path] > 1.0).collect();
        let of = |rates: &[f64]| used.iter().map(|&path| rates[path]).collect::<Vec<_>>();
        assert_near(&of(&measured[0]), &of(&granted));
    }
}

#[test]
fn connections_of_a_lost_path_go_on_over_the_other() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let enforcer = a.enforce(setup(&[("a0", None), ("a1", None)]));
    enforcer.set_sessions(&[session("bulk", 5201..=5201, uplinks())]).unwrap();
    enforcer.set_rates("bulk", &rates(&[10.0, 10.0])).unwrap();
    let (mut client, _server) = iperf(&a, &b, "10.9.0.2", 5201, 4, 9);
    hold(&enforcer, 1.0, &[("bulk", &[10.0, 10.0])]);
    assert_near(&measure(&enforcer, &[("bulk", &[10.0, 10.0])]).0[0], &[10.0, 10.0]);
    hold(&enforcer, 1.0, &[("bulk", &[0.0, 15.0])]);
    let (measured, _) = measure(&enforcer, &[("bulk", &[0.0, 15.0])]);
    // What waited on the lost path leaves at the floor.
    assert!(measured[0][0] < 0.2, "{measured:?} Mbit/s");
    assert_near(&measured[0][1..], &[15.0]);
    drop(client.0.stdout.take().map(|mut text| text.read_to_end(&mut Vec::new())));
    assert!(client.0.wait().unwrap().success(), "no connection broke");
}
