//! Routing rules and tables, as commands of `ip -4` and `ip -6`.
//!
//! A packet with the mark of path `n` is routed by table `tables + n`, which has one route. A packet that has been given
//! its segments is routed again, with the mark that it had: by rules before all others its destination, which is its first
//! segment, leads it past the tables of paths, where it would be given its segments again. Its protocol would not do: the
//! kernel takes that of a local packet to be the routing header, and that of a forwarded one what is inside.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use super::places::{Placed, Way, missing, ways};
use crate::settings::{Path, Route, Setup};

/// Rules and routes of new paths, for IPv4 and for IPv6. Rules come first: a rule to an empty table has no effect.
pub(super) fn add(setup: &Setup, old: &[Placed], new: &[Placed]) -> [String; 2] {
    let mut texts = [String::new(), String::new()];
    let (before, now) = (first_segments(old), first_segments(new));
    if before.is_empty() && !now.is_empty() {
        let _ = writeln!(texts[1], "rule add {}", behind_tables(setup));
    }
    for segment in now.difference(&before) {
        let _ = writeln!(texts[1], "rule add {}", past_tables(setup, *segment));
    }
    for way in missing(new, old) {
        for (_, text) in families(&way.path).into_iter().zip(&mut texts).filter(|(wanted, _)| *wanted) {
            let _ = writeln!(text, "rule add {}", rule(setup, way));
            *text += &route(setup, way);
        }
    }
    texts
}

/// The counterpart of [`add`]. Routes go first, so that tables are empty when nothing names them any more.
pub(super) fn remove(setup: &Setup, old: &[Placed], new: &[Placed]) -> [String; 2] {
    let mut texts = [String::new(), String::new()];
    for way in missing(old, new) {
        for (_, text) in families(&way.path).into_iter().zip(&mut texts).filter(|(wanted, _)| *wanted) {
            let _ = writeln!(text, "route flush table {}", setup.tables + way.number);
            let _ = writeln!(text, "rule del {}", rule(setup, way));
        }
    }
    let (before, now) = (first_segments(old), first_segments(new));
    for segment in before.difference(&now) {
        let _ = writeln!(texts[1], "rule del {}", past_tables(setup, *segment));
    }
    if now.is_empty() && !before.is_empty() {
        let _ = writeln!(texts[1], "rule del {}", behind_tables(setup));
    }
    texts
}

/// The route of a path anew, for IPv4 and for IPv6: the kernel drops routes over a device that goes down.
pub(crate) fn replace(setup: &Setup, way: &Way) -> [String; 2] {
    families(&way.path).map(|wanted| if wanted { route(setup, way) } else { String::new() })
}

/// Removes a rule of an earlier run with its table, given as numbers.
pub(crate) fn left_over(priority: u64, table: Option<u64>) -> String {
    let flush = table.map_or_else(String::new, |table| format!("route flush table {table}\n"));
    format!("{flush}rule del priority {priority}\n")
}

fn rule(setup: &Setup, way: &Way) -> String {
    format!(
        "priority {} fwmark {:#x}/{:#x} lookup {}",
        setup.priorities + way.number,
        setup.mark(way.number),
        setup.mark_mask,
        setup.tables + way.number
    )
}

fn route(setup: &Setup, Way { number, path }: &Way) -> String {
    let way = match &path.route {
        Route::Ordinary => return String::new(),
        Route::Via { gateway, .. } => format!("via {gateway}"),
        Route::Segments(segments) => {
            let list: Vec<String> = segments.iter().map(ToString::to_string).collect();
            format!("encap seg6 mode encap segs {}", list.join(","))
        }
    };
    format!("route replace default {way} dev {} table {}\n", path.device, setup.tables + number)
}

/// Whether a path has routes for IPv4 and for IPv6.
fn families(path: &Path) -> [bool; 2] {
    match path.route {
        Route::Ordinary => [false, false],
        Route::Via { gateway: IpAddr::V4(_), .. } => [true, false],
        Route::Via { gateway: IpAddr::V6(_), .. } => [false, true],
        Route::Segments(_) => [true, true],
    }
}

fn first_segments(sessions: &[Placed]) -> BTreeSet<Ipv6Addr> {
    let first = |way: &Way| match &way.path.route {
        Route::Segments(segments) => segments.first().copied(),
        _ => None,
    };
    ways(sessions).filter_map(first).collect()
}

/// The rule that leads packets with this first segment past the tables of paths.
fn past_tables(setup: &Setup, segment: Ipv6Addr) -> String {
    format!("priority {} to {segment} goto {}", setup.priorities, last_rule(setup))
}

/// The rule behind the tables of paths, which does nothing.
fn behind_tables(setup: &Setup) -> String {
    format!("priority {} nop", last_rule(setup))
}

fn last_rule(setup: &Setup) -> u32 {
    setup.priorities + setup.most_paths() + 1
}
