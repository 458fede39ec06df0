//! Tests of slow starts of several senders at once, in virtual time: their controls, and the messages that they
//! exchange through the receiver, with all delays.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Group, RemoteSubflow, Slot, named};
use crate::feedback::{Others, SentSnapshots, Snapshots};
use crate::fetch::coupling::{PERIOD, others, subflows};
use crate::quic::congestion::{Controller, ControllerFactory};

/// Bytes of a packet.
const PACKET: u64 = 1200;

/// Rate of a pacer relative to that of the window, and the packets in its bursts.
const PACED: (f64, f64) = (1.25, 10.0);

/// Number in QUIC of the only path of each sender.
const PATH: u32 = 0;

/// Messages with their times of arrival.
type Mail<M> = VecDeque<(u64, M)>;

/// A sender of part of a file; all times are in milliseconds.
struct Sender {
    group: Arc<Group>,
    slot: Slot,
    rtt: u64,
    /// Time at which the sender begins.
    begins: u64,
    next: u64,
    /// Packets that the pacer allows.
    paced: f64,
    /// Packets in flight: time of sending, first number, and count.
    under_way: VecDeque<(u64, u64, u64)>,
    told: SentSnapshots,
    /// Snapshots of this sender that have not arrived yet, and the last that have.
    own: Mail<Snapshots>,
    known: Snapshots,
    /// Snapshots of others that have not arrived yet.
    others: Mail<Others>,
    told_others: SentSnapshots,
}

impl Sender {
    /// Creates a sender under the control of a group, with a round trip and a time at which it begins.
    fn new(group: Arc<Group>, start: Instant, (rtt, begins): (u64, u64)) -> Self {
        let controller = group.clone().build(start, PACKET as u16);
        let slot = *controller.into_any().downcast::<Slot>().expect("a group makes slots");
        Self {
            group,
            slot,
            rtt,
            begins,
            next: 0,
            paced: PACED.1,
            under_way: VecDeque::new(),
            told: SentSnapshots::default(),
            own: VecDeque::new(),
            known: Snapshots::default(),
            others: VecDeque::new(),
            told_others: SentSnapshots::default(),
        }
    }

    /// Processes acknowledgements and sends packets; returns how many arrive at the receiver.
    fn step(&mut self, now: u64, at: impl Fn(u64) -> Instant) -> u64 {
        let mut came = 0;
        for &(sent, _, count) in &self.under_way {
            came += if sent + self.rtt / 2 == now { count } else { 0 };
        }
        while let Some((sent, first, count)) = self.under_way.pop_front_if(|(sent, ..)| *sent + self.rtt <= now) {
            (first..first + count).for_each(|number| self.slot.on_acked(at(now), at(sent), number));
            self.slot.on_end_acks(at(now), 0, false, Some(first + count - 1));
            self.slot.window();
        }
        if now >= self.begins {
            self.send(now, at);
        }
        came
    }

    /// Sends packets as the window and the pacer allow.
    fn send(&mut self, now: u64, at: impl Fn(u64) -> Instant) {
        let under_way: u64 = self.under_way.iter().map(|(.., count)| count).sum();
        let window = self.slot.window() / PACKET;
        self.paced += PACED.0 * window as f64 / self.rtt as f64;
        let room = window.saturating_sub(under_way);
        let count = room.min(self.paced as u64);
        self.paced = (self.paced - count as f64).min(PACED.1);
        if count == room {
            self.slot.on_cwnd_limited();
        }
        if count > 0 {
            (self.next..self.next + count).for_each(|number| self.slot.on_packet_sent(at(now), PACKET as u16, number));
            self.under_way.push_back((now, self.next, count));
            self.next += count;
        }
    }

    /// Receives snapshots of others, and sends its own.
    fn talk(&mut self, now: u64, at: impl Fn(u64) -> Instant) {
        while let Some((_, Others { heard, snapshots })) = self.others.pop_front_if(|(at, _)| *at <= now) {
            let remote = |(group, snapshot)| RemoteSubflow { group, snapshot };
            let others: Vec<RemoteSubflow> = snapshots.subflows.into_iter().map(remote).collect();
            let then: Vec<(usize, f64)> = self.told.windows(heard).iter().map(|&(_, window)| (0, window)).collect();
            self.group.set_remotes(&others, &then);
        }
        let subflows = self.group.snapshot(0).map(|snapshot| (PATH, snapshot)).into_iter().collect();
        if let Some(told) = self.told.next(at(now), subflows, 0) {
            self.own.push_back((now + self.rtt / 2, told));
        }
        if let Some((_, known)) = self.own.pop_front_if(|(at, _)| *at <= now) {
            self.known = known;
        }
    }
}

/// The exchange of snapshots between senders.
#[derive(Clone, Copy, PartialEq)]
enum Talk {
    /// The exchange of real senders.
    Full,
    /// Snapshots of others alone, which count as if they were current.
    Late,
    /// No exchange: one control has all paths, and knows their states.
    Joint,
}

/// Time in milliseconds after which `bytes` have arrived from senders under a control, over a link that is never full.
/// Each sender has a round trip and a time at which it begins.
fn brings(control: &str, senders: &[(u64, u64)], talk: Talk, bytes: u64) -> u64 {
    // All times are in the future, so the clock of this machine has no effect.
    let start = Instant::now() + Duration::from_hours(1);
    let at = |ms: u64| start + Duration::from_millis(ms);
    let period = PERIOD.as_millis() as u64;
    let group = || Group::since(&named(control).unwrap(), start).unwrap();
    let joint = group();
    let own = || if talk == Talk::Joint { joint.clone() } else { group() };
    let mut senders: Vec<Sender> = senders.iter().map(|&way| Sender::new(own(), start, way)).collect();
    let mut came = 0;
    for now in 0..20_000 {
        came += senders.iter_mut().map(|sender| sender.step(now, at)).sum::<u64>();
        if came * PACKET >= bytes {
            return now - senders.iter().map(|sender| sender.begins).min().unwrap();
        }
        if now % period == 0 && talk != Talk::Joint {
            for sender in &mut senders {
                sender.talk(now, at);
            }
            exchange(&mut senders, now, at, talk);
        }
    }
    panic!("{came} packets have come");
}

/// Passes the snapshots of each sender to the others, as the receiver does.
fn exchange(senders: &mut [Sender], now: u64, at: impl Fn(u64) -> Instant, talk: Talk) {
    let is_full = talk == Talk::Full;
    let of = |sender: &Sender| subflows(&sender.known.subflows, &[Some(PATH)], &[], is_full);
    let all: Vec<Vec<RemoteSubflow>> = senders.iter().map(of).collect();
    for (source, sender) in senders.iter_mut().enumerate() {
        let heard = if is_full { sender.known.sequence } else { 0 };
        let told = others(&all, source).iter().map(|other| (other.group, other.snapshot)).collect();
        if let Some(snapshots) = sender.told_others.next(at(now), told, heard) {
            sender.others.push_back((now + sender.rtt / 2, Others { heard, snapshots }));
        }
    }
}

const MB: u64 = 1_000_000;

/// Combinations of round trips and begins of senders, in milliseconds.
fn ways() -> Vec<Vec<(u64, u64)>> {
    let of = |rtt: u64| [vec![(rtt, 600); 2], vec![(rtt, 600), (rtt, 600 + rtt / 3)], vec![(rtt, 600); 4]];
    [20, 60, 202].into_iter().flat_map(of).chain([vec![(60, 600), (202, 600)]]).collect()
}

#[test]
fn slow_starts_of_several_senders_grow_as_those_of_one_that_has_all_paths() {
    for senders in ways() {
        let [full, joint] = [Talk::Full, Talk::Joint].map(|talk| brings("nmcc", &senders, talk, MB) as f64);
        println!("{senders:?}: {full} ms, joint {joint} ms");
        // A sender receives a snapshot of a sender with another round trip up to half of the longer one late.
        let most = if senders.iter().all(|&(rtt, _)| rtt == senders[0].0) { 0.04 } else { 0.08 };
        assert!((full / joint - 1.0).abs() < most, "{full} ms, {joint} ms together");
    }
}

#[test]
fn two_slow_starts_take_as_long_as_one_of_tcp_and_not_less_by_what_they_do_not_know() {
    // Two senders begin with a window of 10 packets each, one sender with 10 in all.
    for rtt in [20, 60, 202] {
        let one = brings("reno", &[(rtt, 600)], Talk::Joint, MB) as f64;
        let two = |control, talk| brings(control, &[(rtt, 600); 2], talk, MB) as f64;
        let (full, late, apart) = (two("nmcc", Talk::Full), two("nmcc", Talk::Late), two("uncoupled", Talk::Joint));
        println!("{rtt} ms: one {one} ms, two {full} ms, where all is late {late} ms, apart {apart} ms");
        assert!(full > 0.97 * one && late < 0.95 * one && apart < 0.87 * one, "{one}, {full}, {late}, {apart}");
    }
}
