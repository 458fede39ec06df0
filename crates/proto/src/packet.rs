//! The contents of control packets.

use serde::{Deserialize, Serialize};

pub use crate::protocols::Header;

const _: () = assert!(std::mem::size_of::<Header>() <= 96, "a header must fit into 96 bytes");

impl Header {
    /// The number of links in the set of bottlenecks that the packet carries; `None` if it carries no such set.
    pub fn bottlenecks(&self) -> Option<u32> {
        match self {
            Self::DSlen(probe) => Some(probe.bottlenecks.len()),
            Self::Slbn(probe) => Some(probe.bottlenecks.len()),
            _ => None,
        }
    }
}

/// A set of positions in a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions(u128);

impl Positions {
    /// Whether `position` is in the set.
    pub fn contains(self, position: u8) -> bool {
        self.0 >> position & 1 == 1
    }

    /// Adds `position`.
    pub fn insert(&mut self, position: u8) {
        self.0 |= 1 << position;
    }

    /// Takes `position` out.
    pub fn remove(&mut self, position: u8) {
        self.0 &= !(1 << position);
    }

    /// Whether all positions are less than `end`.
    pub fn are_before(self, end: u8) -> bool {
        u32::from(end) >= u128::BITS || self.0 >> end == 0
    }

    /// The positions up to `last`.
    #[must_use]
    pub fn up_to(self, last: u8) -> Self {
        Self(self.0 & (u128::MAX >> (127 - last.min(127))))
    }

    /// Number of positions in the set.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_positions_keeps_what_is_put_in() {
        let mut set = Positions::default();
        for position in [0, 5, 127] {
            set.insert(position);
        }
        set.remove(5);
        assert_eq!([0, 5, 127].map(|p| set.contains(p)), [true, false, true]);
        assert_eq!((set.len(), set.is_empty()), (2, false));
        assert_eq!([0, 126, 127, 255].map(|last| set.up_to(last).len()), [1, 1, 2, 2]);
        assert_eq!([127, 128, 255].map(|end| set.are_before(end)), [false, true, true]);
    }
}
