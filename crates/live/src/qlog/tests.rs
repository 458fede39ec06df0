//! Logs hold what they were told, and say what is missing.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::queue::MOST_WAITING;
use super::{ConnectionLog, Qlog, Sample, Vantage};
use crate::quic::ConnectionError;

const SAMPLE: Sample = Sample {
    smoothed_rtt: 0.02,
    latest_rtt: Some(0.021),
    window: 12_000,
    packets_in_flight: 3,
    pacing_rate: Some(6_000_000),
    is_recovering: false,
};

/// The records of the only file in a folder.
fn records(folder: &Path) -> Vec<Value> {
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() == 1 && files[0].extension().unwrap() == "sqlog", "{files:?}");
    let text = fs::read_to_string(&files[0]).unwrap();
    let (before, rest) = text.split_once('\u{1e}').unwrap();
    assert_eq!(before, "");
    rest.split('\u{1e}').map(|record| serde_json::from_str(record.strip_suffix('\n').unwrap()).unwrap()).collect()
}

fn names(records: &[Value]) -> Vec<&str> {
    records[1..].iter().map(|record| record["name"].as_str().unwrap()).collect()
}

/// The records of a connection to which something happens.
fn logged(happen: impl FnOnce(&Arc<ConnectionLog>)) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let qlog = Qlog::new(&folder.path().join("a/b")).unwrap();
    let log = ConnectionLog::begin(&qlog, Vantage::Client, "192.0.2.7:4434".parse().unwrap());
    happen(&log);
    drop(log);
    qlog.finish();
    assert_eq!(qlog.trouble(), None);
    records(&folder.path().join("a/b"))
}

#[test]
fn a_log_has_a_header_and_the_events_of_a_connection() {
    let records = logged(|log| {
        let path = log.path();
        path.assigned(Some("::ffff:192.0.2.1".parse().unwrap()), "[2001:db8::1]:4434".parse().unwrap());
        path.lost(Instant::now(), 7);
        log.opened();
        path.in_flight(3600);
        path.metrics(Instant::now(), &SAMPLE);
        path.lost(Instant::now(), 7);
        path.recovers(Instant::now(), "packet_loss");
        path.metrics(Instant::now(), &Sample { latest_rtt: Some(0.019), window: 6_000, ..SAMPLE });
        log.closed(&ConnectionError::TimedOut);
    });
    assert_eq!(records[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(records[0]["trace"]["vantage_point"]["type"], "client");
    let expected = [
        "quic:connection_started",
        "quic:tuple_assigned",
        "quic:packet_lost",
        "quic:recovery_metrics_updated",
        "quic:packet_lost",
        "quic:congestion_state_updated",
        "quic:recovery_metrics_updated",
        "quic:congestion_state_updated",
        "quic:connection_closed",
        "loglevel:info",
    ];
    assert_eq!(names(&records), expected);
    let data = |place: usize| &records[place + 1]["data"];
    assert_eq!(*data(0), json!({ "local": {}, "remote": { "ip_v4": "192.0.2.7", "port_v4": 4434 } }));
    let remote = json!({ "ip_v6": "2001:db8::1", "port_v6": 4434 });
    let local = json!({ "ip_v4": "192.0.2.1" });
    assert_eq!(*data(1), json!({ "tuple_id": "0", "tuple_local": local, "tuple_remote": remote }));
    // A packet of the handshake may have any of three kinds.
    assert_eq!(*data(2), json!({ "header": { "packet_type": "unknown" } }));
    let metrics = json!({
        "min_rtt": 21.0, "smoothed_rtt": 20.0, "latest_rtt": 21.0, "congestion_window": 12_000, "bytes_in_flight": 3600,
        "packets_in_flight": 3, "pacing_rate": 6_000_000,
    });
    assert_eq!(*data(3), metrics);
    assert_eq!(*data(4), json!({ "header": { "packet_type": "1RTT", "packet_number": 7 } }));
    assert_eq!(*data(5), json!({ "old": "open", "new": "recovery", "trigger": "packet_loss" }));
    // Metrics that have not changed are not said again.
    assert_eq!(*data(6), json!({ "congestion_window": 6000, "latest_rtt": 19.0, "min_rtt": 19.0 }));
    assert_eq!(*data(7), json!({ "old": "recovery", "new": "open" }));
    assert_eq!(*data(8), json!({ "trigger": "idle_timeout" }));
    assert!(records[2..9].iter().all(|record| record["tuple"] == "0" && record["time"].is_f64()));
}

#[test]
fn events_that_find_no_room_are_counted_at_the_end() {
    let count = 4 * MOST_WAITING as u64;
    let records = logged(|log| {
        let path = log.path();
        (0..count).for_each(|number| path.lost(Instant::now(), number));
    });
    let last = records.last().unwrap();
    let missing = last["data"]["code"].as_u64().unwrap();
    assert!(missing > 0 && last["name"] == "loglevel:warning", "{last}");
    let lost = names(&records).into_iter().filter(|name| *name == "quic:packet_lost").count();
    assert_eq!(lost as u64 + missing, count);
}

#[test]
fn connections_that_outlast_the_log_have_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let qlog = Qlog::new(folder.path()).unwrap();
    let log = ConnectionLog::begin(&qlog, Vantage::Server, "[::1]:1".parse().unwrap());
    qlog.finish();
    log.path().metrics(Instant::now(), &SAMPLE);
    assert_eq!(names(&records(folder.path())), ["quic:connection_started", "loglevel:info"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_with_its_name() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Qlog::new(&file.path().join("logs")).map(|_| ()).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot write logs into /") && error.ends_with("name another folder by --qlog"),
        "{error}"
    );
}
