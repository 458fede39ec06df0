//! Time, sizes and rates as types of their own, so that a delay is never added to a size.
//!
//! `Time` and `Span` count picoseconds in 64 bits (213 days), `Bytes` counts bytes, `Rate` is bit/s in `f64`.
//! Convert where a number enters (`parse.rs`, the bindings) and where it leaves; nowhere else.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

const PICOSECONDS: f64 = 1e12;

/// An instant, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time: a delay, a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate or a capacity in bit/s; may be infinite, is never NaN once checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

fn picoseconds(seconds: f64) -> Option<u64> {
    let ps = (seconds * PICOSECONDS).round();
    (ps >= 0.0 && ps < u64::MAX as f64).then_some(ps as u64)
}

impl Span {
    /// From seconds, to the nearest picosecond; `None` if negative, NaN or beyond 213 days.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        picoseconds(seconds).map(Self)
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS
    }
}

impl Time {
    /// From seconds after the start, to the nearest picosecond; `None` if negative, NaN or beyond 213 days.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        picoseconds(seconds).map(Self)
    }

    /// In seconds after the start.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

/// Writes `value` with the largest of `scales` that leaves at least 1 before the point.
fn scaled(f: &mut fmt::Formatter<'_>, value: f64, scales: &[(f64, &str)]) -> fmt::Result {
    // What four decimals round up to 1 of a unit is written in it.
    let fits = scales.iter().find(|(size, _)| value.abs() >= 0.99995 * size);
    let (size, unit) = fits.or(scales.last()).expect("a unit has scales");
    let digits = format!("{:.4}", value / size);
    let short = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    write!(f, "{short} {unit}")
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scales = [(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
        scaled(f, self.0, &scales)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.seconds(), &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_in_its_largest_fitting_unit() {
        assert_eq!(Rate(10e9).to_string(), "10 Gbit/s");
        assert_eq!(Rate(1_544_000.0).to_string(), "1.544 Mbit/s");
        assert_eq!(Rate(999_999_999_999.9).to_string(), "1 Tbit/s");
        assert_eq!(Rate(0.0).to_string(), "0 bit/s");
        assert_eq!(Rate(f64::INFINITY).to_string(), "inf Tbit/s");
    }

    #[test]
    fn seconds_that_do_not_fit_are_refused() {
        assert_eq!(Span::from_seconds(5e-3), Some(Span(5_000_000_000)));
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(Span::from_seconds(seconds), None, "{seconds}");
        }
    }
}
