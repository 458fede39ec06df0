//! The door for connections that this machine redirects: programs know nothing of the proxy.
//!
//! Rules of the kernel bring connections here, by `redirect` or by `tproxy`; both tell where a connection was to go. One
//! that nobody redirected is closed, so that nobody can use the door by its address.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};

use crate::target::Target;
use crate::uplink::Uplink;

/// Lets a listener take connections to any address, if this program may: `tproxy` needs that, `redirect` does not.
pub(super) fn open(listener: &TcpListener) {
    let socket = SockRef::from(listener);
    let is_v4 = listener.local_addr().is_ok_and(|address| address.is_ipv4());
    let _ = if is_v4 { socket.set_ip_transparent_v4(true) } else { socket.set_ip_transparent_v6(true) };
}

/// Serves a connection.
pub(super) async fn serve(stream: TcpStream, port: u16, uplink: &Uplink) {
    let target = target(&stream, port).map(Target::from);
    let opened = match &target {
        Some(target) => uplink.open(target).await.ok(),
        None => None,
    };
    let Some(tunnel) = opened else {
        // To the program the target refuses the connection. An error shows that the program is gone already.
        let _ = stream.set_zero_linger();
        return;
    };
    tunnel.join(stream).await;
}

/// Where a connection was to go; nothing if it was to go to the door.
fn target(stream: &TcpStream, port: u16) -> Option<SocketAddr> {
    let here = canonical(stream.local_addr().ok()?);
    let socket = SockRef::from(stream);
    let original = if here.is_ipv4() { socket.original_dst_v4() } else { socket.original_dst_v6() };
    let original = original.ok().and_then(|address| address.as_socket()).map(canonical);
    // With `tproxy` the connection has the address of the target itself.
    let is_of_target = || here.port() != port || !is_own(here.ip());
    original.filter(|original| *original != here).or_else(|| is_of_target().then_some(here))
}

/// An address of IPv4 as such: a door at `[::]` has it as one of IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether an address is one of this machine, as far as that can be told.
fn is_own(ip: IpAddr) -> bool {
    !matches!(UdpSocket::bind((ip, 0)), Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable)
}
