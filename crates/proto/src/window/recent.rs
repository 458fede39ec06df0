//! The least and the greatest of recent samples, in little memory.

use std::collections::VecDeque;

/// Samples are kept in parts of at least this share of the time that counts.
const SHARE: f64 = 1.0 / 16.0;

/// Samples of a recent period, which may be up to a sixteenth of the period too old.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    parts: VecDeque<Part>,
}

/// Summary of consecutive samples; times in seconds.
#[derive(Clone, Copy, Debug)]
struct Part {
    begin: f64,
    end: f64,
    least: f64,
    most: f64,
}

impl Recent {
    /// Adds a sample, and removes parts that are older than `span`; times in seconds.
    pub fn add(&mut self, now: f64, sample: f64, span: f64) {
        while self.parts.pop_front_if(|part| part.end < now - span).is_some() {}
        match self.parts.back_mut().filter(|part| now - part.begin < span * SHARE) {
            Some(part) => {
                *part = Part { end: now, least: part.least.min(sample), most: part.most.max(sample), ..*part };
            }
            None => self.parts.push_back(Part { begin: now, end: now, least: sample, most: sample }),
        }
    }

    /// Least sample; infinite without one.
    pub fn least(&self) -> f64 {
        self.parts.iter().map(|part| part.least).fold(f64::INFINITY, f64::min)
    }

    /// Greatest sample; 0 without one.
    pub fn most(&self) -> f64 {
        self.parts.iter().map(|part| part.most).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_old_is_forgotten() {
        let mut recent = Recent::default();
        for (now, sample, least, most) in [
            (0.0, 5.0, 5.0, 5.0),
            (1.0, 3.0, 3.0, 5.0),
            (10.0, 4.0, 3.0, 5.0),
            // Then the first is more than ten seconds old, and then the second.
            (10.5, 4.5, 3.0, 4.5),
            (11.5, 4.5, 4.0, 4.5),
        ] {
            recent.add(now, sample, 10.0);
            assert!((recent.least() - least).abs() < 1e-9 && (recent.most() - most).abs() < 1e-9, "{now}");
        }
    }

    #[test]
    fn many_samples_take_little_memory() {
        let mut recent = Recent::default();
        (0..100_000).for_each(|i| recent.add(f64::from(i) * 1e-3, f64::from(i), 10.0));
        assert!(recent.parts.len() <= 18, "{}", recent.parts.len());
        // The last is 99999; ten seconds before are 89999, and a sixteenth of that 625 less.
        assert!((89_374.0..=89_999.0).contains(&recent.least()), "{}", recent.least());
    }
}
