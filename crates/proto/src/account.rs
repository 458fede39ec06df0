//! What a link has counted, as sums that can be divided among those who brought it.

use std::ops::{Add, Sub};

/// The sums of a link under a protocol that keeps nothing else.
///
/// Each visitor adds to the sums and takes away what it added, so the sums of a part of the visitors are sound at any
/// time, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Rates of the visitors that other links limit, in the unit of the protocol.
    pub rate: i128,
    /// Claims of the visitors that this link limits, in steps of 2^-60.
    pub here: i128,
    /// Claims of all visitors, in steps of 2^-60.
    pub all: i128,
    /// Reserved parts of the visitors that this link limits, in steps of 2^-60 bit/s.
    pub reserved_here: i128,
    /// Reserved parts of all visitors, in steps of 2^-60 bit/s.
    pub reserved: i128,
}

/// Number of steps of a claim of 1.
pub const CLAIM: i128 = 1 << 60;

impl Account {
    /// Whether there can be visitors with these sums.
    pub fn is_sound(&self) -> bool {
        self.rate >= 0 && (0..=self.all).contains(&self.here) && (0..=self.reserved).contains(&self.reserved_here)
    }
}

impl Add for Account {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            rate: self.rate.wrapping_add(other.rate),
            here: self.here.wrapping_add(other.here),
            all: self.all.wrapping_add(other.all),
            reserved_here: self.reserved_here.wrapping_add(other.reserved_here),
            reserved: self.reserved.wrapping_add(other.reserved),
        }
    }
}

impl Sub for Account {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            rate: self.rate.wrapping_sub(other.rate),
            here: self.here.wrapping_sub(other.here),
            all: self.all.wrapping_sub(other.all),
            reserved_here: self.reserved_here.wrapping_sub(other.reserved_here),
            reserved: self.reserved.wrapping_sub(other.reserved),
        }
    }
}
