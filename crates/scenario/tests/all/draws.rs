//! What is drawn: ends, times, amounts, numbers of paths.

use std::collections::HashSet;

use anabranch_core::{Bytes, NodeId, Rate, Span, Time};
use anabranch_plan::Plan;

use crate::{plan, read};

/// The plan of traffic on a ring of 20 nodes, n0 to n19.
fn ring(keys: &str) -> Plan {
    plan(&format!("[network]\ngenerate.ring.nodes = 20\n[[traffic]]\n{keys}\n")).unwrap()
}

fn ends(plan: &Plan) -> Vec<(NodeId, NodeId)> {
    plan.demands.connections().iter().map(|c| (c.source, c.target)).collect()
}

fn amounts(distribution: &str) -> Vec<f64> {
    let plan = ring(&format!("count = 20_000\npaths = 1\namount = {distribution}\n[run]\nrecord = []"));
    plan.transfers.iter().map(|t| t.amount.expect("there is an amount").0 as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn traffic_is_named_and_numbered() {
    let plan = ring("name = \"web\"\ncount = 3\nweight = 2\ndemand = \"1 Mbit/s\"");
    let connections = plan.demands.connections();
    assert_eq!(connections.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["web1", "web2", "web3"]);
    assert!(
        connections
            .iter()
            .all(|c| (c.weight, c.demand) == (2.0, Some(Rate(1e6))) && c.source != c.target && c.stop.is_none())
    );
}

#[test]
fn draws_repeat_by_seed_and_differ_by_seed() {
    let text = |seed: u32| {
        let keys = "count = 50\narrivals = { poisson = \"1 ms\" }\nlifetime = { exponential = \"1 s\" }\n\
            amount = { exponential = \"1 MB\" }\npaths = { least = 1, most = 2 }";
        format!("{keys}\n[run]\nseed = {seed}")
    };
    let parts = |seed| {
        let plan = ring(&text(seed));
        (plan.demands, plan.transfers, plan.paths)
    };
    assert_eq!(parts(1), parts(1));
    let (demands, transfers, paths) = parts(1);
    let (other_demands, other_transfers, other_paths) = parts(2);
    assert_ne!(demands, other_demands);
    assert_ne!(transfers, other_transfers);
    assert_ne!(paths, other_paths);
}

#[test]
fn each_kind_of_draw_has_a_stream_of_its_own() {
    let plain = ring("count = 50");
    let other = ring(
        "count = 60\namount = { exponential = \"1 MB\" }\narrivals = { uniform = \"1 s\" }\npaths = { least = 1, most = 9 }",
    );
    assert_eq!(ends(&plain), ends(&other)[..50]);
    // A group before leaves the second as it is only in its own number.
    let twice = ring("count = 50\n[[traffic]]\nname = \"u\"\ncount = 50");
    assert_eq!(ends(&twice)[..50], ends(&plain));
    assert_ne!(ends(&twice)[50..], ends(&plain));
}

#[test]
fn ends_are_taken_from_the_nodes_named() {
    let plan = ring("count = 200\nfrom = \"n1?\"\nto = [\"n3\", \"n10\"]");
    let names: HashSet<(String, String)> = ends(&plan)
        .iter()
        .map(|&(s, t)| (plan.network.node(s).name.clone(), plan.network.node(t).name.clone()))
        .collect();
    // n10 to n19 are ten; n10 does not send to itself. Of 19 pairs none is left out by 200 draws but once in 2000.
    assert_eq!(names.len(), 19);
    assert!(names.iter().all(|(s, t)| s.len() == 3 && ["n3", "n10"].contains(&t.as_str())));
}

#[test]
fn distinct_connections_have_no_node_in_common() {
    let plan = ring("count = 10\ndistinct = true");
    let nodes: HashSet<NodeId> = ends(&plan).into_iter().flat_map(|(s, t)| [s, t]).collect();
    assert_eq!(nodes.len(), 20);
}

#[test]
fn distinct_sources_share_targets() {
    let plan = ring("count = 20\ndistinct = \"sources\"");
    let sources: HashSet<NodeId> = ends(&plan).into_iter().map(|(source, _)| source).collect();
    assert_eq!(sources.len(), 20);
    assert!(ends(&plan).iter().all(|(source, target)| source != target));
    // A node that sends may be sent to, here by all the others, and itself sends to the only other target.
    let plan = ring("count = 20\ndistinct = \"sources\"\nto = [\"n0\", \"n1\"]");
    assert_eq!(ends(&plan).into_iter().filter(|(source, _)| source.0 < 2).collect::<HashSet<_>>().len(), 2);
    assert!(ends(&plan).iter().all(|(source, target)| target.0 < 2 && source != target));
}

#[test]
fn distinct_pairs_are_found_though_an_early_one_may_leave_no_room() {
    // n0 may send to all and n1 too, but if n0 takes n1 there is nobody left to send.
    for seed in 1..20 {
        let keys = "count = 2\ndistinct = true\nfrom = [\"n0\", \"n1\"]\nto = [\"n0\", \"n1\", \"n2\", \"n3\"]";
        let plan = ring(&format!("{keys}\n[run]\nseed = {seed}"));
        assert!(ends(&plan).iter().all(|(s, t)| s.0 < 2 && t.0 >= 2));
    }
}

#[test]
fn only_pairs_that_a_path_joins_are_drawn() {
    // Two parts of two nodes, and a one-way link between them: of twelve pairs those from right to left have no path.
    let link = |a, b, keys| format!("[[link]]\nsource = \"{a}\"\ntarget = \"{b}\"\ncapacity = \"1 Mbit/s\"\n{keys}\n");
    let links = link("a", "b", "") + &link("c", "d", "") + &link("b", "c", "two_way = false");
    let (network, demands, _) = read(&format!("{links}[[traffic]]\ncount = 500")).unwrap();
    let pairs: HashSet<_> = demands.connections().iter().map(|c| (c.source, c.target)).collect();
    assert_eq!(pairs.len(), 8);
    assert!(!pairs.contains(&(network.find_node("c").unwrap(), network.find_node("a").unwrap())));
    // Hundreds of lone nodes: all but two pairs are refused.
    let nodes = (0..300).map(|n| format!("[[node]]\nname = \"n{n}\"\n")).collect::<Vec<_>>().concat();
    let (_, demands, _) = read(&format!("{nodes}{}[[traffic]]\ncount = 9", link("a", "b", ""))).unwrap();
    assert_eq!(demands.connections().len(), 9);
}

#[test]
fn amounts_have_the_mean_of_their_distribution() {
    // 20,000 draws: the mean strays by its standard deviation over 141, here times four.
    let fixed = ring("count = 9\namount = \"3 kB\"");
    assert!(fixed.transfers.iter().all(|t| t.amount == Some(Bytes(3000))));
    let uniform = amounts("{ uniform = [\"1 MB\", \"3 MB\"] }");
    assert!((mean(&uniform) - 2e6).abs() < 4.0 * 0.58e6 / 141.0);
    assert!(uniform.iter().all(|a| (1e6..=3e6).contains(a)));
    let exponential = amounts("{ exponential = \"3 MB\" }");
    assert!((mean(&exponential) - 3e6).abs() < 4.0 * 3e6 / 141.0);
    // Variance mean^2 / (shape (shape - 2)), least value mean (shape - 1) / shape.
    let pareto = amounts("{ pareto = { mean = \"600 kB\", shape = 4.0 } }");
    assert!((mean(&pareto) - 6e5).abs() < 4.0 * 6e5 / 8f64.sqrt() / 141.0);
    assert!(pareto.iter().all(|&a| a >= 450e3 - 1.0));
    // Variance mean^2 (e^(sigma^2) - 1).
    let lognormal = amounts("{ lognormal = { mean = \"1 MB\", sigma = 1.0 } }");
    assert!((mean(&lognormal) - 1e6).abs() < 4.0 * 1.31e6 / 141.0);
    // Extremes stay within what can be sent.
    let extreme = amounts("{ lognormal = { mean = \"1 B\", sigma = 10 } }");
    assert!(extreme.iter().all(|a| (1.0..=9_007_199_254_740_992.0).contains(a)));
}

#[test]
fn arrivals_are_at_once_uniform_or_poisson() {
    let starts = |arrivals: &str| -> Vec<f64> {
        let plan = ring(&format!("count = 5000\npaths = 1\nstart = \"2 s\"\n{arrivals}\n[run]\nrecord = []"));
        plan.demands.connections().iter().map(|c| c.start.seconds() - 2.0).collect()
    };
    assert!(starts("").iter().all(|&s| s == 0.0));
    let uniform = starts("arrivals = { uniform = \"1 s\" }");
    assert!(uniform.iter().all(|s| (0.0..=1.0).contains(s)));
    assert!((mean(&uniform) - 0.5).abs() < 4.0 * 0.29 / 5000f64.sqrt());
    let poisson = starts("arrivals = { poisson = \"10 ms\" }");
    assert!(poisson.is_sorted());
    // The sum of 5000 gaps of mean 10 ms strays by 10 ms times the root of 5000.
    assert!((poisson[4999] - 50.0).abs() < 4.0 * 0.71, "{}", poisson[4999]);
}

#[test]
fn a_lifetime_ends_in_a_stop() {
    let stays = |lifetime: &str| -> Vec<Span> {
        let plan =
            ring(&format!("count = 5000\npaths = 1\nlifetime = {lifetime}\nstart = \"1 s\"\n[run]\nrecord = []"));
        plan.demands.connections().iter().map(|c| c.stop.expect("it stops") - c.start).collect()
    };
    assert!(stays("\"5 ms\"").iter().all(|&s| s == Span::ms(5)));
    let drawn: Vec<f64> = stays("{ exponential = \"1 s\" }").into_iter().map(Span::seconds).collect();
    assert!((mean(&drawn) - 1.0).abs() < 4.0 / 5000f64.sqrt());
}

#[test]
fn departures_lie_between_two_times_and_after_the_start() {
    let times = |keys: &str| -> Vec<(f64, f64)> {
        let plan = ring(&format!("count = 5000\npaths = 1\n{keys}\n[run]\nrecord = []"));
        let connections = plan.demands.connections();
        connections.iter().map(|c| (c.start.seconds(), c.stop.expect("it stops").seconds())).collect()
    };
    let stops: Vec<f64> =
        times("departures = { from = \"500 ms\", uniform = \"200 ms\" }").into_iter().map(|(_, stop)| stop).collect();
    assert!(stops.iter().all(|stop| (0.5..=0.7).contains(stop)));
    assert!((mean(&stops) - 0.6).abs() < 4.0 * 0.2 * 0.29 / 5000f64.sqrt());
    // Starts up to 0.6 s reach into the departures.
    let late = times("arrivals = { uniform = \"600 ms\" }\ndepartures = { from = \"500 ms\", uniform = \"200 ms\" }");
    assert!(late.iter().all(|(start, stop)| stop > start && (0.5..=0.7).contains(stop)));
    assert!(late.iter().any(|(start, _)| *start > 0.5));
    // Where the starts are the same, other departures leave them so.
    let other = times("arrivals = { uniform = \"600 ms\" }\ndepartures = { from = \"1 s\", uniform = \"1 s\" }");
    let starts = |times: Vec<(f64, f64)>| times.into_iter().unzip::<f64, f64, Vec<f64>, Vec<f64>>().0;
    assert_eq!(starts(late), starts(other));
}

#[test]
fn numbers_of_paths_are_drawn_within_their_range() {
    let plan = plan(
        "[network]\ngenerate.grid = { rows = 4, columns = 4 }\n[[traffic]]\ncount = 2000\npaths = { least = 1, most = 3 }\n",
    )
    .unwrap();
    let counts = plan.paths.connection_offsets().windows(2).map(|o| o[1] - o[0]);
    let mut found = [0; 3];
    counts.for_each(|count| found[count - 1] += 1);
    // 667 of each, give or take the root of 2000 * 2 / 9 four times.
    assert!(found.iter().all(|n| (580..=755).contains(n)), "{found:?}");
}

#[test]
fn a_hundred_and_eighty_thousand_connections_on_eleven_thousand_routers_are_planned() {
    let text = "[network]\ngenerate.transit-stub.routers = 11_000\n[[traffic]]\ncount = 180_000\npaths = 1\n\
        arrivals = { uniform = \"5 us\" }\n[run]\nrecord = [\"links\"]\n";
    let plan = plan(text).unwrap();
    assert_eq!(plan.paths.len(), 180_000);
    assert!(plan.demands.connections().iter().all(|c| c.start <= Time::us(5)));
}
