//! A path of a session, and the link for its demand.

use std::sync::Arc;

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::control::PacketOrder;
use anabranch_proto::{LinkControls, LinkOrders, Protocol};

use crate::links::show;
use crate::message::{AgentId, Fields, Parcel, Step};
use crate::view::{Limit, PathView};

/// A path of a session.
pub(super) struct Path {
    pub steps: Arc<[Step]>,
    pub end: AgentId,
    /// Whether packets do not get through, so that the session does without the path.
    pub is_away: bool,
    /// Number of links that have counted the session; links after these have refused it.
    pub reach: u8,
    /// Least capacity that links reported, in bit/s.
    pub ceiling: f64,
    /// What limits the path, as links reported last.
    pub limit: Option<Limit>,
    /// Time of the last packet.
    pub sent: Option<Time>,
    /// Packets to send when the least time between packets has passed.
    pub due: Vec<PacketOrder>,
}

impl Path {
    pub fn new((steps, end): (Vec<Step>, AgentId)) -> Self {
        let reach = steps.len() as u8;
        Self {
            steps: steps.into(),
            end,
            is_away: false,
            reach,
            ceiling: f64::INFINITY,
            limit: None,
            sent: None,
            due: Vec::new(),
        }
    }

    /// What a packet that has come back says about the limit of the path.
    pub fn limit_of(&self, parcel: &Parcel) -> Option<Limit> {
        let place = parcel.fields.setter();
        match place.checked_sub(parcel.before) {
            None => Some(Limit::Demand),
            Some(place) => self.steps.get(usize::from(place)).map(|&step| Limit::Link(step)),
        }
    }

    /// What the path shows of itself, which has this rate.
    pub fn view(&self, rate: f64) -> PathView {
        let (steps, end) = (self.steps.clone(), self.end);
        PathView { steps, end, rate: (!self.is_away).then_some(Rate(rate)), limit: self.limit }
    }

    /// Earliest time of the next packet.
    pub fn next(&self, gap: Span) -> Time {
        self.sent.map_or(Time(0), |sent| sent + gap)
    }
}

/// A link for the demand of a session: its capacity is the demand.
pub(super) struct DemandLink {
    controls: Box<dyn LinkControls>,
    pub capacity: Rate,
}

impl DemandLink {
    pub fn new(protocol: &Protocol, capacity: Rate) -> Self {
        Self { controls: protocol.links(1), capacity }
    }

    /// Passes a packet to the control of the link.
    pub fn show(&mut self, now: Time, is_returning: bool, fields: Fields) -> Fields {
        let orders = &mut LinkOrders::default();
        show(self.controls.as_mut(), (now, self.capacity), (0, is_returning), fields, orders)
    }
}
