//! Generators of networks and demands, by rule and seed.
//!
//! Every generator is a pure function of its parameters and, if it is random, of a seed: the same arguments give the
//! same nodes and links in the same order. Every generated link is two-way: two links that are each other's twin.
//!
//! | family | generators |
//! |---|---|
//! | one bottleneck, or several in a row | [`dumbbell`], [`parking_lot`] |
//! | lattices | [`ring`], [`grid`] |
//! | data centres | [`fat_tree`], [`leaf_spine`] |
//! | random graphs | [`waxman`], [`random_regular`] |
//! | models of the Internet | [`transit_stub`] |
//! | demands | [`gravity`], [`uniform`], [`hot_spots`], [`random_pairs`] |

mod clos;
mod demands;
mod draft;
mod dumbbell;
mod error;
mod lattice;
mod link;
mod parking_lot;
mod random_regular;
mod transit_stub;
mod waxman;

pub use clos::{LeafSpineParameters, fat_tree, leaf_spine};
pub use demands::{HotSpots, Masses, UniformDemand, gravity, hot_spots, random_pairs, uniform};
pub use dumbbell::dumbbell;
pub use error::GenerateError;
pub use lattice::{grid, ring};
pub use link::{DelayRule, LinkKind, LinkRule};
pub use parking_lot::parking_lot;
pub use random_regular::random_regular;
pub use transit_stub::{
    CoincidentEdges, Diameters, EdgeMethod, LinkClass, NodeKind, TransitStub, TransitStubHosts, TransitStubLinks,
    TransitStubParameters, transit_stub,
};
pub use waxman::{WaxmanParameters, waxman};
