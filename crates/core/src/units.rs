//! Time, sizes and rates as distinct types, so that a delay is never added to a size.
//!
//! `Time` and `Span` count picoseconds in 64 bits (213 days), `Bytes` counts bytes, `Rate` is bit/s in `f64`.
//! Convert where a number enters (`parse.rs`, the bindings) and where it leaves; nowhere else.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

const PICOSECONDS: f64 = 1e12;

/// Picoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000_000;

/// Picoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000_000;

/// Picoseconds in a second.
pub const SECOND: u64 = 1_000_000_000_000;

/// Bits in a byte.
pub const BITS: f64 = 8.0;

/// Bits in a byte times picoseconds in a second: bytes times this, divided by a rate in bit/s, gives picoseconds.
pub const BIT_PICOSECONDS: f64 = BITS * PICOSECONDS;

/// An instant, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time, such as a delay or a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate or a capacity in bit/s; may be infinite, and is never NaN once checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

impl Rate {
    /// Greatest finite demand or capacity, so that sums and quotients never overflow.
    pub const MOST: Self = Self(1e100);

    /// Whether the rate is 0 to [`Self::MOST`].
    pub fn is_amount(self) -> bool {
        (0.0..=Self::MOST.0).contains(&self.0)
    }

    /// Whether the rate is 0 to [`Self::MOST`], or infinite.
    pub fn is_capacity(self) -> bool {
        self.is_amount() || self.0 == f64::INFINITY
    }
}

fn picoseconds(seconds: f64) -> Option<u64> {
    let ps = (seconds * PICOSECONDS).round();
    (ps >= 0.0 && ps < u64::MAX as f64).then_some(ps as u64)
}

impl Span {
    /// A length of time in whole microseconds.
    pub const fn us(microseconds: u64) -> Self {
        Self(microseconds * MICROSECOND)
    }

    /// A length of time in whole milliseconds.
    pub const fn ms(milliseconds: u64) -> Self {
        Self(milliseconds * MILLISECOND)
    }

    /// A length of time in whole seconds.
    pub const fn s(seconds: u64) -> Self {
        Self(seconds * SECOND)
    }

    /// The length of time of `seconds`, to the nearest picosecond; `None` if negative, NaN or beyond 213 days.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        picoseconds(seconds).map(Self)
    }

    /// The length of time in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS
    }
}

impl Time {
    /// The instant in whole microseconds after the start.
    pub const fn us(microseconds: u64) -> Self {
        Self(microseconds * MICROSECOND)
    }

    /// The instant in whole milliseconds after the start.
    pub const fn ms(milliseconds: u64) -> Self {
        Self(milliseconds * MILLISECOND)
    }

    /// The instant in whole seconds after the start.
    pub const fn s(seconds: u64) -> Self {
        Self(seconds * SECOND)
    }

    /// The instant `seconds` after the start, to the nearest picosecond; `None` if negative, NaN or beyond 213 days.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        picoseconds(seconds).map(Self)
    }

    /// The instant in seconds after the start.
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
    // A value that four decimals round up to 1 of a unit is written in that unit.
    let fits = scales.iter().find(|(size, _)| value.abs() >= 0.99995 * size);
    let (size, unit) = fits.or(scales.last()).expect("a unit has scales");
    let digits = if is_long(value / size) { format!("{:e}", value / size) } else { format!("{:.4}", value / size) };
    let short = if digits.contains('.') && !digits.contains('e') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
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

/// A number in a message; it has an exponent where it would otherwise have many digits: `1e100`.
#[derive(Clone, Copy, Debug)]
pub struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        let is_tiny = value != 0.0 && value.abs() < 1e-4;
        if is_long(value) || is_tiny { write!(f, "{value:e}") } else { write!(f, "{value}") }
    }
}

/// Whether a number has 17 digits or more before the point.
fn is_long(value: f64) -> bool {
    value.is_finite() && value.abs() >= 1e16
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
        assert_eq!(Rate(2e28).to_string(), "2e16 Tbit/s");
    }

    #[test]
    fn long_numbers_have_an_exponent() {
        let texts = [0.0, -1.0, 0.25, 1e15, 1e16, -1e100, 2.5e-300, f64::INFINITY].map(|x| Short(x).to_string());
        assert_eq!(texts, ["0", "-1", "0.25", "1000000000000000", "1e16", "-1e100", "2.5e-300", "inf"]);
    }

    #[test]
    fn a_demand_is_finite_and_a_capacity_may_be_infinite() {
        for (bps, is_amount, is_capacity) in [
            (0.0, true, true),
            (1e100, true, true),
            (1.1e100, false, false),
            (f64::INFINITY, false, true),
            (f64::NAN, false, false),
            (-1.0, false, false),
        ] {
            assert_eq!((Rate(bps).is_amount(), Rate(bps).is_capacity()), (is_amount, is_capacity), "{bps}");
        }
    }

    #[test]
    fn whole_units_of_time_are_picoseconds() {
        assert_eq!(
            [Span::us(7), Span::ms(7), Span::s(7)].map(|span| span.0),
            [7_000_000, 7_000_000_000, 7_000_000_000_000]
        );
        assert_eq!((Time::ms(2) - Time::us(500), Time::s(1)), (Span::us(1500), Time::ms(1000)));
    }

    #[test]
    fn bytes_by_a_rate_are_a_time() {
        // 1,500 bytes at 12 Mbit/s take a millisecond.
        assert_eq!((1500.0 * BIT_PICOSECONDS / 12e6) as u64, MILLISECOND);
    }

    #[test]
    fn seconds_that_do_not_fit_are_refused() {
        assert_eq!(Span::from_seconds(5e-3), Some(Span(5_000_000_000)));
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(Span::from_seconds(seconds), None, "{seconds}");
        }
    }
}
