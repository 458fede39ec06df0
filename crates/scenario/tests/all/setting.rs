//! Values set from outside.

use anabranch_core::Rate;
use anabranch_plan::Plan;

use crate::{PAIR, TRIANGLE, network};
use anabranch_scenario::{Scenario, ScenarioError};

fn set(text: &str, sets: &[(&str, &str)]) -> Result<Plan, ScenarioError> {
    let sets: Vec<(String, String)> = sets.iter().map(|&(p, v)| (p.to_owned(), v.to_owned())).collect();
    let scenario = Scenario::parse_with(text, &sets)?;
    let network = network(&scenario)?;
    scenario.plan(network.into(), None, &crate::trace, &|_| true)
}

#[test]
fn values_are_set_by_key_and_number() {
    let sets = [
        ("connection.0.protocol.d-slen.variant", "paper"),
        ("run.seed", "3"),
        ("run.duration", "5 s"),
        ("defaults.link.queue", "100 packets"),
        ("link.0.capacity", "\"3 Mbit/s\""),
        ("run.record", "[\"links\", \"grants\"]"),
        ("run.record.0", "fairness"),
        ("defaults.connection", "{ packet = \"99 B\" }"),
    ];
    let plan = set(PAIR, &sets).unwrap();
    let given = Scenario::parse(&format!("{PAIR}protocol.d-slen.variant = \"paper\"")).unwrap();
    let given = given.plan(network(&given).unwrap().into(), None, &crate::trace, &|_| true).unwrap();
    assert_eq!(plan.protocols, given.protocols);
    assert_eq!((plan.run.seed, plan.run.duration.seconds()), (3, 5.0));
    assert_eq!(plan.links[1].limit.packets, Some(100));
    assert_eq!(plan.network.links()[0].capacity, Rate(3e6));
    assert!(plan.run.record.fairness && plan.run.record.grants && !plan.run.record.links);
    assert_eq!(plan.transfers[0].packet.0, 99);
}

#[test]
fn a_value_stands_where_one_stood_before() {
    let text = format!("{PAIR}weight = 2 # twice\n[run]\nseed = 1\n");
    let plan = set(&text, &[("connection.0.weight", "3"), ("run.seed", "0x10")]).unwrap();
    assert_eq!((plan.demands.connections()[0].weight, plan.run.seed), (3.0, 16));
    let inline = format!("{PAIR}protocol = {{ d-slen = {{ tie = 0.1 }} }}\n");
    assert!(
        set(&inline, &[("connection.0.protocol.d-slen.tie", "0.0"), ("connection.0.protocol.d-slen.floor", "0.0")])
            .is_ok()
    );
}

#[test]
fn a_path_that_leads_nowhere_says_what_there_is() {
    for (path, value, reason) in [
        ("connection.7.weight", "2", "`connection` is a list without `7`; it has one entry, number 0"),
        ("link.0.twin.x", "2", "with link.0.twin.x=2"),
        ("link.a.capacity", "1", "`link` is a list without `a`; it has one entry, number 0"),
        ("lin.0.capacity", "1", "there is no list `lin` (did you mean `link`?)"),
        ("link.0.capacity.x", "1", "`link.0.capacity` is no table but a value (string); set it whole"),
        ("connection.0", "{}", "`connection.0` is a table; set its keys one by one"),
        ("run.sed", "3", "there is no key `sed` here (did you mean `seed`?)"),
        ("ru.seed", "3", "there is no key `ru` here (did you mean `run`?)"),
        ("run.seed", "x", "(with run.seed=x): invalid type: string"),
        ("a b", "3", "write the path like `connection.0.weight`"),
        ("", "3", "write the path like `connection.0.weight`"),
    ] {
        let said = set(PAIR, &[(path, value)]).unwrap_err().to_string();
        assert!(said.contains(reason), "{path}: {said}");
    }
    for parts in [70, 100_000] {
        let said = set(PAIR, &[(&vec!["a"; parts].join("."), "1")]).unwrap_err().to_string();
        assert!(said.contains("cannot be set"), "{parts} parts");
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(set(PAIR, &[("run.seed", &deep)]).is_err());
    assert!(set("title = ", &[("run.seed", "3")]).is_err());
    assert!(
        set(TRIANGLE, &[("connection.2.weight", "3")]).unwrap_err().to_string().contains("2 entries, numbers 0 to 1")
    );
}
