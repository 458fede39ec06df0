//! Connections from several sources over loopback, without links between their ends.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use anabranch_scenario::{NetworkSource, Scenario};

use super::super::unsupported::unsupported;
use super::super::{PORT, Sender, Status, course};
use super::*;
use crate::run::connection::drive;
use crate::security::{Identity, Trust};
use crate::session::{Client, Server};

/// Two sources, `a` and `b`, whose paths share the link to `t`.
const NETWORK: &str = "
[[link]]
name = \"am\"
source = \"a\"
target = \"m\"
capacity = \"10 Mbit/s\"
delay = \"1 ms\"
[[link]]
name = \"bm\"
source = \"b\"
target = \"m\"
capacity = \"10 Mbit/s\"
delay = \"1 ms\"
[[link]]
source = \"m\"
target = \"t\"
capacity = \"10 Mbit/s\"
delay = \"1 ms\"
[[connection]]
name = \"film\"
target = \"t\"
protocol = \"nmcc\"
packet = \"1500 B\"
";

fn plan(text: &str) -> Plan {
    let scenario = Scenario::parse(text).unwrap();
    let Ok(NetworkSource::Inline(network)) = scenario.network() else { panic!("it stands there") };
    scenario.plan(network.into(), None, &|_| Err("no files".to_owned()), &|_| true).unwrap()
}

/// The only connection of a scenario, with its ends on loopback addresses 127.N.
async fn on_loopback(text: &str, net: u8) -> Course {
    let (plan, identity) = (Arc::new(plan(text)), Identity::made().unwrap());
    let mut all = Vec::new();
    for (node, paths) in paths_by_source(&plan, ConnectionId::new(0)) {
        let address = |path: usize, end| IpAddr::from(Ipv4Addr::new(127, net, path as u8, end));
        let ends: Vec<_> = paths.iter().map(|&path| (address(path, 1), address(path, 2))).collect();
        let near: Vec<_> = ends.iter().map(|(from, _)| SocketAddr::new(*from, 0).into()).collect();
        let far: Vec<_> = ends.iter().map(|(_, to)| SocketAddr::new(*to, PORT).into()).collect();
        let (client, server) = (Client::bind(&near).await.unwrap(), Server::bind(&far, &identity).await.unwrap());
        all.push(Sender { node, paths, ends, client, server });
    }
    let trust = Trust::Pins(vec![identity.fingerprint()]);
    course(&plan, ConnectionId::new(0), Instant::now(), (all, trust), None).unwrap()
}

/// Waits until the connection is as wanted, at most some seconds.
async fn until(what: &str, status: &Status, is_so: impl Fn(&Status) -> bool) {
    let start = Instant::now();
    while !is_so(status) {
        assert_eq!(status.failure(), None);
        assert!(start.elapsed() < Duration::from_secs(20), "waited for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn remotes(status: &Status, source: usize) -> Option<usize> {
    status.session(source).map(|ends| ends.near.group().remote_count())
}

fn sent(status: &Status, source: usize) -> u64 {
    status.session(source).map_or(0, |ends| ends.near.paths().iter().map(|path| path.sent_bytes).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amount_comes_from_all_sources_that_hear_of_each_other() {
    // 1,000,000 bytes of packets at 10 Mbit/s take 0.8 s; of 1500 bytes 1442 are data.
    let text = NETWORK.to_owned() + "sources = [\"a\", \"b\"]\namount = \"1 MB\"\ndemand = \"10 Mbit/s\"\n";
    let course = on_loopback(&text, 71).await;
    let status = course.status.clone();
    let running = tokio::spawn(drive(course));
    until("snapshots", &status, |status| {
        let subflows = |source| status.session(source).map_or(0, |ends| ends.far.snapshots().len());
        (subflows(0), subflows(1)) == (1, 1)
    })
    .await;
    assert_eq!((remotes(&status, 0), remotes(&status, 1)), (Some(1), Some(1)));
    until("data from both", &status, |status| sent(status, 0) > 50_000 && sent(status, 1) > 50_000).await;
    running.await.unwrap();
    let total = status.total();
    assert_eq!((status.failure(), total.data_bytes), (None, (1e6_f64 * 1442.0 / 1500.0).ceil() as u64));
    assert!((0.7..10.0).contains(&total.finished_s), "{total:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_stops_leaves_the_rest_to_the_other_and_one_that_starts_helps() {
    // At 4 Mbit/s, 400 kB take 0.8 s. The first source stops after 0.2 s, and the second starts at 0.1 s.
    let sources = "sources = [{ node = \"a\", stop = \"0.2 s\" }, { node = \"b\", start = \"0.1 s\" }]\n";
    let course =
        on_loopback(&(NETWORK.to_owned() + sources + "amount = \"400 kB\"\ndemand = \"4 Mbit/s\"\n"), 72).await;
    let status = course.status.clone();
    let running = tokio::spawn(drive(course));
    until("the first", &status, |status| status.session(0).is_some()).await;
    assert_eq!(remotes(&status, 0), Some(0), "the other is not awaited yet");
    until("the second", &status, |status| remotes(status, 1).is_some()).await;
    until("the end of the first", &status, |status| status.session(0).is_none()).await;
    until("the second to be alone", &status, |status| remotes(status, 1) == Some(0)).await;
    running.await.unwrap();
    assert_eq!(status.total().data_bytes, (4e5_f64 * 1442.0 / 1500.0).ceil() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_amount_they_send_until_they_are_stopped() {
    let text = NETWORK.to_owned() + "sources = [\"a\", \"b\"]\ndemand = \"10 Mbit/s\"\nstop = \"0.5 s\"\n";
    let course = on_loopback(&text, 73).await;
    let status = course.status.clone();
    tokio::spawn(drive(course)).await.unwrap();
    let total = status.total();
    assert!((total.finished_s, status.session(0).is_none()) == (0.5, true) && total.data_bytes > 50_000, "{total:?}");
}

fn seconds(all: &[Presence]) -> Vec<(f64, Option<f64>)> {
    all.iter().map(|(start, stop)| (start.seconds(), stop.map(Time::seconds))).collect()
}

#[tokio::test]
async fn a_source_is_connected_while_it_answers_and_may_use_a_path() {
    // The link of `b` fails from 2 s to 4 s, and the network says so half a second later; `a` answers from 1 s to 6 s.
    let changes = "name = \"bm\"\ncapacity_changes = [{ at = \"2 s\", capacity = \"0 bit/s\" }, { at = \"4 s\", capacity = \
                   \"10 Mbit/s\" }]\n";
    let sources = "sources = [{ node = \"a\", start = \"1 s\", stop = \"6 s\" }, \"b\"]\n";
    let text = NETWORK.replace("name = \"bm\"\n", changes) + sources + "[assistance]\nfailures_after = \"500 ms\"\n";
    let course = on_loopback(&text, 74).await;
    let fetch = course.plan.fetch(course.id).unwrap();
    assert_eq!(seconds(&presence(&course, fetch, 0)), [(1.0, Some(6.0))]);
    assert_eq!(seconds(&presence(&course, fetch, 1)), [(0.0, Some(2.5)), (4.5, None)]);
    assert_eq!(unsupported(&course.plan), Vec::<String>::new());
}

#[test]
fn more_sources_than_can_be_coupled_are_refused_with_a_remedy() {
    let link = |s| format!("[[link]]\nsource = \"s{s}\"\ntarget = \"t\"\ncapacity = \"1 Mbit/s\"\ndelay = \"1 ms\"\n");
    let names = |count| (0..count).map(|s| format!("\"s{s}\"")).collect::<Vec<_>>().join(", ");
    let of = |count, protocol: &str| {
        let links: String = (0..count).map(link).collect();
        let connection = "[[connection]]\nname = \"film\"\ntarget = \"t\"\n";
        unsupported(&plan(&format!("{links}{connection}protocol = \"{protocol}\"\nsources = [{}]\n", names(count))))
    };
    assert_eq!(of(33, "nmcc"), Vec::<String>::new());
    let said = "a source of connection `film` is coupled with 33 paths of other sources, and a live one may be with 32: \
                name fewer `sources`, or set `paths` to less";
    assert_eq!(of(34, "nmcc"), [said]);
}
