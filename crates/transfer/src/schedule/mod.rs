//! The schedule of a fetch: the source from which each chunk is requested.
//!
//! Every source has enough open requests to keep its paths busy, also while their windows grow, and gets the next chunk
//! that has not been requested from any source. So each source contributes as much as it can. When all chunks are
//! requested, an idle source takes over the chunk that another source is expected to deliver last, if it can deliver it
//! much sooner; the first copy counts. So no source, however slow or silent, delays the end.

mod ahead;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anabranch_core::Time;

use self::ahead::Ahead;

/// Number of open requests at a source whose rate is not known yet.
const FIRST_DEPTH: usize = 4;

/// Least number of open requests at a source.
const LEAST_DEPTH: usize = 2;

/// Assumed time for a chunk, in seconds, from a source that has delivered none yet.
const UNKNOWN: f64 = 1.0;

/// Least factor by which a source has to be faster to take over a chunk, so that two equal sources do not send
/// everything twice.
const MUCH: f64 = 1.5;

/// Time in seconds that the chunks of one answer take, where a source sends several in one.
const RUN: f64 = 4.0;

/// The least such time, as a multiple of the time in which the first chunk of an answer arrives.
const LEAST_RUN: f64 = 3.0;

/// Number of arrivals over which a rate is measured.
const MEASURED: usize = 16;

/// The number of a source.
pub type SourceId = usize;

/// The requests and measurements of a source.
#[derive(Clone, Debug, Default)]
struct Source {
    /// The requested chunks in order, with the times of the requests.
    asked: Vec<(u32, Time)>,
    /// Times of the last arrivals, the oldest first, preceded by the time of the first request after an idle period.
    arrivals: VecDeque<Time>,
    /// Shortest time that a chunk took, in seconds.
    latency: Option<f64>,
    /// The bytes to request ahead while the source's window grows.
    ahead: Ahead,
    /// Number of chunks that the source delivered first.
    brought: u32,
    /// Whether the source gets no more requests.
    is_gone: bool,
}

impl Source {
    /// Mean time for each chunk, in seconds; `None` if the source has delivered none.
    fn each(&self) -> Option<f64> {
        let (&first, &last) = (self.arrivals.front()?, self.arrivals.back()?);
        let count = self.arrivals.len() - 1;
        (count > 0).then(|| seconds(first, last) / count as f64)
    }

    /// Greatest number of open requests: enough for twice the latency of a request, or for the bytes that may arrive
    /// until the next requests reach the source, and two more.
    fn depth(&self, chunk_bytes: u64, most: usize) -> usize {
        let steady = match (self.each(), self.latency) {
            (Some(each), Some(latency)) => (2.0 * latency / each.max(1e-9)) as usize + 2,
            _ => FIRST_DEPTH,
        };
        steady.max(self.ahead.chunks(chunk_bytes) + 2).clamp(LEAST_DEPTH, most)
    }

    /// Number of chunks to request in one answer: what the source sends in [`RUN`], but no more than `share`; and so many
    /// at least that the wait for the answer is a small part of it.
    fn run(&self, share: usize) -> usize {
        let (Some(each), Some(latency)) = (self.each(), self.latency) else { return FIRST_DEPTH };
        let chunks = |time: f64| (time / each.max(1e-9)) as usize;
        chunks(RUN).min(share).max(chunks(LEAST_RUN * latency)).max(1)
    }

    /// Expected time in seconds until the source has delivered `chunks`, if each takes as long as earlier chunks, or as
    /// long as the source has been silent.
    fn expected(&self, chunks: usize, now: Time) -> f64 {
        let silence = self.arrivals.back().map_or(0.0, |&last| seconds(last, now));
        self.each().unwrap_or(UNKNOWN).max(silence) * chunks as f64
    }
}

/// Time from one instant to a later one, in seconds.
fn seconds(from: Time, to: Time) -> f64 {
    anabranch_core::Span(to.0.saturating_sub(from.0)).seconds()
}

/// The chunks of a file that are present, and the requests for the others.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Whether each chunk is present.
    is_there: Vec<bool>,
    /// Number of missing chunks.
    left: usize,
    /// The missing chunks that have not been requested.
    free: BTreeSet<u32>,
    /// Size of a chunk in bytes.
    chunk_bytes: u64,
    /// Greatest number of open requests at a source.
    most_depth: usize,
    sources: Vec<Source>,
}

impl Schedule {
    /// A schedule without requests, for a file of `chunks` chunks of `chunk_bytes` each, of which those in `there` are
    /// present. A source has at most `most_depth` open requests, but this limit is at least two.
    pub fn new(chunks: u32, there: &[u32], chunk_bytes: u64, most_depth: usize) -> Self {
        let mut is_there = vec![false; chunks as usize];
        for &chunk in there {
            is_there[chunk as usize] = true;
        }
        let free: BTreeSet<u32> = (0..chunks).filter(|&chunk| !is_there[chunk as usize]).collect();
        let most_depth = most_depth.max(LEAST_DEPTH);
        Self { is_there, left: free.len(), free, chunk_bytes, most_depth, sources: Vec::new() }
    }

    /// Adds a source that has the file.
    pub fn add(&mut self) -> SourceId {
        self.sources.push(Source::default());
        self.sources.len() - 1
    }

    /// The chunk to request from a source now; `None` if it has enough requests, or no chunk is left for it.
    pub fn next(&mut self, source: SourceId, now: Time) -> Option<u32> {
        let own = &self.sources[source];
        if own.is_gone || own.asked.len() >= own.depth(self.chunk_bytes, self.most_depth) {
            return None;
        }
        let chunk = match self.free.pop_first() {
            Some(chunk) => chunk,
            None => self.to_take_over(source, now)?,
        };
        let own = &mut self.sources[source];
        if own.asked.is_empty() {
            own.arrivals.clear();
            own.arrivals.push_back(now);
        }
        own.asked.push((chunk, now));
        Some(chunk)
    }

    /// The chunks to request from a source now that sends them in one answer, one after the other; empty if it has
    /// requests, or no chunk is left for it.
    ///
    /// A request costs such a source a round trip in which nothing arrives. So the chunks are consecutive, and take about
    /// [`RUN`]; near the end they are a part of what is left, so that all sources end together.
    pub fn next_run(&mut self, source: SourceId, now: Time) -> Vec<u32> {
        let own = &self.sources[source];
        if own.is_gone || !own.asked.is_empty() {
            return Vec::new();
        }
        let most = own.run(self.free.len() / (2 * self.sources.len()));
        let mut run: Vec<u32> = self.next(source, now).into_iter().collect();
        while let Some(last) = run.last().filter(|_| run.len() < most)
            && self.free.remove(&(last + 1))
        {
            self.sources[source].asked.push((last + 1, now));
            run.push(last + 1);
        }
        run
    }

    /// All missing chunks in order, to be requested from a source that can send the file only from its beginning to its
    /// end; empty if any source has requests.
    pub fn all_left(&mut self, source: SourceId, now: Time) -> Vec<u32> {
        if self.sources[source].is_gone || self.sources.iter().any(|other| !other.asked.is_empty()) {
            return Vec::new();
        }
        let all: Vec<u32> = std::mem::take(&mut self.free).into_iter().collect();
        self.sources[source].asked.extend(all.iter().map(|&chunk| (chunk, now)));
        all
    }

    /// The chunk that others are expected to deliver last, if this source can deliver it much sooner.
    fn to_take_over(&self, source: SourceId, now: Time) -> Option<u32> {
        let own = &self.sources[source];
        let each = own.each().unwrap_or(UNKNOWN);
        let sooner = if own.asked.is_empty() { each } else { own.expected(own.asked.len() + 1, now) };
        // For a chunk that was requested from several sources, the earliest counts.
        let mut expected: BTreeMap<u32, f64> = BTreeMap::new();
        for holder in &self.sources {
            for (at, &(chunk, _)) in holder.asked.iter().enumerate() {
                let when = holder.expected(at + 1, now);
                expected.entry(chunk).and_modify(|soonest| *soonest = soonest.min(when)).or_insert(when);
            }
        }
        let others = expected.into_iter().filter(|&(chunk, _)| own.asked.iter().all(|&(asked, _)| asked != chunk));
        let (chunk, last) = others.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        (MUCH * sooner < last).then_some(chunk)
    }

    /// Whether this chunk was not requested from any other source.
    fn is_only_asked_of(&self, chunk: u32, source: SourceId) -> bool {
        let mut others = self.sources.iter().enumerate().filter(|&(other, _)| other != source);
        others.all(|(_, other)| other.asked.iter().all(|&(asked, _)| asked != chunk))
    }

    /// Records that `bytes` of chunks have arrived in total from a source, including incomplete chunks, and that a
    /// round trip to it takes `round_trip` seconds. To be called before more chunks are requested from the source.
    pub fn on_received(&mut self, source: SourceId, bytes: u64, round_trip: f64, now: Time) {
        self.sources[source].ahead.on_received(bytes, round_trip, now);
    }

    /// Records the arrival of a valid chunk from a source. Returns whether it was missing until now, and the other
    /// sources that need not send it any more.
    pub fn on_arrival(&mut self, source: SourceId, chunk: u32, now: Time) -> (bool, Vec<SourceId>) {
        let own = &mut self.sources[source];
        let Some(at) = own.asked.iter().position(|&(asked, _)| asked == chunk) else {
            return (false, Vec::new());
        };
        let (_, since) = own.asked.remove(at);
        let took = seconds(since, now);
        own.latency = Some(own.latency.map_or(took, |least| least.min(took)));
        own.arrivals.push_back(now);
        if own.arrivals.len() > MEASURED + 1 {
            own.arrivals.pop_front();
        }
        if self.is_there[chunk as usize] {
            return (false, Vec::new());
        }
        own.brought += 1;
        self.is_there[chunk as usize] = true;
        self.left -= 1;
        let mut superfluous = Vec::new();
        for (other, holder) in self.sources.iter_mut().enumerate() {
            if let Some(at) = holder.asked.iter().position(|&(asked, _)| asked == chunk) {
                holder.asked.remove(at);
                superfluous.push(other);
            }
        }
        (true, superfluous)
    }

    /// Removes a source that is gone or sent invalid data: its chunks will be requested from other sources.
    pub fn on_lost(&mut self, source: SourceId) {
        self.sources[source].is_gone = true;
        let asked = std::mem::take(&mut self.sources[source].asked);
        let orphans = asked.into_iter().map(|(chunk, _)| chunk);
        let orphans: Vec<u32> = orphans.filter(|&chunk| self.is_only_asked_of(chunk, source)).collect();
        self.free.extend(orphans);
    }

    /// Allows requests to a source that was removed.
    pub fn on_return(&mut self, source: SourceId) {
        self.sources[source] = Source { brought: self.sources[source].brought, ..Source::default() };
    }

    /// Whether all chunks are present.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Number of missing chunks.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Number of chunks that a source delivered first.
    pub fn brought(&self, source: SourceId) -> u32 {
        self.sources[source].brought
    }

    /// Whether a source has open requests.
    pub fn is_asked(&self, source: SourceId) -> bool {
        !self.sources[source].asked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digests::LEAST_CHUNK as CHUNK;

    /// A time in milliseconds.
    fn ms(ms: u64) -> Time {
        Time::ms(ms)
    }

    /// Sources that take `each` milliseconds for a chunk, one after the other, and answer in the order asked: when the last
    /// chunk came, and how many each brought. A source of `None` never answers.
    fn fetched(chunks: u32, each: &[Option<u64>]) -> (u64, Vec<u32>) {
        let mut schedule = Schedule::new(chunks, &[], CHUNK, 64);
        let mut queues: Vec<VecDeque<u32>> = each.iter().map(|_| VecDeque::new()).collect();
        let mut free_at: Vec<u64> = vec![0; each.len()];
        for _ in each {
            schedule.add();
        }
        for now in 0..1_000_000 {
            for source in 0..each.len() {
                let Some(each) = each[source] else { continue };
                if now == free_at[source]
                    && let Some(chunk) = queues[source].pop_front()
                {
                    let (_, superfluous) = schedule.on_arrival(source, chunk, ms(now));
                    for other in superfluous {
                        queues[other].retain(|&queued| queued != chunk);
                    }
                    free_at[source] = now + each;
                }
            }
            for source in 0..each.len() {
                while let Some(chunk) = schedule.next(source, ms(now)) {
                    if queues[source].is_empty() {
                        free_at[source] = now + each[source].unwrap_or(0);
                    }
                    queues[source].push_back(chunk);
                }
            }
            if schedule.is_done() {
                return (now, (0..each.len()).map(|source| schedule.brought(source)).collect());
            }
        }
        panic!("{} of {chunks} chunks never came", schedule.left());
    }

    #[test]
    fn each_source_brings_what_it_can() {
        // 10 and 40 ms a chunk: 4 of 5 chunks come from the first. 100 chunks take 100 / (1/10 + 1/40) = 800 ms.
        let (end, brought) = fetched(100, &[Some(10), Some(40)]);
        assert!((75..=85).contains(&brought[0]), "{brought:?}");
        assert!((800..=840).contains(&end), "{end}");
    }

    #[test]
    fn a_run_is_consecutive_and_a_part_of_what_is_left() {
        let mut schedule = Schedule::new(100, &[6], CHUNK, 64);
        let (first, second) = (schedule.add(), schedule.add());
        assert_eq!(schedule.next_run(first, ms(0)), [0, 1, 2, 3]);
        assert!(schedule.next_run(first, ms(0)).is_empty(), "one answer at a time");
        assert_eq!(schedule.next_run(second, ms(0)), [4, 5], "chunk 6 is there");
        for chunk in 0..4 {
            schedule.on_arrival(first, chunk, ms(100 * (u64::from(chunk) + 1)));
        }
        // A chunk takes 100 ms, so 40 take 4 s; but of 93 that are free half the share of a source is 23.
        assert_eq!(schedule.next_run(first, ms(400)), (7..30).collect::<Vec<_>>());
        for chunk in 7..30 {
            schedule.on_arrival(first, chunk, ms(393 + u64::from(chunk) * 3));
        }
        // A chunk takes 3 ms now, and the first came after 14. Half the share of 70 is 17, more than the 3 x 14 / 3 = 14
        // that make up for the wait.
        assert_eq!(schedule.next_run(first, ms(500)), (30..47).collect::<Vec<_>>());
    }

    #[test]
    fn runs_end_together() {
        // 10 and 40 ms a chunk: 400 chunks take 400 / (1/10 + 1/40) = 3200 ms, and a request costs 50 ms.
        let mut schedule = Schedule::new(400, &[], CHUNK, 64);
        let each = [10, 40];
        let mut runs: [VecDeque<(u64, u32)>; 2] = Default::default();
        assert_eq!([schedule.add(), schedule.add()], [0, 1]);
        for now in 0..10_000 {
            for source in 0..2 {
                while runs[source].front().is_some_and(|&(at, _)| at <= now) {
                    let (_, chunk) = runs[source].pop_front().unwrap();
                    schedule.on_arrival(source, chunk, ms(now));
                }
                if runs[source].is_empty() {
                    let run = schedule.next_run(source, ms(now)).into_iter().zip(1..);
                    runs[source].extend(run.map(|(chunk, at)| (now + 50 + at * each[source], chunk)));
                }
            }
            if schedule.is_done() {
                assert!(now < 3700, "{now} ms");
                return;
            }
        }
        panic!("{} chunks never came", schedule.left());
    }

    #[test]
    fn a_source_that_sends_from_the_beginning_is_asked_for_all_that_is_left() {
        let mut schedule = Schedule::new(5, &[1], CHUNK, 64);
        let (first, second) = (schedule.add(), schedule.add());
        assert_eq!(schedule.all_left(first, ms(0)), [0, 2, 3, 4]);
        assert!(schedule.all_left(second, ms(0)).is_empty(), "one source at a time");
        schedule.on_arrival(first, 0, ms(1));
        schedule.on_lost(first);
        assert_eq!(schedule.all_left(second, ms(2)), [2, 3, 4]);
    }

    #[test]
    fn a_silent_source_does_not_hold_up_the_end() {
        // Its 4 chunks are taken over by the other, which brings all 20 in 200 ms.
        assert_eq!(fetched(20, &[Some(10), None]), (200, vec![20, 0]));
    }

    #[test]
    fn the_last_chunk_of_a_slow_source_is_taken_over() {
        // The slow one is asked for 4 of 12 at once; the other has brought its 8 by 80 ms. At 1 s a chunk all is left.
        let (end, brought) = fetched(12, &[Some(10), Some(1000)]);
        assert_eq!((end, brought), (120, vec![12, 0]));
    }

    #[test]
    fn what_a_lost_source_was_asked_for_is_asked_of_another() {
        let mut schedule = Schedule::new(6, &[1, 2], CHUNK, 64);
        let (first, second) = (schedule.add(), schedule.add());
        assert_eq!([schedule.next(first, ms(0)), schedule.next(first, ms(0))], [Some(0), Some(3)]);
        schedule.on_lost(first);
        assert_eq!(schedule.next(first, ms(1)), None);
        let asked: Vec<u32> = std::iter::from_fn(|| schedule.next(second, ms(1))).collect();
        assert_eq!(asked, [0, 3, 4, 5]);
        schedule.on_return(first);
        // As far as is known each takes 1 s: chunk 5 is expected in 4 s from the second, in 1 s from the first.
        assert_eq!(schedule.next(first, ms(2)), Some(5));
    }

    #[test]
    fn a_chunk_counts_once_whoever_brings_it() {
        let mut schedule = Schedule::new(1, &[], CHUNK, 64);
        let (first, second) = (schedule.add(), schedule.add());
        assert_eq!(schedule.next(first, ms(0)), Some(0));
        assert_eq!(schedule.next(second, ms(0)), None, "neither is known to be faster");
        assert_eq!(schedule.next(second, ms(1501)), Some(0), "the first is slower than was thought");
        schedule.on_lost(first);
        assert_eq!(schedule.on_arrival(first, 0, ms(5)), (false, vec![]), "it was not asked for it any more");
        assert_eq!(schedule.on_arrival(second, 0, ms(9)), (true, vec![]));
        assert!(schedule.is_done());
        assert_eq!(schedule.on_arrival(second, 0, ms(9)), (false, vec![]));
    }

    #[test]
    fn a_long_way_is_kept_full() {
        // 100 ms there and back, 1 ms a chunk: 100 chunks fit on the way, and the most is 64.
        let mut schedule = Schedule::new(1000, &[], CHUNK, 64);
        let source = schedule.add();
        let mut under_way: VecDeque<(u64, u32)> = VecDeque::new();
        let mut last = 0;
        for now in 0..2000 {
            while under_way.front().is_some_and(|&(at, _)| at <= now) {
                let (_, chunk) = under_way.pop_front().unwrap();
                schedule.on_arrival(source, chunk, ms(now));
            }
            while let Some(chunk) = schedule.next(source, ms(now)) {
                last = (last + 1).max(now + 100);
                under_way.push_back((last, chunk));
            }
        }
        assert!(schedule.left() < 200, "{} of 1000 are left", schedule.left());
    }

    /// A source at the end of a path of 400 Mbit/s and a round trip of 200 ms, in steps of a millisecond: slow start from 14 kB
    /// on, for as long as requests keep its window full.
    struct LongWay {
        window: f64,
        /// Bytes asked for and not sent.
        wanted: f64,
        /// Bytes sent in each of the last 200 ms, and whether requests held none back then.
        sent: VecDeque<(f64, bool)>,
    }

    impl LongWay {
        fn new() -> Self {
            Self { window: 14e3, wanted: 0.0, sent: vec![(0.0, false); 200].into() }
        }

        /// A millisecond goes by: what comes at the other end, which was sent 100 ms ago.
        fn step(&mut self) -> f64 {
            let (acked, was_full) = self.sent.pop_front().unwrap();
            if was_full {
                self.window += acked;
            }
            let room = self.window - self.sent.iter().map(|(bytes, _)| bytes).sum::<f64>();
            let sends = room.min(self.wanted).min(50e3);
            self.wanted -= sends;
            self.sent.push_back((sends, sends >= room.min(50e3)));
            self.sent[99].0
        }
    }

    /// After how many milliseconds 64 chunks have come over a long way. Whenever one has come, and every 100 ms, `asks` is told
    /// the time, the bytes that have come and the whole chunks among them, and says how many chunks are asked for.
    fn over_a_long_way(mut asks: impl FnMut(u64, u64, usize) -> usize) -> u64 {
        let (mut way, mut requests, mut came, mut whole) = (LongWay::new(), VecDeque::new(), 0.0, 0);
        for now in 0..100_000 {
            while requests.pop_front_if(|at| *at <= now).is_some() {
                way.wanted += CHUNK as f64;
            }
            came += way.step();
            // Bytes are whole but for rounding.
            let now_whole = ((came + 1.0) / CHUNK as f64) as usize;
            if now_whole >= 64 {
                return now;
            }
            if now_whole > whole || now % 100 == 0 {
                whole = now_whole;
                let asked = asks(now, came as u64, whole);
                requests.extend(std::iter::repeat_n(now + 100, asked));
            }
        }
        panic!("{whole} chunks of 64 have come");
    }

    #[test]
    fn a_window_that_doubles_never_waits_for_requests() {
        let (mut schedule, mut asked) = (Schedule::new(64, &[], CHUNK, 64), VecDeque::new());
        let source = schedule.add();
        let scheduled = over_a_long_way(|now, came, whole| {
            while schedule.brought(source) < whole as u32 {
                schedule.on_arrival(source, asked.pop_front().unwrap(), ms(now));
            }
            schedule.on_received(source, came, 0.2, ms(now));
            let before = asked.len();
            asked.extend(std::iter::from_fn(|| schedule.next(source, ms(now))));
            asked.len() - before
        });
        // As fast as if all were asked for at once.
        let at_once = over_a_long_way(|now, _, _| if now == 0 { 64 } else { 0 });
        assert_eq!(scheduled, at_once);
    }

    proptest! {
        #[test]
        fn every_chunk_comes_as_long_as_one_source_answers(
            chunks in 0..60u32,
            others in prop::collection::vec(prop::option::of(1..300u64), 0..4),
        ) {
            let each: Vec<Option<u64>> = std::iter::once(Some(20)).chain(others).collect();
            let (_, brought) = fetched(chunks, &each);
            prop_assert_eq!(brought.iter().sum::<u32>(), chunks);
        }
    }
}
