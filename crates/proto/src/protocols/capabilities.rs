//! What protocols can serve.

use super::expect::Expect;
use crate::packet::Header;

/// The least and the greatest claim that protocols weigh.
const WEIGHTED: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// How far a product of weight and qos may be from 1 and still count as 1.
const ROUNDING: f64 = 1e-9;

/// What a protocol can serve, and how it serves it.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// What it makes of claims.
    pub claims: Claims,
    /// Whether a connection may have several paths.
    pub many_paths: bool,
    /// How its links learn of demands.
    pub demands: Demands,
    /// Whether its links are told when their capacity changes; others see it with the next packet, or when they wake.
    pub hears_capacities: bool,
    /// Whether a control packet that is held back is needless once there is a newer one.
    pub supersedes: bool,
    /// What tells sources how much to send.
    pub sources: Sources,
    /// What a sink does to a control packet that wants a reply; false if it sends none after all.
    pub turn: fn(&mut Header) -> bool,
    /// What tests that hold for all protocols may expect of one that grants rates.
    pub expect: Expect,
}

impl Capabilities {
    /// Connections of one path each, which share equally.
    pub const SINGLE_PATH: Self = Self {
        claims: Claims::Equal,
        many_paths: false,
        demands: Demands::AsLinks,
        hears_capacities: false,
        supersedes: false,
        sources: Sources::Rates,
        turn: send_back,
        expect: Expect::USUAL,
    };

    /// Connections over the transport, whose sources keep windows and share equally.
    pub const WINDOWS: Self =
        Self { many_paths: true, demands: Demands::AtSource, sources: Sources::Windows, ..Self::SINGLE_PATH };

    /// Whether sources keep windows, over the transport.
    pub fn keeps_windows(&self) -> bool {
        !matches!(self.sources, Sources::Rates | Sources::Headers)
    }

    /// Whether data packets carry headers for links.
    pub fn has_headers(&self) -> bool {
        self.sources == Sources::Headers
    }

    /// Whether its sources are told which of their paths share links.
    pub fn hears_groups(&self) -> bool {
        self.sources == Sources::GroupedWindows
    }

    /// Whether its packets are ECT(1), those of scalable window controls.
    pub fn is_scalable(&self) -> bool {
        self.sources == Sources::ScalableWindows
    }

    /// Why a connection of this claim and so many paths cannot be served, if so; `title` is the protocol's.
    pub(super) fn check(&self, title: &str, claim: f64, paths: usize) -> Result<(), String> {
        if paths > 1 && !self.many_paths {
            return Err(format!("it has {paths} paths; {title} serves one path, so it must have one (paths = 1)"));
        }
        self.claims.check(title, claim)
    }
}

/// Replies with the same packet.
fn send_back(_: &mut Header) -> bool {
    true
}

/// What tells sources how much to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// The rates that they are granted.
    Rates,
    /// Windows that links change in the headers of data packets, without the transport.
    Headers,
    /// Their windows, over the transport.
    Windows,
    /// The same, and they are told which of their paths share links.
    GroupedWindows,
    /// Their windows, and links may mark their packets early and often, since they count the marks [rfc9331].
    ScalableWindows,
}

/// How the controls of links learn of a connection's demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demands {
    /// Its path begins with a link of its own of that capacity.
    AsLinks,
    /// The source looks after it.
    AtSource,
}

/// What a protocol makes of claims, that is of weight times qos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claims {
    /// Rates follow claims, which must be 0.001 to 1000.
    Weighted {
        /// Why no others; it follows the name of the protocol: "divides a price by it".
        reason: &'static str,
    },
    /// All connections share equally, so every claim must be 1.
    Equal,
}

impl Claims {
    /// Why `claim` cannot be, if so; `title` is the protocol's.
    pub(super) fn check(self, title: &str, claim: f64) -> Result<(), String> {
        let (is_good, reason) = match self {
            Self::Weighted { reason } => (WEIGHTED.contains(&claim), format!("{reason}, so it must be 0.001 to 1000")),
            Self::Equal => ((claim - 1.0).abs() <= ROUNDING, "shares equally, so it must be 1".to_owned()),
        };
        if is_good { Ok(()) } else { Err(format!("weight times qos is {claim}; {title} {reason}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_serves_one_path_refuses_two() {
        let said = "it has 2 paths; P serves one path, so it must have one (paths = 1)";
        assert_eq!(Capabilities::SINGLE_PATH.check("P", 1.0, 2), Err(said.to_owned()));
        assert_eq!(Capabilities { many_paths: true, ..Capabilities::SINGLE_PATH }.check("P", 1.0, 2), Ok(()));
    }

    #[test]
    fn claims_are_weighed_from_a_thousandth_to_a_thousand() {
        let claims = Claims::Weighted { reason: "divides by it" };
        assert!([0.001, 1.0, 1000.0].iter().all(|&claim| claims.check("P", claim).is_ok()));
        let said = "weight times qos is 0.0009; P divides by it, so it must be 0.001 to 1000";
        assert_eq!(claims.check("P", 0.0009), Err(said.to_owned()));
        assert!(claims.check("P", 1001.0).is_err() && claims.check("P", f64::NAN).is_err());
    }

    #[test]
    fn a_protocol_that_shares_equally_takes_claims_of_one() {
        assert!(
            [1.0, 0.1 + 0.2 + 0.7, 49.0 * (1.0 / 49.0)].iter().all(|&claim| Claims::Equal.check("P", claim).is_ok())
        );
        let said = "weight times qos is 2; P shares equally, so it must be 1";
        assert_eq!(Claims::Equal.check("P", 2.0), Err(said.to_owned()));
        assert!(Claims::Equal.check("P", 0.999).is_err() && Claims::Equal.check("P", f64::NAN).is_err());
    }
}
