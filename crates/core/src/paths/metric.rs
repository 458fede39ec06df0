//! The metric by which paths are compared, and the integer cost that it gives each link.
//!
//! A search needs sums that compare exactly and do not depend on the order of addition, so the metric becomes an
//! integer:
//!
//! ```text
//! cost(l) = units(l) * 2^b + 1        units(l) = round(metric(l) * 10^d)
//! ```
//!
//! The value `b` is the number of bits that hold the number of links, so sums of costs along paths compare first by
//! metric and then by number of links. The value `d` is the greatest for which the costs of all links together stay
//! under 2^62: no path, no two consecutive paths and no set of disjoint paths can overflow. Every cost is positive,
//! whatever the metric.

use thiserror::Error;

use crate::network::Network;
use crate::units::Short;

/// The metric by which paths are compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// The number of links.
    Hops,
    /// The sum of propagation delays.
    ///
    /// It is exact to the picosecond while the sum of the delays of all links stays under 2^60 ps / links; beyond, it
    /// is rounded to 10 ps, 100 ps and so on.
    Delay,
    /// The sum of given values, one for each link by id; each finite and 0 or more.
    ///
    /// The values are rounded to a decimal place, the finest for which 61 bits, less those that count links, hold the
    /// sum over all links. This gives 14 significant digits of that sum in a network of a thousand links, 12 with a
    /// hundred thousand. Two paths are equal if the sums of the rounded values are; so 0.1 + 0.2 equals 0.3, and a
    /// value smaller than half of that place counts as 0.
    Given(Vec<f64>),
}

/// The reason why a metric is invalid.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum MetricError {
    #[error("metric: {given} values are given for {links} links; give one for each link, in the order of the links")]
    Length { given: usize, links: usize },
    #[error("link `{link}`: metric is {}; it must be finite and 0 or more", Short(*.value))]
    Value { link: String, value: f64 },
}

impl Metric {
    /// The integer cost of each link.
    pub(super) fn costs(&self, network: &Network) -> Result<Costs, MetricError> {
        let links = network.links();
        let hop_bits = usize::BITS - links.len().leading_zeros();
        let most_units = 2f64.powi(61 - hop_bits.cast_signed());
        let units: Vec<u64> = match self {
            Self::Hops => vec![1; links.len()],
            Self::Delay => {
                let delays: Vec<f64> = links.iter().map(|l| l.delay.0 as f64).collect();
                let places = finest_place(&delays, most_units).min(0);
                delays.iter().map(|&d| rounded(d, places)).collect()
            }
            Self::Given(values) => {
                check(network, values)?;
                let places = finest_place(values, most_units);
                values.iter().map(|&v| rounded(v, places)).collect()
            }
        };
        Ok(Costs { by_link: units.iter().map(|u| (u << hop_bits) + 1).collect(), hop_bits })
    }
}

/// The integer cost of each link, by id.
#[derive(Debug)]
pub(super) struct Costs {
    pub by_link: Vec<u64>,
    hop_bits: u32,
}

impl Costs {
    /// The costs of the metric alone, without the count of links; they may be zero.
    pub fn metric_alone(&self) -> Vec<u64> {
        self.by_link.iter().map(|cost| cost >> self.hop_bits).collect()
    }
}

fn check(network: &Network, values: &[f64]) -> Result<(), MetricError> {
    let links = network.links();
    if values.len() != links.len() {
        return Err(MetricError::Length { given: values.len(), links: links.len() });
    }
    match values.iter().position(|v| !(v.is_finite() && *v >= 0.0)) {
        Some(bad) => Err(MetricError::Value { link: links[bad].name.clone(), value: values[bad] }),
        None => Ok(()),
    }
}

/// The greatest number of decimal places at which the sum of `values` is at most `most_units` of the last place.
fn finest_place(values: &[f64], most_units: f64) -> i32 {
    let greatest = values.iter().copied().fold(0.0, f64::max);
    if greatest == 0.0 {
        return 0;
    }
    // Relative to the greatest, because the plain sum may be infinite.
    let sum: f64 = values.iter().map(|v| v / greatest).sum();
    let places = (most_units.log10() - sum.log10() - greatest.log10()).floor();
    // Beyond 300 places a power of ten is infinite.
    places.min(300.0) as i32
}

/// The number of units of decimal place `places` in `value`, rounded; `places` may be negative.
fn rounded(value: f64, places: i32) -> u64 {
    // Powers of ten are exact up to 22, their reciprocals never: so divide for the places before the point.
    let scaled = if places >= 0 { value * 10f64.powi(places) } else { value / 10f64.powi(-places) };
    scaled.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NetworkBuilder;
    use crate::units::{Rate, Span};

    /// One link for each delay, all from `a` to `b`.
    fn parallel(delays_ps: &[u64]) -> Network {
        let mut builder = NetworkBuilder::new();
        let [a, b] = ["a", "b"].map(|n| builder.node(n, None).unwrap());
        for &delay in delays_ps {
            builder.link(None, a, b, Rate(1e9), Span(delay)).unwrap();
        }
        builder.build()
    }

    fn given(values: &[f64]) -> Vec<u64> {
        let network = parallel(&vec![0; values.len()]);
        Metric::Given(values.to_vec()).costs(&network).unwrap().metric_alone()
    }

    #[test]
    fn fewer_links_win_only_at_equal_metric() {
        let cost = Metric::Given(vec![2.0, 1.0, 1.0, 0.0]).costs(&parallel(&[0; 4])).unwrap().by_link;
        assert!(cost[0] < cost[1] + cost[2]);
        assert!(cost[1] + cost[3] < cost[0]);
        assert!(cost[3] > 0);
    }

    #[test]
    fn decimals_add_up_as_they_are_written() {
        let units = given(&[0.1, 0.2, 0.3, 1e-9]);
        assert_eq!(units[0] + units[1], units[2]);
        assert_eq!(units[0], units[3] * 100_000_000);
    }

    #[test]
    fn the_resolution_follows_the_sum_over_all_links() {
        // Two links need 2 bits, which leaves 2^59 = 5.76e17 units; a sum of 1e9 + 1e-9 takes 1e17 of them at 8 places.
        assert_eq!(given(&[1e9, 1e-8]), [100_000_000_000_000_000, 1]);
        assert_eq!(given(&[1e9, 1e-9]), [100_000_000_000_000_000, 0]);
    }

    #[test]
    fn delays_are_exact_in_picoseconds() {
        let costs = Metric::Delay.costs(&parallel(&[5_000_000_001, 0])).unwrap();
        assert_eq!(costs.metric_alone(), [5_000_000_001, 0]);
    }

    #[test]
    fn no_sum_overflows() {
        for values in [[f64::MAX; 3], [f64::MIN_POSITIVE; 3], [f64::MAX, 1.0, 0.0], [1.0; 3], [0.0; 3]] {
            let costs = Metric::Given(values.to_vec()).costs(&parallel(&[0; 3])).unwrap().by_link;
            let sum = costs.iter().try_fold(0u64, |sum, &c| sum.checked_add(c)).unwrap();
            assert!(sum < 1 << 62, "{values:?}");
        }
        let costs = Metric::Delay.costs(&parallel(&[u64::MAX; 3])).unwrap().by_link;
        assert!(costs.iter().try_fold(0u64, |sum, &c| sum.checked_add(c)).unwrap() < 1 << 62);
    }

    #[test]
    fn bad_metrics_are_refused_with_their_link() {
        let network = parallel(&[0, 0]);
        let said = |values: &[f64]| Metric::Given(values.to_vec()).costs(&network).unwrap_err().to_string();
        assert_eq!(said(&[1.0, -1.0]), "link `a-b#2`: metric is -1; it must be finite and 0 or more");
        assert!(said(&[f64::NAN, 1.0]).contains("`a-b`: metric is NaN"));
        assert!(said(&[1.0]).contains("1 values are given for 2 links"));
    }
}
