//! The links of an agent: their controls for each protocol, and the generation in which they count packets.

use std::collections::BTreeMap;

use anabranch_core::{Bytes, Rate, Time};
use anabranch_proto::account::{Account, CLAIM};
use anabranch_proto::{LinkControls, LinkOrders, LinkView as Moment, Protocol, QueueView, Visitor};

use crate::in_flight::sender;
use crate::message::{AgentId, Fate, Fields, Parcel, UNLIMITED};
use crate::view::LinkView;

/// A link that leaves the agent's node.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// Number of the link in the network.
    pub link: u32,
    /// The agent of the node where the link ends.
    pub to: AgentId,
    /// Capacity of the link; infinite for no limit.
    pub capacity: Rate,
    /// The greatest claims that the link counts of all sessions of one neighbour, for each protocol.
    pub claims: f64,
    /// For each protocol the part of the capacity that the link divides among its sessions; all of it for protocols that
    /// are missing.
    pub parts: Vec<f64>,
}

impl LinkSettings {
    /// A link that counts up to a million sessions of each neighbour, and divides all of its capacity.
    pub fn new(link: u32, to: AgentId, capacity: Rate) -> Self {
        Self { link, to, capacity, claims: 1e6, parts: Vec::new() }
    }
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
    /// Greatest claims of one neighbour, in steps.
    most: i128,
    /// The control of the link for each protocol, and what each neighbour has had it count.
    controls: Vec<(Box<dyn LinkControls>, Accounts)>,
}

/// The part of each neighbour in the sums of a link; the agent itself sends the packets of its own sessions.
type Accounts = BTreeMap<AgentId, Account>;

/// What a link did with a packet.
pub(crate) struct Seen {
    /// Whether the sums of the link allow the packet.
    pub is_allowed: bool,
    /// A packet for the links after it, which forget the session.
    pub leave: Option<Parcel>,
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
    let view = Moment { now, capacity, control_packet: Bytes(0), queue: &Unseen };
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
        let link = |settings: &LinkSettings| {
            let LinkSettings { link, to, capacity, claims, parts } = settings.clone();
            let most = (claims.clamp(0.0, 1e12) * CLAIM as f64) as i128;
            (link, Link { to, capacity: limited(capacity), parts, most, controls: controls(&protocols) })
        };
        Self { all: links.iter().map(link).collect(), protocols, generation: 0, orders: LinkOrders::default() }
    }

    /// The agent of the node where a link ends; `None` if this agent does not act for the link.
    pub fn end(&self, link: u32) -> Option<AgentId> {
        self.all.get(&link).map(|link| link.to)
    }

    /// The links to a neighbour, with their capacities.
    pub fn to(&self, neighbour: AgentId) -> Vec<(u32, Rate)> {
        let unlimited = |capacity: Rate| if capacity.0 >= UNLIMITED { Rate(f64::INFINITY) } else { capacity };
        let all = self.all.iter().filter(|(_, link)| link.to == neighbour);
        all.map(|(&number, link)| (number, unlimited(link.capacity))).collect()
    }

    /// Discards all sums, and begins another generation.
    pub fn renew(&mut self, generation: u64) {
        self.generation = generation;
        for link in self.all.values_mut() {
            link.controls = controls(&self.protocols);
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
        self.all.values().all(|link| link.controls.iter().all(|(controls, _)| controls.is_clear(0)))
    }

    /// The sums of the links that have sessions.
    pub fn view(&mut self) -> Vec<LinkView> {
        let mut rows = Vec::new();
        for (&number, link) in &mut self.all {
            for (protocol, (controls, _)) in link.controls.iter_mut().enumerate() {
                let Some(account) = controls.of(0).account().filter(|account| *account != Account::default()) else {
                    continue;
                };
                let claims = |steps: i128| steps as f64 / CLAIM as f64;
                let (all, here) = (claims(account.all), claims(account.here));
                let capacity = handed_out(link.capacity, link.parts.get(protocol).copied());
                let capacity = if capacity.0 >= UNLIMITED { Rate(f64::INFINITY) } else { capacity };
                let reserved = Rate(claims(account.reserved));
                rows.push(LinkView { link: number, protocol, capacity, claims: all, claims_here: here, reserved });
            }
        }
        rows
    }

    /// Handles a packet at the link at its present position, on its way there or back.
    pub fn on_parcel(&mut self, now: Time, parcel: &mut Parcel) -> Seen {
        let mut seen = Seen { is_allowed: true, leave: None };
        let at = usize::from(parcel.at);
        let from = sender(parcel, at);
        let Some(link) = self.all.get_mut(&parcel.steps[at].link) else { return seen };
        let protocol = usize::from(parcel.protocol);
        let Some((controls, accounts)) = link.controls.get_mut(protocol) else { return seen };
        let capacity = handed_out(link.capacity, link.parts.get(protocol).copied());
        parcel.ceiling = parcel.ceiling.min(capacity.0);
        if parcel.generation != self.generation {
            parcel.fate = Fate::Stale;
            return seen;
        }
        let place = (parcel.position(), parcel.is_returning);
        let (fields, sums) = (parcel.fields, controls.of(0).account());
        parcel.fields = show(controls.as_mut(), (now, capacity), place, fields, &mut self.orders);
        let (Some(sums), Some(new)) = (sums, controls.of(0).account()) else { return seen };
        let part = accounts.get(&from).copied().unwrap_or_default() + (new - sums);
        seen.is_allowed = parcel.are_fields_sound() && part.is_sound();
        // A packet without a reply takes a session away: one that does not is of no use to anybody.
        let is_useful = parcel.wants_reply || parcel.is_returning || new.all < sums.all;
        let fits = new.reserved as f64 <= capacity.0 * CLAIM as f64 || !fields.are_first();
        if seen.is_allowed && is_useful && fits && (part.all <= link.most || new.all <= sums.all) {
            keep(accounts, from, part);
            return seen;
        }
        // A packet that no agent makes, or one that claims or reserves too much: what it did is undone.
        controls.of(0).set_account(sums);
        (parcel.fields, parcel.fate) = (fields, Fate::Refused);
        if seen.is_allowed {
            seen.leave = self.forget(now, parcel);
        }
        seen
    }

    /// Forgets what the link at the present position of a packet has counted of its session before: the session will join
    /// again without the link. Returns the packet with which the links after it forget the session.
    pub fn forget(&mut self, now: Time, parcel: &Parcel) -> Option<Parcel> {
        let is_counted = !parcel.fields.are_first() && parcel.wants_reply && !parcel.is_returning;
        if !is_counted || parcel.generation != self.generation {
            return None;
        }
        let at = usize::from(parcel.at);
        let from = sender(parcel, at);
        let link = self.all.get_mut(&parcel.steps[at].link)?;
        let (controls, accounts) = link.controls.get_mut(usize::from(parcel.protocol))?;
        let sums = controls.of(0).account()?;
        let (place, last) = ((parcel.position(), false), parcel.fields.forgetting());
        let fields = show(controls.as_mut(), (now, link.capacity), place, last, &mut self.orders);
        let left = controls.of(0).account()?;
        let part = accounts.get(&from).copied().unwrap_or_default() + (left - sums);
        if !part.is_sound() || left.all >= sums.all {
            controls.of(0).set_account(sums);
            return None;
        }
        keep(accounts, from, part);
        Some(Parcel { wants_reply: false, fate: Fate::Counted, fields, ..parcel.clone() })
    }
}

/// Keeps the part of a neighbour, if it has one.
fn keep(accounts: &mut Accounts, from: AgentId, part: Account) {
    if part == Account::default() {
        accounts.remove(&from);
    } else {
        accounts.insert(from, part);
    }
}

fn controls(protocols: &[Protocol]) -> Vec<(Box<dyn LinkControls>, Accounts)> {
    protocols.iter().map(|protocol| (protocol.links(1), Accounts::new())).collect()
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
