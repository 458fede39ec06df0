//! Link identities: the few bits that stand for a link in the filters of packets [jokela2009].
//!
//! Each directed link has one identity in each of d tables. A filter consists of identities from one table, and the
//! packet names the table. Several tables allow a choice: a link that matches a filter by chance with one table may not
//! match with another.

use std::collections::HashSet;

use anabranch_core::LinkId;
use anabranch_core::random::{Purpose, stream};
use rand::{Rng, RngExt};
use thiserror::Error;

use crate::bits::{Bits, MOST_BITS};

/// Least number of bits of an identity.
const FEWEST_BITS: u32 = 8;

/// Greatest number of tables, since their number is a byte of the packet.
const MOST_TABLES: u32 = 255;

/// The number of ones in an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ones {
    /// One number of ones for all identities; their positions are drawn at random [jokela2009].
    Each(u32),
    /// The number floor(i / m) + 1 for link i, with distinct identities in a table. This is the rule of Blackadder's
    /// deployment tool [parisis2013], where m is 256. Each of the first m links has a single bit to itself, so that no
    /// filter over these links matches another of them.
    Growing,
}

/// The sizes of identities, and the seed of their random bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdentityParameters {
    /// Bits of identities and filters, m; 8 to 256.
    pub bits: u32,
    /// Number of ones in an identity, k.
    pub ones: Ones,
    /// Number of tables, d; 1 to 255.
    pub tables: u32,
    /// The greatest part of ones in a filter that is forwarded; over 0 and at most 1.
    pub most_fill: f64,
    /// Seed of the identities.
    pub seed: u64,
}

impl Default for IdentityParameters {
    /// Default parameters: 256 bits, 5 of them one, 8 tables, and filters up to a fill of 0.7.
    ///
    /// differs: the paper has 248 bits, and 8 more for the number of the table; here that number is beside the 256
    /// bits.
    fn default() -> Self {
        Self { bits: MOST_BITS, ones: Ones::Each(5), tables: 8, most_fill: 0.7, seed: 1 }
    }
}

/// The reason why parameters of identities are invalid.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum IdentityError {
    #[error("link identities: they have {0} bits; it must be {FEWEST_BITS} to {MOST_BITS}")]
    Bits(u32),
    #[error("link identities: {ones} of their bits are one; it must be 1 to {bits}, the number of bits")]
    Ones { ones: u32, bits: u32 },
    #[error("link identities: there are {0} tables; it must be 1 to {MOST_TABLES}")]
    Tables(u32),
    #[error("link identities: filters are forwarded up to a fill of {0}; it must be over 0 and at most 1")]
    MostFill(f64),
    #[error(
        "link identities: growing ones of {bits} bits serve up to {most} links, and the network has {links}; take the same number of ones in each"
    )]
    Links { bits: u32, most: usize, links: usize },
}

/// The identities of all links, in every table; 32 bytes each.
#[derive(Clone, Debug)]
pub struct Identities {
    parameters: IdentityParameters,
    links: usize,
    /// The identity of link l in table t: `masks[t * links + l]`.
    masks: Vec<Bits>,
}

impl Identities {
    /// Draws identities for a network with this number of links.
    ///
    /// # Errors
    /// Returns an error for parameters out of their ranges, or more links than growing identities can distinguish.
    pub fn new(links: usize, parameters: IdentityParameters) -> Result<Self, IdentityError> {
        check(links, &parameters)?;
        let IdentityParameters { bits, ones, tables, seed, .. } = parameters;
        let mut masks = Vec::with_capacity(links * tables as usize);
        for table in 0..tables {
            let mut rng = stream(seed, Purpose::LinkIdentities, table);
            match ones {
                Ones::Each(ones) => masks.extend((0..links).map(|_| draw(bits, ones, &mut rng))),
                Ones::Growing => masks.extend(growing(links, bits, &mut rng)),
            }
        }
        Ok(Self { parameters, links, masks })
    }

    /// The parameters of the identities.
    pub fn parameters(&self) -> &IdentityParameters {
        &self.parameters
    }

    /// Number of links that have an identity.
    pub fn links(&self) -> usize {
        self.links
    }

    /// The identity of `link` in `table`.
    ///
    /// # Panics
    /// If there is no such table or link.
    pub fn of(&self, table: u8, link: LinkId) -> &Bits {
        &self.masks[usize::from(table) * self.links..][..self.links][link.index()]
    }

    /// Number of ones in a link's identity, which is the same in every table.
    pub fn ones(&self, link: LinkId) -> u32 {
        match self.parameters.ones {
            Ones::Each(ones) => ones,
            Ones::Growing => link.0 / self.parameters.bits + 1,
        }
    }
}

fn check(links: usize, parameters: &IdentityParameters) -> Result<(), IdentityError> {
    let IdentityParameters { bits, ones, tables, most_fill, .. } = *parameters;
    if !(FEWEST_BITS..=MOST_BITS).contains(&bits) {
        return Err(IdentityError::Bits(bits));
    }
    if !(1..=MOST_TABLES).contains(&tables) {
        return Err(IdentityError::Tables(tables));
    }
    if !(most_fill > 0.0 && most_fill <= 1.0) {
        return Err(IdentityError::MostFill(most_fill));
    }
    // For k under m, there are at least m sets of k out of m bits.
    let most = (bits * (bits - 1)) as usize;
    match ones {
        Ones::Each(ones) if !(1..=bits).contains(&ones) => Err(IdentityError::Ones { ones, bits }),
        Ones::Growing if links > most => Err(IdentityError::Links { bits, most, links }),
        _ => Ok(()),
    }
}

/// A random identity of `bits` bits, of which `ones` are one.
fn draw(bits: u32, ones: u32, rng: &mut impl Rng) -> Bits {
    let mut drawn = Bits::default();
    while drawn.count() < ones {
        drawn.set(rng.random_range(0..bits));
    }
    drawn
}

/// Distinct identities with more ones for later links.
fn growing(links: usize, bits: u32, rng: &mut impl Rng) -> Vec<Bits> {
    let mut taken = HashSet::new();
    let one = |link: usize| {
        let ones = link as u32 / bits + 1;
        loop {
            let drawn = draw(bits, ones, rng);
            if taken.insert(drawn) {
                return drawn;
            }
        }
    };
    (0..links).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(links: usize, parameters: IdentityParameters) -> Identities {
        Identities::new(links, parameters).unwrap()
    }

    #[test]
    fn identities_have_their_ones_and_repeat() {
        let own = IdentityParameters::default();
        let (one, again) = (drawn(300, own), drawn(300, own));
        let other = drawn(300, IdentityParameters { seed: 2, ..own });
        let links = || (0..300).map(LinkId::new);
        assert!((0..8).all(|table| links().all(|l| one.of(table, l).count() == 5)));
        assert!((0..8).all(|table| links().all(|l| one.of(table, l) == again.of(table, l))));
        assert!(links().all(|l| one.of(0, l) != other.of(0, l) && one.of(0, l) != one.of(1, l)));
    }

    #[test]
    fn a_longer_network_keeps_the_identities_of_its_first_links() {
        let (short, long) = (drawn(10, IdentityParameters::default()), drawn(20, IdentityParameters::default()));
        assert!((0..10).map(LinkId::new).all(|l| short.of(7, l) == long.of(7, l)));
    }

    #[test]
    fn growing_identities_are_all_different_and_the_first_have_a_bit_each() {
        // 16 bits serve 16 * 15 = 240 links: 16 with one bit, 16 with two, ..., 16 with fifteen.
        let own = IdentityParameters { bits: 16, ones: Ones::Growing, tables: 1, ..IdentityParameters::default() };
        let all = drawn(240, own);
        let mut first = Bits::default();
        (0..16).for_each(|l| first.add(all.of(0, LinkId(l))));
        assert_eq!(first.count(), 16);
        assert_eq!((0..240).map(|l| *all.of(0, LinkId(l))).collect::<HashSet<_>>().len(), 240);
        assert!((0..240).map(LinkId).all(|l| all.of(0, l).count() == l.0 / 16 + 1 && all.ones(l) == l.0 / 16 + 1));
        let said = Identities::new(241, own).unwrap_err().to_string();
        assert!(said.contains("serve up to 240 links, and the network has 241"), "{said}");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let own = IdentityParameters::default();
        let refused = |parameters| Identities::new(1, parameters).unwrap_err().to_string();
        assert!(refused(IdentityParameters { bits: 257, ..own }).contains("257 bits; it must be 8 to 256"));
        assert!(refused(IdentityParameters { bits: 0, ..own }).contains("0 bits"));
        assert!(refused(IdentityParameters { ones: Ones::Each(0), ..own }).contains("it must be 1 to 256"));
        assert!(refused(IdentityParameters { bits: 8, ones: Ones::Each(9), ..own }).contains("it must be 1 to 8"));
        assert!(refused(IdentityParameters { tables: 0, ..own }).contains("0 tables; it must be 1 to 255"));
        assert!(refused(IdentityParameters { tables: 256, ..own }).contains("256 tables"));
        assert!(refused(IdentityParameters { most_fill: f64::NAN, ..own }).contains("NaN"));
        assert!(Identities::new(0, own).is_ok());
    }
}
