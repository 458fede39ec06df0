//! Warnings about a valid plan that a reader of the run's numbers must know.

use std::collections::BTreeMap;

use anabranch_core::{ConnectionId, LinkId, Time};

use crate::Plan;

/// Greatest number of links that a warning names.
const MOST_NAMED: usize = 5;

/// The distance of a sum of shares from 1 that rounding may make.
const ROUNDING: f64 = 1e-9;

/// The time of arrival at a link of connections under a protocol, and the time of their end.
type Stay = (Time, Time);

impl Plan {
    /// The warnings about a valid plan that a reader of the run's numbers must know, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let found = [self.several_granters(), self.unrepaired_losses()];
        found.into_iter().flatten().chain(self.notes.iter().cloned()).collect()
    }

    /// Warns of links on which a protocol that grants rates meets another protocol, unless shares keep them apart.
    ///
    /// The links of such a protocol know only its own connections, and grant these the whole capacity or its share.
    fn several_granters(&self) -> Option<String> {
        let grants = |protocol: usize| !self.protocols[protocol].capabilities().keeps_windows();
        if self.protocols.len() < 2 || !(0..self.protocols.len()).any(grants) {
            return None;
        }
        let mut shared = Vec::new();
        for (link, stays) in self.stays().iter().enumerate() {
            let meets = |(p, stay): (&usize, &Stay)| {
                stays
                    .iter()
                    .any(|(q, other)| p != q && (grants(*p) || grants(*q)) && stay.0 < other.1 && other.0 < stay.1)
            };
            let met: Vec<&str> =
                stays.iter().filter(|&(p, stay)| meets((p, stay))).map(|(&p, _)| self.protocols[p].title()).collect();
            let is_divided = self.is_divided(LinkId(link as u32), stays.keys().copied());
            if !met.is_empty() && !is_divided && self.network.links()[link].capacity.0.is_finite() {
                shared.push(format!("`{}` ({})", self.network.links()[link].name, met.join(", ")));
            }
        }
        let named = named(&shared)?;
        Some(format!(
            "protocols that grant rates do not know of the connections of others, so more may be granted than these \
             links carry: {named}"
        ))
    }

    /// Whether shares keep protocols apart at a link: each that grants rates has one, and together they are no more than
    /// the link, or less than that where a protocol that keeps windows needs the rest.
    fn is_divided(&self, link: LinkId, mut protocols: impl Iterator<Item = usize> + Clone) -> bool {
        let keeps_windows = |protocol: usize| self.protocols[protocol].capabilities().keeps_windows();
        let mut granters = protocols.clone().filter(|&protocol| !keeps_windows(protocol));
        let total = granters.try_fold(0.0, |sum, protocol| self.share(link, protocol).map(|share| sum + share));
        let most = if protocols.any(keeps_windows) { 1.0 - ROUNDING } else { 1.0 + ROUNDING };
        total.is_some_and(|total| total <= most)
    }

    /// Warns of links that lose, repeat or reorder control packets that carry changes to sums, without repair.
    fn unrepaired_losses(&self) -> Option<String> {
        let is_told = |protocol: usize| !self.protocols[protocol].capabilities().keeps_windows();
        if self.run.repair || !(0..self.protocols.len()).any(is_told) {
            return None;
        }
        let links = self.links.iter().zip(self.network.links());
        let lossy: Vec<String> =
            links.filter(|(plan, _)| !plan.control.is_none()).map(|(_, link)| format!("`{}`", link.name)).collect();
        let named = named(&lossy)?;
        Some(format!(
            "control packets are lost, repeated or reordered and not repaired (run.repair = false): what links hold of \
             connections may stay wrong for ever, and rates many times the fair ones be granted: {named}"
        ))
    }

    /// For each link the protocols of the connections over it, and the times between which these may be present.
    fn stays(&self) -> Vec<BTreeMap<usize, Stay>> {
        let mut stays = vec![BTreeMap::<usize, Stay>::new(); self.links.len()];
        let end = Time(self.run.duration.0);
        for (c, connection) in self.demands.connections().iter().enumerate() {
            let own = (connection.start, connection.stop.unwrap_or(end));
            for link in self.paths.of(ConnectionId::new(c)).flatten() {
                let stay = stays[link.index()].entry(self.transfers[c].protocol).or_insert(own);
                *stay = (stay.0.min(own.0), stay.1.max(own.1));
            }
        }
        stays
    }
}

/// The first names, and the number of further ones; `None` if there are none.
fn named(all: &[String]) -> Option<String> {
    let more = all.len().saturating_sub(MOST_NAMED);
    let first = all[..all.len() - more].join(", ");
    match (all.len(), more) {
        (0, _) => None,
        (_, 0) => Some(first),
        _ => Some(format!("{first}, and {more} more")),
    }
}
