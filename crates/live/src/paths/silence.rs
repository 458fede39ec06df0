//! Paths that fall silent while they carry data: others take their place before they are given up for good.
//!
//! A path is doubted when nothing has come back for longer than its round trip allows. Then nothing new is sent on it, and
//! the others are asked for a sign of life. When one of them has given it, and the path is still silent, it is closed: the
//! QUIC library sends again what was on its way there.

use std::time::Duration;

use super::{Instant, PairPaths, Paths};
use crate::control::Slot;
use crate::quic::{Path, controller};

/// Time between looks.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// Silence after which a path is doubted, and after which it is closed, as multiples of its timeout for acknowledgements.
const DOUBTED: f64 = 1.5;
const CLOSED: f64 = 2.5;

/// What is known of a path that carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    /// Time since something came back, if something is on its way; otherwise 0.
    pub silence: Duration,
    /// Time since something came back.
    pub heard: Duration,
    /// Timeout for acknowledgements.
    pub patience: Duration,
}

/// What becomes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    Doubted,
    Closed,
}

/// Judges a path by its signs and those of the others. Nothing is closed before it was silent for `least`.
fn judge(own: &Sign, others: &[Sign], least: Duration) -> Verdict {
    let is_longer = |times: f64, least: Duration| own.silence > own.patience.mul_f64(times).max(least);
    // Both ends, and the rest of the way, have worked since.
    let is_alone = others.iter().any(|other| other.heard + own.patience < own.silence);
    match () {
        () if is_longer(CLOSED, least) && is_alone => Verdict::Closed,
        () if is_longer(DOUBTED, LOOK) => Verdict::Doubted,
        () => Verdict::Fine,
    }
}

impl Paths {
    /// Looks for silent paths; paths that were silent for less than `least` are not closed.
    pub(super) fn look_for_silent(&self, now: Instant, least: Duration) {
        let mut pairs = self.lock();
        let sign = |pair: &PairPaths| self.slot(pair)?.sign(now.into_std());
        let signs: Vec<Option<Sign>> = pairs.iter().map(sign).collect();
        let others = |own: usize| -> Vec<Sign> {
            signs.iter().enumerate().filter(|(other, _)| *other != own).filter_map(|(_, sign)| *sign).collect()
        };
        let mut asks = false;
        for (own, pair) in pairs.iter_mut().enumerate() {
            let Some(sign) = signs[own] else { continue };
            let others = others(own);
            let verdict = if others.is_empty() { Verdict::Fine } else { judge(&sign, &others, least) };
            asks |= verdict == Verdict::Doubted && !pair.is_doubted;
            pair.is_doubted = verdict != Verdict::Fine;
            if let Some(slot) = self.slot(pair) {
                slot.suspend(pair.is_doubted);
            }
            if verdict == Verdict::Closed {
                // The last path stays.
                let _ = pair.path.as_ref().map(Path::close);
            }
        }
        if asks {
            for path in pairs.iter().filter(|pair| !pair.is_doubted).filter_map(|pair| pair.path.as_ref()) {
                let _ = path.ping();
            }
        }
    }

    /// The controller of a pair's open path.
    fn slot(&self, pair: &PairPaths) -> Option<Slot> {
        controller::<Slot>(&self.connection, pair.path.as_ref().filter(|_| pair.is_open)?.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(100);

    fn sign(silence: u64, heard: u64, patience: u64) -> Sign {
        let [silence, heard, patience] = [silence, heard, patience].map(Duration::from_millis);
        Sign { silence, heard, patience }
    }

    #[test]
    fn a_path_that_is_silent_alone_is_doubted_and_then_closed() {
        let other = [sign(5, 5, 70)];
        for (silence, verdict) in
            [(45, Verdict::Fine), (46, Verdict::Doubted), (100, Verdict::Doubted), (101, Verdict::Closed)]
        {
            assert_eq!(judge(&sign(silence, silence, 30), &other, LEAST), verdict, "{silence}");
        }
        // 2.5 times its own patience.
        assert_eq!(judge(&sign(190, 190, 80), &other, LEAST), Verdict::Doubted);
        assert_eq!(judge(&sign(201, 201, 80), &other, LEAST), Verdict::Closed);
    }

    #[test]
    fn where_all_are_silent_none_is_closed() {
        // The other was heard about when this one was: the machine at the other end may have halted.
        assert_eq!(judge(&sign(500, 500, 30), &[sign(490, 490, 70)], LEAST), Verdict::Doubted);
        // It has nothing on its way, and nobody knows of it.
        assert_eq!(judge(&sign(500, 500, 30), &[sign(0, 480, 70)], LEAST), Verdict::Doubted);
        assert_eq!(judge(&sign(500, 500, 30), &[sign(0, 100, 70)], LEAST), Verdict::Closed);
    }
}
