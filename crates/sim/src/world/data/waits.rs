//! Distributions of waits, if they are recorded: how long packets wait before transmission.
//!
//! At each link a wait lasts from the arrival of a packet until its transmission begins. For each subflow the waits of
//! a packet in all queues on its way are added up, those of the loops before included. So neither propagation nor
//! transmission counts: each link on the way adds its transmission time to the time at which the packet was sent.
//!
//! A packet waits at a link that has no capacity at the moment. A packet whose transmission has begun does not, however
//! long that takes. Where a link sends at opportunities, transmission begins with the first opportunity that the packet
//! uses.
//!
//! Each link and each subflow with a packet has a histogram. It takes 4 kB for each doubling of the longest wait from 2
//! us on: some 90 kB if that is a second, and under 200 kB for the longest possible run.

use anabranch_links::Links;
use hdrhistogram::Histogram;

use super::Data;
use crate::packet::Role;
use crate::routes::Routes;
use crate::world::World;

/// The quantiles that [`Wait`] gives of each distribution.
pub const QUANTILES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// The significant decimal digits of recorded waits in nanoseconds.
const DIGITS: u8 = 3;

/// The distributions of waits of links and subflows; `None` for those without a packet.
pub(crate) struct Waits {
    links: Vec<Option<Box<Histogram<u32>>>>,
    subflows: Vec<Option<Box<Histogram<u32>>>>,
    /// For each subflow the propagation delay of its path in picoseconds.
    propagation: Vec<u64>,
    /// The time in picoseconds from which waits are recorded.
    from: u64,
}

/// A summary of the waits of packets at one link or of one subflow, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// The number of the link in the network, or of the subflow.
    pub id: u32,
    /// The number of packets.
    pub packets: u64,
    /// The mean wait in seconds.
    pub mean: f64,
    /// The shortest wait in seconds.
    pub least: f64,
    /// The longest wait in seconds.
    pub most: f64,
    /// The wait in seconds at each of [`QUANTILES`].
    pub quantiles: [f64; QUANTILES.len()],
}

impl Wait {
    fn of(id: u32, waits: &Histogram<u32>) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            id,
            packets: waits.len(),
            mean: waits.mean() / 1e9,
            least: seconds(waits.min()),
            most: seconds(waits.max()),
            quantiles: QUANTILES.map(|quantile| seconds(waits.value_at_quantile(quantile))),
        }
    }
}

impl Waits {
    /// Creates empty distributions. Waits before `from`, in picoseconds, are not recorded.
    pub fn new(routes: &Routes, links: &Links, from: u64) -> Self {
        let subflows = routes.first.len();
        let propagation = |s: usize| routes.path(s).iter().map(|&link| links.delay(link)).sum();
        Self {
            links: vec![None; routes.used.len()],
            subflows: vec![None; subflows],
            propagation: (0..subflows).map(propagation).collect(),
            from,
        }
    }

    /// The waits at a link in use, under the number `id`; `None` if no packet came.
    pub fn at_link(&self, link: usize, id: u32) -> Option<Wait> {
        self.links[link].as_ref().map(|own| Wait::of(id, own))
    }

    /// The waits of a subflow; `None` if no packet arrived.
    pub fn of_subflow(&self, subflow: usize) -> Option<Wait> {
        self.subflows[subflow].as_ref().map(|own| Wait::of(subflow as u32, own))
    }
}

fn record(place: &mut Option<Box<Histogram<u32>>>, picoseconds: u64) {
    let histogram = place.get_or_insert_with(|| Box::new(Histogram::new(DIGITS).expect("it may have so many digits")));
    histogram.record(picoseconds / 1000).expect("it grows as it must");
}

impl Data {
    /// Records the wait of a subflow's data that arrive now. They were sent at `since`, plus the time for which links
    /// transmitted them.
    #[inline]
    pub(in crate::world) fn note_wait_of(&mut self, now: u64, s: u32, since: u64) {
        let Some(waits) = &mut self.waits else { return };
        if now >= waits.from {
            let waited = (now - since).saturating_sub(waits.propagation[s as usize]);
            record(&mut waits.subflows[s as usize], waited);
        }
    }
}

impl World<'_> {
    /// Records the wait of a data packet that came to a link at `came`, where its transmission begins at `begins`.
    /// Gives the transmission time of the packet, which reaches the far end at `arrival`.
    #[inline]
    pub(in crate::world) fn note_wait_at(
        &mut self,
        link: u32,
        role: Role,
        came: u64,
        begins: u64,
        arrival: u64,
    ) -> u64 {
        if let Some(waits) = &mut self.data.waits {
            let is_data = matches!(role, Role::Paced | Role::Segment) && !self.routes.is_of_demand(link);
            if is_data && came >= waits.from && begins != u64::MAX {
                record(&mut waits.links[link as usize], begins - came);
            }
        }
        arrival.saturating_sub(self.links.delay(link)).saturating_sub(begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_takes_no_more_than_is_said() {
        for (picoseconds, most) in [(1_000_000_000_000, 90_000), (u64::MAX, 200_000)] {
            let mut place = None;
            record(&mut place, picoseconds);
            let bytes = place.unwrap().distinct_values() * size_of::<u32>();
            assert!((most / 10 * 9..most).contains(&bytes), "{bytes}");
        }
    }
}
