//! What of the world a shard has, and what it sends to others.
//!
//! A node belongs to one shard: with it all that happens there, which is the queues of the links that it sends over, the
//! arrivals over those that lead to it, and the sources and sinks. What crosses the border between shards is packets.

use anabranch_core::{Connection, ConnectionId, LinkId, NodeId};
use anabranch_plan::Plan;
use anabranch_proto::endpoint::Frame;

use crate::packet::{ControlPacket, DataPacket, Payload};
use crate::routes::Routes;

/// Which shard has what.
#[derive(Clone, Debug)]
pub struct Owners {
    pub shards: usize,
    /// For each link, those of demands included, the shard that it sends from, and that in which packets arrive.
    pub tail: Vec<u8>,
    pub head: Vec<u8>,
    /// For each connection: where the machinery of its source is, and that of its sink.
    pub source: Vec<u8>,
    pub sink: Vec<u8>,
}

impl Owners {
    /// `of_node` gives the shard of each node.
    pub fn new(plan: &Plan, routes: &Routes, shards: usize, of_node: impl Fn(NodeId) -> u8) -> Self {
        let connections = plan.demands.connections();
        // Of a connection whose target asks for data all that decides is there.
        let begins = |(c, connection): (usize, &Connection)| match plan.fetch(ConnectionId::new(c)) {
            Some(_) => connection.target,
            None => connection.source,
        };
        let source: Vec<u8> = connections.iter().enumerate().map(|own| of_node(begins(own))).collect();
        let link = |l: &LinkId| plan.network.link(*l);
        let own = routes.demands.iter().map(|&c| source[c as usize]);
        Self {
            shards,
            tail: routes.used.iter().map(|l| of_node(link(l).source)).chain(own.clone()).collect(),
            head: routes.used.iter().map(|l| of_node(link(l).target)).chain(own).collect(),
            sink: connections.iter().map(|c| of_node(c.target)).collect(),
            source,
        }
    }

    /// One shard that has everything.
    pub fn alone(plan: &Plan, routes: &Routes) -> Self {
        Self::new(plan, routes, 1, |_| 0)
    }

    /// The shard of the source of a connection.
    pub fn of_source(&self, connection: ConnectionId) -> usize {
        usize::from(self.source[connection.index()])
    }
}

/// A packet on its way from one shard to another: it arrives there over `link` at `time`.
#[derive(Debug)]
pub struct Message {
    pub time: u64,
    pub link: u32,
    pub cargo: Cargo,
}

/// What is under way.
#[derive(Debug)]
pub enum Cargo {
    Data(DataPacket),
    Transport(DataPacket, Payload),
    Control(ControlPacket),
    Frame(Frame<ControlPacket>),
}

/// One of the shards.
pub struct Shard<'p> {
    owners: &'p Owners,
    number: u8,
    is_alone: bool,
    /// For each shard.
    outbox: Vec<Vec<Message>>,
}

impl<'p> Shard<'p> {
    /// The shard of this number.
    pub fn new(owners: &'p Owners, number: usize) -> Self {
        let outbox = (0..owners.shards).map(|_| Vec::new()).collect();
        Self { owners, number: number as u8, is_alone: owners.shards == 1, outbox }
    }

    /// Whether packets that a link carries arrive in this shard.
    #[inline]
    pub fn keeps(&self, link: u32) -> bool {
        self.is_alone || self.owners.head[link as usize] == self.number
    }

    /// Whether a link sends from here.
    pub fn has_tail(&self, link: u32) -> bool {
        self.is_alone || self.owners.tail[link as usize] == self.number
    }

    /// Whether a connection begins here.
    pub fn has_source(&self, connection: u32) -> bool {
        self.is_alone || self.owners.source[connection as usize] == self.number
    }

    /// Hands a packet over to the shard where it arrives.
    pub fn send(&mut self, message: Message) {
        self.outbox[usize::from(self.owners.head[message.link as usize])].push(message);
    }

    /// Takes what is to go to another shard.
    pub fn take(&mut self, to: usize) -> Vec<Message> {
        std::mem::take(&mut self.outbox[to])
    }
}
