//! The addresses that an exit gives to clients: one of each network, and no two clients the same.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// The longest prefix of IPv4 and IPv6: the network, the exit, a client and, with IPv4, all of them.
const MOST_PREFIX: (u8, u8) = (30, 126);

/// The networks of a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NetworkError {
    #[error("a device needs a network of addresses for its clients, such as 10.77.0.0/16")]
    None,
    #[error("{0} and {1} are of one kind; a device has one network of IPv4 and one of IPv6 at the most")]
    Twice(IpNet, IpNet),
    #[error("{0} is too small: there is no address for a client beside that of the exit")]
    Small(IpNet),
    #[error("{0} is no network of single machines")]
    Special(IpNet),
}

/// A network, and the addresses of it that clients have.
#[derive(Debug)]
struct Range {
    network: IpNet,
    used: HashSet<IpAddr>,
    /// What the next search begins after: an address that was given back rests until all others have had their turn.
    last: u128,
}

/// The networks of a device.
#[derive(Debug)]
pub(super) struct Pool(Vec<Range>);

impl Pool {
    /// One network of each kind at the most.
    ///
    /// # Errors
    /// If there is none, two are of one kind, or one is too small.
    pub fn new(networks: &[IpNet]) -> Result<Self, NetworkError> {
        if networks.is_empty() {
            return Err(NetworkError::None);
        }
        let mut ranges: Vec<Range> = Vec::new();
        for network in networks.iter().map(IpNet::trunc) {
            if let Some(same) = ranges.iter().find(|own| own.network.addr().is_ipv4() == network.addr().is_ipv4()) {
                return Err(NetworkError::Twice(same.network, network));
            }
            let most = if network.addr().is_ipv4() { MOST_PREFIX.0 } else { MOST_PREFIX.1 };
            if network.prefix_len() > most {
                return Err(NetworkError::Small(network));
            }
            let address = network.addr();
            if address.is_multicast() || address.is_loopback() || address.is_unspecified() {
                return Err(NetworkError::Special(network));
            }
            ranges.push(Range { network, used: HashSet::new(), last: 1 });
        }
        Ok(Self(ranges))
    }

    /// The addresses of the exit, each with its network.
    pub fn own(&self) -> Vec<IpNet> {
        let own = |range: &Range| IpNet::new(range.at(1), range.network.prefix_len()).ok();
        self.0.iter().filter_map(own).collect()
    }

    /// An address of each network; of one that has none left there is none.
    pub fn take(&mut self) -> Vec<IpAddr> {
        self.0.iter_mut().filter_map(Range::take).collect()
    }

    /// Takes an address that a client asks for, if nobody has it.
    pub fn take_this(&mut self, address: IpAddr) -> bool {
        self.0.iter_mut().any(|range| range.serves(address) && range.used.insert(address))
    }

    /// Takes an address back.
    pub fn give_back(&mut self, address: IpAddr) {
        for range in &mut self.0 {
            range.used.remove(&address);
        }
    }
}

impl Range {
    /// The address with a number in the network.
    fn at(&self, number: u128) -> IpAddr {
        match self.network.network() {
            IpAddr::V4(first) => Ipv4Addr::from(u32::from(first).wrapping_add(number as u32)).into(),
            IpAddr::V6(first) => Ipv6Addr::from(u128::from(first).wrapping_add(number)).into(),
        }
    }

    /// Number of the last address that a client may have: with IPv4 the very last is that of all.
    fn end(&self) -> u128 {
        let bits = u32::from(self.network.max_prefix_len() - self.network.prefix_len());
        let all = 1_u128.checked_shl(bits).map_or(u128::MAX, |count| count - 1);
        all - u128::from(self.network.addr().is_ipv4())
    }

    /// Whether a client may have an address: not those of the network and of the exit.
    fn serves(&self, address: IpAddr) -> bool {
        self.network.contains(&address) && address > self.at(1) && address <= self.at(self.end())
    }

    fn take(&mut self) -> Option<IpAddr> {
        if self.used.len() as u128 >= self.end() - 1 {
            return None;
        }
        // One of these is free, as no more than that are used.
        for _ in 0..=self.used.len() {
            self.last = if self.last >= self.end() { 2 } else { self.last + 1 };
            let address = self.at(self.last);
            if self.used.insert(address) {
                return Some(address);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pool(texts: &[&str]) -> Result<Pool, NetworkError> {
        Pool::new(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>())
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn clients_have_one_address_of_each_network_until_there_are_none() {
        let mut pool = pool(&["10.77.0.0/29", "fd00:77::/64"]).unwrap();
        assert_eq!(pool.own(), ["10.77.0.1/29".parse().unwrap(), "fd00:77::1/64".parse::<IpNet>().unwrap()]);
        assert_eq!(pool.take(), [ip("10.77.0.2"), ip("fd00:77::2")]);
        // 10.77.0.3 to .6 are left; .7 is that of all.
        for last in 3..=6 {
            assert_eq!(pool.take()[0], ip(&format!("10.77.0.{last}")));
        }
        assert_eq!(pool.take(), [ip("fd00:77::7")]);
        pool.give_back(ip("10.77.0.4"));
        assert_eq!(pool.take()[0], ip("10.77.0.4"));
    }

    #[test]
    fn a_client_has_the_address_that_it_had_if_nobody_has_it_now() {
        let mut pool = pool(&["10.77.0.0/24"]).unwrap();
        assert!(pool.take_this(ip("10.77.0.9")));
        for refused in ["10.77.0.9", "10.77.0.0", "10.77.0.1", "10.77.0.255", "10.78.0.2", "fd00::2"] {
            assert!(!pool.take_this(ip(refused)), "{refused}");
        }
        // One that was given back rests.
        let first = pool.take()[0];
        pool.give_back(first);
        assert_ne!(pool.take()[0], first);
        assert!(pool.take_this(first));
    }

    #[test]
    fn networks_that_cannot_serve_are_refused() {
        assert_eq!(pool(&[]).unwrap_err(), NetworkError::None);
        assert!(matches!(pool(&["10.0.0.0/24", "10.1.0.0/24"]), Err(NetworkError::Twice(..))));
        assert!(matches!(pool(&["10.0.0.0/31"]), Err(NetworkError::Small(_))));
        assert!(matches!(pool(&["fd00::/127"]), Err(NetworkError::Small(_))));
        assert!(matches!(pool(&["224.0.0.0/8"]), Err(NetworkError::Special(_))));
        assert!(pool(&["fd00::/126"]).is_ok());
        assert_eq!(pool(&["2000::/3"]).unwrap().take(), [ip("2000::2")]);
    }

    proptest! {
        #[test]
        fn no_two_clients_have_the_same_address(steps in prop::collection::vec((any::<bool>(), 0..12_usize), 0..60)) {
            let mut pool = pool(&["192.168.3.16/28"]).unwrap();
            let mut held: Vec<IpAddr> = Vec::new();
            for (takes, which) in steps {
                if takes {
                    let new = pool.take();
                    prop_assert!(new.iter().all(|new| !held.contains(new)));
                    // 16 addresses, without those of the network, the exit and all.
                    prop_assert!(!new.is_empty() || held.len() == 13);
                    held.extend(new);
                } else if which < held.len() {
                    pool.give_back(held.swap_remove(which));
                }
            }
        }
    }
}
