//! Packets of UDP over HTTP/3 [rfc9298]: each flow to a target is a request by CONNECT, its packets are datagrams of
//! QUIC, and those that are too large for these are capsules on the stream of the request.

pub mod capsule;
pub(crate) mod flows;
mod template;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch_live::quic::Connection;
use bytes::{Buf, Bytes, BytesMut};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep, sleep_until};

use self::capsule::{Capsules, MOST_DATAGRAM, write_datagram};
use self::flows::{Fate, Flow, Line};
pub(crate) use self::template::{path, target};
use crate::tunnel::{Carried, Receives, Sends};

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

/// Why a flow ends.
enum Ending {
    /// Its packets come from nowhere any more.
    Failed,
    /// The other end wants no more, or both have been silent.
    Finished,
    /// The connection carries nothing any more.
    Lost,
}

/// The time of the last packet of a flow.
struct LastHeard {
    begun: Instant,
    after_ms: AtomicU64,
}

impl LastHeard {
    fn new() -> Self {
        Self { begun: Instant::now(), after_ms: AtomicU64::new(0) }
    }

    fn note(&self) {
        let after = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.after_ms.store(after, Ordering::Relaxed);
    }

    /// Waits until there was no packet for two minutes.
    async fn silence(&self) {
        loop {
            let end = self.begun + Duration::from_millis(self.after_ms.load(Ordering::Relaxed)) + SILENCE;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// Carries packets in both directions until the stream ends, either side fails, or both have been silent for two minutes.
/// Neither direction waits for the other.
pub(crate) async fn carry(
    source: &mut impl Source,
    sink: &(impl Sink + Sync),
    mut flow: Flow,
    (mut sends, mut receives): (impl Sends, impl Receives),
    quic: &Connection,
) -> Carried {
    let (mut carried, heard) = (Carried::default(), LastHeard::new());
    let ending = {
        let line = flow.line();
        let into = carry_in(source, &line, &mut sends, (&mut carried.into_stream, &heard));
        let out = carry_out(sink, &mut flow, &mut receives, (&mut carried.out_of_stream, &heard));
        tokio::select! {
            ending = into => ending,
            ending = out => ending,
            () = heard.silence() => Ending::Finished,
            _ = quic.closed() => Ending::Lost,
        }
    };
    match ending {
        Ending::Failed => sends.reset(),
        Ending::Finished => _ = sends.finish().await,
        Ending::Lost => {}
    }
    receives.stop();
    carried
}

async fn carry_in(
    source: &mut impl Source,
    line: &Line,
    sends: &mut impl Sends,
    (count, heard): (&mut u64, &LastHeard),
) -> Ending {
    let mut packet = BytesMut::new();
    loop {
        packet.clear();
        packet.reserve(1 + MOST_DATAGRAM);
        packet.extend_from_slice(&[PACKETS]);
        if source.next(&mut packet).await.is_err() {
            return Ending::Failed;
        }
        heard.note();
        *count += packet.len() as u64 - 1;
        match line.send(&packet) {
            Fate::Sent => {}
            Fate::TooLarge if sends.send(write_datagram(&packet)).await.is_ok() => {}
            Fate::TooLarge | Fate::Lost => return Ending::Lost,
        }
    }
}

async fn carry_out(
    sink: &impl Sink,
    flow: &mut Flow,
    receives: &mut impl Receives,
    (count, heard): (&mut u64, &LastHeard),
) -> Ending {
    let mut capsules = Capsules::default();
    loop {
        tokio::select! {
            datagram = flow.next() => {
                heard.note();
                *count += deliver(sink, datagram).await;
            }
            more = receives.receive() => match more {
                Ok(Some(more)) => {
                    capsules.add(more);
                    for datagram in capsules.by_ref() {
                        heard.note();
                        *count += deliver(sink, datagram).await;
                    }
                }
                Ok(None) => return Ending::Finished,
                Err(_) => return Ending::Lost,
            },
        }
    }
}

/// Delivers the packet in a datagram, if there is one; its size.
async fn deliver(sink: &impl Sink, mut datagram: Bytes) -> u64 {
    if datagram.first() != Some(&PACKETS) {
        return 0;
    }
    datagram.advance(1);
    let size = datagram.len() as u64;
    sink.send(datagram).await;
    size
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
