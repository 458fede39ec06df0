//! What integers of 128 bits and known constants say.

use proptest::prelude::*;

use super::*;

/// An integer of at most 106 bits, which a pair of doubles holds.
fn whole(value: i128) -> Wide {
    let high = value as f64;
    Wide::exact_sum(high, (value - high as i128) as f64)
}

/// Whether two numbers agree to 30 digits.
fn is_close(found: Wide, wanted: Wide) -> bool {
    (found - wanted).high.abs() <= 1e-30 * wanted.high.abs()
}

proptest! {
    #[test]
    fn sums_of_whole_numbers_are_exact(a in -(1i128 << 104)..1 << 104, b in -(1i128 << 104)..1 << 104) {
        prop_assert_eq!(whole(a) + whole(b), whole(a + b));
        prop_assert_eq!(whole(a) - whole(b), whole(a - b));
    }

    #[test]
    fn products_of_doubles_are_exact(a in -(1i64 << 53)..1 << 53, b in -(1i64 << 53)..1 << 53) {
        prop_assert_eq!(Wide::from(a as f64) * (b as f64).into(), whole(i128::from(a) * i128::from(b)));
    }

    #[test]
    fn quotients_and_roots_give_back_what_they_are_of(a in 1i128..1 << 104, b in 1i128..1 << 104, power in -200i32..200) {
        let scale = Wide::from(2f64.powi(power));
        let (a, b) = (whole(a) * scale, whole(b));
        prop_assert!(is_close(a / b * b, a));
        prop_assert!(is_close(a.sqrt() * a.sqrt(), a));
    }

    #[test]
    fn the_logarithm_of_a_product_is_the_sum_of_the_logarithms(a in 2i128..1 << 104, power in -270i32..270) {
        let (a, b) = (whole(a), Wide::from(10f64.powi(power)));
        let error = (a * b).ln() - a.ln() - b.ln();
        prop_assert!(error.high.abs() <= 1e-30 * (a.ln().high + b.ln().high.abs()), "{:?}", error);
    }

    #[test]
    fn numbers_are_ordered_by_both_halves(a in -(1i128 << 104)..1 << 104, difference in 1i128..1 << 40) {
        prop_assert!(whole(a) < whole(a + difference) && whole(a + difference) > whole(a));
    }
}

#[test]
fn logarithms_have_the_digits_of_the_tables() {
    // e and ln 10 to 32 digits, the second half from the digits after the first.
    let e = Wide { high: std::f64::consts::E, low: 1.445_646_891_729_250_2e-16 };
    let ln_10 = Wide { high: std::f64::consts::LN_10, low: -2.170_756_223_382_249_4e-16 };
    assert!(is_close(e.ln(), 1.0.into()));
    assert!(is_close(Wide::from(10.0).ln(), ln_10));
    // Near 1 too: ln (1 + x) = x - x^2 / 2 but for x^3 / 3, which is 1e-36 of x here.
    let x = Wide::from(2f64.powi(-60));
    assert!(is_close((Wide::one() + x).ln(), x - x * x / 2.0.into()));
    assert!(is_close(Wide::from(f64::MIN_POSITIVE).ln(), LN_2 * Wide::from(-1022.0)));
}

#[test]
fn what_is_infinite_or_no_number_is_so_in_pairs_too() {
    let (one, endless) = (Wide::one(), Wide::from(f64::INFINITY));
    for (found, wanted) in
        [(one / endless, 0.0), (one / Wide::zero(), f64::INFINITY), (Wide::zero().ln(), -f64::INFINITY)]
    {
        assert_eq!(found, wanted.into());
    }
    for found in [endless + one, endless - one, endless * one, endless.sqrt(), endless.ln(), endless / one] {
        assert_eq!(found, endless);
    }
    for found in [endless - endless, Wide::zero() / Wide::zero(), (-one).sqrt(), (-one).ln()] {
        assert!(found.is_nan());
    }
    assert_eq!(Wide::zero().sqrt(), Wide::zero());
}
