//! Max-min fair rates where every connection has one path, fast enough for a simulator that computes them often.
//!
//! All levels rise together; the connections of the link that saturates first freeze, then those of the next:
//! progressive filling [bertsekas1992, sec. 6.5.2]. Connections have weights and demands; a connection may use more or
//! less of a link's capacity than its rate. For a million connections with ten million links on their paths, it takes
//! some tenth of a second on one thread.
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
//! // The third demands no more than 1, and the second counts three times as much as the others.
//! let demand = [f64::INFINITY, f64::INFINITY, 1.0];
//! let shared = SinglePath { demand: &demand, weight: &[1.0, 3.0, 1.0], ..shared };
//! assert_eq!(max_min(&shared).unwrap(), [2.5, 7.5, 1.0]);
//! ```
//!
//! No demand is exceeded, and no link is overloaded except by rounding: some 1e-11 of its capacity where a million
//! connections share it.
//!
//! For repeated problems, keep a [`Filling`]: it has all the memory, and allocates nothing once it is large enough.
//! Connections that come and go may keep their place in the arrays: a connection of demand 0 has rate 0.

mod check;
mod filling;
mod frozen;
mod index;
mod links;
mod queue;

use std::ops::Range;

pub use check::{FillingError, LEAST, MOST, MOST_FACTOR};
pub use filling::Filling;

/// The capacities, paths, demands and weights of a problem, as arrays of the caller, in any unit of capacity and rate.
///
/// Degenerate parts are accepted: a link of capacity 0 holds every connection over it at rate 0, and one of infinite
/// capacity never binds. A path without links is limited only by its connection's demand. A path that contains a link
/// twice uses it twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinglePath<'a> {
    /// The capacity of each link: 0 to [`MOST`], or infinite; below [`LEAST`] it counts as 0.
    pub capacity: &'a [f64],
    /// The offsets of the connections' paths: connection c has `links[offsets[c]..offsets[c + 1]]`.
    pub offsets: &'a [usize],
    /// The link numbers along the paths.
    pub links: &'a [u32],
    /// The demand of each connection: 0 to [`MOST`], or infinite; empty if infinite for all.
    pub demand: &'a [f64],
    /// The claim of each connection: 1 / [`MOST_FACTOR`] to [`MOST_FACTOR`]; empty if 1 for all.
    pub weight: &'a [f64],
    /// The capacity used for each unit of rate, for each entry of `links`, in the same range as weights; empty if 1
    /// everywhere.
    pub coefficient: &'a [f64],
}

impl SinglePath<'_> {
    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The range of `links` with the path of `connection`.
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

/// Computes weighted max-min fair rates within the demands, one for each connection.
///
/// # Errors
/// Returns the first fault of the arrays, with its place.
pub fn max_min(shared: &SinglePath<'_>) -> Result<Vec<f64>, FillingError> {
    let mut filling = Filling::default();
    filling.solve(shared)?;
    Ok(filling.into_rates())
}
