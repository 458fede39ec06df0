//! Sums over any subset of a group's paths, from tables of four paths each.
//!
//! A pass needs the sum of portions over the paths of each pair: a group has some fifty pairs, and a walk along the
//! bits of each is a loop of unknown length. The sixteen sums for every four paths are computed once; then a pair needs
//! one look-up in each table and no branch.

/// The sums over all subsets of each four paths of a group.
pub(super) struct Sums {
    tables: [[f64; 16]; 8],
    /// Whether there are more than 16 paths.
    has_more: bool,
}

impl Sums {
    pub fn new() -> Self {
        Self { tables: [[0.0; 16]; 8], has_more: false }
    }

    /// Prepares for sums over `values`, one for each path of a group.
    pub fn set(&mut self, values: &[f64]) {
        let (fours, rest) = values.as_chunks::<4>();
        let last = [0, 1, 2, 3].map(|place| rest.get(place).copied().unwrap_or(0.0));
        for (table, &[a, b, c, d]) in self.tables.iter_mut().zip(fours.iter().chain([&last])) {
            let (ab, cd) = (a + b, c + d);
            *table = [0.0, a, b, ab, c, a + c, b + c, ab + c, d, a + d, b + d, ab + d, cd, a + cd, b + cd, ab + cd];
        }
        self.has_more = values.len() > 16;
    }

    /// The sum over the paths whose bits are set; no bit beyond the given values may be set.
    pub fn over(&self, word: u32) -> f64 {
        // The empty set of a table that was not filled still has the sum 0.
        let at = |table: usize| self.tables[table][(word >> (4 * table)) as usize & 15];
        let first = (at(0) + at(1)) + (at(2) + at(3));
        if self.has_more { first + ((at(4) + at(5)) + (at(6) + at(7))) } else { first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_over_bits_of_powers_of_two_is_the_word_itself() {
        let powers: Vec<f64> = (0..32).map(|bit| f64::from(1u32 << bit)).collect();
        let mut sums = Sums::new();
        // Many paths, then few, so that what is left of the many would show.
        for (paths, words) in [(32, [0, 0xdead_beef, u32::MAX]), (17, [0, 0x1_8421, 0x1_ffff]), (3, [1, 5, 7])] {
            sums.set(&powers[..paths]);
            for word in words {
                assert_eq!(sums.over(word) as u32, word, "{paths} paths");
            }
        }
    }
}
