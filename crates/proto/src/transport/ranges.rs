//! The bytes of a stream that have arrived.

use super::packets::Chunk;

/// A set of bytes: all before an offset, and ranges after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranges {
    complete: u64,
    /// Ranges of first byte and byte after the last, in ascending order; they touch neither each other nor `complete`.
    beyond: Vec<(u64, u64)>,
}

impl Ranges {
    /// All bytes before this offset are in the set.
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// Number of bytes after the first gap.
    pub fn waiting(&self) -> u64 {
        self.beyond.iter().map(|(start, end)| end - start).sum()
    }

    /// Adds bytes and returns how many of them were not in the set.
    pub fn add(&mut self, chunk: Chunk) -> u64 {
        let (start, end) = (chunk.offset.max(self.complete), chunk.end());
        if start >= end {
            return 0;
        }
        if self.beyond.is_empty() && start == self.complete {
            self.complete = end;
            return end - start;
        }
        // Those that touch the new one: from the first that ends at its start or later, to the last that begins at its
        // end or before.
        let first = self.beyond.partition_point(|&(_, other)| other < start);
        let last = self.beyond.partition_point(|&(other, _)| other <= end);
        let touched = &self.beyond[first..last];
        let there: u64 = touched.iter().map(|&(a, b)| b.min(end).saturating_sub(a.max(start))).sum();
        let joined =
            (touched.first().map_or(start, |&(a, _)| a.min(start)), touched.last().map_or(end, |&(_, b)| b.max(end)));
        self.beyond.splice(first..last, [joined]);
        if joined.0 == self.complete {
            self.complete = joined.1;
            self.beyond.remove(0);
        }
        end - start - there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(offset: u64, bytes: u32) -> Chunk {
        Chunk { offset, bytes }
    }

    #[test]
    fn gaps_are_filled_and_what_comes_twice_counts_once() {
        let mut ranges = Ranges::default();
        assert_eq!((ranges.add(chunk(0, 10)), ranges.complete()), (10, 10));
        // 20 to 30 and 40 to 50 wait for 10 to 20 and 30 to 40.
        assert_eq!((ranges.add(chunk(20, 10)), ranges.add(chunk(40, 10))), (10, 10));
        assert_eq!((ranges.complete(), ranges.waiting()), (10, 20));
        // 25 to 45 brings 30 to 40; then 5 to 20 brings 10 to 20, and all is there.
        assert_eq!((ranges.add(chunk(25, 20)), ranges.waiting()), (10, 30));
        assert_eq!((ranges.add(chunk(5, 15)), ranges.complete(), ranges.waiting()), (10, 50, 0));
        assert_eq!((ranges.add(chunk(0, 50)), ranges.add(chunk(50, 0))), (0, 0));
    }

    proptest! {
        #[test]
        fn it_is_the_set_of_what_was_added(chunks in prop::collection::vec((0u64..60, 0u32..20), 0..40)) {
            let (mut ranges, mut bytes) = (Ranges::default(), [false; 80]);
            for (offset, count) in chunks {
                let own = offset as usize..offset as usize + count as usize;
                let new = bytes[own.clone()].iter().filter(|b| !**b).count() as u64;
                bytes[own].fill(true);
                prop_assert_eq!(ranges.add(chunk(offset, count)), new);
                let complete = bytes.iter().take_while(|b| **b).count();
                prop_assert_eq!(ranges.complete(), complete as u64);
                prop_assert_eq!(ranges.waiting(), bytes[complete..].iter().filter(|b| **b).count() as u64);
            }
        }
    }
}
