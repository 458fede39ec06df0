//! Entries of logs, and their records: fields and names are those of the drafts of qlog.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::quic::{ConnectionEnd, ConnectionError, connection_end};

/// The drafts of which the events are: of QUIC, and of the general ones.
const SCHEMAS: [&str; 2] = ["urn:ietf:params:qlog:events:quic-12", "urn:ietf:params:qlog:events:loglevel-13"];

/// An entry of a log.
#[derive(Debug)]
pub(super) struct Entry {
    /// Number of the connection.
    pub(super) connection: u64,
    /// Time since the connection began.
    pub(super) at: Duration,
    /// Number of the path that it is about.
    pub(super) path: Option<u32>,
    pub(super) what: What,
}

/// What has happened.
#[derive(Debug)]
pub(super) enum What {
    /// A connection begins.
    Begin(Box<Begin>),
    /// A path runs between these addresses.
    Assigned { local: Option<IpAddr>, remote: SocketAddr },
    /// Metrics have changed.
    Metrics(Metrics),
    /// The control takes a signal of congestion, or all packets that were in flight then have left.
    Congestion { is_recovery: bool, trigger: Option<&'static str> },
    /// A packet is lost.
    Lost { number: Option<u64> },
    /// The connection has ended; without an error if this end has let go of it.
    Closed(Option<Box<ConnectionError>>),
}

/// How a connection begins.
#[derive(Debug)]
pub(super) struct Begin {
    pub(super) vantage: Vantage,
    pub(super) remote: SocketAddr,
    pub(super) time: SystemTime,
    /// Events that found no room.
    pub(super) dropped: Arc<AtomicU64>,
}

/// The end of a connection from which its log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vantage {
    /// The end that connects.
    Client,
    /// The end that accepts.
    Server,
}

impl Vantage {
    /// The word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Metrics of a path: round trips in milliseconds, the rate in bit/s, the rest in bytes and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) packets_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pacing_rate: Option<u64>,
}

impl Metrics {
    /// What differs from the last metrics, which become these.
    pub(super) fn since(&self, last: &mut Self) -> Self {
        fn new<T: Copy + PartialEq>(now: Option<T>, last: &mut Option<T>) -> Option<T> {
            let is_new = now.is_some() && now != *last;
            *last = now.or(*last);
            now.filter(|_| is_new)
        }
        Self {
            min_rtt: new(self.min_rtt, &mut last.min_rtt),
            smoothed_rtt: new(self.smoothed_rtt, &mut last.smoothed_rtt),
            latest_rtt: new(self.latest_rtt, &mut last.latest_rtt),
            congestion_window: new(self.congestion_window, &mut last.congestion_window),
            bytes_in_flight: new(self.bytes_in_flight, &mut last.bytes_in_flight),
            packets_in_flight: new(self.packets_in_flight, &mut last.packets_in_flight),
            pacing_rate: new(self.pacing_rate, &mut last.pacing_rate),
        }
    }
}

/// Milliseconds with three places.
pub(super) fn ms(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e3
}

/// An event, as it is written.
#[derive(Serialize)]
pub(super) struct Record<T> {
    time: f64,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tuple: Option<String>,
    data: T,
}

impl<T: Serialize> Record<T> {
    /// An event at this time since the connection began.
    pub(super) fn new(at: Duration, path: Option<u32>, name: &'static str, data: T) -> Self {
        Self { time: ms(at.as_secs_f64()), name, tuple: path.map(|path| path.to_string()), data }
    }
}

/// The first record of a file.
pub(super) fn header(begin: &Begin, group: &str) -> Value {
    let time = OffsetDateTime::from(begin.time).format(&Rfc3339).unwrap_or_else(|_| "unknown".to_owned());
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": format!("anabranch {}", env!("CARGO_PKG_VERSION")),
        "trace": {
            "common_fields": {
                "group_id": group,
                "time_format": "relative_to_epoch",
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": time },
            },
            "vantage_point": { "type": begin.vantage.name() },
            "event_schemas": SCHEMAS,
        },
    })
}

/// The data of the event that a connection has started. The system chooses the address of this end.
pub(super) fn started(remote: SocketAddr) -> Value {
    json!({ "local": {}, "remote": place(remote) })
}

/// The data of the event that a path runs between two addresses.
pub(super) fn assigned(path: Option<u32>, local: Option<IpAddr>, remote: SocketAddr) -> Value {
    let local = match local.map(|local| local.to_canonical()) {
        Some(local) => json!({ ip_key(local): local.to_string() }),
        None => json!({}),
    };
    let id = path.map(|path| path.to_string()).unwrap_or_default();
    json!({ "tuple_id": id, "tuple_local": local, "tuple_remote": place(remote) })
}

fn ip_key(ip: IpAddr) -> &'static str {
    if ip.is_ipv4() { "ip_v4" } else { "ip_v6" }
}

fn place(at: SocketAddr) -> Value {
    let ip = at.ip().to_canonical();
    let port = if ip.is_ipv4() { "port_v4" } else { "port_v6" };
    json!({ ip_key(ip): ip.to_string(), port: at.port() })
}

/// The data of the event that the state of the control has changed.
pub(super) fn congestion(is_recovery: bool, trigger: Option<&str>) -> Value {
    let states = ["open", "recovery"];
    let (old, new) = (states[usize::from(!is_recovery)], states[usize::from(is_recovery)]);
    match trigger {
        Some(trigger) => json!({ "old": old, "new": new, "trigger": trigger }),
        None => json!({ "old": old, "new": new }),
    }
}

/// The data of the event that a packet is lost.
pub(super) fn lost(number: Option<u64>) -> Value {
    match number {
        Some(number) => json!({ "header": { "packet_type": "1RTT", "packet_number": number } }),
        None => json!({ "header": { "packet_type": "unknown" } }),
    }
}

/// The data of the event that a connection has ended.
pub(super) fn closed(why: Option<&ConnectionError>) -> Value {
    match why.map_or(ConnectionEnd::Local, connection_end) {
        ConnectionEnd::Local => json!({ "initiator": "local", "trigger": "application" }),
        ConnectionEnd::Idle => json!({ "trigger": "idle_timeout" }),
        ConnectionEnd::Reset => json!({ "initiator": "remote", "trigger": "stateless_reset" }),
        ConnectionEnd::Version => json!({ "initiator": "local", "trigger": "version_mismatch" }),
        ConnectionEnd::Application { code, reason } => json!({
            "initiator": "remote", "application_error": "unknown", "error_code": code, "reason": reason,
            "trigger": "application",
        }),
        ConnectionEnd::Transport { is_local, code, reason } => {
            let initiator = if is_local { "local" } else { "remote" };
            let mut data = json!({ "initiator": initiator, "reason": reason, "trigger": "error" });
            // Alerts of TLS have names with their numbers.
            if (0x100..0x200).contains(&code) {
                data["connection_error"] = json!(format!("crypto_error_0x{code:03x}"));
            } else {
                data["connection_error"] = json!("unknown");
                data["error_code"] = json!(code);
            }
            data
        }
    }
}

/// The name and the data of the last event, which says how many events are missing.
pub(super) fn missing(count: u64) -> (&'static str, Value) {
    match count {
        0 => ("loglevel:info", json!({ "message": "no events are missing" })),
        count => {
            let message = format!("{count} events are missing, since they came faster than they could be written");
            ("loglevel:warning", json!({ "code": count, "message": message }))
        }
    }
}
