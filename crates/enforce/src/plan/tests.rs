//! The exact commands of small cases.

use anabranch_core::Rate;

use super::*;
use crate::settings::{Device, Path, Protocol, Route, Session, Traffic};

fn setup() -> Setup {
    Setup { devices: vec![Device { name: "eth0".to_owned(), capacity: Some(Rate(100e6)) }], ..Setup::default() }
}

fn session(name: &str, paths: &[Route], traffic: Traffic) -> Session {
    let path = |route: &Route| Path { device: "eth0".to_owned(), route: route.clone() };
    Session { name: name.to_owned(), traffic: vec![traffic], paths: paths.iter().map(path).collect() }
}

fn text(batches: &[Batch], tool: Tool) -> String {
    batches.iter().filter(|batch| batch.tool == tool).map(|batch| batch.text.as_str()).collect()
}

fn floor(_: &Way) -> f64 {
    64e3
}

fn web() -> Traffic {
    Traffic {
        protocol: Some(Protocol::Tcp),
        destination_ports: vec![443..=443, 80..=89, 85..=90],
        ..Traffic::default()
    }
}

#[test]
fn a_device_has_a_class_for_other_traffic() {
    assert_eq!(
        text(&begin(&setup(), Leaf::FqCodel, 1), Tool::Tc),
        "qdisc add dev eth0 root handle ab: htb default 2
class add dev eth0 parent ab: classid ab:1 htb rate 100000000bit ceil 100000000bit burst 25000 cburst 25000 quantum 1514
class add dev eth0 parent ab:1 classid ab:2 htb rate 100000000bit ceil 100000000bit burst 25000 cburst 25000 quantum 1514
qdisc add dev eth0 parent ab:2 handle 2: fq_codel
"
    );
    assert_eq!(text(&end(&setup(), &[]), Tool::Tc), "qdisc del dev eth0 root\n");
    assert_eq!(text(&end(&setup(), &[]), Tool::Nft), "delete table inet anabranch\n");
}

#[test]
fn a_path_over_a_router_has_a_class_a_rule_and_a_table() {
    let via = Route::Via { gateway: "192.0.2.1".parse().unwrap(), source: None };
    let new = place(&[], &[session("a", &[via], web())]);
    let grown = grow(&setup(), Leaf::Bfifo, &floor, &[], &new);
    assert_eq!(
        text(&grown, Tool::Tc),
        "class add dev eth0 parent ab:1 classid ab:101 htb rate 64000bit ceil 64000bit burst 3028 cburst 3028 quantum 1514
qdisc add dev eth0 parent ab:101 handle 101: bfifo limit 131072
"
    );
    assert_eq!(
        text(&grown, Tool::Ip4),
        "rule add priority 20001 fwmark 0x10000/0xfff0000 lookup 700001
route replace default via 192.0.2.1 dev eth0 table 700001
"
    );
    assert_eq!(text(&grown, Tool::Ip6), "");
    let shrunk = shrink(&setup(), &new, &[]);
    assert_eq!(
        text(&shrunk, Tool::Ip4),
        "route flush table 700001\nrule del priority 20001 fwmark 0x10000/0xfff0000 lookup 700001\n"
    );
    assert_eq!(text(&shrunk, Tool::Tc), "class del dev eth0 classid ab:101\n");
}

#[test]
fn the_packets_of_a_session_with_one_path_get_its_mark() {
    let new = place(&[], &[session("a", &[Route::Ordinary], web())]);
    assert_eq!(
        text(&grow(&setup(), Leaf::FqCodel, &floor, &[], &new), Tool::Nft),
        "flush chain inet anabranch output
flush chain inet anabranch prerouting
flush chain inet anabranch source
table inet anabranch {
 # session 1: a
 chain path_1 {
  meta mark set meta mark & 0xf000ffff | 0x00010000
 }
 chain session_1 {
  goto path_1
 }
 chain output {
  meta l4proto 6 th dport { 443-443, 80-90 } goto session_1
 }
 chain prerouting {
  meta l4proto 6 th dport { 443-443, 80-90 } goto session_1
 }
 chain source {
 }
}
add element inet anabranch classes { 0x00010000 : ab:101 }
"
    );
}

#[test]
fn a_session_with_two_paths_remembers_the_turns_of_its_flows() {
    let new = place(&[], &[session("a", &[Route::Ordinary, Route::Ordinary], web())]);
    let grown = text(&grow(&setup(), Leaf::FqCodel, &floor, &[], &new), Tool::Nft);
    assert!(grown.contains(
        " chain session_1 {\n  jump recall\n  meta priority 0 meta priority set numgen inc mod 64 map @turns\n  \
         jump remember\n  meta priority vmap @split_1\n }\n"
    ));
    assert!(grown.contains("elements = { ab:1 : goto path_1, ab:2 : goto path_2, ab:3 : goto path_1, "));
    let table = text(&begin(&setup(), Leaf::FqCodel, 7), Tool::Nft);
    assert!(table.contains(
        "update @flows { jhash ip saddr . ip daddr . th sport . th dport mod 4294967295 seed 0x7 : meta priority } return"
    ));
    assert!(table.contains("elements = { 0 : ab:1, 1 : ab:2, "));
}

#[test]
fn a_session_that_stays_is_left_as_it_is() {
    let two = |name: &str| session(name, &[Route::Ordinary, Route::Ordinary], web());
    let first = place(&[], &[two("a"), two("b")]);
    let second = place(&first, &[two("a"), two("c")]);
    let changed = text(&grow(&setup(), Leaf::FqCodel, &floor, &first, &second), Tool::Nft);
    for kept in ["session_1 {", "path_1 ", "path_2 ", "chain inet anabranch session_1", "split_1"] {
        assert!(!changed.contains(kept), "{kept}: {changed}");
    }
    assert!(changed.contains("delete element inet anabranch classes { 0x00030000 : ab:103, 0x00040000 : ab:104 }"));
    assert!(changed.contains("add element inet anabranch classes { 0x00050000 : ab:105, 0x00060000 : ab:106 }"));
    assert!(changed.contains("delete chain inet anabranch path_4\n") && changed.contains(" chain path_5 {"));
}

#[test]
fn segments_have_routes_for_both_families_and_pass_them_once() {
    let route = Route::Segments(vec!["fc00::1".parse().unwrap(), "fc00::2".parse().unwrap()]);
    let new = place(&[], &[session("a", &[route], web())]);
    let grown = grow(&setup(), Leaf::FqCodel, &floor, &[], &new);
    let own = "rule add priority 20001 fwmark 0x10000/0xfff0000 lookup 700001
route replace default encap seg6 mode encap segs fc00::1,fc00::2 dev eth0 table 700001
";
    assert_eq!(text(&grown, Tool::Ip4), own);
    let past = "rule add priority 24096 nop\nrule add priority 20000 to fc00::1 goto 24096\n";
    assert_eq!(text(&grown, Tool::Ip6), format!("{past}{own}"));
    // Another path has another first segment; the rule of the first goes when its last path has gone.
    let other = Route::Segments(vec!["fc00::2".parse().unwrap()]);
    let next = place(&new, &[session("a", &[other], web())]);
    assert!(
        text(&grow(&setup(), Leaf::FqCodel, &floor, &new, &next), Tool::Ip6)
            .starts_with("rule add priority 20000 to fc00::2 ")
    );
    assert!(
        text(&shrink(&setup(), &new, &next), Tool::Ip6).ends_with("rule del priority 20000 to fc00::1 goto 24096\n")
    );
    assert!(text(&shrink(&setup(), &next, &[]), Tool::Ip6).ends_with("goto 24096\nrule del priority 24096 nop\n"));
}

#[test]
fn matches_are_written_for_each_family() {
    let traffic = Traffic {
        sources: ["10.0.0.1/8", "10.1.0.0/16", "2001:db8::/32"].map(|text| text.parse().unwrap()).to_vec(),
        mark: Some((3, 15)),
        cgroup: Some("system.slice/backup.service".to_owned()),
        ..Traffic::default()
    };
    let new = place(&[], &[session("a", &[Route::Ordinary], traffic)]);
    let grown = text(&grow(&setup(), Leaf::FqCodel, &floor, &[], &new), Tool::Nft);
    let rest = "meta mark & 0x0000000f == 0x00000003 socket cgroupv2 level 2 \"system.slice/backup.service\"";
    assert!(grown.contains(&format!(
        " chain output {{\n  ip saddr {{ 10.0.0.0/8 }} {rest} goto session_1\n  ip6 saddr {{ 2001:db8::/32 }} {rest} goto \
         session_1\n }}\n chain prerouting {{\n }}\n"
    )), "{grown}");
}

#[test]
fn numbers_of_what_stays_stay_and_those_of_what_went_are_used_again() {
    let one = |name: &str| session(name, &[Route::Ordinary, Route::Ordinary], web());
    let numbers = |placed: &[Placed]| -> Vec<(String, u32, Vec<u32>)> {
        let row = |p: &Placed| (p.session.name.clone(), p.number, p.ways.iter().map(|way| way.number).collect());
        placed.iter().map(row).collect()
    };
    let first = place(&[], &[one("a"), one("b")]);
    let second = place(&first, &[one("c"), one("b"), one("d")]);
    assert_eq!(
        numbers(&second),
        [("c".to_owned(), 1, vec![5, 6]), ("b".to_owned(), 2, vec![3, 4]), ("d".to_owned(), 3, vec![7, 8])]
    );
    // The numbers of "a" are free once its classes and rules have gone.
    assert_eq!(numbers(&place(&second, &[one("b"), one("e")]))[1], ("e".to_owned(), 1, vec![1, 2]));
}

#[test]
fn paths_that_stay_keep_their_numbers_in_another_order() {
    let via = |last: u8| Route::Via { gateway: [192, 0, 2, last].into(), source: None };
    let numbers = |placed: &[Placed]| -> Vec<u32> { placed[0].ways.iter().map(|way| way.number).collect() };
    let first = place(&[], &[session("a", &[via(1), via(2), via(2)], web())]);
    let second = place(&first, &[session("a", &[via(2), via(3), via(2), via(1)], web())]);
    assert_eq!((numbers(&first), numbers(&second)), (vec![1, 2, 3], vec![2, 4, 3, 1]));
}

#[test]
fn the_capacity_of_a_device_can_change() {
    let device = |capacity| Device { name: "eth0".to_owned(), capacity };
    assert_eq!(
        capacity_change(&device(Some(Rate(20e6)))),
        "class change dev eth0 parent ab: classid ab:1 htb rate 20000000bit ceil 20000000bit burst 5000 cburst 5000 \
         quantum 1514\n"
    );
    assert!(capacity_change(&device(None)).contains(" rate 1000000000000bit "));
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    let said = |session: Session| setup().check_sessions(&[session]).unwrap_err().to_string();
    assert!(said(session("a", &[Route::Ordinary], Traffic::default())).contains("would take all traffic"));
    assert!(said(session("a\nb", &[Route::Ordinary], web())).contains("no control characters"));
    assert!(said(session("a", &[], web())).contains("it has 0 paths"));
    assert!(said(session("a", &[Route::Segments(Vec::new())], web())).contains("0 segments"));
    let marked = |mark| Traffic { mark: Some(mark), ..Traffic::default() };
    assert!(said(session("a", &[Route::Ordinary], marked((0, 0x0010_0000)))).contains("overlaps mark_mask"));
    let grouped = Traffic { cgroup: Some("a\" drop".to_owned()), ..Traffic::default() };
    assert!(said(session("a", &[Route::Ordinary], grouped)).contains("is no control group"));
    for mask in [0, 0xff00_ff00] {
        assert!(Setup { mark_mask: mask, ..setup() }.check().is_err());
    }
    let device = Device { name: "eth0; reboot".to_owned(), capacity: None };
    assert!(Setup { devices: vec![device], ..setup() }.check().unwrap_err().to_string().contains("a name has 1 to 15"));
}
