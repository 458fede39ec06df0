//! What a user says of a line: both ends keep to it for what they send.

use std::time::Duration;

use anabranch_core::Rate;

use super::greeting::Unreadable;
use crate::flow::schedule::Pace;

/// The most that the weight of a line can be, and the least besides 0.
const WEIGHTS: (f64, f64) = (1e-3, 1e3);

/// The least rate of a line.
const LEAST_RATE: f64 = 64e3;

/// What a user says of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Whether it carries data only while no other can.
    pub is_backup: bool,
    /// Where one line is chosen, a line of weight 2 counts as one of half its round trip. A line of weight 0 carries what
    /// waits for the others.
    pub weight: f64,
    /// Lines of one group share links.
    pub group: u32,
    /// The most that each end sends over it, on links.
    pub most: Rate,
    /// Whether small exchanges and packets of UDP that take it go over the next one, too.
    pub has_copies: bool,
}

/// A line like others.
impl Default for Terms {
    fn default() -> Self {
        Self { is_backup: false, weight: 1.0, group: 0, most: Rate(f64::INFINITY), has_copies: false }
    }
}

/// The reason why terms cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// The weight is out of range.
    #[error("the weight of a line must be 0, or from 0.001 to 1000")]
    Weight,
    /// The rate is too low, or no number.
    #[error("the rate of a line must be at least 64 kbit/s")]
    Rate,
}

impl Terms {
    /// Checks that the terms can be kept.
    ///
    /// # Errors
    /// If the weight or the rate is out of range.
    pub fn check(&self) -> Result<(), TermsError> {
        if self.weight != 0.0 && !(WEIGHTS.0..=WEIGHTS.1).contains(&self.weight) {
            return Err(TermsError::Weight);
        }
        // Not a number is no rate.
        if self.most.0 >= LEAST_RATE { Ok(()) } else { Err(TermsError::Rate) }
    }

    /// A pace as it counts where a line is chosen.
    pub(crate) fn weigh(&self, pace: Pace) -> Pace {
        Pace { rtt: pace.rtt.max(Duration::from_micros(1)).div_f64(self.weight.max(WEIGHTS.0)), ..pace }
    }

    /// The words of a header: what differs from a line like others.
    pub(crate) fn write(&self) -> String {
        let usual = Self::default();
        let mut words = Vec::new();
        if self.is_backup {
            words.push("backup".to_owned());
        }
        if self.has_copies {
            words.push("copies".to_owned());
        }
        if self.weight.to_bits() != usual.weight.to_bits() {
            words.push(format!("weight={}", self.weight));
        }
        if self.group != usual.group {
            words.push(format!("group={}", self.group));
        }
        if self.most.0.is_finite() {
            words.push(format!("most={}", self.most.0));
        }
        words.join(" ")
    }

    /// Terms as they were written.
    ///
    /// # Errors
    /// If a word is none of these, or the terms cannot be kept.
    pub(crate) fn read(text: &str) -> Result<Self, Unreadable> {
        let mut terms = Self::default();
        for word in text.split(' ').filter(|_| !text.is_empty()) {
            match word.split_once('=') {
                None if word == "backup" => terms.is_backup = true,
                None if word == "copies" => terms.has_copies = true,
                Some(("weight", number)) => terms.weight = number.parse().map_err(|_| Unreadable)?,
                Some(("group", number)) => terms.group = number.parse().map_err(|_| Unreadable)?,
                Some(("most", number)) => terms.most = Rate(number.parse().map_err(|_| Unreadable)?),
                _ => return Err(Unreadable),
            }
        }
        terms.check().map(|()| terms).map_err(|_| Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_weight_counts_as_a_shorter_round_trip() {
        let ms = Duration::from_millis;
        let pace = Pace { rtt: ms(40), jitter: ms(2), window: 1, queued: 0 };
        let weighed = |weight| Terms { weight, ..Terms::default() }.weigh(pace).rtt;
        assert_eq!([1.0, 2.0, 0.5, 0.0].map(weighed), [ms(40), ms(20), ms(80), ms(40_000)]);
    }

    #[test]
    fn wrong_terms_are_unreadable() {
        for wrong in
            ["weight=-1", "weight=NaN", "weight=inf", "weight=2000", "most=1", "most=NaN", "group=-1", "x", " "]
        {
            assert_eq!(Terms::read(wrong), Err(Unreadable), "{wrong}");
        }
        assert_eq!(Terms::read(""), Ok(Terms::default()));
    }

    proptest! {
        #[test]
        fn terms_are_read_as_they_were_written(
            (is_backup, has_copies, weight, group) in (any::<bool>(), any::<bool>(), 1e-3..1e3, any::<u32>()),
            most in prop_oneof![Just(f64::INFINITY), 64e3..1e12],
        ) {
            let terms = Terms { is_backup, weight, group, most: Rate(most), has_copies };
            prop_assert_eq!(Terms::read(&terms.write()), Ok(terms));
        }

        #[test]
        fn any_text_is_terms_that_can_be_kept_or_an_error(text in "[a-z=0-9. -]{0,40}") {
            if let Ok(terms) = Terms::read(&text) {
                prop_assert!(terms.check().is_ok());
            }
        }
    }
}
