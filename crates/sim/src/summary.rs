//! Summaries of many numbers: their count, mean, extremes and percentiles.

/// The mean, percentiles and extremes of some numbers; all but the count are NaN if there are no numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The count of the numbers.
    pub count: u32,
    /// Their mean.
    pub mean: f64,
    /// The mean of their magnitudes.
    pub magnitude: f64,
    /// The least number.
    pub least: f64,
    /// The 10th percentile, interpolated between the two numbers next to it, as all percentiles are.
    pub p10: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The greatest number.
    pub most: f64,
}

impl Summary {
    /// Summarises numbers, none of which may be NaN.
    pub fn of(mut numbers: Vec<f64>) -> Self {
        let count = numbers.len();
        if count == 0 {
            let none = f64::NAN;
            return Self {
                count: 0,
                mean: none,
                magnitude: none,
                least: none,
                p10: none,
                p50: none,
                p90: none,
                most: none,
            };
        }
        numbers.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (count - 1) as f64;
            let (low, high) = (place.floor(), place.ceil());
            let (a, b) = (numbers[low as usize], numbers[high as usize]);
            a + (b - a) * (place - low)
        };
        Self {
            count: count as u32,
            mean: numbers.iter().sum::<f64>() / count as f64,
            magnitude: numbers.iter().map(|number| number.abs()).sum::<f64>() / count as f64,
            least: numbers[0],
            p10: at(0.1),
            p50: at(0.5),
            p90: at(0.9),
            most: numbers[count - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_the_numbers_next_to_them() {
        // Of 0, 1, ..., 5 the 10th percentile is halfway from 0 to 1.
        let summary = Summary::of(vec![3.0, 0.0, 5.0, 1.0, 4.0, 2.0]);
        let expected =
            Summary { count: 6, mean: 2.5, magnitude: 2.5, least: 0.0, p10: 0.5, p50: 2.5, p90: 4.5, most: 5.0 };
        assert_eq!(summary, expected);
        // -1, 0 and 4 have the mean 1 and the magnitude 5 / 3.
        let signed = Summary::of(vec![0.0, -1.0, 4.0]);
        assert_eq!((signed.mean, signed.magnitude), (1.0, 5.0 / 3.0));
        assert!(Summary::of(Vec::new()).mean.is_nan());
    }
}
