//! Tests of the limits of queues: written, multiples of the bandwidth-delay product, and by default.

use anabranch_core::Bytes;
use anabranch_plan::Limit;

use crate::{plan, plan_as_written, refused};

/// Links L (a to b, 10 Mbit/s, 5 ms) and M (b to c, 4 Mbit/s, 20 ms) with these keys, and connections with theirs.
fn row(keys: &str, connections: &[&str]) -> String {
    let link = |name: &str, from: &str, to: &str, rest: &str| {
        format!("[[link]]\nname = \"{name}\"\nsource = \"{from}\"\ntarget = \"{to}\"\n{rest}\n{keys}\n")
    };
    let links = link("L", "a", "b", "capacity = \"10 Mbit/s\"\ndelay = \"5 ms\"")
        + &link("M", "b", "c", "capacity = \"4 Mbit/s\"\ndelay = \"20 ms\"");
    let connection = |keys: &&str| format!("[[connection]]\nsource = \"a\"\npaths = 1\n{keys}\n");
    links + &connections.iter().map(connection).collect::<String>()
}

/// The limits of L and M, each with its way back.
fn limits(text: &str) -> Vec<Limit> {
    plan(text).unwrap().links.iter().map(|link| link.limit).collect()
}

fn bytes(bytes: u64) -> Limit {
    Limit { packets: None, bytes: Some(Bytes(bytes)) }
}

const FAR: &str = "target = \"c\"\nprotocol = \"reno\"";
const NEAR: &str = "target = \"b\"\nprotocol = \"reno\"";

#[test]
fn under_windows_a_link_without_a_queue_has_one_bandwidth_delay_product() {
    // The longest round trip over both links is 50 ms: 10 Mbit/s make 62,500 bytes of it, in packets of 1000 bytes 63, and
    // 4 Mbit/s make 25,000 bytes. Ways back have the same.
    assert_eq!(limits(&row("", &[FAR, NEAR])), [bytes(63_000), bytes(63_000), bytes(25_000), bytes(25_000)]);
    // Over L alone the round trip is 10 ms: 12,500 bytes. M carries nothing, and has 100 ms: 50,000 bytes.
    assert_eq!(limits(&row("", &[NEAR])), [bytes(13_000), bytes(13_000), bytes(50_000), bytes(50_000)]);
}

#[test]
fn a_product_has_room_for_an_initial_window() {
    let short = "[[link]]\nname = \"l\"\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
    let text =
        format!("{short}[[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = \"cubic\"\npacket = \"1500 B\"");
    assert_eq!(limits(&text)[0], bytes(15_000));
}

#[test]
fn a_product_follows_the_greatest_capacity() {
    let keys = "capacity_changes = [{ at = \"1 s\", capacity = \"20 Mbit/s\" }]";
    assert_eq!(limits(&row(keys, &[FAR]))[0], bytes(125_000));
}

#[test]
fn a_multiple_of_the_product_can_be_written() {
    // Also where rates are granted.
    let granted = "target = \"c\"\nprotocol = \"d-slen\"";
    for factor in ["2 BDP", "2bdp", " 2.0  BDP "] {
        assert_eq!(limits(&row(&format!("queue = \"{factor}\""), &[granted]))[2], bytes(50_000), "{factor}");
    }
    for wrong in ["0 BDP", "-1 BDP", "BDP", "nan BDP", "inf BDP", "1001 BDP", "x BDP"] {
        let said = refused(&row(&format!("queue = \"{wrong}\""), &[granted]));
        assert!(said.contains("is no multiple of the bandwidth-delay product; write it like `1 BDP`"), "{said}");
    }
}

#[test]
fn nothing_is_limited_by_default_where_rates_are_granted_or_capacities_infinite() {
    let granted = "target = \"c\"\nprotocol = \"d-slen\"";
    assert_eq!(limits(&row("", &[granted])), [Limit::default(); 4]);
    assert!(plan(&row("", &[granted])).unwrap().warnings().is_empty());
    let text = row("", &[FAR]).replace("\"10 Mbit/s\"", "\"unlimited\"");
    assert_eq!(limits(&text)[0], Limit::default());
}

#[test]
fn what_is_written_counts() {
    assert_eq!(limits(&row("queue = \"unlimited\"", &[FAR])), [Limit::default(); 4]);
    let common = format!("{}[defaults.link]\nqueue = \"7 packets\"\n", row("", &[FAR]));
    assert_eq!(limits(&common), [Limit { packets: Some(7), bytes: None }; 4]);
    for text in [row("queue = \"unlimited\"", &[FAR]), common, row("queue = \"1 BDP\"", &[FAR])] {
        assert!(plan(&text).unwrap().warnings().is_empty());
    }
}

#[test]
fn disciplines_that_drop_early_have_room_and_some_bound_themselves() {
    let of = |discipline: &str| limits(&row(&format!("discipline = \"{discipline}\""), &[FAR]))[0];
    let thousand = Limit { packets: Some(1000), bytes: None };
    assert_eq!(["codel", "pie", "red", "ecn-step", "ecn-ramp"].map(of), [thousand; 5]);
    assert_eq!(["abc", "fq-codel", "dualpi2"].map(of), [Limit::default(); 3]);
    assert_eq!(["drop-tail", "drr", "wfq"].map(of), [bytes(63_000); 3]);
}

#[test]
fn a_default_limit_is_told_with_what_to_write() {
    let said = plan(&row("", &[FAR])).unwrap().warnings();
    let expected = "4 links have no `queue` and a default limit: under drop-tail, such as `L` with 63 kB, \
                    one bandwidth-delay product; give each link a `queue`, or all in [defaults.link], such as queue = \"1 BDP\", \"100 packets\" or \"unlimited\"";
    assert_eq!(said, [expected]);
}

#[test]
fn default_limits_are_told_by_discipline() {
    let text = row("", &[FAR]).replace("name = \"M\"", "name = \"M\"\ndiscipline = \"codel\"");
    let said = plan(&text).unwrap().warnings();
    let expected = "4 links have no `queue` and a default limit: 2 links under codel, such as `M` with 1000 packets, usual \
                    where packets are dropped or marked early; 2 links under drop-tail, such as `L` with 63 kB, one \
                    bandwidth-delay product; give";
    assert!(said[0].starts_with(expected), "{said:?}");
}

#[test]
fn a_default_limit_in_a_note_is_written_as_in_the_resolved_file() {
    let plan = plan(&row("", &[FAR])).unwrap();
    assert_eq!(plan.links[0].limit.bytes, Some(Bytes(63_000)));
    assert!(plan.warnings()[0].contains("`L` with 63 kB,"), "{:?}", plan.warnings());
}

#[test]
fn no_connection_runs_under_a_protocol_by_silence() {
    let said = plan_as_written(&row("", &["target = \"c\""])).unwrap_err().to_string();
    let expected = "line 15, column 1: connection `a>c`: it has no protocol; add protocol = \"cubic\" (or d-slen, lia, ...) \
                    to its table or, for all connections, to [defaults.connection]; `anabranch list protocols` shows all";
    assert_eq!(said, expected);
    let traffic = "[network]\ngenerate.ring.nodes = 5\n[[traffic]]\ncount = 3\n";
    assert!(plan_as_written(traffic).unwrap_err().to_string().contains("connection `t1`: it has no protocol"));
    let rule = "[network]\ngenerate.ring.nodes = 5\n[demands]\nrule = \"uniform:1 Gbit/s\"\n";
    assert!(plan_as_written(rule).unwrap_err().to_string().contains("it has no protocol"));
}
