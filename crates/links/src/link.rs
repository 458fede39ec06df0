//! Links: each sends packets one after the other and delivers them after its delay, in order.
//!
//! When a packet enters a link, all packets before it are known, and so is its departure. One event for each packet and
//! link is therefore enough, the arrival at the far end. The number of pending departures is the number of waiting
//! packets.
//!
//! For each packet a link needs its record of one cache line and mostly one more line for its queue. Rare features
//! (limits, capacities that change) are stored separately.

use anabranch_core::units::BIT_PICOSECONDS;
use anabranch_core::{Rate, Span, Time};
use anabranch_plan::{CapacityReports, LinkPlan};

use crate::departures::{Departures, Ring};
use crate::schedule::{Schedule, ps_per_byte};

/// Marks a link without an entry in [`Links::special`].
const NONE: u32 = u32::MAX;

/// The fields of a link that every packet needs.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Link {
    /// Departure of the last packet.
    free_at: u64,
    /// Picoseconds per byte; 0 for a link without a limit.
    ps_per_byte: f64,
    delay: u64,
    waiting: Ring,
    /// Index in [`Links::special`].
    special: u32,
    /// Greatest number of packets since the last call of [`Links::peak`].
    peak_packets: u32,
    /// Longest time that the link needs to send all that waits, in picoseconds; seven digits fit the cache line.
    longest_wait: f32,
    /// Greatest number of packets that may wait.
    limit_packets: u32,
    bytes: u64,
}

const _: () = assert!(std::mem::size_of::<Link>() == 64, "a link is one cache line");

/// The rare features of a link.
#[derive(Clone, Debug)]
struct Special {
    limit_bytes: u64,
    schedule: Option<Schedule>,
    reports: Option<CapacityReports>,
}

/// All links of a run.
#[derive(Clone, Debug, Default)]
pub struct Links {
    hot: Vec<Link>,
    departures: Departures,
    special: Vec<Special>,
    seldom: Vec<Seldom>,
}

/// The counters of a link that few packets change.
#[derive(Clone, Copy, Debug, Default)]
struct Seldom {
    /// Greatest number of packets before the last call of [`Links::peak`].
    most_packets: u32,
    /// Number of packets that the link dropped.
    dropped: u64,
    /// Bytes of the packets for which there was no room.
    refused_bytes: u64,
}

/// The counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of packets of any kind that the link took in.
    pub bytes: u64,
    /// Bytes of packets of any kind that the link has sent.
    pub sent: u64,
    /// Number of packets that found the queue full or were lost on the way.
    pub dropped: u64,
    /// Greatest number of packets that waited, including the packet in transmission.
    pub most_packets: u32,
    /// Longest time that the link needed to send all that waited and was in transmission, in picoseconds.
    pub longest_wait: u64,
}

/// Bytes that a link of constant capacity still has to send.
fn bytes_left(link: &Link, now: u64) -> u64 {
    let wait = link.free_at.saturating_sub(now) as f64;
    if link.ps_per_byte > 0.0 { (wait / link.ps_per_byte).round() as u64 } else { 0 }
}

/// Transmission time of a packet; at least a picosecond, so that no two packets of a link arrive at the same time.
#[inline]
fn transmission(bytes: u32, ps_per_byte: f64) -> u64 {
    // Adding a half rounds in two instructions, where `round` may be a call.
    ((f64::from(bytes) * ps_per_byte + 0.5) as i64).max(1) as u64
}

impl Links {
    /// Adds an empty link.
    pub fn add(&mut self, capacity: Rate, delay: u64, plan: &LinkPlan) {
        let schedule = Schedule::new(capacity, plan);
        let is_special = schedule.is_some() || plan.limit.bytes.is_some() || plan.reports.is_some();
        // On a link without a limit nothing waits; packets that enter at one instant only keep their order.
        let has_queue = schedule.is_some() || capacity.0.is_finite();
        let special = if is_special { self.special.len() as u32 } else { NONE };
        if is_special {
            self.special.push(Special {
                limit_bytes: plan.limit.bytes.filter(|_| has_queue).map_or(u64::MAX, |b| b.0),
                schedule,
                reports: plan.reports.clone(),
            });
        }
        self.hot.push(Link {
            free_at: 0,
            ps_per_byte: ps_per_byte(capacity),
            delay,
            waiting: self.departures.ring(),
            special,
            peak_packets: 0,
            longest_wait: 0.0,
            limit_packets: plan.limit.packets.filter(|_| has_queue).unwrap_or(u32::MAX),
            bytes: 0,
        });
        self.seldom.push(Seldom::default());
    }

    /// Number of links.
    pub fn count(&self) -> usize {
        self.hot.len()
    }

    /// Puts a packet on a link; returns its arrival at the far end, or `None` if there is no room for it.
    #[inline]
    pub fn enter(&mut self, l: u32, now: u64, bytes: u32) -> Option<u64> {
        let link = &mut self.hot[l as usize];
        self.departures.settle(&mut link.waiting, now);
        let start = link.free_at.max(now);
        let end = if link.waiting.len() >= link.limit_packets {
            None
        } else if link.special == NONE {
            Some(start.saturating_add(transmission(bytes, link.ps_per_byte)))
        } else {
            self.special[link.special as usize].end(link, start, now, bytes)
        };
        let Some(free_at) = end else {
            self.refuse(l, bytes);
            return None;
        };
        link.free_at = free_at;
        self.departures.push(&mut link.waiting, free_at);
        let packets = link.waiting.len();
        link.peak_packets = link.peak_packets.max(packets);
        link.longest_wait = link.longest_wait.max((free_at - now) as f32);
        link.bytes += u64::from(bytes);
        Some(free_at.saturating_add(link.delay))
    }

    /// Start of the transmission of a packet that enters a link now; until then it waits.
    pub fn begins(&mut self, l: u32, now: u64) -> u64 {
        let link = &self.hot[l as usize];
        match self.special.get_mut(link.special as usize).and_then(|special| special.schedule.as_mut()) {
            Some(schedule) => schedule.begins(link.free_at, now),
            None => link.free_at.max(now),
        }
    }

    #[cold]
    fn refuse(&mut self, l: u32, bytes: u32) {
        let seldom = &mut self.seldom[l as usize];
        seldom.dropped += 1;
        seldom.refused_bytes += u64::from(bytes);
    }

    /// Records the number of packets that wait at a link or are in transmission, and the seconds to send those.
    pub fn note_waiting(&mut self, l: u32, packets: u32, seconds: f64) {
        let link = &mut self.hot[l as usize];
        link.peak_packets = link.peak_packets.max(packets);
        link.longest_wait = link.longest_wait.max((1e12 * seconds) as f32);
    }

    /// Counts a packet that was lost on the way.
    pub fn drop_one(&mut self, l: u32) {
        self.seldom[l as usize].dropped += 1;
    }

    /// Reads the fields that every packet needs, to fetch them into the cache early.
    #[inline]
    pub fn prefetch(&self, l: u32) -> u64 {
        self.hot[l as usize].free_at
    }

    /// Reads both ends of the queue, to fetch them into the cache early.
    #[inline]
    pub fn prefetch_at_queue(&self, l: u32) -> u64 {
        self.departures.prefetch(&self.hot[l as usize].waiting)
    }

    /// Propagation delay in picoseconds.
    pub fn delay(&self, l: u32) -> u64 {
        self.hot[l as usize].delay
    }

    /// Backlog in bytes. It contains the rest of the packet in transmission, or all of that packet if the capacity
    /// changes.
    pub fn backlog(&self, l: usize, now: u64) -> u64 {
        let link = &self.hot[l];
        match self.special.get(link.special as usize).and_then(|s| s.schedule.as_ref()) {
            Some(schedule) => schedule.backlog(now),
            None => bytes_left(link, now),
        }
    }

    /// Greatest number of packets that waited since the last call.
    pub fn peak(&mut self, l: usize, now: u64) -> u32 {
        let link = &mut self.hot[l];
        self.departures.settle(&mut link.waiting, now);
        let peak = std::mem::replace(&mut link.peak_packets, link.waiting.len());
        let seldom = &mut self.seldom[l];
        seldom.most_packets = seldom.most_packets.max(peak);
        peak
    }

    /// Total bytes that arrived at a link, including packets for which there was no room.
    pub fn arrived(&self, l: usize) -> u64 {
        self.hot[l].bytes + self.seldom[l].refused_bytes
    }

    /// Present capacity of a link; infinite for a link without a limit.
    pub fn capacity(&self, l: usize, now: Time) -> Rate {
        let link = &self.hot[l];
        let schedule = self.special.get(link.special as usize).and_then(|s| s.schedule.as_ref());
        Rate(BIT_PICOSECONDS / schedule.map_or(link.ps_per_byte, |s| s.ps_per_byte(now.0)))
    }

    /// Time of the first opportunity with bytes left, at `from` or later; `None` for a link that sends at any time.
    pub fn opportunity(&mut self, l: u32, from: u64) -> Option<u64> {
        let special = self.special.get_mut(self.hot[l as usize].special as usize)?;
        special.schedule.as_mut()?.opportunity(from)
    }

    /// Bytes of opportunities that no packet used since the last call.
    pub fn take_unused(&mut self, l: u32) -> u64 {
        let special = self.special.get_mut(self.hot[l as usize].special as usize);
        special.and_then(|special| special.schedule.as_mut()).map_or(0, Schedule::take_unused)
    }

    /// Capacity of a link as controls know it: the last reported one, or the present one if the link has no reports.
    pub fn known_capacity(&self, l: usize, now: Time) -> Rate {
        let reports = self.special.get(self.hot[l].special as usize).and_then(|s| s.reports.as_ref());
        reports.map_or_else(|| self.capacity(l, now), |reports| reports.at(now).capacity)
    }

    /// Capacity by the opportunities in a window before `now`, or before the last measurement if the link has reports;
    /// `None` for a link that sends at any time.
    pub fn measured_capacity(&self, l: u32, now: Time, window: Span) -> Option<Rate> {
        let special = self.special.get(self.hot[l as usize].special as usize)?;
        let schedule = special.schedule.as_ref()?;
        let Some(reports) = &special.reports else { return schedule.measured_capacity(now, window) };
        let measured = schedule.measured_capacity(reports.measured(now), window)?;
        Some(Rate(measured.0 * reports.at(now).error))
    }

    /// Whether the queue of a link may drop packets.
    pub fn has_limited_queue(&self, l: usize) -> bool {
        let link = &self.hot[l];
        let has_limit = |s: &Special| s.limit_bytes != u64::MAX;
        link.limit_packets != u32::MAX || self.special.get(link.special as usize).is_some_and(has_limit)
    }

    /// Counters of a link at a time.
    pub fn totals(&self, l: usize, now: u64) -> Totals {
        let link = &self.hot[l];
        let sent = link.bytes - self.backlog(l, now).min(link.bytes);
        let seldom = &self.seldom[l];
        Totals {
            bytes: link.bytes,
            sent,
            dropped: seldom.dropped,
            most_packets: seldom.most_packets.max(link.peak_packets),
            longest_wait: link.longest_wait as u64,
        }
    }
}

impl Special {
    /// Departure of a packet, or `None` if there is no room for it.
    fn end(&mut self, link: &Link, start: u64, now: u64, bytes: u32) -> Option<u64> {
        let waiting = match &mut self.schedule {
            Some(schedule) => schedule.settle(now),
            None => bytes_left(link, now),
        };
        if waiting.saturating_add(u64::from(bytes)) > self.limit_bytes {
            return None;
        }
        Some(match &mut self.schedule {
            Some(schedule) => schedule.enter(link.free_at, now, bytes),
            None => start.saturating_add(transmission(bytes, link.ps_per_byte)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_core::units::MILLISECOND;
    use anabranch_core::{Bytes, Span};
    use anabranch_plan::Limit;
    use anabranch_plan::opportunities::{Milliseconds, Opportunities};

    fn links(capacity: Rate, plan: &LinkPlan) -> Links {
        let mut links = Links::default();
        links.add(capacity, 5 * MILLISECOND, plan);
        links
    }

    /// 1,000 bytes take 1 ms.
    fn link(plan: &LinkPlan) -> Links {
        links(Rate(8e6), plan)
    }

    #[test]
    fn packets_are_sent_one_after_the_other() {
        let mut link = link(&LinkPlan::default());
        assert_eq!((link.begins(0, 0), link.enter(0, 0, 1000)), (0, Some(6 * MILLISECOND)));
        assert_eq!((link.begins(0, 0), link.enter(0, 0, 1000)), (MILLISECOND, Some(7 * MILLISECOND)));
        assert_eq!((link.backlog(0, 0), link.peak(0, 0)), (2000, 2));
        // At 1 ms the first has left; the third enters at 1.5 ms and leaves at 3 ms.
        assert_eq!((link.backlog(0, MILLISECOND), link.peak(0, MILLISECOND)), (1000, 2));
        assert_eq!(link.enter(0, 3 * MILLISECOND / 2, 1000), Some(8 * MILLISECOND));
        assert_eq!((link.totals(0, 0).most_packets, link.totals(0, 0).bytes), (2, 3000));
        // The two at 0 ms need longest. The time is kept with seven digits.
        let bytes = link.totals(0, 0).longest_wait as f64 / link.hot[0].ps_per_byte;
        assert!((bytes - 2000.0).abs() < 0.01, "{bytes}");
    }

    #[test]
    fn a_full_queue_takes_no_more() {
        let packets = LinkPlan { limit: Limit { packets: Some(2), bytes: None }, ..LinkPlan::default() };
        let bytes = LinkPlan { limit: Limit { packets: None, bytes: Some(Bytes(2500)) }, ..LinkPlan::default() };
        for plan in [packets, bytes] {
            let mut link = link(&plan);
            assert!(link.enter(0, 0, 1000).is_some() && link.enter(0, 0, 1000).is_some());
            assert_eq!(link.enter(0, 0, 1000), None);
            assert_eq!((link.totals(0, 0).dropped, link.totals(0, 0).bytes, link.arrived(0)), (1, 2000, 3000));
            assert!(link.enter(0, MILLISECOND, 1000).is_some());
        }
    }

    #[test]
    fn a_change_of_capacity_counts_from_its_time_on() {
        // 1,000 bytes: half of them in 0.5 ms, then the link stands still until 2 ms and goes on at half the rate.
        let changes = vec![(Time(MILLISECOND / 2), Rate(0.0)), (Time(2 * MILLISECOND), Rate(4e6))];
        let mut link = link(&LinkPlan { changes, ..LinkPlan::default() });
        assert_eq!((link.begins(0, 0), link.enter(0, 0, 1000)), (0, Some(8 * MILLISECOND)));
        assert_eq!((link.begins(0, 0), link.enter(0, 0, 1000)), (3 * MILLISECOND, Some(10 * MILLISECOND)));
        assert_eq!(link.capacity(0, Time(MILLISECOND)), Rate(0.0));
        assert_eq!(link.capacity(0, Time(2 * MILLISECOND)), Rate(4e6));
    }

    #[test]
    fn packets_leave_at_the_opportunities_after_they_came() {
        // 1,000 bytes at 1, 1 and 4 ms, and so on; bins of 4 ms see 6 Mbit/s.
        let times = Milliseconds::new(vec![1, 1, 4]).unwrap();
        let opportunities = Opportunities { times, bytes: 1000 };
        let changes = opportunities.rates(Span(4 * MILLISECOND), Span(MILLISECOND));
        let limit = Limit { packets: Some(4), bytes: Some(Bytes(3000)) };
        let plan = LinkPlan { limit, changes, opportunities: Some(opportunities), ..LinkPlan::default() };
        let mut link = link(&plan);
        assert_eq!(link.capacity(0, Time(0)), Rate(6e6));
        // The delay is 5 ms; those that leave together are a picosecond apart.
        assert_eq!((link.begins(0, 0), link.enter(0, 0, 500)), (MILLISECOND, Some(6 * MILLISECOND)));
        assert_eq!(link.enter(0, 0, 500), Some(6 * MILLISECOND + 1));
        assert_eq!(link.enter(0, 0, 1500), Some(9 * MILLISECOND));
        assert_eq!((link.enter(0, 0, 501), link.backlog(0, 0)), (None, 2500));
        // At 4 ms the opportunity there is over, and with it 500 bytes of it; the next are at 5 and 5 ms.
        assert_eq!(link.backlog(0, 4 * MILLISECOND), 0);
        assert_eq!(link.enter(0, 4 * MILLISECOND, 1500), Some(10 * MILLISECOND));
        assert_eq!(link.enter(0, 4 * MILLISECOND, 500), Some(10 * MILLISECOND + 1));
        assert_eq!(link.enter(0, 4 * MILLISECOND, 500), Some(13 * MILLISECOND));
    }

    #[test]
    fn a_packet_waits_while_nothing_is_carried() {
        let changes = vec![(Time(MILLISECOND), Rate(0.0)), (Time(2 * MILLISECOND), Rate(8e6))];
        let mut link = link(&LinkPlan { changes, ..LinkPlan::default() });
        assert_eq!((link.begins(0, MILLISECOND), link.begins(0, 3 * MILLISECOND)), (2 * MILLISECOND, 3 * MILLISECOND));
    }

    #[test]
    fn nothing_leaves_a_link_that_is_down() {
        let mut link = links(Rate(0.0), &LinkPlan::default());
        assert_eq!(link.begins(0, 0), u64::MAX);
        assert_eq!(link.enter(0, 0, 1000), Some(u64::MAX));
        assert_eq!((link.backlog(0, MILLISECOND), link.totals(0, MILLISECOND).sent), (1000, 0));
        assert_eq!(link.capacity(0, Time(9)), Rate(0.0));
    }

    #[test]
    fn a_link_without_limit_only_delays() {
        let mut link = links(Rate(f64::INFINITY), &LinkPlan::default());
        assert!(link.capacity(0, Time(0)).0.is_infinite());
        assert_eq!(link.enter(0, 0, 1000), Some(5 * MILLISECOND + 1));
        assert_eq!(link.enter(0, 0, 1000), Some(5 * MILLISECOND + 2));
    }
}
