//! Tests over the loopback, in one program that is linked once.

mod certificates;
mod perf;
mod perf_peers;
mod sessions;
mod transfer;
