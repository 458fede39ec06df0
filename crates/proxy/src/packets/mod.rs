//! Packets of UDP over HTTP/3 [rfc9298]: each flow to a target is a request by CONNECT, its packets are datagrams of
//! QUIC, and those that are too large for these are capsules on the stream of the request.

pub mod capsule;
pub(crate) mod flows;
mod template;

use std::io;
use std::time::Duration;

use anabranch_live::quic::Connection;
use bytes::{Buf, Bytes, BytesMut};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use self::capsule::{Capsules, MOST_DATAGRAM, write_datagram};
use self::flows::{Fate, Flow};
pub(crate) use self::template::{path, target};
use crate::tunnel::{Carried, Receives, Sends};

/// Silence after which a flow ends [rfc4787, sec. 4.3].
const SILENCE: Duration = Duration::from_mins(2);

/// The header that says that the stream has capsules [rfc9297, sec. 3.4].
pub(crate) const CAPSULES: (&str, &str) = ("capsule-protocol", "?1");

/// The context of packets of UDP [rfc9298, sec. 4].
const PACKETS: u8 = 0;

/// Where the packets of a flow come from and go to.
pub(crate) trait Packets {
    /// Appends the next packet to a buffer; an error ends the flow.
    fn next(&mut self, packet: &mut BytesMut) -> impl Future<Output = io::Result<()>> + Send;
    /// Sends a packet; one that is lost is nobody's fault.
    fn send(&mut self, packet: Bytes) -> impl Future<Output = ()> + Send;
}

impl Packets for UdpSocket {
    async fn next(&mut self, packet: &mut BytesMut) -> io::Result<()> {
        loop {
            match self.recv_buf(packet).await {
                // Nobody is there yet, or any longer: the next packet may reach somebody.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                other => return other.map(|_| ()),
            }
        }
    }

    async fn send(&mut self, packet: Bytes) {
        let _ = UdpSocket::send(self, &packet).await;
    }
}

/// Carries packets in both directions until the stream ends, either side fails, or both have been silent for two minutes.
pub(crate) async fn carry(
    packets: &mut impl Packets,
    mut flow: Flow,
    (mut sends, mut receives): (impl Sends, impl Receives),
    quic: &Connection,
) -> Carried {
    let (mut carried, mut capsules, mut packet) = (Carried::default(), Capsules::default(), BytesMut::new());
    let mut heard = Instant::now();
    loop {
        packet.clear();
        packet.reserve(1 + MOST_DATAGRAM);
        packet.extend_from_slice(&[PACKETS]);
        let datagram = tokio::select! {
            outcome = packets.next(&mut packet) => {
                if outcome.is_err() {
                    sends.reset();
                    break;
                }
                heard = Instant::now();
                carried.into_stream += packet.len() as u64 - 1;
                match flow.send(&packet) {
                    Fate::Sent => continue,
                    Fate::TooLarge if sends.send(write_datagram(&packet)).await.is_ok() => continue,
                    Fate::TooLarge | Fate::Lost => break,
                }
            }
            datagram = flow.next() => datagram,
            more = receives.receive() => match more {
                Ok(Some(more)) => {
                    capsules.add(more);
                    for datagram in capsules.by_ref() {
                        heard = Instant::now();
                        carried.out_of_stream += deliver(packets, datagram).await;
                    }
                    continue;
                }
                Ok(None) => {
                    let _ = sends.finish().await;
                    break;
                }
                Err(_) => break,
            },
            () = sleep_until(heard + SILENCE) => {
                let _ = sends.finish().await;
                break;
            }
            _ = quic.closed() => break,
        };
        heard = Instant::now();
        carried.out_of_stream += deliver(packets, datagram).await;
    }
    receives.stop();
    carried
}

/// Delivers the packet in a datagram, if there is one; its size.
async fn deliver(packets: &mut impl Packets, mut datagram: Bytes) -> u64 {
    if datagram.first() != Some(&PACKETS) {
        return 0;
    }
    datagram.advance(1);
    let size = datagram.len() as u64;
    packets.send(datagram).await;
    size
}
