//! The far side of tunnels: packets of clients pass to a TUN device if rules allow them, and those from there to the client
//! whose address they have.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use ipnet::IpNet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Tun;
use super::capsules::{Address, Capsule, Route};
use super::carrier::{Incoming, IpFlow, WHOLE, framed};
use super::device::{Device, DeviceError, own_addresses};
use super::packet::{self, Header};
use super::path::Scope;
use super::pool::{NetworkError, Pool};
use super::trouble::{Messages, Trouble, tell};
use crate::packets::capsule::MOST_DATAGRAM;
use crate::rules::Rules;
use crate::unreached::Unreached;

/// The largest packet of the device: what does not fit into a tunnel is answered here.
const MTU: u16 = 1500;

/// Time between looks at the addresses of this machine.
const LOOK: Duration = Duration::from_secs(1);

/// The most addresses for which a client asks at a time; a request for more is not answered.
const MOST_ASKED: usize = 16;

/// The reason why there can be no tunnels.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum GatewayError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// The far side of all tunnels of an exit.
pub(crate) struct Gateway {
    device: Device,
    table: Table,
}

/// Who has which address.
struct Table {
    pool: Mutex<Pool>,
    /// The addresses of the device, one for each kind of packets.
    own: Vec<IpNet>,
    guests: RwLock<HashMap<IpAddr, Weak<IpFlow>>>,
    /// The addresses of this machine.
    machine: RwLock<HashSet<IpAddr>>,
    /// Messages to others about packets to clients.
    messages: Mutex<Messages>,
}

impl Gateway {
    /// Opens the device, and gives it the first address of each network. A machine without IPv6 serves IPv4 alone.
    ///
    /// # Errors
    /// If that cannot be.
    pub fn open(tun: &Tun) -> Result<Arc<Self>, GatewayError> {
        Pool::new(&tun.networks)?;
        let device = Device::open(&tun.name)?;
        let networks: Vec<IpNet> = tun.networks.iter().copied().filter(|own| device.can_have(own.addr())).collect();
        let table = Table::new(&networks)?;
        device.set_up(MTU, table.own.clone(), Vec::new())?;
        let machine = own_addresses().map_err(|error| DeviceError::SetUp { name: tun.name.clone(), error })?;
        *table.machine.write().unwrap_or_else(PoisonError::into_inner) = machine.into_iter().collect();
        Ok(Arc::new(Self { device, table }))
    }

    /// Passes packets from the device to clients until the device has gone.
    ///
    /// # Errors
    /// When it has.
    pub async fn run(&self) -> Result<(), DeviceError> {
        let looking = async {
            let mut tick = interval(LOOK);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tick.tick().await;
                // Where the system does not tell them, the former ones count.
                if let Ok(own) = own_addresses() {
                    *self.table.machine.write().unwrap_or_else(PoisonError::into_inner) = own.into_iter().collect();
                }
            }
        };
        let passing = async {
            let mut packet = vec![WHOLE; 1 + MOST_DATAGRAM];
            loop {
                let length = self.device.read(&mut packet[1..]).await?;
                if let Some(message) = self.table.inward(&mut packet[..=length]) {
                    self.device.write(&message);
                }
            }
        };
        tokio::select! {
            () = looking => Ok(()),
            ended = passing => ended,
        }
    }

    /// Serves a tunnel until its end: gives it addresses, and passes its packets to the device.
    ///
    /// # Errors
    /// If no address is left.
    pub fn host(
        self: &Arc<Self>,
        flow: &Arc<IpFlow>,
        mut incoming: Incoming,
        (rules, scope): (Rules, Scope),
    ) -> Result<impl Future<Output = ()> + Send + 'static, Unreached> {
        let guest = self.table.admit(flow, rules, scope).ok_or(Unreached::Busy)?;
        let gateway = self.clone();
        Ok(async move {
            let mut guest = Leaving { guest, table: &gateway.table };
            let flow = guest.guest.flow.clone();
            let work = async {
                loop {
                    tokio::select! {
                        Some(packet) = incoming.packets.recv() => match gateway.table.outward(&mut guest.guest, &packet) {
                            Outward::Pass => gateway.device.write(&packet),
                            Outward::Tell(message) => flow.send(&framed(&message), 0),
                            Outward::Drop => {}
                        },
                        Some(capsule) = incoming.capsules.recv() => gateway.table.answer(&mut guest.guest, &capsule),
                        else => return,
                    }
                }
            };
            tokio::select! {
                () = work => {}
                () = flow.forsaken() => {}
                () = flow.ended() => {}
            }
            flow.end();
        })
    }
}

/// A client with a tunnel.
struct Guest {
    flow: Arc<IpFlow>,
    addresses: Vec<Address>,
    rules: Rules,
    scope: Scope,
    messages: Messages,
}

/// A guest whose addresses are free when it has gone.
struct Leaving<'a> {
    guest: Guest,
    table: &'a Table,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        for address in self.guest.held() {
            self.table.free(address);
        }
    }
}

/// What becomes of a packet of a client.
#[derive(Debug, PartialEq, Eq)]
enum Outward {
    Pass,
    /// The client hears why it does not go on.
    Tell(Vec<u8>),
    Drop,
}

impl Guest {
    /// The addresses that it has.
    fn held(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().filter(|own| !own.is_refused()).map(|own| own.network.addr())
    }

    /// Tells it what it has, and what it reaches.
    fn tell(&self) {
        let routes = routes(&self.rules, &self.scope, &self.held().collect::<Vec<_>>());
        self.flow.tell(&[Capsule::Assign(self.addresses.clone()), Capsule::Routes(routes)]);
        self.flow.name(self.held().map(|own| own.to_string()).collect::<Vec<_>>().join(", "));
    }
}

/// The addresses to which some packets of a client go on.
fn routes(rules: &Rules, scope: &Scope, held: &[IpAddr]) -> Vec<Route> {
    let within = |network: IpNet| match scope.network {
        Some(asked) if network.contains(&asked) => Some(asked),
        Some(asked) if !asked.contains(&network) => None,
        _ => Some(network),
    };
    let mut networks: Vec<IpNet> = rules.networks().into_iter().filter_map(within).collect();
    networks.retain(|network| held.iter().any(|own| own.is_ipv4() == network.addr().is_ipv4()));
    networks.sort_by_key(|network| (network.addr().is_ipv6(), network.network()));
    let protocol = scope.protocol.unwrap_or(0);
    let route = |network: IpNet| Route { first: network.network(), last: network.broadcast(), protocol };
    networks.into_iter().map(route).collect()
}

/// Whether an address is of one machine, which others can reach over a router.
pub(super) fn is_routed(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !(v4.is_unspecified() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast() || v4.is_broadcast())
        }
        IpAddr::V6(v6) => {
            !(v6.is_unspecified()
                || v6.is_loopback()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.to_ipv4_mapped().is_some())
        }
    }
}

impl Table {
    fn new(networks: &[IpNet]) -> Result<Self, NetworkError> {
        let pool = Pool::new(networks)?;
        let own = pool.own();
        Ok(Self {
            pool: Mutex::new(pool),
            own,
            guests: RwLock::default(),
            machine: RwLock::default(),
            messages: Mutex::default(),
        })
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, address: IpAddr, flow: &Arc<IpFlow>) {
        self.guests.write().unwrap_or_else(PoisonError::into_inner).insert(address, Arc::downgrade(flow));
    }

    fn free(&self, address: IpAddr) {
        self.guests.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
        self.pool().give_back(address);
    }

    /// Gives a client addresses; nothing if there is none.
    fn admit(&self, flow: &Arc<IpFlow>, rules: Rules, scope: Scope) -> Option<Guest> {
        let taken = self.pool().take();
        if taken.is_empty() {
            return None;
        }
        let addresses = taken.iter().map(|own| Address { request: 0, network: (*own).into() }).collect();
        for own in &taken {
            self.enter(*own, flow);
        }
        let guest = Guest { flow: flow.clone(), addresses, rules, scope, messages: Messages::default() };
        guest.tell();
        Some(guest)
    }

    /// Answers a client that asks for addresses: with one of each kind, the one that it names if nobody has it.
    fn answer(&self, guest: &mut Guest, capsule: &Capsule) {
        // What a client assigns, or can reach itself, is of no use here.
        let Capsule::Request(asked) = capsule else { return };
        if asked.len() > MOST_ASKED {
            return;
        }
        let mut held: Vec<IpAddr> = guest.held().collect();
        let mut answers: Vec<Address> = Vec::new();
        for Address { request, network } in asked {
            let wanted = network.addr();
            let is_same = |own: &IpAddr| own.is_ipv4() == wanted.is_ipv4();
            let is_taken = answers.iter().any(|given| !given.is_refused() && is_same(&given.network.addr()));
            let own = held.iter_mut().find(|own| is_same(own)).filter(|_| !is_taken);
            let given = match own {
                Some(own) => {
                    if *own != wanted && self.pool().take_this(wanted) {
                        self.enter(wanted, &guest.flow);
                        self.free(std::mem::replace(own, wanted));
                    }
                    (*own).into()
                }
                None => refusal(wanted),
            };
            answers.push(Address { request: *request, network: given });
        }
        for own in held {
            if !answers.iter().any(|given| given.network.addr() == own) {
                answers.push(Address { request: 0, network: own.into() });
            }
        }
        guest.addresses = answers;
        guest.tell();
    }

    /// What becomes of a packet of a client. Its hops stay: the kernel that routes it counts.
    fn outward(&self, guest: &mut Guest, packet: &[u8]) -> Outward {
        let Ok(header) = packet::read(packet) else { return Outward::Drop };
        if !guest.held().any(|own| own == header.source) || !is_routed(header.destination) {
            return Outward::Drop;
        }
        if self.allows(guest, &header) {
            return Outward::Pass;
        }
        let from = self.own.iter().map(IpNet::addr).find(|own| own.is_ipv4() == header.source.is_ipv4());
        from.filter(|_| guest.messages.may_tell(Instant::now()))
            .and_then(|from| tell(packet, &header, from, Trouble::Prohibited))
            .map_or(Outward::Drop, Outward::Tell)
    }

    fn allows(&self, guest: &Guest, header: &Header) -> bool {
        let (to, port) = (header.destination, header.ports.map(|(_, port)| port));
        let is_own = self.machine.read().unwrap_or_else(PoisonError::into_inner).contains(&to);
        guest.scope.has(header)
            && guest.rules.allow_packets(to, port)
            && (!is_own || guest.rules.name_packets(to, port))
    }

    /// Carries a packet from the device, with its context before it, to the client whose address it has; what to tell its source
    /// if it does not go on. The message has the client's address: the kernel takes none that seems to come from itself.
    fn inward(&self, framed: &mut [u8]) -> Option<Vec<u8>> {
        let header = packet::read(&framed[1..]).ok()?;
        let flow = self.guests.read().unwrap_or_else(PoisonError::into_inner).get(&header.destination)?.upgrade()?;
        if !is_routed(header.source) {
            return None;
        }
        let trouble = flow.forward(framed, &header).err()?;
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if !messages.may_tell(Instant::now()) {
            return None;
        }
        tell(&framed[1..], &header, header.destination, trouble)
    }
}

/// No address of a kind.
fn refusal(wanted: IpAddr) -> IpNet {
    match wanted {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED).into(),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::{v4, v6};
    use super::*;
    use crate::meter::Limits;
    use crate::rules::Rule;

    const PORTS: [u8; 8] = [0x30, 0x39, 0, 80, 0, 8, 0, 0];

    fn table() -> Table {
        Table::new(&["10.77.0.0/24".parse().unwrap(), "fd00:77::/64".parse().unwrap()]).unwrap()
    }

    fn admitted(table: &Table, rules: &[&str]) -> (Guest, Incoming) {
        let (flow, incoming) = IpFlow::new(Limits::default());
        let rules: Vec<Rule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let rules = if rules.is_empty() { Rules::default() } else { rules.into_iter().collect() };
        (table.admit(&flow, rules, Scope::default()).unwrap(), incoming)
    }

    fn held(guest: &Guest) -> Vec<String> {
        guest.held().map(|own| own.to_string()).collect()
    }

    #[tokio::test]
    async fn packets_pass_from_own_addresses_to_those_that_rules_allow() {
        let table = table();
        let (mut guest, _incoming) = admitted(&table, &[]);
        assert_eq!(held(&guest), ["10.77.0.2", "fd00:77::2"]);
        let mut outward = |packet: Vec<u8>| table.outward(&mut guest, &packet);
        assert_eq!(outward(v4("10.77.0.2", "8.8.8.8", 17, &PORTS)), Outward::Pass);
        assert_eq!(outward(v6("fd00:77::2", "2606:4700::1", 58, &[128, 0, 0, 0])), Outward::Pass);
        // The address of another, and packets to no single machine, or to one that routers do not reach.
        assert_eq!(outward(v4("10.77.0.3", "8.8.8.8", 17, &PORTS)), Outward::Drop);
        for group in ["224.0.0.1", "255.255.255.255", "169.254.1.1", "0.0.0.0", "127.0.0.1"] {
            assert_eq!(outward(v4("10.77.0.2", group, 17, &PORTS)), Outward::Drop, "{group}");
        }
        for group in ["ff02::1", "fe80::1", "::1", "::ffff:8.8.8.8"] {
            assert_eq!(outward(v6("fd00:77::2", group, 17, &PORTS)), Outward::Drop, "{group}");
        }
        assert_eq!(outward(vec![0; 40]), Outward::Drop);
        let Outward::Tell(message) = outward(v4("10.77.0.2", "10.1.0.1", 6, &PORTS)) else { panic!() };
        let header = packet::read(&message).unwrap();
        assert_eq!(
            (header.source.to_string(), header.destination.to_string()),
            ("10.77.0.1".into(), "10.77.0.2".into())
        );
        assert_eq!(message[20..22], [3, 13]);
    }

    #[tokio::test]
    async fn addresses_of_the_exit_need_a_rule_that_names_them() {
        let table = table();
        *table.machine.write().unwrap() = HashSet::from(["8.8.8.8".parse().unwrap()]);
        let packet = v4("10.77.0.2", "8.8.8.8", 17, &PORTS);
        let (mut guest, _incoming) = admitted(&table, &["public"]);
        assert!(matches!(table.outward(&mut guest, &packet), Outward::Tell(_)));
        guest.rules = ["public", "8.8.8.8:80"].iter().map(|rule| rule.parse::<Rule>().unwrap()).collect();
        assert_eq!(table.outward(&mut guest, &packet), Outward::Pass);
    }

    #[tokio::test]
    async fn a_client_hears_of_few_packets_that_do_not_go_on() {
        let table = table();
        let (mut guest, _incoming) = admitted(&table, &[]);
        let packet = v4("10.77.0.2", "10.1.0.1", 6, &PORTS);
        let told = (0..1000).filter(|_| table.outward(&mut guest, &packet) != Outward::Drop).count();
        assert!((100..=200).contains(&told), "{told}");
    }

    #[tokio::test]
    async fn a_client_has_the_address_that_it_asks_for_if_nobody_has_it() {
        let table = table();
        let (mut guest, _incoming) = admitted(&table, &[]);
        let (other, _other) = admitted(&table, &[]);
        let ask = |all: &[&str]| {
            let asked = (1..).zip(all).map(|(request, text)| Address { request, network: text.parse().unwrap() });
            Capsule::Request(asked.collect())
        };
        table.answer(&mut guest, &ask(&["10.77.0.9/32", "::/128"]));
        assert_eq!(held(&guest), ["10.77.0.9", "fd00:77::2"]);
        assert_eq!(guest.addresses.iter().map(|own| own.request).collect::<Vec<_>>(), [1, 2]);
        // The client asks for the address of another client, and for two addresses of IPv4: it gets one, and the second is refused.
        table.answer(&mut guest, &ask(&["10.77.0.3/32", "0.0.0.0/32"]));
        assert_eq!(held(&guest), ["10.77.0.9", "fd00:77::2"]);
        assert!(guest.addresses[1].is_refused());
        let guests = table.guests.read().unwrap();
        let mut all: Vec<String> = guests.keys().map(ToString::to_string).collect();
        all.sort();
        assert_eq!(all, ["10.77.0.3", "10.77.0.9", "fd00:77::2", "fd00:77::3"]);
        drop(guests);
        drop(Leaving { guest, table: &table });
        assert_eq!(table.guests.read().unwrap().len(), 2);
        drop(Leaving { guest: other, table: &table });
        assert!(table.guests.read().unwrap().is_empty());
    }

    #[tokio::test]
    async fn packets_from_the_device_find_their_client_or_an_answer() {
        let table = table();
        let (guest, _incoming) = admitted(&table, &[]);
        let inward = |packet: &[u8]| table.inward(&mut framed(packet));
        let fits = v4("8.8.8.8", "10.77.0.2", 17, &[0; 1200]);
        assert_eq!(inward(&fits), None);
        assert_eq!(inward(&v4("8.8.8.8", "10.77.0.9", 17, &[0; 1300])), None, "nobody has the address");
        // 1280 bytes fit, as no line is known.
        let message = inward(&v4("8.8.8.8", "10.77.0.2", 17, &[0; 1300])).unwrap();
        assert_eq!((&message[20..22], &message[26..28]), (&[3, 4][..], &1280_u16.to_be_bytes()[..]));
        let header = packet::read(&message).unwrap();
        assert_eq!((header.source.to_string(), header.destination.to_string()), ("10.77.0.2".into(), "8.8.8.8".into()));
        let mut last = v6("2606:4700::1", "fd00:77::2", 17, &PORTS);
        last[7] = 1;
        assert_eq!(inward(&last).unwrap()[40], 3, "it has no hops left");
        assert_eq!(inward(&v6("fe80::1", "fd00:77::2", 17, &PORTS)), None);
        assert!(!guest.flow.has_ended());
    }

    #[test]
    fn routes_are_what_rules_and_the_request_have_in_common() {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse::<Rule>().unwrap()).collect::<Rules>();
        let held = ["10.77.0.2".parse().unwrap()];
        let shown = |rules: &Rules, scope: Scope| -> Vec<String> {
            routes(rules, &scope, &held)
                .iter()
                .map(|own| format!("{}-{}/{}", own.first, own.last, own.protocol))
                .collect()
        };
        assert_eq!(shown(&Rules::default(), Scope::default()), ["0.0.0.0-255.255.255.255/0"]);
        let own = rules(&["192.168.0.0/16:22", "10.0.0.0/8", "fd00::/8"]);
        assert_eq!(shown(&own, Scope::default()), ["10.0.0.0-10.255.255.255/0", "192.168.0.0-192.168.255.255/0"]);
        let scope = Scope { network: Some("10.3.0.0/16".parse().unwrap()), protocol: Some(17) };
        assert_eq!(shown(&own, scope), ["10.3.0.0-10.3.255.255/17"]);
    }
}
