//! Runs a scenario file whose network stands in it, and prints counts: for measuring the engine without anything around it.
//!
//! `cargo run --release -p anabranch-sim --example run -- scenario.toml`

use std::sync::Arc;

use anabranch_scenario::{NetworkSource, Scenario};

fn main() {
    let file = std::env::args().nth(1).expect("the argument is a scenario file");
    let text = std::fs::read_to_string(&file).expect("the file can be read");
    let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let network = match scenario.network().unwrap_or_else(|error| panic!("{file}: {error}")) {
        NetworkSource::Inline(network) => Arc::new(network),
        NetworkSource::File(_) => panic!("{file}: the network must stand in the scenario"),
    };
    let plan = scenario.plan(network, None, &|_| Err("there are no other files".into()), &|_| true);
    let plan = plan.unwrap_or_else(|error| panic!("{file}: {error}"));
    let outcome = anabranch_sim::simulate(&plan, &mut |_| true);
    println!("{} events, {} packet-hops", outcome.events, outcome.hops);
}
