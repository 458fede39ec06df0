//! Local addresses, written as addresses or interfaces, and the errors of their sockets.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::Socket;

/// A local address of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Address; the unspecified address stands for any.
    pub address: SocketAddr,
    /// Interface by which packets leave, whatever the routes say.
    pub device: Option<String>,
    /// The only address of the peer that is reached from here; `None` for all of its addresses.
    pub peer: Option<IpAddr>,
}

impl From<SocketAddr> for Local {
    fn from(address: SocketAddr) -> Self {
        Self { address, device: None, peer: None }
    }
}

impl Local {
    /// Binds a socket to the interface, if there is one.
    #[cfg(target_os = "linux")]
    pub(crate) fn bind_device(&self, socket: &Socket) -> io::Result<()> {
        self.device.as_ref().map_or(Ok(()), |device| socket.bind_device(Some(device.as_bytes())))
    }

    /// Binds a socket to the interface, if there is one: only Linux knows interfaces by their names.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn bind_device(&self, socket: &Socket) -> io::Result<()> {
        let Some(device) = &self.device else { return Ok(()) };
        let index = std::num::NonZeroU32::new(nix::net::if_::if_nametoindex(device.as_str())?);
        if self.address.is_ipv6() {
            socket.bind_device_by_index_v6(index)
        } else {
            socket.bind_device_by_index_v4(index)
        }
    }
}

/// The reason why a socket cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// A text is neither an address nor an interface.
    #[error("`{name}` is neither an address nor an interface of this machine; there are {}", known.join(", "))]
    UnknownInterface {
        /// Text that was given.
        name: String,
        /// Names of the interfaces.
        known: Vec<String>,
    },
    /// The interface has no suitable address.
    #[error("interface `{name}` has no IPv{version} address")]
    NoAddress {
        /// Name of the interface.
        name: String,
        /// IP version of the wanted address.
        version: u8,
    },
    /// The text after `=` is not an address of the peer.
    #[error("`{name}`: `{peer}` is no address of the other machine; one is written as in eth0=192.0.2.7")]
    NoPeer {
        /// Text that was given.
        name: String,
        /// Text after the sign.
        peer: String,
    },
    /// One connection has both IPv4 and IPv6 addresses.
    #[error("local addresses are of IPv4 and IPv6 ({0}); those of a connection must be of one kind")]
    Mixed(String),
    /// Two local addresses are equal.
    #[error("local address {0} is there twice; each path needs an address, a port or a peer of its own")]
    Twice(IpAddr),
    /// There is no address.
    #[error("a connection needs a local address")]
    None,
    /// The kernel refuses.
    #[error("cannot send from {address}: {error}")]
    Refused {
        /// Local address.
        address: SocketAddr,
        /// Error of the kernel.
        error: io::Error,
    },
    /// The interface leads out of this machine, and the address does not.
    #[error(
        "interface `{name}` cannot reach {address}, an address that this machine has for itself; leave out `--via`, or \
         use another address of the server"
    )]
    Loopback {
        /// Name of the interface.
        name: String,
        /// Address of the server.
        address: IpAddr,
    },
    /// The interfaces cannot be listed.
    #[error("cannot list the interfaces of this machine: {0}")]
    Unlisted(nix::Error),
}

/// Finds local addresses from which to send to an address like `remote`.
///
/// Each is written as an address or as the name of an interface. With `=` and an address of the peer after it, it is
/// used for that address only.
pub fn resolve(via: &[String], remote: SocketAddr) -> Result<Vec<Local>, SocketError> {
    if via.is_empty() {
        let any: IpAddr = if remote.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        return Ok(vec![SocketAddr::new(any, 0).into()]);
    }
    let find = |name: &String| {
        let local = local(name, remote.is_ipv4())?;
        let address = local.peer.unwrap_or(remote.ip());
        match &local.device {
            Some(device) if address.is_loopback() && !local.address.ip().is_loopback() => {
                Err(SocketError::Loopback { name: device.clone(), address })
            }
            _ => Ok(local),
        }
    };
    via.iter().map(find).collect()
}

/// Checks that each local address is written as an address, or names an interface of this machine.
///
/// # Errors
/// If one does not.
pub fn check_names(via: &[String]) -> Result<(), SocketError> {
    for text in via {
        let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
        if name.parse::<IpAddr>().is_err() {
            match of_interface(name, true) {
                Ok(_) | Err(SocketError::NoAddress { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Finds the local address that a text means.
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn names(via: &[&str]) -> Result<Vec<Local>, SocketError> {
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
}
