//! Packets of applications by SOCKS 5 [rfc1928, sec. 7]: the association lasts as long as the connection over which it was
//! asked for, and takes packets from that application's address alone.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::packets::Sink;
use crate::packets::capsule::MOST_DATAGRAM;
use crate::socks::{Reply, read_packet, write_packet, write_reply};
use crate::target::Target;
use crate::tunnel::keep_alive;
use crate::uplink::Uplink;

/// The most targets of an application at a time; with more, the one that was quiet for longest is given up.
const MOST_TARGETS: usize = 256;

/// The most packets that wait for a target; later ones are dropped, as networks do.
const MOST_WAITING: usize = 64;

/// Serves an application until its connection ends.
///
/// # Errors
/// If there can be no socket for its packets.
pub(super) async fn serve(stream: &mut TcpStream, uplink: &Uplink) -> io::Result<()> {
    keep_alive(stream);
    // A door at `[::]` has addresses of IPv4 as those of IPv6.
    let [own, peer] = [stream.local_addr()?, stream.peer_addr()?].map(|address| address.ip().to_canonical());
    let socket = Arc::new(UdpSocket::bind((own, 0)).await?);
    let reply = write_reply(Reply::Succeeded, socket.local_addr()?);
    if stream.write_all(&reply).await.is_err() {
        return Ok(());
    }
    let mut targets =
        Targets { socket: socket.clone(), uplink: uplink.clone(), all: HashMap::new(), work: JoinSet::new() };
    let (mut packet, mut rest) = (BytesMut::new(), [0; 64]);
    loop {
        packet.clear();
        packet.reserve(MOST_DATAGRAM);
        tokio::select! {
            came = socket.recv_buf_from(&mut packet) => {
                // An error is about a packet that was sent before.
                let Ok((_, from)) = came else { continue };
                if from.ip() == peer && let Some((target, begin)) = read_packet(&packet) {
                    targets.send(from, target, Bytes::copy_from_slice(&packet[begin..]));
                }
            }
            // Nothing is said on the connection any more but its end.
            read = stream.read(&mut rest) => if !matches!(read, Ok(1..)) { return Ok(()) },
            Some(_) = targets.work.join_next() => {}
        }
    }
}

/// The targets of an application.
struct Targets {
    socket: Arc<UdpSocket>,
    uplink: Uplink,
    /// By the address of the application and the target.
    all: HashMap<(SocketAddr, Target), Reached>,
    work: JoinSet<()>,
}

/// A target to which packets go.
struct Reached {
    give: mpsc::Sender<Bytes>,
    /// When the last packet went.
    last: Instant,
    work: AbortHandle,
}

impl Targets {
    /// Sends a packet to a target; if it is new a flow begins, or begins again.
    fn send(&mut self, from: SocketAddr, target: Target, packet: Bytes) {
        let key = (from, target);
        if let Some(known) = self.all.get_mut(&key).filter(|known| !known.give.is_closed()) {
            known.last = Instant::now();
            // What comes too fast is dropped.
            let _ = known.give.try_send(packet);
            return;
        }
        if self.all.len() >= MOST_TARGETS {
            self.all.retain(|_, known| !known.give.is_closed());
        }
        if self.all.len() >= MOST_TARGETS
            && let Some(quiet) = self.all.iter().min_by_key(|(_, known)| known.last).map(|(key, _)| key.clone())
            && let Some(known) = self.all.remove(&quiet)
        {
            known.work.abort();
        }
        let (give, take) = mpsc::channel(MOST_WAITING);
        let _ = give.try_send(packet);
        let program = Program { socket: self.socket.clone(), address: from, begin: write_packet(&key.1) };
        let work = self.work.spawn(reach(self.uplink.clone(), key.1.clone(), take, program));
        self.all.insert(key, Reached { give, last: Instant::now(), work });
    }
}

/// Carries the packets of an application to a target and back. A target that cannot be reached is as silent as one that
/// does not answer: SOCKS has no word for it.
async fn reach(uplink: Uplink, target: Target, mut take: mpsc::Receiver<Bytes>, program: Program) {
    if let Ok(mut packets) = uplink.open_packets(&target, None).await {
        packets.carry(&mut take, &program).await;
    }
}

/// An application that takes packets of a target.
struct Program {
    socket: Arc<UdpSocket>,
    address: SocketAddr,
    /// The beginning of packets from the target.
    begin: Vec<u8>,
}

impl Sink for Program {
    async fn send(&self, packet: Bytes) {
        // A packet that does not fit into one of the application's is lost.
        let _ = self.socket.send_to(&[&self.begin[..], &packet].concat(), self.address).await;
    }
}
