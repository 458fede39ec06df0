//! Capsules by which the ends of a tunnel of IP packets tell each other of addresses and routes [rfc9484, sec. 4.7].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::BytesMut;
use ipnet::IpNet;

use crate::packets::capsule::{read_number, write_number};

/// Types of capsules.
pub const ADDRESS_ASSIGN: u64 = 1;
/// A request for addresses.
pub const ADDRESS_REQUEST: u64 = 2;
/// What can be reached.
pub const ROUTE_ADVERTISEMENT: u64 = 3;

/// The longest value of a capsule that is read.
pub const MOST_VALUE: usize = 16 << 10;

/// An address, or a network of addresses, that is assigned or asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Number of the request; 0 for what is assigned without one.
    pub request: u64,
    /// The addresses.
    pub network: IpNet,
}

impl Address {
    /// Whether the address is refused: it is all zeros, with a full prefix [rfc9484, sec. 4.7.1].
    pub fn is_refused(&self) -> bool {
        self.network.addr().is_unspecified() && self.network.prefix_len() == self.network.max_prefix_len()
    }
}

/// Addresses that can be reached by packets of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first address.
    pub first: IpAddr,
    /// The last address, of the same version.
    pub last: IpAddr,
    /// Number of the protocol; 0 for all.
    pub protocol: u8,
}

/// What one end of a tunnel tells the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capsule {
    /// All addresses that the other end has from now on.
    Assign(Vec<Address>),
    /// Addresses that this end wants.
    Request(Vec<Address>),
    /// All that can be reached over this end from now on.
    Routes(Vec<Route>),
}

/// A capsule breaks the rules, and the stream with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Capsule {
    /// Whether capsules of a type are read.
    pub fn knows(kind: u64) -> bool {
        (ADDRESS_ASSIGN..=ROUTE_ADVERTISEMENT).contains(&kind)
    }

    /// Reads the value of a capsule; nothing if its type is another.
    ///
    /// # Errors
    /// If it breaks the rules.
    pub fn read(kind: u64, value: &[u8]) -> Result<Option<Self>, Malformed> {
        Ok(Some(match kind {
            ADDRESS_ASSIGN => Self::Assign(all(value, address)?),
            ADDRESS_REQUEST => {
                let asked = all(value, address)?;
                if asked.is_empty() || asked.iter().any(|one| one.request == 0) {
                    return Err(Malformed);
                }
                Self::Request(asked)
            }
            ROUTE_ADVERTISEMENT => {
                let routes = all(value, route)?;
                if !routes.iter().zip(routes.iter().skip(1)).all(|(one, next)| comes_before(one, next)) {
                    return Err(Malformed);
                }
                Self::Routes(routes)
            }
            _ => return Ok(None),
        }))
    }

    /// Appends the capsule to some bytes.
    pub fn write(&self, to: &mut BytesMut) {
        let mut value = BytesMut::new();
        let kind = match self {
            Self::Assign(all) | Self::Request(all) => {
                for Address { request, network } in all {
                    write_number(*request, &mut value);
                    write_address(network.addr(), true, &mut value);
                    value.extend_from_slice(&[network.prefix_len()]);
                }
                if matches!(self, Self::Assign(_)) { ADDRESS_ASSIGN } else { ADDRESS_REQUEST }
            }
            Self::Routes(all) => {
                for Route { first, last, protocol } in all {
                    write_address(*first, true, &mut value);
                    write_address(*last, false, &mut value);
                    value.extend_from_slice(&[*protocol]);
                }
                ROUTE_ADVERTISEMENT
            }
        };
        write_number(kind, to);
        write_number(value.len() as u64, to);
        to.extend_from_slice(&value);
    }
}

/// An address, which has its version before it if that is not known.
fn write_address(address: IpAddr, with_version: bool, to: &mut BytesMut) {
    if with_version {
        to.extend_from_slice(&[if address.is_ipv4() { 4 } else { 6 }]);
    }
    match address {
        IpAddr::V4(address) => to.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => to.extend_from_slice(&address.octets()),
    }
}

/// Whether a route may stand before another: by version, protocol and addresses, which do not overlap.
fn comes_before(one: &Route, next: &Route) -> bool {
    let rank = |route: &Route| (route.first.is_ipv6(), route.protocol);
    rank(one) < rank(next) || (rank(one) == rank(next) && one.last < next.first)
}

/// All entries of a value.
fn all<T>(mut value: &[u8], read: impl Fn(&mut &[u8]) -> Option<T>) -> Result<Vec<T>, Malformed> {
    let mut found = Vec::new();
    while !value.is_empty() {
        found.push(read(&mut value).ok_or(Malformed)?);
    }
    Ok(found)
}

fn address(value: &mut &[u8]) -> Option<Address> {
    let (request, length) = read_number(value)?;
    *value = &value[length..];
    let version = *value.split_off_first()?;
    let address = plain_address(value, version)?;
    let network = IpNet::new(address, *value.split_off_first()?).ok()?;
    // Bits beyond the prefix are 0.
    (network.trunc() == network).then_some(Address { request, network })
}

fn route(value: &mut &[u8]) -> Option<Route> {
    let version = *value.split_off_first()?;
    let (first, last) = (plain_address(value, version)?, plain_address(value, version)?);
    let protocol = *value.split_off_first()?;
    (first <= last).then_some(Route { first, last, protocol })
}

fn plain_address(value: &mut &[u8], version: u8) -> Option<IpAddr> {
    match version {
        4 => Some(Ipv4Addr::from(*value.split_off(..4)?.first_chunk::<4>()?).into()),
        6 => Some(Ipv6Addr::from(*value.split_off(..16)?.first_chunk::<16>()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(capsule: &Capsule) -> Vec<u8> {
        let mut bytes = BytesMut::new();
        capsule.write(&mut bytes);
        bytes.to_vec()
    }

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn capsules_are_those_of_the_standard() {
        // 192.0.2.11/32 for request 1, by the layout of RFC 9484, figures 2 and 3.
        let assigned = Capsule::Assign(vec![Address { request: 1, network: net("192.0.2.11/32") }]);
        assert_eq!(written(&assigned), [1, 7, 1, 4, 192, 0, 2, 11, 32]);
        let asked = Capsule::Request(vec![Address { request: 0x40, network: net("::/128") }]);
        let mut wanted = vec![2, 20, 0x40, 0x40, 6];
        wanted.extend([0; 16]);
        wanted.push(128);
        assert_eq!(written(&asked), wanted);
        let all = Route { first: Ipv4Addr::UNSPECIFIED.into(), last: Ipv4Addr::BROADCAST.into(), protocol: 0 };
        assert_eq!(written(&Capsule::Routes(vec![all])), [3, 10, 4, 0, 0, 0, 0, 255, 255, 255, 255, 0]);
    }

    #[test]
    fn what_breaks_the_rules_is_malformed() {
        let wrong: [(u64, &[u8]); 12] = [
            (ADDRESS_ASSIGN, &[1]),
            (ADDRESS_ASSIGN, &[1, 5, 192, 0, 2, 11, 32]),
            (ADDRESS_ASSIGN, &[1, 4, 192, 0, 2, 11]),
            // The prefix is too long, or the address has bits beyond it.
            (ADDRESS_ASSIGN, &[1, 4, 192, 0, 2, 11, 33]),
            (ADDRESS_ASSIGN, &[1, 4, 192, 0, 2, 11, 24]),
            (ADDRESS_REQUEST, &[]),
            (ADDRESS_REQUEST, &[0, 4, 0, 0, 0, 0, 32]),
            (ROUTE_ADVERTISEMENT, &[4, 2, 0, 0, 0, 1, 0, 0, 0, 0]),
            (ROUTE_ADVERTISEMENT, &[4, 2, 0, 0, 0, 3, 0, 0, 0]),
            // Two that overlap, and two in the wrong order.
            (ROUTE_ADVERTISEMENT, &[4, 2, 0, 0, 0, 3, 0, 0, 0, 0, 4, 3, 0, 0, 0, 4, 0, 0, 0, 0]),
            (ROUTE_ADVERTISEMENT, &[4, 2, 0, 0, 0, 3, 0, 0, 0, 6, 4, 4, 0, 0, 0, 5, 0, 0, 0, 0]),
            (ROUTE_ADVERTISEMENT, &[4]),
        ];
        for (kind, value) in wrong {
            assert_eq!(Capsule::read(kind, value), Err(Malformed), "{kind} {value:?}");
        }
        assert_eq!(Capsule::read(ADDRESS_ASSIGN, &[]), Ok(Some(Capsule::Assign(Vec::new()))));
        assert_eq!(Capsule::read(4, &[1, 2]), Ok(None));
    }

    #[test]
    fn only_zeros_with_a_full_prefix_are_a_refusal() {
        for (network, is_refused) in [("0.0.0.0/32", true), ("::/128", true), ("0.0.0.0/0", false), ("::1/128", false)]
        {
            assert_eq!(Address { request: 1, network: net(network) }.is_refused(), is_refused, "{network}");
        }
    }

    fn addresses() -> impl Strategy<Value = Vec<Address>> {
        let one = (1..1_u64 << 62, any::<IpAddr>(), 0..=128_u8).prop_map(|(request, address, length)| {
            let most = if address.is_ipv4() { 32 } else { 128 };
            Address { request, network: IpNet::new(address, length.min(most)).unwrap().trunc() }
        });
        prop::collection::vec(one, 1..8)
    }

    proptest! {
        #[test]
        fn capsules_read_as_they_are_written(addresses in addresses(), is_request in any::<bool>()) {
            let capsule = if is_request { Capsule::Request(addresses) } else { Capsule::Assign(addresses) };
            let bytes = written(&capsule);
            let (kind, after) = read_number(&bytes).unwrap();
            let (length, more) = read_number(&bytes[after..]).unwrap();
            prop_assert_eq!(length as usize, bytes.len() - after - more);
            prop_assert_eq!(Capsule::read(kind, &bytes[after + more..]), Ok(Some(capsule)));
        }

        #[test]
        fn what_is_read_is_written_so_again(kind in 0..5_u64, value in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(Some(capsule)) = Capsule::read(kind, &value) {
                let bytes = written(&capsule);
                let (_, after) = read_number(&bytes).unwrap();
                let (_, more) = read_number(&bytes[after..]).unwrap();
                prop_assert_eq!(Capsule::read(kind, &bytes[after + more..]), Ok(Some(capsule)));
            }
        }
    }
}
