//! The conditions of the paths of a connection, which can change while data flow: which share links, and the most that
//! may be sent.

use tokio::sync::watch;

use crate::control::Ceiling;

/// The conditions of the paths of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Group of each path, equal for paths that share links; empty if it is not known.
    pub groups: Vec<u32>,
    /// The most that may be sent to this end or by it.
    pub ceiling: Ceiling,
}

/// The present conditions, which somebody else changes.
pub type Present = watch::Receiver<Conditions>;

impl Conditions {
    /// Conditions with these groups and no ceiling.
    pub fn grouped(groups: Vec<u32>) -> Self {
        Self { groups, ceiling: Ceiling::default() }
    }

    /// Takes other groups, if there are groups already, as many as these; whether they are others.
    pub fn regroup(&mut self, groups: Vec<u32>) -> bool {
        let is_other = groups.len() == self.groups.len() && groups != self.groups;
        if is_other {
            self.groups = groups;
        }
        is_other
    }

    /// These conditions, with the handle by which they are changed.
    pub fn changing(self) -> (watch::Sender<Self>, Present) {
        watch::channel(self)
    }

    /// These conditions, which do not change.
    pub fn lasting(self) -> Present {
        self.changing().1
    }
}
