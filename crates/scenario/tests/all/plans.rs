//! What the simulator takes.

use anabranch_core::{Bytes, ConnectionId, Rate, Span, Time};
use anabranch_plan::{
    CapacityReport, CapacityReports, ControlPlane, DemandChange, Fairness, Faults, Limit, LinkPlan, PathTime, Record,
    RunPlan, Transfer, Transport,
};
use anabranch_proto::Protocol;

use crate::{PAIR, plan, refused};

#[test]
fn a_bare_scenario_has_every_default() {
    let plan = plan(PAIR).unwrap();
    assert_eq!(plan.links, vec![LinkPlan::default(); 2]);
    assert_eq!(plan.transfers, [Transfer { amount: None, packet: Bytes(1000), protocol: 0 }]);
    assert_eq!(plan.protocols, [Protocol::default()]);
    let record = Record {
        connections: true,
        subflows: true,
        windows: false,
        waits: false,
        links: true,
        grants: false,
        fairness: true,
        errors: false,
    };
    let run = RunPlan {
        duration: Span::s(10),
        warm_up: Span(0),
        seed: 1,
        sample: Span::ms(20),
        control: ControlPlane::Separate,
        control_packet: Bytes(64),
        control_share: None,
        repair: true,
        transport: Transport::default(),
        data: true,
        fairness: Fairness::MaxMin,
        record,
    };
    assert_eq!(plan.run, run);
}

#[test]
fn a_link_has_its_own_settings_or_those_for_all() {
    let defaults = r#"
[defaults.link]
queue = "64 KiB"
faults = { loss = 0.1, reorder = 0.2, late = "1 ms" }
trace = "trace.csv"
shares = { rcp = 1 }
"#;
    let own = r#"
[[link]]
source = "b"
target = "c"
capacity = "unlimited"
queue = "3 packets"
control_faults = { duplicate = 1 }
shares = { slbn = 0.5, bfyz = 0.25 }
capacity_changes = [{ at = "0 s", capacity = "5 Mbit/s" }, { at = "2 s", capacity = "0 bit/s" }]
"#;
    let plan = plan(&format!("{PAIR}demand = \"1 Mbit/s\"\n{own}{defaults}")).unwrap();
    let seconds = |s| Time::from_seconds(s).unwrap();
    let data = Faults { loss: 0.1, reorder: 0.2, late: Span::ms(1), ..Faults::default() };
    let limit = Limit { bytes: Some(Bytes(65_536)), packets: None };
    let changes = vec![(seconds(0.5), Rate(2e6)), (seconds(1.0), Rate(0.0)), (seconds(1.5), Rate(f64::INFINITY))];
    let common = LinkPlan { limit, data, changes, shares: vec![("rcp", 1.0)], ..LinkPlan::default() };
    assert_eq!(plan.links[..2], [common.clone(), common]);
    let own = LinkPlan {
        limit: Limit { bytes: None, packets: Some(3) },
        data,
        control: Faults { duplicate: 1.0, ..Faults::default() },
        discipline: None,
        changes: vec![(Time(0), Rate(5e6)), (seconds(2.0), Rate(0.0))],
        opportunities: None,
        shares: vec![("bfyz", 0.25), ("slbn", 0.5)],
        reports: None,
    };
    assert_eq!(plan.links[2..], [own.clone(), own]);
    assert_eq!(plan.network.links()[2].capacity, Rate(f64::INFINITY));
}

#[test]
fn links_report_capacities_late_if_they_have_a_table_for_it() {
    // Links of 1 Mbit/s, and 2 from 1 s on, that report 20 ms later; two links with an own table report at once.
    let own = "[[link]]\nsource = \"b\"\ntarget = \"c\"\ncapacity = \"1 Mbit/s\"\ncapacity_report = {}\n";
    let defaults = "[defaults.link]\ncapacity_changes = [{ at = \"1 s\", capacity = \"2 Mbit/s\" }]\n\
                    capacity_report = { delay = \"20 ms\" }\n";
    let links = plan(&format!("{PAIR}{own}{defaults}")).unwrap().links;
    let report = |ms, capacity| CapacityReport { time: Time::ms(ms), capacity: Rate(capacity), error: 1.0 };
    let reports = |delay, second| CapacityReports {
        delay: Span::ms(delay),
        interval: None,
        reports: vec![report(0, links[0].reports.as_ref().unwrap().reports[0].capacity.0), report(second, 2e6)],
    };
    assert_eq!((&links[0].reports, &links[1].reports), (&Some(reports(20, 1020)), &Some(reports(20, 1020))));
    let times = |l: usize| links[l].told().collect::<Vec<_>>();
    assert_eq!((times(1), times(2), times(3)), (vec![Time::ms(1020)], vec![Time::ms(1000)], vec![Time::ms(1000)]));
    let never = plan(&format!(
        "{PAIR}[defaults.link]\ncapacity_report = {{ interval = \"1 us\" }}\n[run]\nduration = \"200 s\""
    ));
    assert!(never.is_err_and(|error| error.to_string().contains("times, over 100000000; give a longer `interval`")));
    for (table, said) in [
        ("{ noise = 11 }", "the noise is 11; it must be 0 to 10"),
        ("{ interval = \"0 s\" }", "the interval is below 1 us; give more"),
    ] {
        let message = refused(&format!("{PAIR}[defaults.link]\ncapacity_report = {table}"));
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn opportunities_of_a_trace_are_shared_and_seen_as_rates() {
    // 1,500 bytes at 3, 10 (and 0), 30 and 40 ms: in 20 ms each two, two, two of which one begins the next round, two.
    let link = "[[link]]\nsource = \"b\"\ntarget = \"c\"\ncapacity = \"1 Mbit/s\"\n";
    let own = "trace = { file = \"lte.down\", opportunity = \"3000 B\", bin = \"10 ms\" }\n";
    let plan = plan(&format!("{PAIR}{link}{own}[defaults.link]\ntrace = \"lte.down\"\n[run]\nduration = \"50 ms\"\n"));
    let links = plan.unwrap().links;
    let opportunities = |l: usize| links[l].opportunities.clone().unwrap();
    assert_eq!((opportunities(0).times.as_slice(), opportunities(0).bytes), (&[0, 3, 10, 30, 40][..], 1500));
    assert!(std::ptr::eq(opportunities(0).times.as_slice(), opportunities(1).times.as_slice()));
    assert!(std::ptr::eq(opportunities(0).times.as_slice(), opportunities(3).times.as_slice()));
    let at = |ms: u64, mbps: f64| (Time::ms(ms), Rate(mbps * 1e6));
    assert_eq!(links[0].changes, [at(0, 1.2), at(20, 1.8), at(40, 1.2)]);
    assert_eq!(links[2].changes, [at(0, 4.8), at(10, 0.0), at(20, 2.4), at(30, 4.8), at(50, 0.0)]);
}

#[test]
fn capacities_of_a_trace_begin_again_at_the_time_of_its_last_line() {
    let changes = |file: &str| {
        let trace = format!("trace = {{ file = \"{file}\", repeat = true }}");
        let text = format!("{PAIR}[defaults.link]\n{trace}\n[run]\nduration = \"2 s\"\n");
        plan(&text).unwrap().links[0].changes.clone()
    };
    let at = |seconds, mbps: f64| (Time::from_seconds(seconds).unwrap(), Rate(mbps * 1e6));
    assert_eq!(changes("finite.csv"), [at(1.0, 1.0), at(2.0, 1.0), at(3.0, 1.0)]);
    // What the last line says holds until the first line, and for no time if that is at 0.
    assert_eq!(changes("from_0.csv")[..4], [at(0.0, 1.0), at(1.0, 2.0), at(2.0, 1.0), at(3.0, 2.0)]);
}

#[test]
fn connections_share_the_protocols_in_use() {
    let more = r#"
protocol = "vo-le-tran"
packet = "1500 B"
amount = "3 MB"
[[connection]]
source = "b"
target = "a"
amount = "unlimited"
[[connection]]
source = "a"
target = "b"
protocol.d-slen = { variant = "paper" }
[[traffic]]
count = 2
packet = "40 B"
[defaults.connection]
protocol.d-slen.variant = "paper"
amount = "1 kB"
packet = "100 B"
"#;
    let plan = plan(&format!("{PAIR}{}", more.trim_start())).unwrap();
    assert_eq!(plan.protocols.iter().map(Protocol::name).collect::<Vec<_>>(), ["vo-le-tran", "d-slen"]);
    let transfer =
        |amount: Option<u64>, packet, protocol| Transfer { amount: amount.map(Bytes), packet: Bytes(packet), protocol };
    assert_eq!(
        plan.transfers,
        [
            transfer(Some(3_000_000), 1500, 0),
            transfer(None, 100, 1),
            transfer(Some(1000), 100, 1),
            transfer(Some(1000), 40, 1),
            transfer(Some(1000), 40, 1),
        ]
    );
}

#[test]
fn a_connection_has_four_paths_or_as_many_as_its_protocol_serves() {
    // A ring has two paths between any two nodes.
    let ring = r#"[network]
generate.ring.nodes = 5
[demands]
rule = "uniform:1 Mbit/s"
[[connection]]
source = "n0"
target = "n2"
[[connection]]
source = "n0"
target = "n2"
protocol = "d-slen"
[[traffic]]
count = 2
[[traffic]]
name = "u"
count = 2
protocol = "d-slen"
paths = { least = 1, most = 1 }
[[traffic]]
name = "v"
count = 2
protocol = "vo-le-tran"
[defaults.connection]
protocol = "slbn"
"#;
    let counts = |text: &str| -> Vec<usize> {
        plan(text).unwrap().paths.connection_offsets().windows(2).map(|ends| ends[1] - ends[0]).collect()
    };
    let found = counts(ring);
    // The rule gives each of 20 pairs one.
    assert_eq!(found[..20], [1; 20]);
    assert_eq!(found[20..], [1, 2, 1, 1, 1, 1, 2, 2]);
    assert!(counts(&ring.replace("\"slbn\"", "\"d-slen\"")).iter().filter(|&&count| count == 1).eq(&[1, 1]));
}

#[test]
fn demands_change_in_the_order_of_time() {
    let changes = r#"demand = "1 Mbit/s"
demand_changes = [{ at = "1 s", demand = "2 Mbit/s" }, { at = "3 s", demand = "1 bit/s" }]
[[connection]]
source = "b"
target = "a"
demand = "0.5 Mbit/s"
demand_changes = [{ at = "0 s", demand = "5 Mbit/s" }, { at = "1 s", demand = "1 Pbit/s" }]
[[traffic]]
count = 1
[demands]
rule = "uniform:1 Mbit/s"
"#;
    let plan = plan(&format!("{PAIR}{changes}")).unwrap();
    let demand = |c: usize| plan.demands.connections()[c].demand;
    // The rule gives the first two, one each way.
    assert_eq!((demand(2), demand(3)), (Some(Rate(1e6)), Some(Rate(5e5))));
    let change = |seconds, c, bps| {
        let time = Time::from_seconds(seconds).unwrap();
        DemandChange { time, connection: ConnectionId::new(c), demand: Rate(bps) }
    };
    assert_eq!(
        plan.demand_changes,
        [change(0.0, 3, 5e6), change(1.0, 2, 2e6), change(1.0, 3, 1e15), change(3.0, 2, 1.0)]
    );
}

#[test]
fn paths_begin_later_and_end_earlier() {
    let ring = r#"[network]
generate.ring.nodes = 5
[defaults.connection]
protocol = "lia"
paths = 2
[demands]
rule = "uniform:1 Mbit/s"
[[connection]]
source = "n0"
target = "n2"
start = "1 s"
stop = "9 s"
path_times = [{ start = "1 s" }, { start = "5 s", stop = "7 s" }]
[[connection]]
source = "n0"
target = "n2"
path_times = [{ stop = "3 s" }, {}]
"#;
    let plan = plan(ring).unwrap();
    let at = |seconds| Time::from_seconds(seconds).unwrap();
    // The rule gives the first 20; one entry says what holds anyway, another nothing.
    let late = PathTime { connection: ConnectionId(20), path: 1, start: at(5.0), stop: Some(at(7.0)) };
    let early = PathTime { connection: ConnectionId(21), path: 0, start: at(0.0), stop: Some(at(3.0)) };
    assert_eq!(plan.path_times, [late, early]);
    assert_eq!(plan.path_time(ConnectionId(20), 1), Some(&late));
    assert_eq!(plan.path_time(ConnectionId(20), 0), None);
    assert_eq!([4.9, 5.0, 6.9, 7.0].map(|seconds| late.is_open(at(seconds))), [false, true, true, false]);
}

#[test]
fn a_run_says_how_and_what_is_recorded() {
    let run = r#"
[run]
duration = "2 s"
warm_up = "1.5 s"
seed = 7
sample = "1 ms"
control = "in-band"
control_packet = "100 B"
control_share = 0.01
repair = false
data = false
fairness = "proportional"
record = ["grants"]
"#;
    let plan = plan(&format!("{PAIR}{run}")).unwrap().run;
    assert_eq!(
        plan,
        RunPlan {
            duration: Span::s(2),
            warm_up: Span::ms(1500),
            seed: 7,
            sample: Span::ms(1),
            control: ControlPlane::InBand,
            control_packet: Bytes(100),
            control_share: Some(0.01),
            repair: false,
            transport: Transport::default(),
            data: false,
            fairness: Fairness::Proportional,
            record: Record { grants: true, ..Record::default() },
        }
    );
}
