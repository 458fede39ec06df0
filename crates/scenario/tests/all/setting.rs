//! Values set from outside.

use anabranch_core::{Rate, Span};
use anabranch_plan::Plan;

use crate::{PAIR, TRIANGLE, network, under_d_slen};
use anabranch_scenario::{Scenario, ScenarioError};

fn set(text: &str, sets: &[(&str, &str)]) -> Result<Plan, ScenarioError> {
    let sets: Vec<(String, String)> = sets.iter().map(|&(p, v)| (p.to_owned(), v.to_owned())).collect();
    let scenario = Scenario::parse_with(&under_d_slen(text), &sets)?;
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
        ("defaults.connection.packet", "99 B"),
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
fn entries_are_set_by_name_or_by_their_ends() {
    let sets = [
        ("link.direct.capacity", "3 Mbit/s"),
        ("link.b-c.delay", "7 ms"),
        ("connection.back.weight", "2"),
        ("connection.a>c.weight", "3"),
        ("connection.\"a>c\".qos", "0.5"),
        ("node.a.latitude", "0"),
        ("link.direct.two_way", "true"),
    ];
    let plan = set(TRIANGLE, &sets).unwrap();
    // Links are a-b, b-a, b-c, c-b and direct, in this order.
    assert_eq!(plan.network.links()[4].capacity, Rate(3e6));
    assert_eq!(plan.network.links()[2].delay, Span::ms(7));
    let claims: Vec<(f64, f64)> = plan.demands.connections().iter().map(|c| (c.weight, c.qos)).collect();
    assert_eq!(claims, [(3.0, 0.5), (2.0, 1.0)]);
}

#[test]
fn a_parameter_chooses_its_protocol() {
    let title = |before: &str, path: &str, value: &str| {
        let plan = set(&format!("{PAIR}{before}\n"), &[(path, value)]).unwrap();
        serde_json::to_value(&plan.protocols[0]).unwrap().to_string()
    };
    // Beside a name alone, beside other parameters of the same protocol, in place of another protocol, and beside nothing.
    let tie = "connection.0.protocol.d-slen.tie";
    assert!(title("protocol = \"d-slen\"", tie, "0.1").contains("\"tie\":0.1"));
    let both = title("protocol.d-slen = { variant = \"paper\" }", tie, "0.1");
    assert!(both.contains("\"tie\":0.1") && both.contains("paper"), "{both}");
    let printed =
        title("protocol = { d-slen = { variant = \"paper\" } }", "connection.0.protocol.vo-le-tran.price", "2");
    assert!(printed.contains("vo-le-tran") && !printed.contains("d-slen"), "{printed}");
    assert!(title("", "connection.0.protocol.vo-le-tran.price", "2").contains("vo-le-tran"));
}

#[test]
fn a_name_that_is_not_there_has_a_nearest_one() {
    for (path, reason) in [
        (
            "connection.bak.weight",
            "`connection` is a list without `bak` (did you mean `back`?); it has 2 entries, numbers 0 to 1: `a>c`, `back`",
        ),
        ("link.drect.capacity", "`link` is a list without `drect` (did you mean `direct`?); it has 3 entries"),
        ("connection.bcak.weight", "`connection` is a list without `bcak` (did you mean `back`?)"),
        // Ends of an entry that has a name, and those of a two-way link from its other end.
        ("link.a-c.capacity", "`link` is a list without `a-c` (did you mean `direct`?)"),
        ("link.c-b.capacity", "`link` is a list without `c-b` (did you mean `b-c`?)"),
        ("connection.c>a.weight", "`connection` is a list without `c>a` (did you mean `back`?)"),
    ] {
        let said = set(TRIANGLE, &[(path, "1")]).unwrap_err().to_string();
        assert!(said.contains(reason), "{said}");
    }
    let twice = format!("{TRIANGLE}[[connection]]\nsource = \"a\"\ntarget = \"c\"\n");
    let said = set(&twice, &[("connection.a>c.weight", "2")]).unwrap_err().to_string();
    assert!(said.contains("`connection` has several entries `a>c`; give a number, such as 0 or 2"), "{said}");
}

#[test]
fn a_place_that_is_not_in_the_file_has_no_line() {
    let error = set(PAIR, &[("connection.7.weight", "2")]).unwrap_err();
    assert_eq!(error.place, None);
    let expected =
        "`connection.7.weight` cannot be set: `connection` is a list without `7`; it has one entry, number 0";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_word_of_other_programs_gets_the_key_as_a_hint() {
    for (path, reason) in [
        ("run.time", "there is no key `time` here (did you mean `duration`?); there is duration, warm_up"),
        ("run.warmup", "there is no key `warmup` here (did you mean `warm_up`?)"),
        ("link.0.bandwidth", "there is no key `bandwidth` here (did you mean `capacity`?)"),
        ("link.0.latency", "there is no key `latency` here (did you mean `delay`?)"),
        ("connection.0.rate", "there is no key `rate` here (did you mean `demand`?)"),
        ("connection.0.size", "there is no key `size` here (did you mean `amount`?)"),
    ] {
        let said = set(PAIR, &[(path, "1")]).unwrap_err().to_string();
        assert!(said.contains(reason), "{path}: {said}");
    }
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
