//! The capacity of a group's paths, and the rate that a group reports to the loop before: for protocols that use
//! capacities, and for chains of loops.
//!
//! Rates are those of packets on links, with the headers of IP and UDP. Controls assume packets of one size, so a rate
//! is converted to the rate of as many such packets.

use anabranch_core::Rate;
use anabranch_proto::transport::Told;

use super::{Group, HEADERS, Inner, Open, PACKET, SLOTS};

/// The highest rate that is reported to a loop before, in bits a second.
const MOST: f64 = 1e15;

impl Open {
    /// Bytes of a full packet on a link.
    fn on_link(&self) -> f64 {
        f64::from(self.mtu) + HEADERS
    }
}

impl Inner {
    /// Passes the lesser of the capacity of a slot's path and the rate of the next loop to the control, if it has
    /// changed.
    pub(super) fn tell_capacity(&mut self, slot: usize) {
        let Some(Some(open)) = self.subflows.get_mut(slot) else { return };
        let least = Rate(open.known.0.min(self.onward.0) * PACKET.0 as f64 / open.on_link());
        if open.told.0.to_bits() != least.0.to_bits() {
            open.told = least;
            let (control, own) = self.controls.of(slot);
            control.on_capacity(own, least);
        }
    }

    /// Passes all capacities to a new control.
    pub(super) fn tell_capacities_anew(&mut self) {
        for slot in 0..SLOTS {
            if let Some(open) = &mut self.subflows[slot] {
                open.told = Rate(f64::INFINITY);
                self.tell_capacity(slot);
            }
        }
    }
}

impl Group {
    /// Sets the least known capacity of the links of a slot's path; infinite if none is known.
    pub fn set_capacity(&self, slot: usize, capacity: Rate) {
        let inner = &mut *self.lock();
        if let Some(Some(open)) = inner.subflows.get_mut(slot) {
            open.known = Rate(capacity.0.max(1.0));
            inner.tell_capacity(slot);
        }
    }

    /// Sets the sending rate of the next loop in bits a second; `None` if it is not known.
    pub fn set_onward(&self, bps: Option<u64>) {
        let inner = &mut *self.lock();
        inner.onward = Rate(bps.map_or(f64::INFINITY, |bps| bps.max(1) as f64));
        (0..SLOTS).for_each(|slot| inner.tell_capacity(slot));
    }

    /// Rate on which the loop before may count, over all paths, in bits a second; `None` while nothing is known.
    pub fn onward_bps(&self, told: Told) -> Option<u64> {
        let inner = &mut *self.lock();
        let of = |slot: usize| {
            let open = inner.subflows[slot].as_ref()?;
            let (control, own) = inner.controls.of(slot);
            let bits = 8.0 * open.on_link();
            let paced = control.pace(own).map(|pace| pace.0 * open.on_link() / PACKET.0 as f64);
            let rtt = open.path.rtt();
            let sent = paced.or((rtt > 0.0).then(|| bits * control.window(own) / rtt))?;
            let through = open.path.through().filter(|_| told == Told::Through).map(|rate| bits * rate);
            Some(through.map_or(sent, |through| sent.min(through)))
        };
        let sum: f64 = (0..SLOTS).filter_map(of).sum();
        (sum > 0.0).then(|| sum.min(MOST) as u64)
    }
}
