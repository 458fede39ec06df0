//! The choice of the path or slack that replaces a variable below 0.
//!
//! Prices on the rows make a path cost `sum of price * use`. A path that is cheaper than the main path of its
//! connection can replace the variable, and so can the slack of a tight row with a negative price. If there is neither,
//! no price is negative and every main path is a cheapest one: then the prices prove that rates are too high.
//!
//! There are often many candidates. To choose among them, paths have costs, made of the number of their links, the
//! demand for these, and a random part, so that no two divisions cost the same. The dual simplex method keeps the
//! division of least cost, and in exact arithmetic it ends since each exchange makes the costs greater [lemke1954]. The
//! costs have no other purpose. The costs of paths that are not looked at stay as they are, which is as good a choice
//! of costs as any other.

mod active;
mod steps;

use super::columns::Columns;
use active::Active;
pub(super) use steps::{Candidate, Lack, Step};

/// The part of a sum that counts as rounding, relative to the sum of the terms' absolute values.
const NOISE: f64 = 1e-9;

/// A difference over this part of the greatest price cannot be rounding.
const CLEAR: f64 = 1e-6;

/// A difference below this part of the greatest price is rounding, whatever the terms are.
const NOTHING: f64 = 1e-14;

/// The error that costs may have, so that the soundest pivot is chosen among nearly equal candidates.
const SLACK: f64 = 1e-7;

/// The additional cost of a link, in links, when earlier connections demand its whole capacity.
const CROWDED: f64 = 10.0;

/// Paths that would enter within this multiple of the length of a step are looked at first from then on.
const SOON: f64 = 2.0;

/// The reduced costs of all nonbasic variables, and the work space of a sweep.
pub(super) struct Pricing {
    /// The addition to the costs by a unit of each path, and of the slack of each row; 0 or more.
    cost: Vec<f64>,
    slack_cost: Vec<f64>,
    active: Active,
    /// The price of each path in this sweep, if the sweep was over all paths.
    sums: Vec<f64>,
    is_over_all: bool,
    /// Connections with a path over a priced row, each once.
    connections: Vec<u32>,
    is_listed: Vec<bool>,
    /// The paths whose price differs from their main path's, with the difference; grouped by connection.
    entries: Vec<(u32, f64)>,
    groups: Vec<Group>,
}

/// The entries of one connection.
#[derive(Clone, Copy)]
struct Group {
    connection: u32,
    start: u32,
    end: u32,
}

/// The prices of rows, with the list of the rows whose price is not 0.
#[derive(Clone, Copy)]
pub(super) struct Prices<'a> {
    pub of: &'a [f64],
    pub priced: &'a [u32],
}

impl Prices<'_> {
    fn most(&self) -> f64 {
        self.priced.iter().fold(0.0, |most, &row| most.max(self.of[row as usize].abs()))
    }

    /// The rows with a price over 0.
    pub fn positive(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.priced.iter().map(|&row| (row as usize, self.of[row as usize])).filter(|(_, price)| *price > 0.0)
    }
}

impl Pricing {
    /// Costs in which the main path of each connection is its cheapest, and these main paths. `draw` numbers the random
    /// part of the costs; only draw 0 takes demands into account.
    pub fn new(columns: &Columns, draw: usize) -> (Self, Vec<u32>) {
        let mut crowd = vec![0.0; columns.rows()];
        let weight = if draw == 0 { CROWDED } else { 0.0 };
        let main: Vec<u32> = (0..columns.connections()).map(|c| settle(columns, c, weight, &mut crowd)).collect();
        let mut cost = vec![0.0; columns.paths()];
        for (c, &main) in main.iter().enumerate() {
            let least = crowded(columns, main as usize, &crowd);
            for p in columns.paths_of(c).filter(|&p| p != main as usize) {
                cost[p] = (crowded(columns, p, &crowd) - least).max(0.0) + 0.5 * scatter(columns.path[p], draw);
            }
        }
        let pricing = Self {
            cost,
            slack_cost: vec![0.0; columns.rows()],
            active: Active::new(columns),
            sums: vec![0.0; columns.paths()],
            is_over_all: false,
            connections: vec![],
            is_listed: vec![false; columns.connections()],
            entries: vec![],
            groups: vec![],
        };
        (pricing, main)
    }

    /// Prices the active paths against the main paths of their connections; paths for which `is_basic` holds take no
    /// part.
    pub fn sweep_active(&mut self, columns: &Columns, prices: Prices, main: &[u32], is_basic: impl Fn(usize) -> bool) {
        self.clear(columns);
        let Self { active, connections, is_listed, entries, groups, .. } = self;
        for &row in prices.priced {
            active.add_price(row as usize, prices.of[row as usize], |c| {
                if !std::mem::replace(&mut is_listed[c as usize], true) {
                    connections.push(c);
                }
            });
        }
        let most = prices.most();
        for c in connections.drain(..) {
            is_listed[c as usize] = false;
            let own = main[c as usize];
            let start = entries.len();
            active.take_differences(c, own, |p, difference| {
                let ends = (p as usize, own as usize);
                if is_entry(columns, prices.of, most, ends, difference) && !is_basic(p as usize) {
                    entries.push((p, difference));
                }
            });
            end_group(groups, c, start, entries.len());
        }
    }

    /// Prices all paths against the main paths of their connections.
    pub fn sweep(&mut self, columns: &Columns, prices: Prices, main: &[u32], is_basic: impl Fn(usize) -> bool) {
        self.clear(columns);
        self.is_over_all = true;
        for row in prices.priced.iter().map(|&row| row as usize) {
            columns.add_price(row, prices.of[row], &mut self.sums);
            for &c in columns.connections_on(row) {
                if !std::mem::replace(&mut self.is_listed[c as usize], true) {
                    self.connections.push(c);
                }
            }
        }
        let most = prices.most();
        for &c in &self.connections {
            let own = main[c as usize] as usize;
            let start = self.entries.len();
            for p in columns.paths_of(c as usize) {
                let difference = self.sums[p] - self.sums[own];
                if is_entry(columns, prices.of, most, (p, own), difference) && !is_basic(p) {
                    self.entries.push((p as u32, difference));
                }
            }
            end_group(&mut self.groups, c, start, self.entries.len());
        }
    }

    fn clear(&mut self, columns: &Columns) {
        if std::mem::take(&mut self.is_over_all) {
            for c in self.connections.drain(..) {
                self.sums[columns.paths_of(c as usize)].fill(0.0);
                self.is_listed[c as usize] = false;
            }
        }
        self.entries.clear();
        self.groups.clear();
    }

    /// Makes the paths active that enter with the step or soon after it.
    pub fn activate(&mut self, columns: &Columns, step: &Step, main: &[u32]) {
        let limit = SOON * step.length;
        for &(p, entry) in &self.entries {
            if entry < 0.0 && self.cost[p as usize] <= -entry * limit {
                self.active.add(columns, p, main);
            }
        }
        let entering = if let Candidate::Path(p) = step.candidate { Some(p as u32) } else { None };
        for p in step.moves.iter().map(|&(_, p)| p).chain(entering) {
            self.active.add(columns, p, main);
        }
    }

    /// Lets paths rest soon that cost more than others of their connection at the prices of the sweep over all paths.
    ///
    /// Where the prices hold a level, such paths carry nothing. If the prices do not hold it for long, the paths become
    /// active again.
    pub fn rest(&mut self, columns: &Columns, main: &[u32], is_basic: impl Fn(usize) -> bool) {
        for &c in &self.connections {
            let least = self.least(columns, c as usize);
            for p in columns.paths_of(c as usize) {
                if self.sums[p] - least > CLEAR * self.sums[p] {
                    self.active.tire(p);
                }
            }
        }
        self.active.rest(columns, |p| is_basic(p as usize) || main[columns.owner[p as usize] as usize] == p);
    }

    /// Updates the costs to the basis after a step.
    pub fn update(&mut self, columns: &Columns, step: &Step, prices: &[f64], tight: &[u32]) {
        for &(p, entry) in &self.entries {
            self.cost[p as usize] += step.length * entry;
        }
        for &row in tight {
            let cost = &mut self.slack_cost[row as usize];
            *cost = (*cost + step.length * prices[row as usize]).max(0.0);
        }
        for &(c, path) in &step.moves {
            let least = self.cost[path as usize];
            self.cost[columns.paths_of(c as usize)].iter_mut().for_each(|cost| *cost -= least);
        }
        for &(p, _) in &self.entries {
            let cost = &mut self.cost[p as usize];
            *cost = cost.max(0.0);
        }
    }

    /// Sets the cost of a path or slack that enters or leaves the basis.
    pub fn set_cost(&mut self, candidate: Candidate, cost: f64) {
        match candidate {
            Candidate::Path(p) => self.cost[p] = cost,
            Candidate::Slack(row) => self.slack_cost[row] = cost,
        }
    }

    /// The price of the cheapest path of each touched connection in the sweep over all paths, where that is over 0.
    pub fn cheapest<'a>(&'a self, columns: &'a Columns) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.connections.iter().filter_map(|&c| {
            let least = self.least(columns, c as usize);
            (least > 0.0).then_some((c as usize, least))
        })
    }

    fn least(&self, columns: &Columns, c: usize) -> f64 {
        columns.paths_of(c).map(|p| self.sums[p]).fold(f64::INFINITY, f64::min)
    }
}

/// Gives a connection the path that costs least where earlier connections crowd their paths, and adds the connection to
/// the crowd.
fn settle(columns: &Columns, c: usize, weight: f64, crowd: &mut [f64]) -> u32 {
    let costs = columns.paths_of(c).map(|p| (p, crowded(columns, p, crowd)));
    let (best, _) = costs.min_by(|(_, a), (_, b)| a.total_cmp(b)).expect("who takes part has a path");
    for (row, a) in columns.uses_of(best) {
        let capacity = columns.capacity[row as usize];
        if capacity > 0.0 {
            crowd[row as usize] += weight * a * columns.demand[c] / capacity;
        }
    }
    best as u32
}

/// The cost of a path: its number of links, and the crowd on them.
fn crowded(columns: &Columns, path: usize, crowd: &[f64]) -> f64 {
    columns.uses_of(path).map(|(row, a)| 1.0 + a * crowd[row as usize]).sum()
}

fn end_group(groups: &mut Vec<Group>, connection: u32, start: usize, end: usize) {
    if end > start {
        groups.push(Group { connection, start: start as u32, end: end as u32 });
    }
}

/// Whether the price difference between a path and the main path exceeds rounding; `most` is the greatest price.
#[inline]
fn is_entry(columns: &Columns, prices: &[f64], most: f64, (path, main): (usize, usize), difference: f64) -> bool {
    let amount = difference.abs();
    amount > CLEAR * most || amount > NOTHING * most && amount > NOISE * size(columns, prices, path, main)
}

/// The sum of the absolute values of all terms in the prices of two paths.
#[cold]
fn size(columns: &Columns, prices: &[f64], path: usize, other: usize) -> f64 {
    let terms = columns.uses_of(path).chain(columns.uses_of(other));
    terms.map(|(row, a)| (a * prices[row as usize]).abs()).sum()
}

/// A pseudorandom number from 0 to 1 for each path and draw; always the same.
fn scatter(path: u32, draw: usize) -> f64 {
    let mut x = (u64::from(path) + ((draw as u64) << 32)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
