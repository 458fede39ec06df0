//! The main loop of the solver: proof after proof lowers the rates until they fit.
//!
//! ```text
//! rate of a connection     = its demand, or weight * level of the first proof that holds it
//! room[l]                  = capacity[l] - load of the main paths at these rates
//! rates of the basic paths = inverse * room     of a main path = rate of its connection - those of its basic paths
//! ```
//!
//! An event is a path rate or the slack of a link that is below 0. Either a path or slack takes its place in the basis,
//! or prices prove that some rates are too high and determine the level to which they must fall. When nothing is below
//! 0, the rates are those of the proofs, and they fit.

mod proofs;
mod proved;
mod rates;

use super::basis::{Basis, Entering, Leaving};
use super::columns::Columns;
use super::pricing::{Candidate, Lack, Prices, Pricing, Step};
pub(super) use proofs::Proof;
use rates::Short;

/// A price below this part of the greatest is rounding.
const FREE: f64 = 1e-11;

/// Greatest relative difference between a pivot's values in its row and in its column. Beyond it the inverse is
/// computed anew; with a new inverse, the candidate is not a pivot.
const PIVOT: f64 = 1e-9;
const NO_PIVOT: f64 = 1e-3;

/// A pivot below this part of its column is used only with a new inverse.
const SMALL: f64 = 1e-3;

/// Number of events for each link and path after which the solver starts again with other costs.
const PATIENCE: usize = 50;

/// Greatest number of such starts.
const MOST_BEGINNINGS: usize = 5;

/// The state of the solver between two events.
pub(super) struct Filling {
    pub columns: Columns,
    basis: Basis,
    pricing: Pricing,
    /// The main path of each connection, the number of its basic paths, and its rate.
    main: Vec<u32>,
    basic: Vec<u32>,
    pub rate: Vec<f64>,
    /// Whether a path is basic; main paths are not.
    is_basic: Vec<bool>,
    /// The load of the main paths on each row, and the connection rates with which it was last summed up.
    pub used: Vec<f64>,
    summed: Vec<f64>,
    /// The greatest rounding error of `used` on each row since it was summed up anew.
    pub drift: Vec<f64>,
    /// The rate of each basic path; valid where nothing is below 0.
    carried: Vec<f64>,
    /// The proofs that hold rates below demands, in order of rising level.
    pub proofs: Vec<Proof>,
    pub exchanges: usize,
    /// Whether nothing is below 0.
    pub fits: bool,
    /// The number of events left in this start, and the number of starts before it.
    patience: usize,
    beginnings: usize,
    /// Whether the arithmetic has stayed sound.
    pub is_sound: bool,
    /// Variables below 0 that stay so until something else changes; if the arithmetic is sound, by rounding alone.
    still: Vec<Leaving>,
    prices: Vec<f64>,
}

impl Filling {
    pub fn new(columns: Columns) -> Self {
        let (pricing, main) = Pricing::new(&columns, 0);
        let (rows, connections) = (columns.rows(), columns.connections());
        let mut filling = Self {
            basis: Basis::new(rows),
            pricing,
            main,
            basic: vec![0; connections],
            rate: columns.demand.clone(),
            summed: columns.demand.clone(),
            is_basic: vec![false; columns.paths()],
            used: vec![0.0; rows],
            drift: vec![0.0; rows],
            carried: vec![],
            proofs: vec![],
            exchanges: 0,
            fits: false,
            patience: patience(&columns),
            beginnings: 0,
            is_sound: true,
            still: vec![],
            prices: vec![0.0; rows],
            columns,
        };
        filling.sum_main_paths();
        filling
    }

    pub fn is_done(&self) -> bool {
        self.fits || !self.is_sound
    }

    /// Processes the next events, at most `most` of them.
    pub fn run(&mut self, most: usize) {
        for _ in 0..most {
            if self.is_done() {
                return;
            }
            if self.patience == 0 {
                self.begin_again();
            }
            self.patience -= 1;
            self.fits = !self.mend();
        }
    }

    /// Discards everything except the proofs and starts again with other costs, after rounding or a cycle prevented
    /// progress.
    fn begin_again(&mut self) {
        self.beginnings += 1;
        self.fits = false;
        self.is_sound &= self.beginnings <= MOST_BEGINNINGS;
        (self.pricing, self.main) = Pricing::new(&self.columns, self.beginnings);
        self.basis = Basis::new(self.columns.rows());
        self.basic.fill(0);
        self.is_basic.fill(false);
        self.patience = patience(&self.columns);
        self.sum_main_paths();
        self.still.clear();
    }

    /// Repairs the variable that is furthest below 0, or lowers rates that are too high; returns whether any is below
    /// 0.
    fn mend(&mut self) -> bool {
        if self.basis.is_old() {
            self.refresh();
        }
        let rates = self.basic_rates();
        let Some((short, lack)) = self.shortest(&rates) else {
            self.carried = rates.iter().map(|sum| sum.value).collect();
            return false;
        };
        let leaving = match short {
            Short::Basic(place) => Leaving::Path(place),
            Short::Slack(row) => Leaving::Slack(row),
            Short::Main(c) => Leaving::Path(self.change_main(c)),
        };
        self.leave(leaving, lack);
        true
    }

    /// Sums up the load of the main paths anew.
    fn sum_main_paths(&mut self) {
        self.used.fill(0.0);
        self.drift.fill(0.0);
        self.summed.fill(0.0);
        self.follow_rates();
    }

    /// Adds the changes of rates to the load of the main paths.
    fn follow_rates(&mut self) {
        for ((&main, &rate), summed) in self.main.iter().zip(&self.rate).zip(&mut self.summed) {
            let more = rate - std::mem::replace(summed, rate);
            if more != 0.0 {
                for (row, a) in self.columns.uses_of(main as usize) {
                    add(&mut self.used[row as usize], a * more, &mut self.drift[row as usize]);
                }
            }
        }
    }

    fn refresh(&mut self) {
        if self.basis.refresh() {
            self.sum_main_paths();
        } else {
            self.begin_again();
        }
    }

    fn room(&self, row: usize) -> f64 {
        self.columns.capacity[row] - self.used[row]
    }

    /// Gives a connection another main path.
    fn move_main(&mut self, c: usize, path: u32) {
        for (row, a) in self.columns.uses_of(self.main[c] as usize) {
            add(&mut self.used[row as usize], -a * self.rate[c], &mut self.drift[row as usize]);
        }
        for (row, a) in self.columns.uses_of(path as usize) {
            add(&mut self.used[row as usize], a * self.rate[c], &mut self.drift[row as usize]);
        }
        self.main[c] = path;
    }

    /// Makes the greatest basic path of a connection its main path; returns the place where the old one is basic now.
    fn change_main(&mut self, c: usize) -> usize {
        let is_sibling = |&place: &usize| self.columns.owner[self.basis.paths[place] as usize] as usize == c;
        let siblings: Vec<usize> = (0..self.basis.paths.len()).filter(is_sibling).collect();
        let rates = self.basic_rates();
        let greatest = siblings.iter().max_by(|a, b| rates[**a].value.total_cmp(&rates[**b].value));
        let place = *greatest.expect("a main path that runs out has siblings");
        let (old, new) = (self.main[c], self.basis.paths[place]);
        self.move_main(c, new);
        self.basis.change_main(place, &siblings, old);
        (self.is_basic[old as usize], self.is_basic[new as usize]) = (true, false);
        for sibling in siblings {
            let path = self.basis.paths[sibling] as usize;
            self.basis.differences[sibling] = self.columns.difference(path, new as usize);
        }
        place
    }

    /// Removes a variable below 0 from the basis: finds a replacement, or lowers the rates to what prices allow.
    fn leave(&mut self, leaving: Leaving, lack: Lack) {
        let mut of = std::mem::take(&mut self.prices);
        of.fill(0.0);
        self.basis.row_of(leaving, &mut of);
        let priced = clean(&mut of);
        let is_over = self.replace(leaving, lack, Prices { of: &of, priced: &priced });
        self.prices = of;
        // Levels are as exact as the prices that prove them, so these must come from a new inverse.
        if !is_over && !self.basis.is_new() {
            self.refresh();
        } else if !is_over {
            self.still.push(leaving);
        }
    }

    /// Exchanges the leaving variable for the best candidate, or lowers rates; returns whether either was done.
    fn replace(&mut self, leaving: Leaving, lack: Lack, prices: Prices) -> bool {
        self.pricing.sweep_active(&self.columns, prices, &self.main, |p| self.is_basic[p]);
        if self.enter(leaving, lack, prices, false) {
            return true;
        }
        self.pricing.sweep(&self.columns, prices, &self.main, |p| self.is_basic[p]);
        if self.enter(leaving, lack, prices, false) {
            return true;
        }
        self.basis.is_new() && (self.keep(prices) || self.enter(leaving, lack, prices, true))
    }

    /// Exchanges the leaving variable for a candidate of the last sweep, if possible; returns whether that was done.
    fn enter(&mut self, leaving: Leaving, lack: Lack, prices: Prices, is_enough: bool) -> bool {
        let mut refused = vec![];
        loop {
            let connections = (&*self.rate, |c: usize| self.basic[c] == 0);
            let step = self.pricing.choose(prices.of, &self.basis.tight, &refused, lack, is_enough, connections);
            let Some(step) = step else { return false };
            if self.exchange(leaving, &step, prices.of) {
                return true;
            }
            // A candidate that only rounding suggested may not enter again.
            refused.push(step.candidate);
        }
    }

    /// Makes a step, or computes the inverse anew where its pivot is in doubt.
    ///
    /// Returns whether either was done: with a new inverse, a pivot that the column does not confirm is rejected.
    fn exchange(&mut self, leaving: Leaving, step: &Step, prices: &[f64]) -> bool {
        let entering = self.entering(step);
        let column = self.basis.column_of(&entering);
        let error = (self.basis.pivot_of(leaving, &entering, &column) - step.entry).abs();
        let most = column.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let is_doubtful = error > PIVOT * step.entry.abs() || step.entry.abs() < SMALL * most;
        if is_doubtful && !self.basis.is_new() {
            self.refresh();
            return true;
        }
        if error > NO_PIVOT * step.entry.abs() {
            return false;
        }
        let left = match leaving {
            Leaving::Path(place) => Candidate::Path(self.basis.paths[place] as usize),
            Leaving::Slack(row) => Candidate::Slack(row),
        };
        self.pricing.activate(&self.columns, step, &self.main);
        self.pricing.update(&self.columns, step, prices, &self.basis.tight);
        self.pricing.set_cost(left, step.length);
        self.pricing.set_cost(step.candidate, 0.0);
        for &(c, path) in &step.moves {
            self.move_main(c as usize, path);
        }
        self.set_basic(left, false);
        self.set_basic(step.candidate, true);
        self.basis.exchange(leaving, entering, prices, &column, step.entry);
        self.exchanges += 1;
        self.still.clear();
        true
    }

    /// The variable that a step brings into the basis.
    fn entering(&self, step: &Step) -> Entering {
        match step.candidate {
            Candidate::Slack(row) => Entering::Slack(row),
            Candidate::Path(p) => {
                let c = self.columns.owner[p];
                let main = step.main_of(c).unwrap_or(self.main[c as usize]);
                Entering::Path(p as u32, self.columns.difference(p, main as usize))
            }
        }
    }

    fn set_basic(&mut self, candidate: Candidate, is_basic: bool) {
        if let Candidate::Path(p) = candidate {
            self.is_basic[p] = is_basic;
            let count = &mut self.basic[self.columns.owner[p] as usize];
            *count = if is_basic { *count + 1 } else { *count - 1 };
        }
    }
}

/// Adds to a sum, and to the bound of its rounding error.
fn add(sum: &mut f64, more: f64, drift: &mut f64) {
    *sum += more;
    *drift += f64::EPSILON * (sum.abs() + more.abs());
}

/// The number of events that one start may take.
fn patience(columns: &Columns) -> usize {
    PATIENCE * (columns.rows() + columns.paths() + 1)
}

/// Sets prices that are rounding to 0; returns the rows of the others.
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
