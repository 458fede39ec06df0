//! The network as a mathematical object: links, demands and paths, without input, output or simulated time.

pub mod choice;
pub mod demand;
pub mod generate;
pub mod id;
pub mod lease;
pub mod names;
pub mod network;
pub mod parse;
pub mod paths;
pub mod pattern;
pub mod quantity;
pub mod random;
pub mod samples;
pub mod spelling;
pub mod union_find;
pub mod units;

pub use demand::{Connection, DemandError, Demands};
pub use id::{ConnectionId, LinkId, NodeId};
pub use network::{Link, Network, NetworkBuilder, NetworkError, Node, Position};
pub use paths::{PathError, Paths};
pub use samples::{COLUMNS, Samples};
pub use union_find::UnionFind;
pub use units::{Bytes, Rate, Span, Time};
