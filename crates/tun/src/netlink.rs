//! Settings of a network device: its MTU and its addresses, by messages to the kernel [rfc3549].

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use ipnet::IpNet;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, SockaddrStorage, connect, recv, send,
    socket,
};

/// Bytes of the head of a message, and of that of an attribute.
const HEAD: usize = 16;
const ATTRIBUTE_HEAD: usize = 4;

/// Room for the answer to one message.
const ANSWER: usize = 8 << 10;

/// What a device shall have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The largest packet, in bytes.
    pub mtu: u32,
    /// Addresses, each with its network.
    pub addresses: Vec<IpNet>,
    /// Addresses that it shall have no more.
    pub gone: Vec<IpNet>,
}

/// Gives a device its MTU and its addresses, and brings it up. What it has already needs no right.
///
/// # Errors
/// If there is no such device, or the kernel refuses.
pub fn set_up(name: &str, settings: &Settings) -> io::Result<()> {
    let index = if_nametoindex(name)?;
    let kernel = Kernel::new()?;
    let (addresses, is_up) = present(name)?;
    if !is_up || mtu(name) != Some(settings.mtu) {
        match kernel.ask(libc::RTM_NEWLINK, 0, &link(index, settings.mtu)) {
            // Who has no right uses a device as it is, if it is up.
            Err(error) if is_up && error.kind() == io::ErrorKind::PermissionDenied => {}
            outcome => outcome?,
        }
    }
    for network in settings.addresses.iter().filter(|own| !addresses.contains(&own.addr())) {
        let flags = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
        kernel.ask(libc::RTM_NEWADDR, flags, &address(index, network))?;
    }
    // Now only: with the last address of IPv4 the kernel drops all routes over the device.
    for network in settings.gone.iter().filter(|own| addresses.contains(&own.addr())) {
        kernel.ask(libc::RTM_DELADDR, 0, &address(index, network))?;
    }
    Ok(())
}

/// The addresses of a device.
///
/// # Errors
/// If the kernel does not tell them.
pub fn addresses_of(name: &str) -> io::Result<Vec<IpAddr>> {
    present(name).map(|(addresses, _)| addresses)
}

/// All addresses at which this machine takes packets: its own, and of each of its networks the first, at which routers answer
/// [rfc4291, sec. 2.6.1], and with IPv4 the last, which is that of all machines.
///
/// # Errors
/// If the kernel does not tell them.
pub fn addresses() -> io::Result<Vec<IpAddr>> {
    let all = getifaddrs()?.flat_map(|found| {
        let [own, broadcast, mask] =
            [found.address, found.broadcast, found.netmask].map(|address| plain(address.as_ref()?));
        let network = own.zip(mask).and_then(|(own, mask)| IpNet::with_netmask(own, mask).ok());
        let ends = network.map_or_else(Vec::new, |network| match network {
            IpNet::V4(v4) => vec![v4.network().into(), v4.broadcast().into()],
            IpNet::V6(v6) => vec![v6.network().into()],
        });
        own.into_iter().chain(broadcast).chain(ends)
    });
    Ok(all.collect())
}

fn plain(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

/// Whether a device can have addresses of IPv6, which the kernel may lack or refuse.
pub fn has_ipv6(name: &str) -> bool {
    std::fs::read_to_string(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6")).is_ok_and(|text| text.trim() == "0")
}

/// The addresses of a device, and whether it is up.
fn present(name: &str) -> io::Result<(Vec<IpAddr>, bool)> {
    let own: Vec<_> = getifaddrs()?.filter(|found| found.interface_name == name).collect();
    let addresses = own.iter().filter_map(|found| plain(found.address.as_ref()?));
    Ok((addresses.collect(), own.iter().any(|found| found.flags.contains(InterfaceFlags::IFF_UP))))
}

fn mtu(name: &str) -> Option<u32> {
    std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?.trim().parse().ok()
}

/// A socket to the kernel's routing.
struct Kernel(OwnedFd);

impl Kernel {
    fn new() -> io::Result<Self> {
        let own =
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, Some(SockProtocol::NetlinkRoute))?;
        connect(own.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self(own))
    }

    /// Sends a message, and waits for the answer.
    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        send(self.0.as_raw_fd(), &message(kind, flags, body), MsgFlags::empty())?;
        let mut answer = [0; ANSWER];
        let length = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        read_answer(&answer[..length])
    }
}

fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend(u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    // The number of the message, and the sender, which the kernel knows.
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

/// What an answer says: it is an error, of which 0 is none.
fn read_answer(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    let code = answer.get(HEAD..HEAD + 4).map(|code| i32::from_ne_bytes([code[0], code[1], code[2], code[3]]));
    match (kind.map(i32::from), code) {
        (Some(libc::NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(libc::NLMSG_ERROR), Some(code)) => Err(Errno::from_raw(code.saturating_neg()).into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer cannot be read")),
    }
}

fn attribute(kind: u16, value: &[u8], to: &mut Vec<u8>) {
    to.extend(u16::try_from(ATTRIBUTE_HEAD + value.len()).unwrap_or(u16::MAX).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// A device that is up, with an MTU.
fn link(index: u32, mtu: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(index.to_ne_bytes());
    // Its flags, and which of them change.
    body.extend([libc::IFF_UP as u32; 2].map(u32::to_ne_bytes).concat());
    attribute(libc::IFLA_MTU, &mtu.to_ne_bytes(), &mut body);
    body
}

/// An address of a device, in its network. There is nobody else on the link who could have it.
fn address(index: u32, network: &IpNet) -> Vec<u8> {
    let (family, bytes) = match network.addr() {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let flags = if network.addr().is_ipv6() { libc::IFA_F_NODAD as u8 } else { 0 };
    let mut body = vec![family as u8, network.prefix_len(), flags, 0];
    body.extend(index.to_ne_bytes());
    for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
        attribute(kind, &bytes, &mut body);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_the_kernel_reads_them() {
        let body = address(7, &"10.77.0.1/16".parse().unwrap());
        // IFA_LOCAL is 2 and IFA_ADDRESS 1; each has 4 bytes of head and 4 of address.
        let mut wanted = vec![2, 16, 0, 0];
        wanted.extend(7_u32.to_ne_bytes());
        for kind in [2_u16, 1] {
            wanted.extend([8_u16, kind].map(u16::to_ne_bytes).concat());
            wanted.extend([10, 77, 0, 1]);
        }
        assert_eq!(body, wanted);
        let whole = message(libc::RTM_NEWADDR, 5, &body);
        assert_eq!(whole.len(), 16 + 24);
        assert_eq!(whole[..4], 40_u32.to_ne_bytes());
        assert_eq!(whole[4..8], [20_u16, 5].map(u16::to_ne_bytes).concat());
    }

    #[test]
    fn answers_are_errors_of_which_one_is_none() {
        let answer = |kind: u16, code: i32| {
            let mut bytes = message(kind, 0, &code.to_ne_bytes());
            bytes.extend([0; 16]);
            read_answer(&bytes)
        };
        assert!(answer(2, 0).is_ok());
        assert_eq!(answer(2, -1).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(answer(2, i32::MIN).is_err());
        assert!(answer(3, 0).is_err());
        assert!(read_answer(&[2; 7]).is_err());
    }

    #[test]
    fn the_loopback_device_has_its_address() {
        let (addresses, _) = present("lo").unwrap();
        // A namespace may have it down, and then without addresses.
        assert!(addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
        assert!(set_up("no-such-device", &Settings::default()).is_err());
    }
}
