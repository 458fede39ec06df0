//! The random connections of a `[[traffic]]` table.
//!
//! Each kind of draw has its own random stream in the group, so that other amounts leave the ends unchanged, and the
//! connections of a larger group begin with those of a smaller one.

use std::ops::Range;

use anabranch_core::pattern::matches;
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Connection, Network, NodeId, Rate, Span, Time};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use toml::Spanned;

use super::connections::{WantedPaths, shortest};
use super::ends::{Ends, draw_ends};
use crate::file::connection::ConnectionValues;
use crate::file::distribution::exponential;
use crate::file::traffic::{Arrivals, Departures, DrawnArrivals, Nodes, TrafficTable};
use crate::file::words::MOST_DURATION;

/// A `[[traffic]]` table with the inputs of its draws.
pub(super) struct Group<'a> {
    pub table: &'a TrafficTable,
    pub seed: u64,
    /// Number of the group, counted from 0.
    pub number: u32,
    pub defaults: &'a ConnectionValues,
}

/// A connection that was drawn.
pub(super) struct Drawn {
    pub connection: Connection,
    pub amount: Option<Bytes>,
    /// Paths from each source.
    pub paths: WantedPaths,
    /// Nodes that the target sends requests to, the source first; empty if the source sends without requests.
    pub asked: Vec<NodeId>,
}

/// The reason why a group cannot be drawn, and its place if that is not the whole table.
pub(super) struct Misdrawn {
    pub span: Option<Range<usize>>,
    pub message: String,
}

impl Group<'_> {
    /// Draws the connections.
    ///
    /// # Errors
    /// If nodes do not exist, or no path joins them.
    pub(super) fn draw(&self, network: &Network) -> Result<Vec<Drawn>, Misdrawn> {
        let table = self.table;
        let sources = members(network, table.sources.as_ref())?;
        let targets = members(network, table.targets.as_ref())?;
        let ends = Ends { network, sources: &sources, targets: &targets, distinct: table.distinct };
        let ends = draw_ends(&ends, table.count, &mut self.stream(Purpose::TrafficEnds))
            .map_err(|message| Misdrawn { span: None, message })?;

        let asked = self.asked(network, &sources, &ends)?;
        let starts = self.starts();
        self.check_departures(&starts)?;
        let mut lifetimes = self.stream(Purpose::TrafficLifetimes);
        let mut amounts = self.stream(Purpose::TrafficAmounts);
        let mut counts = self.stream(Purpose::TrafficPathCounts);
        let amount = table.amount.unwrap_or(self.defaults.amount);
        let protocol = table.protocol.as_ref().or(self.defaults.protocol.as_ref());
        let draw = |(i, ((source, target), start)): (usize, ((NodeId, NodeId), Time))| {
            let lifetime = table.lifetime.map(|lifetime| Time(start.0.saturating_add(lifetime.draw(&mut lifetimes).0)));
            let departure =
                table.departures.as_ref().map(|departures| depart(departures.get_ref(), start, &mut lifetimes));
            let connection = Connection {
                demand: table.demand.map(|d| d.0),
                weight: table.weight,
                qos: table.qos,
                reserved: table.reserved.map_or(Rate(0.0), |r| r.0),
                start,
                stop: lifetime.or(departure),
                ..Connection::new(format!("{}{}", table.name, i + 1), source, target)
            };
            let amount = amount.draw(&mut amounts);
            let paths = shortest(table.paths, self.defaults, protocol, &mut counts);
            Drawn { connection, amount, paths, asked: Vec::new() }
        };
        let drawn = ends.into_iter().zip(starts).enumerate().map(draw);
        Ok(drawn.zip(asked).map(|(drawn, asked)| Drawn { asked, ..drawn }).collect())
    }

    /// For each pair the nodes that its target sends requests to: its source, and other, different nodes of `sources`.
    fn asked(
        &self,
        network: &Network,
        sources: &[NodeId],
        ends: &[(NodeId, NodeId)],
    ) -> Result<Vec<Vec<NodeId>>, Misdrawn> {
        let Some(count) = self.table.asked else { return Ok(vec![Vec::new(); ends.len()]) };
        let mut rng = self.stream(Purpose::TrafficSources);
        let mut is_source = vec![false; network.nodes().len()];
        for node in sources {
            is_source[node.index()] = true;
        }
        let of = |&(source, target): &(NodeId, NodeId)| {
            let has = sources.len() - usize::from(is_source[target.index()]);
            if has < count {
                let message = format!(
                    "target `{}` is to ask {count} sources, and `from` has {has} for it; name more, or ask for fewer",
                    network.node(target).name
                );
                return Err(Misdrawn { span: None, message });
            }
            let mut asked = vec![source];
            while asked.len() < count {
                let node = sources[rng.random_range(0..sources.len())];
                if node != target && !asked.contains(&node) {
                    asked.push(node);
                }
            }
            Ok(asked)
        };
        ends.iter().map(of).collect()
    }

    fn stream(&self, purpose: Purpose) -> ChaCha8Rng {
        stream(self.seed, purpose, self.number)
    }

    /// Draws the start times; later ones than the longest run are cut off there.
    fn starts(&self) -> Vec<Time> {
        let mut rng = self.stream(Purpose::TrafficArrivals);
        let mut last = self.table.start.0.0;
        let start = |_| {
            let time = match self.table.arrivals {
                Arrivals::AtOnce(_) => last,
                Arrivals::Drawn(DrawnArrivals::Uniform(within)) => {
                    last.saturating_add(rng.random_range(0..=within.0.0))
                }
                Arrivals::Drawn(DrawnArrivals::Poisson(gap)) => {
                    last = last.saturating_add((gap.0.0 as f64 * exponential(&mut rng)).round() as u64);
                    last
                }
            };
            Time(time.min(MOST_DURATION.0))
        };
        (0..self.table.count).map(start).collect()
    }

    /// Checks that every connection can end after it begins.
    fn check_departures(&self, starts: &[Time]) -> Result<(), Misdrawn> {
        let Some(departures) = &self.table.departures else { return Ok(()) };
        let error = |message| Err(Misdrawn { span: Some(departures.span()), message });
        if self.table.lifetime.is_some() {
            return error("there are both `departures` and a `lifetime`; leave one out".to_owned());
        }
        let end = departures.get_ref().end();
        match starts.iter().enumerate().max_by_key(|(_, start)| **start) {
            Some((i, &last)) if last >= end => error(format!(
                "connection `{}{}` begins at {}, and all are to have ended by {}; let them end later or begin earlier",
                self.table.name,
                i + 1,
                Span(last.0),
                Span(end.0)
            )),
            _ => Ok(()),
        }
    }
}

/// Draws the end of a connection that begins at `start`.
fn depart(departures: &Departures, start: Time, rng: &mut ChaCha8Rng) -> Time {
    let first = Time(departures.from.0.0).max(Time(start.0 + 1));
    Time(rng.random_range(first.0..=departures.end().0))
}

/// The nodes that a table names, or all nodes.
fn members(network: &Network, nodes: Option<&Spanned<Nodes>>) -> Result<Vec<NodeId>, Misdrawn> {
    let numbered = || network.nodes().iter().enumerate().map(|(n, node)| (NodeId::new(n), node.name.as_str()));
    let Some(nodes) = nodes else { return Ok(numbered().map(|(id, _)| id).collect()) };
    let error = |message| Misdrawn { span: Some(nodes.span()), message };
    let found: Vec<NodeId> = match nodes.get_ref() {
        Nodes::Pattern(pattern) => numbered().filter(|(_, name)| matches(pattern, name)).map(|(id, _)| id).collect(),
        Nodes::Names(names) => names.iter().map(|name| find(network, name).map_err(error)).collect::<Result<_, _>>()?,
    };
    if found.is_empty() {
        let example = network.nodes().first().map_or_else(String::new, |n| format!(" such as `{}`", n.name));
        return Err(error(format!("no node is meant by this; name nodes{example}, or a pattern such as `h*`")));
    }
    let mut seen = vec![false; network.nodes().len()];
    match found.iter().find(|node| std::mem::replace(&mut seen[node.index()], true)) {
        None => Ok(found),
        Some(&twice) => Err(error(format!("node `{}` is named twice; name it once", network.node(twice).name))),
    }
}

fn find(network: &Network, name: &str) -> Result<NodeId, String> {
    let unknown = || format!("there is no node `{name}`{}; name one of the network's nodes", network.node_hint(name));
    network.find_node(name).ok_or_else(unknown)
}
