//! Controllers of paths, which the library asks for windows and paces, and which receive its reports on packets.

pub use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
pub use noq_proto::RttEstimator;
