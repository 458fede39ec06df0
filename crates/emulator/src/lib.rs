//! The network of a scenario in real time: programs in hosts of their own send each other real packets over its links.
//!
//! [`network::Network`] is what happens to packets, and knows no clock; [`Lab`] is hosts, a thread that moves packets
//! between them when they are due, and a report of how punctual it was. Links are those of the simulator.
//!
//! Where there is no Linux there is none of it.
#![cfg(target_os = "linux")]

pub mod addresses;
mod driver;
mod events;
mod host;
mod kernel;
mod lab;
pub mod network;
pub mod packet;
mod queue;
mod report;

pub use host::Host;
pub use lab::{Lab, LabError, Options, lab_refusal};
pub use report::{Lateness, LinkReport, Report};
