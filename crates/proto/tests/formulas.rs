//! Protocols that are written as formulas give the windows of those that are compiled, whatever happens.

mod events;

use anabranch_core::Time;
use anabranch_proto::formula::Formula;
use anabranch_proto::protocols::{Protocol, formulas};
use events::{control, event};
use proptest::prelude::*;

/// The subflows of the connection.
const SUBFLOWS: usize = 3;

/// The greatest relative difference of two windows that only rounding makes.
const ROUNDING: f64 = 1e-9;

/// Name of a compiled protocol, with its formulas and the least window after a loss.
const PAIRS: [(&str, &str, &str, f64); 6] = [
    ("uncoupled", "1 / window", "window / 2", 2.0),
    ("gaimd", "0.3125 / window", "0.875 * window", 2.0),
    ("ewtcp", "1 / (window * sum(1 - silent)^2)", "window / 2", 2.0),
    ("lia", "min(largest(rate / rtt) / sum(rate)^2, 1 / window)", "window / 2", 2.0),
    ("coupled", "1 / sum(window)", "window - sum(window) / 2", 1.0),
    (
        "balia",
        "rate / (rtt * sum(rate)^2) * (1 + largest(rate) / rate) / 2 * (4 + largest(rate) / rate) / 5",
        "window - window / 2 * min(largest(rate) / rate, 1.5)",
        1.0,
    ),
];

fn written(increase: &str, decreased: &str, floor: f64) -> Protocol {
    let formula = |text| Formula::new(text).expect("it is a formula");
    Protocol::Formulas(formulas::Parameters { increase: formula(increase), decreased: formula(decreased), floor })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn formulas_give_the_windows_of_compiled_protocols(
        events in prop::collection::vec(event(), 1..60),
        first in 1.0..1000.0,
    ) {
        for (name, increase, decreased, floor) in PAIRS {
            let compiled = Protocol::named(name).expect("it is a protocol");
            let mut pair = [compiled, written(increase, decreased, floor)].map(|p| control(&p, SUBFLOWS, first));
            let mut now = 0u64;
            for event in &events {
                now = now.saturating_add(event.picoseconds);
                for control in &mut pair {
                    event.tell(&mut **control, SUBFLOWS, Time(now));
                }
                for subflow in 0..SUBFLOWS {
                    let (compiled, written) = (pair[0].window(subflow), pair[1].window(subflow));
                    prop_assert!((compiled - written).abs() <= ROUNDING * compiled, "{name}: {compiled} and {written}");
                }
            }
        }
    }
}
