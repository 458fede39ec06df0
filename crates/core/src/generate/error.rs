//! The errors of generators, and the checks of their parameters.

use std::fmt::Display;

use thiserror::Error;

use super::link::{DelayRule, LinkKind, LinkRule};
use crate::units::{Rate, Short};

/// Upper limit on the number of nodes, links or connections, above those of the largest networks in use.
///
/// Such a network has 11,000 routers and 200 hosts on each stub router: 2 million nodes, and 4 million one-way links.
pub(super) const MOST: usize = 5_000_000;

/// The reason why no network or demands can be made from given parameters.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum GenerateError {
    #[error("{generator}: {parameter} is {value}; {remedy}")]
    Parameter { generator: &'static str, parameter: &'static str, value: String, remedy: String },
    #[error("{generator}: {graph} did not come out connected in {tries} tries; {remedy}")]
    NeverConnected { generator: &'static str, graph: &'static str, tries: u32, remedy: &'static str },
    #[error("{generator}: it would make {count} {what}; there may be {MOST}, so ask for fewer")]
    TooLarge { generator: &'static str, count: usize, what: &'static str },
}

/// The checks of one generator, identified by its name.
#[derive(Clone, Copy)]
pub(super) struct Checks(pub(super) &'static str);

impl Checks {
    /// Returns an error that names `parameter` and its value, unless `good`.
    pub(super) fn require(
        self,
        good: bool,
        parameter: &'static str,
        value: impl Display,
        remedy: &str,
    ) -> Result<(), GenerateError> {
        if good {
            return Ok(());
        }
        let (value, remedy) = (value.to_string(), remedy.to_owned());
        Err(GenerateError::Parameter { generator: self.0, parameter, value, remedy })
    }

    pub(super) fn at_least(self, least: usize, parameter: &'static str, value: usize) -> Result<(), GenerateError> {
        self.require(value >= least, parameter, value, &format!("it must be {least} or more"))
    }

    pub(super) fn positive(self, parameter: &'static str, value: f64) -> Result<(), GenerateError> {
        self.require(value > 0.0 && value.is_finite(), parameter, Short(value), "it must be positive and finite")
    }

    /// Checks that a demand is positive and in range.
    pub(super) fn demand(self, parameter: &'static str, rate: Rate) -> Result<(), GenerateError> {
        let good = rate.is_amount() && rate.0 > 0.0;
        self.require(good, parameter, Short(rate.0), "it must be positive and at most 1e100")
    }

    /// Checks a probability, which must not be zero, since nothing would be drawn.
    pub(super) fn probability(self, parameter: &'static str, value: f64) -> Result<(), GenerateError> {
        self.require(value > 0.0 && value <= 1.0, parameter, Short(value), "it must be over 0 and at most 1")
    }

    /// Checks that a number is not too great; overflowed counts are passed as `usize::MAX`.
    pub(super) fn number(self, count: usize, what: &'static str) -> Result<(), GenerateError> {
        if count <= MOST { Ok(()) } else { Err(GenerateError::TooLarge { generator: self.0, count, what }) }
    }

    /// Checks that the numbers of nodes, and of links (two for each two-way link), are not too great.
    pub(super) fn size(self, nodes: usize, two_way_links: usize) -> Result<(), GenerateError> {
        self.number(nodes, "nodes")?;
        self.number(two_way_links.saturating_mul(2), "links")
    }

    pub(super) fn link_kind(self, parameter: &'static str, kind: LinkKind) -> Result<(), GenerateError> {
        self.capacity(parameter, kind.capacity)
    }

    pub(super) fn link_rule(self, parameter: &'static str, rule: &LinkRule) -> Result<(), GenerateError> {
        self.capacity(parameter, rule.capacity)?;
        let DelayRule::Uniform { least, most } = rule.delay else { return Ok(()) };
        let range = format!("a range of delays from {least} to {most}");
        self.require(least <= most, parameter, range, "its end must not be before its beginning")
    }

    fn capacity(self, parameter: &'static str, rate: Rate) -> Result<(), GenerateError> {
        let value = format!("of capacity {} bit/s", Short(rate.0));
        self.require(rate.is_capacity(), parameter, value, "capacity must be 0 to 1e100, or infinite")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn said(outcome: Result<(), GenerateError>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn each_refusal_says_what_is_wrong_and_what_would_do() {
        let checks = Checks("ring");
        assert_eq!(said(checks.at_least(3, "nodes", 2)), "ring: nodes is 2; it must be 3 or more");
        assert_eq!(
            said(checks.link_kind("link", LinkKind { capacity: Rate(-1.0), delay: Span(0) })),
            "ring: link is of capacity -1 bit/s; capacity must be 0 to 1e100, or infinite"
        );
        assert!(checks.link_kind("link", LinkKind { capacity: Rate(f64::INFINITY), delay: Span(0) }).is_ok());
        assert!(said(checks.link_kind("link", LinkKind { capacity: Rate(1e200), delay: Span(0) })).contains("1e200"));
        assert!(said(checks.demand("demand in bit/s", Rate(1e200))).contains("1e200; it must be positive"));
        let rule =
            LinkRule { capacity: Rate(1.0), delay: DelayRule::Uniform { least: Span(2_000), most: Span(1_000) } };
        assert_eq!(
            said(checks.link_rule("link", &rule)),
            "ring: link is a range of delays from 2 ns to 1 ns; its end must not be before its beginning"
        );
        assert_eq!(
            said(checks.size(1, MOST)),
            "ring: it would make 10000000 links; there may be 5000000, so ask for fewer"
        );
        assert!(checks.size(MOST, MOST / 2).is_ok());
        assert!(said(checks.size(MOST + 1, 1)).contains("5000001 nodes"));
        assert!(checks.probability("alpha", f64::NAN).is_err());
    }
}
