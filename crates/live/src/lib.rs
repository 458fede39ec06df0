//! Real connections: the window controls of `anabranch_proto` under multipath QUIC, sockets, paths and measurement.

#![forbid(unsafe_code)]

pub mod control;
