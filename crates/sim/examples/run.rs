//! Runs a scenario file whose network stands in it, and prints counts: for measuring the engine without anything around it.
//!
//! `cargo run --release -p anabranch-sim --example run -- scenario.toml [threads]`

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
    let threads = std::env::args().nth(2).map_or(1, |count| count.parse().expect("the second is a number of threads"));
    let begin = std::time::Instant::now();
    let outcome = anabranch_sim::simulate_on(&plan, threads, &mut |_| true);
    println!("{} events, {} packet-hops", outcome.events, outcome.hops);
    println!("{:.2} s on {} threads", begin.elapsed().as_secs_f64(), outcome.threads);
}
