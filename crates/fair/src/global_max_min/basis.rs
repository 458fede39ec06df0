//! The basis of the dual simplex method: the paths that carry the overflow of tight links, and the inverse of their
//! matrix.
//!
//! Every connection has a main path, which carries what its other paths do not. Besides the main paths there are as
//! many basic paths as tight links, and their rates keep these links exactly full:
//!
//! ```text
//! sum over basic paths q of  (uses of q - uses of its main path) * rate[q] = room        on each tight link
//! ```
//!
//! where room is the capacity less the load of the main paths if they carried everything. The matrix has a row for each
//! tight link and a column for each basic path: it is far smaller than a matrix of all links and connections
//! [dantzig1967].

/// Number of exchanges after which the inverse is computed anew.
const REFRESH: usize = 64;

/// A pivot below this part of its column counts as 0.
const SINGULAR: f64 = 1e-12;

/// A difference below this part of the minuend counts as rounding.
const ROUNDING: f64 = 1e-14;

/// The variable that leaves the basis: a basic path, given by its place, or the slack of a row, which becomes tight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leaving {
    Path(usize),
    Slack(usize),
}

/// The variable that enters the basis: a path with its difference from its main path, or the slack of a tight row.
#[derive(Clone, Debug)]
pub(super) enum Entering {
    Path(u32, Vec<(u32, f64)>),
    Slack(usize),
}

/// Basic paths, tight rows, and the inverse, with a row for each basic path and a column for each tight row.
pub(super) struct Basis {
    pub paths: Vec<u32>,
    /// The uses of each basic path less those of its main path.
    pub differences: Vec<Vec<(u32, f64)>>,
    pub tight: Vec<u32>,
    inverse: Vec<Vec<f64>>,
    /// The place of each row among the tight rows.
    place: Vec<u32>,
    age: usize,
}

impl Basis {
    pub fn new(rows: usize) -> Self {
        let place = vec![u32::MAX; rows];
        Self { paths: vec![], differences: vec![], tight: vec![], inverse: vec![], place, age: 0 }
    }

    pub fn is_tight(&self, row: usize) -> bool {
        self.place[row] != u32::MAX
    }

    /// The row of the inverse for the basic path at `place`, in the order of the tight rows.
    pub fn inverse_of(&self, place: usize) -> &[f64] {
        &self.inverse[place]
    }

    /// Writes into `prices`, which is all 0, the price of each row for a unit of the leaving variable.
    pub fn row_of(&self, leaving: Leaving, prices: &mut [f64]) {
        match leaving {
            Leaving::Path(place) => self.add_row(place, 1.0, prices),
            Leaving::Slack(row) => {
                prices[row] = 1.0;
                for (place, difference) in self.differences.iter().enumerate() {
                    if let Some(&(_, a)) = difference.iter().find(|(r, _)| *r as usize == row) {
                        self.add_row(place, -a, prices);
                    }
                }
            }
        }
    }

    fn add_row(&self, place: usize, factor: f64, prices: &mut [f64]) {
        for (&row, value) in self.tight.iter().zip(&self.inverse[place]) {
            prices[row as usize] += factor * value;
        }
    }

    /// The decrease of each basic path for a unit of the entering variable.
    pub fn column_of(&self, entering: &Entering) -> Vec<f64> {
        match entering {
            Entering::Slack(row) => {
                let place = self.place[*row] as usize;
                self.inverse.iter().map(|inverse| inverse[place]).collect()
            }
            Entering::Path(_, difference) => {
                let on_tight: Vec<(usize, f64)> = difference
                    .iter()
                    .filter(|&&(row, _)| self.is_tight(row as usize))
                    .map(|&(row, a)| (self.place[row as usize] as usize, a))
                    .collect();
                let along =
                    |inverse: &Vec<f64>| on_tight.iter().fold(0.0, |sum, &(place, a)| less(sum, -inverse[place] * a));
                self.inverse.iter().map(along).collect()
            }
        }
    }

    /// The pivot according to the column; the row of the leaving variable should give the same value.
    pub fn pivot_of(&self, leaving: Leaving, entering: &Entering, column: &[f64]) -> f64 {
        let row = match leaving {
            Leaving::Path(place) => return column[place],
            Leaving::Slack(row) => row,
        };
        let use_of =
            |difference: &Vec<(u32, f64)>| difference.iter().find(|(r, _)| *r as usize == row).map_or(0.0, |&(_, a)| a);
        let own = if let Entering::Path(_, difference) = entering { use_of(difference) } else { 0.0 };
        let passed_on = self.differences.iter().zip(column).filter(|(_, value)| **value != 0.0);
        own - passed_on.map(|(difference, value)| use_of(difference) * value).sum::<f64>()
    }

    /// Exchanges the leaving variable for the entering one.
    ///
    /// `prices` is the row of the leaving variable, `column` is the column of the entering one, and `pivot` is the
    /// entry where they cross.
    pub fn exchange(&mut self, leaving: Leaving, entering: Entering, prices: &[f64], column: &[f64], pivot: f64) {
        if let Leaving::Slack(row) = leaving {
            self.place[row] = self.tight.len() as u32;
            self.tight.push(row as u32);
            self.inverse.iter_mut().for_each(|inverse| inverse.push(0.0));
        }
        let own: Vec<f64> = self.tight.iter().map(|&row| prices[row as usize] / pivot).collect();
        for (inverse, &factor) in self.inverse.iter_mut().zip(column).filter(|(_, factor)| **factor != 0.0) {
            inverse.iter_mut().zip(&own).for_each(|(value, own)| *value = less(*value, factor * own));
        }
        let loosened = match (leaving, entering) {
            (Leaving::Path(place), Entering::Path(path, difference)) => {
                (self.paths[place], self.differences[place], self.inverse[place]) = (path, difference, own);
                None
            }
            (Leaving::Slack(_), Entering::Path(path, difference)) => {
                self.paths.push(path);
                self.differences.push(difference);
                self.inverse.push(own);
                None
            }
            (Leaving::Path(place), Entering::Slack(row)) => {
                self.paths.swap_remove(place);
                self.differences.swap_remove(place);
                self.inverse.swap_remove(place);
                Some(row)
            }
            (Leaving::Slack(_), Entering::Slack(row)) => Some(row),
        };
        if let Some(row) = loosened {
            self.loosen(row);
        }
        self.age += 1;
    }

    fn loosen(&mut self, row: usize) {
        let place = self.place[row] as usize;
        self.place[row] = u32::MAX;
        self.tight.swap_remove(place);
        if let Some(&moved) = self.tight.get(place) {
            self.place[moved as usize] = place as u32;
        }
        for inverse in &mut self.inverse {
            inverse.swap_remove(place);
        }
    }

    /// Makes the basic path at `place` the main path of its connection, and the former main path basic.
    ///
    /// `siblings` are the places of all basic paths of the connection, including `place`; their differences change
    /// accordingly.
    pub fn change_main(&mut self, place: usize, siblings: &[usize], main: u32) {
        let mut sum = vec![0.0; self.tight.len()];
        for &sibling in siblings {
            sum.iter_mut().zip(&self.inverse[sibling]).for_each(|(sum, value)| *sum = less(*sum, *value));
        }
        self.inverse[place] = sum;
        self.age += 1;
        self.paths[place] = main;
    }

    /// Whether no exchange has happened since the inverse was computed.
    pub fn is_new(&self) -> bool {
        self.age == 0
    }

    /// Whether there have been enough exchanges to compute the inverse anew.
    pub fn is_old(&self) -> bool {
        self.age >= REFRESH.max(self.paths.len())
    }

    /// The room on each tight row that the rates of the basic paths leave.
    pub fn remainder(&self, rates: &[f64], room: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut rest: Vec<f64> = self.tight.iter().map(|&row| room(row as usize)).collect();
        for (difference, rate) in self.differences.iter().zip(rates) {
            for &(row, a) in difference.iter().filter(|&&(row, _)| self.is_tight(row as usize)) {
                rest[self.place[row as usize] as usize] -= a * rate;
            }
        }
        rest
    }

    /// Computes the inverse anew; returns whether it exists.
    pub fn refresh(&mut self) -> bool {
        self.age = 0;
        let n = self.paths.len();
        // Row by row: the matrix, then the unit matrix that becomes its inverse.
        let mut rows = vec![vec![0.0; 2 * n]; n];
        for (q, difference) in self.differences.iter().enumerate() {
            for &(row, a) in difference.iter().filter(|&&(row, _)| self.is_tight(row as usize)) {
                rows[self.place[row as usize] as usize][q] = a;
            }
        }
        (0..n).for_each(|i| rows[i][n + i] = 1.0);
        if !eliminate(&mut rows) {
            return false;
        }
        for (inverse, row) in self.inverse.iter_mut().zip(&rows) {
            inverse.copy_from_slice(&row[n..]);
        }
        true
    }
}

/// The difference, or 0 where it is only rounding.
///
/// A value such as 1e-17 in place of 0 could not be recognised as rounding later.
pub(super) fn less(value: f64, other: f64) -> f64 {
    let difference = value - other;
    if difference.abs() <= ROUNDING * value.abs() { 0.0 } else { difference }
}

/// Turns the left half into the unit matrix by row operations; returns whether this is possible.
fn eliminate(rows: &mut [Vec<f64>]) -> bool {
    let n = rows.len();
    for k in 0..n {
        let best = (k..n).fold(k, |best, i| if rows[i][k].abs() > rows[best][k].abs() { i } else { best });
        rows.swap(k, best);
        let pivot = rows[k][k];
        if pivot.abs() <= SINGULAR {
            return false;
        }
        rows[k].iter_mut().for_each(|value| *value /= pivot);
        let own = std::mem::take(&mut rows[k]);
        for row in rows.iter_mut().filter(|row| !row.is_empty()) {
            let factor = row[k];
            if factor != 0.0 {
                row[k..].iter_mut().zip(&own[k..]).for_each(|(value, own)| *value = less(*value, factor * own));
            }
        }
        rows[k] = own;
    }
    true
}
