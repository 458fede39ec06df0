//! An application: it asks the agent of its node for rates, and keeps its session alive.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_agents::message::encode;
use anabranch_agents::{Answer, Ask};
use anabranch_core::Rate;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::hops::transport;
use super::messages::{Ended, read, sender};
use super::mutual::{Peers, Speech, calling};
use super::{BACK_OFF, LEASE, Lease, RETRY};
use crate::quic::tls::QuicClientConfig;
use crate::quic::{ClientConfig, Endpoint, RecvStream};
use crate::security::Identity;
use crate::session::{SessionError, endpoint};
use crate::sockets::Sockets;

/// The longest wait for an agent to confirm that a session has left.
const FAREWELL: Duration = Duration::from_secs(2);

/// The most requests that wait to be sent.
const MOST_ASKS: usize = 64;

/// An application that asks its agent for rates.
pub struct Application {
    endpoint: Endpoint,
    tls: Arc<QuicClientConfig>,
    agent: SocketAddr,
}

/// The request of an application.
#[derive(Debug)]
pub struct Request {
    /// The session to join: [`Ask::Join`].
    pub join: Ask,
    /// Demand of the session, now and later.
    pub demand: watch::Receiver<Rate>,
    /// Signal to leave: the session leaves when it turns true or its sender is dropped.
    pub leave: watch::Receiver<bool>,
}

impl Application {
    /// Creates an application on these sockets, whose agent is at an address. Must be called in a tokio runtime.
    pub fn with(
        sockets: Sockets,
        identity: &Identity,
        agent: SocketAddr,
        who: Peers<()>,
    ) -> Result<Self, SessionError> {
        Ok(Self {
            endpoint: endpoint(sockets, None)?,
            tls: Arc::new(calling(identity, Arc::new(who), Speech::Control)?),
            agent,
        })
    }

    /// Keeps a session until it has left or is refused for good; the lease receives its rates. While the agent is away, or
    /// refuses the session for the moment, the application calls it again and again.
    pub async fn hold(&self, request: Request, lease: &Lease) {
        let Request { join, mut demand, mut leave } = request;
        let (mut wait, mut retry) = (BACK_OFF.0, RETRY.0);
        loop {
            let begun = Instant::now();
            match self.hold_once(&join, &mut demand, &mut leave, lease).await {
                Ok(()) => return,
                // The next attempt would fail in the same way.
                Err(error @ (Ended::Message(_) | Ended::Impossible(_))) => return lease.refuse(error.to_string()),
                Err(ended) => {
                    if lease.told_since(begun) {
                        (wait, retry) = (BACK_OFF.0, RETRY.0);
                    }
                    if matches!(ended, Ended::Refused) {
                        wait = retry;
                        retry = (retry * 2).min(RETRY.1);
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(BACK_OFF.1),
                () = is_leaving(&mut leave) => return,
            }
        }
    }

    /// Keeps a session over one connection; an error if the connection is lost.
    async fn hold_once(
        &self,
        join: &Ask,
        demand: &mut watch::Receiver<Rate>,
        leave: &mut watch::Receiver<bool>,
        lease: &Lease,
    ) -> Result<(), Ended> {
        let mut config = ClientConfig::new(self.tls.clone());
        config.transport_config(Arc::new(transport()));
        let connection = self.endpoint.connect_with(config, self.agent, "anabranch")?.await?;
        let (send, mut receive) = connection.open_bi().await?;
        let sender = sender(send, MOST_ASKS);
        let say = |ask: &Ask| encode(ask).map(|word| drop(sender.try_send(word)));
        let present = demand.borrow_and_update().0;
        say(&with_demand(join, present))?;
        let mut beat = interval(LEASE / 4);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut answers = std::pin::pin!(hear(&mut receive, lease));
        loop {
            tokio::select! {
                ended = &mut answers => return ended,
                _ = beat.tick() => say(&Ask::Here)?,
                Ok(()) = demand.changed() => {
                    let present = demand.borrow_and_update().0;
                    say(&Ask::Demand { demand: present })?;
                }
                () = is_leaving(leave) => {
                    say(&Ask::Leave)?;
                    // Without confirmation, the agent detects that the application is gone.
                    let _ = timeout(FAREWELL, answers).await;
                    return Ok(());
                }
            }
        }
    }
}

/// A request to join with the present demand.
fn with_demand(join: &Ask, present: f64) -> Ask {
    let mut join = join.clone();
    if let Ask::Join { demand, .. } | Ask::Open { demand, .. } = &mut join {
        *demand = present;
    }
    join
}

/// Returns when the session is to leave.
async fn is_leaving(leave: &mut watch::Receiver<bool>) {
    let _ = leave.wait_for(|leaves| *leaves).await;
}

/// Receives messages of the agent, until the session has left or is refused.
async fn hear(receive: &mut RecvStream, lease: &Lease) -> Result<(), Ended> {
    loop {
        match read(receive).await? {
            Answer::Granted { rates } => lease.grant(&rates, Instant::now()),
            Answer::Paths { paths } => lease.take_paths(paths),
            Answer::Left => {
                lease.leave();
                return Ok(());
            }
            Answer::Refused { reason, is_lasting } => {
                lease.refuse(reason);
                return if is_lasting { Ok(()) } else { Err(Ended::Refused) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_agents::{AgentId, ClientId, LinkSettings, Refusal, Settings, Step};
    use anabranch_proto::Protocol;

    use super::super::{AgentServer, Door, Guest, Peer, Policy, Service};
    use super::*;

    /// Refuses some requests, and takes the next.
    struct Refusing(Vec<Refusal>);

    impl Policy for Refusing {
        fn admit(&mut self, _: &str, _: ClientId, ask: Ask) -> Result<Ask, Refusal> {
            let refusal = if matches!(ask, Ask::Join { .. }) { self.0.pop() } else { None };
            refusal.map_or(Ok(ask), Err)
        }

        fn on_link(&mut self, _: AgentId, _: u32, _: f64) -> bool {
            false
        }

        fn reroute(&mut self) -> Vec<(ClientId, Ask)> {
            Vec::new()
        }

        fn on_end(&mut self, _: ClientId) {}
    }

    /// An agent with this policy, and the lease of an application there after at most 10 s, or when it is kept.
    async fn held(policy: Refusing) -> (Lease, Duration, bool) {
        let home: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let free = std::net::UdpSocket::bind(home).unwrap().local_addr().unwrap();
        let (own, other) = (Arc::new(Identity::made().unwrap()), Identity::made().unwrap());
        let guest = Guest::Application("one".to_owned());
        let guests = Peers::one(None, Peer::Pinned(other.fingerprint()), guest);
        let settings = Settings {
            links: vec![LinkSettings::new(0, AgentId(2), Rate(1e6))],
            neighbours: vec![AgentId(2)],
            ..Settings::new(AgentId(1), 1, vec![Protocol::named("d-slen").unwrap()])
        };
        let who = Peers::one(None, Peer::Pinned(own.fingerprint()), ());
        let doors = vec![Door { local: free, guests }];
        let service = Service { settings, identity: own, calls: Vec::new(), doors };
        let (server, _handle) = AgentServer::bind(service, Box::new(policy)).await.unwrap();
        tokio::spawn(server.run());
        let application = Application::with(Sockets::bind(&[home.into()]).await.unwrap(), &other, free, who).unwrap();
        let paths = vec![(vec![Step { agent: AgentId(1), link: 0 }], AgentId(2))];
        let join = Ask::Join { protocol: 0, claim: 1.0, reserved: 0.0, demand: f64::INFINITY, paths };
        let (_demand, demand) = watch::channel(Rate(1e9));
        let (_leave, leave) = watch::channel(false);
        let (lease, start) = (Lease::new(1, LEASE), Instant::now());
        let is_kept = async {
            while lease.paths().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let has_ended = tokio::select! {
            () = application.hold(Request { join, demand, leave }, &lease) => true,
            () = is_kept => false,
            () = tokio::time::sleep(Duration::from_secs(10)) => panic!("it is neither kept nor refused"),
        };
        (lease, start.elapsed(), has_ended)
    }

    #[tokio::test]
    async fn a_refusal_for_the_moment_is_followed_by_another_request() {
        let refusals = (0..2).map(|_| Refusal::passing("there is no path now")).collect();
        let (_, took, has_ended) = held(Refusing(refusals)).await;
        assert!(!has_ended && took >= RETRY.0 * 3, "{took:?}");
    }

    #[tokio::test]
    async fn a_refusal_for_good_ends_the_session() {
        let (lease, _, has_ended) = held(Refusing(vec![Refusal::lasting("it may not")])).await;
        assert!(has_ended && lease.refusal().is_some_and(|reason| reason == "it may not"));
    }
}
