//! Remote subflows: each sender of a file has its own control, but together they are to act as one where paths share
//! links. So a control includes snapshots of the others' subflows.
//!
//! A snapshot is about a round trip old when it arrives, and windows in slow start double in this time. So a message
//! also contains the windows of this end at the time of the snapshots, as far as they are known. Subflows that start at
//! the same time grow alike:
//!
//! ```text
//! window of another now = window of another then * (own window now / own window then) ^ (own round trip / its round trip)
//! ```
//!
//! This holds where both are in slow start. So a control compares windows of the same moment, however long the way is.

use anabranch_proto::window::SubflowSnapshot;

use super::{Controls, Group, Inner, SLOTS};

/// The most remote subflows that a control includes.
pub const MOST_REMOTE: usize = 32;

/// A subflow of another sender, with its group of paths and its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemoteSubflow {
    /// Number of the group of paths that share links.
    pub group: u32,
    /// State of the subflow.
    pub snapshot: SubflowSnapshot,
}

impl Inner {
    /// Passes the groups of all subflows, remote ones included, to the control.
    pub(super) fn tell_groups(&mut self) {
        if let Controls::Joint(control) = &mut self.controls {
            control.regroup(&self.groups);
        }
    }

    /// Grows the windows of remote subflows in slow start since their snapshots, as much as that of a slot in slow
    /// start. Called before the control receives acknowledgements of the slot.
    pub(super) fn grow_remotes(&mut self, slot: usize) {
        let (Controls::Joint(control), Some(open)) = (&mut self.controls, &self.subflows[slot]) else { return };
        let is_starting = |other: &&(usize, SubflowSnapshot)| other.1.is_starting;
        let Some(own) = control.snapshot(slot).filter(|_| self.others.iter().any(|other| is_starting(&other))) else {
            return;
        };
        let then = open.then.filter(|_| own.is_starting);
        let grown = then.map_or(1.0, |then| (own.window / then).max(1.0));
        for &(at, snapshot) in self.others.iter().filter(is_starting) {
            let rounds = if snapshot.rtt > 0.0 { own.rtt / snapshot.rtt } else { 0.0 };
            let snapshot = SubflowSnapshot { window: snapshot.window * grown.powf(rounds), ..snapshot };
            control.set_remote(SLOTS + at, Some(snapshot.bounded()));
        }
    }
}

impl Group {
    /// Snapshot of the path of a slot, for controls that are coupled with this one; `None` if the slot is free or the
    /// protocol is never coupled.
    pub fn snapshot(&self, slot: usize) -> Option<SubflowSnapshot> {
        let inner = &mut *self.lock();
        inner.subflows.get(slot)?.as_ref()?;
        let (control, own) = inner.controls.of(slot);
        control.snapshot(own)
    }

    /// Number of remote subflows that the control includes.
    pub fn remote_count(&self) -> usize {
        self.lock().others.len()
    }

    /// Replaces all remote subflows; only the first [`MOST_REMOTE`] are used. `then` has, for each slot, the window in
    /// packets at the time of the snapshots, as far as it is known.
    pub fn set_remotes(&self, others: &[RemoteSubflow], then: &[(usize, f64)]) {
        let inner = &mut *self.lock();
        inner.others = others.iter().take(MOST_REMOTE).map(|other| other.snapshot.bounded()).enumerate().collect();
        for (slot, open) in inner.subflows.iter_mut().enumerate() {
            let Some(open) = open else { continue };
            open.then = then.iter().find(|(own, _)| *own == slot).map(|&(_, window)| window);
        }
        for at in 0..MOST_REMOTE {
            inner.groups[SLOTS + at] = others.get(at).map_or(0, |other| other.group);
        }
        inner.tell_groups();
        let Controls::Joint(control) = &mut inner.controls else { return };
        for at in 0..MOST_REMOTE {
            control.set_remote(SLOTS + at, others.get(at).map(|other| other.snapshot.bounded()));
        }
    }
}
