//! Control by granted rates: paths send at these rates, and windows do not limit them.

use anabranch_core::{Rate, Time};
use anabranch_proto::window::{Acked, Signal, WindowControl};

use super::{BITS, FIRST_WINDOW, PACKET};

/// Seconds that the window covers beyond two round trips. A path that is silent for longer sends no more.
const BEYOND: f64 = 0.2;

/// The control of a connection whose rates are granted by links.
pub(super) struct Granted {
    /// Rate of each slot, for packets of the size that controls assume.
    rates: Vec<Rate>,
    /// Smoothed round trip of each slot in seconds; 0 before the first.
    rtts: Vec<f64>,
}

impl Granted {
    /// Creates the control of this number of slots, which all send at one rate.
    pub fn new(slots: usize, rate: Rate) -> Self {
        Self { rates: vec![rate; slots], rtts: vec![0.0; slots] }
    }

    /// Sets the rate of each slot.
    pub fn grant(&mut self, rates: &[Rate]) {
        self.rates.copy_from_slice(rates);
    }
}

impl WindowControl for Granted {
    fn open(&mut self, subflow: usize, _: Time) {
        self.rtts[subflow] = 0.0;
    }

    fn close(&mut self, _: usize) {}

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        self.rtts[subflow] = acked.smoothed;
    }

    fn on_signal(&mut self, _: usize, _: Signal, _: u32, _: Time) {}

    fn window(&self, subflow: usize) -> f64 {
        let seconds = 2.0 * self.rtts[subflow] + BEYOND;
        (self.rates[subflow].0 * seconds / (BITS * PACKET.0 as f64)).max(FIRST_WINDOW)
    }

    fn pace(&self, subflow: usize) -> Option<Rate> {
        Some(self.rates[subflow])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_two_round_trips_and_a_fifth_of_a_second() {
        let mut granted = Granted::new(2, Rate(9.6e6));
        // 1,000 packets of 1,200 bytes a second; no round trip is known yet.
        assert!((granted.window(0) - 200.0).abs() < 1e-9);
        assert_eq!(granted.pace(0), Some(Rate(9.6e6)));
        granted.rtts[0] = 0.05;
        granted.grant(&[Rate(9.6e6), Rate(9.6e3)]);
        assert!((granted.window(0) - 300.0).abs() < 1e-9);
        // 1 packet a second: no less than the first window.
        assert!((granted.window(1) - FIRST_WINDOW).abs() < 1e-9);
    }
}
