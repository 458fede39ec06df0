//! Paths that fall silent while others work: the others take over what was on its way there.
//!
//! While data pass, each end sends a packet on every path some times a second, so that something arrives on every path that
//! works. Acknowledgements do not serve, since those of all paths may come over one. A path on which nothing has arrived for
//! too long is doubted: nothing more is sent on it, neither data nor these packets, so that the other end finds it silent,
//! too. If it stays silent the client closes it, and the QUIC library sends again at both ends what was on its way there. A
//! path is judged only beside another one on which such packets arrive: a peer of others may send none.
//!
//! The QUIC library sends on the path with the lowest number as long as its window allows. So while no data pass, a first
//! path that is much slower than another is closed, and comes back with a higher number.

use std::collections::HashMap;
use std::time::Duration;

use super::{Instant, PairPaths, Paths};
use crate::control::Slot;
use crate::quic::{Path, PathId, PathStatus, controller, path_number};

/// Time between looks while data pass, and while none do.
const LOOK: Duration = Duration::from_millis(5);
const SELDOM: Duration = Duration::from_millis(100);

/// Time between packets that each end sends on every path while data pass.
const BEAT: Duration = Duration::from_millis(20);

/// For how long data count as passing after the last, and for how long paths are judged then: the other end may have seen
/// its last data some time ago.
const PASSING: Duration = Duration::from_secs(1);
const JUDGED: Duration = Duration::from_millis(500);

/// Packets in a row, none of them late, after which the other end is known to send them.
const STEADY: u32 = 5;

/// The least that the round trip of a path is expected to change.
const LEAST_JITTER: Duration = Duration::from_millis(10);

/// How much longer the round trip of the first path may be than that of another, as a factor and in addition.
const SLOWER: (f64, Duration) = (1.25, Duration::from_millis(2));

/// Least time between two changes of the order of paths.
const ORDERED: Duration = Duration::from_secs(10);

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign {
    /// Time since something arrived.
    silence: Duration,
    /// How much the round trip changes.
    jitter: Duration,
    /// Whether the other end sends packets here some times a second.
    is_steady: bool,
}

/// What becomes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    Doubted,
    Closed,
}

impl Sign {
    /// Whether the path has been silent for longer than a beat, a look and its jitter allow.
    fn is_silent(&self) -> bool {
        self.silence > BEAT + LOOK + self.jitter.max(LEAST_JITTER)
    }

    /// Whether it shows that the other end sends packets on every path that works.
    fn is_witness(&self) -> bool {
        self.is_steady && !self.is_silent()
    }

    /// Judges the path beside the others; it is not closed before it was silent for `least`.
    fn judge(&self, others: &[Self], least: Duration) -> Verdict {
        match () {
            // Where all are silent, a machine may have halted.
            () if !self.is_silent() || !others.iter().any(Self::is_witness) => Verdict::Fine,
            () if self.silence > least + self.jitter.max(LEAST_JITTER) => Verdict::Closed,
            () => Verdict::Doubted,
        }
    }
}

/// What has arrived on a path.
#[derive(Clone, Copy, Debug)]
struct Heard {
    datagrams: u64,
    /// When the last datagram arrived.
    at: Instant,
    /// Frames of which the other end sends one some times a second.
    pings: u64,
    pinged: Instant,
    /// How many of these came in a row, none of them late.
    in_time: u32,
}

impl Heard {
    fn note(&mut self, (datagrams, pings): (u64, u64), now: Instant) {
        if datagrams != self.datagrams {
            (self.datagrams, self.at) = (datagrams, now);
        }
        let is_late = now > self.pinged + 2 * BEAT + LOOK;
        if pings != self.pings {
            self.in_time = if is_late { 1 } else { self.in_time + 1 };
            (self.pings, self.pinged) = (pings, now);
        } else if is_late {
            self.in_time = 0;
        }
    }
}

/// The watch over the paths of a connection.
#[derive(Debug)]
pub(super) struct Watch {
    least: Duration,
    /// Frames with data that have passed in both directions.
    data: u64,
    /// Since when data pass, and until when they count as passing.
    since: Instant,
    until: Instant,
    beaten: Instant,
    /// What has arrived on each open path.
    heard: HashMap<PathId, Heard>,
    looked: Instant,
    next_look: Instant,
    /// Earliest time of the next change of the order of paths.
    next_order: Instant,
}

impl Watch {
    /// A watch that closes no path before it was silent for `least`.
    pub fn new(least: Duration) -> Self {
        let now = Instant::now();
        Self {
            least,
            data: 0,
            since: now,
            until: now,
            beaten: now,
            heard: HashMap::new(),
            looked: now,
            next_look: now,
            next_order: now,
        }
    }

    /// The time of the next look.
    pub fn next_look(&self) -> Instant {
        self.next_look
    }

    /// Looks at all paths.
    pub fn look(&mut self, paths: &Paths) {
        let now = Instant::now();
        let mut pairs = paths.lock();
        let is_active = self.listen(&pairs, now);
        // Where this machine has halted, what came meanwhile is not read yet.
        let is_timely = std::mem::replace(&mut self.looked, now) + 3 * LOOK > now;
        self.next_look = now + if is_active { LOOK } else { SELDOM };
        if !is_active {
            pairs.iter_mut().for_each(|pair| paths.doubt(pair, false));
            return self.order(paths, &pairs, now);
        }
        if now >= self.beaten + BEAT {
            self.beaten = now;
            // Where this end hears nothing, the other is to hear nothing either.
            for path in pairs.iter().filter(|pair| !pair.is_doubted).filter_map(open) {
                // An event reports a path that is closed just now.
                let _ = path.ping();
            }
        }
        if is_timely && now + PASSING < self.until + JUDGED {
            self.judge(paths, &mut pairs, now);
        }
    }

    /// Notes what has arrived; whether data pass.
    fn listen(&mut self, pairs: &[PairPaths], now: Instant) -> bool {
        let mut data = 0;
        for path in pairs.iter().filter_map(open) {
            let stats = path.stats();
            data +=
                [&stats.frame_tx, &stats.frame_rx].map(|frames| frames.stream + frames.datagram).iter().sum::<u64>();
            let (datagrams, pings) = (stats.udp_rx.datagrams, stats.frame_rx.ping);
            let new = Heard { datagrams, at: now, pings, pinged: now, in_time: 0 };
            self.heard.entry(path.id()).or_insert(new).note((datagrams, pings), now);
        }
        let open: Vec<PathId> = pairs.iter().filter_map(open).map(Path::id).collect();
        self.heard.retain(|id, _| open.contains(id));
        if std::mem::replace(&mut self.data, data) != data {
            if now >= self.until {
                self.since = now;
            }
            self.until = now + PASSING;
        }
        now < self.until
    }

    /// Closes the first path if another is much faster, so that it comes back after that.
    fn order(&mut self, paths: &Paths, pairs: &[PairPaths], now: Instant) {
        let mut all: Vec<(u32, Duration, &Path)> = Vec::new();
        for pair in pairs {
            let Some(path) = open(pair).filter(|_| pair.status == PathStatus::Available) else { continue };
            if let Some(number) = path_number(path.id())
                && let Some((rtt, _)) = paths.slot_of(pair).and_then(|slot| slot.round_trip())
            {
                all.push((number, rtt, path));
            }
        }
        all.sort_by_key(|(number, ..)| *number);
        let fastest = all.iter().map(|(_, rtt, _)| *rtt).min();
        if let (Some((_, rtt, first)), Some(fastest)) = (all.first(), fastest)
            && paths.is_client
            && now >= self.next_order
            && is_slow(*rtt, fastest)
        {
            self.next_order = now + ORDERED;
            let _ = first.close();
        }
    }

    fn judge(&mut self, paths: &Paths, pairs: &mut [PairPaths], now: Instant) {
        let signs: Vec<Option<Sign>> = pairs.iter().map(|pair| self.sign(paths, pair, now)).collect();
        for (own, pair) in pairs.iter_mut().enumerate() {
            let Some(sign) = signs[own] else { continue };
            let others = signs.iter().enumerate().filter(|(other, _)| *other != own);
            let others: Vec<Sign> = others.filter_map(|(_, sign)| *sign).collect();
            let verdict = sign.judge(&others, self.least);
            paths.doubt(pair, verdict != Verdict::Fine);
            // The client alone closes paths: if each end closed another one, none would be left.
            if verdict == Verdict::Closed && paths.is_client {
                let _ = pair.path.as_ref().map(Path::close);
            }
        }
    }

    /// What is known of a pair's path. The other end begins to send beats when the first data have come there, and they
    /// take their time.
    fn sign(&self, paths: &Paths, pair: &PairPaths, now: Instant) -> Option<Sign> {
        let heard = self.heard.get(&open(pair)?.id())?;
        let (rtt, jitter) = paths.slot_of(pair)?.round_trip()?;
        let from = heard.at.max(self.since + 2 * rtt + SELDOM);
        Some(Sign { silence: now.saturating_duration_since(from), jitter, is_steady: heard.in_time >= STEADY })
    }
}

/// Whether a path with this round trip is much slower than the fastest.
fn is_slow(rtt: Duration, fastest: Duration) -> bool {
    rtt > fastest.mul_f64(SLOWER.0) + SLOWER.1
}

/// The open path of a pair.
fn open(pair: &PairPaths) -> Option<&Path> {
    pair.path.as_ref().filter(|_| pair.is_open)
}

impl Paths {
    /// Sends nothing more on a pair's path, or again what its window allows.
    fn doubt(&self, pair: &mut PairPaths, is_doubted: bool) {
        if std::mem::replace(&mut pair.is_doubted, is_doubted) != is_doubted
            && let Some(slot) = self.slot_of(pair)
        {
            slot.suspend(is_doubted);
        }
    }

    /// The controller of a pair's open path.
    fn slot_of(&self, pair: &PairPaths) -> Option<Slot> {
        controller::<Slot>(&self.connection, open(pair)?.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(80);

    fn sign(silence: u64, jitter: u64) -> Sign {
        let [silence, jitter] = [silence, jitter].map(Duration::from_millis);
        Sign { silence, jitter, is_steady: true }
    }

    #[test]
    fn a_path_that_is_silent_alone_is_doubted_and_then_closed() {
        // A beat of 20 ms, a look of 5 ms, and a jitter of 10 ms at the least.
        let other = [sign(30, 5)];
        for (silence, jitter, verdict) in [
            (35, 5, Verdict::Fine),
            (36, 5, Verdict::Doubted),
            (90, 5, Verdict::Doubted),
            (91, 5, Verdict::Closed),
            (65, 40, Verdict::Fine),
            (66, 40, Verdict::Doubted),
            (121, 40, Verdict::Closed),
        ] {
            assert_eq!(sign(silence, jitter).judge(&other, LEAST), verdict, "{silence} ms and {jitter} ms");
        }
    }

    #[test]
    fn a_peer_that_does_not_send_on_every_path_is_no_witness() {
        let quiet = Sign { is_steady: false, ..sign(10, 5) };
        assert_eq!(sign(500, 5).judge(&[quiet], LEAST), Verdict::Fine);
        assert_eq!(sign(500, 5).judge(&[quiet, sign(10, 5)], LEAST), Verdict::Closed);
        let start = Instant::now();
        let mut heard = Heard { datagrams: 0, at: start, pings: 0, pinged: start, in_time: 0 };
        let mut note = |at: u64, pings| {
            heard.note((0, pings), start + Duration::from_millis(at));
            heard.in_time
        };
        assert_eq!(
            [note(20, 1), note(40, 2), note(50, 2), note(80, 3), note(100, 4), note(120, 5)],
            [1, 2, 2, 3, 4, 5]
        );
        assert_eq!([note(165, 5), note(166, 5), note(180, 6)], [5, 0, 1]);
    }

    #[test]
    fn a_path_is_slow_by_a_quarter_and_two_milliseconds() {
        let [rtt, slower, slow] = [20, 27, 28].map(Duration::from_millis);
        assert_eq!([rtt, slower, slow].map(|own| is_slow(own, rtt)), [false, false, true]);
    }

    #[test]
    fn where_all_are_silent_or_there_is_one_none_is_closed() {
        assert_eq!(sign(500, 5).judge(&[sign(36, 5)], LEAST), Verdict::Fine);
        assert_eq!(sign(500, 5).judge(&[sign(36, 5), sign(10, 5)], LEAST), Verdict::Closed);
        assert_eq!(sign(500, 5).judge(&[], LEAST), Verdict::Fine);
    }
}
