//! Decides while a run goes on, by the clock, whether several threads are faster than one.
//!
//! The gain of several threads depends on the run and on the other load of the machine, and neither is known
//! beforehand. So both ways are tried for a moment each, in turn. The way that served more events a second goes on for
//! a while; then both are tried again. The choice changes the time that a run takes, and never its outcome.

use std::time::{Duration, Instant};

/// The number of threads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// On exactly this number, if the network can be divided into as many parts.
    Exactly(usize),
    /// On at most this number, while several threads are faster by the clock.
    AsPays(usize),
    /// On at most this number, and on no more than the processors that no other program uses when the run begins, while
    /// several threads are faster by the clock.
    IfSpare(usize),
}

impl From<usize> for Threads {
    fn from(threads: usize) -> Self {
        Self::Exactly(threads)
    }
}

/// The threads that drive the shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each shard has its thread.
    Together,
    /// The first thread drives all shards.
    Alone,
}

/// The duration of a trial: longer than a time slice of the operating system.
const TRY: Duration = Duration::from_millis(20);

/// Half the length of the first stretch on the way that was faster, in trials. Each stretch lasts twice as long as the
/// one before.
const FIRST_STRETCH: u32 = 16;

/// The longest stretch, in trials: a machine may become busy, or quiet, at any time.
const LONGEST_STRETCH: u32 = 128;

/// The duration, in trials, between two looks at whether several threads still serve more events than one did.
const LOOK: u32 = 4;

/// The factor by which the event rate of several threads must exceed that of one to be a gain: they take processors
/// from other programs.
const WORTH: f64 = 1.1;

/// The order of the trials. Threads have to gain twice, since the other load of a machine comes and goes.
const TRIALS: [Way; 4] = [Way::Together, Way::Alone, Way::Together, Way::Alone];

/// The choice between one thread and several, with the trials that it rests on.
pub struct Gain {
    way: Way,
    is_fixed: bool,
    /// The event rates of the trials that are over, in events a second.
    tried: Vec<f64>,
    /// The number of trials that the present stretch lasts.
    stretch: u32,
    /// The time at which the present trial or look began.
    began: Instant,
    /// The number of events served until then.
    before: u64,
    /// The number of looks in the present stretch.
    looks: u32,
    /// The number of events served while each shard had its thread.
    shared: u64,
}

impl Gain {
    /// Creates the decision for a run in a number of shards.
    pub fn new(shards: usize, threads: Threads) -> Self {
        let way = if shards > 1 { Way::Together } else { Way::Alone };
        let is_fixed = shards == 1 || matches!(threads, Threads::Exactly(_));
        let (tried, began) = (Vec::with_capacity(TRIALS.len()), Instant::now());
        Self { way, is_fixed, tried, stretch: FIRST_STRETCH, began, before: 0, looks: 0, shared: 0 }
    }

    /// The present way of the run.
    pub fn way(&self) -> Way {
        self.way
    }

    /// Whether the run keeps its way to the end.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Decides which way the run goes on; `events` is the number of all events served until `now`.
    pub fn decide(&mut self, events: u64, now: Instant) -> Way {
        let (lasted, is_trial) = (now.duration_since(self.began), self.tried.len() < TRIALS.len());
        if lasted < if is_trial { TRY } else { TRY * LOOK } {
            return self.way;
        }
        let served = events - self.before;
        let rate = served as f64 / lasted.as_secs_f64();
        if self.way == Way::Together {
            self.shared += served;
        }
        (self.began, self.before) = (now, events);
        if is_trial {
            self.tried.push(rate);
            self.way = TRIALS.get(self.tried.len()).copied().unwrap_or_else(|| self.found());
        } else if self.is_over(rate) {
            self.tried.clear();
            self.way = TRIALS[0];
        }
        self.way
    }

    /// Chooses the way that was faster in the trials, for a stretch twice as long as the one before.
    fn found(&mut self) -> Way {
        self.stretch = (2 * self.stretch).min(LONGEST_STRETCH);
        self.looks = 0;
        let gains = self.tried.chunks_exact(2).all(|pair| pair[0] > WORTH * pair[1]);
        if gains { Way::Together } else { Way::Alone }
    }

    /// Whether the present stretch is over, or several threads are now slower than one thread was.
    fn is_over(&mut self, rate: f64) -> bool {
        self.looks += 1;
        let alone = f64::midpoint(self.tried[1], self.tried[3]);
        self.looks * LOOK >= self.stretch || self.way == Way::Together && rate < alone
    }

    /// Whether most events were served while each shard had its thread; `events` is the number of all events.
    pub fn went_together(&self, events: u64) -> bool {
        let now = if self.way == Way::Together { events - self.before } else { 0 };
        2 * (self.shared + now) >= events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs for some seconds with the given event rates of both ways; gives the seconds spent on one thread.
    fn alone_for(seconds: f64, together: f64, alone: f64) -> f64 {
        let mut gain = Gain::new(2, Threads::AsPays(2));
        let (began, step) = (gain.began, 1e-3);
        let (mut events, mut spent) = (0.0, 0.0);
        for window in 1..=(seconds / step) as u32 {
            let is_alone = gain.way() == Way::Alone;
            events += step * if is_alone { alone } else { together };
            spent += if is_alone { step } else { 0.0 };
            gain.decide(events as u64, began + Duration::from_secs_f64(f64::from(window) * step));
        }
        spent
    }

    #[test]
    fn the_faster_way_has_nearly_all_of_the_time() {
        assert!(alone_for(10.0, 3e6, 2e6) < 0.5, "threads gain");
        assert!(alone_for(10.0, 0.5e6, 2e6) > 9.5, "threads lose");
        assert!(alone_for(10.0, 2.05e6, 2e6) > 9.5, "threads gain less than they cost others");
    }

    #[test]
    fn a_machine_that_becomes_quiet_is_noticed() {
        let mut gain = Gain::new(2, Threads::AsPays(2));
        let (mut events, mut now, began) = (0.0, 0.0, gain.began);
        let mut last = gain.way();
        for window in 0..20_000 {
            let together = if window < 2_000 { 1e6 } else { 3e6 };
            (events, now) = (events + 1e-3 * if last == Way::Alone { 2e6 } else { together }, now + 1e-3);
            last = gain.decide(events as u64, began + Duration::from_secs_f64(now));
            assert!(window != 1_999 || last == Way::Alone);
        }
        assert!(last == Way::Together && gain.went_together(events as u64));
    }

    #[test]
    fn threads_that_lose_their_processor_are_left_before_their_stretch_ends() {
        let mut gain = Gain::new(2, Threads::AsPays(2));
        let (mut events, mut now, began) = (0.0, 0.0, gain.began);
        let (mut last, mut together) = (gain.way(), 0.0);
        for window in 0..5_000 {
            let rate = if window < 2_000 { 3e6 } else { 0.5e6 };
            together += if window >= 2_000 && last == Way::Together { 1e-3 } else { 0.0 };
            (events, now) = (events + 1e-3 * if last == Way::Alone { 2e6 } else { rate }, now + 1e-3);
            last = gain.decide(events as u64, began + Duration::from_secs_f64(now));
        }
        assert!(together < 0.3, "{together} s of 3");
    }

    #[test]
    fn a_number_that_was_asked_for_stays() {
        for (shards, threads, way) in [(2, Threads::Exactly(2), Way::Together), (1, Threads::AsPays(2), Way::Alone)] {
            let gain = Gain::new(shards, threads);
            assert!(gain.is_fixed() && gain.way() == way, "{threads:?}");
        }
    }
}
