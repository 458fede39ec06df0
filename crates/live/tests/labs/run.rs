//! Plans run with real packets, where the kernel lets us have a lab.

use anabranch_live::run::Outcome;

use crate::lab::punctual;

/// In Mbit/s, after a warm-up, of a run of so many seconds.
fn rate(outcome: &Outcome, subflow: usize, seconds: f64) -> f64 {
    8e-6 * outcome.subflows[subflow].delivered_warm as f64 / seconds
}

/// A link of 20 Mbit/s that a connection has to itself for 5 s, of which 2 s do not count.
fn alone(protocol: &str, link: &str) -> String {
    format!(
        "[[link]]\nname = \"line\"\nsource = \"west\"\ntarget = \"east\"\ncapacity = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = \"100 packets\"\n{link}\n\
         [[connection]]\nname = \"one\"\nsource = \"west\"\ntarget = \"east\"\nprotocol = \"{protocol}\"\n\
         packet = \"1500 B\"\n[run]\nduration = \"5 s\"\nwarm_up = \"2 s\"\n"
    )
}

/// Two loops over links of 20 and 8 Mbit/s, with a relay between them of which 200 kB may wait.
fn two_loops(protocol: &str, relay: &str) -> String {
    let discipline = if protocol.starts_with("lgc") { "discipline = \"ecn-ramp\"\n" } else { "" };
    format!(
        "[defaults.link]\nqueue = \"100 packets\"\n{discipline}\
         [[link]]\nname = \"first\"\nsource = \"west\"\ntarget = \"middle\"\ncapacity = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
         [[link]]\nname = \"second\"\nsource = \"middle\"\ntarget = \"east\"\ncapacity = \"8 Mbit/s\"\ndelay = \"10 ms\"\n\
         [[connection]]\nname = \"film\"\nsource = \"west\"\ntarget = \"east\"\nrelays = [\"middle\"]\n\
         protocol = \"{protocol}\"\npacket = \"1500 B\"\n[relays]\nbuffer = \"200 kB\"\n{relay}\n\
         [run]\nduration = \"6 s\"\nwarm_up = \"3 s\"\n"
    )
}

#[test]
fn a_relay_never_holds_more_than_its_buffer_and_the_first_loop_follows_the_second() {
    // CUBIC hears of the second loop by the room at the relay alone. LGCC is told its rate, and little waits; it has 7.4 of 8
    // Mbit/s in the simulator.
    for (protocol, relay, most) in [("cubic", "marking = \"never\"", 200_000), ("lgcc", "", 30_000)] {
        let Some(outcome) = punctual(&two_loops(protocol, relay)) else { return };
        let [held] = outcome.relays[..] else { panic!("{:?}", outcome.relays) };
        let rates = [0, 1].map(|subflow| rate(&outcome, subflow, 3.0));
        eprintln!("{protocol}: {rates:?} Mbit/s, {} bytes waited", held.most_waiting);
        assert!(held.buffer == 200_000 && held.most_waiting <= most, "{protocol}: {held:?}");
        assert!(rates[1] >= 0.9 * 8.0 && (rates[0] / rates[1] - 1.0).abs() < 0.1, "{protocol}: {rates:?}");
    }
}

/// Two loops that end at a relay, of which the second has twice the weight, before a link of 9 Mbit/s.
const TWO_INTO_ONE: &str = "
[defaults.link]
queue = \"100 packets\"
[[link]]
source = \"west\"
target = \"middle\"
capacity = \"20 Mbit/s\"
delay = \"5 ms\"
[[link]]
source = \"north\"
target = \"middle\"
capacity = \"20 Mbit/s\"
delay = \"5 ms\"
[[link]]
source = \"middle\"
target = \"east\"
capacity = \"9 Mbit/s\"
delay = \"5 ms\"
[defaults.connection]
protocol = \"cubic\"
packet = \"1500 B\"
[[connection]]
name = \"one\"
source = \"west\"
target = \"middle\"
amount = \"AMOUNT\"
[[connection]]
name = \"two\"
source = \"north\"
target = \"middle\"
amount = \"AMOUNT\"
[[connection]]
name = \"both\"
source = \"middle\"
target = \"east\"
after = [\"one\", { connection = \"two\", weight = 2 }]
[relays]
buffer = \"50 kB\"
[run]
duration = \"6 s\"
warm_up = \"2 s\"
";

#[test]
fn loops_before_a_relay_share_the_next_by_their_weights() {
    let Some(outcome) = punctual(&TWO_INTO_ONE.replace("AMOUNT", "1 GB")) else { return };
    let rates = [0, 1, 2].map(|subflow| rate(&outcome, subflow, 4.0));
    eprintln!("{rates:?} Mbit/s; {:?}", outcome.relays);
    assert!(rates[2] > 0.9 * 9.0 && (rates[1] / rates[0] / 2.0 - 1.0).abs() < 0.1, "{rates:?}");
}

#[test]
fn a_relay_hands_on_all_that_came_and_ends_then() {
    // 1 MB of each is 16 Mbit over 9 Mbit/s: a little less than 2 s, since headers of packets count.
    let Some(outcome) = punctual(&TWO_INTO_ONE.replace("AMOUNT", "1 MB")) else { return };
    let [one, two, both] = outcome.connections[..] else { panic!() };
    assert_eq!(both.data_bytes, one.data_bytes + two.data_bytes);
    assert!(one.finished_s.max(two.finished_s) <= both.finished_s && (1.6..2.4).contains(&both.finished_s), "{both:?}");
}

#[test]
fn a_link_that_marks_at_random_slows_a_connection_down_without_loss() {
    // The mean queue of RED lags behind, so a slow start and what it costs come first: 16 to 17 Mbit/s simulated, 240 marks.
    let text = alone("reno", "discipline = { red = { min = 5, max = 30 } }").replace("100 packets", "1000 packets");
    let Some(outcome) = punctual(&(text + "[run.transport]\necn = true\n")) else { return };
    let (rate, marked, dropped) = (rate(&outcome, 0, 3.0), outcome.subflows[0].count.marked, outcome.links[0].dropped);
    eprintln!("{rate:.2} Mbit/s, {marked} marked, {dropped} dropped");
    assert!(rate >= 0.7 * 20.0 && marked > 50 && dropped == 0, "{rate}, {marked}, {dropped}");
}

#[test]
fn what_links_lose_and_repeat_is_lost_and_repeated() {
    // 20 Mbit/s for 5 s are 8,300 packets of 1,500 bytes, of which 83 are lost, give or take 9; and 5 in a hundred come
    // twice, of which a queue of 100 at the end may hide 1.
    let faults = "faults = { loss = 0.01, duplicate = 0.05 }";
    let Some(outcome) = punctual(&alone("bbr", faults)) else { return };
    let (dropped, count) = (outcome.links[0].dropped, outcome.subflows[0].count);
    let repeated = (count.delivered + count.lost) as f64 / count.sent as f64 - 1.0;
    eprintln!("{dropped} lost, {repeated:.3} repeated, {:.2} Mbit/s", rate(&outcome, 0, 3.0));
    assert!((45..=130).contains(&dropped) && (0.03..0.065).contains(&repeated), "{dropped}, {repeated}");
    assert!(rate(&outcome, 0, 3.0) >= 0.9 * 20.0);
}

/// Eight connections under DCTCP over a link of 40 Mbit/s that marks.
fn eight() -> String {
    let link = "[[link]]\nname = \"line\"\nsource = \"west\"\ntarget = \"east\"\ncapacity = \"40 Mbit/s\"\n\
                delay = \"10 ms\"\ndiscipline = { ecn-step = { threshold = 20 } }\n";
    let one = |c| {
        format!(
            "[[connection]]\nname = \"c{c}\"\nsource = \"west\"\ntarget = \"east\"\nprotocol = \"dctcp\"\n\
             packet = \"1500 B\"\n"
        )
    };
    let run = "[run]\nduration = \"16 s\"\nwarm_up = \"4 s\"\n";
    std::iter::once(link.to_owned()).chain((0..8).map(one)).chain([run.to_owned()]).collect()
}

#[test]
fn eight_connections_share_a_link_equally() {
    let Some(outcome) = punctual(&eight()) else { return };
    let rates: Vec<f64> = (0..8).map(|subflow| rate(&outcome, subflow, 12.0)).collect();
    eprintln!("{rates:.2?} Mbit/s");
    assert!(rates.iter().all(|rate| (rate / 5.0 - 1.0).abs() < 0.2), "{rates:?}");
}
