//! The level rises, paths give way to others, and connections settle.
//!
//! All rates are linear in the level t until the next event:
//!
//! ```text
//! rate of a free connection = weight * t         room[l] = capacity[l] - settled[l] - t * rising[l]
//! rates of the basic paths  = inverse * room     of a main path = rate of its connection - those of its basic paths
//! ```
//!
//! An event is a path that runs out, a link that becomes tight, or a demand that is met.

mod rates;

use super::basis::{Basis, Entering, Leaving, less};
use super::columns::Columns;
use super::pricing::{Candidate, Pricing};

/// A slope below this part of its terms is rounding.
const FLAT: f64 = 1e-11;

/// A price below this part of the greatest is rounding.
const FREE: f64 = 1e-11;

/// By how much a pivot may differ between its row and its column, relatively: else the inverse is made anew, and with a
/// new one from where on there is no pivot.
const PIVOT: f64 = 1e-9;
const NO_PIVOT: f64 = 1e-3;

/// A pivot below this part of its column is taken with a new inverse only.
const SMALL: f64 = 1e-3;

/// A step to the next event.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The path at this place of the basis has run out, or this row has become tight.
    Leaves(Leaving),
    /// The main path of this connection has run out.
    MainEnds(usize),
    /// The demand of this connection is met.
    Met(usize),
}

/// The connections that one set of prices holds at a level.
pub(super) struct Held {
    pub level: f64,
    pub connections: Vec<u32>,
    /// Row and price.
    pub prices: Vec<(u32, f64)>,
}

/// The state between two events.
pub(super) struct Filling {
    pub columns: Columns,
    basis: Basis,
    pricing: Pricing,
    /// Of each connection: its main path, whether its rate still rises, and the rate at which it settled.
    main: Vec<u32>,
    free: Vec<bool>,
    pub rate: Vec<f64>,
    /// Whether a path is basic; main paths are not.
    is_basic: Vec<bool>,
    /// Connections with a demand by the level at which it is met, and how many of them are past.
    by_demand: Vec<u32>,
    past: usize,
    pub level: f64,
    /// Of each row: what main paths use for each unit of level, and what those of settled connections use.
    rising: Vec<f64>,
    settled: Vec<f64>,
    pub left: usize,
    pub held: Vec<Held>,
    pub exchanges: usize,
    /// Whether numbers stayed sound so far.
    pub is_sound: bool,
    /// What does not change with the level though rounding says so, until something else changes.
    still: Vec<Leaving>,
    prices: Vec<f64>,
}

impl Filling {
    pub fn new(columns: Columns) -> Self {
        let (pricing, main) = Pricing::new(&columns);
        let (rows, connections) = (columns.rows(), columns.connections());
        let reach = |c: u32| columns.demand[c as usize] / columns.weight[c as usize];
        let mut by_demand: Vec<u32> =
            (0..connections as u32).filter(|&c| columns.demand[c as usize].is_finite()).collect();
        by_demand.sort_by(|&a, &b| reach(a).total_cmp(&reach(b)));
        let is_basic = vec![false; columns.paths()];
        let mut filling = Self {
            basis: Basis::new(rows),
            pricing,
            main,
            free: vec![true; connections],
            rate: vec![0.0; connections],
            is_basic,
            by_demand,
            past: 0,
            level: 0.0,
            rising: vec![0.0; rows],
            settled: vec![0.0; rows],
            left: connections,
            held: vec![],
            exchanges: 0,
            is_sound: true,
            still: vec![],
            prices: vec![0.0; rows],
            columns,
        };
        filling.sum_main_paths();
        filling
    }

    pub fn is_done(&self) -> bool {
        self.left == 0 || !self.is_sound
    }

    /// Goes to the next event and through it.
    pub fn advance(&mut self) {
        if self.basis.is_old() {
            self.refresh();
        }
        let Some((level, event)) = self.next_event() else {
            self.is_sound = false;
            return;
        };
        self.level = self.level.max(level);
        match event {
            Event::Met(c) => self.settle(c, self.columns.demand[c]),
            Event::MainEnds(c) => {
                let place = self.change_main(c);
                self.leave(Leaving::Path(place));
            }
            Event::Leaves(leaving) => self.leave(leaving),
        }
    }

    /// Adds up anew what main paths use.
    fn sum_main_paths(&mut self) {
        self.rising.fill(0.0);
        self.settled.fill(0.0);
        for (c, &main) in self.main.iter().enumerate() {
            for &(row, a) in self.columns.uses_of(main as usize) {
                if self.free[c] {
                    self.rising[row as usize] += a * self.columns.weight[c];
                } else {
                    self.settled[row as usize] += a * self.rate[c];
                }
            }
        }
    }

    fn refresh(&mut self) {
        self.is_sound &= self.basis.refresh();
        self.sum_main_paths();
    }

    /// The first event from here on, and the level at which it comes.
    fn next_event(&mut self) -> Option<(f64, Event)> {
        while self.by_demand.get(self.past).is_some_and(|&c| !self.free[c as usize]) {
            self.past += 1;
        }
        let columns = &self.columns;
        let mut first = self.by_demand.get(self.past).map(|&c| {
            let c = c as usize;
            (columns.demand[c] / columns.weight[c], Event::Met(c))
        });
        let mut look = |[value, slope, size]: [f64; 3], event: Event| {
            let is_still = matches!(event, Event::Leaves(leaving) if self.still.contains(&leaving));
            if !is_still && slope < -FLAT * size {
                let level = self.level + value.max(0.0) / -slope;
                if first.is_none_or(|(least, _)| level < least) {
                    first = Some((level, event));
                }
            }
        };
        let rates = self.basic_rates();
        for (place, &rate) in rates.iter().enumerate() {
            look(rate, Event::Leaves(Leaving::Path(place)));
        }
        for (c, rate) in self.main_rates(&rates) {
            look(rate, Event::MainEnds(c));
        }
        for (row, slack) in self.slacks(&rates).into_iter().enumerate() {
            if !self.basis.is_tight(row) {
                look(slack, Event::Leaves(Leaving::Slack(row)));
            }
        }
        first
    }

    fn room(&self, row: usize) -> f64 {
        self.columns.capacity[row] - self.settled[row] - self.level * self.rising[row]
    }

    /// Ends the rise of a connection at a rate.
    fn settle(&mut self, c: usize, rate: f64) {
        self.free[c] = false;
        self.rate[c] = rate;
        self.left -= 1;
        self.still.clear();
        for &(row, a) in self.columns.uses_of(self.main[c] as usize) {
            let rising = &mut self.rising[row as usize];
            *rising = less(*rising, a * self.columns.weight[c]);
            self.settled[row as usize] += a * rate;
        }
    }

    /// Makes the greatest basic path of a connection its main path; gives the place where the old one is basic now.
    fn change_main(&mut self, c: usize) -> usize {
        let is_sibling = |&place: &usize| self.columns.owner[self.basis.paths[place] as usize] as usize == c;
        let siblings: Vec<usize> = (0..self.basis.paths.len()).filter(is_sibling).collect();
        let rates = self.basic_rates();
        let greatest = siblings.iter().max_by(|a, b| rates[**a][0].total_cmp(&rates[**b][0]));
        let place = *greatest.expect("a main path that runs out has siblings");
        let (old, new) = (self.main[c], self.basis.paths[place]);
        for &(row, a) in &self.basis.differences[place] {
            if self.free[c] {
                let rising = &mut self.rising[row as usize];
                *rising = less(*rising, -a * self.columns.weight[c]);
            } else {
                self.settled[row as usize] += a * self.rate[c];
            }
        }
        self.basis.change_main(place, &siblings, old);
        self.main[c] = new;
        (self.is_basic[old as usize], self.is_basic[new as usize]) = (true, false);
        for sibling in siblings {
            let path = self.basis.paths[sibling] as usize;
            self.basis.differences[sibling] = self.columns.difference(path, new as usize);
        }
        place
    }

    /// Something has run out: finds what takes its place, or settles those whom nothing can help.
    fn leave(&mut self, leaving: Leaving) {
        let mut prices = std::mem::take(&mut self.prices);
        prices.fill(0.0);
        self.basis.row_of(leaving, &mut prices);
        let priced = clean(&mut prices);
        let is_over = self.falls(&prices, &priced) && self.replace(leaving, &prices, &priced);
        self.prices = prices;
        // Rates are as exact as the prices that settle them: these must come from a new inverse.
        if !is_over && !self.basis.is_new() {
            self.refresh();
        } else if !is_over {
            // Neither can anything enter, nor does anybody pay: the slope was rounding.
            self.still.push(leaving);
        }
    }

    /// Whether what these prices belong to falls as the level rises, and it is not rounding that says so.
    fn falls(&self, prices: &[f64], priced: &[u32]) -> bool {
        let terms = || priced.iter().map(|&row| prices[row as usize] * self.rising[row as usize]);
        terms().sum::<f64>() > FLAT * terms().map(f64::abs).sum::<f64>()
    }

    /// Exchanges what is leaving for the best that can enter, or settles those who pay; says whether either was done.
    fn replace(&mut self, leaving: Leaving, prices: &[f64], priced: &[u32]) -> bool {
        self.pricing.sweep(&self.columns, prices, priced, &self.main, |p| self.is_basic[p]);
        let mut refused = vec![];
        while let Some((candidate, entry)) = self.pricing.choose(prices, &self.basis.tight, &refused) {
            if self.exchange(leaving, candidate, entry, prices) {
                return true;
            }
            // What rounding alone lets in may come in no more.
            refused.push(candidate);
        }
        self.basis.is_new() && self.hold(prices, priced)
    }

    /// Exchanges what is leaving for a candidate, or makes the inverse anew where the pivot is in doubt.
    ///
    /// Says whether either was done: with a new inverse a pivot that the column does not know of is none.
    fn exchange(&mut self, leaving: Leaving, candidate: Candidate, entry: f64, prices: &[f64]) -> bool {
        let entering = match candidate {
            Candidate::Slack(row) => Entering::Slack(row),
            Candidate::Path(p) => {
                let main = self.main[self.columns.owner[p] as usize] as usize;
                Entering::Path(p as u32, self.columns.difference(p, main))
            }
        };
        let column = self.basis.column_of(&entering);
        let error = (self.basis.pivot_of(leaving, &entering, &column) - entry).abs();
        let most = column.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let is_doubtful = error > PIVOT * entry.abs() || entry.abs() < SMALL * most;
        if is_doubtful && !self.basis.is_new() {
            self.refresh();
            return true;
        }
        if error > NO_PIVOT * entry.abs() {
            return false;
        }
        let step = self.pricing.update(candidate, entry, prices, &self.basis.tight);
        let left = match leaving {
            Leaving::Path(place) => Candidate::Path(self.basis.paths[place] as usize),
            Leaving::Slack(row) => Candidate::Slack(row),
        };
        self.pricing.set_cost(left, step);
        self.pricing.set_cost(candidate, 0.0);
        if let Candidate::Path(p) = left {
            self.is_basic[p] = false;
        }
        if let Candidate::Path(p) = candidate {
            self.is_basic[p] = true;
        }
        self.basis.exchange(leaving, entering, prices, &column, entry);
        self.exchanges += 1;
        self.still.clear();
        true
    }

    /// The prices of the last sweep hold the level: whoever pays them and is free settles. Says whether anybody does.
    fn hold(&mut self, prices: &[f64], priced: &[u32]) -> bool {
        let positive = || priced.iter().map(|&row| row as usize).filter(|&row| prices[row] > 0.0);
        let mut worth: f64 = positive().map(|row| prices[row] * self.columns.capacity[row]).sum();
        let (mut paying, mut each) = (vec![], 0.0);
        for (c, least) in self.pricing.cheapest(&self.columns) {
            if self.free[c] {
                paying.push(c);
                each += self.columns.weight[c] * least;
            } else {
                worth -= self.rate[c] * least;
            }
        }
        if paying.is_empty() {
            return false;
        }
        let level = (worth / each).max(0.0);
        for &c in &paying {
            self.settle(c, (self.columns.weight[c] * level).min(self.columns.demand[c]));
        }
        self.held.push(Held {
            level,
            connections: paying.iter().map(|&c| c as u32).collect(),
            prices: positive().map(|row| (row as u32, prices[row])).collect(),
        });
        self.sum_main_paths();
        true
    }
}

/// Sets prices that are rounding to 0; gives the rows of the others.
fn clean(prices: &mut [f64]) -> Vec<u32> {
    let most = prices.iter().fold(0.0f64, |most, price| most.max(price.abs()));
    let mut priced = vec![];
    for (row, price) in prices.iter_mut().enumerate() {
        if price.abs() > FREE * most {
            priced.push(row as u32);
        } else {
            *price = 0.0;
        }
    }
    priced
}
