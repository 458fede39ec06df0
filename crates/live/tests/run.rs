//! Plans run with real packets, where the kernel lets us have a lab.
#![cfg(target_os = "linux")]

use anabranch_emulator::lab_refusal;
use anabranch_live::run::{Outcome, run};
use anabranch_scenario::plan::Plan;
use anabranch_scenario::{NetworkSource, Scenario};

/// So many times a run is tried whose packets are late since this machine has other things to do.
const ATTEMPTS: usize = 3;

fn plan(text: &str) -> Plan {
    let scenario = Scenario::parse(text).unwrap();
    let Ok(NetworkSource::Inline(network)) = scenario.network() else { panic!("it stands there") };
    scenario.plan(network.into(), None, &|_| Err("no files".to_owned()), &|_| true).unwrap()
}

/// What comes of a scenario; `None` where there is no lab, or this machine is too busy.
fn punctual(text: &str) -> Option<Outcome> {
    if let Some(reason) = lab_refusal() {
        eprintln!("skipped: the kernel refuses a lab: {reason}");
        return None;
    }
    let plan = plan(text);
    for _ in 0..ATTEMPTS {
        let outcome = run(&plan, &mut |_| true).unwrap();
        if outcome.report.is_valid() {
            return Some(outcome);
        }
        eprintln!("once more: {:?}", outcome.report.faults);
    }
    eprintln!("skipped: this machine is too busy");
    None
}

/// In Mbit/s, after a warm-up, of a run of so many seconds.
fn rate(outcome: &Outcome, subflow: usize, seconds: f64) -> f64 {
    8e-6 * outcome.subflows[subflow].delivered_warm as f64 / seconds
}

/// A link of 20 Mbit/s that a connection has to itself for 5 s, of which 2 s do not count.
fn alone(protocol: &str, link: &str) -> String {
    format!(
        "[[link]]\nname = \"line\"\nsource = \"west\"\ntarget = \"east\"\ncapacity = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = \"100 packets\"\n{link}\n\
         [[connection]]\nname = \"one\"\nsource = \"west\"\ntarget = \"east\"\nprotocol = \"{protocol}\"\n\
         packet = \"1500 B\"\n[run]\nduration = \"5 s\"\nwarm_up = \"2 s\"\n"
    )
}

#[test]
fn controls_that_count_marks_fill_a_link_with_a_short_queue_and_no_loss() {
    // 20 Mbit/s in a round trip of 20 ms are 33 packets; a slow start leaves as many again and some in the queue.
    for (protocol, link, most) in [
        ("dctcp", "discipline = { ecn-step = { threshold = 10 } }", 80),
        ("lgc", "discipline = \"ecn-ramp\"", 33),
        ("lgcc", "discipline = \"ecn-ramp\"", 33),
        ("abc", "discipline = \"abc\"", 80),
    ] {
        let Some(outcome) = punctual(&alone(protocol, link)) else { return };
        let (rate, waited, lost) = (rate(&outcome, 0, 3.0), outcome.links[0].most_packets, outcome.links[0].dropped);
        eprintln!("{protocol}: {rate:.2} Mbit/s, at most {waited} packets waited, {lost} lost");
        assert!(rate >= 0.9 * 20.0 && waited <= most && lost == 0, "{protocol}: {rate} Mbit/s, {waited}, {lost}");
    }
}
