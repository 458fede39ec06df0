//! The schema of scenario files.

use anabranch_scenario::scenario_schema;

#[test]
fn the_schema_that_is_kept_is_that_of_the_types() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.schema.json");
    if std::env::var_os("WRITE_SCHEMA").is_some() {
        std::fs::write(file, scenario_schema()).unwrap();
    }
    let remedy = "WRITE_SCHEMA=1 cargo test -p anabranch-scenario schema";
    assert!(
        std::fs::read_to_string(file).unwrap() == scenario_schema(),
        "the types have changed; write it anew: {remedy}"
    );
}
