//! What is shown of a program, in the words of its interface.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use crate::accounts::Known;
use crate::bundle::line::Line;
use crate::ledger::{Ledger, Row};
use crate::tunnel::Carried;
use crate::uplink::Known as KnownLine;

/// A program that can be shown.
pub(crate) trait Shows: Send + Sync + 'static {
    /// What it is: `proxy`, `relay` or `exit`.
    fn kind(&self) -> &'static str;

    /// Its URL, or that of its exit.
    fn url(&self) -> String;

    /// Its congestion control, where a client names no other.
    fn control(&self) -> String;

    /// Bytes that wait in all flows.
    fn waiting(&self) -> u64;

    /// Those to which it is connected.
    fn peers(&self) -> Vec<Peer>;

    /// The clients that it knows; a proxy has programs instead.
    fn clients(&self) -> Vec<Arc<Known>> {
        Vec::new()
    }
}

/// The other end of connections.
pub(crate) struct Peer {
    /// Its address or its place. A client that has a name has it before its address.
    pub name: String,
    /// Whether it has shown what it needs.
    pub is_known: bool,
    pub lines: Vec<ShownLine>,
    pub ledger: Arc<Ledger>,
    /// Whether targets are reached over it.
    pub is_onward: bool,
}

impl Peer {
    /// Bytes to targets and from them.
    fn split(&self, carried: Carried) -> (u64, u64) {
        let Carried { into_stream, out_of_stream } = carried;
        if self.is_onward { (into_stream, out_of_stream) } else { (out_of_stream, into_stream) }
    }
}

/// A proxy or an exit.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Status {
    /// `proxy`, `relay` or `exit`.
    pub kind: &'static str,
    /// The version of anabranch.
    pub version: &'static str,
    /// The URL of the exit, without its fingerprints.
    pub url: String,
    /// The congestion control, where a client names no other.
    pub control: String,
    /// When the program started, in seconds since 1970.
    pub start_s: f64,
    /// When this was so, in seconds since 1970.
    pub time_s: f64,
    /// Bytes that wait in all flows.
    pub waiting_bytes: u64,
    /// A proxy has its exit; an exit has its proxies, and the clients of others; a relay has all of these.
    pub peers: Vec<ShownPeer>,
    /// The clients that an exit or a relay knows, with all that they have carried since its start; a proxy has none.
    pub clients: Vec<ShownClient>,
}

/// A client, with all its flows since the start.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Client")]
pub(super) struct ShownClient {
    /// Its name; empty for all that show the token of `--token-file`.
    pub client: String,
    /// Number of flows that are open.
    pub open_flows: usize,
    /// Number of all flows that there were.
    pub flows: u64,
    /// Bytes to targets.
    pub to_targets_bytes: u64,
    /// Bytes from targets.
    pub from_targets_bytes: u64,
    /// The most bytes that it may carry in its period, if it has a quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
    /// Bytes of the quota that are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
}

impl ShownClient {
    pub fn of(client: &Known) -> Self {
        let (flows, Carried { into_stream, out_of_stream }) = client.ledger.total();
        let quota = client.quota.as_ref();
        Self {
            client: client.name.clone().unwrap_or_default(),
            open_flows: client.ledger.open(),
            flows,
            to_targets_bytes: out_of_stream,
            from_targets_bytes: into_stream,
            quota_bytes: quota.map(|quota| quota.most()),
            used_bytes: quota.map(|quota| quota.used()),
        }
    }
}

/// The other end of connections.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Peer")]
pub(super) struct ShownPeer {
    /// Its address or its place. A client that has a name has it before its address.
    pub peer: String,
    /// Whether it has shown a token or a certificate that is right.
    pub is_known: bool,
    /// Whether targets are reached over it: the flows of a relay are those of its clients, and again those over its exit.
    pub is_onward: bool,
    /// Number of flows that are open.
    pub open_flows: usize,
    /// Number of all flows that there were.
    pub flows: u64,
    /// Bytes to targets.
    pub to_targets_bytes: u64,
    /// Bytes from targets.
    pub from_targets_bytes: u64,
    /// The lines; a client of others has none.
    pub lines: Vec<ShownLine>,
}

/// A line: a connection over one path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Line")]
pub(crate) struct ShownLine {
    /// Its number among the lines of its proxy.
    pub line: u8,
    /// Its addresses, or what the proxy was told to use.
    pub path: String,
    /// Whether it is used while no other works.
    pub is_backup: bool,
    /// Its weight where one line is chosen.
    pub weight: f64,
    /// Lines of one group share links, as far as is known.
    pub group: u32,
    /// The most that each end may send over it in bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_bps: Option<f64>,
    /// `up`, `doubted` while it is silent though others are not, or `down`.
    pub state: State,
    /// Why it is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of times that it was opened; at an exit that of this connection.
    pub openings: u32,
    /// Bytes of UDP payload sent since it was opened last.
    pub sent_bytes: u64,
    /// Bytes of UDP payload received since it was opened last.
    pub received_bytes: u64,
    /// Packets sent since it was opened last.
    pub sent_packets: u64,
    /// Packets of these that were lost.
    pub lost_packets: u64,
    /// Round trip in seconds.
    pub rtt_s: f64,
    /// Variation of the round trip in seconds.
    pub jitter_s: f64,
    /// Congestion window in bytes.
    pub window_bytes: u64,
}

/// How a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    Up,
    Doubted,
    Down,
}

impl State {
    /// All states, by name.
    pub const ALL: [(Self, &'static str); 3] = [(Self::Up, "up"), (Self::Doubted, "doubted"), (Self::Down, "down")];
}

/// Some of the flows that are open.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Flows")]
pub(super) struct Open {
    /// When this was so, in seconds since 1970.
    pub time_s: f64,
    /// Number of flows that are open.
    pub count: usize,
    /// The flows, those first that have carried the most.
    pub flows: Vec<ShownFlow>,
}

/// A flow: a connection of TCP to a target, packets of UDP, or IP packets of a client.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Flow")]
pub(super) struct ShownFlow {
    /// The other end of the connections that carry it.
    pub peer: String,
    /// Its number at that peer.
    pub number: u64,
    /// `tcp`, `udp` or `ip`.
    pub kind: &'static str,
    /// Host and port; of IP packets the addresses of the client.
    pub target: String,
    /// When it began, in seconds since 1970.
    pub begun_s: f64,
    /// Bytes to the target.
    pub to_target_bytes: u64,
    /// Bytes from the target.
    pub from_target_bytes: u64,
    /// Bytes that wait.
    pub waiting_bytes: u64,
    /// The numbers of the lines that carry it, one for each stream.
    pub lines: Vec<u8>,
}

/// Seconds since 1970.
pub(super) fn now_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The lines of a bundle of which nothing but these connections is known.
pub(crate) fn lines_of(lines: impl IntoIterator<Item = Arc<Line>>) -> Vec<ShownLine> {
    let mut all: Vec<ShownLine> = lines.into_iter().map(|line| ShownLine::up(&line, 1)).collect();
    all.sort_by_key(|line| line.line);
    all
}

impl ShownLine {
    /// A line that may be up.
    pub fn of(known: KnownLine, line: Option<Arc<Line>>) -> Self {
        let KnownLine { number, terms, report, reason, .. } = known;
        match line {
            Some(line) => Self { path: report.label, ..Self::up(&line, report.openings) },
            None => Self {
                line: number,
                path: report.label,
                is_backup: terms.is_backup,
                weight: terms.weight,
                group: terms.group,
                most_bps: Some(terms.most.0).filter(|bps| bps.is_finite()),
                state: State::Down,
                reason,
                openings: report.openings,
                sent_bytes: 0,
                received_bytes: 0,
                sent_packets: 0,
                lost_packets: 0,
                rtt_s: 0.0,
                jitter_s: 0.0,
                window_bytes: 0,
            },
        }
    }

    fn up(line: &Line, openings: u32) -> Self {
        let (report, pace, terms) = (line.report(), line.pace(), line.terms());
        let count = |of: fn(&anabranch_live::PathReport) -> u64| report.as_ref().map_or(0, of);
        Self {
            line: line.number,
            path: report.as_ref().map_or_else(String::new, |report| report.label.clone()),
            is_backup: terms.is_backup,
            weight: terms.weight,
            group: terms.group,
            most_bps: Some(terms.most.0).filter(|bps| bps.is_finite()),
            state: if line.is_doubted() { State::Doubted } else { State::Up },
            reason: None,
            openings,
            sent_bytes: count(|report| report.sent_bytes),
            received_bytes: count(|report| report.received_bytes),
            sent_packets: count(|report| report.sent_packets),
            lost_packets: count(|report| report.lost_packets),
            rtt_s: pace.rtt.as_secs_f64(),
            jitter_s: pace.jitter.as_secs_f64(),
            window_bytes: pace.window,
        }
    }
}

impl ShownPeer {
    pub fn of(peer: Peer) -> Self {
        let (flows, carried) = peer.ledger.total();
        let (to_targets_bytes, from_targets_bytes) = peer.split(carried);
        Self {
            peer: peer.name,
            is_known: peer.is_known,
            is_onward: peer.is_onward,
            open_flows: peer.ledger.open(),
            flows,
            to_targets_bytes,
            from_targets_bytes,
            lines: peer.lines,
        }
    }
}

impl Open {
    /// The flows of a program, `most` at the most.
    pub fn of(shows: &impl Shows, most: usize) -> Self {
        // A relay has each flow twice: from a client, and to its exit.
        let (peers, is_relay) = (shows.peers(), shows.kind() == "relay");
        let own = peers.iter().filter(|peer| !(is_relay && peer.is_onward));
        let mut flows: Vec<ShownFlow> = own.flat_map(flows_of).collect();
        let count = flows.len();
        flows.sort_by_key(|flow| std::cmp::Reverse(flow.to_target_bytes + flow.from_target_bytes));
        flows.truncate(most);
        Self { time_s: now_s(), count, flows }
    }
}

fn flows_of(peer: &Peer) -> Vec<ShownFlow> {
    let shown = |(number, row): (u64, Row)| {
        let (target, Row { kind, begun, flow, .. }) = (row.target(), row);
        let (to_target_bytes, from_target_bytes) = peer.split(flow.carried());
        ShownFlow {
            peer: peer.name.clone(),
            number,
            kind: kind.name(),
            target,
            begun_s: Duration::as_secs_f64(&begun),
            to_target_bytes,
            from_target_bytes,
            waiting_bytes: flow.waiting(),
            lines: flow.lines(),
        }
    };
    peer.ledger.rows().into_iter().map(shown).collect()
}
