//! Progressive filling.
//!
//! With one path for each connection, freezing only postpones saturations. So a queue of links by their last known
//! levels suffices: a link that comes to the front is looked at again, and goes back if its level has risen. Before
//! that, all demands up to the known level are met.
//!
//! Most of the time goes into fetching data of a link's connections, which are scattered in memory. So connections
//! freeze in batches: each step fetches its data for the whole batch at once.

use crate::SinglePath;
use crate::check::{FillingError, amount, check};
use crate::frozen::Frozen;
use crate::index::Index;
use crate::links::Links;
use crate::queue::Queue;

/// Progressive filling, with memory that is reused.
///
/// ```
/// use anabranch_filling::{Filling, SinglePath};
///
/// let mut filling = Filling::default();
/// let mut demand = [f64::INFINITY; 3];
/// let shared = SinglePath { capacity: &[6.0], offsets: &[0, 1, 2, 3], links: &[0, 0, 0], ..SinglePath::default() };
/// assert_eq!(filling.solve(&SinglePath { demand: &demand, ..shared }).unwrap(), [2.0, 2.0, 2.0]);
///
/// // The first connection leaves.
/// demand[0] = 0.0;
/// assert_eq!(filling.solve(&SinglePath { demand: &demand, ..shared }).unwrap(), [0.0, 3.0, 3.0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filling {
    index: Index,
    links: Links,
    queue: Queue,
    /// Levels at which demands are met, in rising order; they are stored as bits, which have the same order.
    demands: Vec<(u64, u32)>,
    frozen: Frozen,
    batch: Vec<Freezing>,
    rates: Vec<f64>,
}

/// Number of connections that freeze together: more than the processor fetches at once.
const BATCH: usize = 64;

/// A connection that freezes.
#[derive(Clone, Copy, Debug, Default)]
struct Freezing {
    connection: u32,
    level: f64,
    /// Beginning and end of its path.
    path: (usize, usize),
}

impl Filling {
    /// Computes weighted max-min fair rates within the demands, one for each connection.
    ///
    /// The rates do not depend on earlier problems, to the last bit.
    ///
    /// # Errors
    /// Returns the first fault of the arrays, with its place.
    pub fn solve(&mut self, shared: &SinglePath<'_>) -> Result<&[f64], FillingError> {
        check(shared)?;
        self.index.build(shared)?;
        if [shared.weight, shared.coefficient].iter().all(|factors| factors.iter().copied().all(is_one)) {
            self.fill::<true>(shared);
        } else {
            self.fill::<false>(shared);
        }
        if let Some(connection) = self.frozen.first_live(shared.connections()) {
            return Err(FillingError::Unlimited { connection });
        }
        // By rounding, a weight times the level of a demand may exceed the demand.
        for (rate, &demand) in self.rates.iter_mut().zip(shared.demand) {
            *rate = rate.min(amount(demand));
        }
        Ok(&self.rates)
    }

    /// The last rates found.
    pub fn into_rates(self) -> Vec<f64> {
        self.rates
    }

    /// Freezes all connections that a link or a demand limits. `UNIT`: all weights and coefficients are 1.
    fn fill<const UNIT: bool>(&mut self, shared: &SinglePath<'_>) {
        self.begin::<UNIT>(shared);
        let (mut z, mut met) = (0.0f64, 0);
        while let Some((known, link)) =
            self.queue.first(|l| self.links.level::<UNIT>(l, shared, &self.index, &self.frozen))
        {
            met = self.meet_demands::<UNIT>(shared, met, known);
            let level = self.links.level::<UNIT>(link, shared, &self.index, &self.frozen);
            if level > known {
                self.queue.raise_first(level);
                continue;
            }
            self.queue.raise_first(f64::INFINITY);
            z = z.max(level);
            self.saturate::<UNIT>(shared, link, z);
        }
        self.meet_demands::<UNIT>(shared, met, f64::MAX);
    }

    fn begin<const UNIT: bool>(&mut self, shared: &SinglePath<'_>) {
        self.frozen.clear(shared.connections());
        self.rates.clear();
        self.rates.resize(shared.connections(), 0.0);
        self.batch.resize(BATCH, Freezing::default());
        self.demands.clear();
        let limited = shared.demand.iter().enumerate().filter(|(_, demand)| demand.is_finite());
        self.demands.extend(limited.map(|(c, &d)| ((amount(d) / shared.weight_of(c)).to_bits(), c as u32)));
        self.demands.sort_unstable();
        self.links.begin::<UNIT>(shared, &self.index);
        let (links, index, frozen) = (&mut self.links, &self.index, &self.frozen);
        self.queue.refill((0..shared.capacity.len()).map(|l| links.level::<UNIT>(l, shared, index, frozen)));
    }

    /// Freezes the unfrozen connections on a link.
    fn saturate<const UNIT: bool>(&mut self, shared: &SinglePath<'_>, link: usize, level: f64) {
        for listed in self.index.on(link).chunks(BATCH) {
            let listed = listed.iter().map(|&connection| (connection, level));
            let batch = choose_live(listed, &mut self.frozen, &mut self.batch);
            freeze::<UNIT>(batch, &mut self.links, &mut self.rates, shared);
        }
    }

    /// Freezes connections whose demands are met up to `level`, from number `met` on; returns the next number.
    fn meet_demands<const UNIT: bool>(&mut self, shared: &SinglePath<'_>, met: usize, level: f64) -> usize {
        let is_due = |(bits, _): &&(u64, u32)| *bits <= level.to_bits();
        let due = self.demands[met..].iter().take_while(is_due).count();
        for some in self.demands[met..met + due].chunks(BATCH) {
            let some = some.iter().map(|&(bits, connection)| (connection, f64::from_bits(bits)));
            let batch = choose_live(some, &mut self.frozen, &mut self.batch);
            freeze::<UNIT>(batch, &mut self.links, &mut self.rates, shared);
        }
        met + due
    }
}

/// Adds the unfrozen ones of these connections to a batch, each with its level, and marks them as frozen.
fn choose_live<'a>(
    found: impl Iterator<Item = (u32, f64)>,
    frozen: &mut Frozen,
    batch: &'a mut [Freezing],
) -> &'a mut [Freezing] {
    let mut live = 0;
    // There is no branch, which would be unpredictable: an entry for a frozen connection is overwritten.
    for (connection, level) in found {
        (batch[live].connection, batch[live].level) = (connection, level);
        live += usize::from(frozen.insert(connection));
    }
    &mut batch[..live]
}

/// Whether a factor is 1, so that it can be left out.
#[allow(clippy::float_cmp)] // It was given, not computed.
fn is_one(factor: f64) -> bool {
    factor == 1.0
}

/// Sets the rates of a batch and removes it from its links.
fn freeze<const UNIT: bool>(batch: &mut [Freezing], links: &mut Links, rates: &mut [f64], shared: &SinglePath<'_>) {
    let weight = |connection| if UNIT { 1.0 } else { shared.weight_of(connection) };
    for freezing in &mut *batch {
        let connection = freezing.connection as usize;
        freezing.path = (shared.offsets[connection], shared.offsets[connection + 1]);
        rates[connection] = weight(connection) * freezing.level;
    }
    // Reading the ends of all paths makes the processor fetch them in parallel.
    let ends = batch.iter().map(|freezing| shared.links.get(freezing.path.0).max(shared.links.get(freezing.path.1)));
    std::hint::black_box(ends.max());
    for freezing in batch {
        let path = freezing.path.0..freezing.path.1;
        links.freeze::<UNIT>(shared, path, weight(freezing.connection as usize), freezing.level);
    }
}
