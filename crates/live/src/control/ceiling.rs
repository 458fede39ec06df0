//! Ceilings: the most that a connection may send, whatever its control would. A connection under a ceiling is paced; its
//! control goes on to hear of losses and marks, and may send less.
//!
//! Rates are those of packets on links, with the headers of IP and UDP. Under a ceiling of all paths together each path
//! has a part of it in proportion to what its window would send, or the same part as the others while round trips are
//! not known. What a path may not send by its own ceiling is for the others. Windows of paths that are paced below them do not grow, so that a path with losses leaves its part to the
//! others.

use anabranch_core::Rate;

use super::subflow::PACED;
use super::{BITS, Group, HEADERS, Inner, SLOTS, scale};

/// The most that a connection may send, on links.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// Over all paths.
    pub total: Rate,
    /// Over each path, in the order of the paths; there is none for missing ones.
    pub paths: Vec<Rate>,
}

/// The least ceiling that another end may ask for.
const LEAST: Rate = Rate(1000.0);

impl Ceiling {
    /// A ceiling of all paths together as another end asks for it: not so low that nothing goes on.
    pub fn asked(total: Rate) -> Self {
        Self::of_all(Rate(total.0.max(LEAST.0)))
    }

    /// A ceiling of all paths together.
    pub fn of_all(total: Rate) -> Self {
        Self { total, paths: Vec::new() }
    }
}

/// There is no ceiling by default.
impl Default for Ceiling {
    fn default() -> Self {
        Self::of_all(Rate(f64::INFINITY))
    }
}

/// The ceilings of a group, by slots.
pub(super) struct Ceilings {
    total: Rate,
    slots: [Rate; SLOTS],
}

impl Default for Ceilings {
    fn default() -> Self {
        Self { total: Rate(f64::INFINITY), slots: [Rate(f64::INFINITY); SLOTS] }
    }
}

impl Inner {
    /// The pace of a slot's path in payload of UDP; `None` if the window alone limits it, or the slot is free.
    pub(super) fn pace(&mut self, slot: usize) -> Option<Rate> {
        let mtu = self.subflows.get(slot)?.as_ref()?.mtu;
        let (control, own) = self.controls.of(slot);
        let pace = control.pace(own).map(|pace| Rate(pace.0 * scale(mtu)));
        let ceiling = self.ceiling(slot);
        let window = self.by_window(slot).unwrap_or(f64::INFINITY);
        if ceiling.0 < pace.map_or(window, |pace| pace.0) { Some(ceiling) } else { pace }
    }

    /// The rate in payload of UDP at which the library sends the window of a slot; `None` while the round trip is not
    /// known, or if the slot is free.
    fn by_window(&mut self, slot: usize) -> Option<f64> {
        let open = self.subflows[slot].as_ref()?;
        let (rtt, mtu) = (open.path.rtt(), open.mtu);
        let (control, own) = self.controls.of(slot);
        (rtt > 0.0).then(|| PACED * control.window(own) * f64::from(mtu) * BITS / rtt)
    }

    /// The most that a slot's path may send, in payload of UDP.
    fn ceiling(&mut self, slot: usize) -> Rate {
        let Some(open) = &self.subflows[slot] else { return Rate(f64::INFINITY) };
        let (mtu, own) = (f64::from(open.mtu), self.ceilings.slots[slot].0);
        let most = if self.ceilings.total.0.is_finite() { self.part(slot) } else { own };
        Rate(most * mtu / (mtu + HEADERS))
    }

    /// What a path has of a ceiling of all, which is no more than its own ceiling; the others have what it leaves.
    fn part(&mut self, slot: usize) -> f64 {
        let open: Vec<usize> = (0..SLOTS).filter(|&slot| self.subflows[slot].is_some()).collect();
        let rates: Option<Vec<f64>> = open.iter().map(|&slot| self.by_window(slot)).collect();
        let weights = rates.unwrap_or_else(|| vec![1.0; open.len()]);
        let own = |slot: usize| self.ceilings.slots[slot].0;
        let mut paths: Vec<(usize, f64)> = open.into_iter().zip(weights).collect();
        // First those that reach their own ceilings first.
        paths.sort_by(|a, b| (own(a.0) / a.1).total_cmp(&(own(b.0) / b.1)));
        let (mut left, mut weight) = (self.ceilings.total.0, paths.iter().map(|path| path.1).sum::<f64>());
        for (path, by_window) in paths {
            let part = own(path).min(left * by_window / weight.max(by_window));
            if path == slot {
                return part;
            }
            (left, weight) = (left - part, weight - by_window);
        }
        0.0
    }
}

impl Group {
    /// Sets the most that may be sent: over all slots, and over each; there is no ceiling for missing ones.
    pub fn limit(&self, total: Rate, slots: &[Option<Rate>]) {
        let of = |slot: usize| slots.get(slot).copied().flatten().unwrap_or(Rate(f64::INFINITY));
        self.lock().ceilings = Ceilings { total, slots: std::array::from_fn(of) };
    }

    /// The most bytes that may be sent over all slots in a time; `None` without a ceiling.
    pub fn most_within(&self, seconds: f64) -> Option<u64> {
        let total = self.lock().ceilings.total.0;
        total.is_finite().then_some((total * seconds / BITS) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::super::{Group, Slot, named};
    use super::*;
    use crate::quic::congestion::{Controller, ControllerFactory};

    /// Of packets of 1200 bytes, the part that is payload of UDP.
    const PAYLOAD: f64 = 1200.0 / 1228.0;

    fn enter(group: &Arc<Group>, now: Instant) -> Slot {
        *group.clone().build(now, 1200).into_any().downcast::<Slot>().expect("a group makes slots")
    }

    /// The paces of two paths in bit/s.
    fn paces(slots: &[Slot; 2]) -> [Option<f64>; 2] {
        slots.each_ref().map(|slot| slot.metrics().pacing_rate.map(|bytes| bytes as f64 * BITS))
    }

    fn are_near(paces: [Option<f64>; 2], wanted: [f64; 2]) -> bool {
        paces.iter().zip(wanted).all(|(pace, wanted)| (pace.expect("it is paced") - wanted).abs() < 1e-3 * wanted)
    }

    #[test]
    fn paths_share_a_ceiling_of_all_by_what_their_windows_would_send() {
        // No time of the test is before the clock of the machine, which controllers look at.
        let start = Instant::now() + Duration::from_hours(1);
        let group = Group::since(&named("lia").unwrap(), start).unwrap();
        let mut slots = [enter(&group, start), enter(&group, start)];
        assert_eq!(paces(&slots), [None, None]);
        // Equally while no round trip is known.
        group.limit(Rate(1e6), &[]);
        assert!(are_near(paces(&slots), [0.5e6 * PAYLOAD, 0.5e6 * PAYLOAD]), "{:?}", paces(&slots));
        // Round trips of 20 and 60 ms, and windows of 10 packets that have grown by one.
        for (slot, ms) in slots.iter_mut().zip([20, 60]) {
            let arrival = start + Duration::from_millis(ms);
            slot.on_packet_sent(start, 1200, 0);
            slot.on_acked(arrival, start, 0);
            slot.on_end_acks(arrival, 0, false, Some(0));
            slot.window();
        }
        assert!(are_near(paces(&slots), [0.75e6 * PAYLOAD, 0.25e6 * PAYLOAD]), "{:?}", paces(&slots));
        // Above what windows send there is nothing to limit: 1.25 of 10 to 11 packets in a round trip.
        group.limit(Rate(20e6), &[]);
        assert_eq!(paces(&slots), [None, None]);
        // A ceiling of one path leaves the other alone.
        group.limit(Rate(f64::INFINITY), &[None, Some(Rate(1e6))]);
        let [first, second] = paces(&slots);
        assert!(first.is_none() && (second.unwrap() - 1e6 * PAYLOAD).abs() < 1e3, "{second:?}");
        // Windows are as 3 to 1. Where the first may send 0.5 of 1 Mbit/s, the second has the rest, and where both have
        // ceilings whose sum is that of all, each has its own.
        for own in [[Some(0.5), None], [Some(0.1), Some(0.9)]] {
            group.limit(Rate(1e6), &own.map(|mbps| mbps.map(|mbps| Rate(mbps * 1e6))));
            let first = own[0].unwrap() * 1e6;
            assert!(are_near(paces(&slots), [first * PAYLOAD, (1e6 - first) * PAYLOAD]), "{:?}", paces(&slots));
        }
    }
}
