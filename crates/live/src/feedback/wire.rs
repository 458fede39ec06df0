//! How messages reach the other end of a connection, and may be lost: as datagrams of the connection, or of a stream of it.

use bytes::Bytes;

use crate::quic::{Connection, SendDatagramError};

/// A way to the other end.
pub trait Wire: Clone + Send + Sync + 'static {
    /// Sends a message; false if there is no other end any more.
    fn send(&self, message: Vec<u8>) -> bool;
}

/// The messages of the other end.
pub trait Inbox: Send + 'static {
    /// The next message; none after the last.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

impl Wire for Connection {
    fn send(&self, message: Vec<u8>) -> bool {
        // The next datagram has room, or a path that permits it.
        matches!(self.send_datagram(message.into()), Ok(()) | Err(SendDatagramError::TooLarge))
    }
}

impl Inbox for Connection {
    async fn next(&mut self) -> Option<Bytes> {
        self.read_datagram().await.ok()
    }
}
