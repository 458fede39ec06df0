//! Max-min fair rates where every connection has one path, fast enough for a simulator that asks again and again.
//!
//! All levels rise together; the connections of the link that saturates first freeze, then those of the next:
//! progressive filling [bertsekas1992, sec. 6.5.2]. Connections have weights and demands; a connection may use more or
//! less of a link's capacity than its rate. A million connections over ten million links of their paths take some tenth
//! of a second on one thread.
//!
//! ```
//! use anabranch_filling::{SinglePath, max_min};
//!
//! // Links of 10 and 4. The first connection takes both, the second the first link, the third the second link.
//! let shared = SinglePath {
//!     capacity: &[10.0, 4.0],
//!     offsets: &[0, 2, 3, 4],
//!     links: &[0, 1, 0, 1],
//!     ..SinglePath::default()
//! };
//! assert_eq!(max_min(&shared).unwrap(), [2.0, 8.0, 2.0]);
//!
//! // The third wants no more than 1, and the second counts three times as much as the others.
//! let demand = [f64::INFINITY, f64::INFINITY, 1.0];
//! let shared = SinglePath { demand: &demand, weight: &[1.0, 3.0, 1.0], ..shared };
//! assert_eq!(max_min(&shared).unwrap(), [2.5, 7.5, 1.0]);
//! ```
//!
//! No demand is exceeded, and no link overloaded but by rounding: some 1e-11 of its capacity where a million connections
//! share it.
//!
//! Who solves again and again keeps a [`Filling`]: it has room for everything and allocates nothing once it is large
//! enough. Connections that come and go may keep their place in the arrays: one of demand 0 has rate 0.

mod check;
mod filling;
mod frozen;
mod index;
mod links;
mod queue;

use std::ops::Range;

pub use check::{FillingError, LEAST, MOST, MOST_FACTOR};
pub use filling::Filling;

/// What is to be shared among whom, as arrays of the caller's; any unit of capacity and rate.
///
/// Degenerate parts are defined, not refused: a link of capacity 0 holds every connection over it at rate 0, one of
/// infinite capacity never binds; a path without links is held by its connection's demand alone; one that takes a link
/// twice uses it twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinglePath<'a> {
    /// Of each link: 0 to [`MOST`], or infinite; below [`LEAST`] it counts as 0.
    pub capacity: &'a [f64],
    /// The path of connection c: `links[offsets[c]..offsets[c + 1]]`.
    pub offsets: &'a [usize],
    /// Link numbers along the paths.
    pub links: &'a [u32],
    /// The most that each connection can use: 0 to [`MOST`], or infinite; empty if infinite for all.
    pub demand: &'a [f64],
    /// Claim of each connection: 1 / [`MOST_FACTOR`] to [`MOST_FACTOR`]; empty if 1 for all.
    pub weight: &'a [f64],
    /// Capacity used for each unit of rate, for each entry of `links`: as weights; empty if 1 everywhere.
    pub coefficient: &'a [f64],
}

impl SinglePath<'_> {
    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Where the path of `connection` is in `links`.
    fn path(&self, connection: usize) -> Range<usize> {
        self.offsets[connection]..self.offsets[connection + 1]
    }

    fn weight_of(&self, connection: usize) -> f64 {
        self.weight.get(connection).copied().unwrap_or(1.0)
    }

    fn coefficient_of(&self, entry: usize) -> f64 {
        self.coefficient.get(entry).copied().unwrap_or(1.0)
    }
}

/// Weighted max-min fair rates within the demands, one for each connection.
///
/// # Errors
/// The first thing that is wrong with the arrays, with its place.
pub fn max_min(shared: &SinglePath<'_>) -> Result<Vec<f64>, FillingError> {
    let mut filling = Filling::default();
    filling.solve(shared)?;
    Ok(filling.into_rates())
}
