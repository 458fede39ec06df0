//! One UDP socket for each local address, which noq sees as one.
//!
//! With one socket for all, a queue that is full on the way out of one interface holds up what goes out of the others. So
//! there is a socket for each address; a packet takes the one that is bound to its source address, or, if that is left
//! open, the first of the kind of its destination. Where a socket has no room, the packet is dropped, as any queue on the
//! way could drop it: noq waits for no socket, so a path with a full queue holds up no other.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use noq::udp::{RecvMeta, Transmit, UdpSocketState};
use noq::{AsyncUdpSocket, UdpSender};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// What the kernel is asked to keep of what has arrived, in bytes; it gives less where `net.core.rmem_max` is.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Where a socket is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Its address; the unspecified one for any.
    pub address: SocketAddr,
    /// The interface that packets are to leave by, whatever the routes say.
    pub device: Option<String>,
    /// The only address of the peer that is reached from here; `None` for all that it has.
    pub peer: Option<IpAddr>,
}

impl From<SocketAddr> for Local {
    fn from(address: SocketAddr) -> Self {
        Self { address, device: None, peer: None }
    }
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// It is neither an address nor an interface.
    #[error("`{name}` is neither an address nor an interface of this machine; there are {}", known.join(", "))]
    UnknownInterface {
        /// What was asked for.
        name: String,
        /// The interfaces that there are.
        known: Vec<String>,
    },
    /// The interface has no address to send from.
    #[error("interface `{name}` has no IPv{version} address")]
    NoAddress {
        /// The interface.
        name: String,
        /// The kind of address that was looked for.
        version: u8,
    },
    /// What comes after `=` is no address of the peer.
    #[error("`{name}`: `{peer}` is no address of the other machine; one is written as in eth0=192.0.2.7")]
    NoPeer {
        /// What was asked for.
        name: String,
        /// What stands behind the sign.
        peer: String,
    },
    /// Addresses of both kinds in one connection.
    #[error("local addresses are of IPv4 and IPv6 ({0}); those of a connection must be of one kind")]
    Mixed(String),
    /// No address at all.
    #[error("a connection needs a local address")]
    None,
    /// The kernel refuses.
    #[error("cannot send from {address}: {error}")]
    Refused {
        /// The local address.
        address: SocketAddr,
        /// What it says.
        error: io::Error,
    },
    /// The interfaces cannot be listed.
    #[error("cannot list the interfaces of this machine: {0}")]
    Unlisted(nix::Error),
}

/// Local addresses, each written as an address or as the name of an interface, to send to an address like `remote` from;
/// with `=` and an address of the peer behind it, only to that.
pub fn resolve(via: &[String], remote: SocketAddr) -> Result<Vec<Local>, SocketError> {
    if via.is_empty() {
        let any: IpAddr = if remote.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        return Ok(vec![SocketAddr::new(any, 0).into()]);
    }
    via.iter().map(|name| local(name, remote.is_ipv4())).collect()
}

/// The local address of one such name.
fn local(text: &str, is_ipv4: bool) -> Result<Local, SocketError> {
    let (name, peer) = text.split_once('=').map_or((text, None), |(name, peer)| (name, Some(peer)));
    let no_peer = |peer: &str| SocketError::NoPeer { name: text.to_owned(), peer: peer.to_owned() };
    let peer = peer.map(|peer| peer.parse().map_err(|_| no_peer(peer))).transpose()?;
    if peer.is_some_and(|peer: IpAddr| peer.is_ipv4() != is_ipv4) {
        return Err(SocketError::Mixed(text.to_owned()));
    }
    let local = match name.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, 0).into(),
        Err(_) => of_interface(name, is_ipv4)?,
    };
    Ok(Local { peer, ..local })
}

/// The first address of an interface.
fn of_interface(name: &str, is_ipv4: bool) -> Result<Local, SocketError> {
    let all: Vec<_> = nix::ifaddrs::getifaddrs().map_err(SocketError::Unlisted)?.collect();
    let address = all.iter().filter(|own| own.interface_name == name).find_map(|own| {
        let address = own.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
        let v6 = address.as_sockaddr_in6().map(nix::sys::socket::SockaddrIn6::ip);
        if is_ipv4 { v4 } else { v6.filter(|ip| !ip.is_unicast_link_local()).map(IpAddr::from) }
    });
    if let Some(address) = address {
        return Ok(Local { address: SocketAddr::new(address, 0), device: Some(name.to_owned()), peer: None });
    }
    let mut known: Vec<String> = all.into_iter().map(|own| own.interface_name).collect();
    known.sort();
    known.dedup();
    Err(if known.iter().any(|other| other == name) {
        SocketError::NoAddress { name: name.to_owned(), version: if is_ipv4 { 4 } else { 6 } }
    } else {
        SocketError::UnknownInterface { name: name.to_owned(), known }
    })
}

/// The socket of a local address.
struct Own {
    io: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
}

impl Own {
    fn bind(local: &Local) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(local.address), Type::DGRAM, Some(Protocol::UDP))?;
        if local.address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        if let Some(device) = &local.device {
            socket.bind_device(Some(device.as_bytes()))?;
        }
        // What does not fit is lost; how much fits is for the kernel to say.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
        socket.set_nonblocking(true)?;
        socket.bind(&local.address.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        let io = UdpSocket::from_std(socket.into())?;
        let address = io.local_addr()?;
        Ok(Self { io, state, address })
    }

    /// Sends a packet, or drops it if there is no room.
    fn send(&self, transmit: &Transmit<'_>) {
        // What cannot be sent is lost, as it could be anywhere on the way.
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

/// The sockets of an endpoint, one for each local address.
pub struct Sockets {
    all: Arc<[Own]>,
    /// The one that is asked first what has arrived.
    turn: usize,
    /// Whether packets may be marked on their way.
    is_markable: bool,
}

impl Sockets {
    /// Sockets bound to all of these; where they are bound to is in [`Self::addresses`].
    pub async fn bind(locals: &[Local]) -> Result<Self, SocketError> {
        let first = locals.first().ok_or(SocketError::None)?;
        if locals.iter().any(|local| local.address.is_ipv4() != first.address.is_ipv4()) {
            let all: Vec<_> = locals.iter().map(|local| local.address.ip().to_string()).collect();
            return Err(SocketError::Mixed(all.join(", ")));
        }
        let mut all = Vec::new();
        for local in locals {
            let refused = |error| SocketError::Refused { address: local.address, error };
            let own = Own::bind(local).map_err(refused)?;
            // Until the reactor has seen it once, it counts as full.
            own.io.writable().await.map_err(refused)?;
            all.push(own);
        }
        Ok(Self { all: all.into(), turn: 0, is_markable: true })
    }

    /// The same, whose packets may be marked on their way or not (ECN).
    #[must_use]
    pub fn markable(self, is_markable: bool) -> Self {
        Self { is_markable, ..self }
    }

    /// Where they are bound to, with their ports.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().map(|own| own.address).collect()
    }
}

impl AsyncUdpSocket for Sockets {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender { all: self.all.clone(), is_markable: self.is_markable })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        for _ in 0..self.all.len() {
            let own = &self.all[self.turn];
            self.turn = (self.turn + 1) % self.all.len();
            match own.poll_recv(cx, bufs, meta) {
                Poll::Ready(Ok(count)) => return Poll::Ready(Ok(count)),
                // An interface that goes down says so once; the endpoint lives on with the others.
                Poll::Ready(Err(_)) => cx.waker().wake_by_ref(),
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

/// What connections send through.
struct Sender {
    all: Arc<[Own]>,
    is_markable: bool,
}

impl Sender {
    /// The socket that a packet leaves by.
    fn pick(&self, transmit: &Transmit<'_>) -> &Own {
        let of = |ip: IpAddr| self.all.iter().find(|own| own.address.ip() == ip);
        transmit.src_ip.and_then(of).unwrap_or(&self.all[0])
    }
}

impl UdpSender for Sender {
    fn poll_send(self: Pin<&mut Self>, transmit: &Transmit<'_>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Transmit { destination, ecn, contents, segment_size, src_ip } = *transmit;
        let ecn = ecn.filter(|_| self.is_markable);
        self.pick(transmit).send(&Transmit { destination, ecn, contents, segment_size, src_ip });
        Poll::Ready(Ok(()))
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
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
    use super::*;

    fn names(via: &[&str]) -> Result<Vec<Local>, SocketError> {
        let via: Vec<String> = via.iter().map(ToString::to_string).collect();
        resolve(&via, "127.0.0.1:1".parse().unwrap())
    }

    #[test]
    fn addresses_and_interfaces_are_local_addresses() {
        let locals = names(&["127.0.0.2", "lo", "127.0.0.3=192.0.2.7"]).unwrap();
        let [address, lo, peer] = ["127.0.0.2:0", "127.0.0.1:0", "127.0.0.3:0"].map(|text| text.parse().unwrap());
        assert_eq!(locals[0], Local { address, device: None, peer: None });
        assert_eq!(locals[1], Local { address: lo, device: Some("lo".to_owned()), peer: None });
        assert_eq!(locals[2], Local { address: peer, device: None, peer: Some([192, 0, 2, 7].into()) });
        assert!(names(&[]).unwrap()[0].address.ip().is_unspecified());
        let error = names(&["wlan7"]).unwrap_err().to_string();
        assert!(error.starts_with("`wlan7` is neither an address nor an interface") && error.contains("lo"), "{error}");
        let error = names(&["lo=here"]).unwrap_err().to_string();
        assert!(error.starts_with("`lo=here`: `here` is no address of the other machine"), "{error}");
        assert!(matches!(names(&["lo=::1"]), Err(SocketError::Mixed(_))));
    }

    #[tokio::test]
    async fn a_packet_leaves_by_the_socket_of_its_source_address() {
        let locals = names(&["127.0.0.1", "127.0.0.2"]).unwrap();
        let sockets = Sockets::bind(&locals).await.unwrap();
        let sender = Sender { all: sockets.all.clone(), is_markable: true };
        let from = |src_ip: Option<&str>| {
            let src_ip = src_ip.map(|ip| ip.parse().unwrap());
            let destination = "127.0.0.1:9".parse().unwrap();
            sender.pick(&Transmit { destination, ecn: None, contents: &[], segment_size: None, src_ip }).address
        };
        let [first, second] = sockets.addresses()[..] else { panic!() };
        assert_eq!((from(None), from(Some("127.0.0.1")), from(Some("127.0.0.2"))), (first, first, second));
    }

    #[tokio::test]
    async fn addresses_of_two_kinds_are_refused() {
        let locals = names(&["127.0.0.1", "::1"]).unwrap();
        assert!(matches!(Sockets::bind(&locals).await, Err(SocketError::Mixed(_))));
        let elsewhere = names(&["192.0.2.1"]).unwrap();
        let error = Sockets::bind(&elsewhere).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot send from 192.0.2.1:0: "), "{error}");
    }
}
