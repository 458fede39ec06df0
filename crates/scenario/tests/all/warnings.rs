//! Tests of what a reader of a run's numbers is told.

use crate::plan;

/// Links L and M in a row with connections over one or both, each with these keys.
fn two_links(head: &str, connections: &[(&str, &str, &str)]) -> Vec<String> {
    let links = [("L", "a", "b"), ("M", "b", "c")]
        .map(|(name, from, to)| {
            format!(
                "[[link]]\nname = \"{name}\"\nsource = \"{from}\"\ntarget = \"{to}\"\ncapacity = \"10 Mbit/s\"\n\
                 delay = \"5 ms\"\ncontrol_faults = {{ loss = 0.01 }}\n"
            )
        })
        .concat();
    let connections: String = connections
        .iter()
        .map(|(from, to, keys)| format!("[[connection]]\nsource = \"{from}\"\ntarget = \"{to}\"\npaths = 1\n{keys}\n"))
        .collect::<Vec<_>>()
        .concat();
    plan(&format!("{head}\n{links}{connections}")).unwrap().warnings()
}

#[test]
fn links_where_protocols_that_grant_rates_meet_others_are_named() {
    let said = two_links(
        "",
        &[("a", "c", "protocol = \"slbn\""), ("a", "b", "protocol = \"bfyz\""), ("a", "b", "protocol = \"reno\"")],
    );
    let [said] = &said[..] else { panic!("{said:?}") };
    assert!(
        said.ends_with("so more may be granted than these links carry: `L` (SLBN, BFYZ (reconstruction), Reno)"),
        "{said}"
    );
}

#[test]
fn what_does_not_meet_is_no_matter() {
    // On different links, on the same link at different times, and windows alone.
    let apart: [&[(&str, &str, &str)]; 3] = [
        &[("a", "b", "protocol = \"slbn\""), ("b", "c", "protocol = \"bfyz\"")],
        &[("a", "b", "protocol = \"slbn\"\nstop = \"1 s\""), ("a", "b", "protocol = \"bfyz\"\nstart = \"1 s\"")],
        &[("a", "b", "protocol = \"reno\""), ("a", "b", "protocol = \"cubic\"")],
    ];
    for connections in apart {
        assert!(two_links("", connections).is_empty(), "{connections:?}");
    }
}

#[test]
fn losses_of_control_packets_without_repair_are_told_where_they_matter() {
    let unrepaired = "[run]\nrepair = false";
    let said = two_links(unrepaired, &[("a", "b", "protocol = \"slbn\"")]);
    assert!(said.len() == 1 && said[0].contains("may stay wrong for ever"), "{said:?}");
    assert!(two_links("", &[("a", "b", "protocol = \"slbn\"")]).is_empty());
    assert!(two_links(unrepaired, &[("a", "b", "protocol = \"reno\"")]).is_empty());
}
