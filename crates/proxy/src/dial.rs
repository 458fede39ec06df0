//! Connections of an exit to targets: names are resolved here, and only allowed addresses are tried [rfc8305].

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpStream, UdpSocket, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::rules::Rules;
use crate::target::{Host, Target};
use crate::unreached::Unreached;

/// The longest wait for the addresses of a name.
const LOOKUP_TIME: Duration = Duration::from_secs(5);

/// The longest wait for a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How long the next address waits while those before it are silent [rfc8305, sec. 5].
const HEAD_START: Duration = Duration::from_millis(250);

/// The most addresses of a name that are tried.
const MOST_ADDRESSES: usize = 8;

/// Connects to the first allowed address of a target that answers.
///
/// # Errors
/// If no address is allowed, or none answers: the reason of the first that failed.
pub(crate) async fn dial(target: &Target, rules: &Rules) -> Result<TcpStream, Unreached> {
    let addresses = allowed(target, rules).await?;
    let stream = timeout(CONNECT_TIME, first(addresses)).await.unwrap_or(Err(Unreached::TimedOut))?;
    if is_foreign(&stream.local_addr(), &stream.peer_addr(), (target, rules)) {
        Ok(stream)
    } else {
        Err(Unreached::NotAllowed)
    }
}

/// A socket for packets to the first allowed address of a target that can be reached.
///
/// # Errors
/// If no address is allowed, or none can be reached.
pub(crate) async fn dial_packets(target: &Target, rules: &Rules) -> Result<UdpSocket, Unreached> {
    let mut failed = None;
    for address in allowed(target, rules).await? {
        let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let connected = async {
            let socket = UdpSocket::bind((any, 0)).await?;
            socket.connect(address).await.map(|()| socket)
        };
        match connected.await {
            Ok(socket) if is_foreign(&socket.local_addr(), &socket.peer_addr(), (target, rules)) => return Ok(socket),
            Ok(_) => failed = failed.or(Some(Unreached::NotAllowed)),
            Err(error) => failed = failed.or(Some(Unreached::of(&error))),
        }
    }
    Err(failed.unwrap_or(Unreached::Other))
}

/// The allowed addresses of a target, of which there is one at least.
async fn allowed(target: &Target, rules: &Rules) -> Result<Vec<SocketAddr>, Unreached> {
    if !rules.may_allow(target) {
        return Err(Unreached::NotAllowed);
    }
    let mut addresses = addresses(target).await?;
    addresses.retain(|address| rules.allow(target, *address));
    if addresses.is_empty() { Err(Unreached::NotAllowed) } else { Ok(interleaved(addresses)) }
}

/// Whether a socket leads to another machine, or to this one as the rules name it: an address of this machine is not that
/// of a stranger, public or not.
fn is_foreign(
    own: &io::Result<SocketAddr>,
    there: &io::Result<SocketAddr>,
    (target, rules): (&Target, &Rules),
) -> bool {
    let (Ok(own), Ok(there)) = (own, there) else { return false };
    own.ip() != there.ip() || rules.name(target, *there)
}

async fn addresses(target: &Target) -> Result<Vec<SocketAddr>, Unreached> {
    let name = match &target.host {
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, target.port)]),
        Host::Name(name) => name.as_str(),
    };
    let found = timeout(LOOKUP_TIME, lookup_host((name, target.port))).await.map_err(|_| Unreached::NoAddress)?;
    Ok(found.map_err(|_| Unreached::NoAddress)?.collect())
}

/// The addresses in the order of the resolver, but those of IPv6 and IPv4 in turn [rfc8305, sec. 4].
fn interleaved(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let is_first_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, other): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|own| own.is_ipv6() == is_first_v6);
    let (mut first, mut other) = (first.into_iter(), other.into_iter());
    let mut all = Vec::new();
    loop {
        match (first.next(), other.next()) {
            (None, None) => break,
            pair => all.extend([pair.0, pair.1].into_iter().flatten()),
        }
    }
    all.truncate(MOST_ADDRESSES);
    all
}

/// The first connection that stands; the next address is tried when one has failed or has been silent for a while.
async fn first(addresses: Vec<SocketAddr>) -> Result<TcpStream, Unreached> {
    let mut rest = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut failed = None;
    loop {
        if let Some(address) = rest.next() {
            attempts.spawn(TcpStream::connect(address));
        }
        tokio::select! {
            outcome = attempts.join_next() => match outcome {
                Some(Ok(Ok(stream))) => {
                    // Small pieces do not wait for others.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Some(Ok(Err(error))) => failed = failed.or(Some(Unreached::of(&error))),
                Some(Err(_)) => failed = failed.or(Some(Unreached::Other)),
                None => return Err(failed.unwrap_or(Unreached::Other)),
            },
            () = sleep(HEAD_START), if rest.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::rules::Rule;

    fn rules(texts: &[&str]) -> Rules {
        texts.iter().map(|text| text.parse::<Rule>().unwrap()).collect()
    }

    #[test]
    fn kinds_of_addresses_take_turns() {
        let all = ["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"].map(|text| text.parse().unwrap());
        let wanted = ["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"].map(|text| text.parse::<SocketAddr>().unwrap());
        assert_eq!(interleaved(all.to_vec()), wanted);
    }

    #[tokio::test]
    async fn the_first_address_that_answers_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        assert_eq!(first(vec![gone, there]).await.unwrap().peer_addr().unwrap(), there);
        assert_eq!(first(vec![gone]).await.unwrap_err(), Unreached::Refused);
    }

    #[tokio::test]
    async fn only_what_rules_allow_is_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target::from(listener.local_addr().unwrap());
        assert_eq!(dial(&target, &Rules::default()).await.unwrap_err(), Unreached::NotAllowed);
        assert_eq!(dial(&target, &rules(&["10.0.0.0/8"])).await.unwrap_err(), Unreached::NotAllowed);
        assert!(dial(&target, &rules(&["127.0.0.0/8"])).await.is_ok());
        let local: Target = format!("localhost:{}", target.port).parse().unwrap();
        assert_eq!(dial(&local, &Rules::default()).await.unwrap_err(), Unreached::NotAllowed);
        assert!(dial(&local, &rules(&["localhost"])).await.is_ok());
        let nowhere: Target = "nowhere.invalid:80".parse().unwrap();
        assert_eq!(dial(&nowhere, &Rules::default()).await.unwrap_err(), Unreached::NoAddress);
    }
}
