//! Subflows of other senders: each sender of a file has a control of its own, and all are to be as one where paths share
//! links. So a control takes in how the others' subflows stand.

use anabranch_proto::window::Standing;

use super::{Controls, Group, Inner, SLOTS};

/// The most subflows of others that a control takes in.
pub const MOST_MIRRORED: usize = 32;

/// A subflow of another sender: which group of paths it belongs to, and how it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mirrored {
    /// Paths of one group share links.
    pub group: u32,
    /// How it stands.
    pub standing: Standing,
}

impl Inner {
    /// Tells the control which subflows share links, those of others included.
    pub(super) fn tell_groups(&mut self) {
        if let Controls::Joint(control) = &mut self.controls {
            control.regroup(&self.groups);
        }
    }
}

impl Group {
    /// How the path of a slot stands, for controls that are coupled with this one; `None` if it is free, or none can be.
    pub fn standing(&self, slot: usize) -> Option<Standing> {
        let inner = &mut *self.lock();
        inner.subflows.get(slot)?.as_ref()?;
        let (control, own) = inner.controls.of(slot);
        control.standing(own)
    }

    /// How many subflows of others it takes in.
    pub fn mirrored(&self) -> usize {
        self.lock().mirrored
    }

    /// These are all subflows of others from now on; of more than [`MOST_MIRRORED`] the first.
    pub fn mirror(&self, others: &[Mirrored]) {
        let inner = &mut *self.lock();
        inner.mirrored = others.len().min(MOST_MIRRORED);
        for at in 0..MOST_MIRRORED {
            inner.groups[SLOTS + at] = others.get(at).map_or(0, |other| other.group);
        }
        inner.tell_groups();
        let Controls::Joint(control) = &mut inner.controls else { return };
        for at in 0..MOST_MIRRORED {
            control.mirror(SLOTS + at, others.get(at).map(|other| other.standing.bounded()));
        }
    }
}
