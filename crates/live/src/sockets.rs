//! One UDP socket for each local address, which QUIC sees as one socket.
//!
//! With one socket for all, a full queue at one interface would delay packets at the others. So there is a socket for
//! each address. A packet leaves by the socket that is bound to its source address or, without a source address, by the
//! first socket of its address family. Where a socket has no room, the packet is dropped, as any queue on the way could
//! drop it: QUIC waits for no socket, so a path with a full queue delays no other.
//!
//! The QUIC library knows the addresses of this end without their ports. So of several ports of one address, each but
//! the first has a stand-in, an address that no interface has.

mod local;

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::time::{Sleep, sleep};

pub use self::local::{Local, SocketError, check_names, resolve};

use crate::marks::Marks;
use crate::quic::udp::{AsyncUdpSocket, RecvMeta, Transmit, UdpSender, UdpSocketState};

/// Size of the receive buffer that the kernel is asked for, in bytes; the kernel limits it to `net.core.rmem_max`.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Pause of a socket after an error, since the same error may repeat at once and for ever.
const REST: Duration = Duration::from_millis(10);

/// The socket of a local address.
struct Own {
    io: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
    /// Address as QUIC knows it.
    name: IpAddr,
}

impl Own {
    /// Binds a socket; `earlier` are sockets that are bound already.
    fn bind(local: &Local, earlier: &[Self]) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(local.address), Type::DGRAM, Some(Protocol::UDP))?;
        if local.address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        local.bind_device(&socket)?;
        // Packets that do not fit are lost; the kernel decides how many fit.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
        socket.set_nonblocking(true)?;
        socket.bind(&local.address.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        let io = UdpSocket::from_std(socket.into())?;
        let address = io.local_addr()?;
        let ip = address.ip();
        let is_taken = earlier.iter().any(|other| other.address.ip() == ip);
        let name = if is_taken { stand_in(ip, earlier.len()) } else { ip };
        Ok(Self { io, state, address, name })
    }

    /// Whether QUIC knows the socket by a stand-in.
    fn has_stand_in(&self) -> bool {
        self.name != self.address.ip()
    }

    /// Sends a packet, or drops it if there is no room.
    fn send(&self, transmit: &Transmit<'_>) {
        // A packet that cannot be sent is lost, as it could be anywhere on the way.
        let _ = self.io.try_io(Interest::WRITABLE, || self.state.try_send((&self.io).into(), transmit));
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            std::task::ready!(self.io.poll_recv_ready(cx))?;
            match self.io.try_io(Interest::READABLE, || self.state.recv((&self.io).into(), bufs, meta)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return Poll::Ready(received),
            }
        }
    }
}

/// The stand-in for the address of the socket of this number.
fn stand_in(ip: IpAddr, number: usize) -> IpAddr {
    // The address is in 0.0.0.0/8, which is never a source or target, or in 100::/64, which never answers.
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    match ip {
        IpAddr::V4(_) => Ipv4Addr::from(u32::from(number)).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, number).into(),
    }
}

/// The sockets of an endpoint, one for each local address.
pub struct Sockets {
    all: Arc<[Own]>,
    /// Pause of each socket after an error.
    rests: Vec<Option<Pin<Box<Sleep>>>>,
    /// Socket that is polled first.
    turn: usize,
    /// Whether packets may be marked on their way.
    is_markable: bool,
    marks: Marks,
}

impl Sockets {
    /// Binds sockets to all of these addresses; [`Self::addresses`] has the results.
    pub async fn bind(locals: &[Local]) -> Result<Self, SocketError> {
        let first = locals.first().ok_or(SocketError::None)?;
        if locals.iter().any(|local| local.address.is_ipv4() != first.address.is_ipv4()) {
            let all: Vec<_> = locals.iter().map(|local| local.address.ip().to_string()).collect();
            return Err(SocketError::Mixed(all.join(", ")));
        }
        for (number, local) in locals.iter().enumerate() {
            if locals[..number].contains(local) {
                return Err(SocketError::Twice(local.address.ip()));
            }
        }
        let mut all: Vec<Own> = Vec::new();
        for local in locals {
            let refused = |error| SocketError::Refused { address: local.address, error };
            let own = Own::bind(local, &all).map_err(refused)?;
            // A socket counts as full until the reactor has polled it once.
            own.io.writable().await.map_err(refused)?;
            all.push(own);
        }
        let rests = all.iter().map(|_| None).collect();
        Ok(Self { all: all.into(), rests, turn: 0, is_markable: true, marks: Marks::default() })
    }

    /// Sets whether packets may be marked on their way (ECN).
    #[must_use]
    pub fn markable(self, is_markable: bool) -> Self {
        Self { is_markable, ..self }
    }

    /// The counts of marks at these sockets.
    pub(crate) fn marks(&self) -> Marks {
        self.marks.clone()
    }

    /// The addresses to which the sockets are bound, with their ports.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().map(|own| own.address).collect()
    }

    /// The addresses as QUIC knows them: without ports, or stand-ins.
    pub fn names(&self) -> Vec<IpAddr> {
        self.all.iter().map(|own| own.name).collect()
    }

    /// Stand-ins and the addresses that they stand for.
    pub(crate) fn stand_ins(&self) -> Vec<(IpAddr, SocketAddr)> {
        self.all.iter().filter(|own| own.has_stand_in()).map(|own| (own.name, own.address)).collect()
    }

    /// Whether a socket pauses; if so, the end of the pause will wake the task.
    fn rests(&mut self, number: usize, cx: &mut Context<'_>) -> bool {
        let rests = self.rests[number].as_mut().is_some_and(|rest| rest.as_mut().poll(cx).is_pending());
        if !rests {
            self.rests[number] = None;
        }
        rests
    }
}

impl AsyncUdpSocket for Sockets {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender::of(self))
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        for _ in 0..self.all.len() {
            let number = self.turn;
            self.turn = (self.turn + 1) % self.all.len();
            if self.rests(number, cx) {
                continue;
            }
            let own = &self.all[number];
            match own.poll_recv(cx, bufs, meta) {
                Poll::Ready(Ok(count)) => {
                    if own.has_stand_in() {
                        meta[..count].iter_mut().for_each(|meta| meta.dst_ip = Some(own.name));
                    }
                    self.marks.look(&mut meta[..count]);
                    return Poll::Ready(Ok(count));
                }
                // An interface that goes down causes an error; the endpoint continues with the others.
                Poll::Ready(Err(_)) => {
                    self.rests[number] = Some(Box::pin(sleep(REST)));
                    // The end of the pause wakes the endpoint.
                    self.rests(number, cx);
                }
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.all[0].address)
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.all.iter().map(|own| own.state.gro_segments()).max().unwrap_or(NonZeroUsize::MIN)
    }

    fn may_fragment(&self) -> bool {
        self.all.iter().any(|own| own.state.may_fragment())
    }
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all.iter().map(|own| own.address)).finish()
    }
}

/// The sender of a connection's packets.
struct Sender {
    all: Arc<[Own]>,
    is_markable: bool,
    marks: Marks,
    /// Number of packets since the last of a handshake.
    since_handshake: u32,
}

/// Number of packets after the last of a handshake that leave one by one; later ones leave in batches.
///
/// The QUIC library makes all packets of a batch as long as the first. If that is a short one of the handshake, it writes
/// acknowledgements into the next beyond its end, and panics. So a peer that sends much with gaps at once could end the
/// program. A server sends some packets before the end of the handshake, too.
const ONE_BY_ONE: u32 = 32;

/// The bit of the first byte that packets of a handshake have, and others have not.
const LONG_HEADER: u8 = 0x80;

impl Sender {
    /// The sender of a connection over these sockets.
    fn of(sockets: &Sockets) -> Self {
        let (all, marks) = (sockets.all.clone(), sockets.marks.clone());
        Self { all, is_markable: sockets.is_markable, marks, since_handshake: 0 }
    }

    /// The socket by which a packet leaves.
    fn pick(&self, transmit: &Transmit<'_>) -> &Own {
        let of = |ip: IpAddr| self.all.iter().find(|own| own.name == ip);
        transmit.src_ip.and_then(of).unwrap_or(&self.all[0])
    }
}

impl UdpSender for Sender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Transmit { destination, ecn, contents, segment_size, src_ip } = *transmit;
        let is_of_handshake = contents.first().is_none_or(|first| first & LONG_HEADER != 0);
        self.since_handshake = if is_of_handshake { 0 } else { self.since_handshake.saturating_add(1) };
        let ecn = self.marks.leaving(destination, self.is_markable, ecn);
        let own = self.pick(transmit);
        let src_ip = if own.has_stand_in() { Some(own.address.ip()) } else { src_ip };
        own.send(&Transmit { destination, ecn, contents, segment_size, src_ip });
        Poll::Ready(Ok(()))
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        if self.since_handshake <= ONE_BY_ONE {
            return NonZeroUsize::MIN;
        }
        self.all.iter().map(|own| own.state.max_gso_segments()).min().unwrap_or(NonZeroUsize::MIN)
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

#[cfg(test)]
mod tests {
    use super::local::tests::names;
    use super::*;

    #[tokio::test]
    async fn a_packet_leaves_by_the_socket_of_its_source_address() {
        let locals = names(&["127.0.0.1", "127.0.0.2"]).unwrap();
        let sockets = Sockets::bind(&locals).await.unwrap();
        let sender = Sender::of(&sockets);
        let from = |src_ip: Option<&str>| {
            let src_ip = src_ip.map(|ip| ip.parse().unwrap());
            let destination = "127.0.0.1:9".parse().unwrap();
            sender.pick(&Transmit { destination, ecn: None, contents: &[], segment_size: None, src_ip }).address
        };
        let [first, second] = sockets.addresses()[..] else { panic!() };
        assert_eq!((from(None), from(Some("127.0.0.1")), from(Some("127.0.0.2"))), (first, first, second));
    }

    #[tokio::test]
    async fn packets_leave_in_batches_some_time_after_the_handshake() {
        let sockets = Sockets::bind(&names(&["127.0.0.1"]).unwrap()).await.unwrap();
        let mut sender = Box::pin(Sender::of(&sockets));
        let destination = sockets.addresses()[0];
        let most = sockets.all[0].state.max_gso_segments();
        let mut sent = |first: u8, count: u32| {
            for _ in 0..count {
                let contents = &[first, 7];
                let transmit = Transmit { destination, ecn: None, contents, segment_size: None, src_ip: None };
                let mut context = Context::from_waker(std::task::Waker::noop());
                assert!(sender.as_mut().poll_send(&transmit, &mut context).is_ready());
            }
            sender.max_transmit_segments()
        };
        assert_eq!([sent(0xc0, 1), sent(0x40, ONE_BY_ONE)], [NonZeroUsize::MIN; 2]);
        assert_eq!([sent(0x40, 1), sent(0xe0, 1), sent(0x41, ONE_BY_ONE + 1)], [most, NonZeroUsize::MIN, most]);
    }

    /// Polls sockets for what has arrived, counting how often.
    async fn received(sockets: &mut Sockets, polls: &mut u32) -> (Option<IpAddr>, usize) {
        let (mut buffer, mut meta) = ([0; 1500], [RecvMeta::default()]);
        std::future::poll_fn(|cx| {
            *polls += 1;
            sockets.poll_recv(cx, &mut [IoSliceMut::new(&mut buffer)], &mut meta)
        })
        .await
        .unwrap();
        (meta[0].dst_ip, meta[0].len)
    }

    #[tokio::test]
    async fn two_ports_of_one_address_do_not_mix() {
        let locals: Vec<Local> = [0, 0].map(|_| "127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).into();
        let peers = [[127, 0, 0, 8], [127, 0, 0, 9]].map(|peer| Some(peer.into()));
        let locals: Vec<Local> = locals.into_iter().zip(peers).map(|(local, peer)| Local { peer, ..local }).collect();
        let mut sockets = Sockets::bind(&locals).await.unwrap();
        let [first, second] = sockets.names()[..] else { panic!() };
        assert_ne!(first, second);
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        for (name, address) in [second, first].into_iter().zip([sockets.addresses()[1], sockets.addresses()[0]]) {
            let destination = peer.local_addr().unwrap();
            let transmit =
                Transmit { destination, ecn: None, contents: b"out", segment_size: None, src_ip: Some(name) };
            let mut sender = Box::pin(Sender::of(&sockets));
            std::future::poll_fn(|cx| sender.as_mut().poll_send(&transmit, cx)).await.unwrap();
            assert_eq!(peer.recv_from(&mut [0; 9]).unwrap(), (3, address), "it leaves by its own port");
            peer.send_to(b"in", address).unwrap();
            assert_eq!(received(&mut sockets, &mut 0).await, (Some(name), 2), "and what comes there is known by it");
        }
    }

    #[tokio::test]
    async fn a_socket_that_fails_for_ever_rests_and_holds_up_no_other() {
        // A socket of TCP that is not connected has an error for whoever would receive, each time.
        let broken = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        broken.set_nonblocking(true).unwrap();
        let io = UdpSocket::from_std(std::net::UdpSocket::from(std::os::fd::OwnedFd::from(broken))).unwrap();
        let good = Own::bind(&"127.0.0.2:0".parse::<SocketAddr>().unwrap().into(), &[]).unwrap();
        let state = UdpSocketState::new((&good.io).into()).unwrap();
        let (address, name) = ("127.0.0.1:9".parse().unwrap(), [127, 0, 0, 1].into());
        let there = good.address;
        let all: Vec<Own> = vec![Own { io, state, address, name }, good];
        let mut sockets =
            Sockets { all: all.into(), rests: vec![None, None], turn: 0, is_markable: true, marks: Marks::default() };
        let mut polls = 0;
        let nothing = tokio::time::timeout(10 * REST, received(&mut sockets, &mut polls)).await;
        assert!(nothing.is_err() && (5..=40).contains(&polls), "{polls}");
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"read", there).unwrap();
        assert_eq!(received(&mut sockets, &mut polls).await.1, 4);
    }

    #[tokio::test]
    async fn addresses_of_two_kinds_are_refused() {
        let locals = names(&["127.0.0.1", "::1"]).unwrap();
        assert!(matches!(Sockets::bind(&locals).await, Err(SocketError::Mixed(_))));
        let twice = names(&["lo", "127.0.0.2", "lo"]).unwrap();
        let error = Sockets::bind(&twice).await.unwrap_err().to_string();
        assert!(error.starts_with("local address 127.0.0.1 is there twice; "), "{error}");
        let elsewhere = names(&["192.0.2.1"]).unwrap();
        let error = Sockets::bind(&elsewhere).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot send from 192.0.2.1:0: "), "{error}");
    }
}
