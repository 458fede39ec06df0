//! How long packets have waited, if that is recorded: at each link, from when they come until it begins to send them, and of
//! each subflow in all queues on its way together, those of the loops before included. So neither propagation nor
//! transmission counts: each link on the way adds to the time at which a packet was sent for how long it sends it.
//!
//! Where a link carries nothing, what comes waits until it does; what it has begun to send does not, however long that takes.
//! Where it sends at opportunities, transmission begins with the first of them that a packet takes.
//!
//! A histogram takes 4 kB for each time that the longest wait is twice as long, from 2 us on: some 90 kB for a second, and
//! under 200 kB for as long as a run can last. There is one for each link and subflow that has had a packet.

use anabranch_links::Links;
use hdrhistogram::Histogram;

use crate::packet::Role;
use crate::routes::Routes;
use crate::world::World;

/// The parts of all packets that have waited no longer than what is told of each.
pub const QUANTILES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// Nanoseconds to three digits.
const DIGITS: u8 = 3;

/// Waits as they are recorded; of what was asked for and has had a packet.
pub(crate) struct Waits {
    pub links: Vec<Option<Box<Histogram<u32>>>>,
    pub subflows: Vec<Option<Box<Histogram<u32>>>>,
    /// How long the links of each subflow take to carry a packet on, without sending it.
    propagation: Vec<u64>,
    /// Packets before do not count.
    from: u64,
}

/// How long packets have waited; in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// Of which link of the network, or of which subflow.
    pub id: u32,
    /// How many packets.
    pub packets: u64,
    /// Of all.
    pub mean: f64,
    /// See `mean`.
    pub least: f64,
    /// See `mean`.
    pub most: f64,
    /// For each of [`QUANTILES`].
    pub quantiles: [f64; QUANTILES.len()],
}

impl Wait {
    /// What is told of the waits of a link or subflow.
    pub(crate) fn of(id: u32, waits: &Histogram<u32>) -> Self {
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
    /// Nothing recorded yet; what happens before `from` is not.
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
}

fn record(place: &mut Option<Box<Histogram<u32>>>, picoseconds: u64) {
    let histogram = place.get_or_insert_with(|| Box::new(Histogram::new(DIGITS).expect("it may have so many digits")));
    histogram.record(picoseconds / 1000).expect("it grows as it must");
}

impl World<'_> {
    /// A link begins to send a data packet at `begins`, which came to it at `came`.
    #[inline]
    pub(crate) fn note_wait_at(&mut self, link: u32, role: Role, came: u64, begins: u64) {
        let Some(waits) = &mut self.waits else { return };
        let is_data = matches!(role, Role::Paced | Role::Segment) && !self.routes.is_of_demand(link);
        if is_data && came >= waits.from && begins != u64::MAX {
            record(&mut waits.links[link as usize], begins - came);
        }
    }

    /// For how long a link sends a packet that it begins with at `begins`, and that will be at its end at `arrival`.
    #[inline]
    pub(crate) fn transmission(&self, link: u32, begins: u64, arrival: u64) -> u64 {
        arrival.saturating_sub(self.links.delay(link)).saturating_sub(begins)
    }

    /// Data of a subflow have arrived, under way since `since`.
    #[inline]
    pub(crate) fn note_wait_of(&mut self, s: u32, since: u64) {
        let Some(waits) = &mut self.waits else { return };
        if self.now >= waits.from {
            let waited = (self.now - since).saturating_sub(waits.propagation[s as usize]);
            record(&mut waits.subflows[s as usize], waited);
        }
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
