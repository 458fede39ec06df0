//! Control packets that are held back, where they may take only a share of the rate.

use crate::connections::{NONE, State, UNSET};
use crate::world::{Kind, World};

/// Bits in a byte times picoseconds in a second.
const BIT_PICOSECONDS: f64 = 8e12;

/// Control packets are held back no longer than this: a second.
const MOST_GAP: f64 = 1e12;

impl World<'_> {
    /// Keeps a control packet back if the last one of its subflow was sent only just now.
    pub(crate) fn hold_back(&mut self, s: u32, index: u32) -> bool {
        let Some(share) = self.plan.run.control_share else { return false };
        let subflow = &mut self.subflows[s as usize];
        let is_active = self.connections[subflow.connection as usize].state == State::Active;
        let rate = subflow.pace.rate().0;
        let protocol = &self.plan.protocols[self.lanes.packets[index].protocol as usize];
        if subflow.held != NONE && protocol.terms().supersedes {
            self.lanes.packets[subflow.held] = self.lanes.packets.remove(index);
            return true;
        }
        if subflow.held != NONE || subflow.control_sent == UNSET || !is_active || rate == 0.0 {
            return false;
        }
        let gap = self.plan.run.control_packet.0 as f64 * BIT_PICOSECONDS / (share * rate);
        let due = subflow.control_sent.saturating_add(gap.min(MOST_GAP) as u64);
        if due <= self.now {
            return false;
        }
        subflow.held = index;
        self.schedule_packet(due, Kind::Release, s, index);
        true
    }

    /// A control packet was held back long enough.
    pub(crate) fn on_release(&mut self, s: u32, index: u32) {
        if self.subflows[s as usize].held == index {
            self.release(s);
        }
    }

    /// Sends the control packet of a subflow that was held back, if there is one.
    pub(crate) fn release(&mut self, s: u32) {
        let held = std::mem::replace(&mut self.subflows[s as usize].held, NONE);
        if held != NONE {
            self.depart(s, held);
        }
    }
}
