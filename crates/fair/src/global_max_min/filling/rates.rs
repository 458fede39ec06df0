//! The rates of basic and main paths and the slacks of rows, and the variable among them that is furthest below 0.

use super::super::basis::Leaving;
use super::super::pricing::Lack;
use super::Filling;

/// Rounds in which the last rates are refined.
const ROUNDS: usize = 3;

/// A rate below this part of its terms counts as rounding.
const ROUNDING: f64 = 4e-15;

/// A candidate to leave below this part of its terms counts as rounding; levels carry the rounding of earlier levels.
const FOLLOWED: f64 = 1e-13;

/// A variable that can be below 0: a basic path (by its place), the main path of a connection, or the slack of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Short {
    Basic(usize),
    Main(usize),
    Slack(usize),
}

/// A linear function of the rooms of the tight rows, at their present values.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    pub value: f64,
    /// The sum of the absolute values of the terms.
    size: f64,
    /// The approximate square of the Euclidean norm of the factors.
    square: f64,
}

impl Sum {
    /// Subtracts `factor` times another sum.
    fn subtract(&mut self, factor: f64, other: Self) {
        self.value -= factor * other.value;
        self.size += factor.abs() * other.size;
        self.square += factor * factor * other.square;
    }
}

impl Filling {
    /// The rates of the basic paths.
    pub(super) fn basic_rates(&self) -> Vec<Sum> {
        let size = |row: usize| self.columns.capacity[row] + self.used[row];
        let rows = self.basis.tight.iter().map(|&row| row as usize);
        let known: Vec<(f64, f64)> = rows.map(|row| (self.room(row), size(row))).collect();
        let rate = |place: usize| {
            let mut sum = Sum { value: 0.0, size: 0.0, square: 0.0 };
            for (value, (room, size)) in self.basis.inverse_of(place).iter().zip(&known) {
                sum.value += value * room;
                sum.size += value.abs() * size;
                sum.square += value * value;
            }
            sum
        };
        (0..self.basis.paths.len()).map(rate).collect()
    }

    /// The variable that is furthest below 0 relative to the norm of its factors; its prices rise the most
    /// [forrest1992].
    pub(super) fn shortest(&self, rates: &[Sum]) -> Option<(Short, Lack)> {
        let mut found: Option<(f64, Short, Lack)> = None;
        let mut look = |sum: Sum, short: Short| {
            let lack = Lack { value: sum.value, rounding: FOLLOWED * sum.size };
            let measure = sum.value * sum.value / sum.square;
            if lack.value < -lack.rounding && found.is_none_or(|(most, ..)| measure > most) && !self.is_still(short) {
                found = Some((measure, short, lack));
            }
        };
        rates.iter().enumerate().for_each(|(place, &sum)| look(sum, Short::Basic(place)));
        self.main_rates(rates).into_iter().for_each(|(c, sum)| look(sum, Short::Main(c)));
        for (row, sum) in self.slacks(rates).into_iter().enumerate() {
            if !self.basis.is_tight(row) {
                look(sum, Short::Slack(row));
            }
        }
        found.map(|(_, short, lack)| (short, lack))
    }

    /// The sum of all deficits below 0, relative to the sum of all demands.
    pub fn lack(&self) -> f64 {
        if self.fits {
            return 0.0;
        }
        let rates = self.basic_rates();
        let slacks = self.slacks(&rates).into_iter().enumerate().filter(|(row, _)| !self.basis.is_tight(*row));
        let main = self.main_rates(&rates).into_iter();
        let sums = slacks.map(|(_, sum)| sum).chain(main.map(|(_, sum)| sum)).chain(rates);
        let asked: f64 = self.columns.demand.iter().sum();
        sums.map(|sum| (-sum.value).max(0.0)).sum::<f64>() / asked.max(f64::MIN_POSITIVE)
    }

    fn is_still(&self, short: Short) -> bool {
        match short {
            Short::Basic(place) => self.still.contains(&Leaving::Path(place)),
            Short::Slack(row) => self.still.contains(&Leaving::Slack(row)),
            Short::Main(_) => false,
        }
    }

    /// The rates of the main paths of connections that also have basic paths.
    fn main_rates(&self, rates: &[Sum]) -> Vec<(usize, Sum)> {
        let mut order: Vec<(u32, usize)> =
            self.basis.paths.iter().enumerate().map(|(place, &p)| (self.columns.owner[p as usize], place)).collect();
        order.sort_unstable();
        let mut main: Vec<(usize, Sum)> = vec![];
        for (c, place) in order {
            let c = c as usize;
            if main.last().is_none_or(|&(last, _)| last != c) {
                main.push((c, Sum { value: self.rate[c], size: self.rate[c], square: 0.0 }));
            }
            main.last_mut().expect("one was just put there").1.subtract(1.0, rates[place]);
        }
        main
    }

    /// The slacks of all rows; those of tight rows are rounding.
    fn slacks(&self, rates: &[Sum]) -> Vec<Sum> {
        let slack = |row: usize| {
            let (capacity, used) = (self.columns.capacity[row], self.used[row]);
            Sum { value: capacity - used, size: capacity + used, square: 1.0 }
        };
        let mut slacks: Vec<Sum> = (0..self.columns.rows()).map(slack).collect();
        for (difference, &rate) in self.basis.differences.iter().zip(rates) {
            for &(row, a) in difference {
                slacks[row as usize].subtract(a, rate);
            }
        }
        slacks
    }

    /// The refined rates of the basic paths; a rate that is only rounding is 0.
    fn last_rates(&self) -> Vec<f64> {
        let tight = || self.basis.tight.iter().map(|&row| row as usize);
        let mut room: Vec<f64> = tight().map(|row| self.room(row)).collect();
        let mut rates = vec![0.0; self.basis.paths.len()];
        for _ in 0..ROUNDS {
            for (place, rate) in rates.iter_mut().enumerate() {
                *rate += self.basis.inverse_of(place).iter().zip(&room).map(|(value, room)| value * room).sum::<f64>();
            }
            room = self.basis.remainder(&rates, |row| self.room(row));
        }
        for (place, rate) in rates.iter_mut().enumerate() {
            let terms = self.basis.inverse_of(place).iter().zip(tight());
            let size: f64 = terms.map(|(value, row)| value.abs() * self.columns.capacity[row]).sum();
            if *rate <= ROUNDING * size {
                *rate = 0.0;
            }
        }
        rates
    }

    /// The rates of all paths according to the basis; where rounding puts a main path below 0, the other paths carry
    /// the whole rate of the connection.
    pub(in crate::global_max_min) fn path_rates(&mut self) -> Vec<f64> {
        while self.is_sound && !self.basis.refresh() {
            self.begin_again();
            self.run(usize::MAX);
        }
        self.sum_main_paths();
        let mut path_rates = vec![0.0; self.columns.paths()];
        for (&main, &rate) in self.main.iter().zip(&self.rate) {
            path_rates[main as usize] = rate;
        }
        let main = |p: u32| self.main[self.columns.owner[p as usize] as usize] as usize;
        for (&p, rate) in self.basis.paths.iter().zip(self.last_rates()) {
            path_rates[p as usize] = rate;
            path_rates[main(p)] -= rate;
        }
        for &p in &self.basis.paths {
            let over = -path_rates[main(p)];
            if over > 0.0 {
                let rate = self.rate[self.columns.owner[p as usize] as usize];
                path_rates[p as usize] *= rate / (rate + over);
            }
        }
        path_rates.into_iter().map(|rate| rate.max(0.0)).collect()
    }
}
