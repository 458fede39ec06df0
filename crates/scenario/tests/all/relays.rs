//! Connections in loops.

use anabranch_core::{Bytes, ConnectionId, Time};
use anabranch_plan::Plan;
use anabranch_proto::transport::{Marking, Told};

use crate::{plan, refused};

/// Four nodes in a row; links of 1 Mbit/s and 5 ms.
const ROW: &str = "[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"1 Mbit/s\"\ndelay = \"5 ms\"\n\
                   [[link]]\nsource = \"b\"\ntarget = \"c\"\ncapacity = \"1 Mbit/s\"\ndelay = \"5 ms\"\n\
                   [[link]]\nsource = \"c\"\ntarget = \"d\"\ncapacity = \"1 Mbit/s\"\ndelay = \"5 ms\"\n\
                   [defaults.connection]\nprotocol = \"reno\"\n";

fn row(rest: &str) -> String {
    format!("{ROW}{rest}\n")
}

/// The connections before the one of this number, by name.
fn before(plan: &Plan, connection: usize) -> Vec<&str> {
    let relay = plan.relay(ConnectionId::new(connection)).unwrap();
    relay.inputs.iter().map(|(id, _)| plan.demands.connections()[id.index()].name.as_str()).collect()
}

#[test]
fn a_connection_is_divided_at_its_relays() {
    let text = row("[[connection]]\nname = \"film\"\nsource = \"a\"\ntarget = \"d\"\nrelays = [\"b\", \"c\"]\n\
                    loops = [\"reno\", \"lgcc\", \"cubic\"]\namount = \"9 kB\"\ndemand = \"10 kbit/s\"");
    let plan = plan(&text).unwrap();
    let names: Vec<&str> = plan.demands.connections().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["film/1", "film/2", "film/3"]);
    assert_eq!((before(&plan, 1), before(&plan, 2)), (vec!["film/1"], vec!["film/2"]));
    assert!(plan.transfers.iter().all(|transfer| transfer.amount == Some(Bytes(9000))));
    let demands: Vec<bool> = plan.demands.connections().iter().map(|c| c.demand.is_some()).collect();
    assert_eq!(demands, [true, false, false]);
    let titles = plan.transfers.iter().map(|transfer| plan.protocols[transfer.protocol].name());
    assert_eq!(titles.collect::<Vec<_>>(), ["reno", "lgcc", "cubic"]);
    assert_eq!(plan.onward(), [Some(ConnectionId(1)), Some(ConnectionId(2)), None]);
}

#[test]
fn marks_at_relays_are_as_slow_as_the_loop_before_learns_of_them() {
    // A round trip of the loop before takes 10 ms. Reno answers to a mark in one more; LGCC remembers marks for 20
    // intervals, DCTCP for 16 round trips.
    let seconds = |protocol: &str| {
        let keys = format!("source = \"a\"\ntarget = \"d\"\nrelays = [\"b\"]\nprotocol = {protocol}");
        let Marking::Backlog(seconds) =
            plan(&row(&format!("[[connection]]\n{keys}"))).unwrap().relays[0].inputs[0].1.marking
        else {
            panic!("marks follow what waits")
        };
        seconds
    };
    let cases = [
        ("\"reno\"", 0.02),
        ("\"lgcc\"", 0.21),
        ("\"lgc\"", 0.21),
        ("\"log-rate\"", 0.21),
        ("\"dctcp\"", 0.17),
        ("{ lgcc = { alpha = 0.5 } }", 0.03),
        ("{ lgcc = { interval = \"2 ms\" } }", 0.05),
    ];
    for (protocol, wanted) in cases {
        assert!((seconds(protocol) - wanted).abs() < 1e-9, "{protocol}: {}", seconds(protocol));
    }
}

/// From a over b and c to d, with two links from b to c.
const FORK: &str =
    "[[link]]\nsource = \"b\"\ntarget = \"c\"\nname = \"other\"\ncapacity = \"1 Mbit/s\"\ndelay = \"9 ms\"\n";

#[test]
fn a_loop_may_have_several_paths() {
    let chain = "[[connection]]\nname = \"f\"\nsource = \"a\"\ntarget = \"d\"\nrelays = [\"b\", \"c\"]\n\
                 loops = [\"reno\", { nmcc = {} }, \"reno\"]";
    let plan = plan(&row(&format!("{FORK}{chain}"))).unwrap();
    let counts = [0, 1, 2].map(|c| plan.paths.of(ConnectionId(c)).len());
    assert_eq!((counts, before(&plan, 1), before(&plan, 2)), ([1, 2, 1], vec!["f/1"], vec!["f/2"]));
    // Marks wait for the longer path.
    assert_eq!(plan.relays[1].inputs[0].1.marking, Marking::Backlog(0.036));
    // Four links from b to c; seven times there or back are 4^7 ways.
    let links: String = (0..3).map(|i| FORK.replace("other", &format!("other-{i}"))).collect();
    let relays = ["\"b\", \"c\""; 4].join(", ");
    let chain = format!(
        "[[connection]]\nname = \"f\"\nsource = \"a\"\ntarget = \"d\"\nrelays = [{relays}]\nprotocol = \"lia\""
    );
    let message = refused(&row(&format!("{links}{chain}")));
    assert!(
        message.contains("from `f/1` on the paths of the loops make 16384 ways through the chain; 1024 may be"),
        "{message}"
    );
}

#[test]
fn a_connection_outside_chains_may_have_more_paths_than_a_chain_may_have_ways() {
    let links: String = (0..1100).map(|i| FORK.replace("other", &format!("other-{i}"))).collect();
    let both = "[[connection]]\nname = \"f\"\nsource = \"a\"\ntarget = \"c\"\nrelays = [\"b\"]\nprotocol = \"lia\"\n\
                paths = 1\n[[connection]]\nname = \"lone\"\nsource = \"b\"\ntarget = \"c\"\nprotocol = \"lia\"\n\
                paths = 1101";
    let plan = plan(&row(&format!("{links}{both}"))).unwrap();
    let counts: Vec<usize> = (0..plan.transfers.len() as u32).map(|c| plan.paths.of(ConnectionId(c)).len()).collect();
    assert!(counts.contains(&1101), "{counts:?}");
}

#[test]
fn given_paths_are_divided_too() {
    let keys = "source = \"a\"\ntarget = \"d\"\nrelays = [\"c\"]\npaths = [[\"a\", \"b\", \"c\", \"d\"]]";
    let plan = plan(&row(&format!("[[connection]]\n{keys}"))).unwrap();
    let lengths = [0, 1].map(|c| plan.paths.of(ConnectionId(c)).next().unwrap().len());
    assert_eq!(lengths, [2, 1]);
}

#[test]
fn what_comes_over_several_is_what_one_sends() {
    let text = row("[relays]\nbuffer = \"5 kB\"\ntold = \"sent\"\nmarking = { share = 0.4 }\n\
         [[connection]]\nname = \"x\"\nsource = \"a\"\ntarget = \"b\"\namount = \"3 kB\"\n\
         [[connection]]\nname = \"out\"\nsource = \"b\"\ntarget = \"d\"\nafter = [\"x\", { connection = \"y\", weight = 2 }]\n\
         [[connection]]\nname = \"y\"\nsource = \"c\"\ntarget = \"b\"\namount = \"4 kB\"");
    let plan = plan(&text).unwrap();
    assert_eq!((before(&plan, 1), plan.transfers[1].amount), (vec!["x", "y"], Some(Bytes(7000))));
    let inputs = &plan.relays[0].inputs;
    assert!(inputs.iter().all(|(_, input)| input.marking == Marking::Share(0.4)));
    assert_eq!(
        (plan.relays[0].buffer, plan.relays[0].told, inputs.iter().map(|(_, i)| i.weight).collect::<Vec<_>>()),
        (Bytes(5000), Told::Sent, vec![1.0, 2.0])
    );
}

#[test]
fn marks_by_weights_are_computed_for_each_input() {
    // A third and two thirds of the next loop: 1 - (1/3)^(ln 5 / ln 10) and 1 - (2/3)^(ln 5 / ln 10) under LGCC, and 2/3
    // and 1/3 under LGC.
    let shares = |protocol: &str| {
        let text = row(&format!(
            "[relays]\nmarking = \"weights\"\n[[connection]]\nname = \"x\"\nsource = \"a\"\ntarget = \"b\"\n\
             protocol = {protocol}\n[[connection]]\nname = \"y\"\nsource = \"c\"\ntarget = \"b\"\nprotocol = {protocol}\n\
             [[connection]]\nsource = \"b\"\ntarget = \"d\"\nafter = [\"x\", {{ connection = \"y\", weight = 2 }}]"
        ));
        plan(&text).unwrap().relays[0].inputs.iter().map(|(_, input)| input.marking).collect::<Vec<_>>()
    };
    for (protocol, wanted) in [
        ("\"lgcc\"", [0.536_012, 0.246_788]),
        ("\"lgc\"", [2.0 / 3.0, 1.0 / 3.0]),
        ("{ lgcc = { omega = 0.5 } }", [0.268_006, 0.123_394]),
    ] {
        for (marking, wanted) in shares(protocol).into_iter().zip(wanted) {
            assert!(
                matches!(marking, Marking::Share(share) if (share - wanted).abs() < 1e-6),
                "{protocol} {marking:?}"
            );
        }
    }
}

/// A connection `out` from b to d after `x` and `y`, each with more keys.
fn two_into_one(x: &str, y: &str, out: &str) -> String {
    row(&format!(
        "[[connection]]\nname = \"x\"\nsource = \"a\"\ntarget = \"b\"\n{x}\n\
         [[connection]]\nname = \"y\"\nsource = \"c\"\ntarget = \"b\"\n{y}\n\
         [[connection]]\nname = \"out\"\nsource = \"b\"\ntarget = \"d\"\nrelays = [\"c\"]\nafter = [\"x\", \"y\"]\n{out}"
    ))
}

#[test]
fn what_comes_after_others_stops_with_the_last_of_them() {
    let stops = |x: &str, y: &str, out: &str| {
        let plan = plan(&two_into_one(x, y, out)).unwrap();
        plan.demands.connections()[2..].iter().map(|c| c.stop.map(Time::seconds)).collect::<Vec<_>>()
    };
    assert_eq!(stops("stop = \"2 s\"", "stop = \"3 s\"\namount = \"9 kB\"", ""), [Some(3.0); 2]);
    assert_eq!(stops("stop = \"2 s\"", "stop = \"3 s\"", "stop = \"5 s\""), [Some(5.0); 2]);
    // One of them never ends, and what comes over it goes on.
    assert_eq!(stops("stop = \"2 s\"", "", ""), [None; 2]);
    assert_eq!(stops("amount = \"1 kB\"", "amount = \"1 kB\"", ""), [None; 2]);
}

#[test]
fn mistakes_are_told() {
    let connection = |keys: &str| row(&format!("[[connection]]\nname = \"f\"\nsource = \"a\"\ntarget = \"d\"\n{keys}"));
    let two = |keys: &str| {
        row(&format!(
            "[[connection]]\nname = \"x\"\nsource = \"a\"\ntarget = \"b\"\n[[connection]]\nname = \"y\"\nsource = \"b\"\n\
             target = \"a\"\n{keys}"
        ))
    };
    let cases = [
        (connection("relays = []"), "`relays` names no node"),
        (connection("relays = [\"b\"]\nloops = [\"reno\"]"), "names 1 protocols for 2 loops; name one for each"),
        (connection("relays = [\"b\"]\nlinks = [[\"a-b\"]]"), "given by links; give them by nodes"),
        (
            connection("relays = [\"c\", \"b\"]\npaths = [[\"a\", \"b\", \"c\", \"d\"]]"),
            "path 1 does not lead over `a`, `c`",
        ),
        (connection("relays = [\"q\"]"), "there is no node `q`"),
        (connection("relays = [\"b\"]\nprotocol = \"d-slen\""), "sets rates; loops of a chain keep windows"),
        (connection("after = []"), "`after` names no connection"),
        (connection("after = [\"q\"]"), "there is no connection `q`"),
        (
            two("after = [\"x\"]\ndemand_changes = [{ at = \"1 s\", demand = \"1 kbit/s\" }]"),
            "has `demand_changes`; give",
        ),
        (two_into_one("stop = \"2 s\"", "amount = \"1 kB\"", ""), "and `y` when all is sent; give it a `stop`"),
        (two_into_one("stop = \"2 s\"", "stop = \"1 s\"", "start = \"2 s\""), "all before it have stopped at 2 s"),
        (two("after = [\"x\"]\namount = \"1 kB\""), "has `amount`; give that to the first of them"),
        (two("after = [{ connection = \"x\", weight = 0 }]"), "the weight of `x` is 0; it must be over 0"),
        (two("after = [\"x\", \"x\"]"), "`x` is named as coming before twice"),
        (two("after = [\"x\"]\n[relays]\nbuffer = \"10 B\""), "is 10 B, and packets have 1000 B; it must hold one"),
        (two("after = [\"x\"]\n[relays]\nmarking = \"often\""), "marking is `often`"),
        (two("after = [\"x\"]\n[relays]\nmarking = { share = 2 }"), "the share is 2; it must be 0 to 1"),
        (two("after = [\"x\"]\n[relays]\nmarking = \"weights\""), "`x` is under Reno; name lgcc, lgc"),
        (two("after = [\"y\"]"), "`y` does not end where it begins"),
        (
            two("after = [\"x\"]").replace("name = \"x\"\n", "name = \"x\"\nafter = [\"y\"]\n"),
            "it comes after itself; let it begin at a source",
        ),
    ];
    for (text, said) in cases {
        let message = refused(&text);
        assert!(message.contains(said), "{message}\nhas not\n{said}");
    }
}
