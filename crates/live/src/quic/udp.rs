//! Datagrams, and the sockets that they leave and arrive by.

pub use noq::udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
pub use noq::{AsyncUdpSocket, UdpSender};
