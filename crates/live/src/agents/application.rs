//! An application: it asks the agent of its node for rates, and keeps its session alive.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_agents::message::encode;
use anabranch_agents::{Answer, Ask};
use anabranch_core::Rate;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::messages::{Ended, read, sender};
use super::mutual::{Peers, calling};
use super::server::transport;
use super::{BACK_OFF, LEASE, Lease};
use crate::quic::tls::QuicClientConfig;
use crate::quic::{ClientConfig, Endpoint, RecvStream};
use crate::security::Identity;
use crate::session::{SessionError, endpoint};
use crate::sockets::Sockets;

/// The longest wait for an agent to confirm that a session has left.
const FAREWELL: Duration = Duration::from_secs(2);

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
        Ok(Self { endpoint: endpoint(sockets, None)?, tls: Arc::new(calling(identity, Arc::new(who))?), agent })
    }

    /// Keeps a session until it has left or is refused; the lease receives its rates. While the agent is away, the
    /// application calls it again and again.
    pub async fn hold(&self, request: Request, lease: &Lease) {
        let Request { join, mut demand, mut leave } = request;
        let mut wait = BACK_OFF.0;
        loop {
            let begun = Instant::now();
            match self.hold_once(&join, &mut demand, &mut leave, lease).await {
                Ok(()) => return,
                // The next attempt would fail in the same way.
                Err(error @ (Ended::Message(_) | Ended::Impossible(_))) => return lease.refuse(error.to_string()),
                Err(_) if lease.told_since(begun) => wait = BACK_OFF.0,
                Err(_) => {}
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
        let sender = sender(send);
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
            Answer::Refused { reason } => {
                lease.refuse(reason);
                return Ok(());
            }
        }
    }
}
