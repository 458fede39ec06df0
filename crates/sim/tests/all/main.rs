//! All tests of the simulator, in one program: they share the processors, and are linked once.

mod any_scenario;
mod any_transport;
mod b_neck;
mod behaviour;
mod cobb;
mod common;
mod conformance;
mod d_slen;
mod erica;
mod failures;
mod fetch;
mod lgcc;
mod ludena2021;
mod max_min;
mod opportunities;
mod path_times;
mod queues;
mod random_networks;
mod rcp;
mod relays;
mod rest;
mod shared_links;
mod strays;
mod threads;
mod windows;
mod xcp;
