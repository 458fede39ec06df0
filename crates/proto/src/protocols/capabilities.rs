//! What protocols can serve.

use super::expect::Expect;
use crate::packet::Header;

/// Least and greatest claim that protocols support.
const WEIGHTED: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// Distance of weight times qos from 1 that still counts as 1.
const ROUNDING: f64 = 1e-9;

/// What a protocol can serve, and how it serves it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what a protocol can do goes in any combination")]
pub struct Capabilities {
    /// How the protocol treats claims.
    pub claims: Claims,
    /// How the protocol uses several paths of a connection.
    pub paths: Paths,
    /// How the links of the protocol learn demands.
    pub demands: Demands,
    /// Whether links receive a call when their capacity changes; other links see the change with the next packet, or
    /// when they wake.
    pub hears_capacities: bool,
    /// Whether links see packets when these leave the queue, besides when they arrive there.
    pub stamps_departures: bool,
    /// Whether links see data packets without headers, too.
    pub sees_data: bool,
    /// Whether control packets are part of the granted rate wherever they travel in band. The protocol decides how many
    /// there are, and `run.control_share` holds none back.
    pub in_rate: bool,
    /// Whether a newer control packet makes an older one that is held back unnecessary.
    pub supersedes: bool,
    /// What determines how much sources send.
    pub sources: Sources,
    /// What a sink does to a control packet that wants a reply; false if it sends no reply after all.
    pub turn: fn(&mut Header) -> bool,
    /// Expectations for tests of all protocols that grant rates.
    pub expect: Expect,
}

impl Capabilities {
    /// Connections of one path each, which share equally.
    pub const SINGLE_PATH: Self = Self {
        claims: Claims::Equal,
        paths: Paths::One,
        demands: Demands::AsLinks,
        hears_capacities: false,
        stamps_departures: false,
        sees_data: false,
        in_rate: false,
        supersedes: false,
        sources: Sources::Rates,
        turn: send_back,
        expect: Expect::USUAL,
    };

    /// Connections over the transport, whose sources keep windows and share equally.
    pub const WINDOWS: Self =
        Self { paths: Paths::Together, demands: Demands::AtSource, sources: Sources::Windows, ..Self::SINGLE_PATH };

    /// Whether a connection may have several paths.
    pub fn serves_many_paths(&self) -> bool {
        self.paths != Paths::One
    }

    /// Whether one control decides on all paths of a connection, so that it must know the state of all.
    pub fn is_joint(&self) -> bool {
        self.paths == Paths::Together
    }

    /// Whether sources keep windows and use the transport.
    pub fn keeps_windows(&self) -> bool {
        !matches!(self.sources, Sources::Rates | Sources::HeadedRates | Sources::Headers)
    }

    /// Whether data packets carry headers for links.
    pub fn has_headers(&self) -> bool {
        matches!(self.sources, Sources::HeadedRates | Sources::Headers)
    }

    /// Whether sources learn which of their paths share links.
    pub fn hears_groups(&self) -> bool {
        self.sources == Sources::GroupedWindows
    }

    /// Whether packets are ECT(1), as packets of scalable window controls are.
    pub fn is_scalable(&self) -> bool {
        self.sources == Sources::ScalableWindows
    }

    /// Checks whether a connection with this claim and number of paths can be served; the error says why not. `title`
    /// is the protocol's.
    pub(super) fn check(&self, title: &str, claim: f64, paths: usize) -> Result<(), String> {
        if paths > 1 && !self.serves_many_paths() {
            return Err(format!("it has {paths} paths; {title} serves one path, so it must have one (paths = 1)"));
        }
        self.claims.check(title, claim)
    }
}

/// Replies with the same packet.
fn send_back(_: &mut Header) -> bool {
    true
}

/// How a protocol uses several paths of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// A connection has one path.
    One,
    /// Each path has a control of its own, which knows nothing of the others; Linux MPTCP does this with any control
    /// of one path. A connection has one path unless more are asked for.
    Each,
    /// One control decides on all paths.
    Together,
}

/// What determines how much sources send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Rates that links grant.
    Rates,
    /// Rates that links grant in the headers of data packets.
    HeadedRates,
    /// Windows that links change in the headers of data packets, without the transport.
    Headers,
    /// Windows that sources keep, over the transport.
    Windows,
    /// Windows that sources keep, over the transport, with knowledge of which paths share links.
    GroupedWindows,
    /// Windows that sources keep, over the transport, with early and frequent marks, which sources count [rfc9331].
    ScalableWindows,
}

/// How the links of a protocol learn the demand of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demands {
    /// A link of this capacity stands for the demand at the beginning of the path.
    AsLinks,
    /// The source enforces the demand.
    AtSource,
}

/// How a protocol treats claims, which are weight times qos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claims {
    /// Rates follow claims, which must be 0.001 to 1000.
    Weighted {
        /// Reason for these limits, to follow the name of the protocol: "divides a price by it".
        reason: &'static str,
    },
    /// All connections share equally, so every claim must be 1.
    Equal,
}

impl Claims {
    /// Checks whether `claim` is supported; the error says why not. `title` is the protocol's.
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
        assert_eq!(Capabilities { paths: Paths::Together, ..Capabilities::SINGLE_PATH }.check("P", 1.0, 2), Ok(()));
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
