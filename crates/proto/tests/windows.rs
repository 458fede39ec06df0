//! Windows and paces stay within bounds, whatever happens.

mod events;

use anabranch_core::quantity::SpanText;
use anabranch_core::{Span, Time};
use anabranch_proto::formula::Formula;
use anabranch_proto::protocols::{PROTOCOLS, Protocol, balia, cubic, ewtcp, formulas, vegas, wvegas};
use anabranch_proto::window::MOST_WINDOW;
use events::{control, event};
use proptest::prelude::*;

fn formulas(increase: &str, decreased: &str, floor: f64) -> Protocol {
    let formula = |text| Formula::new(text).expect("it is a formula");
    Protocol::Formulas(formulas::Parameters { increase: formula(increase), decreased: formula(decreased), floor })
}

/// All that keep windows, some of them also with other parameters.
fn all() -> Vec<Protocol> {
    let named = PROTOCOLS.iter().filter_map(|(name, ..)| Protocol::named(name));
    let clock = SpanText(Span::ms(1));
    let paper = wvegas::Parameters { drain: wvegas::Drain::Paper, clock, ..wvegas::Parameters::default() };
    let steady = wvegas::Parameters { drain: wvegas::Drain::Steady, ..wvegas::Parameters::default() };
    let base = vegas::Parameters { denominator: vegas::Denominator::Base, ..vegas::Parameters::default() };
    let others = [
        Protocol::Wvegas(paper),
        Protocol::Wvegas(steady),
        Protocol::Vegas(base),
        Protocol::Ewtcp(ewtcp::Parameters { weight: Some(100.0) }),
        Protocol::Balia(balia::Parameters { alpha: balia::Alpha::Whole }),
        formulas("1 / 0", "0 / 0", 1.0),
        formulas("exp(window)", "exp(window)", 1000.0),
        formulas("-exp(rate)", "-exp(rate)", 1.0),
        Protocol::Cubic(cubic::Parameters { c: 1e3, beta: 0.95, hystart: false, fast_convergence: false }),
    ];
    named.chain(others).filter(|protocol| protocol.capabilities().keeps_windows()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn windows_and_paces_stay_within_bounds(events in prop::collection::vec(event(), 1..60), first in 1.0..1000.0) {
        for protocol in all() {
            let count = if protocol.capabilities().serves_many_paths() { 3 } else { 1 };
            let mut control = control(&protocol, count, first);
            let mut now = 0u64;
            for event in &events {
                now = now.saturating_add(event.picoseconds);
                event.tell(&mut *control, count, Time(now));
                for subflow in 0..count {
                    let window = control.window(subflow);
                    prop_assert!((1.0..=MOST_WINDOW).contains(&window), "{}: {window}", protocol.name());
                    let pace = control.pace(subflow).map_or(1.0, |pace| pace.0);
                    prop_assert!(pace > 0.0 && pace.is_finite(), "{}: {pace}", protocol.name());
                }
            }
        }
    }
}
