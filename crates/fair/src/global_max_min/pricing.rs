//! What can take the place of a path or slack that has run out.
//!
//! Prices on the rows make a path cost `sum of price * use`. A path that is cheaper than the main path of its
//! connection can take the place, and so can the slack of a tight row with a negative price. If there is neither, no
//! price is negative and every main path is a cheapest one: then the prices prove that the level cannot rise.
//!
//! Of those that can, many may do. So paths have costs: links on them, and a random part, so that no two ways cost the
//! same. The dual simplex method keeps the division of least cost at every level, and comes to an end since each
//! exchange makes the costs greater [lemke1954].

use super::columns::Columns;

/// What of a sum counts as rounding, relative to the sum of the terms' sizes.
const NOISE: f64 = 1e-9;

/// A difference over this part of the greatest price is none of rounding's.
const CLEAR: f64 = 1e-6;

/// What costs may be wrong by, so that among nearly equal ones the soundest pivot is taken.
const SLACK: f64 = 1e-7;

/// What can enter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Candidate {
    Path(usize),
    Slack(usize),
}

/// Reduced costs of all that is not basic, and the work space of a sweep.
pub(super) struct Pricing {
    /// Of each path, and of the slack of each row: what a unit of it would add to the costs; 0 or more.
    cost: Vec<f64>,
    slack_cost: Vec<f64>,
    /// Of each path: what it costs at the prices of this sweep.
    sums: Vec<f64>,
    /// Connections with a path over a priced row, each once.
    connections: Vec<u32>,
    is_listed: Vec<bool>,
    /// Paths that differ from their main path, and by how much.
    entries: Vec<(u32, f64)>,
}

impl Pricing {
    /// Costs in which the main path of each connection is its cheapest; gives the main paths too.
    pub fn new(columns: &Columns) -> (Self, Vec<u32>) {
        let mut cost: Vec<f64> =
            (0..columns.paths()).map(|p| columns.uses_of(p).len() as f64 + 0.5 * scatter(columns.path[p])).collect();
        let mut main = Vec::with_capacity(columns.connections());
        for c in 0..columns.connections() {
            let paths = columns.paths_of(c);
            let best = paths.clone().fold(paths.start, |best, p| if cost[p] < cost[best] { p } else { best });
            let least = cost[best];
            cost[paths].iter_mut().for_each(|cost| *cost -= least);
            main.push(best as u32);
        }
        let pricing = Self {
            cost,
            slack_cost: vec![0.0; columns.rows()],
            sums: vec![0.0; columns.paths()],
            connections: vec![],
            is_listed: vec![false; columns.connections()],
            entries: vec![],
        };
        (pricing, main)
    }

    /// Prices all paths against the main paths of their connections.
    ///
    /// `priced` are the rows whose price is not 0; `is_basic` tells the paths that take no part.
    pub fn sweep(
        &mut self,
        columns: &Columns,
        prices: &[f64],
        priced: &[u32],
        main: &[u32],
        is_basic: impl Fn(usize) -> bool,
    ) {
        self.clear(columns);
        let mut most = 0.0f64;
        for row in priced.iter().map(|&row| row as usize) {
            most = most.max(prices[row].abs());
            columns.add_price(row, prices[row], &mut self.sums);
            for &c in columns.connections_on(row) {
                if !self.is_listed[c as usize] {
                    self.is_listed[c as usize] = true;
                    self.connections.push(c);
                }
            }
        }
        for &c in &self.connections {
            let own = main[c as usize];
            let offer = self.sums[own as usize];
            for p in columns.paths_of(c as usize) {
                let difference = self.sums[p] - offer;
                if difference == 0.0 || is_basic(p) {
                    continue;
                }
                let is_clear = difference.abs() > CLEAR * most;
                if is_clear || difference.abs() > NOISE * size(columns, prices, p, own as usize) {
                    self.entries.push((p as u32, difference));
                }
            }
        }
    }

    fn clear(&mut self, columns: &Columns) {
        for c in self.connections.drain(..) {
            self.sums[columns.paths_of(c as usize)].fill(0.0);
            self.is_listed[c as usize] = false;
        }
        self.entries.clear();
    }

    /// The best of what can enter after the sweep, but for those refused, and its entry in the row.
    pub fn choose(&self, prices: &[f64], tight: &[u32], refused: &[Candidate]) -> Option<(Candidate, f64)> {
        let most = tight.iter().fold(0.0f64, |most, &row| most.max(prices[row as usize].abs()));
        let paths = self.entries.iter().map(|&(p, entry)| (Candidate::Path(p as usize), entry, self.cost[p as usize]));
        let slacks = tight.iter().map(|&row| row as usize).filter(|&row| prices[row] < -NOISE * most);
        let slacks = slacks.map(|row| (Candidate::Slack(row), prices[row], self.slack_cost[row]));
        let is_open = |candidate: &Candidate, entry: f64| entry < 0.0 && !refused.contains(candidate);
        let candidates =
            || paths.clone().chain(slacks.clone()).filter(|(candidate, entry, _)| is_open(candidate, *entry));
        let limit = candidates().fold(f64::INFINITY, |limit, (_, entry, cost)| limit.min((cost + SLACK) / -entry));
        let within = candidates().filter(|&(_, entry, cost)| cost / -entry <= limit);
        let best = within.min_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
        best.map(|(candidate, entry, _)| (candidate, entry))
    }

    /// Carries the costs over to the basis that `candidate` with this `entry` has entered; gives the cost of what left.
    pub fn update(&mut self, candidate: Candidate, entry: f64, prices: &[f64], tight: &[u32]) -> f64 {
        let cost = match candidate {
            Candidate::Path(p) => &mut self.cost[p],
            Candidate::Slack(row) => &mut self.slack_cost[row],
        };
        let step = *cost / -entry;
        if step > 0.0 {
            for &(p, entry) in &self.entries {
                let cost = &mut self.cost[p as usize];
                *cost = (*cost + step * entry).max(0.0);
            }
            for &row in tight {
                let cost = &mut self.slack_cost[row as usize];
                *cost = (*cost + step * prices[row as usize]).max(0.0);
            }
        }
        step
    }

    /// Sets the cost of a path or slack that left the basis.
    pub fn set_cost(&mut self, candidate: Candidate, cost: f64) {
        match candidate {
            Candidate::Path(p) => self.cost[p] = cost,
            Candidate::Slack(row) => self.slack_cost[row] = cost,
        }
    }

    /// What the cheapest path of each touched connection costs at the prices of the sweep, where that is over 0.
    pub fn cheapest<'a>(&'a self, columns: &'a Columns) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.connections.iter().filter_map(|&c| {
            let least = columns.paths_of(c as usize).map(|p| self.sums[p]).fold(f64::INFINITY, f64::min);
            (least > 0.0).then_some((c as usize, least))
        })
    }
}

/// The sum of the sizes of all terms in what two paths cost.
fn size(columns: &Columns, prices: &[f64], path: usize, other: usize) -> f64 {
    let terms = columns.uses_of(path).iter().chain(columns.uses_of(other));
    terms.map(|&(row, a)| (a * prices[row as usize]).abs()).sum()
}

/// A number from 0 to 1 for each path, without any pattern; always the same.
fn scatter(path: u32) -> f64 {
    let mut x = u64::from(path).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
