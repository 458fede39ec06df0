//! Filters in packets: the union of the identities of all links of a path [jokela2009].
//!
//! A packet carries a filter F in place of an address. A node forwards it over each link whose identity I is contained
//! in the filter: F and I = I. So nodes keep no state about paths. The disadvantage is false positives: a link that is
//! not on the path may match by chance.
//!
//! ```text
//! rho(n) = 1 - (1 - 1/m)^(k n)       f(n) = rho(n)^k
//! ```
//!
//! The symbols are `m`, the bits of a filter; `k`, the ones of an identity; `n`, the links of the path; `rho`, the
//! expected fill, which is the part of bits that are one; and `f`, the probability that a link beside the path matches.
//!
//! The formula assumes that the ones are drawn independently. They are k different bits, so that the true rate is
//!
//! ```text
//! sum over j = 0..k of (-1)^j C(k, j) (C(m - j, k) / C(m, k))^n
//! ```
//!
//! which is less where few bits are set: with m = 256 and k = 5 by 37 % at 4 links, by 17 % at 8, by 6 % at 16, and
//! negligibly from 24 on.

use anabranch_core::{LinkId, Network};
use thiserror::Error;

use crate::bits::Bits;
use crate::identities::{Identities, Ones};

/// Greatest number of links that a copy of a packet takes.
pub const MOST_HOPS: usize = 255;

/// The filter of a packet: its bits, and the table of identities that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The number of the table.
    pub table: u8,
    /// The union of the identities of the links of the path.
    pub bits: Bits,
}

/// The reason why no node forwards a filter.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum Refusal {
    #[error(
        "a filter with a fill of {fill:.2} would match too much; it may be at most {most}: take a shorter path, or fewer ones"
    )]
    TooFull { fill: f64, most: f64 },
    #[error("a filter of nothing but ones would match every link; take a shorter path, or fewer ones")]
    AllOnes,
    #[error("a packet may take {MOST_HOPS} links, and the path has {0}; take a shorter path")]
    TooLong(usize),
}

impl Filter {
    /// The filter over `links` with the identities of `table`.
    ///
    /// # Panics
    /// If there is no such table or link.
    pub fn new(identities: &Identities, table: u8, links: &[LinkId]) -> Self {
        let mut bits = Bits::default();
        for &link in links {
            bits.add(identities.of(table, link));
        }
        Self { table, bits }
    }

    /// Whether a node forwards a packet with this filter over `link`.
    ///
    /// # Panics
    /// If `identities` lack the table, or the network lacks the link.
    pub fn matches(&self, identities: &Identities, link: LinkId) -> bool {
        self.bits.contains(identities.of(self.table, link))
    }

    /// The part of the filter's bits that are one.
    pub fn fill(&self, identities: &Identities) -> f64 {
        f64::from(self.bits.count()) / f64::from(identities.parameters().bits)
    }

    /// Checks whether nodes forward packets with this filter.
    ///
    /// # Errors
    /// Returns an error if the filter is fuller than nodes allow, or all ones, which would reach every node.
    pub fn check(&self, identities: &Identities) -> Result<(), Refusal> {
        let parameters = identities.parameters();
        if self.bits.count() >= parameters.bits {
            return Err(Refusal::AllOnes);
        }
        let (fill, most) = (self.fill(identities), parameters.most_fill);
        if fill > most { Err(Refusal::TooFull { fill, most }) } else { Ok(()) }
    }
}

/// The links that a packet on `path` meets and should not take: those that leave its nodes, including the last one.
///
/// Links that lead back the way the packet came are excluded.
///
/// # Panics
/// If the path has a link that is not in the network.
pub fn adjacent(network: &Network, path: &[LinkId]) -> Vec<LinkId> {
    let Some(&first) = path.first() else { return Vec::new() };
    let mut beside = Vec::new();
    let mut at = network.link(first).source;
    let mut back = None;
    for i in 0..=path.len() {
        let next = path.get(i).copied();
        beside.extend(network.links_from(at).iter().filter(|&&l| Some(l) != next && Some(l) != back));
        if let Some(link) = next.map(|next| network.link(next)) {
            (at, back) = (link.target, link.twin);
        }
    }
    beside
}

/// The expected part of ones in a filter of `bits` bits into which `ones` were put.
pub fn expected_fill(bits: u32, ones: u64) -> f64 {
    // Computed with logarithms, because 1 - 1/m to a small power is close to 1.
    -(ones as f64 * (-1.0 / f64::from(bits)).ln_1p()).exp_m1()
}

/// The probability that a link matches a filter over `links` other ones, with m bits, and k ones in each identity.
pub fn false_positive_rate(bits: u32, ones: u32, links: u64) -> f64 {
    expected_fill(bits, u64::from(ones).saturating_mul(links)).powf(f64::from(ones))
}

/// The mean number of adjacent links that match a filter for `path` by chance, with a table chosen at random.
///
/// # Panics
/// If the path has a link that is not in the network, or the identities are those of another network.
pub fn expected_strays(network: &Network, identities: &Identities, path: &[LinkId]) -> f64 {
    let bits = identities.parameters().bits;
    let fill = expected_fill(bits, path.iter().map(|&link| u64::from(identities.ones(link))).sum());
    // A single bit that belongs to one link only is in no filter by chance.
    let own = |link: LinkId| identities.parameters().ones == Ones::Growing && link.0 < bits;
    let rate = |link: LinkId| {
        if own(link) { own_bit_rate(identities, path) } else { fill.powf(f64::from(identities.ones(link))) }
    };
    adjacent(network, path).into_iter().map(rate).sum()
}

/// The probability that identities of several bits set a given bit; identities of one bit never set the bit of another
/// link.
fn own_bit_rate(identities: &Identities, path: &[LinkId]) -> f64 {
    let several = path.iter().map(|&link| u64::from(identities.ones(link))).filter(|&ones| ones > 1);
    expected_fill(identities.parameters().bits, several.sum())
}
