//! The links of an agent: their controls for each protocol, and the generation in which they count packets.

use std::collections::BTreeMap;

use anabranch_core::{Bytes, Rate, Time};
use anabranch_proto::{LinkControls, LinkOrders, LinkView, Protocol, QueueView, Visitor};

use crate::message::{AgentId, Fate, Fields, Parcel, UNLIMITED};

/// A link that leaves the agent's node.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// Number of the link in the network.
    pub link: u32,
    /// The agent of the node where the link ends.
    pub to: AgentId,
    /// Capacity of the link; infinite for no limit.
    pub capacity: Rate,
    /// For each protocol the part of the capacity that the link divides among its sessions; all of it for protocols that
    /// are missing.
    pub parts: Vec<f64>,
}

/// All links of an agent.
pub(crate) struct Links {
    all: BTreeMap<u32, Link>,
    protocols: Vec<Protocol>,
    generation: u64,
    orders: LinkOrders,
}

struct Link {
    to: AgentId,
    capacity: Rate,
    parts: Vec<f64>,
    /// The controls of all links, for each protocol.
    controls: Vec<Box<dyn LinkControls>>,
}

/// A substitute for data queues, which agents do not see; the protocols that they carry do not use queues.
struct Unseen;

impl QueueView for Unseen {
    fn arrived(&self) -> Bytes {
        Bytes(0)
    }

    fn backlog(&self) -> Bytes {
        Bytes(0)
    }
}

/// Passes the fields of a packet to the control of a link.
pub(crate) fn show(
    controls: &mut dyn LinkControls,
    (now, capacity): (Time, Rate),
    parcel: (u8, bool),
    fields: Fields,
    orders: &mut LinkOrders,
) -> Fields {
    let (position, is_returning) = parcel;
    // The protocols that agents carry do not ask for the size of packets.
    let view = LinkView { now, capacity, control_packet: Bytes(0), queue: &Unseen };
    // The links of these protocols do not distinguish sessions.
    let visitor = Visitor { subflow: 0, position };
    let mut header = fields.header();
    if is_returning {
        controls.of(0).on_return(&view, visitor, &mut header, orders);
    } else {
        controls.of(0).on_arrival(&view, visitor, &mut header, orders);
    }
    orders.clear();
    Fields::of(&header).unwrap_or(fields)
}

impl Links {
    pub fn new(links: &[LinkSettings], protocols: Vec<Protocol>) -> Self {
        let controls = || protocols.iter().map(|protocol| protocol.links(1)).collect();
        let link = |settings: &LinkSettings| {
            let LinkSettings { link, to, capacity, parts } = settings.clone();
            (link, Link { to, capacity: limited(capacity), parts, controls: controls() })
        };
        Self { all: links.iter().map(link).collect(), protocols, generation: 0, orders: LinkOrders::default() }
    }

    /// The agent of the node where a link ends; `None` if this agent does not act for the link.
    pub fn end(&self, link: u32) -> Option<AgentId> {
        self.all.get(&link).map(|link| link.to)
    }

    /// Discards all sums, and begins another generation.
    pub fn renew(&mut self, generation: u64) {
        self.generation = generation;
        for link in self.all.values_mut() {
            link.controls = self.protocols.iter().map(|protocol| protocol.links(1)).collect();
        }
    }

    /// Changes the capacity of a link.
    pub fn set_capacity(&mut self, link: u32, capacity: Rate) {
        if let Some(link) = self.all.get_mut(&link) {
            link.capacity = limited(capacity);
        }
    }

    /// Whether no link holds state of any session.
    pub fn are_clear(&self) -> bool {
        self.all.values().all(|link| link.controls.iter().all(|controls| controls.is_clear(0)))
    }

    /// Handles a packet at the link at its present position, on its way there or back.
    pub fn on_parcel(&mut self, now: Time, parcel: &mut Parcel) {
        let at = usize::from(parcel.at);
        let Some(link) = self.all.get_mut(&parcel.steps[at].link) else { return };
        let protocol = usize::from(parcel.protocol);
        let Some(controls) = link.controls.get_mut(protocol) else { return };
        let capacity = handed_out(link.capacity, link.parts.get(protocol).copied());
        parcel.ceiling = parcel.ceiling.min(capacity.0);
        if parcel.generation != self.generation {
            parcel.fate = Fate::Stale;
            return;
        }
        let place = (parcel.position(), parcel.is_returning);
        let before = parcel.fields;
        parcel.fields = show(controls.as_mut(), (now, capacity), place, before, &mut self.orders);
        if !parcel.are_fields_sound() {
            // This fails only for a packet that no agent made; the others cannot read it.
            (parcel.fields, parcel.fate) = (before, Fate::Lost);
        }
    }
}

/// The part of a capacity that a protocol hands out; a link without a limit stays so.
fn handed_out(capacity: Rate, part: Option<f64>) -> Rate {
    if capacity.0 >= UNLIMITED { capacity } else { Rate(capacity.0 * part.unwrap_or(1.0)) }
}

/// The capacity for protocols, in which a very high capacity replaces an infinite one, so that sums stay right when a
/// limit comes or goes.
fn limited(capacity: Rate) -> Rate {
    Rate(capacity.0.min(UNLIMITED))
}
