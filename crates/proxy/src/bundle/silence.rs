//! Lines that fall silent while others work: flows leave them at once.
//!
//! While data pass, each end sends a packet on every line some times a second, so that something arrives on every line that
//! works. A line on which nothing has arrived for too long is doubted: flows send over others what was on its way there,
//! and this end sends no more of these packets, so that the other end finds the line silent, too. If it stays silent the
//! client closes it, and connects anew. A line is judged only beside another one on which such packets arrive.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::line::Line;

/// Time between looks while data pass, and while none do.
const LOOK: Duration = Duration::from_millis(5);
const SELDOM: Duration = Duration::from_millis(100);

/// Time between packets that each end sends on every line while data pass.
const BEAT: Duration = Duration::from_millis(20);

/// For how long data count as passing after the last, and for how long lines are judged then: the other end may have seen
/// its last data some time ago.
const PASSING: Duration = Duration::from_secs(1);
const JUDGED: Duration = Duration::from_millis(500);

/// Packets in a row, none of them late, after which the other end is known to send them.
const STEADY: u32 = 5;

/// The least that the round trip of a line is expected to change.
const LEAST_JITTER: Duration = Duration::from_millis(10);

/// Time between looks from which on this machine counts as halted.
const HALTED: Duration = Duration::from_millis(100);

/// Silence after which a line is closed.
const CLOSED: Duration = Duration::from_millis(250);

/// What is known of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign {
    /// Time since something arrived.
    silence: Duration,
    /// How much the round trip changes.
    jitter: Duration,
    /// Time between the last looks: on a busy machine, what has come meanwhile may not be read yet.
    look: Duration,
    /// Whether the other end sends packets here some times a second.
    is_steady: bool,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    Doubted,
    Closed,
}

impl Sign {
    /// Whether the line has been silent for longer than a beat, a look and its jitter allow.
    fn is_silent(&self) -> bool {
        self.silence > BEAT + self.look.max(LOOK) + self.jitter.max(LEAST_JITTER)
    }

    /// Whether it shows that the other end sends packets on every line that works.
    fn is_witness(&self) -> bool {
        self.is_steady && !self.is_silent()
    }

    /// Judges the line beside the others.
    fn judge(&self, others: &[Self]) -> Verdict {
        match () {
            // Where all are silent, a machine may have halted.
            () if !self.is_silent() || !others.iter().any(Self::is_witness) => Verdict::Fine,
            () if self.silence > CLOSED + self.jitter => Verdict::Closed,
            () => Verdict::Doubted,
        }
    }
}

/// What has arrived on a line.
#[derive(Clone, Copy, Debug)]
struct Heard {
    datagrams: u64,
    /// When the last datagram arrived.
    at: Instant,
    /// Frames of which the other end sends one some times a second.
    pings: u64,
    pinged: Instant,
    /// Number of these that came in a row, none of them late.
    in_time: u32,
}

impl Heard {
    fn new((datagrams, pings): (u64, u64), now: Instant) -> Self {
        Self { datagrams, at: now, pings, pinged: now, in_time: 0 }
    }

    fn note(&mut self, (datagrams, pings): (u64, u64), jitter: Duration, now: Instant) {
        if datagrams != self.datagrams {
            (self.datagrams, self.at) = (datagrams, now);
        }
        let is_late = now > self.pinged + 2 * BEAT + LOOK + jitter;
        if pings != self.pings {
            self.in_time = if is_late { 1 } else { self.in_time.saturating_add(1) };
            (self.pings, self.pinged) = (pings, now);
        } else if is_late {
            self.in_time = 0;
        }
    }
}

/// The watch over the lines of a bundle.
pub(super) struct Watch {
    /// Whether lines that stay silent are closed.
    closes: bool,
    /// Frames with data that have passed on each line in both directions.
    data: HashMap<u64, u64>,
    /// Since when data pass, and until when they count as passing.
    since: Instant,
    until: Instant,
    beaten: Instant,
    /// What has arrived on each line.
    heard: HashMap<u64, Heard>,
    looked: Instant,
    /// Times between the last looks.
    looks: (Duration, Duration),
}

impl Watch {
    /// A watch that closes lines that stay silent, or leaves that to the other end.
    pub fn new(closes: bool) -> Self {
        let now = Instant::now();
        Self {
            closes,
            data: HashMap::new(),
            since: now,
            until: now,
            beaten: now,
            heard: HashMap::new(),
            looked: now,
            looks: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// Looks at all lines; the time of the next look.
    pub fn look(&mut self, lines: &[Arc<Line>]) -> Instant {
        let now = Instant::now();
        for line in lines {
            line.measure();
        }
        let is_active = self.listen(lines, now);
        let look = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
        self.looks = (look, self.looks.0);
        if !is_active {
            for line in lines {
                line.doubt(false);
            }
            return now + SELDOM;
        }
        if now >= self.beaten + BEAT {
            self.beaten = now;
            // Where this end hears nothing, the other is to hear nothing either.
            for path in lines.iter().filter(|line| !line.is_doubted()).filter_map(|line| line.path()) {
                // A connection that is closed just now tells others.
                let _ = path.ping();
            }
        }
        // Where this machine has halted, nothing is known.
        if self.longest_look() < HALTED && now + PASSING < self.until + JUDGED {
            self.judge(lines, now);
        }
        now + LOOK
    }

    /// Notes what has arrived; whether data pass.
    fn listen(&mut self, lines: &[Arc<Line>], now: Instant) -> bool {
        let mut passes = false;
        for line in lines {
            let Some(stats) = line.path().map(|path| path.stats()) else { continue };
            let data = stats.frame_tx.stream + stats.frame_rx.stream + line.packets();
            let count = (stats.udp_rx.datagrams, stats.frame_rx.ping);
            let jitter = line.pace().jitter;
            self.heard.entry(line.id).or_insert(Heard::new(count, now)).note(count, jitter, now);
            // The first data of a line are its greeting.
            passes |= self.data.insert(line.id, data).is_some_and(|before| before != data);
        }
        let is_here = |id: &u64| lines.iter().any(|line| line.id == *id);
        self.heard.retain(|id, _| is_here(id));
        self.data.retain(|id, _| is_here(id));
        if passes {
            if now >= self.until {
                self.since = now;
            }
            self.until = now + PASSING;
        }
        now < self.until
    }

    fn longest_look(&self) -> Duration {
        self.looks.0.max(self.looks.1)
    }

    fn judge(&self, lines: &[Arc<Line>], now: Instant) {
        let signs: Vec<Option<Sign>> = lines.iter().map(|line| self.sign(line, now)).collect();
        for (own, line) in lines.iter().enumerate() {
            let Some(sign) = signs[own] else { continue };
            let others = signs.iter().enumerate().filter(|(other, _)| *other != own);
            let others: Vec<Sign> = others.filter_map(|(_, sign)| *sign).collect();
            let verdict = sign.judge(&others);
            line.doubt(verdict != Verdict::Fine);
            // The client alone closes lines: if each end closed another one, none would be left.
            if verdict == Verdict::Closed && self.closes {
                line.close();
            }
        }
    }

    /// What is known of a line. The other end begins to send beats when the first data have come there, and they take
    /// their time.
    fn sign(&self, line: &Line, now: Instant) -> Option<Sign> {
        let (heard, pace) = (self.heard.get(&line.id)?, line.pace());
        let from = heard.at.max(self.since + 2 * pace.rtt + SELDOM);
        let silence = now.saturating_duration_since(from);
        let look = self.longest_look();
        Some(Sign { silence, jitter: pace.jitter, look, is_steady: heard.in_time >= STEADY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(silence: u64, jitter: u64) -> Sign {
        let [silence, jitter] = [silence, jitter].map(Duration::from_millis);
        Sign { silence, jitter, look: LOOK, is_steady: true }
    }

    #[test]
    fn a_line_that_is_silent_alone_is_doubted_and_then_closed() {
        // A beat of 20 ms, a look of 5 ms, and a jitter of 10 ms at the least.
        let other = [sign(30, 5)];
        for (silence, jitter, verdict) in [
            (35, 5, Verdict::Fine),
            (36, 5, Verdict::Doubted),
            (255, 5, Verdict::Doubted),
            (256, 5, Verdict::Closed),
            (65, 40, Verdict::Fine),
            (66, 40, Verdict::Doubted),
            (290, 40, Verdict::Doubted),
            (291, 40, Verdict::Closed),
        ] {
            assert_eq!(sign(silence, jitter).judge(&other), verdict, "{silence} ms and {jitter} ms");
        }
    }

    #[test]
    fn a_peer_that_does_not_send_on_every_line_is_no_witness() {
        let quiet = Sign { is_steady: false, ..sign(10, 5) };
        assert_eq!(sign(500, 5).judge(&[quiet]), Verdict::Fine);
        assert_eq!(sign(500, 5).judge(&[quiet, sign(10, 5)]), Verdict::Closed);
    }

    #[test]
    fn beats_are_steady_when_five_came_in_a_row() {
        let start = Instant::now();
        let mut heard = Heard::new((0, 0), start);
        let mut note = |at: u64, pings, jitter| {
            heard.note((0, pings), Duration::from_millis(jitter), start + Duration::from_millis(at));
            heard.in_time
        };
        assert_eq!([20, 40, 80, 100, 120].map(|at| note(at, at, 0)), [1, 2, 3, 4, 5]);
        assert_eq!([note(165, 120, 0), note(166, 120, 0), note(180, 180, 0)], [5, 0, 1]);
        assert_eq!([note(230, 230, 5), note(285, 285, 5)], [2, 1], "up to 50 ms are in time under a jitter of 5 ms");
    }

    #[test]
    fn where_all_are_silent_or_there_is_one_none_is_closed() {
        assert_eq!(sign(500, 5).judge(&[sign(36, 5)]), Verdict::Fine);
        assert_eq!(sign(500, 5).judge(&[sign(36, 5), sign(10, 5)]), Verdict::Closed);
        assert_eq!(sign(500, 5).judge(&[]), Verdict::Fine);
    }
}
