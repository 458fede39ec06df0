//! The network of a scenario in real time: programs in separate hosts send each other real packets over its links.
//!
//! [`network::Network`] determines the fate of packets, and has no clock. [`Lab`] consists of the hosts and a thread
//! that moves packets between them when they are due, and it reports how punctual it was. The links are those of the
//! simulator.
//!
//! ```no_run
//! # use anabranch_emulator::{Lab, LabError, Options};
//! # fn measure(plan: &anabranch_plan::Plan, source: anabranch_core::NodeId) -> Result<(), LabError> {
//! let lab = Lab::start(plan, Options::default())?;
//! let (from, to) = lab.addresses(0); // where the first path begins and ends
//! let host = lab.host(source).expect("the path begins there");
//! let socket = host.run(move || std::net::UdpSocket::bind((from, 0)))?; // belongs to the host, usable on any thread
//! socket.send_to(b"over the links of the path", (to, 7000))?;
//! println!("{:?}", lab.finish());
//! # Ok(())
//! # }
//! ```
//!
//! The crate is empty on systems other than Linux.
#![cfg(target_os = "linux")]

pub mod addresses;
mod driver;
mod events;
mod hops;
mod host;
mod kernel;
mod lab;
pub mod network;
pub mod packet;
mod processes;
mod queue;
mod report;
pub mod sample;

pub use hops::{Hop, hops};
pub use host::Host;
pub use kernel::{OF_ENDS, take_precedence};
pub use lab::{Lab, LabError, Options, lab_refusal};
pub use report::{Lateness, LinkReport, Report, most_late, punctual};
pub use sample::{LinkState, PathCount, Sample};
