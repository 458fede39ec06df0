//! Datagrams, and the sockets that send and receive them, from the library.

pub use noq::udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
pub use noq::{AsyncUdpSocket, UdpSender};
