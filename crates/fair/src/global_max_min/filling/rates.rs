//! The rates of basic and main paths and the slacks of rows, as they are at a level and as they change with it.

use super::Filling;

/// Rounds in which the last rates are refined.
const ROUNDS: usize = 3;

/// A rate below this part of the terms that it is the difference of is rounding.
const NOTHING: f64 = 4e-15;

impl Filling {
    /// Of each basic path: its rate, how it changes with the level, and the size of the terms of that.
    pub(super) fn basic_rates(&self) -> Vec<[f64; 3]> {
        let known: Vec<[f64; 2]> =
            self.basis.tight.iter().map(|&row| [self.room(row as usize), self.rising[row as usize]]).collect();
        let rate = |place: usize| {
            let mut sums = [0.0; 3];
            for (value, [room, rising]) in self.basis.inverse_of(place).iter().zip(&known) {
                sums[0] += value * room;
                sums[1] -= value * rising;
                sums[2] += (value * rising).abs();
            }
            sums
        };
        (0..self.basis.paths.len()).map(rate).collect()
    }

    /// The same of the main paths of connections that have basic ones.
    pub(super) fn main_rates(&self, rates: &[[f64; 3]]) -> Vec<(usize, [f64; 3])> {
        let mut order: Vec<(u32, usize)> =
            self.basis.paths.iter().enumerate().map(|(place, &p)| (self.columns.owner[p as usize], place)).collect();
        order.sort_unstable();
        let mut main: Vec<(usize, [f64; 3])> = vec![];
        for (c, place) in order {
            let c = c as usize;
            if main.last().is_none_or(|&(last, _)| last != c) {
                let weight = if self.free[c] { self.columns.weight[c] } else { 0.0 };
                let rate = if self.free[c] { weight * self.level } else { self.rate[c] };
                main.push((c, [rate, weight, weight]));
            }
            let sums = &mut main.last_mut().expect("one was just put there").1;
            let [value, slope, size] = rates[place];
            sums[0] -= value;
            sums[1] -= slope;
            sums[2] += size;
        }
        main
    }

    /// The same of the slacks of all rows; those of tight ones are rounding.
    pub(super) fn slacks(&self, rates: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut slacks: Vec<[f64; 3]> =
            (0..self.columns.rows()).map(|row| [self.room(row), -self.rising[row], self.rising[row].abs()]).collect();
        for (difference, &[value, slope, size]) in self.basis.differences.iter().zip(rates) {
            for &(row, a) in difference {
                let slack = &mut slacks[row as usize];
                slack[0] -= a * value;
                slack[1] -= a * slope;
                slack[2] += a.abs() * size;
            }
        }
        slacks
    }

    /// The rates of the basic paths, refined; those that are nothing but rounding are 0.
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
            if *rate <= NOTHING * size {
                *rate = 0.0;
            }
        }
        rates
    }

    /// The rates of all paths as the basis says.
    pub(in crate::global_max_min) fn path_rates(&mut self) -> Vec<f64> {
        self.refresh();
        let mut path_rates = vec![0.0; self.columns.paths()];
        for (&main, &rate) in self.main.iter().zip(&self.rate) {
            path_rates[main as usize] = rate;
        }
        for (&p, rate) in self.basis.paths.iter().zip(self.last_rates()) {
            path_rates[p as usize] = rate;
            path_rates[self.main[self.columns.owner[p as usize] as usize] as usize] -= rate;
        }
        path_rates.into_iter().map(|rate| rate.max(0.0)).collect()
    }
}
