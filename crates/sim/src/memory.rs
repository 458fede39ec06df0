//! An estimate of the memory that a run takes, before it takes any.
//!
//! The estimate counts what surely comes: connections and paths, the packets of first windows, the packets that
//! saturated links have under way, samples and the tables that are made of them, and distributions of waits. The growth
//! of unlimited queues is not known before the run; for that, the size of the process is watched.

use anabranch_core::{ConnectionId, Span};
use anabranch_plan::Plan;

/// Bytes of a connection, with its row in a table. All these constants were measured.
const CONNECTION_BYTES: u64 = 1000;
/// Bytes of a subflow, with its row in a table.
const SUBFLOW_BYTES: u64 = 1200;
/// Bytes of a link of a path.
const STEP_BYTES: u64 = 24;

/// Bytes of a link of the network, with its row in a table.
const LINK_BYTES: u64 = 2000;

/// Bytes of a packet that waits or is under way, with its record at the source.
const PACKET_BYTES: u64 = 200;

/// Bytes of a row of the series, which has all columns, while it is simulated and made a table.
const SERIES_ROW_BYTES: u64 = 130;
/// Bytes of a row of the spread of errors.
const SPREAD_ROW_BYTES: u64 = 300;

/// Bytes of the distribution of waits of a link or a subflow.
const WAITS_BYTES: u64 = 100_000;

/// Packets that begin within this time of each other are counted as one burst.
const BURST: Span = Span::s(1);

/// A part of the memory that a run takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What takes the memory, such as `3000000 packets of first windows`.
    pub what: String,
    /// The amount in bytes.
    pub bytes: u64,
    /// Advice on how to make it less.
    pub remedy: &'static str,
}

/// Estimates the memory that a run of a plan takes, by what takes it.
pub fn memory(plan: &Plan) -> Vec<Part> {
    vec![of_things(plan), of_first_windows(plan), of_packets_under_way(plan), of_samples(plan), of_waits(plan)]
}

fn part(count: u64, things: &str, bytes: u64, remedy: &'static str) -> Part {
    Part { what: format!("{count} {things}"), bytes: count.saturating_mul(bytes), remedy }
}

fn of_things(plan: &Plan) -> Part {
    let (connections, subflows) = (plan.transfers.len() as u64, plan.paths.len() as u64);
    let bytes = connections * CONNECTION_BYTES
        + subflows * SUBFLOW_BYTES
        + plan.paths.links().len() as u64 * STEP_BYTES
        + plan.links.len() as u64 * LINK_BYTES;
    let what = format!("{connections} connections over {subflows} paths");
    Part { what, bytes, remedy: "make fewer connections, or give them fewer `paths`" }
}

/// A first window on a path: from when and until when its packets may be under way, in picoseconds, and their number.
struct Burst {
    begin: u64,
    end: u64,
    packets: u64,
}

fn of_first_windows(plan: &Plan) -> Part {
    let mut bursts = Vec::new();
    if plan.run.data {
        for (c, transfer) in plan.transfers.iter().enumerate() {
            let begin = plan.demands.connections()[c].start.0;
            let keeps_windows = plan.protocols[transfer.protocol].capabilities().keeps_windows();
            if !keeps_windows || begin >= plan.run.duration.0 {
                continue;
            }
            let whole = transfer.amount.map_or(u64::MAX, |amount| amount.0.div_ceil(transfer.packet.0.max(1)));
            let packets = (plan.run.transport.first_window as u64).min(whole);
            for path in plan.paths.of(ConnectionId::new(c)) {
                let slowest = path.iter().map(|&l| plan.network.link(l).capacity.0).fold(f64::INFINITY, f64::min);
                let sending_s = packets as f64 * transfer.packet.0 as f64 * 8.0 / slowest.max(1.0);
                let end = begin.saturating_add(round_trip(plan, path)).saturating_add((sending_s * 1e12) as u64);
                bursts.push(Burst { begin, end: end.max(begin.saturating_add(BURST.0)), packets });
            }
        }
    }
    let remedy = "lower `run.transport.first_window`, or make fewer connections";
    part(most_at_once(&bursts), "packets of first windows at once", PACKET_BYTES, remedy)
}

/// The most packets of bursts that overlap.
fn most_at_once(bursts: &[Burst]) -> u64 {
    let mut changes: Vec<(u64, i64)> =
        bursts.iter().flat_map(|own| [(own.begin, own.packets as i64), (own.end, -(own.packets as i64))]).collect();
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most as u64
}

fn round_trip(plan: &Plan, path: &[anabranch_core::LinkId]) -> u64 {
    let delay = |link| plan.network.link(link).delay.0;
    let both = |&link| [delay(link), plan.network.link(link).twin.map_or(0, delay)];
    path.iter().flat_map(both).fold(0, u64::saturating_add)
}

/// The packets under way if links are shared equally, as far as windows can grow during the run.
fn of_packets_under_way(plan: &Plan) -> Part {
    let mut users = vec![0_u32; plan.links.len()];
    plan.paths.links().iter().for_each(|link| users[link.index()] += 1);
    let mut packets = 0.0;
    if plan.run.data {
        for (c, transfer) in plan.transfers.iter().enumerate() {
            let demand = plan.demands.connections()[c].demand.map_or(f64::INFINITY, |demand| demand.0);
            let whole = transfer.amount.map_or(f64::INFINITY, |amount| amount.0 as f64 / transfer.packet.0 as f64);
            for path in plan.paths.of(ConnectionId::new(c)) {
                let share = |link: anabranch_core::LinkId| {
                    plan.network.link(link).capacity.0 / f64::from(users[link.index()].max(1))
                };
                let rate = path.iter().map(|&link| share(link)).fold(demand, f64::min);
                let round_trip = round_trip(plan, path);
                let time_s = round_trip.min(plan.run.duration.0) as f64 / 1e12;
                let window = if plan.protocols[transfer.protocol].capabilities().keeps_windows() {
                    let rounds = plan.run.duration.0 as f64 / round_trip.max(1) as f64;
                    plan.run.transport.first_window * rounds.exp2()
                } else {
                    f64::INFINITY
                };
                packets += (rate * time_s / 8.0 / transfer.packet.0 as f64).min(whole).min(window);
            }
        }
    }
    let remedy = "lower capacities or delays, make packets larger, or end the run earlier";
    part(packets as u64, "packets under way on links", PACKET_BYTES, remedy)
}

fn of_samples(plan: &Plan) -> Part {
    let record = &plan.run.record;
    let samples = plan.run.duration.0 / plan.run.sample.0.max(1) + 1;
    let counted = [
        (record.connections || record.fairness, plan.transfers.len()),
        (record.subflows || record.windows, plan.paths.len()),
        (record.links, plan.links.len()),
        (record.fairness, 1),
    ];
    let things: usize = counted.iter().filter(|(is_recorded, _)| *is_recorded).map(|(_, count)| count).sum();
    let each = things as u64 * SERIES_ROW_BYTES + u64::from(record.errors) * 2 * SPREAD_ROW_BYTES;
    let bytes = samples.saturating_mul(each);
    let remedy = "raise `run.sample`, or `record` less";
    Part { what: format!("{samples} samples of {things} things"), bytes, remedy }
}

fn of_waits(plan: &Plan) -> Part {
    let counted = if plan.run.record.waits { plan.links.len() + plan.paths.len() } else { 0 };
    part(counted as u64, "distributions of waits", WAITS_BYTES, "leave \"waits\" out of `run.record`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_counted_together_where_they_overlap() {
        let burst = |begin, end, packets| Burst { begin, end, packets };
        assert_eq!(most_at_once(&[]), 0);
        assert_eq!(most_at_once(&[burst(0, 10, 5), burst(5, 15, 7), burst(12, 20, 6)]), 13);
        // One ends when the other begins.
        assert_eq!(most_at_once(&[burst(0, 10, 5), burst(10, 20, 7)]), 7);
    }
}
