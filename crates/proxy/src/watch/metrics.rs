//! The figures of a proxy or an exit for Prometheus. The number of series is bounded: with more peers those have series of
//! their own that have carried the most.

use std::sync::atomic::Ordering;

use anabranch_http::Front;
use anabranch_http::prometheus::{Kind, Text};

use super::shown::{ShownClient, ShownLine, ShownPeer, State, Status};

use Kind::{Counter, Gauge};

/// The most peers that have series of their own.
const MOST_PEERS: usize = 100;

/// The most clients that have series, in the order of their file.
const MOST_CLIENTS: usize = 1000;

/// The figures.
pub(super) fn text(status: &Status, front: &Front) -> String {
    let mut text = Text::default();
    let prefix = format!("anabranch_{}", status.kind);
    let name = |name: &str| format!("{prefix}_{name}");
    let about = [("version", status.version), ("control", &*status.control)];
    let help = "The version, and the congestion control where a client names no other.";
    text.family(&name("build_info"), Gauge, help, [(about, 1.0)]);
    text.one(&name("start_time_seconds"), Gauge, "Start, in seconds since 1970.", status.start_s);
    text.one(&name("waiting_bytes"), Gauge, "Bytes that wait in all flows.", status.waiting_bytes as f64);
    text.one(&name("peers"), Gauge, "Number of peers.", status.peers.len() as f64);

    // Anybody may connect; only peers that are known have series.
    let mut peers: Vec<&ShownPeer> = status.peers.iter().filter(|peer| peer.is_known).collect();
    peers.sort_by_key(|peer| std::cmp::Reverse(peer.to_targets_bytes + peer.from_targets_bytes));
    let left_out = peers.len().saturating_sub(MOST_PEERS);
    peers.truncate(MOST_PEERS);
    let help = "Number of peers without series, as others have carried more.";
    text.one(&name("peers_left_out"), Gauge, help, left_out as f64);
    let mut put = |family: &str, kind: Kind, help: &str, value: fn(&ShownPeer) -> f64| {
        let series = peers.iter().map(|peer| ([("peer", &*peer.peer), ("side", side(peer))], value(peer)));
        text.family(&name(family), kind, help, series);
    };
    put("open_flows", Gauge, "Number of flows that are open.", |peer| peer.open_flows as f64);
    put("flows_total", Counter, "Number of flows.", |peer| peer.flows as f64);
    let help = "Bytes to targets.";
    put("to_targets_bytes_total", Counter, help, |peer| peer.to_targets_bytes as f64);
    let help = "Bytes from targets.";
    put("from_targets_bytes_total", Counter, help, |peer| peer.from_targets_bytes as f64);
    lines(&mut text, &prefix, &peers);
    clients(&mut text, &prefix, &status.clients);
    http(&mut text, &prefix, front);
    text.finish()
}

/// On which side a peer is: a relay has flows from clients, and the same flows to its exit.
fn side(peer: &ShownPeer) -> &'static str {
    if peer.is_onward { "exit" } else { "client" }
}

fn lines(text: &mut Text, prefix: &str, peers: &[&ShownPeer]) {
    let named: Vec<(&str, String, &ShownLine)> = peers
        .iter()
        .flat_map(|peer| peer.lines.iter().map(|line| (&*peer.peer, line.line.to_string(), line)))
        .collect();
    let states = named.iter().flat_map(|(peer, number, line)| {
        State::ALL.map(|(state, word)| {
            let labels = [("peer", *peer), ("line", &**number), ("path", &*line.path), ("state", word)];
            (labels, f64::from(u8::from(line.state == state)))
        })
    });
    let help = "1 for the state of the line, 0 for the others.";
    text.family(&format!("{prefix}_line_state"), Gauge, help, states);
    let mut put = |family: &str, kind: Kind, help: &str, value: fn(&ShownLine) -> f64| {
        let series = named
            .iter()
            .map(|(peer, number, line)| ([("peer", *peer), ("line", &**number), ("path", &*line.path)], value(line)));
        text.family(&format!("{prefix}_line_{family}"), kind, help, series);
    };
    put("openings_total", Counter, "Number of times that the line was opened.", |line| f64::from(line.openings));
    let help = "Bytes of UDP payload sent since the line was opened last.";
    put("sent_bytes_total", Counter, help, |line| line.sent_bytes as f64);
    let help = "Bytes of UDP payload received since the line was opened last.";
    put("received_bytes_total", Counter, help, |line| line.received_bytes as f64);
    put("sent_packets_total", Counter, "Packets sent since the line was opened last.", |line| line.sent_packets as f64);
    put("lost_packets_total", Counter, "Packets of these that were lost.", |line| line.lost_packets as f64);
    put("rtt_seconds", Gauge, "Round trip.", |line| line.rtt_s);
    put("window_bytes", Gauge, "Congestion window.", |line| line.window_bytes as f64);
}

/// What clients have carried since the start: unlike that of peers it stays when they have gone.
fn clients(text: &mut Text, prefix: &str, clients: &[ShownClient]) {
    let mut put = |family: &str, kind: Kind, help: &str, value: fn(&ShownClient) -> Option<u64>| {
        let named = clients.iter().take(MOST_CLIENTS);
        let series = named.filter_map(|own| Some(([("client", &*own.client)], value(own)? as f64)));
        text.family(&format!("{prefix}_client_{family}"), kind, help, series);
    };
    put("open_flows", Gauge, "Number of flows of the client that are open.", |own| Some(own.open_flows as u64));
    put("flows_total", Counter, "Number of flows of the client.", |own| Some(own.flows));
    put("to_targets_bytes_total", Counter, "Bytes of the client to targets.", |own| Some(own.to_targets_bytes));
    put("from_targets_bytes_total", Counter, "Bytes of the client from targets.", |own| Some(own.from_targets_bytes));
    put("quota_bytes", Gauge, "The quota of the client for its period.", |own| own.quota_bytes);
    put("quota_used_bytes", Gauge, "Bytes of the quota that are used.", |own| own.used_bytes);
}

fn http(text: &mut Text, prefix: &str, front: &Front) {
    let answered = front.answered();
    let outcomes = [("good", &answered.good), ("refused", &answered.refused)];
    let series = outcomes.map(|(outcome, count)| ([("outcome", outcome)], count.load(Ordering::Relaxed) as f64));
    text.family(&format!("{prefix}_http_answers_total"), Counter, "Answers by HTTP, this one not counted.", series);
}
