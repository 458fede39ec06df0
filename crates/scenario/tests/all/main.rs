//! Tests of reading, drawing and checking whole files, in one program.

mod by_key;
mod draws;
mod editing;
mod failures;
mod filters;
mod mistakes;
mod networks;
mod noise;
mod plans;
mod queues;
mod reading;
mod relays;
mod resolving;
mod schema;
mod setting;
mod sources;
mod traces;
mod values;
mod warnings;

use std::sync::Arc;

use anabranch_core::{Demands, Network, Paths};
use anabranch_plan::Plan;

use anabranch_scenario::{NetworkSource, Scenario, ScenarioError};

/// Three nodes, with two ways from a to c.
const TRIANGLE: &str = r#"title = "A triangle"
[[node]]
name = "a"
longitude = 10.7
latitude = 59.9
[[link]]
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "5 ms"
[[link]]
source = "b"
target = "c"
capacity = "4 Mbit/s"
[[link]]
name = "direct"
source = "a"
target = "c"
capacity = "1 Mbit/s"
delay = "1 ms"
two_way = false
[[connection]]
source = "a"
target = "c"
paths = [["a", "b", "c"], ["a", "c"]]
[[connection]]
name = "back"
source = "c"
target = "a"
demand = "2 Mbit/s"
"#;

/// A link and a connection over it; what comes behind can be a key of the connection.
const PAIR: &str = r#"[[link]]
name = "l"
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "1 ms"
[[connection]]
source = "a"
target = "b"
"#;

fn network(scenario: &Scenario) -> Result<Network, ScenarioError> {
    match scenario.network()? {
        NetworkSource::Inline(network) => Ok(network),
        NetworkSource::File(file) => panic!("the network is in {}", file.file),
    }
}

/// What the solver takes.
fn read(text: &str) -> Result<(Network, Demands, Paths), ScenarioError> {
    let scenario = Scenario::parse(text)?;
    let network = network(&scenario)?;
    let (demands, paths) = scenario.connections(&network, None, &|_| true)?;
    Ok((network, demands, paths))
}

/// The files there are beside the scenario.
fn trace(name: &str) -> Result<String, String> {
    match name {
        "trace.csv" => Ok("time_s,capacity_bps\n0.5,2e6\n1,0\n1.5,inf\n".to_owned()),
        "from_0.csv" => Ok("time_s,capacity_bps\n0,1e6\n1,2e6\n2,9e6\n".to_owned()),
        "finite.csv" => Ok("time_s,capacity_bps\n1,1e6\n".to_owned()),
        "lte.down" => Ok("0\n3\n10\n30\n40\n".to_owned()),
        "bad.down" => Ok("5\n\n7\n".to_owned()),
        "empty.csv" => Ok("time_s,capacity_bps\n0,1e6\n".to_owned()),
        "fine.csv" => Ok("time_s,capacity_bps\n0,1e6\n1e-8,2e6\n".to_owned()),
        "bad.csv" => Ok("time_s,capacity_bps\n1,2e6\n1,3e6\n".to_owned()),
        _ => Err(format!("{name}: there is no such file; check the name")),
    }
}

/// The text with d-SLEN for connections that name no protocol, unless it has defaults for connections. Nothing moves.
fn under_d_slen(text: &str) -> String {
    let defaults = "[defaults.connection]";
    if text.contains(defaults) { text.to_owned() } else { format!("{text}\n{defaults}\nprotocol = \"d-slen\"\n") }
}

/// What the simulator takes; connections that name no protocol are under d-SLEN.
fn plan(text: &str) -> Result<Plan, ScenarioError> {
    plan_as_written(&under_d_slen(text))
}

/// What the simulator takes.
fn plan_as_written(text: &str) -> Result<Plan, ScenarioError> {
    let scenario = Scenario::parse(text)?;
    let network = network(&scenario)?;
    scenario.plan(Arc::new(network), None, &trace, &|_| true)
}

/// Why the file cannot be run.
fn refused(text: &str) -> String {
    plan(text).expect_err("the file has a mistake").to_string()
}
