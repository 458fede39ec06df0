//! Keeps the traffic of ordinary programs to granted rates over several paths, by the kernel's own means (Linux).
//!
//! Agents grant a rate to each path of a session. An [`Enforcer`] makes the kernel follow: it finds the packets of each
//! session, spreads connections over its paths, and shapes each path to its rate.
//!
//! ```text
//!  packet of a local program (output) or of a neighbour (prerouting)
//!    │ nft: does it belong to a session? the turn of its flow, or the next turn, belongs to path n
//!    │      the mark of path n: n in the bits of `mark_mask`; all other bits stay
//!  routing
//!    │ ip rule: mark n, table `tables + n`: via a router, or by segments (SRv6); without a table the ordinary route
//!  postrouting
//!    │ nft: mark n, priority ab:(100 + n), and the source address of the uplink
//!  device
//!      htb ab: ─ ab:1 capacity ─┬─ ab:2          other traffic: what grants leave, and what sessions do not use
//!                               └─ ab:(100 + n)  path n: its granted rate, with a bounded queue
//! ```
//!
//! The crate writes commands for `tc`, `nft` and `ip` as text; [`Backend::Print`] shows them, [`Backend::Kernel`] feeds
//! them to the programs. Changes of rates go to one `tc` that stays, at most every 10 ms. Connections stay on their paths
//! while rates change a little; if they change much, or a path is away, some move.
//!
//! ```no_run
//! # use anabranch_core::Rate;
//! # use anabranch_enforce::{Backend, Device, EnforceError, Enforcer, Path, Route, Session, Setup, Traffic};
//! # fn enforce() -> Result<(), Box<dyn std::error::Error>> {
//! let uplink = |device: &str, gateway: &str| -> Result<Path, std::net::AddrParseError> {
//!     let route = Route::Via { gateway: gateway.parse()?, source: None };
//!     Ok(Path { device: device.to_owned(), route })
//! };
//! let device = |name: &str| Device { name: name.to_owned(), capacity: Some(Rate(100e6)) };
//! let setup = Setup { devices: vec![device("eth0"), device("eth1")], ..Setup::default() };
//! let enforcer = Enforcer::start(setup, Backend::Kernel)?;
//! enforcer.set_sessions(&[Session {
//!     name: "backup".to_owned(),
//!     traffic: vec![Traffic { destinations: vec!["198.51.100.0/24".parse()?], ..Traffic::default() }],
//!     paths: vec![uplink("eth0", "192.0.2.1")?, uplink("eth1", "203.0.113.1")?],
//! }])?;
//! enforcer.set_rates("backup", &[Some(Rate(30e6)), Some(Rate(50e6))])?; // again before the lease ends
//! println!("{:?}", enforcer.counters()?);
//! enforcer.stop(); // nothing is left
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! - A rate that is not repeated within a lease falls by half, down to the floor. If the process is killed, a shell that
//!   waits for it brings all rates down to the floor at once; the next start removes what is left. A process that is
//!   stopped but lives keeps its rates.
//! - Every packet is compared with the matches one after the other, so that some dozen sessions are fine, not thousands.
//! - Fragments after the first have no ports, so that those that a router forwards take turns over the paths.
//! - If a device goes and comes back, start anew. Routes over a device that was down are set again when its path works.
//! - Kernel: `htb`, `nf_tables` with `hash`, `numgen` and NAT; `seg6` for segments; `fq_codel`, otherwise `bfifo`. Programs:
//!   iproute2 5.3, nftables 1.0.

mod counters;
mod enforcer;
mod error;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod pace;
mod plan;
mod rates;
mod settings;
mod sink;
mod worker;

pub use counters::{ClassCounters, Counters};
pub use enforcer::{Enforcer, Grants};
pub use error::EnforceError;
#[cfg(target_os = "linux")]
pub use pace::pace;
pub use plan::Tool;
pub use settings::{Device, IpNet, MOST_PATHS, Path, Protocol, Route, Session, SettingError, Setup, Traffic};
pub use sink::Backend;
