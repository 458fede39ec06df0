//! Queue disciplines and classes at devices, as commands of `tc`.
//!
//! ```text
//! ab:                     htb; packets without a class of theirs go to ab:2
//! └─ ab:1                 the capacity of the device
//!    ├─ ab:2              other traffic: what grants leave, and what sessions do not use
//!    └─ ab:(100 + n)      path n, in hexadecimal numbers: rate = ceil = the granted rate
//!       └─ fq_codel       or bfifo, limited to 50 ms of the rate, and at least 128 KiB
//! ```

use std::fmt::Write as _;

use super::ROOT;
use super::places::{Placed, Way, missing};
use crate::settings::{Device, FIRST_CLASS, Setup};

/// The queue discipline of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Fair queueing with `CoDel`, if the kernel has it.
    FqCodel,
    /// One bounded queue.
    Bfifo,
}

/// The rate of a device without a capacity, and of its other traffic, in bit/s.
const UNLIMITED: f64 = 1e12;

/// The least share of a capacity for other traffic.
const OTHERS_LEAST: f64 = 0.01;

/// The time for which a class may send at once after silence, in seconds.
const BURST_S: f64 = 0.002;

/// The least burst in bytes: two full packets.
const LEAST_BURST: f64 = 3028.0;

/// The time for which packets may wait in a bounded queue, in seconds.
const QUEUE_S: f64 = 0.05;

/// Sizes of a bounded queue in bytes. Two of the largest pieces fit, in which the kernel hands TCP segments over (64 KiB); a
/// smaller queue would drop them always.
const QUEUE: (f64, f64) = (131_072.0, 64e6);

/// A class of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// Other traffic.
    Others,
    /// The traffic on a path.
    Way(u32),
}

impl Class {
    /// Its number under the root.
    pub fn minor(self) -> u32 {
        match self {
            Class::Others => 2,
            Class::Way(number) => FIRST_CLASS + number,
        }
    }
}

/// The class whose identifier, such as `ab:101`, stands in an answer of `tc`.
pub(crate) fn class_of(id: &str) -> Option<Class> {
    let minor = u32::from_str_radix(id.strip_prefix(ROOT)?, 16).ok()?;
    match minor {
        2 => Some(Class::Others),
        _ => (minor > FIRST_CLASS).then(|| Class::Way(minor - FIRST_CLASS)),
    }
}

pub(super) fn set_up(setup: &Setup, leaf: Leaf) -> String {
    let mut text = String::new();
    for Device { name, capacity } in &setup.devices {
        let capacity = capacity.map_or(UNLIMITED, |rate| rate.0);
        let _ = writeln!(text, "qdisc add dev {name} root handle {ROOT} htb default 2");
        let _ = writeln!(text, "class add dev {name} parent {ROOT} classid {ROOT}1 htb {}", shape(capacity, capacity));
        let _ = writeln!(text, "class add dev {name} parent {ROOT}1 classid {ROOT}2 htb {}", shape(capacity, capacity));
        text += &leaf_text("add", name, Class::Others, leaf, capacity);
    }
    text
}

pub(super) fn tear_down(setup: &Setup) -> String {
    setup.devices.iter().fold(String::new(), |text, device| text + "qdisc del dev " + &device.name + " root\n")
}

/// Classes of new paths, which begin at a rate in bit/s.
pub(super) fn add(setup: &Setup, leaf: Leaf, rate: &dyn Fn(&Way) -> f64, old: &[Placed], new: &[Placed]) -> String {
    let mut text = String::new();
    for way in missing(new, old) {
        let (class, device, rate) = (Class::Way(way.number), &way.path.device, rate(way));
        debug_assert!(setup.devices.iter().any(|known| known.name == *device), "paths are checked");
        let _ = writeln!(
            text,
            "class add dev {device} parent {ROOT}1 classid {ROOT}{:x} htb {}",
            class.minor(),
            shape(rate, rate)
        );
        text += &leaf_text("add", device, class, leaf, rate);
    }
    text
}

pub(super) fn remove(old: &[Placed], new: &[Placed]) -> String {
    let mut text = String::new();
    for way in missing(old, new) {
        let minor = Class::Way(way.number).minor();
        let _ = writeln!(text, "class del dev {} classid {ROOT}{minor:x}", way.path.device);
    }
    text
}

/// The command that gives a class another rate in bit/s; with `limit`, the bound of its queue in bytes changes, too.
pub(crate) fn rate_change(device: &Device, class: Class, granted: f64, limit: Option<u64>) -> String {
    let capacity = device.capacity.map_or(UNLIMITED, |rate| rate.0);
    let (rate, ceil) = match (class, device.capacity) {
        (Class::Way(_), _) => (granted, granted),
        // For other traffic `granted` is the sum over sessions.
        (Class::Others, Some(_)) => ((capacity - granted).max(OTHERS_LEAST * capacity), capacity),
        (Class::Others, None) => (UNLIMITED, UNLIMITED),
    };
    let name = &device.name;
    let minor = class.minor();
    let mut text =
        format!("class change dev {name} parent {ROOT}1 classid {ROOT}{minor:x} htb {}\n", shape(rate, ceil));
    if let Some(limit) = limit {
        let _ = writeln!(text, "qdisc change dev {name} parent {ROOT}{minor:x} handle {minor:x}: bfifo limit {limit}");
    }
    text
}

/// The command that gives a device the capacity that it has now.
pub(crate) fn capacity_change(device: &Device) -> String {
    let capacity = device.capacity.map_or(UNLIMITED, |rate| rate.0);
    format!("class change dev {} parent {ROOT} classid {ROOT}1 htb {}\n", device.name, shape(capacity, capacity))
}

/// The bound of a queue in bytes at a rate in bit/s.
pub(crate) fn leaf_limit(rate: f64) -> u64 {
    (rate / 8.0 * QUEUE_S).clamp(QUEUE.0, QUEUE.1) as u64
}

fn shape(rate: f64, ceil: f64) -> String {
    let burst = |rate: f64| (rate / 8.0 * BURST_S).max(LEAST_BURST) as u64;
    format!("rate {}bit ceil {}bit burst {} cburst {} quantum 1514", rate as u64, ceil as u64, burst(rate), burst(ceil))
}

fn leaf_text(verb: &str, device: &str, class: Class, leaf: Leaf, rate: f64) -> String {
    let minor = class.minor();
    let kind = match leaf {
        Leaf::FqCodel => "fq_codel".to_owned(),
        Leaf::Bfifo => format!("bfifo limit {}", leaf_limit(rate)),
    };
    format!("qdisc {verb} dev {device} parent {ROOT}{minor:x} handle {minor:x}: {kind}\n")
}
