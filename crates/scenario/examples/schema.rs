//! Writes the JSON schema of the scenario file.

fn main() {
    print!("{}", anabranch_scenario::scenario_schema());
}
