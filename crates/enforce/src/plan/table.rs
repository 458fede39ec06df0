//! The table of packet filters, as commands of `nft`: it finds the packets of sessions, and gives them the marks of paths.
//!
//! ```text
//! output, prerouting      a match of session s: to its chain
//! session_s               with one path: path_n; otherwise the turn of the flow, or the next turn, leads to path_n
//! recall, remember        the turn of a flow, which the packet's priority holds during the search
//! path_n                  set the mark of path n
//! postrouting             the mark gives the packet the class of its path
//! source                  the mark gives the packet the source address of its uplink
//! ```
//!
//! Flows are remembered in a map of this table (`flows`) instead of conntrack marks. A packet that is given segments
//! loses its conntrack entry before the kernel keeps it, so that conntrack would take every packet for the first of its
//! connection. The key of a flow is a hash of addresses and ports. Its value is its turn in the round of its session, from 1,
//! so that connections go with turns.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::classes::Class;
use super::places::{Placed, Way, missing};
use super::split::ROUND;
use super::{ROOT, TABLE};
use crate::settings::{IpNet, Protocol, Route, Setup, Traffic};

/// The most flows that are remembered, and the silence after which one is forgotten.
const FLOWS: (u32, &str) = (262_144, "5m");

/// Protocols with ports.
const PORTED: &str = "{ tcp, udp, sctp, dccp, udplite }";

/// The kinds of packets, and the fields that make a flow of each.
const KINDS: [(&str, &str); 4] = [
    ("== ", "ip saddr . ip daddr . th sport . th dport"),
    ("== ", "ip6 saddr . ip6 daddr . th sport . th dport"),
    ("!= ", "ip saddr . ip daddr"),
    ("!= ", "ip6 saddr . ip6 daddr"),
];

/// The table without sessions. What a run before left is replaced.
pub(super) fn set_up(setup: &Setup, seed: u32) -> String {
    let (size, silence) = FLOWS;
    let mask = format!("{:#010x}", setup.mark_mask);
    let by_mark = format!("\n  meta mark & {mask} != 0 meta priority set meta mark & {mask} map @classes");
    let mut text = format!("table inet {TABLE}\ndelete table inet {TABLE}\ntable inet {TABLE} {{\n");
    let _ = writeln!(
        text,
        " map flows {{\n  typeof numgen inc mod 4294967295 : meta priority\n  size {size}\n  flags dynamic,timeout\n  \
         timeout {silence}\n }}"
    );
    let _ = writeln!(text, " map classes {{\n  type mark : classid\n }}");
    let _ = writeln!(text, " chain recall {{\n  meta priority set 0");
    for (is, fields) in KINDS {
        let _ = writeln!(text, "  meta l4proto {is}{PORTED} meta priority set {} map @flows return", key(fields, seed));
    }
    let _ = writeln!(text, " }}\n chain remember {{");
    for (is, fields) in KINDS {
        let _ = writeln!(
            text,
            "  meta l4proto {is}{PORTED} update @flows {{ {} : meta priority }} return",
            key(fields, seed)
        );
    }
    let turns: Vec<String> = (0..ROUND).map(|turn| format!("{turn} : {}", turn_text(turn))).collect();
    let _ = writeln!(
        text,
        " }}\n map turns {{\n  typeof numgen inc mod {ROUND} : meta priority\n  elements = {{ {} }}\n }}",
        turns.join(", ")
    );
    for (name, hook, rule) in [
        ("output", "type route hook output priority mangle", ""),
        ("prerouting", "type filter hook prerouting priority mangle", ""),
        ("postrouting", "type filter hook postrouting priority mangle", &by_mark),
        ("source", "type nat hook postrouting priority srcnat", ""),
    ] {
        let _ = writeln!(text, " chain {name} {{\n  {hook}; policy accept;{rule}\n }}");
    }
    text + "}\n"
}

pub(super) fn tear_down() -> String {
    format!("delete table inet {TABLE}\n")
}

/// The commands that replace sessions by others at once; flows stay remembered. What is the same for a session is left as it
/// is: a table of a thousand paths takes seconds to make.
pub(super) fn change(setup: &Setup, old: &[Placed], new: &[Placed]) -> String {
    let is_in = |placed: &Placed, others: &[Placed]| {
        others.iter().any(|other| (other.number, &other.ways) == (placed.number, &placed.ways))
    };
    let mut text = String::new();
    for chain in ["output", "prerouting", "source"] {
        let _ = writeln!(text, "flush chain inet {TABLE} {chain}");
    }
    text += &classes(setup, "delete", &missing(old, new));
    let gone: Vec<&Placed> = old.iter().filter(|placed| !is_in(placed, new)).collect();
    for Placed { number, ways, .. } in &gone {
        let _ = writeln!(text, "flush chain inet {TABLE} session_{number}");
        if ways.len() > 1 {
            let _ = writeln!(text, "flush map inet {TABLE} split_{number}");
        }
    }
    for Placed { number, ways, .. } in &gone {
        let _ = writeln!(text, "delete chain inet {TABLE} session_{number}");
        if ways.len() > 1 {
            let _ = writeln!(text, "delete map inet {TABLE} split_{number}");
        }
        for Way { number, .. } in ways {
            let _ = writeln!(text, "delete chain inet {TABLE} path_{number}");
        }
    }
    let _ = writeln!(text, "table inet {TABLE} {{");
    for placed in new.iter().filter(|placed| !is_in(placed, old)) {
        text += &session(setup, placed);
    }
    for (chain, is_local) in [("output", true), ("prerouting", false)] {
        let _ = writeln!(text, " chain {chain} {{");
        for placed in new {
            for found in placed.session.traffic.iter().filter(|traffic| is_local || traffic.cgroup.is_none()) {
                for found in matches(found) {
                    let _ = writeln!(text, "  {found} goto session_{}", placed.number);
                }
            }
        }
        let _ = writeln!(text, " }}");
    }
    text + &sources(setup, new) + "}\n" + &classes(setup, "add", &missing(new, old))
}

/// Adds or deletes the classes that marks of paths lead to.
fn classes(setup: &Setup, verb: &str, ways: &[&Way]) -> String {
    if ways.is_empty() {
        return String::new();
    }
    let element = |way: &&Way| format!("{:#010x} : {}", setup.mark(way.number), class(way.number));
    let elements: Vec<String> = ways.iter().map(element).collect();
    format!("{verb} element inet {TABLE} classes {{ {} }}\n", elements.join(", "))
}

/// The source addresses that paths give packets.
fn sources(setup: &Setup, new: &[Placed]) -> String {
    let mask = setup.mark_mask;
    let mut text = " chain source {\n".to_owned();
    for way in missing(new, &[]) {
        if let Route::Via { source: Some(source), .. } = way.path.route {
            let family = if source.is_ipv4() { "ip" } else { "ip6" };
            let (mark, device) = (setup.mark(way.number), &way.path.device);
            let _ = writeln!(
                text,
                "  meta mark & {mask:#010x} == {mark:#010x} oifname \"{device}\" snat {family} to {source}"
            );
        }
    }
    text + " }\n"
}

/// Replaces the split of a session with several paths.
pub(crate) fn split_text(placed: &Placed) -> String {
    let (number, elements) = (placed.number, elements(placed));
    format!("flush map inet {TABLE} split_{number}\nadd element inet {TABLE} split_{number} {{ {elements} }}\n")
}

/// Chains and maps of a session.
fn session(setup: &Setup, placed: &Placed) -> String {
    let number = placed.number;
    let mut text = format!(" # session {number}: {}\n", placed.session.name);
    for way in &placed.ways {
        let (mark, mask) = (setup.mark(way.number), setup.mark_mask);
        let _ = writeln!(
            text,
            " chain path_{} {{\n  meta mark set meta mark & {:#010x} | {mark:#010x}\n }}",
            way.number, !mask
        );
    }
    if let [way] = &placed.ways[..] {
        let _ = writeln!(text, " chain session_{number} {{\n  goto path_{}\n }}", way.number);
        return text;
    }
    let elements = elements(placed);
    let _ = writeln!(text, " map split_{number} {{\n  type classid : verdict\n  elements = {{ {elements} }}\n }}");
    let _ = writeln!(
        text,
        " chain session_{number} {{\n  jump recall\n  meta priority 0 meta priority set numgen inc mod {ROUND} map @turns\n  \
         jump remember\n  meta priority vmap @split_{number}\n }}"
    );
    text
}

/// The turns of a session with the paths to which they lead.
fn elements(placed: &Placed) -> String {
    let turn = |(turn, &path): (usize, &usize)| format!("{} : goto path_{}", turn_text(turn), placed.ways[path].number);
    placed.round.iter().enumerate().map(turn).collect::<Vec<_>>().join(", ")
}

/// A turn as the priority of a packet.
fn turn_text(turn: usize) -> String {
    format!("{ROOT}{:x}", turn + 1)
}

fn class(way: u32) -> String {
    format!("{ROOT}{:x}", Class::Way(way).minor())
}

fn key(fields: &str, seed: u32) -> String {
    format!("jhash {fields} mod 4294967295 seed {seed:#x}")
}

/// The expressions that find packets: one for each family, unless addresses do not matter.
fn matches(traffic: &Traffic) -> Vec<String> {
    let of = |prefixes: &[IpNet], four: bool| -> Vec<String> {
        let own = prefixes.iter().filter(|prefix| matches!(prefix, IpNet::V4(_)) == four);
        // The kernel refuses overlaps; the wider prefix of two contains the other.
        let own: BTreeSet<IpNet> = IpNet::aggregate(&own.map(IpNet::trunc).collect()).into_iter().collect();
        own.iter().map(ToString::to_string).collect()
    };
    let rest = rest_of_match(traffic);
    if traffic.sources.is_empty() && traffic.destinations.is_empty() {
        return vec![rest];
    }
    let mut found = Vec::new();
    for (four, family) in [(true, "ip"), (false, "ip6")] {
        let mut parts = Vec::new();
        for (field, prefixes) in [("saddr", &traffic.sources), ("daddr", &traffic.destinations)] {
            let own = of(prefixes, four);
            if own.is_empty() && !prefixes.is_empty() {
                parts.clear();
                break;
            }
            if !own.is_empty() {
                parts.push(format!("{family} {field} {{ {} }}", own.join(", ")));
            }
        }
        if !parts.is_empty() {
            parts.extend((!rest.is_empty()).then(|| rest.clone()));
            found.push(parts.join(" "));
        }
    }
    found
}

fn rest_of_match(traffic: &Traffic) -> String {
    let mut parts = Vec::new();
    let ports = [("sport", &traffic.source_ports), ("dport", &traffic.destination_ports)];
    match traffic.protocol {
        Some(Protocol::Tcp) => parts.push("meta l4proto 6".to_owned()),
        Some(Protocol::Udp) => parts.push("meta l4proto 17".to_owned()),
        Some(Protocol::Number(number)) => parts.push(format!("meta l4proto {number}")),
        None if ports.iter().any(|(_, ports)| !ports.is_empty()) => {
            parts.push("meta l4proto { tcp, udp, sctp }".to_owned());
        }
        None => {}
    }
    for (field, ports) in ports {
        if !ports.is_empty() {
            let ranges: BTreeSet<String> = joined(ports).iter().map(|(a, b)| format!("{a}-{b}")).collect();
            parts.push(format!("th {field} {{ {} }}", ranges.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    if let Some((value, mask)) = traffic.mark {
        parts.push(format!("meta mark & {mask:#010x} == {value:#010x}"));
    }
    if let Some(path) = &traffic.cgroup {
        // Where there are groups of both versions, those of the second are in a folder of their own.
        let level = path.strip_prefix("unified/").unwrap_or(path).split('/').count();
        parts.push(format!("socket cgroupv2 level {level} \"{path}\""));
    }
    parts.join(" ")
}

/// Ranges of ports in order, without overlaps.
fn joined(ranges: &[std::ops::RangeInclusive<u16>]) -> Vec<(u16, u16)> {
    let mut sorted: Vec<(u16, u16)> = ranges.iter().map(|range| (*range.start(), *range.end())).collect();
    sorted.sort_unstable();
    let mut joined: Vec<(u16, u16)> = Vec::new();
    for (start, end) in sorted {
        match joined.last_mut() {
            Some(last) if u32::from(start) <= u32::from(last.1) + 1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}
