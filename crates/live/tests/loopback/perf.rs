//! Measurements over loopback: two addresses of it are two paths.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anabranch_core::Rate;
use anabranch_live::conditions::Conditions;
use anabranch_live::control::{Ceiling, named, suited};
use anabranch_live::perf::{Direction, Event, PerfError, Plan, Report, Running, Service};
use anabranch_live::session::Client;
use anabranch_live::url::Url;

const PATIENCE: Duration = Duration::from_secs(15);

fn service() -> (Running, Url) {
    let service = Service { address: "127.0.0.1:0".parse().unwrap(), identity: None, host: None, qlog: None };
    let running = Running::serve(service).unwrap();
    match running.wait(PATIENCE) {
        Some(Event::Serving(url)) => (running, url),
        other => panic!("{other:?}"),
    }
}

fn plan(url: &Url) -> Plan {
    Plan {
        url: url.clone(),
        authorities: None,
        via: vec!["127.0.0.1".to_owned(), "127.0.0.2".to_owned()],
        control: "lia".to_owned(),
        direction: Direction::Up,
        seconds: 10.0,
        bytes: 20_000_000,
        streams: 4,
        conditions: Conditions::default().lasting(),
        qlog: None,
    }
}

fn measured(plan: Plan) -> Result<Report, PerfError> {
    let running = Running::measure(plan).unwrap();
    loop {
        match running.wait(PATIENCE) {
            Some(Event::Measured(report)) => return Ok(*report),
            Some(Event::Failed(error)) => return Err(error),
            Some(_) => {}
            None => panic!("nothing comes"),
        }
    }
}

#[test]
fn every_control_moves_data_over_two_paths() {
    let (_service, url) = service();
    for name in suited() {
        let report = measured(Plan { control: name.to_owned(), ..plan(&url) }).unwrap();
        let paths = report.path_bytes();
        eprintln!("{name}: {:.0} Mbit/s, {paths:?}", report.received().1 / 1e6);
        assert_eq!(report.received().0, 20_000_000, "{name}");
        assert!(paths.len() == 2 && paths.iter().all(|bytes| *bytes > 20_000), "{name}: {paths:?}");
    }
}

#[test]
fn groups_of_paths_are_for_controls_that_go_by_them() {
    let (_service, url) = service();
    for direction in [Direction::Up, Direction::Down] {
        let grouped = Plan {
            control: "nmcc".to_owned(),
            conditions: Conditions::grouped(vec![1, 2]).lasting(),
            direction,
            ..plan(&url)
        };
        assert_eq!(measured(grouped.clone()).unwrap().received().0, 20_000_000);
        let few = Plan { conditions: Conditions::grouped(vec![1]).lasting(), ..grouped.clone() };
        let error = measured(few).unwrap_err().to_string();
        assert_eq!(error, "the number of groups is 1; it must be 2, one for each path");
        let other = Plan { control: "lia".to_owned(), ..grouped };
        let error = measured(other).unwrap_err().to_string();
        assert!(error.contains("leave out the groups of paths, or choose nmcc"), "{error}");
    }
}

#[test]
fn data_flow_the_other_way_and_on_one_stream() {
    let (_service, url) = service();
    let report = measured(Plan { direction: Direction::Down, streams: 1, ..plan(&url) }).unwrap();
    assert_eq!(report.received().0, 20_000_000);
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["end"]["streams"].as_array().unwrap().len(), 2);
    assert_eq!(json["start"]["test_start"]["reverse"], 1);
    assert_eq!(json["end"]["sum_sent"]["bytes"], 20_000_000);
    // 20 MB are 13,700 packets of 1452 bytes of UDP payload or more. What is lost of them the server alone knows: who
    // receives has sent acknowledgements, for every second one at most.
    let sent = &json["end"]["sum_sent"];
    assert!(sent["packets"].as_u64().unwrap() > 13_000 && sent["retransmits"].is_u64(), "{sent}");
    assert!(json["end"]["streams"][0].get("retransmits").is_none());
}

#[test]
fn the_time_ends_a_measurement() {
    let (_service, url) = service();
    let start = Instant::now();
    let report = measured(Plan { seconds: 1.2, bytes: 100_000_000_000, ..plan(&url) }).unwrap();
    assert!(start.elapsed() < Duration::from_secs(6) && report.received().0 > 1_000_000);
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    // One for each whole second; what is under way in the end may take until the next.
    let seconds = json["end"]["sum_sent"]["seconds"].as_f64().unwrap();
    assert_eq!(json["intervals"].as_array().unwrap().len(), seconds as usize, "{seconds} s");
}

#[test]
fn a_server_with_another_fingerprint_is_refused() {
    let (_service, url) = service();
    let pin = "0123456789abcdef".repeat(4).parse().unwrap();
    let error = measured(Plan { url: Url { pins: vec![pin], ..url.clone() }, ..plan(&url) }).unwrap_err().to_string();
    assert!(error.contains("fingerprint") && error.contains(&url.pins[0].to_string()), "{error}");
    // Without a fingerprint it must be signed by one that the system trusts, and it is not.
    let error = measured(Plan { url: Url { pins: Vec::new(), ..url.clone() }, ..plan(&url) }).unwrap_err();
    assert!(matches!(error, PerfError::Session(_)), "{error}");
}

#[test]
fn the_server_says_why_it_refuses() {
    let (_service, url) = service();
    let error = measured(Plan { control: "lgc".to_owned(), ..plan(&url) }).unwrap_err().to_string();
    assert!(error.starts_with("LGC needs the capacities of its links"), "{error}");
    let error = measured(Plan { streams: 99, ..plan(&url) }).unwrap_err().to_string();
    assert_eq!(error, "the number of streams is 99; it must be 1 to 16");
}

#[test]
fn a_server_that_is_not_there_is_given_up() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (_service, url) = service();
    let start = Instant::now();
    let url = Url { port: silent.local_addr().unwrap().port(), ..url };
    let error = measured(plan(&url)).unwrap_err().to_string();
    assert!(error.starts_with("no connection to 127.0.0.1:") && start.elapsed() < Duration::from_secs(8), "{error}");
}

#[test]
fn paths_that_carry_data_are_not_given_up() {
    let (_service, url) = service();
    let report = measured(Plan { seconds: 3.5, bytes: 100_000_000_000, ..plan(&url) }).unwrap();
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    let openings: Vec<_> =
        json["start"]["connected"].as_array().unwrap().iter().map(|path| &path["openings"]).collect();
    assert_eq!(openings, [1, 1], "{}", report.lines().join("; "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_for_nothing_is_cut_off() {
    let (service, url) = service();
    let client = Client::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()]).await.unwrap();
    let remote = [SocketAddr::new(url.host.parse().unwrap(), url.port)];
    let session = client.connect(&url.host, &remote, &url.trust(), &named("lia").unwrap()).await.unwrap();
    let start = Instant::now();
    tokio::time::timeout(PATIENCE, session.connection().closed()).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(7), "{:?}", start.elapsed());
    match service.wait(PATIENCE) {
        Some(Event::Served(line)) => assert!(line.ends_with("asks for nothing"), "{line}"),
        other => panic!("{other:?}"),
    }
}

/// The first of some tries that is enough: where the machine halts a sender, what it may send is lost. Where it halts a
/// receiver at its start, the time that this measures is shorter.
fn enough(least: f64, attempt: impl Fn() -> f64) -> Result<(), Vec<f64>> {
    let mut tries = Vec::new();
    for _ in 0..5 {
        let part = attempt();
        tries.push(part);
        assert!(part <= 1.0, "{tries:?}");
        if part >= least {
            return Ok(());
        }
    }
    Err(tries)
}

#[test]
fn a_sender_under_a_ceiling_sends_this_much_over_all_paths_and_over_each() {
    let (_service, url) = service();
    for (direction, control) in [(Direction::Up, "lia"), (Direction::Up, "wvegas"), (Direction::Down, "lia")] {
        // Headers of IP, UDP and QUIC take some 5 %; a busy machine takes more.
        let is_enough = enough(0.5, || {
            let ceiling = Ceiling::of_all(Rate(16e6));
            let conditions = Conditions { ceiling, ..Conditions::default() }.lasting();
            let plan = Plan { seconds: 1.0, control: control.to_owned(), direction, conditions, ..plan(&url) };
            measured(plan).unwrap().received().1 / 16e6
        });
        assert_eq!(is_enough, Ok(()), "{direction:?}, {control}");
    }
    let ceiling = Ceiling { paths: vec![Rate(12e6), Rate(4e6)], ..Ceiling::default() };
    let conditions = Conditions { ceiling, ..Conditions::default() }.lasting();
    let paths = measured(Plan { seconds: 2.0, conditions, ..plan(&url) }).unwrap().path_bytes();
    let ratio = paths[0] as f64 / paths[1] as f64;
    assert!((1.8..=5.0).contains(&ratio), "{paths:?}");
}

#[test]
fn a_ceiling_that_falls_while_data_flow_holds_from_then_on() {
    let (_service, url) = service();
    for (direction, least) in [(Direction::Down, 1e6), (Direction::Up, 0.0)] {
        let (change, conditions) = Conditions::default().changing();
        let plan = Plan { seconds: 4.0, bytes: u64::from(u32::MAX), direction, conditions, ..plan(&url) };
        let running = Running::measure(plan).unwrap();
        std::thread::sleep(Duration::from_secs(1));
        change.send_modify(|conditions| conditions.ceiling = Ceiling::of_all(Rate(8e6)));
        let mut rates = Vec::new();
        while let Some(event) = running.wait(PATIENCE) {
            match event {
                Event::Interval(interval) => rates.push(interval.bps()),
                Event::Measured(_) => break,
                other => panic!("{other:?}"),
            }
        }
        // Nothing more is taken from a client that sends until what it has given before is sent.
        let after = rates.split_off(2);
        assert!(rates[0] > 20e6, "{direction:?}: {rates:?}");
        assert!(after.iter().all(|rate| (least..=8e6).contains(rate)), "{direction:?}: {after:?}");
    }
}
