//! Traces of links: opportunities are in order and written again read as the same, capacities have times in order.
#![no_main]

use anabranch_scenario::Trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Trace::read(text) {
        Err(reason) => assert!(reason.starts_with("line "), "{reason}"),
        Ok(Trace::Capacities(changes)) => assert!(changes.is_sorted_by(|one, next| one.at.0 < next.at.0)),
        Ok(Trace::Opportunities(times)) => {
            assert!(times.as_slice().is_sorted() && times.period() > 0);
            let lines: Vec<String> = times.as_slice().iter().map(u32::to_string).collect();
            assert_eq!(Trace::read(&lines.join("\n")), Ok(Trace::Opportunities(times)));
        }
    }
});
