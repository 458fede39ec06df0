//! What controllers tell a log, where the calls of the QUIC library are made by hand.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Group, Logged, Slot, named};
use crate::qlog::{ConnectionLog, Qlog, Vantage};
use crate::quic::congestion::{Controller, ControllerFactory};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_loss_halves_the_window_in_the_log_and_recovery_lasts_a_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let qlog = Qlog::new(folder.path()).unwrap();
    let log = ConnectionLog::begin(&qlog, Vantage::Client, "192.0.2.7:4434".parse().unwrap());
    log.opened();
    // No time of the test is before the clock of the machine, which controllers look at.
    let start = Instant::now() + Duration::from_hours(1);
    let group = Group::since(&named("reno").unwrap(), start).unwrap();
    let factory = Arc::new(Logged { group, log });
    let mut slot: Slot = *factory.clone().build(start, 1200).into_any().downcast().unwrap();
    let acked = |slot: &mut Slot, numbers: std::ops::Range<u64>, sent: Duration, now: Duration| {
        numbers.for_each(|number| slot.on_acked(start + now, start + sent, number));
        slot.on_end_acks(start + now, 3600, false, None);
    };
    (0..11).for_each(|number| slot.on_packet_sent(start, 1200, number));
    // The first packet is lost, the last one is still under way, and the others arrive after 20 ms.
    acked(&mut slot, 1..10, Duration::ZERO, 20 * MS);
    slot.on_packet_lost(1200, 0, start + 20 * MS);
    slot.on_congestion_event(start + 20 * MS, start, false, false, 1200, 0);
    let window = slot.window();
    // The recovery ends when the last one arrives, too.
    acked(&mut slot, 10..11, Duration::ZERO, 30 * MS);
    slot.window();
    drop((slot, factory));
    qlog.finish();
    let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(file).unwrap();
    let records: Vec<Value> = text.split('\u{1e}').skip(2).map(|text| serde_json::from_str(text).unwrap()).collect();
    let names: Vec<_> = records.iter().map(|record| record["name"].as_str().unwrap()).collect();
    let expected = [
        "quic:connection_started",
        "quic:packet_lost",
        "quic:congestion_state_updated",
        "quic:recovery_metrics_updated",
        "quic:recovery_metrics_updated",
        "quic:congestion_state_updated",
        "quic:connection_closed",
        "loglevel:info",
    ];
    assert_eq!(names, expected);
    assert_eq!(records[1]["data"]["header"]["packet_number"], 0);
    assert_eq!([&records[2]["data"]["new"], &records[2]["data"]["trigger"]], ["recovery", "packet_loss"]);
    let first = &records[3]["data"];
    assert_eq!([&first["congestion_window"], &first["bytes_in_flight"]], [window, 3600]);
    assert!((5 * 1200..6 * 1200).contains(&window), "half of ten or eleven packets: {window}");
    assert_eq!([&first["latest_rtt"], &first["min_rtt"]], [20.0, 20.0]);
    let second = &records[4]["data"];
    assert!(second["latest_rtt"].is_f64() && second.get("min_rtt").is_none(), "{second}");
    assert_eq!(records[5]["data"]["new"], "open");
}
