//! BBR's model of its path: delivery rate, least round trip, and whether the path is full [cardwell2016].

use std::collections::VecDeque;

use crate::window::{Delivery, MOST_WINDOW};

/// Rounds for which a bandwidth counts.
const ROUNDS: u64 = 10;

/// Growth of the bandwidth below which the path may be full.
const GROWTH: f64 = 1.25;

/// Rounds of less growth after which the path is full.
const FULL_ROUNDS: u32 = 3;

/// The model of the path.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Delivery rates in packets a second with their rounds, later ones smaller.
    rates: VecDeque<(u64, f64)>,
    /// Least round trip in seconds; infinite before the first.
    pub rtt: f64,
    /// Time at which the least round trip was measured, in seconds.
    pub rtt_at: f64,
    /// Number of rounds so far.
    pub round: u64,
    /// Packets that must have been delivered when a packet is sent, for its acknowledgement to end the round.
    round_end: u64,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Bandwidth when it last grew much, and number of rounds since.
    plateau: (f64, u32),
    /// Whether startup has filled the path.
    pub is_full: bool,
}

impl Model {
    /// Creates a model without knowledge.
    pub fn new() -> Self {
        Self {
            rates: VecDeque::new(),
            rtt: f64::INFINITY,
            rtt_at: 0.0,
            round: 0,
            round_end: 0,
            delivered: 0,
            plateau: (0.0, 0),
            is_full: false,
        }
    }

    /// Bandwidth in packets a second; 0 before the first sample.
    pub fn bandwidth(&self) -> f64 {
        self.rates.front().map_or(0.0, |&(_, rate)| rate)
    }

    /// Adds a delivery rate; true if a round begins.
    pub fn on_delivery(&mut self, delivery: &Delivery) -> bool {
        self.delivered = delivery.delivered;
        let begins = delivery.before >= self.round_end;
        if begins {
            self.round_end = delivery.delivered;
            self.round += 1;
        }
        let is_rate = delivery.rate.is_finite() && delivery.rate > 0.0;
        if is_rate && (!delivery.is_limited_by_source || delivery.rate >= self.bandwidth()) {
            while self.rates.pop_back_if(|(_, rate)| *rate <= delivery.rate).is_some() {}
            self.rates.push_back((self.round, delivery.rate));
            let oldest = self.round.saturating_sub(ROUNDS);
            while self.rates.pop_front_if(|(round, _)| *round < oldest).is_some() {}
        }
        begins
    }

    /// Begins a round, which ends when a packet that is sent from now on is acknowledged.
    pub fn begin_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// Detects after a round in which the source was not limited whether the bandwidth no longer grows, so that the
    /// path is full.
    pub fn look_for_plateau(&mut self) {
        let bandwidth = self.bandwidth();
        let (height, rounds) = self.plateau;
        self.plateau = if bandwidth >= GROWTH * height { (bandwidth, 0) } else { (height, rounds + 1) };
        self.is_full |= self.plateau.1 >= FULL_ROUNDS;
    }

    /// Restarts the detection of a full path.
    pub fn forget_plateau(&mut self) {
        self.plateau = (0.0, 0);
    }

    /// Packets that fit on the path without a queue, times `gain`; `None` before anything is known.
    pub fn fits(&self, gain: f64) -> Option<f64> {
        let fits = gain * self.bandwidth() * self.rtt;
        (fits > 0.0 && self.rtt.is_finite()).then_some(fits.min(MOST_WINDOW))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::is_near;

    fn deliver(model: &mut Model, rate: f64, is_limited_by_source: bool) -> bool {
        let before = model.delivered;
        model.on_delivery(&Delivery { rate, before, delivered: before + 10, is_limited_by_source })
    }

    #[test]
    fn the_greatest_rate_of_ten_rounds_counts() {
        let mut model = Model::new();
        for (rate, bandwidth) in [(90.0, 90.0), (100.0, 100.0), (80.0, 100.0)] {
            assert!(deliver(&mut model, rate, false) && is_near(model.bandwidth(), bandwidth));
        }
        // Nothing is said by less than a source could have sent, something by more.
        deliver(&mut model, 10.0, true);
        for _ in 0..8 {
            deliver(&mut model, 70.0, false);
            assert!(is_near(model.bandwidth(), 100.0));
        }
        // Eleven rounds after the 100, ten after the 80.
        deliver(&mut model, 60.0, false);
        assert!(is_near(model.bandwidth(), 80.0), "{}", model.bandwidth());
        deliver(&mut model, 500.0, true);
        assert!(is_near(model.bandwidth(), 500.0));
    }

    #[test]
    fn a_round_ends_with_what_was_sent_after_it_began() {
        let mut model = Model::new();
        let mut on = |before, delivered| {
            model.on_delivery(&Delivery { rate: 1.0, before, delivered, is_limited_by_source: false })
        };
        // Ten are sent at once; the one sent at the first acknowledgement tells of the end.
        assert_eq!(
            [on(0, 1), on(0, 2), on(0, 10), on(1, 11), on(2, 12), on(11, 21)],
            [true, false, false, true, false, true]
        );
    }

    #[test]
    fn the_path_is_full_after_three_rounds_with_less_than_a_quarter_more() {
        let mut model = Model::new();
        // A quarter more than 100 is 125, than 126 it is 157.5.
        for (rate, is_full) in [
            (100.0, false),
            (120.0, false),
            (124.0, false),
            (126.0, false),
            (150.0, false),
            (157.0, false),
            (157.0, true),
        ] {
            deliver(&mut model, rate, false);
            model.look_for_plateau();
            assert_eq!(model.is_full, is_full, "{rate}");
        }
    }
}
