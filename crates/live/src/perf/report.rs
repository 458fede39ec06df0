//! Reports of measurements in the format of iperf3's JSON, where a stream stands for a path here.
//!
//! The sums count data. Counts of a path include all UDP payload that it carried, with headers of QUIC.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::Plan;
use super::wire::{Direction, Done};
use crate::paths::PathReport;

/// The report of a whole measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    start: Start,
    intervals: Vec<Interval>,
    end: End,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Start {
    connected: Vec<Connected>,
    version: String,
    timestamp: Timestamp,
    connecting_to: ConnectingTo,
    #[serde(rename = "test_start")]
    test: TestStart,
}

#[derive(Clone, Debug, Serialize)]
struct Connected {
    socket: usize,
    path: String,
    openings: u32,
}

#[derive(Clone, Debug, Serialize)]
struct Timestamp {
    timesecs: u64,
}

#[derive(Clone, Debug, Serialize)]
struct ConnectingTo {
    host: String,
    port: u16,
}

#[derive(Clone, Debug, Serialize)]
struct TestStart {
    protocol: &'static str,
    congestion: String,
    num_streams: u32,
    duration: f64,
    bytes: u64,
    reverse: u8,
}

/// The report of an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    streams: Vec<Stream>,
    sum: Sum,
}

impl Interval {
    /// Rate over all paths in payload, in bit/s.
    pub fn bps(&self) -> f64 {
        self.sum.bits_per_second
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Stream {
    socket: usize,
    path: String,
    start: f64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    /// Packets detected as lost; only the sender knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmits: Option<u64>,
    /// Congestion window in bytes.
    snd_cwnd: u64,
    /// Round trip in microseconds.
    rtt: u64,
    sender: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Sum {
    start: f64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmits: Option<u64>,
    /// Packets sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<u64>,
    sender: bool,
}

#[derive(Clone, Debug, Serialize)]
struct End {
    streams: Vec<Stream>,
    sum_sent: Sum,
    sum_received: Sum,
    cpu_utilization_percent: CpuPercent,
}

#[derive(Clone, Debug, Serialize)]
struct CpuPercent {
    host_total: f64,
    host_user: f64,
    host_system: f64,
    remote_total: f64,
    remote_user: f64,
    remote_system: f64,
}

impl Start {
    pub(super) fn new(plan: &Plan, remote: SocketAddr, paths: &[PathReport]) -> Self {
        let connected = |(socket, path): (usize, &PathReport)| Connected {
            socket,
            path: path.label.clone(),
            openings: path.openings,
        };
        Self {
            connected: paths.iter().enumerate().map(connected).collect(),
            version: format!("anabranch {}", env!("CARGO_PKG_VERSION")),
            timestamp: Timestamp {
                timesecs: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            },
            connecting_to: ConnectingTo { host: plan.url.host.clone(), port: remote.port() },
            test: TestStart {
                protocol: "QUIC",
                congestion: plan.control.clone(),
                num_streams: plan.streams,
                duration: plan.seconds,
                bytes: plan.bytes,
                reverse: u8::from(plan.direction == Direction::Down),
            },
        }
    }
}

impl Interval {
    /// Creates an interval from its bytes of data, and the counts of paths at its beginning and its end.
    pub(super) fn new(
        direction: Direction,
        (start, end): (f64, f64),
        bytes: u64,
        before: &[PathReport],
        after: &[PathReport],
    ) -> Self {
        let streams = streams(direction, (start, end), before, after);
        let retransmits = streams.iter().map(|stream| stream.retransmits).sum();
        let sum = Sum::new((start, end), bytes, direction == Direction::Up);
        Self { streams, sum: Sum { retransmits, ..sum } }
    }

    /// A line of text for readers.
    pub fn line(&self) -> String {
        let Sum { start, end, bits_per_second, retransmits, .. } = self.sum;
        let of = |stream: &Stream| format!("{} {:.1}", stream.path, stream.bits_per_second / 1e6);
        let paths: Vec<String> = self.streams.iter().map(of).collect();
        let lost = retransmits.map_or_else(String::new, |lost| format!("  {lost:5} lost"));
        format!("{start:6.1} - {end:6.1} s  {:9.1} Mbit/s{lost}  {}", bits_per_second / 1e6, paths.join("  "))
    }
}

impl Sum {
    fn new((start, end): (f64, f64), bytes: u64, sender: bool) -> Self {
        let seconds = end - start;
        let bits_per_second = rate(bytes, seconds);
        Self { start, end, seconds, bytes, bits_per_second, retransmits: None, packets: None, sender }
    }
}

impl Report {
    pub(super) fn new(
        start: Start,
        intervals: Vec<Interval>,
        direction: Direction,
        own: Done,
        peer: Done,
        before: &[PathReport],
        after: &[PathReport],
    ) -> Self {
        let is_up = direction == Direction::Up;
        let (sent, received) = if is_up { (own, peer) } else { (peer, own) };
        let streams = streams(direction, (0.0, own.seconds), before, after);
        let sum_sent = Sum {
            retransmits: Some(sent.lost),
            packets: Some(sent.packets),
            ..Sum::new((0.0, sent.seconds), sent.bytes, is_up)
        };
        let percent = |used: f64, of: f64| if of > 0.0 { 100.0 * used / of } else { 0.0 };
        let cpu_utilization_percent = CpuPercent {
            host_total: percent(own.cpu.user_s + own.cpu.system_s, own.seconds),
            host_user: percent(own.cpu.user_s, own.seconds),
            host_system: percent(own.cpu.system_s, own.seconds),
            remote_total: percent(peer.cpu.user_s + peer.cpu.system_s, peer.seconds),
            remote_user: percent(peer.cpu.user_s, peer.seconds),
            remote_system: percent(peer.cpu.system_s, peer.seconds),
        };
        let end = End {
            streams,
            sum_sent,
            sum_received: Sum::new((0.0, received.seconds), received.bytes, is_up),
            cpu_utilization_percent,
        };
        Self { start, intervals, end }
    }

    /// The report as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("reports are plain values")
    }

    /// Bytes of data that arrived, and their rate in bits a second.
    pub fn received(&self) -> (u64, f64) {
        (self.end.sum_received.bytes, self.end.sum_received.bits_per_second)
    }

    /// Bytes carried by each path.
    pub fn path_bytes(&self) -> Vec<u64> {
        self.end.streams.iter().map(|stream| stream.bytes).collect()
    }

    /// A summary for readers, with a line for each path and one for all.
    pub fn lines(&self) -> Vec<String> {
        let of = |stream: &Stream| {
            let Stream { path, bytes, bits_per_second, retransmits, snd_cwnd, rtt, .. } = stream;
            let lost = retransmits.map_or_else(String::new, |lost| format!(" {lost} lost,"));
            format!(
                "{path}: {} in {:.2} s, {:.1} Mbit/s,{lost} round trip {:.1} ms, window {}",
                size(*bytes),
                stream.seconds,
                bits_per_second / 1e6,
                *rtt as f64 / 1e3,
                size(*snd_cwnd)
            )
        };
        let Sum { bytes, seconds, bits_per_second, .. } = self.end.sum_received;
        let cpu = &self.end.cpu_utilization_percent;
        let sent = &self.end.sum_sent;
        let all = format!(
            "received {} in {seconds:.2} s, {:.1} Mbit/s; {} of {} packets lost; processor {:.0} % here, {:.0} % there",
            size(bytes),
            bits_per_second / 1e6,
            sent.retransmits.unwrap_or_default(),
            sent.packets.unwrap_or_default(),
            cpu.host_total,
            cpu.remote_total
        );
        self.end.streams.iter().map(of).chain([all]).collect()
    }
}

/// The counts of each path in a time.
fn streams(direction: Direction, (start, end): (f64, f64), before: &[PathReport], after: &[PathReport]) -> Vec<Stream> {
    let sender = direction == Direction::Up;
    let carried = |path: &PathReport| if sender { path.sent_bytes } else { path.received_bytes };
    let of = |(socket, path): (usize, &PathReport)| {
        let first = before.get(socket);
        let bytes = carried(path).saturating_sub(first.map_or(0, carried));
        Stream {
            socket,
            path: path.label.clone(),
            start,
            end,
            seconds: end - start,
            bytes,
            bits_per_second: rate(bytes, end - start),
            retransmits: sender.then(|| path.lost_packets.saturating_sub(first.map_or(0, |path| path.lost_packets))),
            snd_cwnd: path.window_bytes,
            rtt: (path.rtt_s * 1e6) as u64,
            sender,
        }
    };
    after.iter().enumerate().map(of).collect()
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
}

/// A size to three digits, with its unit, as in `12.3 MB`.
pub(super) fn size(bytes: u64) -> String {
    const SCALES: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let digits = bytes.checked_ilog10().unwrap_or(0);
    let unit = 10f64.powi(digits as i32 - 2);
    let rounded = if digits < 3 { bytes as f64 } else { (bytes as f64 / unit).round() * unit };
    let Some((scale, name)) = SCALES.into_iter().find(|(scale, _)| rounded >= *scale) else {
        return format!("{bytes} bytes");
    };
    let number = rounded / scale;
    let places = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{number:.places$}");
    let text = if places > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1 kB"),
            (5_000_000, "5 MB"),
            (12_345_678, "12.3 MB"),
            (913_808_000, "914 MB"),
            (999_999, "1 MB"),
            (1_250_000_000, "1.25 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
