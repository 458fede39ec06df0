//! Numbers joined into sets, two at a time: union-find [galler1964].

/// A partition of the numbers from 0: each is in a set with those that it was joined with, directly or indirectly.
#[derive(Clone, Debug, Default)]
pub struct UnionFind {
    /// For each number a lower one of its set, or itself.
    parents: Vec<u32>,
}

impl UnionFind {
    /// A partition of `count` numbers, each in a separate set.
    pub fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.parents.clear();
    }

    /// Adds the next number in a separate set; returns it.
    pub fn add(&mut self) -> u32 {
        let number = self.parents.len() as u32;
        self.parents.push(number);
        number
    }

    /// Joins the sets of two numbers.
    ///
    /// # Panics
    /// If a number has not been added.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.first_of(a), self.first_of(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// The set of each number; sets are counted from 0 in the order of their first numbers.
    pub fn sets(&mut self) -> Vec<u32> {
        let mut sets: Vec<u32> = Vec::with_capacity(self.parents.len());
        let mut found = 0;
        for number in 0..self.parents.len() as u32 {
            let first = self.first_of(number);
            if first == number {
                sets.push(found);
                found += 1;
            } else {
                sets.push(sets[first as usize]);
            }
        }
        sets
    }

    /// The first number of a number's set.
    fn first_of(&mut self, mut number: u32) -> u32 {
        while self.parents[number as usize] != number {
            let next = self.parents[number as usize];
            // Halves the path for the next search.
            self.parents[number as usize] = self.parents[next as usize];
            number = next;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_counted_in_the_order_of_their_first_numbers() {
        // {0}, {1, 4, 3} by way of 4, {2, 5}.
        let mut numbers = UnionFind::new(5);
        assert_eq!(numbers.add(), 5);
        for (a, b) in [(4, 3), (5, 2), (1, 4), (3, 1)] {
            numbers.join(a, b);
        }
        assert_eq!(numbers.sets(), [0, 1, 2, 1, 1, 2]);
        numbers.clear();
        assert!(numbers.sets().is_empty());
        assert_eq!((numbers.add(), numbers.sets()), (0, vec![0]));
    }
}
