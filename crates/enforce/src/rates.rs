//! Which rates the kernel must be told, and when: granted rates, their expiry, and what was told last.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anabranch_core::Rate;
use anabranch_core::lease::{FLOOR, valid_rate};

use crate::plan::{Class, Leaf, Placed, Way, follow, leaf_limit, rate_change};
use crate::settings::{Device, Setup};

/// The least relative change that the kernel is told at once.
const LEAST_CHANGE: f64 = 0.005;

/// The time after which a rate is told again, changed or not: somebody may have altered the class.
const REPEAT: Duration = Duration::from_secs(5);

/// The greatest rate that a class can have, in bit/s.
const MOST: f64 = 1e12;

/// The classes of all devices with their rates.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    lease: Duration,
    leaf: Leaf,
    devices: Vec<Device>,
    classes: BTreeMap<(usize, Class), Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    granted: Option<f64>,
    heard: Instant,
    told: Option<(f64, Instant)>,
    limit: u64,
}

impl Entry {
    fn new(now: Instant) -> Self {
        Self { granted: Some(0.0), heard: now, told: None, limit: leaf_limit(FLOOR.0) }
    }

    /// The rate that is valid now, in bit/s.
    fn rate(&self, now: Instant, lease: Duration) -> f64 {
        valid_rate(Rate(self.granted.unwrap_or(0.0)), now.saturating_duration_since(self.heard), lease).0
    }

    /// The rate that the kernel was told last, in bit/s.
    fn last(&self) -> f64 {
        self.told.map_or(0.0, |(rate, _)| rate)
    }

    fn works(&self) -> bool {
        self.granted.is_some_and(|rate| rate > 0.0)
    }
}

/// The rate of a class, and by how much the class then has more than before; all in bit/s. For other traffic the rate is
/// the sum that is granted to sessions.
struct Change {
    by: f64,
    device: usize,
    class: Class,
    rate: f64,
}

impl Ledger {
    pub fn new(setup: &Setup, leaf: Leaf) -> Self {
        Self { lease: setup.lease, leaf, devices: setup.devices.clone(), classes: BTreeMap::new() }
    }

    /// Takes the sessions that there are now; paths that were there keep their rates.
    pub fn set(&mut self, sessions: &[Placed], now: Instant) {
        let before = std::mem::take(&mut self.classes);
        let ways = sessions.iter().flat_map(|placed| &placed.ways);
        let ways: Vec<_> = ways.map(|way| (self.device(&way.path.device), Class::Way(way.number))).collect();
        let others = (0..self.devices.len()).map(|device| (device, Class::Others));
        self.classes =
            others.chain(ways).map(|key| (key, before.get(&key).copied().unwrap_or_else(|| Entry::new(now)))).collect();
    }

    /// Takes another capacity of a device; its other traffic is due to be told.
    pub fn set_device(&mut self, place: usize, device: &Device) {
        self.devices[place] = device.clone();
        if let Some(entry) = self.classes.get_mut(&(place, Class::Others)) {
            entry.told = None;
        }
    }

    /// Takes the rates of a session's paths; `None` is a path that does not work. Returns the paths that work again.
    pub fn grant(&mut self, placed: &Placed, rates: &[Option<Rate>], now: Instant) -> Vec<usize> {
        let mut back = Vec::new();
        for (index, (way, rate)) in placed.ways.iter().zip(rates).enumerate() {
            let key = (self.device(&way.path.device), Class::Way(way.number));
            let entry = self.classes.get_mut(&key).expect("each path has a class");
            let worked = entry.works();
            entry.granted = rate.map(|rate| if rate.0.is_nan() { 0.0 } else { rate.0.clamp(0.0, MOST) });
            entry.heard = now;
            if !worked && entry.works() {
                back.push(index);
            }
        }
        back
    }

    /// The rate of a path that is valid now, in bit/s.
    pub fn rate(&self, way: &Way, now: Instant) -> f64 {
        let entry = self.classes.get(&(self.device(&way.path.device), Class::Way(way.number)));
        entry.map_or(FLOOR.0, |entry| entry.rate(now, self.lease))
    }

    /// The turns that a session's connections should have now. Before the first grant nothing is known of any path.
    pub fn round(&self, placed: &Placed) -> Vec<usize> {
        let rates: Vec<Option<f64>> = (placed.ways.iter())
            .map(|way| {
                let entry = self.classes[&(self.device(&way.path.device), Class::Way(way.number))];
                entry.granted.filter(|_| entry.works())
            })
            .collect();
        follow(&placed.round, &rates)
    }

    /// The commands of `tc` that are due.
    pub fn due(&mut self, now: Instant) -> String {
        let changes = self.changes(now);
        self.tell(changes, now)
    }

    /// The commands that take from other traffic what is granted to sessions: they go before those that give it to them.
    pub fn make_room(&mut self, now: Instant) -> String {
        let mut changes = self.changes(now);
        changes.retain(|change| change.class == Class::Others && change.by < 0.0);
        self.tell(changes, now)
    }

    /// The rates that are valid now. Those that fall go first, so that the sum does not exceed the capacity for long. The
    /// rate of other traffic is what grants leave: it falls when their sum rises.
    fn changes(&self, now: Instant) -> Vec<Change> {
        let mut sums = vec![0.0; self.devices.len()];
        let mut changes = Vec::new();
        for (&(device, class), entry) in &self.classes {
            let Class::Way(_) = class else { continue };
            let rate = entry.rate(now, self.lease);
            sums[device] += rate;
            changes.push(Change { by: rate - entry.last(), device, class, rate });
        }
        for (device, rate) in sums.into_iter().enumerate() {
            let class = Class::Others;
            let by = self.classes.get(&(device, class)).map_or(0.0, |entry| entry.last() - rate);
            changes.push(Change { by, device, class, rate });
        }
        changes.sort_by(|a, b| a.by.total_cmp(&b.by));
        changes
    }

    /// The commands of the changes that are due.
    fn tell(&mut self, changes: Vec<Change>, now: Instant) -> String {
        let mut text = String::new();
        for Change { device, class, rate, .. } in changes {
            let Some(entry) = self.classes.get_mut(&(device, class)) else { continue };
            if !is_due(entry.told, rate, now) {
                continue;
            }
            let limit = leaf_limit(rate);
            let is_other_size = limit > entry.limit.saturating_mul(3) / 2 || limit < entry.limit * 2 / 3;
            let limit = (class != Class::Others && self.leaf == Leaf::Bfifo && is_other_size).then_some(limit);
            entry.limit = limit.unwrap_or(entry.limit);
            entry.told = Some((rate, now));
            text += &rate_change(&self.devices[device], class, rate, limit);
        }
        text
    }

    /// The commands that bring all paths down to the least rate.
    pub fn floor(&self) -> String {
        let ways = self.classes.keys().filter(|(_, class)| *class != Class::Others);
        ways.map(|&(device, class)| rate_change(&self.devices[device], class, FLOOR.0, None)).collect()
    }

    /// Forgets what was told, so that all rates are due.
    pub fn tell_all(&mut self) {
        for entry in self.classes.values_mut() {
            entry.told = None;
        }
    }

    fn device(&self, name: &str) -> usize {
        self.devices.iter().position(|device| device.name == name).expect("devices of paths are checked")
    }
}

fn is_due(told: Option<(f64, Instant)>, rate: f64, now: Instant) -> bool {
    told.is_none_or(|(last, at)| {
        (rate - last).abs() > LEAST_CHANGE * last || now.saturating_duration_since(at) >= REPEAT
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{place, standing};
    use crate::settings::{Path, Route, Session, Traffic};

    fn ledger(capacity: Option<f64>, leaf: Leaf) -> (Ledger, Vec<Placed>, Instant) {
        let device = Device { name: "eth0".to_owned(), capacity: capacity.map(Rate) };
        let path = Path { device: "eth0".to_owned(), route: Route::Ordinary };
        let session =
            Session { name: "a".to_owned(), traffic: vec![Traffic::default()], paths: vec![path.clone(), path] };
        let placed = place(&[], &[session]);
        let mut ledger = Ledger::new(&Setup { devices: vec![device], ..Setup::default() }, leaf);
        let now = Instant::now();
        ledger.set(&placed, now);
        (ledger, placed, now)
    }

    /// The classes in commands, with their rates in bit/s.
    fn rates(text: &str) -> Vec<(&str, f64)> {
        let rate = |line: &str| line.split_once(" rate ").unwrap().1.split_once("bit").unwrap().0.parse().unwrap();
        let class = |line: &'_ str| line.find("classid ").map(|at| at + 8).unwrap();
        let changes = text.lines().filter(|line| line.starts_with("class"));
        changes.map(|line| (line[class(line)..].split(' ').next().unwrap(), rate(line))).collect()
    }

    /// The classes of paths in commands, with their rates in bit/s.
    fn ways(text: &str) -> Vec<(&str, f64)> {
        rates(text).into_iter().filter(|(class, _)| *class != "ab:2").collect()
    }

    #[test]
    fn other_traffic_gets_what_grants_leave_and_at_least_a_hundredth() {
        let (mut ledger, placed, now) = ledger(Some(100e6), Leaf::FqCodel);
        ledger.due(now);
        ledger.grant(&placed[0], &[Some(Rate(30e6)), Some(Rate(20e6))], now);
        assert_eq!(rates(&ledger.due(now)), [("ab:2", 50e6), ("ab:102", 20e6), ("ab:101", 30e6)]);
        ledger.grant(&placed[0], &[Some(Rate(80e6)), Some(Rate(20e6))], now);
        assert_eq!(rates(&ledger.due(now)), [("ab:2", 1e6), ("ab:101", 80e6)]);
    }

    #[test]
    fn what_falls_is_told_before_what_rises() {
        let (mut ledger, placed, now) = ledger(Some(100e6), Leaf::FqCodel);
        ledger.grant(&placed[0], &[Some(Rate(60e6)), Some(Rate(20e6))], now);
        ledger.due(now);
        ledger.grant(&placed[0], &[Some(Rate(10e6)), Some(Rate(30e6))], now);
        assert_eq!(ledger.make_room(now), "");
        assert_eq!(rates(&ledger.due(now)), [("ab:101", 10e6), ("ab:102", 30e6), ("ab:2", 60e6)]);
        ledger.grant(&placed[0], &[Some(Rate(50e6)), Some(Rate(30e6))], now);
        assert_eq!(rates(&ledger.make_room(now)), [("ab:2", 20e6)]);
        assert_eq!(rates(&ledger.due(now)), [("ab:101", 50e6)]);
    }

    #[test]
    fn changes_below_half_a_percent_wait_until_the_rate_is_old() {
        let (mut ledger, placed, now) = ledger(None, Leaf::FqCodel);
        ledger.grant(&placed[0], &[Some(Rate(10e6)), Some(Rate(10e6))], now);
        ledger.due(now);
        ledger.grant(&placed[0], &[Some(Rate(10.04e6)), Some(Rate(10.06e6))], now);
        assert_eq!(ways(&ledger.due(now)), [("ab:102", 10.06e6)]);
        let later = now + REPEAT;
        ledger.grant(&placed[0], &[Some(Rate(10.04e6)), Some(Rate(10.06e6))], later);
        assert_eq!(ways(&ledger.due(later)), [("ab:102", 10.06e6), ("ab:101", 10.04e6)]);
    }

    #[test]
    fn a_rate_that_is_not_repeated_falls_and_one_of_a_path_away_is_the_floor() {
        let (mut ledger, placed, now) = ledger(None, Leaf::FqCodel);
        ledger.grant(&placed[0], &[Some(Rate(8e6)), None], now);
        assert_eq!(ways(&ledger.due(now)), [("ab:102", 64e3), ("ab:101", 8e6)]);
        let later = now + Duration::from_millis(2100);
        assert_eq!(ways(&ledger.due(later)), [("ab:101", 4e6)]);
        assert!(ledger.due(now + Duration::from_secs(100)).contains("classid ab:101 htb rate 64000bit"));
    }

    #[test]
    fn a_bounded_queue_follows_its_rate_in_steps() {
        let (mut ledger, placed, now) = ledger(None, Leaf::Bfifo);
        ledger.grant(&placed[0], &[Some(Rate(80e6)), None], now);
        // 80 Mbit/s for 50 ms are 500 kB.
        assert!(ledger.due(now).contains("parent ab:101 handle 101: bfifo limit 500000\n"));
        ledger.grant(&placed[0], &[Some(Rate(100e6)), None], now);
        assert!(!ledger.due(now).contains("bfifo"));
        ledger.grant(&placed[0], &[Some(Rate(160e6)), None], now);
        assert!(ledger.due(now).contains("bfifo limit 1000000\n"));
    }

    #[test]
    fn a_path_that_works_again_is_told() {
        let (mut ledger, placed, now) = ledger(None, Leaf::FqCodel);
        assert_eq!(ledger.grant(&placed[0], &[Some(Rate(1e6)), Some(Rate(0.0))], now), [0]);
        assert_eq!(ledger.grant(&placed[0], &[Some(Rate(2e6)), Some(Rate(f64::NAN))], now), [0; 0]);
        assert_eq!(standing(&ledger.round(&placed[0])), [0].into());
        assert_eq!(ledger.grant(&placed[0], &[None, Some(Rate(1e6))], now), [1]);
    }
}
