//! Quantities as people write them: `"10 Gbit/s"`, `"5 ms"`, `"64 KiB"`.
//!
//! A quantity is a number, optional blanks and a unit. A bare number is refused, since its unit would be a guess. Rates
//! are decimal (`k M G T P`), in bits (`bit/s`, `b/s`, `bps`) or bytes (`B/s`). Sizes are decimal (`kB`) or binary
//! (`KiB`), or in bits. Both `u` and the micro sign mean micro.

use thiserror::Error;

use crate::units::{Bytes, Rate, Span};

/// An error for text that is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a {kind}: {reason}; write it like `{example}`")]
pub struct QuantityError {
    text: String,
    kind: &'static str,
    reason: String,
    example: &'static str,
}

/// Greatest rate in bit/s; a greater one is certainly a mistake.
const MOST_RATE: f64 = 1e30;

/// The kind of quantity that is read, for the error message.
struct Kind {
    name: &'static str,
    example: &'static str,
}

const RATE: Kind = Kind { name: "rate", example: "10 Gbit/s" };
const SPAN: Kind = Kind { name: "time", example: "5 ms" };
const SIZE: Kind = Kind { name: "size", example: "64 KiB" };

impl Kind {
    fn error(&self, text: &str, reason: impl Into<String>) -> QuantityError {
        QuantityError { text: text.to_owned(), kind: self.name, reason: reason.into(), example: self.example }
    }

    /// Splits `text` into a number, which is finite and not negative, and a unit.
    fn split<'a>(&self, text: &'a str) -> Result<(Number<'a>, &'a str), QuantityError> {
        let trimmed = text.trim();
        let unit_at = trimmed
            .char_indices()
            .position(|(at, c)| is_unit_start(trimmed, at, c))
            .and_then(|n| trimmed.char_indices().nth(n))
            .map_or(trimmed.len(), |(at, _)| at);
        let (number, unit) = (trimmed[..unit_at].trim(), trimmed[unit_at..].trim());
        if number.is_empty() {
            return Err(self.error(text, "it does not begin with a number"));
        }
        let value: f64 = number.parse().map_err(|_| self.error(text, format!("`{number}` is not a number")))?;
        if !value.is_finite() || value < 0.0 {
            return Err(self.error(text, "it must be finite and not negative"));
        }
        // A number may be a negative zero.
        let value = value.abs();
        if unit.is_empty() {
            return Err(self.error(text, "it has no unit"));
        }
        Ok((Number { text: number, value }, unit))
    }

    /// The number of `text` times the factor that the prefix of its unit stands for.
    fn scaled(&self, text: &str, number: &Number, prefix: &str) -> Result<f64, QuantityError> {
        Ok(match prefix {
            "" => number.value,
            "k" | "K" => number.times_ten_to(3),
            "M" | "m" => number.times_ten_to(6),
            "G" | "g" => number.times_ten_to(9),
            "T" | "t" => number.times_ten_to(12),
            "P" => number.times_ten_to(15),
            "Ki" => number.value * 1024.0,
            "Mi" => number.value * (1024.0 * 1024.0),
            "Gi" => number.value * (1024.0 * 1024.0 * 1024.0),
            _ => return Err(self.error(text, format!("`{prefix}` is not a prefix of a unit"))),
        })
    }
}

/// A number in its written form, and its value.
struct Number<'a> {
    text: &'a str,
    value: f64,
}

impl Number<'_> {
    /// The double nearest to the number times a power of ten. For example, 1.003 times a million is 1,003,000, which a
    /// product of doubles is not.
    fn times_ten_to(&self, power: i32) -> f64 {
        let (digits, exponent) = self.text.split_once(['e', 'E']).unwrap_or((self.text, "0"));
        let exponent = exponent.parse::<i32>().ok().and_then(|exponent| exponent.checked_add(power));
        let read = exponent.and_then(|exponent| format!("{digits}e{exponent}").parse::<f64>().ok());
        read.map_or(self.value * 10f64.powi(power), f64::abs)
    }
}

/// Whether the unit begins at `at`: a letter that is not the exponent of the number.
fn is_unit_start(text: &str, at: usize, c: char) -> bool {
    if !c.is_alphabetic() {
        return false;
    }
    let after = text[at + c.len_utf8()..].chars().next();
    let exponent = matches!(c, 'e' | 'E') && after.is_some_and(|d| d.is_ascii_digit() || d == '-' || d == '+');
    !exponent
}

/// Reads a rate such as `10 Gbit/s`, `1.5 Mbps` or `100 MB/s`.
///
/// # Errors
/// Returns an error for no number, no unit, an unknown unit, a negative value, or more than 1e30 bit/s.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let (number, unit) = RATE.split(text)?;
    let units = [("bit/s", 1.0), ("bits/s", 1.0), ("bps", 1.0), ("b/s", 1.0), ("B/s", 8.0)];
    let found = units.iter().find_map(|(name, bits)| unit.strip_suffix(name).map(|prefix| (prefix, bits)));
    let (prefix, bits) = found.ok_or_else(|| RATE.error(text, format!("`{unit}` is not a unit of rate")))?;
    let rate = RATE.scaled(text, &number, prefix)? * bits;
    if rate > MOST_RATE {
        return Err(RATE.error(text, "it is too large, over 1e30 bit/s"));
    }
    Ok(Rate(rate))
}

/// Reads a length of time such as `5 ms`, `20 us` or `1.5 s`.
///
/// # Errors
/// Returns an error for no number, no unit, an unknown unit, a negative value, or more than 213 days.
pub fn parse_span(text: &str) -> Result<Span, QuantityError> {
    let (number, unit) = SPAN.split(text)?;
    if let Some(ps) = text.trim().strip_suffix("ps").and_then(|number| number.trim().parse().ok()) {
        // Exact, where a double may not be.
        return Ok(Span(ps));
    }
    let seconds = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
        "ns" => 1e-9,
        "ps" => 1e-12,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(SPAN.error(text, format!("`{unit}` is not a unit of time"))),
    };
    Span::from_seconds(number.value * seconds).ok_or_else(|| SPAN.error(text, "it is longer than 213 days"))
}

/// Reads a size such as `64 KiB`, `1.5 MB` or `12 kbit`.
///
/// # Errors
/// Returns an error for no number, no unit, an unknown unit, a negative value, or more than 2^53 bytes.
pub fn parse_bytes(text: &str) -> Result<Bytes, QuantityError> {
    let (number, unit) = SIZE.split(text)?;
    let units = [("bytes", 1.0), ("byte", 1.0), ("bits", 0.125), ("bit", 0.125), ("B", 1.0)];
    let found = units.iter().find_map(|(name, bytes)| unit.strip_suffix(name).map(|prefix| (prefix, bytes)));
    let (prefix, bytes) = found.ok_or_else(|| SIZE.error(text, format!("`{unit}` is not a unit of size")))?;
    let total = (SIZE.scaled(text, &number, prefix)? * bytes).round();
    if total > 9_007_199_254_740_992.0 {
        return Err(SIZE.error(text, "it is more than 2^53 bytes"));
    }
    Ok(Bytes(total as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_in_bits_and_bytes() {
        for (text, bps) in [
            ("10 Gbit/s", 10e9),
            ("10Gbps", 10e9),
            ("2.5 Gb/s", 2.5e9),
            ("100 MB/s", 800e6),
            ("1e3 kbit/s", 1e6),
            ("1.5e-3 Mbit/s", 1500.0),
            ("7 bit/s", 7.0),
        ] {
            assert_eq!(parse_rate(text), Ok(Rate(bps)), "{text}");
        }
    }

    #[test]
    fn decimal_prefixes_lose_no_bit() {
        for (text, bps) in [
            ("1.003 Mbit/s", 1_003_000.0),
            ("1.1 Gbit/s", 1_100_000_000.0),
            ("0.000001003 Tbit/s", 1_003_000.0),
            ("1.003e-3 Gb/s", 1_003_000.0),
            ("1003.E0 kbps", 1_003_000.0),
            ("0.29 kB/s", 2320.0),
        ] {
            assert_eq!(parse_rate(text).map(|rate| rate.0.to_bits()), Ok(f64::to_bits(bps)), "{text}");
        }
        assert_eq!(parse_bytes("1.001 kB"), Ok(Bytes(1001)));
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(parse_span("5 ms"), Ok(Span::ms(5)));
        assert_eq!(parse_span("20us"), Ok(Span::us(20)));
        assert_eq!(parse_span("9007199254740993 ps"), Ok(Span(9_007_199_254_740_993)));
        assert_eq!(parse_bytes("64 KiB"), Ok(Bytes(65_536)));
        assert_eq!(parse_bytes("12 kbit"), Ok(Bytes(1500)));
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        let said = parse_rate("10").unwrap_err().to_string();
        assert_eq!(said, "`10` is not a rate: it has no unit; write it like `10 Gbit/s`");
        for text in ["", "fast", "-1 Gbit/s", "nan Gbit/s", "inf bit/s", "5 ms", "5 xbit/s", "1 e9", "\u{fc}"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        assert!(parse_span("300 days").is_err());
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let said = parse_rate("1e308 Tbit/s").unwrap_err().to_string();
        assert!(said.contains("it is too large, over 1e30 bit/s"), "{said}");
        assert!(parse_rate("2e18 Tbit/s").is_err());
        assert_eq!(parse_rate("1e30 bit/s"), Ok(Rate(1e30)));
        // The number alone is finite, in hours and gibibytes it is not.
        assert!(parse_span("1e308 h").is_err());
        assert!(parse_bytes("1e308 GiB").is_err());
    }
}
