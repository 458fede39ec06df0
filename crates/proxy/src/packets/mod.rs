//! Packets of UDP over HTTP/3 [rfc9298]: each flow to a target is a request by CONNECT, its packets are datagrams of
//! QUIC, and those that are too large for these are capsules on the stream of the request.

pub mod capsule;
pub(crate) mod carrier;
mod copies;
pub(crate) mod flows;
mod template;

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::sleep;

pub(crate) use self::template::{path, target};

/// Silence after which a flow ends [rfc4787, sec. 4.3].
const SILENCE: Duration = Duration::from_mins(2);

/// The header that says that the stream has capsules [rfc9297, sec. 3.4].
pub(crate) const CAPSULES: (&str, &str) = ("capsule-protocol", "?1");

/// The context of packets of UDP [rfc9298, sec. 4].
const PACKETS: u8 = 0;

/// The most errors of a socket in a row that are read without a pause, and the pause before each later one.
const MOST_ERRORS: u32 = 64;
const PAUSE: Duration = Duration::from_millis(10);

/// Where the packets of a flow come from.
pub(crate) trait Source {
    /// Appends the next packet to a buffer; an error ends the flow.
    fn next(&mut self, packet: &mut BytesMut) -> impl Future<Output = io::Result<()>> + Send;
}

/// Where the packets of a flow go to.
pub(crate) trait Sink {
    /// Sends a packet; one that is lost is nobody's fault.
    fn send(&self, packet: Bytes) -> impl Future<Output = ()> + Send;
}

impl Source for &UdpSocket {
    async fn next(&mut self, packet: &mut BytesMut) -> io::Result<()> {
        // The network reports packets that it could not deliver: the next one may reach somebody. A flow ends by silence.
        let mut errors = 0_u32;
        while self.recv_buf(packet).await.is_err() {
            errors = errors.saturating_add(1);
            if errors >= MOST_ERRORS {
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }
}

impl Sink for &UdpSocket {
    async fn send(&self, packet: Bytes) {
        let _ = UdpSocket::send(self, &packet).await;
    }
}

impl Source for mpsc::Receiver<Bytes> {
    async fn next(&mut self, packet: &mut BytesMut) -> io::Result<()> {
        packet.extend_from_slice(&self.recv().await.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Sink for mpsc::Sender<Bytes> {
    async fn send(&self, packet: Bytes) {
        // What comes too fast is dropped.
        let _ = self.try_send(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_packet_arrives_after_any_number_of_errors() {
        let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let there = gone.local_addr().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(there).await.unwrap();
        drop(gone);
        let (mut source, mut packet) = (&socket, BytesMut::new());
        let working = async {
            // Each packet is refused, and each second one at most finds the error of the one before.
            for _ in 0..4 * MOST_ERRORS {
                let _ = socket.send(b"lost").await;
                sleep(Duration::from_millis(1)).await;
            }
            let back = UdpSocket::bind(there).await.unwrap();
            while back.send_to(b"here", socket.local_addr().unwrap()).await.is_err() {}
        };
        let (read, ()) = tokio::join!(source.next(&mut packet), working);
        read.unwrap();
        assert_eq!(&packet[..], b"here");
    }
}
