//! Where an exit or a relay carries flows on: to their targets, or over lines of its own to the next exit.

use std::pin::Pin;
use std::sync::Arc;

use anabranch_live::quic::Connection;
use anabranch_live::running::Events;
use bytes::Bytes;
use tokio::io::duplex;
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc;

use super::{Course, ExitEvent};
use crate::accounts::Known;
use crate::bundle::Store;
use crate::bundle::carrier::Flow;
use crate::bundle::guide::Next;
use crate::dial::{dial, dial_packets};
use crate::ip::carrier::{Incoming, IpFlow};
use crate::ip::gateway::Gateway;
use crate::ip::path::Scope;
use crate::ip::splice::splice;
use crate::ledger::Counter;
use crate::packets::carrier::PacketFlow;
use crate::rules::Rules;
use crate::target::Target;
use crate::tunnel::{self, Receives, Sends};
use crate::unreached::Unreached;
use crate::uplink::{Behalf, IpTunnel, Packets, Seen, Tunnel, Uplink};

/// Bytes that wait between a stream of a client of others and a flow.
const BETWEEN: usize = 64 << 10;

/// The most packets that wait between two flows; later ones are dropped, as networks do.
const MOST_WAITING: usize = 64;

/// The most relays that a flow passes. Where relays lead in a circle it ends here.
const MOST_HOPS: u16 = 16;

/// Where flows are carried on.
pub(super) enum Onward {
    /// To their targets, if these are allowed.
    Targets(Rules),
    /// To the next exit, which decides.
    Uplink(Uplink),
}

/// What stands at the far end of a flow of bytes.
pub(super) enum Ahead {
    Target(TcpStream),
    Next(Tunnel),
}

/// What stands at the far end of a flow of packets.
pub(super) enum PacketsAhead {
    Target(UdpSocket),
    Next(Packets),
}

impl Onward {
    /// The beginning of a course, and the work that keeps its lines if it has any.
    pub fn begin(
        course: Course,
        store: Arc<Store>,
        events: Events<ExitEvent>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (onward, keeping) = match course {
            Course::Targets(rules) => (Self::Targets(rules), None),
            Course::Exit(exit) => {
                let (uplink, keeping) = Uplink::new(*exit, store, move |state| events.tell(ExitEvent::Uplink(state)));
                (Self::Uplink(uplink), Some(keeping))
            }
        };
        let work = async move {
            if let Some(keeping) = keeping {
                keeping.await;
            }
        };
        (onward, work)
    }

    /// The next loop of a relay for data of some flows, of which these bytes wait.
    pub fn next(&self, waiting: u64) -> Next {
        let bundle = self.seen().and_then(|seen| seen.bundle());
        Next::of(bundle.iter().map(|bundle| &bundle.group), waiting)
    }

    /// What can be seen of the lines to the next exit, if there are any.
    pub fn seen(&self) -> Option<Arc<Seen>> {
        match self {
            Self::Targets(_) => None,
            Self::Uplink(uplink) => Some(uplink.seen()),
        }
    }

    /// Connects to a target for a client, or has the next exit connect to it.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub async fn open(&self, target: &Target, client: &Known, behalf: Behalf) -> Result<Ahead, Unreached> {
        match self {
            Self::Targets(rules) => dial(target, client.rules.as_ref().unwrap_or(rules)).await.map(Ahead::Target),
            Self::Uplink(uplink) => uplink.open_for(target, Some(on(behalf)?)).await.map(Ahead::Next),
        }
    }

    /// Serves a tunnel of IP packets for a client, or has the next exit serve it; the work that carries its packets until its
    /// end.
    ///
    /// # Errors
    /// If it carries none.
    pub async fn host(
        &self,
        (flow, incoming): (&Arc<IpFlow>, Incoming),
        (gateway, scope): (Option<&Arc<Gateway>>, Scope),
        client: &Known,
        behalf: Behalf,
    ) -> Result<Pin<Box<dyn Future<Output = ()> + Send>>, Unreached> {
        match self {
            Self::Targets(rules) => {
                let rules = client.rules.as_ref().unwrap_or(rules).clone();
                let gateway = gateway.ok_or(Unreached::NoPackets)?;
                Ok(Box::pin(gateway.host(flow, incoming, (rules, scope))?))
            }
            Self::Uplink(uplink) => {
                let IpTunnel { flow: far, incoming: from_far, _entry: entry } =
                    uplink.open_ip(Some(on(behalf)?)).await?;
                let near = flow.clone();
                Ok(Box::pin(async move {
                    splice((near, incoming), (far, from_far), scope).await;
                    drop(entry);
                }))
            }
        }
    }

    /// Begins to exchange packets with a target for a client.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub async fn open_packets(
        &self,
        target: &Target,
        client: &Known,
        behalf: Behalf,
    ) -> Result<PacketsAhead, Unreached> {
        match self {
            Self::Targets(rules) => {
                dial_packets(target, client.rules.as_ref().unwrap_or(rules)).await.map(PacketsAhead::Target)
            }
            Self::Uplink(uplink) => uplink.open_packets(target, Some(on(behalf)?)).await.map(PacketsAhead::Next),
        }
    }
}

/// A client one relay further on.
///
/// # Errors
/// If it has passed too many.
fn on(client: Behalf) -> Result<Behalf, Unreached> {
    if client.hops >= MOST_HOPS { Err(Unreached::Circle) } else { Ok(Behalf { hops: client.hops + 1, ..client }) }
}

impl Ahead {
    /// Carries the bytes of a flow on until its end.
    pub async fn join(self, flow: &Arc<Flow>) {
        match self {
            Self::Target(tcp) => flow.join(tcp).await,
            Self::Next(tunnel) => flow.splice(tunnel.flow()).await,
        }
    }

    /// Carries the bytes of one stream on until its end.
    pub async fn join_stream(
        self,
        (sends, receives): (impl Sends, impl Receives),
        quic: &Connection,
        counter: &Counter,
    ) {
        match self {
            Self::Target(tcp) => tunnel::join(tcp, (sends, receives), quic, counter).await,
            Self::Next(tunnel) => {
                let (near, far) = duplex(BETWEEN);
                let (mut near_reader, mut near_writer) = tokio::io::split(near);
                let (mut far_reader, mut far_writer) = tokio::io::split(far);
                let broken = async {
                    tokio::select! {
                        _ = quic.closed() => {}
                        () = tunnel.flow().failed() => {}
                    }
                };
                let stream = async {
                    let pair = (&mut near_reader, &mut near_writer);
                    if tunnel::carry(pair, (sends, receives), broken, counter).await {
                        tunnel.flow().abort();
                    }
                };
                let onward = tunnel.carry(&mut far_reader, &mut far_writer);
                tokio::join!(stream, onward);
            }
        }
    }
}

impl PacketsAhead {
    /// Carries the packets of a flow on until its end.
    pub async fn join(self, flow: &Arc<PacketFlow>, take: &mut mpsc::Receiver<Bytes>) {
        match self {
            Self::Target(socket) => flow.carry(&mut &socket, &&socket, take).await,
            Self::Next(mut packets) => {
                let (forth, mut from_here) = mpsc::channel(MOST_WAITING);
                let (back, mut from_there) = mpsc::channel(MOST_WAITING);
                let here = async {
                    flow.carry(&mut from_there, &forth, take).await;
                    drop(forth);
                };
                let there = async {
                    packets.carry(&mut from_here, &back).await;
                    drop(back);
                };
                tokio::join!(here, there);
            }
        }
    }
}
