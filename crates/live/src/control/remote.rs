//! Subflows of other senders: each sender of a file has a control of its own, and all are to be as one where paths share
//! links. So a control takes in how the others' subflows stand.
//!
//! What is told of others is as old as its way here, about a round trip, in which windows in slow start double. So a
//! sender also says how the subflows here stood, as far as it knew then. Subflows that start at the same time grow alike:
//!
//! ```text
//! window of another now = window of another then * (own window now / own window then) ^ (own round trip / its round trip)
//! ```
//!
//! where both are in slow start. In that way a control compares windows of the same moment, however long the way is.

use anabranch_proto::window::SubflowSnapshot;

use super::{Controls, Group, Inner, SLOTS};

/// The most subflows of others that a control takes in.
pub const MOST_REMOTE: usize = 32;

/// A subflow of another sender: which group of paths it belongs to, and how it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemoteSubflow {
    /// The number of the group of paths that share links.
    pub group: u32,
    /// The state of the subflow.
    pub snapshot: SubflowSnapshot,
}

impl Inner {
    /// Tells the control which subflows share links, those of others included.
    pub(super) fn tell_groups(&mut self) {
        if let Controls::Joint(control) = &mut self.controls {
            control.regroup(&self.groups);
        }
    }

    /// Before the control of a slot hears of acknowledgements: subflows of others in slow start have grown since they stood
    /// as was told, as much as this one if it is in slow start too.
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
    /// How the path of a slot stands, for controls that are coupled with this one; `None` if it is free, or none can be.
    pub fn snapshot(&self, slot: usize) -> Option<SubflowSnapshot> {
        let inner = &mut *self.lock();
        inner.subflows.get(slot)?.as_ref()?;
        let (control, own) = inner.controls.of(slot);
        control.snapshot(own)
    }

    /// The number of other senders' subflows that it takes in.
    pub fn remote_count(&self) -> usize {
        self.lock().others.len()
    }

    /// These are all subflows of others from now on; of more than [`MOST_REMOTE`] the first. By slots the windows that the
    /// subflows here had when the others stood like this, in packets, as far as they are known.
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
