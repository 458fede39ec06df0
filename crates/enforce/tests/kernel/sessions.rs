//! Sessions beside each other and beside other traffic; traffic of others that a router forwards.

use std::time::Duration;

use anabranch_enforce::{Path, Protocol, Route, Session, Traffic};

use crate::node::{Node, alone, assert_near, cable, hold, iperf, measure, rates, session, setup, two_cables, via};

fn ordinary(device: &str) -> Path {
    Path { device: device.to_owned(), route: Route::Ordinary }
}

#[test]
fn two_sessions_do_not_disturb_each_other_and_other_traffic_gets_the_rest() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let enforcer = a.enforce(setup(&[("a0", Some(60e6))]));
    let sessions =
        [session("one", 5301..=5309, vec![ordinary("a0")]), session("two", 5311..=5319, vec![ordinary("a0")])];
    enforcer.set_sessions(&sessions).unwrap();
    let granted: [(&str, &[f64]); 2] = [("one", &[10.0]), ("two", &[20.0])];
    hold(&enforcer, 0.2, &granted);
    let _programs = [
        iperf(&a, &b, "10.9.0.2", 5301, 6, 9),
        iperf(&a, &b, "10.9.0.2", 5311, 1, 9),
        iperf(&a, &b, "10.9.0.2", 80, 4, 9),
    ];
    hold(&enforcer, 1.0, &granted);
    let (paths, others) = measure(&enforcer, &granted);
    assert_near(&[paths[0][0], paths[1][0], others[0]], &[10.0, 20.0, 30.0]);
    // One session alone gets less; the other one does not notice, and other traffic gets what is left.
    let less: [(&str, &[f64]); 2] = [("one", &[2.0]), ("two", &[20.0])];
    hold(&enforcer, 1.0, &less);
    let (paths, others) = measure(&enforcer, &less);
    assert_near(&[paths[0][0], paths[1][0], others[0]], &[2.0, 20.0, 38.0]);
}

#[test]
fn other_traffic_uses_what_sessions_do_not() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let enforcer = a.enforce(setup(&[("a0", Some(60e6))]));
    enforcer.set_sessions(&[session("idle", 5301..=5309, vec![ordinary("a0")])]).unwrap();
    hold(&enforcer, 0.2, &[("idle", &[50.0])]);
    let _programs = iperf(&a, &b, "10.9.0.2", 80, 4, 5);
    hold(&enforcer, 1.0, &[("idle", &[50.0])]);
    assert_near(&measure(&enforcer, &[("idle", &[50.0])]).1, &[60.0]);
}

#[test]
fn a_router_keeps_the_traffic_of_its_hosts_to_rates_over_two_paths() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let host = Node::new();
    cable((&host, "h0", &["10.3.0.1/24"]), (&a, "a2", &["10.3.0.2/24"]));
    host.sh("ip route add default via 10.3.0.2");
    b.sh("ip route add 10.3.0.0/24 via 10.1.0.1");
    let enforcer = a.enforce(setup(&[("a0", None), ("a1", None)]));
    let traffic = Traffic {
        sources: vec!["10.3.0.0/24".parse().unwrap()],
        destinations: vec!["10.9.0.0/24".parse().unwrap()],
        ..Traffic::default()
    };
    let paths = vec![via("a0", "10.1.0.2"), via("a1", "10.2.0.2")];
    enforcer.set_sessions(&[Session { name: "site".to_owned(), traffic: vec![traffic], paths }]).unwrap();
    hold(&enforcer, 0.5, &[("site", &[8.0, 12.0])]);
    let _programs = iperf(&host, &b, "10.9.0.2", 5201, 6, 5);
    hold(&enforcer, 1.0, &[("site", &[8.0, 12.0])]);
    assert_near(&measure(&enforcer, &[("site", &[8.0, 12.0])]).0[0], &[8.0, 12.0]);
}

#[test]
fn an_uplink_with_its_own_source_address_carries_connections() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    // The far end refuses the first uplink's addresses on the second one.
    b.sh("ip route add blackhole 10.1.0.1");
    let enforcer = a.enforce(setup(&[("a1", None)]));
    let route = Route::Via { gateway: "10.2.0.2".parse().unwrap(), source: Some("10.2.0.1".parse().unwrap()) };
    enforcer.set_sessions(&[session("second", 5201..=5201, vec![Path { device: "a1".to_owned(), route }])]).unwrap();
    hold(&enforcer, 0.2, &[("second", &[5.0])]);
    let _programs = iperf(&a, &b, "10.9.0.2", 5201, 2, 5);
    hold(&enforcer, 1.0, &[("second", &[5.0])]);
    assert_near(&measure(&enforcer, &[("second", &[5.0])]).0[0], &[5.0]);
}

#[test]
fn rates_that_are_not_repeated_fall() {
    let Some(_alone) = alone(&[]) else { return };
    let (a, _b) = two_cables();
    let mut setup = setup(&[("a0", None)]);
    setup.lease = Duration::from_millis(200);
    let enforcer = a.enforce(setup);
    let udp = Traffic { protocol: Some(Protocol::Udp), ..Traffic::default() };
    enforcer
        .set_sessions(&[Session { name: "udp".to_owned(), traffic: vec![udp], paths: vec![ordinary("a0")] }])
        .unwrap();
    enforcer.set_rates("udp", &rates(&[8.0])).unwrap();
    let rate = |enforcer: &anabranch_enforce::Enforcer| enforcer.counters().unwrap().sessions["udp"][0].rate_bps;
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(rate(&enforcer), 8_000_000);
    std::thread::sleep(Duration::from_millis(400));
    assert!([2_000_000, 4_000_000].contains(&rate(&enforcer)), "{}", rate(&enforcer));
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(rate(&enforcer), 64_000);
}

#[test]
fn sessions_come_and_go_without_traces_and_keep_what_stays() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let (a, b) = two_cables();
    let before = a.state();
    let enforcer = a.enforce(setup(&[("a0", None), ("a1", None)]));
    let empty = a.state();
    let both = vec![via("a0", "10.1.0.2"), via("a1", "10.2.0.2")];
    let stays = session("stays", 5201..=5201, both.clone());
    let goes = session("goes", 5202..=5202, both.clone());
    let comes = session("comes", 5203..=5203, both);
    enforcer.set_sessions(&[goes.clone(), stays.clone()]).unwrap();
    let granted: [(&str, &[f64]); 1] = [("stays", &[6.0, 4.0])];
    hold(&enforcer, 0.5, &granted);
    let _programs = iperf(&a, &b, "10.9.0.2", 5201, 4, 10);
    hold(&enforcer, 1.0, &granted);
    enforcer.set_sessions(std::slice::from_ref(&stays)).unwrap();
    assert!(enforcer.set_rates("goes", &rates(&[1.0, 1.0])).is_err());
    assert_near(&measure(&enforcer, &granted).0[0], &[6.0, 4.0]);
    enforcer.set_sessions(&[stays.clone(), goes]).unwrap();
    assert_near(&measure(&enforcer, &granted).0[0], &[6.0, 4.0]);
    // One takes the place of another at once.
    enforcer.set_sessions(&[comes, stays]).unwrap();
    assert_near(&measure(&enforcer, &granted).0[0], &[6.0, 4.0]);
    enforcer.set_sessions(&[]).unwrap();
    // Flows stay remembered until they expire.
    let chains = |state: String| -> Vec<String> {
        state
            .lines()
            .map(ToOwned::to_owned)
            .filter(|line| !line.contains("expires") && !line.contains("elements"))
            .collect()
    };
    assert_eq!(chains(a.state()), chains(empty));
    drop(enforcer);
    assert_eq!(a.state(), before);
}
