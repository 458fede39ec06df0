//! The near side of a tunnel: a TUN device of this machine, whose packets leave at the exit.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ipnet::IpNet;
use tokio::time::{Instant, sleep, sleep_until};

use super::capsules::{Address, Capsule};
use super::carrier::{Incoming, IpFlow, WHOLE};
use super::device::{Device, DeviceError};
use super::gateway::is_routed;
use super::packet;
use super::trouble::{Trouble, tell};
use crate::packets::capsule::MOST_DATAGRAM;
use crate::uplink::{IpTunnel, Uplink};

/// The longest wait for addresses.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between two tries to open a tunnel: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(4));

/// How a tunnel is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelState {
    /// The device of this name has these addresses.
    Up(String, Vec<IpAddr>),
    /// There is none, for this reason.
    Down(String),
}

/// The near side of a tunnel.
pub(crate) struct Tunnel {
    device: Device,
    /// The addresses that the exit has given.
    addresses: Vec<IpAddr>,
    /// The addresses that this end would like: those that the device had at first, or has had last.
    liked: Vec<IpAddr>,
    mtu: u16,
}

impl Tunnel {
    /// Opens the device.
    ///
    /// # Errors
    /// If that cannot be.
    pub fn open(name: &str) -> Result<Self, DeviceError> {
        let device = Device::open(name)?;
        let liked = device.addresses().into_iter().filter(|own| is_routed(*own)).collect();
        Ok(Self { device, addresses: Vec::new(), liked, mtu: 0 })
    }

    /// Carries packets of the device to the exit and back until the device has gone, and gives that reason.
    /// `tell` hears of each change.
    pub async fn run(mut self, uplink: Uplink, tell: impl Fn(TunnelState)) -> DeviceError {
        let (mut said, mut pause) = (None, BACK_OFF.0);
        let mut say = |state: TunnelState| {
            if said.as_ref() != Some(&state) {
                tell(state.clone());
                said = Some(state);
            }
        };
        loop {
            match uplink.open_ip(None).await {
                Ok(IpTunnel { flow, incoming, _entry: entry }) => {
                    let begun = Instant::now();
                    let outcome = self.carry(&flow, incoming, &mut say).await;
                    flow.end();
                    drop(entry);
                    match outcome {
                        Ok(()) => {}
                        // The next exit may give other addresses, and the user the right to have them.
                        Err(error @ DeviceError::SetUp { .. }) => say(TunnelState::Down(error.to_string())),
                        Err(error) => return error,
                    }
                    if begun.elapsed() > BACK_OFF.1 {
                        pause = BACK_OFF.0;
                    }
                }
                Err(reason) => say(TunnelState::Down(reason.to_string())),
            }
            sleep(pause).await;
            pause = (2 * pause).min(BACK_OFF.1);
        }
    }

    /// The addresses that this end wants: those that it had, or any.
    fn wish(&self) -> Capsule {
        let had = |is_v4: bool| self.liked.iter().copied().find(|own| own.is_ipv4() == is_v4);
        let v4 = had(true).unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let v6 = had(false).unwrap_or(Ipv6Addr::UNSPECIFIED.into());
        let all = (1..).zip([v4, v6]).map(|(request, own)| Address { request, network: own.into() });
        Capsule::Request(all.collect())
    }

    /// Carries packets over a tunnel until it ends.
    async fn carry(
        &mut self,
        flow: &IpFlow,
        mut incoming: Incoming,
        say: &mut impl FnMut(TunnelState),
    ) -> Result<(), DeviceError> {
        let (mut mtu, mut buffer) = (flow.mtu(), vec![WHOLE; 1 + MOST_DATAGRAM]);
        mtu.mark_changed();
        let mut wish = self.wish();
        flow.tell(std::slice::from_ref(&wish));
        let deadline = Instant::now() + PATIENCE;
        let mut is_assigned = false;
        loop {
            tokio::select! {
                () = flow.ended() => return Ok(()),
                Some(capsule) = incoming.capsules.recv() => {
                    // What an exit assigns before it has read the wish may be something else.
                    if let Some(addresses) = assigned(&capsule, is_assigned) {
                        is_assigned = true;
                        self.take(addresses, *mtu.borrow())?;
                        // Streams that are added ask for what there is now.
                        let next = self.wish();
                        if next != wish {
                            wish = next;
                            flow.tell(std::slice::from_ref(&wish));
                        }
                        flow.name(self.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
                        say(TunnelState::Up(self.device.name().to_owned(), self.addresses.clone()));
                    }
                }
                Ok(()) = mtu.changed(), if is_assigned => {
                    let mtu = *mtu.borrow_and_update();
                    self.take(self.addresses.clone(), mtu)?;
                }
                Some(packet) = incoming.packets.recv() => {
                    // Nobody else is reached over the device.
                    if packet::read(&packet).is_ok_and(|header| self.addresses.contains(&header.destination)) {
                        self.device.write(&packet);
                    }
                }
                read = self.device.read(&mut buffer[1..]) => self.send(flow, &mut buffer[..=read?]),
                () = sleep_until(deadline), if !is_assigned => {
                    say(TunnelState::Down("the exit gives no address".to_owned()));
                    return Ok(());
                }
            }
        }
    }

    /// Gives the device its addresses and its MTU.
    fn take(&mut self, mut addresses: Vec<IpAddr>, mtu: u16) -> Result<(), DeviceError> {
        addresses.retain(|own| self.device.can_have(*own));
        let gone = self.addresses.iter().filter(|own| !addresses.contains(own)).map(|own| IpNet::from(*own)).collect();
        self.device.set_up(mtu, addresses.iter().map(|own| IpNet::from(*own)).collect(), gone)?;
        self.liked.retain(|own| !addresses.iter().any(|other| other.is_ipv4() == own.is_ipv4()));
        self.liked.extend(&addresses);
        (self.addresses, self.mtu) = (addresses, mtu);
        Ok(())
    }

    /// Sends a packet of this machine, or of others behind it whose addresses it has translated: the kernel has counted its hops.
    fn send(&self, flow: &IpFlow, framed: &mut [u8]) {
        let Ok(header) = packet::read(&framed[1..]) else { return };
        if !self.addresses.contains(&header.source) {
            return;
        }
        if let Err(trouble @ Trouble::TooBig(_)) = flow.originate(framed, &header)
            && let Some(message) = tell(&framed[1..], &header, header.destination, trouble)
        {
            self.device.write(&message);
        }
    }
}

/// The addresses that an exit assigns, one of each kind; nothing if it says something else, or answers no request though
/// it has answered none before.
fn assigned(capsule: &Capsule, has_answered: bool) -> Option<Vec<IpAddr>> {
    let Capsule::Assign(all) = capsule else { return None };
    if !has_answered && all.iter().all(|own| own.request == 0) {
        return None;
    }
    let mut addresses: Vec<IpAddr> = Vec::new();
    for own in all.iter().filter(|own| !own.is_refused()).map(|own| own.network.addr()) {
        if is_routed(own) && !addresses.iter().any(|other| other.is_ipv4() == own.is_ipv4()) {
            addresses.push(own);
        }
    }
    Some(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_assigns_one_address_of_each_kind() {
        let address = |text: &str| Address { request: 1, network: text.parse().unwrap() };
        let all = ["10.77.0.2/32", "0.0.0.0/32", "fd00::2/128", "10.77.0.3/32", "::/128"].map(address);
        let wanted: Vec<IpAddr> = ["10.77.0.2", "fd00::2"].map(|text| text.parse().unwrap()).to_vec();
        assert_eq!(assigned(&Capsule::Assign(all.to_vec()), false), Some(wanted));
        assert_eq!(assigned(&Capsule::Assign(Vec::new()), true), Some(Vec::new()));
        assert_eq!(assigned(&Capsule::Routes(Vec::new()), true), None);
        // No device takes packets of these for others.
        let special = ["127.0.0.1/32", "ff02::1/128"].map(address);
        assert_eq!(assigned(&Capsule::Assign(special.to_vec()), false), Some(Vec::new()));
        let early = Address { request: 0, network: "10.77.0.9/32".parse().unwrap() };
        assert_eq!(assigned(&Capsule::Assign(vec![early]), false), None, "the wish is not answered");
    }
}
