//! LGCC in a network: the share of marks it comes to, how it follows capacities, alone and over chains of loops.

use crate::common::scenario::{mistake, planned};
use crate::common::{MEGA, run};
use anabranch_sim::Outcome;

fn outcome(text: &str) -> Outcome {
    let outcome = run(&planned(text).unwrap());
    assert_eq!(mistake(&outcome), None, "{text}");
    outcome
}

/// So many sources over one link of 500 Mbit/s and 1 ms, packets of 1,500 bytes; marks up to 75 kB.
fn shared(connections: usize, keys: &str, rest: &str) -> String {
    let connection = "[[connection]]\nsource = \"r\"\ntarget = \"d\"\n";
    format!(
        "[[link]]\nsource = \"r\"\ntarget = \"d\"\ncapacity = \"500 Mbit/s\"\ndelay = \"1 ms\"\n\
         discipline = \"ecn-ramp\"\nqueue = \"1 MB\"\n{keys}\n\
         [defaults.connection]\nprotocol = \"lgcc\"\npacket = \"1500 B\"\n{}{rest}",
        connection.repeat(connections)
    )
}

/// After 2 s: the rates of connections in Mbit/s, and the share of packets that were marked.
fn rates_and_marks(outcome: &Outcome, seconds: f64) -> (Vec<f64>, f64) {
    let rates = outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / seconds / MEGA).collect();
    let marked: u64 = outcome.subflows.iter().map(|s| s.marked).sum();
    let packets = outcome.subflows.iter().map(|s| s.delivered / 1500).sum::<u64>();
    (rates, marked as f64 / packets as f64)
}

#[test]
fn the_share_of_marks_depends_on_the_number_of_connections() {
    // Windows hold rate x 2 ms each: 1 + 0.6 p = S (1 - p)^1.4307, of 75 kB in a link that holds 125 kB.
    for (connections, p) in [(1, 0.0), (2, 0.311), (5, 0.603), (10, 0.748), (20, 0.840)] {
        let outcome = outcome(&shared(connections, "", "[run]\nduration = \"12 s\"\nwarm_up = \"2 s\""));
        let (rates, marked) = rates_and_marks(&outcome, 10.0);
        let sum: f64 = rates.iter().sum();
        let jain = sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>());
        assert!((marked - p).abs() < 0.03, "{connections}: {marked}");
        assert!(sum > 0.99 * 500.0 && jain > 0.995, "{connections}: {sum} Mbit/s, {jain}");
    }
}

#[test]
fn paces_and_windows_are_what_the_share_of_marks_makes_them() {
    // Two sources: each pace is 500 Mbit/s x (1 - p)^(ln 10 / ln 5), and the window what it is in the least round trip, a
    // packet more. That takes 2 ms, 24 us to send a packet and less than 1 us for its acknowledgement.
    let outcome = outcome(&shared(2, "", "[run]\nduration = \"3 s\"\nsample = \"100 ms\"\nrecord = [\"windows\"]"));
    let samples = outcome.samples;
    for at in 40..60 {
        let (pace, p) = (samples.subflow_pace_bps[at], samples.subflow_marked_share[at]);
        assert!((pace / (500.0 * MEGA * (1.0 - p).powf(1.4307)) - 1.0).abs() < 0.1, "{pace} {p}");
        assert!((samples.subflow_window_bytes[at] - (pace * 2.025e-3 / 8.0 + 1500.0)).abs() < 200.0, "{at}");
    }
    let mean = samples.subflow_marked_share[40..60].iter().sum::<f64>() / 20.0;
    assert!((mean - 0.311).abs() < 0.03, "{mean}");
}

#[test]
fn rates_follow_the_capacity() {
    // 500, 400, 300, 400, 500 Mbit/s, a second each: 0.25 s after each step five have their fifth within 5 %.
    let steps = [400, 300, 400, 500].iter().zip(1..);
    let steps: Vec<String> =
        steps.map(|(mbps, at)| format!("{{ at = \"{at} s\", capacity = \"{mbps} Mbit/s\" }}")).collect();
    let keys = format!("capacity_changes = [{}]", steps.join(", "));
    let rest = "[run]\nduration = \"5 s\"\nsample = \"250 ms\"\nrecord = [\"connections\"]";
    let samples = outcome(&shared(5, &keys, rest)).samples;
    let of = |second: usize, part: usize| &samples.connection_delivered_bps[5 * (4 * second + part)..][..5];
    for (second, mbps) in [500.0, 400.0, 300.0, 400.0, 500.0].into_iter().enumerate() {
        let fair = mbps * MEGA / 5.0;
        for c in 0..5 {
            let rate = (1..4).map(|part| of(second, part)[c]).sum::<f64>() / 3.0;
            assert!((rate / fair - 1.0).abs() < 0.05, "{second}: {rate} {fair}");
        }
        // All together carry what the link does, from the first quarter of a second on.
        let least = if second == 0 { 0.96 } else { 0.99 };
        assert!((0..4).all(|part| of(second, part).iter().sum::<f64>() > least * mbps * MEGA), "{second}");
    }
}

/// One source over a link of 10 Mbit/s and 5 ms for 5 s: the bytes that have arrived.
fn arrived(protocol: &str, keys: &str) -> f64 {
    let protocol = match protocol {
        "dual" | "primal" => format!("{{ lgcc = {{ algorithm = \"{protocol}\" }} }}"),
        name => format!("\"{name}\""),
    };
    let text = format!(
        "[[link]]\nsource = \"s\"\ntarget = \"d\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
         discipline = \"ecn-ramp\"\nqueue = \"1 MB\"\n{keys}\n\
         [[connection]]\nsource = \"s\"\ntarget = \"d\"\nprotocol = {protocol}\npacket = \"1500 B\"\n\
         [run]\nduration = \"5 s\""
    );
    outcome(&text).subflows[0].delivered as f64
}

#[test]
fn a_moment_without_opportunities_is_no_outage() {
    // 180 opportunities of 1,500 bytes in 200 ms, and none from 160 to 180 ms: 6.75 MB in 5 s.
    let times: Vec<String> = (1..=160).chain(181..=200).map(|ms: u32| ms.to_string()).collect();
    let keys = format!("trace = {{ opportunities_ms = [{}] }}", times.join(", "));
    for protocol in ["lgc", "lgcc", "log-rate"] {
        let part = arrived(protocol, &keys) / 6.75e6;
        assert!(part > 0.85, "{protocol}: {part}");
    }
}

#[test]
fn a_source_goes_on_after_an_outage() {
    // 4.5 s of 10 Mbit/s are 5.6 MB. It begins from its floor again, and at half a rate in the beginning.
    let keys =
        "capacity_changes = [{ at = \"2 s\", capacity = \"0 bit/s\" }, { at = \"2.5 s\", capacity = \"10 Mbit/s\" }]";
    for protocol in ["lgc", "lgcc", "log-rate"] {
        let part = arrived(protocol, keys) / 5.6e6;
        assert!(part > 0.8, "{protocol}: {part}");
    }
}

#[test]
fn a_chain_goes_on_after_an_outage_of_its_last_link() {
    // 10 Mbit/s but for the half-second after 2 s: the first loops hear by what they send that the last goes on. A rate that
    // takes equal steps needs longer.
    let link = |source: &str, target: &str, keys: &str| {
        format!(
            "[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
             discipline = \"ecn-ramp\"\n{keys}\n"
        )
    };
    let keys =
        "capacity_changes = [{ at = \"2 s\", capacity = \"0 bit/s\" }, { at = \"2.5 s\", capacity = \"10 Mbit/s\" }]";
    for (protocol, least) in [("lgc", 7.0), ("lgcc", 7.0), ("log-rate", 1.0)] {
        let text = link("s", "q", "")
            + &link("q", "r", "")
            + &link("r", "d", keys)
            + &format!(
                "[[connection]]\nsource = \"s\"\ntarget = \"d\"\nrelays = [\"q\", \"r\"]\nprotocol = \"{protocol}\"\n\
                 packet = \"1500 B\"\n[relays]\nmarking = \"never\"\n[run]\nduration = \"5 s\"\nwarm_up = \"3.5 s\""
            );
        let rate = outcome(&text).subflows[2].delivered_warm as f64 * 8.0 / 1.5 / MEGA;
        assert!(rate > least, "{protocol}: {rate}");
    }
}

/// A source at s, a relay at r, and a last link that falls from 500 to 150 Mbit/s at 2 s.
fn chain(relays: &str) -> String {
    let link = |source: &str, target: &str, keys: &str| {
        format!(
            "[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"500 Mbit/s\"\ndelay = \"5 ms\"\n\
             discipline = \"ecn-ramp\"\n{keys}\n"
        )
    };
    link("s", "r", "")
        + &link("r", "d", "capacity_changes = [{ at = \"2 s\", capacity = \"150 Mbit/s\" }]")
        + "[[connection]]\nsource = \"s\"\ntarget = \"d\"\nrelays = [\"r\"]\nprotocol = \"lgcc\"\npacket = \"1500 B\"\n"
        + relays
}

#[test]
fn the_first_loop_follows_the_last() {
    let rest = "[run]\nduration = \"4 s\"\nsample = \"100 ms\"\nrecord = [\"connections\"]";
    let samples = outcome(&chain(rest)).samples;
    let at = |time: f64| {
        let sample = samples.time_s.iter().position(|&t| (t - time).abs() < 1e-9).unwrap();
        [0, 1].map(|c| samples.connection_delivered_bps[2 * sample + c] / MEGA)
    };
    assert!(at(1.9).iter().all(|rate| (480.0..=500.0).contains(rate)), "{:?}", at(1.9));
    // What waited at the relay for a moment has made it mark: it takes a while until marks are forgotten.
    assert!(at(2.3).iter().all(|rate| (75.0..=150.1).contains(rate)), "{:?}", at(2.3));
    assert!(at(3.9).iter().all(|rate| (145.0..=150.1).contains(rate)), "{:?}", at(3.9));
}

#[test]
fn what_waits_at_a_relay_drains_by_its_marks_alone() {
    // When the capacity falls, what is under way to the relay waits there: then the first loop is as fast as the second, as
    // printed, and it stays. Marks at the relay slow the first loop down until it is gone.
    let rest = "[run]\nduration = \"6 s\"\nwarm_up = \"4 s\"\nrecord = [\"waits\"]\n[relays]\nmarking = ";
    let waited = |marking: &str| outcome(&chain(&format!("{rest}\"{marking}\""))).subflow_waits[1].quantiles[4];
    let (never, backlog) = (waited("never"), waited("backlog"));
    // 350 Mbit/s too much for half a round trip, 5 ms, and a little until rates are told: 15 ms of 150 Mbit/s or so.
    assert!((0.01..0.03).contains(&never) && backlog < 0.001, "{never} {backlog}");
}

#[test]
fn rates_that_are_told_as_sent_fill_relays_before_a_shared_loop() {
    // Five windows hold 1.33 times of what the link between relays carries: 33 Mbit/s more each than the 100 that leave,
    // so 4 MB a second come to wait. What comes through, told instead, is what leaves.
    let link = |source: &str, target: &str| {
        format!("[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"500 Mbit/s\"\ndelay = \"1 ms\"\n")
    };
    let links: String = (0..5).map(|i| link(&format!("s{i}"), "r") + &link("d", &format!("t{i}"))).collect();
    let connection = |i| format!("[[connection]]\nsource = \"s{i}\"\ntarget = \"t{i}\"\nrelays = [\"r\", \"d\"]\n");
    let connections: String = (0..5).map(connection).collect();
    let waiting = |told: &str| {
        let rest = format!(
            "[defaults.link]\ndiscipline = \"ecn-ramp\"\nqueue = \"1 MB\"\n\
             [defaults.connection]\nprotocol = \"lgcc\"\npacket = \"1500 B\"\n\
             [relays]\nbuffer = \"1 GB\"\nmarking = \"never\"\ntold = \"{told}\"\n[run]\nduration = \"4 s\""
        );
        let outcome = outcome(&(link("r", "d") + &links + &connections + &rest));
        let loops: Vec<u64> = outcome.subflows.iter().map(|s| s.delivered).collect();
        loops.chunks(3).map(|chain| (chain[0] - chain[1]) as f64 / MEGA).sum::<f64>() / 5.0
    };
    let (sent, through) = (waiting("sent"), waiting("through"));
    assert!((8.0..20.0).contains(&sent) && through < 2.0, "{sent} {through}");
}

#[test]
fn relays_before_a_slow_link_empty_where_a_share_is_less_than_a_packet_in_a_round_trip() {
    // Four have 1 Mbit/s each; a packet in a round trip of 10 ms were 1.2. What comes before the first loops hear of the last
    // link drains: then 50 ms wait before that, of 75 kB that all fill together, and little at relays.
    let link = |source: &str, target: &str, mbps: u32| {
        format!(
            "[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"{mbps} Mbit/s\"\ndelay = \"5 ms\"\n\
             discipline = \"ecn-ramp\"\n"
        )
    };
    let connection =
        |i| format!("[[connection]]\nname = \"f{i}\"\nsource = \"s\"\ntarget = \"d\"\nrelays = [\"q\", \"r\"]\n");
    let text = link("s", "q", 100)
        + &link("q", "r", 100)
        + &link("r", "d", 4)
        + &(0..4).map(connection).collect::<String>()
        + "[defaults.connection]\nprotocol = \"lgcc\"\npacket = \"1500 B\"\n\
           [run]\nduration = \"30 s\"\nwarm_up = \"10 s\"\nrecord = [\"waits\"]";
    let outcome = outcome(&text);
    for chain in 0..4 {
        let last = 3 * chain + 2;
        let rate = outcome.subflows[last].delivered_warm as f64 * 8.0 / 20.0 / MEGA;
        let wait = outcome.subflow_waits.iter().find(|wait| wait.id == last as u32).expect("it was recorded");
        assert!((0.9..=1.1).contains(&rate) && wait.quantiles[7] < 0.2, "{rate} Mbit/s, {wait:?}");
    }
}

#[test]
fn an_outage_at_the_beginning_costs_no_more_than_its_time() {
    // From 2 to 5 s are 3.75 MB at 10 Mbit/s. A first round trip of a second is none to go by.
    let keys =
        "capacity_changes = [{ at = \"0 s\", capacity = \"0 bit/s\" }, { at = \"2 s\", capacity = \"10 Mbit/s\" }]";
    for (protocol, least) in [("lgc", 0.9), ("lgcc", 0.9), ("log-rate", 0.7)] {
        let part = arrived(protocol, keys) / 3.75e6;
        assert!(part > least, "{protocol}: {part}");
    }
}

#[test]
fn sources_that_jump_follow_a_capacity_that_changes_ten_times_a_second() {
    // 10 and 0.1 Mbit/s in turns, a tenth of a second each: 3.2 MB in 5 s. Steps take longer than that.
    let changes: Vec<String> = (1..50)
        .map(|i| {
            format!("{{ at = \"{} ms\", capacity = \"{} kbit/s\" }}", 100 * i, if i % 2 == 0 { 10_000 } else { 100 })
        })
        .collect();
    let keys = format!("capacity_changes = [{}]", changes.join(", "));
    let part = |protocol: &str| arrived(protocol, &keys) / 3.2e6;
    let (jumps, steps) = (part("dual"), part("primal"));
    assert!(jumps > 0.6 && steps < jumps, "{jumps} {steps}");
}

#[test]
fn a_tree_of_loops_shares_as_weights_say() {
    // Three leaves are one of two inputs of the last loop, of weight 3, and a fourth is the other: 125 Mbit/s each.
    let link = |source: &str, target: &str| {
        format!("[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"500 Mbit/s\"\ndelay = \"1 ms\"\n")
    };
    let connection = |name: &str, source: &str, target: &str, after: &str| {
        format!("[[connection]]\nname = \"{name}\"\nsource = \"{source}\"\ntarget = \"{target}\"\n{after}\n")
    };
    let links: String = (0..3).map(|i| link(&format!("s{i}"), "m")).collect();
    let leaves: String = (0..3).map(|i| connection(&format!("leaf{i}"), &format!("s{i}"), "m", "")).collect();
    let text = links
        + &link("s3", "t")
        + &link("m", "t")
        + &link("t", "d")
        + &leaves
        + &connection("leaf3", "s3", "t", "")
        + &connection("middle", "m", "t", "after = [\"leaf0\", \"leaf1\", \"leaf2\"]")
        + &connection("top", "t", "d", "after = [{ connection = \"middle\", weight = 3 }, \"leaf3\"]")
        + "[defaults.link]\ndiscipline = \"ecn-ramp\"\n[defaults.connection]\nprotocol = \"lgcc\"\npacket = \"1500 B\"\n\
           [run]\nduration = \"5 s\"\nwarm_up = \"3 s\"";
    let rates: Vec<f64> = outcome(&text).subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / 2.0 / MEGA).collect();
    assert!(rates[..4].iter().all(|rate| (rate / 125.0 - 1.0).abs() < 0.05) && rates[5] > 490.0, "{rates:?}");
}
