//! What tests in labs have in common. Where the kernel refuses a lab, they say so and pass.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_core::Span;
use anabranch_emulator::lab_refusal;
use anabranch_live::run::{Outcome, run};
use anabranch_plan::Plan;
use anabranch_scenario::{NetworkSource, Scenario};

/// So many times a run is tried that is late, or in which the machine halted, since it has other things to do.
const ATTEMPTS: usize = 3;

/// The machine has halted if a packet was later than this. Such a run counts if there is no better one.
const HALT: Span = Span(25_000_000_000);

/// One lab of a test program at a time: two would make each other late.
static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test; `None`, and words, if there can be no lab.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    if let Some(reason) = lab_refusal() {
        eprintln!("skipped: the kernel refuses a lab: {reason}");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The plan of a scenario.
pub fn plan(text: &str) -> Plan {
    let scenario = Scenario::parse(text).unwrap();
    let Ok(NetworkSource::Inline(network)) = scenario.network() else { panic!("it stands there") };
    scenario.plan(network.into(), None, &|_| Err("no files".to_owned()), &|_| true).unwrap()
}

/// What comes of a scenario; `None` where there is no lab, or this machine is too busy.
pub fn punctual(text: &str) -> Option<Outcome> {
    let _turn = turn()?;
    let plan = plan(text);
    let mut halted = None;
    for _ in 0..ATTEMPTS {
        let outcome = run(&plan, &mut |_| true).unwrap();
        let (report, longest) = (&outcome.report, outcome.report.lateness.max);
        if report.is_valid() && longest <= HALT {
            return Some(outcome);
        }
        eprintln!("not good: packets were up to {longest} late; {:?}", report.faults);
        halted = report.is_valid().then_some(outcome).or(halted);
    }
    if halted.is_none() {
        eprintln!("skipped: this machine is too busy");
    }
    halted
}
