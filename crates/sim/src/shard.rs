//! Shards: which parts of the world each has, and the packets that it sends to others.
//!
//! A node belongs to one shard, together with everything that happens there: the queues of links that the node sends
//! over, the arrivals over links that lead to it, and the sources and sinks. Only packets cross the border between
//! shards.

use anabranch_core::{Connection, ConnectionId, LinkId, NodeId};
use anabranch_plan::Plan;
use anabranch_proto::endpoint::Frame;

use crate::packet::{ControlPacket, DataPacket, Payload};
use crate::routes::Routes;

/// The owners of links and connections, as numbers of shards.
#[derive(Clone, Debug)]
pub struct Owners {
    /// The number of shards.
    pub shards: usize,
    /// For each link, those of demands included, the shard that it sends from.
    pub tail: Vec<u8>,
    /// For each link, those of demands included, the shard in which its packets arrive.
    pub head: Vec<u8>,
    /// For each connection the shard of its source.
    pub source: Vec<u8>,
    /// For each connection the shard of its sink.
    pub sink: Vec<u8>,
}

impl Owners {
    /// Finds the owners, where `of_node` gives the shard of each node.
    pub fn new(plan: &Plan, routes: &Routes, shards: usize, of_node: impl Fn(NodeId) -> u8) -> Self {
        let connections = plan.demands.connections();
        // A connection whose target asks for data has its control at the target.
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

    /// Gives everything to one shard.
    pub fn alone(plan: &Plan, routes: &Routes) -> Self {
        Self::new(plan, routes, 1, |_| 0)
    }

    /// The shard of a connection's source.
    pub fn of_source(&self, connection: ConnectionId) -> usize {
        usize::from(self.source[connection.index()])
    }
}

/// A packet on its way from one shard to another, where it arrives over `link` at `time` in picoseconds.
#[derive(Debug)]
pub struct Message {
    pub time: u64,
    pub link: u32,
    pub cargo: Cargo,
}

/// The packet of a message.
#[derive(Debug)]
pub enum Cargo {
    /// A data packet without contents.
    Data(DataPacket),
    /// A packet with contents.
    Transport(DataPacket, Payload),
    /// A control packet, or a data packet with a header.
    Control(ControlPacket),
    /// A frame of a repaired hop.
    Frame(Frame<ControlPacket>),
}

/// The identity of a shard, and its outgoing packets.
pub struct Shard<'p> {
    owners: &'p Owners,
    number: u8,
    is_alone: bool,
    /// For each shard the packets that go to it.
    outbox: Vec<Vec<Message>>,
}

impl<'p> Shard<'p> {
    /// Creates the shard of a number, without packets.
    pub fn new(owners: &'p Owners, number: usize) -> Self {
        let outbox = (0..owners.shards).map(|_| Vec::new()).collect();
        Self { owners, number: number as u8, is_alone: owners.shards == 1, outbox }
    }

    /// Whether packets that a link carries arrive in this shard.
    #[inline]
    pub fn keeps(&self, link: u32) -> bool {
        self.is_alone || self.owners.head[link as usize] == self.number
    }

    /// Whether a link sends from this shard.
    pub fn has_tail(&self, link: u32) -> bool {
        self.is_alone || self.owners.tail[link as usize] == self.number
    }

    /// Whether this shard has the source of a connection.
    pub fn has_source(&self, connection: u32) -> bool {
        self.is_alone || self.owners.source[connection as usize] == self.number
    }

    /// Hands a packet over to the shard where it arrives.
    pub fn send(&mut self, message: Message) {
        self.outbox[usize::from(self.owners.head[message.link as usize])].push(message);
    }

    /// Takes the packets that go to another shard.
    pub fn take(&mut self, to: usize) -> Vec<Message> {
        std::mem::take(&mut self.outbox[to])
    }
}
