//! What the control of a bundle knows of its lines: which share links, and the most that each and all may send.

use std::sync::{Arc, Mutex, PoisonError};

use anabranch_core::Rate;
use anabranch_live::control::{Ceiling, Group, SLOTS};

use super::line::Line;
use super::usable;

/// The most that a line sends which carries nothing now, where all together have a ceiling: its beats.
const IDLE: Rate = Rate(100e3);

/// The limits of a bundle besides those of each line, and what its control was told last.
#[derive(Default)]
pub(super) struct Fit(Mutex<State>);

#[derive(Default)]
struct State {
    /// What the lines carry together, if it is known.
    capacity: Option<Rate>,
    /// What is granted, by numbers of lines.
    granted: Ceiling,
    told: Option<Told>,
}

/// What a control is told of its slots.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    groups: [u32; SLOTS],
    total: Rate,
    most: [Option<Rate>; SLOTS],
}

impl Fit {
    /// Sets what the lines carry together.
    pub fn set_capacity(&self, capacity: Rate) {
        self.change(|state| state.capacity = Some(capacity));
    }

    /// Sets what is granted.
    pub fn set_granted(&self, granted: Ceiling) {
        self.change(|state| state.granted = granted);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Tells the control what has changed.
    pub fn tell(&self, group: &Group, lines: impl FnOnce() -> Vec<Arc<Line>>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = lines();
        let total = Rate(state.capacity.map_or(f64::INFINITY, |rate| rate.0).min(state.granted.total.0));
        let mut told = Told { groups: [0; SLOTS], total, most: [None; SLOTS] };
        let carrying = usable(lines.iter());
        for line in &lines {
            let (terms, granted) = (line.terms(), state.granted.paths.get(usize::from(line.number)));
            let own = granted.map_or(terms.most.0, |granted| granted.0.min(terms.most.0));
            let is_idle = total.0.is_finite() && !carrying.iter().any(|other| Arc::ptr_eq(other, line));
            let own = Rate(if is_idle { own.min(IDLE.0) } else { own });
            for slot in line.slots() {
                told.groups[slot] = terms.group;
                told.most[slot] = own.0.is_finite().then_some(own);
            }
        }
        if state.told.as_ref() == Some(&told) {
            return;
        }
        if state.told.as_ref().is_none_or(|before| before.groups != told.groups) {
            group.regroup(&told.groups);
        }
        group.limit(told.total, &told.most);
        state.told = Some(told);
    }
}
