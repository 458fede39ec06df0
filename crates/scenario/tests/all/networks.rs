//! Networks by rule.

use crate::read;
use anabranch_scenario::Scenario;

fn size(rule: &str) -> (usize, usize) {
    let (network, ..) = read(&format!("[network]\n{rule}\n")).unwrap_or_else(|error| panic!("{rule}: {error}"));
    (network.nodes().len(), network.links().len())
}

#[test]
fn every_rule_makes_its_network() {
    assert_eq!(size("generate.dumbbell = { pairs = 3 }"), (8, 14));
    assert_eq!(size("generate.parking-lot.hops = 2"), (9, 16));
    assert_eq!(size("generate.ring = { nodes = 5, capacity = \"unlimited\" }"), (5, 10));
    assert_eq!(size("generate.grid = { rows = 3, columns = 3, wrapped = true }"), (9, 36));
    assert_eq!(size("generate.fat-tree = { k = 4, hosts = false }"), (20, 64));
    assert_eq!(size("generate.leaf-spine = { leaves = 2, spines = 3 }"), (5, 12));
    assert_eq!(size("generate.waxman = { nodes = 9, alpha = 1.0, beta = 1e9 }"), (9, 72));
    assert_eq!(size("generate.random-regular = { nodes = 8, degree = 3 }"), (8, 24));
    assert_eq!(size("generate.transit-stub = { hosts = 1 }").0, 110 + 100);
}

#[test]
fn a_rule_draws_by_its_own_seed_or_that_of_the_run() {
    let links = |seeds: &str| {
        let (network, ..) = read(&format!("{seeds}\n[network]\ngenerate.waxman.nodes = 20\n")).unwrap();
        network.links().iter().map(|l| l.name.clone()).collect::<Vec<_>>()
    };
    let own = |seed: u32| links(&format!("network.seed = {seed}").replace("network.seed", "run.seed"));
    assert_eq!(own(2), own(2));
    assert_ne!(own(1), own(2));
    let fixed = |seed: u32| {
        let text = format!("[run]\nseed = {seed}\n[network]\ngenerate.waxman.nodes = 20\nseed = 2\n");
        read(&text).unwrap().0.links().iter().map(|l| l.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!((fixed(1), fixed(1)), (own(2), fixed(7)));
}

#[test]
fn presets_give_capacities_that_keys_override() {
    let capacities = |keys: &str| {
        let text = format!("[network]\ngenerate.transit-stub = {{ hosts = 1, {keys} }}\n");
        let (network, ..) = read(&text).unwrap();
        let mut capacities: Vec<f64> = network.links().iter().map(|l| l.capacity.0).collect();
        capacities.sort_by(f64::total_cmp);
        capacities.dedup();
        capacities
    };
    assert_eq!(capacities("preset = \"mozo2012\""), [100e6, 1e9, 5e9]);
    assert_eq!(capacities("preset = \"ludena2021\""), [10e6, 50e6, 10e9]);
    assert_eq!(capacities("preset = \"ludena2021\", host = \"7 Mbit/s\""), [7e6, 10e6, 50e6]);
}

#[test]
fn a_transit_stub_network_has_the_shape_that_is_given() {
    let text = |keys: &str| format!("[network]\ngenerate.transit-stub = {{ {keys} }}\n");
    let names = |keys: &str| {
        let (network, ..) = read(&text(keys)).unwrap();
        network.nodes().iter().map(|node| node.name.clone()).collect::<Vec<_>>()
    };
    // 1 * 100 * (1 + 2 * 5) routers, all transit nodes in domain 0; on 1,000 of them 2 hosts each.
    let wide = "shape = { transit_domains = 1, transit_nodes = 100, stubs = 2, stub_nodes = 5 }";
    let of_domain = |names: &[String]| names.iter().filter(|name| name.starts_with("t0.")).count();
    let routers = names(wide);
    assert_eq!((routers.len(), of_domain(&routers)), (1100, 100));
    assert_eq!(names(&format!("{wide}, routers = 1100, hosts = 2")).len(), 1100 + 2000);
    // Large and small ones come out connected, too.
    for (domains, nodes, stubs, stub_nodes) in [(25, 4, 10, 1), (1, 1, 1, 1), (2, 500, 1, 1), (1, 2, 1, 200)] {
        let shape = format!(
            "shape = {{ transit_domains = {domains}, transit_nodes = {nodes}, stubs = {stubs}, stub_nodes = {stub_nodes} }}"
        );
        assert_eq!(names(&shape).len(), domains * nodes * (1 + stubs * stub_nodes));
    }
    // The shape of a known size makes its network.
    let known = "shape = { transit_domains = 5, transit_nodes = 20, stubs = 2, stub_nodes = 5 }";
    let links = |keys: &str| read(&text(keys)).unwrap().0.links().to_vec();
    assert_eq!(links(known), links("routers = 1100"));
    let error = Scenario::parse(&text(&format!("{wide}, routers = 600"))).unwrap().network().unwrap_err().to_string();
    assert!(
        error.contains("`shape` makes 1 * 100 * (1 + 2 * 5) = 1100 routers, and `routers` is 600; leave `routers` out"),
        "{error}"
    );
}

#[test]
fn a_rule_that_cannot_be_is_refused_with_its_place() {
    let said = |keys: &str| match Scenario::parse(&format!("[network]\n{keys}\n")) {
        Ok(scenario) => scenario.network().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(said("generate.ring.nodes = 2").starts_with("line 2, column 1: ring: nodes is 2; it must be 3 or more"));
    assert!(said("generate.rin.nodes = 5").contains("there is no choice `rin` here (did you mean `ring`?)"));
    assert!(
        said("generate.ring = { nodes = 5, capcity = 3 }")
            .contains("there is no key `capcity` here (did you mean `capacity`?)")
    );
    assert!(said("generate.ring.nodes = 100_000_000").contains("it must be 0 to 10,000,000"));
    let two = said("generate = { ring = { nodes = 5 }, grid = { rows = 1, columns = 2 } }");
    assert_eq!(two, "line 2, column 12: `ring` is one key too many here; leave one out");
    let word = said("generate = \"ring\"");
    assert!(word.starts_with("line 2, column 12: ") && word.ends_with("the word as a key, with its value, in braces"));
    assert!(said("generate = {}").ends_with("a table, expected one key in it"));
    assert!(said("generate.transit-stub.routers = 99").contains("give 100, 110, 600, 1100, 11000, or a `shape`"));
    let shape = "shape = { transit_domains = 1, transit_nodes = 0, stubs = 1, stub_nodes = 1 }";
    assert!(
        said(&format!("generate.transit-stub = {{ {shape} }}")).contains("transit_nodes is 0; it must be 1 or more")
    );
    let lacking = "generate.transit-stub.shape = { transit_domains = 1, transit_nodes = 2, stubs = 1 }";
    assert!(said(lacking).contains("stub_nodes"));
    assert!(said("file = \"x\"\ngenerate.ring.nodes = 5").contains("both a file and a rule"));
    assert!(said("capacity = \"1 Mbit/s\"").contains("neither a file nor a rule"));
    assert!(said("file = \"x\"\nseed = 3").contains("leave `seed` out"));
    assert!(said("delay = \"1 ms\"\ngenerate.ring.nodes = 5").contains("belong to a file"));
    assert!(said("generate.ring.nodes = 5\nseed = -1").contains("seed is -1"));
}
