//! Networks, connections and paths, as the solver takes them.

use anabranch_core::{LinkId, Rate};

use crate::{TRIANGLE, network, read};
use anabranch_scenario::{NetworkSource, Scenario};

#[test]
fn a_scenario_is_read_whole() {
    let (network, demands, paths) = read(TRIANGLE).unwrap();
    let names: Vec<&str> = network.links().iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["a-b", "b-a", "b-c", "c-b", "direct"]);
    assert_eq!(demands.connections()[0].name, "a>c");
    assert_eq!(demands.connections()[1].demand, Some(Rate(2e6)));
    // By hand: a-b-c, then the direct link. The way back has one path only, since the direct link is one-way.
    assert_eq!(paths.connection_offsets(), [0, 2, 3]);
    assert_eq!(paths.path(1), [LinkId(4)]);
}

#[test]
fn a_network_may_stand_in_a_file_of_its_own() {
    let scenario = Scenario::parse("[network]\nfile = \"abilene.gml\"\ncapacity = \"10 Gbit/s\"").unwrap();
    let NetworkSource::File(network) = scenario.network().unwrap() else { panic!("it is in a file") };
    assert_eq!((network.file.as_str(), network.capacity), ("abilene.gml", Some(Rate(10e9))));
    let both = format!("{TRIANGLE}\n[network]\nfile = \"x.gml\"");
    assert!(read(&both).unwrap_err().to_string().contains("no node or link may stand here"));
}

#[test]
fn one_way_links_become_each_others_twins() {
    let down = "[[link]]\nname = \"down\"\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"8 Mbit/s\"\ntwo_way = false\n";
    let up = "[[link]]\nsource = \"b\"\ntarget = \"a\"\ncapacity = \"1 Mbit/s\"\ntwo_way = false\ntwin = \"down\"\n";
    let (network, ..) = read(&format!("{down}{up}")).unwrap();
    assert_eq!(network.link(LinkId(0)).twin, Some(LinkId(1)));
    assert_eq!(network.link(LinkId(1)).twin, Some(LinkId(0)));
}

#[test]
fn each_connection_has_as_many_paths_as_it_asks_for() {
    // From a to c there are two paths: the direct link, which is first, and a-b-c.
    let ask = |paths: &str| format!("[[connection]]\nsource = \"a\"\ntarget = \"c\"\n{paths}\n");
    let given = r#"paths = [["a", "b", "c"]]"#;
    let tables = ["paths = 1", "paths = 9", given, "", "paths = 1"].map(ask).concat();
    let (_, demands, paths) = read(&format!("{TRIANGLE}{tables}")).unwrap();
    assert_eq!(paths.connection_offsets(), [0, 2, 3, 4, 6, 7, 9, 10]);
    let direct = [LinkId(4)].as_slice();
    assert_eq!([3, 4, 7, 9].map(|p| paths.path(p)), [direct; 4]);
    assert_eq!(paths.path(6), [LinkId(0), LinkId(2)]);
    let names: Vec<&str> = demands.connections()[2..].iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a>c#2", "a>c#3", "a>c#4", "a>c#5", "a>c#6"]);
}

#[test]
fn the_number_of_paths_has_a_default_of_its_own() {
    let (.., paths) =
        read(&format!("{TRIANGLE}[[connection]]\nsource = \"a\"\ntarget = \"c\"\n[defaults.connection]\npaths = 1"))
            .unwrap();
    // Two given ones, then one for each other connection.
    assert_eq!(paths.connection_offsets(), [0, 2, 3, 4]);
}

#[test]
fn a_search_can_be_called_off() {
    let scenario = Scenario::parse(TRIANGLE).unwrap();
    let network = network(&scenario).unwrap();
    let said = scenario.connections(&network, None, &|_| false).unwrap_err().to_string();
    // At the first connection that has to be searched for.
    assert!(said.starts_with("line 26, column 1: ") && said.contains("called off"), "{said}");
}

#[test]
fn twenty_thousand_connections_of_one_pair_have_names_of_their_own() {
    let mut text = "[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"1 Gbit/s\"\n".to_owned();
    text += "[[connection]]\nname = \"a>b#2\"\nsource = \"a\"\ntarget = \"b\"\n";
    text += &"[[connection]]\nsource = \"a\"\ntarget = \"b\"\npaths = 1\n".repeat(20_000);
    let (_, demands, paths) = read(&text).unwrap();
    let names: Vec<&str> = demands.connections().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names[..4], ["a>b#2", "a>b", "a>b#3", "a>b#4"]);
    assert_eq!(names[20_000], "a>b#20001");
    assert_eq!(paths.len(), 20_001);
}

#[test]
fn demands_come_first_from_a_file_or_by_a_rule() {
    let file = Scenario::parse(&format!("{TRIANGLE}[demands]\nfile = \"demands.csv\"\n")).unwrap();
    assert_eq!(file.demands_file(), Some("demands.csv"));
    let net = network(&file).unwrap();
    let (extra, _) = Scenario::parse(TRIANGLE).unwrap().connections(&net, None, &|_| true).unwrap();
    let said = file.connections(&net, Some(&extra), &|_| true).unwrap_err().to_string();
    // The file has a connection `back` too.
    assert!(said.contains("connection `back`: the name is already taken"), "{said}");
    assert!(file.connections(&net, None, &|_| true).is_err());

    let (_, demands, _) = read(&format!("{TRIANGLE}[demands]\nrule = \"gravity:6 Mbit/s\"\n")).unwrap();
    let connections = demands.connections();
    // 3 nodes have 6 ordered pairs.
    assert_eq!(connections[6..].iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a>c#2", "back"]);
    let total: f64 = connections[..6].iter().map(|c| c.demand.expect("gravity gives demands").0).sum();
    assert!((total - 6e6).abs() < 1.0, "{total}");
}
