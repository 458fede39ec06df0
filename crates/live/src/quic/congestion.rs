//! Controllers of paths: what the library asks for windows and paces, and tells of packets.

pub use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
pub use noq_proto::RttEstimator;
