//! Samples of the network at requested instants.

use anabranch_core::Time;
use anabranch_links::ServedQueue;

use super::Network;
use crate::events::Kind;
use crate::sample::{LinkState, Sample};

impl Network {
    /// Requests samples at these instants, which are in the order of time.
    pub fn watch(&mut self, instants: Vec<Time>) {
        self.instants = instants.into_iter();
        self.await_instant();
    }

    /// The samples since the last call.
    pub fn samples(&mut self) -> impl Iterator<Item = Sample> {
        self.samples.drain(..)
    }

    pub(super) fn on_instant(&mut self) {
        let sample = self.sample();
        self.samples.push(sample);
        self.await_instant();
    }

    fn await_instant(&mut self) {
        if let Some(Time(next)) = self.instants.next() {
            self.events.schedule(next, Kind::Sample);
        }
    }

    fn sample(&mut self) -> Sample {
        let (now, count) = (self.now, self.links.count());
        let state = |l: usize| {
            let waiting = self.queues[l].as_ref().map_or(0, ServedQueue::backlog);
            LinkState {
                link: self.used[l],
                totals: self.links.totals(l, now),
                backlog: self.links.backlog(l, now) + waiting,
                peak_packets: self.links.peak(l, now),
                capacity: self.links.capacity(l, Time(now)),
            }
        };
        let links = (0..count).map(state).collect();
        let paths = self.ways[..2 * self.paths].iter().step_by(2).map(|way| way.count).collect();
        Sample { time: Time(now), links, paths, hops: self.taken.iter().sum() }
    }
}
