//! Looking ahead: reads what the next events will need, so that the processor fetches all of it at once.
//!
//! In a large network nearly everything an event touches is far from the processor, and one thing leads to the next:
//! packet, step, link, queue. Served one by one, events would wait for each of these in turn. Here each step is read for
//! a batch of events before the next step is; the reads of a step do not wait for each other. Nothing depends on what is
//! read.

use crate::routes::END;
use crate::world::{ID_BITS, Kind, World};

/// So many events are looked at together.
const BATCH: usize = 32;

/// What an event leads to.
#[derive(Clone, Copy, Default)]
struct Lead {
    step: u32,
    subflow: u32,
    link: u32,
    is_data: bool,
    is_send: bool,
}

impl World<'_> {
    /// Reads ahead if a batch of events has been served.
    #[inline]
    pub(crate) fn look_ahead(&self) {
        let events = self.calendar.preview(BATCH);
        if events.is_empty() {
            return;
        }
        let mut leads = [Lead { step: 0, subflow: END, link: END, is_data: false, is_send: false }; BATCH];
        for (lead, event) in leads.iter_mut().zip(events) {
            let kind = event.key >> ID_BITS;
            if kind == Kind::Data as u32 {
                let packet = &self.packets[event.packet];
                (lead.step, lead.subflow, lead.is_data) = (packet.at + 1, packet.subflow, true);
            } else if kind == Kind::Control as u32 {
                let packet = &self.lanes.packets[event.packet];
                lead.step = packet.at + u32::from(!packet.is_returning);
            } else if kind == Kind::Send as u32 {
                lead.subflow = event.key & ((1 << ID_BITS) - 1);
                lead.step = self.routes.first[lead.subflow as usize];
                lead.is_send = true;
            }
        }
        let leads = &mut leads[..events.len()];
        for lead in leads.iter_mut() {
            lead.link = self.routes.steps[lead.step as usize];
        }
        let mut seen = 0;
        for lead in leads.iter().filter(|lead| lead.is_send || (lead.is_data && lead.link == END)) {
            seen ^= self.subflows[lead.subflow as usize].glance();
        }
        for lead in leads.iter().filter(|lead| lead.is_send) {
            let connection = self.subflows[lead.subflow as usize].connection;
            seen ^= self.connections[connection as usize].left;
        }
        for lead in leads.iter().filter(|lead| lead.link != END) {
            if lead.is_data || lead.is_send {
                seen ^= self.links.glance(lead.link);
            } else {
                seen ^= self.lanes.glance(lead.link);
                seen ^= u64::from(self.controls[0].is_clear(lead.link as usize));
            }
        }
        for lead in leads.iter().filter(|lead| lead.link != END && (lead.is_data || lead.is_send)) {
            seen ^= self.links.glance_at_queue(lead.link);
        }
        std::hint::black_box(seen);
    }
}
