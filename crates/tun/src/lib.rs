//! TUN devices of Linux: a program reads the packets that the kernel sends over such a device, and writes those that the
//! kernel receives.
#![cfg(target_os = "linux")]

mod device;
mod netlink;

pub use device::{PATH, open};
pub use netlink::{Settings, addresses, addresses_of, has_ipv6, set_up};
