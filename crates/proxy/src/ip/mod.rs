//! IP packets over HTTP/3 [rfc9484]: a tunnel is a request by CONNECT, and each packet in it a datagram.
//!
//! At the exit a TUN device stands between tunnels and the kernel, which routes packets on and translates addresses. Each
//! tunnel has addresses of its own; rules decide on each packet. At a proxy a TUN device takes packets of this machine.

pub mod capsules;
pub(crate) mod carrier;
mod device;
pub(crate) mod gateway;
mod lanes;
pub mod packet;
pub(crate) mod path;
mod pool;
pub(crate) mod splice;
mod trouble;
pub(crate) mod tunnel;

pub use device::DeviceError;
pub use gateway::GatewayError;
pub use pool::NetworkError;
pub use tunnel::TunnelState;

use ipnet::IpNet;

/// A TUN device of an exit, and the networks from which clients have addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tun {
    /// Name of the device.
    pub name: String,
    /// One network of IPv4, one of IPv6, or both.
    pub networks: Vec<IpNet>,
}
