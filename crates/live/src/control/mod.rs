//! Congestion control of real connections by the window controls of `anabranch_proto`, the code that is also simulated.
//!
//! The QUIC library makes a controller for each path, which knows nothing of the others. Here, controllers are slots of
//! one control. A [`Group`] has the control of a connection over all of its paths, and is the factory that the library
//! asks for a controller whenever a path begins. A controller that is dropped frees its slot. Each connection has its
//! own group.
//!
//! Windows are in packets of a path's MTU. The library reports that packets were marked (ECN) but not how many; the
//! receiving end counts marks and reports them (`feedback`). Callers that know the capacities of paths report them.

mod capacity;
mod ceiling;
mod granted;
#[cfg(test)]
mod log_tests;
mod remote;
mod slot;
#[cfg(test)]
mod starts;
mod subflow;
#[cfg(test)]
mod tests;
mod under_way;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::{Bytes, Rate, Span, Time};
use anabranch_proto::Protocol;
use anabranch_proto::control::ConnectionView;
use anabranch_proto::protocols::wvegas::Drain;
use anabranch_proto::protocols::{Control, PROTOCOLS};
use anabranch_proto::window::{SubflowSnapshot, WindowControl};

pub use self::ceiling::Ceiling;
use self::ceiling::Ceilings;
use self::granted::Granted;
pub use self::remote::{MOST_REMOTE, RemoteSubflow};
pub(crate) use self::slot::Logged;
pub use self::slot::Slot;
use self::subflow::Subflow;

/// The most open paths of a connection.
pub const MOST_PATHS: usize = 16;

/// Number of subflows of a control: as many paths again may still be closing.
pub const SLOTS: usize = 2 * MOST_PATHS;

/// Packets in the first window of a path [rfc6928].
const FIRST_WINDOW: f64 = 10.0;

/// Least window in packets [rfc9002, sec. 7.2]: with one packet, a small packet in flight would block larger ones.
const LEAST_WINDOW: f64 = 2.0;

/// Packet size that controls assume; paces are converted to packets of a path's MTU.
const PACKET: Bytes = Bytes(1200);

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: f64 = 28.0;

/// Bits in a byte.
const BITS: f64 = 8.0;

/// Time in seconds in which hosts send, acknowledge and hear of a packet, beyond that of the fastest round trip: their programs
/// take turns, and acknowledge several packets at once.
const HOSTS_S: f64 = 2e-3;

/// The reason why a protocol cannot control a real connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuited {
    /// No protocol has this name.
    #[error("there is no protocol `{name}`; {} can control real connections", suited().join(", "))]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The protocol gets its rates from links.
    #[error("{title} needs links that take part in it, and real links do not; choose one of {}", suited().join(", "))]
    NeedsLinks {
        /// Title of the protocol.
        title: &'static str,
    },
    /// The protocol uses the capacities of its links.
    #[error(
        "{title} needs the capacities of its links, which only `anabranch live` knows; choose one of {}",
        suited().join(", ")
    )]
    NeedsCapacities {
        /// Title of the protocol.
        title: &'static str,
    },
    /// The protocol is what its parameters say, and a name has none.
    #[error(
        "{title} needs its formulas, which stand in a scenario file that `anabranch live` runs; choose one of {}",
        suited().join(", ")
    )]
    NeedsParameters {
        /// Title of the protocol.
        title: &'static str,
    },
    /// The protocol does not use groups of paths.
    #[error(
        "{title} takes paths as they are, whether they share links or not; leave out the groups of paths, or choose {}",
        grouped().join(" or ")
    )]
    NoGroups {
        /// Title of the protocol.
        title: &'static str,
    },
}

/// The names of the protocols that can control real connections and use groups of paths.
pub fn grouped() -> Vec<&'static str> {
    let hears = |name: &&str| Protocol::named(name).is_some_and(|protocol| protocol.capabilities().hears_groups());
    suited().into_iter().filter(hears).collect()
}

/// Checks that a protocol uses groups of paths, which share links.
///
/// # Errors
/// If it does not.
pub fn check_groups(protocol: &Protocol) -> Result<(), Unsuited> {
    let (capabilities, title) = (protocol.capabilities(), protocol.title());
    if capabilities.hears_groups() { Ok(()) } else { Err(Unsuited::NoGroups { title }) }
}

/// The names of the protocols that can control real connections.
pub fn suited() -> Vec<&'static str> {
    let suits = |name: &&str| Protocol::named(name).is_some_and(|protocol| check_anywhere(&protocol).is_ok());
    PROTOCOLS.iter().map(|(name, ..)| *name).filter(suits).collect()
}

/// Finds the protocol of this name, if it can control real connections over unknown links.
///
/// It has its default parameters, except that wVegas drains by the rule that does not take a halting machine for a
/// queue.
pub fn named(name: &str) -> Result<Protocol, Unsuited> {
    let mut protocol = Protocol::named(name).ok_or_else(|| Unsuited::Unknown { name: name.to_owned() })?;
    if let Protocol::Wvegas(parameters) = &mut protocol {
        parameters.drain = Drain::Steady;
    }
    check_anywhere(&protocol).map(|()| protocol)
}

fn check_anywhere(protocol: &Protocol) -> Result<(), Unsuited> {
    check(protocol)?;
    let (capabilities, title) = (protocol.capabilities(), protocol.title());
    match protocol {
        Protocol::Formulas(_) => Err(Unsuited::NeedsParameters { title }),
        _ if capabilities.hears_capacities => Err(Unsuited::NeedsCapacities { title }),
        _ => Ok(()),
    }
}

/// Checks that a protocol can control real connections, if it learns the capacities that it needs.
pub fn check(protocol: &Protocol) -> Result<(), Unsuited> {
    let (capabilities, title) = (protocol.capabilities(), protocol.title());
    if capabilities.keeps_windows() { Ok(()) } else { Err(Unsuited::NeedsLinks { title }) }
}

/// The peer reports fewer marked packets than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{told} packets came marked, and {before} had before")]
pub struct FewerMarks {
    told: u64,
    before: u64,
}

/// The control of a connection over all of its paths.
pub struct Group {
    start: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    controls: Controls,
    /// Whether the control counts marks.
    counts_marks: bool,
    subflows: Vec<Option<Open>>,
    /// Group of each subflow; remote subflows follow the slots.
    groups: [u32; SLOTS + MOST_REMOTE],
    /// Snapshots of remote subflows, with their numbers after the slots.
    others: Vec<(usize, SubflowSnapshot)>,
    /// Sending rate of the next loop; infinite if there is none, or it is not known.
    onward: Rate,
    /// The most that paths may send.
    ceilings: Ceilings,
    /// The longest delay of the acknowledgement of a single packet.
    ack_delay: Span,
}

/// A path in use.
struct Open {
    path: Subflow,
    mtu: u16,
    /// Least known capacity of the path's links.
    known: Rate,
    /// Capacity of the path that the control has received.
    told: Rate,
    /// Window in packets at the time of the remote snapshots; `None` if it is not known.
    then: Option<f64>,
}

/// The state of a path, for reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// Congestion window in packets.
    pub window: f64,
    /// Congestion window in bytes.
    pub window_bytes: u64,
    /// Smoothed round trip in seconds; 0 before the first.
    pub rtt: f64,
    /// Pacing rate; `None` if the window alone limits the path.
    pub pace: Option<Rate>,
}

impl Group {
    /// Creates a group without paths, whose time begins now.
    pub fn new(protocol: &Protocol) -> Result<Arc<Self>, Unsuited> {
        Self::since(protocol, Instant::now())
    }

    /// Creates a group without paths, whose time begins at `start`.
    pub fn since(protocol: &Protocol, start: Instant) -> Result<Arc<Self>, Unsuited> {
        Ok(Self::with(start, Controls::new(protocol, &view())?, protocol.capabilities().is_scalable()))
    }

    /// Creates a group without paths, whose time begins now, for a connection whose rates are granted by links. Every
    /// path sends at `rate` until [`Self::grant`] sets another.
    pub fn granted(rate: Rate) -> Arc<Self> {
        Self::with(Instant::now(), Controls::Granted(Granted::new(SLOTS, rate)), false)
    }

    /// Sets the rate of each slot in payload of UDP; missing slots get `others`. Only for a group with granted rates.
    pub fn grant(&self, rates: &[Option<Rate>], others: Rate) {
        let inner = &mut *self.lock();
        let rate = |slot: usize| {
            let rate = rates.get(slot).copied().flatten().unwrap_or(others);
            // Paces apply to packets of the size that controls assume.
            Rate(inner.subflows[slot].as_ref().map_or(rate.0, |open| rate.0 / scale(open.mtu)))
        };
        let all: Vec<Rate> = (0..SLOTS).map(rate).collect();
        if let Controls::Granted(control) = &mut inner.controls {
            control.grant(&all);
        }
    }

    /// Creates a group without paths, whose time begins now, for a connection with this claim, demand and first window.
    pub fn of(protocol: &Protocol, claim: f64, demand: Rate, first_window: f64) -> Result<Arc<Self>, Unsuited> {
        let view = ConnectionView { claim, demand, first_window, ..view() };
        Ok(Self::with(Instant::now(), Controls::new(protocol, &view)?, protocol.capabilities().is_scalable()))
    }

    fn with(start: Instant, controls: Controls, counts_marks: bool) -> Arc<Self> {
        let (subflows, groups) = ((0..SLOTS).map(|_| None).collect(), [0; SLOTS + MOST_REMOTE]);
        let (onward, ceilings) = (Rate(f64::INFINITY), Ceilings::default());
        let (others, ack_delay) = (Vec::new(), Span(0));
        let inner = Inner { controls, counts_marks, subflows, groups, others, onward, ceilings, ack_delay };
        Arc::new(Self { start, inner: Mutex::new(inner) })
    }

    /// Replaces the protocol. Open paths begin anew under it, so call this before data flow.
    pub fn choose(&self, protocol: &Protocol) -> Result<(), Unsuited> {
        let mut controls = Controls::new(protocol, &view())?;
        let now = self.time(Instant::now());
        let inner = &mut *self.lock();
        for subflow in (0..SLOTS).filter(|&subflow| inner.subflows[subflow].is_some()) {
            let (control, own) = controls.of(subflow);
            control.open(own, now);
        }
        (inner.controls, inner.counts_marks, inner.others) =
            (controls, protocol.capabilities().is_scalable(), Vec::new());
        inner.tell_groups();
        inner.tell_capacities_anew();
        Ok(())
    }

    /// Sets which paths share links, by a group number for each slot; missing slots are in group 0.
    pub fn regroup(&self, groups: &[u32]) {
        let inner = &mut *self.lock();
        for slot in 0..SLOTS {
            inner.groups[slot] = groups.get(slot).copied().unwrap_or(0);
        }
        inner.tell_groups();
    }

    /// Expects that single packets are acknowledged up to this time after they have arrived, on paths that begin later.
    pub(crate) fn expect_late_acks(&self, delay: Duration) {
        self.lock().ack_delay = Span::from_seconds(delay.as_secs_f64()).unwrap_or(Span(0));
    }

    /// Whether the control counts marks, so that packets must be those of a scalable control.
    pub fn counts_marks(&self) -> bool {
        self.lock().counts_marks
    }

    /// Records the peer's count of marked packets on a slot's path since the path began.
    pub fn on_marked(&self, slot: usize, marked: u64) -> Result<(), FewerMarks> {
        let inner = &mut *self.lock();
        let Some(Some(open)) = inner.subflows.get_mut(slot) else { return Ok(()) };
        open.path.on_marked(marked).map_err(|before| FewerMarks { told: marked, before })
    }

    /// The state of a slot's path when the QUIC library last asked for its window; `None` if the slot is free.
    ///
    /// Only the library may report acknowledgements to the control: their losses and marks may not be reported yet.
    pub fn state(&self, slot: usize) -> Option<PathState> {
        let inner = &mut *self.lock();
        let pace = inner.pace(slot);
        let open = inner.subflows.get(slot)?.as_ref()?;
        let (control, own) = inner.controls.of(slot);
        Some(PathState {
            window: control.window(own),
            window_bytes: window_bytes(control.window(own), open.mtu),
            rtt: open.path.rtt(),
            pace,
        })
    }

    /// The slots in use.
    pub fn slots(&self) -> Vec<usize> {
        let inner = self.lock();
        (0..SLOTS).filter(|&slot| inner.subflows[slot].is_some()).collect()
    }

    /// The time as protocols count it.
    fn time(&self, now: Instant) -> Time {
        let nanoseconds = now.saturating_duration_since(self.start).as_nanos();
        Time(u64::try_from(nanoseconds.saturating_mul(1000)).unwrap_or(u64::MAX))
    }

    /// Locks the state. A panic in one path does not affect the others, since windows are valid at any time.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the first free slot.
    fn enter(&self, now: Time, mtu: u16) -> Option<usize> {
        let inner = &mut *self.lock();
        let slot = inner.subflows.iter().position(Option::is_none)?;
        let unknown = Rate(f64::INFINITY);
        inner.subflows[slot] =
            Some(Open { path: Subflow::new(inner.ack_delay), mtu, known: unknown, told: unknown, then: None });
        let (control, own) = inner.controls.of(slot);
        control.open(own, now);
        inner.tell_capacity(slot);
        Some(slot)
    }

    fn leave(&self, slot: usize) {
        let inner = &mut *self.lock();
        inner.subflows[slot] = None;
        let (control, own) = inner.controls.of(slot);
        control.close(own);
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("slots", &self.slots()).finish_non_exhaustive()
    }
}

/// The view of a connection without a limit on its demand.
fn view() -> ConnectionView {
    let (demand, reserved) = (Rate(f64::INFINITY), Rate(0.0));
    ConnectionView { subflows: 0, claim: 1.0, reserved, demand, packet: PACKET, first_window: FIRST_WINDOW }
}

/// The controls of a group: one for all paths, one for each path under a protocol of one path, or granted rates.
enum Controls {
    Joint(Box<dyn WindowControl>),
    Each(Vec<Box<dyn WindowControl>>),
    Granted(Granted),
}

impl Controls {
    /// Creates the controls of a connection, with the number of its subflows.
    fn new(protocol: &Protocol, view: &ConnectionView) -> Result<Self, Unsuited> {
        check(protocol)?;
        let control = |subflows| {
            let view = ConnectionView { subflows, ..*view };
            match protocol.source(&view) {
                Control::Windows(control) => Ok(control),
                Control::Rates(_) => Err(Unsuited::NeedsLinks { title: protocol.title() }),
            }
        };
        if protocol.capabilities().is_joint() {
            control(SLOTS + MOST_REMOTE).map(Self::Joint)
        } else {
            (0..SLOTS).map(|_| control(1)).collect::<Result<_, _>>().map(Self::Each)
        }
    }

    /// The control of a slot, with the number of its subflow there.
    fn of(&mut self, slot: usize) -> (&mut dyn WindowControl, usize) {
        match self {
            Self::Joint(control) => (control.as_mut(), slot),
            Self::Each(controls) => (controls[slot].as_mut(), 0),
            Self::Granted(control) => (control, slot),
        }
    }
}

/// Packets that a control with a rate by marks has at the hosts: they were sent or acknowledged there, and are not on the way.
/// Its window, the rate times the least round trip, has no room for them.
fn at_hosts(control: &dyn WindowControl, subflow: usize) -> f64 {
    let rate = control.marked_share(subflow).and_then(|_| control.pace(subflow));
    rate.map_or(0.0, |rate| rate.0 * HOSTS_S / (BITS * PACKET.0 as f64))
}

/// Converts a window in packets to bytes of packets of this size.
fn window_bytes(window: f64, mtu: u16) -> u64 {
    (window.max(LEAST_WINDOW) * f64::from(mtu)) as u64
}

/// Ratio of the size of packets to the size that controls assume.
fn scale(mtu: u16) -> f64 {
    f64::from(mtu) / PACKET.0 as f64
}
