//! Scenario files: each is refused with a place and a reason, or planned, and written out in full reads as the same plan.
#![no_main]

use std::sync::Arc;

use anabranch_core::Network;
use anabranch_plan::Plan;
use anabranch_scenario::{NetworkSource, Scenario, ScenarioError};
use libfuzzer_sys::fuzz_target;
use toml::Value;

/// Numbers that stand for how many there are of something, and are larger, make a plan for which there is no time here.
const MOST: i64 = 4;

/// Whole numbers under a network's rule or a group's `count` that say how much, not how many.
const AMOUNTS: [&str; 8] =
    ["access", "bottleneck", "capacity", "delay", "access_delay", "bottleneck_delay", "host_delay", "seed"];

/// Whether a rule makes only a few nodes and connections.
fn is_small(text: &str) -> bool {
    let Ok(file) = text.parse::<toml::Table>() else { return true };
    let network = file.get("network").is_none_or(is_few);
    let traffic = |groups: &Vec<Value>| groups.iter().all(|group| group.get("count").is_none_or(is_few));
    network && file.get("traffic").and_then(Value::as_array).is_none_or(traffic)
}

fn is_few(value: &Value) -> bool {
    match value {
        Value::Integer(number) => *number <= MOST,
        Value::Array(values) => values.iter().all(is_few),
        Value::Table(table) => table.iter().all(|(key, value)| AMOUNTS.contains(&key.as_str()) || is_few(value)),
        _ => true,
    }
}

/// The files that a scenario may name.
fn beside(name: &str) -> Result<String, String> {
    match name {
        "capacities.csv" => Ok("time_s,capacity_bps\n0.5,2e6\n1,0\n1.5,inf\n".to_owned()),
        "finite.csv" => Ok("time_s,capacity_bps\n1,1e6\n".to_owned()),
        "opportunities" => Ok("0\n3\n10\n30\n40\n".to_owned()),
        _ => Err(format!("there is no file {name}")),
    }
}

fn network(scenario: &Scenario) -> Option<Network> {
    match scenario.network() {
        Ok(NetworkSource::Inline(network)) => Some(network),
        Ok(NetworkSource::File(_)) => None,
        Err(error) => refused(&error),
    }
}

/// A refusal says something, on one line of the file.
fn refused<T>(error: &ScenarioError) -> Option<T> {
    assert!(!error.to_string().is_empty());
    None
}

fn planned(scenario: &Scenario, network: Network) -> Option<Plan> {
    scenario.plan(Arc::new(network), None, &beside, &|_| true).map_or_else(|error| refused(&error), Some)
}

fn assert_same(one: &Plan, other: &Plan, whole: &str) {
    assert_eq!(one.network.nodes(), other.network.nodes(), "{whole}");
    assert_eq!(one.network.links(), other.network.links(), "{whole}");
    assert_eq!(one.links, other.links, "{whole}");
    assert_eq!(one.demands, other.demands, "{whole}");
    assert_eq!(one.paths, other.paths, "{whole}");
    assert_eq!(one.transfers, other.transfers, "{whole}");
    assert_eq!(one.fetches, other.fetches, "{whole}");
    assert_eq!(one.relays, other.relays, "{whole}");
    assert_eq!(one.run, other.run, "{whole}");
}

fn go(text: &str) -> Option<()> {
    let scenario = Scenario::parse(text).map_or_else(|error| refused(&error), Some)?;
    if !is_small(text) {
        return None;
    }
    let network = network(&scenario)?;
    let plan = planned(&scenario, network)?;
    let whole = scenario.resolved(&plan, None, &beside).expect("what can be planned can be written out");
    let again = Scenario::parse(&whole).unwrap_or_else(|error| panic!("{error}\n{whole}"));
    let network = self::network(&again).expect("the network stands in it");
    assert_same(&plan, &planned(&again, network).expect("it is planned again"), &whole);
    Some(())
}

fuzz_target!(|text: &str| {
    go(text);
});
