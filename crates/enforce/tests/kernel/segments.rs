//! Paths by lists of segments (SRv6), over a chain of machines.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, TcpListener};

use anabranch_enforce::{Path, Route};

use crate::node::{Node, alone, assert_near, cable, hold, iperf, measure, session, setup};

/// A source, two routers beside each other, a last router, and a destination with the addresses 10.5.0.1 and `fd05::1`.
/// Segments `fd0a::1` and `fd0b::1` are at the two, `fd0d::4` and `fd0d::6` at the last one, which unpacks IPv4 and IPv6.
struct Diamond {
    source: Node,
    routers: [Node; 2],
    destination: Node,
    _last: Node,
}

fn diamond() -> Diamond {
    let (source, destination) = (Node::new(), Node::new());
    let (routers, last) = ([Node::new(), Node::new()], Node::new());
    for (at, (router, name)) in routers.iter().zip(["a", "b"]).enumerate() {
        let (near, far) = (at + 1, at + 3);
        cable(
            (&source, &format!("s{at}"), &[&format!("10.{near}.0.1/24"), &format!("fd0{near}::1/64")]),
            (router, "near", &[&format!("10.{near}.0.2/24"), &format!("fd0{near}::2/64")]),
        );
        cable(
            (router, "far", &[&format!("10.{far}.0.2/24"), &format!("fd0{far}::2/64")]),
            (&last, &format!("d{at}"), &[&format!("10.{far}.0.1/24"), &format!("fd0{far}::1/64")]),
        );
        router.sh(&format!("ip -6 route add fd0{name}::1 encap seg6local action End dev far"));
        router.sh(&format!("ip -6 route add fd0d::/16 via fd0{far}::1; ip -6 route add fd05::/16 via fd0{far}::1"));
        router.sh(&format!("ip route add 10.5.0.0/24 via 10.{far}.0.1"));
        source.sh(&format!("ip -6 route add fd0{name}::/16 via fd0{near}::2"));
    }
    cable((&last, "e0", &["10.6.0.1/24", "fd06::1/64"]), (&destination, "e1", &["10.6.0.2/24", "fd06::2/64"]));
    destination.sh("ip addr add 10.5.0.1/32 dev lo; ip addr add fd05::1/128 dev lo");
    destination.sh("ip route add default via 10.6.0.1; ip -6 route add default via fd06::1");
    // The last router unpacks; the kernel does not take what it unpacks for itself.
    last.sh("ip route add 10.5.0.0/24 via 10.6.0.2; ip -6 route add fd05::/16 via fd06::2");
    last.sh("ip route add default via 10.3.0.2; ip -6 route add default via fd03::2");
    last.sh("ip -6 route add fd0d::4 encap seg6local action End.DX4 nh4 0.0.0.0 dev d0");
    last.sh("ip -6 route add fd0d::6 encap seg6local action End.DX6 nh6 :: dev d0");
    // Two segments add 80 bytes to a packet.
    source.sh("ip route add default via 10.1.0.2 mtu 1420; ip -6 route add default via fd01::2 mtu 1420");
    Diamond { source, routers, destination, _last: last }
}

fn over(device: &str, segments: &[&str]) -> Path {
    let segments: Vec<Ipv6Addr> = segments.iter().map(|segment| segment.parse().unwrap()).collect();
    Path { device: device.to_owned(), route: Route::Segments(segments) }
}

/// Bytes that a router has sent on.
fn sent(router: &Node) -> u64 {
    let table = router.sh("cat /proc/self/net/dev");
    let line = table.lines().find_map(|line| line.trim().strip_prefix("far:")).unwrap();
    line.split_whitespace().nth(8).unwrap().parse().unwrap()
}

#[test]
fn segments_lead_ipv4_over_two_routers_at_their_rates() {
    over_two_routers("fd0d::4", "10.5.0.1");
}

#[test]
fn segments_lead_ipv6_over_two_routers_at_their_rates() {
    over_two_routers("fd0d::6", "fd05::1");
}

fn over_two_routers(unpacks: &str, address: &str) {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let net = diamond();
    let enforcer = net.source.enforce(setup(&[("s0", None), ("s1", None)]));
    let paths = vec![over("s0", &["fd0a::1", unpacks]), over("s1", &["fd0b::1", unpacks])];
    enforcer.set_sessions(&[session("srv6", 5201..=5201, paths)]).unwrap();
    hold(&enforcer, 0.5, &[("srv6", &[10.0, 5.0])]);
    let before = net.routers.each_ref().map(sent);
    let _programs = iperf(&net.source, &net.destination, address, 5201, 6, 6);
    hold(&enforcer, 1.0, &[("srv6", &[10.0, 5.0])]);
    assert_near(&measure(&enforcer, &[("srv6", &[10.0, 5.0])]).0[0], &[10.0, 5.0]);
    let after = net.routers.each_ref().map(sent);
    assert!(after[0] - before[0] > 2_000_000 && after[1] - before[1] > 1_000_000, "{before:?} {after:?}");
}

#[test]
fn a_router_gives_the_traffic_of_its_hosts_segments() {
    let Some(_alone) = alone(&["iperf3"]) else { return };
    let net = diamond();
    let host = Node::new();
    cable((&host, "h0", &["10.7.0.1/24"]), (&net.source, "s2", &["10.7.0.2/24"]));
    host.sh("ip route add default via 10.7.0.2 mtu 1420");
    for (near, router) in (1..).zip(&net.routers) {
        router.sh(&format!("ip route add 10.7.0.0/24 via 10.{near}.0.1"));
    }
    let enforcer = net.source.enforce(setup(&[("s0", None), ("s1", None)]));
    let paths = vec![over("s0", &["fd0a::1", "fd0d::4"]), over("s1", &["fd0b::1", "fd0d::4"])];
    enforcer.set_sessions(&[session("site", 5201..=5201, paths)]).unwrap();
    hold(&enforcer, 0.5, &[("site", &[10.0, 5.0])]);
    let _programs = iperf(&host, &net.destination, "10.5.0.1", 5201, 6, 6);
    hold(&enforcer, 1.0, &[("site", &[10.0, 5.0])]);
    assert_near(&measure(&enforcer, &[("site", &[10.0, 5.0])]).0[0], &[10.0, 5.0]);
}

#[test]
fn curl_fetches_over_segments_at_the_rate() {
    let Some(_alone) = alone(&["curl"]) else { return };
    let net = diamond();
    let enforcer = net.source.enforce(setup(&[("s1", None)]));
    let mut upload = session("web", 8080..=8080, vec![over("s1", &["fd0b::1", "fd0d::4"])]);
    upload.traffic[0].destinations = vec!["10.5.0.0/24".parse().unwrap()];
    enforcer.set_sessions(&[upload]).unwrap();
    hold(&enforcer, 0.2, &[("web", &[16.0])]);
    net.destination.run(|| {
        let listener = TcpListener::bind("10.5.0.1:8080").unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut text, mut buffer) = (0, vec![0; 65_536]);
            // The head of the request has some hundred bytes.
            while text < 2_000_000 {
                match stream.read(&mut buffer) {
                    Ok(read @ 1..) => text += read,
                    _ => return,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        });
    });
    // 2 MB at 16 Mbit/s take a second.
    let line = "head -c 2000000 /dev/zero | curl -s -m 20 -H 'Expect:' --data-binary @- -o /dev/null \
                -w '%{http_code} %{time_total}' http://10.5.0.1:8080/";
    let said = std::thread::scope(|scope| {
        let curl = scope.spawn(|| net.source.sh(line));
        while !curl.is_finished() {
            hold(&enforcer, 0.1, &[("web", &[16.0])]);
        }
        curl.join().unwrap()
    });
    let (code, seconds) = said.split_once(' ').unwrap();
    assert_eq!(code, "200");
    let seconds: f64 = seconds.parse().unwrap();
    // Never faster than granted; a lost first packet or a timeout of TCP costs a second or more.
    assert!((0.9..4.0).contains(&seconds), "{seconds} s");
}
