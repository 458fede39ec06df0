//! The limits of queues: those that the file has, bandwidth-delay products, and defaults where windows grow.

use std::collections::BTreeMap;

use anabranch_core::{Bytes, LinkId, Network, Paths, Rate, Span};
use anabranch_plan::{ControlPlane, LinkPlan};
use anabranch_queues::{Family, QueueDiscipline};
use toml::Spanned;

use super::Scenario;
use super::connections::Connections;
use super::network::first_ids;
use crate::file::link::QueueLimit;

/// The round trip over a link that no connection uses.
const UNUSED_ROUND_TRIP: Span = Span(100_000_000_000);

/// The fewest packets in a bandwidth-delay product: a queue has room for an initial window.
const LEAST_PACKETS: u64 = 10;

/// The discipline of links without one.
const DROP_TAIL: &str = "drop-tail";

/// The packets that wait under a discipline that drops or marks early: the limit that Linux has for most of these.
const EARLY_PACKETS: u32 = 1000;

impl Scenario {
    /// The limit of a queue without one in the file: none if no connection keeps windows, since granted rates bound the
    /// queues.
    pub(super) fn silent_limit(&self, wants: &Connections, discipline: Option<&QueueDiscipline>) -> QueueLimit {
        let keeps_windows = wants.protocols.iter().any(|protocol| protocol.capabilities().keeps_windows());
        if !keeps_windows && !self.carries_programs {
            return QueueLimit::Unlimited;
        }
        match discipline {
            Some(discipline) if discipline.bounds_itself() => QueueLimit::Unlimited,
            Some(discipline) if matches!(discipline.family(), Family::Early | Family::Marks) => {
                QueueLimit::Packets(EARLY_PACKETS)
            }
            _ => QueueLimit::Product(1.0),
        }
    }

    /// Sets the limit of each link's queue. Returns a note about the links whose limit is a default.
    pub(super) fn set_limits(
        &self,
        network: &Network,
        links: &mut [LinkPlan],
        wants: &Connections,
        paths: &Paths,
    ) -> Option<String> {
        let round_trips = longest_round_trips(network, paths);
        let packet = self.largest_packet(wants);
        let mut silent: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (l, written) in self.written_limits(network).into_iter().enumerate() {
            let limit = written.unwrap_or_else(|| self.silent_limit(wants, links[l].discipline.as_ref()));
            let capacity = greatest_capacity(network, links, l);
            links[l].limit = limit.limit(|factor| product(factor, capacity, round_trips[l], packet));
            if written.is_none() && limit != QueueLimit::Unlimited && capacity.0.is_finite() {
                silent
                    .entry(links[l].discipline.as_ref().map_or(DROP_TAIL, QueueDiscipline::name))
                    .or_default()
                    .push(l);
            }
        }
        silent_note(network, links, &silent)
    }

    /// The limit of each link's queue, if the file has one.
    fn written_limits(&self, network: &Network) -> Vec<Option<QueueLimit>> {
        let default = self.file.defaults.link.as_ref().and_then(|settings| settings.get_ref().queue);
        let mut limits = vec![default; network.links().len()];
        for (table, first) in self.file.link.iter().map(Spanned::get_ref).zip(first_ids(&self.file.link)) {
            let directions = if table.two_way { 2 } else { 1 };
            limits[first.index()..first.index() + directions].fill(table.queue.or(default));
        }
        limits
    }

    /// The size of the largest packet that waits in queues.
    fn largest_packet(&self, wants: &Connections) -> Bytes {
        let run = self.run().plan();
        let control = if run.control == ControlPlane::InBand { run.control_packet } else { Bytes(0) };
        let data = wants.transfers.iter().map(|transfer| transfer.packet);
        data.chain([control])
            .max()
            .filter(|packet| packet.0 > 0)
            .unwrap_or(self.file.defaults.connection.values().packet.0)
    }
}

/// A note about the links whose limit is a default, by their discipline.
fn silent_note(network: &Network, links: &[LinkPlan], silent: &BTreeMap<&str, Vec<usize>>) -> Option<String> {
    let has = match silent.values().map(Vec::len).sum() {
        0 => return None,
        1 => "1 link has".to_owned(),
        count => format!("{count} links have"),
    };
    let of = |(discipline, own): (&&str, &Vec<usize>)| {
        let (name, limit) = (&network.link(LinkId::new(own[0])).name, links[own[0]].limit);
        let meaning = match limit.packets {
            None => "one bandwidth-delay product",
            Some(_) => "usual where packets are dropped or marked early",
        };
        let count = match own.len() {
            _ if silent.len() == 1 => String::new(),
            1 => "1 link ".to_owned(),
            count => format!("{count} links "),
        };
        let such = if own.len() == 1 { "" } else { "such as " };
        format!("{count}under {discipline}, {such}`{name}` with {}, {meaning}", QueueLimit::from(limit))
    };
    let groups: Vec<String> = silent.iter().map(of).collect();
    Some(format!(
        "{has} no `queue` and a default limit: {}; give each link a `queue`, or all in [defaults.link], such as queue = \
         \"1 BDP\", \"100 packets\" or \"unlimited\"",
        groups.join("; ")
    ))
}

/// The longest round trip of the connections over each link or its twin, by the delays of links alone.
fn longest_round_trips(network: &Network, paths: &Paths) -> Vec<Span> {
    let delay = |link: LinkId| network.link(link).delay.0;
    let back = |link: LinkId| network.link(link).twin;
    let mut longest = vec![None; network.links().len()];
    for path in (0..paths.len()).map(|p| paths.path(p)) {
        let round_trip: u64 = path.iter().map(|&link| delay(link) + back(link).map_or(0, delay)).sum();
        for link in path.iter().flat_map(|&link| [Some(link), back(link)]).flatten() {
            let known: &mut Option<u64> = &mut longest[link.index()];
            *known = Some(known.unwrap_or(0).max(round_trip));
        }
    }
    longest.into_iter().map(|known| known.map_or(UNUSED_ROUND_TRIP, Span)).collect()
}

/// The greatest capacity of a link at any time of the run.
fn greatest_capacity(network: &Network, links: &[LinkPlan], link: usize) -> Rate {
    let later = links[link].changes.iter().map(|(_, capacity)| capacity.0);
    Rate(later.fold(network.links()[link].capacity.0, f64::max))
}

/// A multiple of the bandwidth-delay product, in whole packets; `None` without a finite capacity.
fn product(factor: f64, capacity: Rate, round_trip: Span, packet: Bytes) -> Option<Bytes> {
    let packets = factor * capacity.0 * round_trip.seconds() / 8.0 / packet.0 as f64;
    // A rounding error makes no further packet.
    let packets = if packets.is_finite() { (packets - 1e-9).ceil() as u64 } else { return None };
    Some(Bytes(packets.max(LEAST_PACKETS).saturating_mul(packet.0)))
}
