//! The random faults of links, which lose, repeat or delay some packets.

use anabranch_core::random::{Purpose, stream};
use anabranch_plan::Faults;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A random sequence of fates for the packets of one kind on one link.
#[derive(Clone, Debug)]
pub struct Fates {
    faults: Faults,
    random: ChaCha8Rng,
}

/// The arrival times of the copies of a packet: none, one or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Arrival time of the packet itself; `None` if it is lost.
    pub first: Option<u64>,
    /// Arrival time of a second copy; `None` if there is none.
    pub second: Option<u64>,
}

impl Fates {
    /// The sequence of stream number `id` under `seed`; `None` for a link without faults.
    pub fn new(faults: &Faults, seed: u64, id: u32) -> Option<Box<Self>> {
        let random = stream(seed, Purpose::Faults, id);
        (!faults.is_none()).then(|| Box::new(Self { faults: *faults, random }))
    }

    /// Draws the fate of a packet that would arrive at `time`.
    pub fn next(&mut self, time: u64) -> Arrivals {
        let first = self.copy(time);
        let is_twice = self.random.random_bool(self.faults.duplicate);
        let second = if is_twice { self.copy(time.saturating_add(1)) } else { None };
        Arrivals { first, second }
    }

    fn copy(&mut self, time: u64) -> Option<u64> {
        if self.random.random_bool(self.faults.loss) {
            return None;
        }
        let late = if self.random.random_bool(self.faults.reorder) {
            self.random.random_range(0..=self.faults.late.0)
        } else {
            0
        };
        Some(time.saturating_add(late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_core::Span;

    #[test]
    fn fates_follow_their_probabilities_and_repeat() {
        let faults = Faults { loss: 0.1, duplicate: 0.2, reorder: 0.5, late: Span(1000) };
        let draw = || {
            let mut fates = Fates::new(&faults, 1, 7).unwrap();
            (0..10_000).map(|i| fates.next(i * 10_000)).collect::<Vec<_>>()
        };
        let fates = draw();
        assert_eq!(fates, draw());
        let share = |test: &dyn Fn(u64, &Arrivals) -> bool| {
            fates.iter().enumerate().filter(|(i, a)| test(*i as u64 * 10_000, a)).count() as f64 / 10_000.0
        };
        // Four standard deviations of 10,000 draws are 2 %.
        assert!((share(&|_, a| a.first.is_none()) - 0.1).abs() < 0.02);
        assert!((share(&|_, a| a.second.is_some()) - 0.18).abs() < 0.02);
        assert!((share(&|t, a| a.first.is_some_and(|f| f > t)) - 0.45).abs() < 0.02);
        assert!(Fates::new(&Faults::default(), 1, 7).is_none());
    }
}
