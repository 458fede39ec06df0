//! A link of the emulator beside the same link of the simulator.

use anabranch_core::Time;
use anabranch_emulator::addresses::addresses;
use anabranch_emulator::network::Network;
use anabranch_emulator::packet::Packet;
use anabranch_scenario::{NetworkSource, Scenario};
use anabranch_sim::simulate;

/// 2,000 packets of 1,000 bytes over a link that loses and repeats some.
const SCENARIO: &str = r#"
[run]
duration = "5 s"
seed = 7
[[link]]
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "5 ms"
faults = { loss = 0.1, duplicate = 0.1 }
[[connection]]
source = "a"
target = "b"
amount = "2 MB"
packet = "1000 B"
protocol = "d-slen"
"#;

/// A packet of 1,000 bytes over the first path.
fn packet() -> Packet {
    let (from, to) = addresses(0);
    let mut bytes = vec![0; 1000];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&1000_u16.to_be_bytes());
    bytes[12..16].copy_from_slice(&from.octets());
    bytes[16..20].copy_from_slice(&to.octets());
    let sum: u32 = bytes[..20].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    Packet::read(&bytes).unwrap()
}

#[test]
fn as_many_packets_are_lost_as_in_the_simulator() {
    let scenario = Scenario::parse(SCENARIO).unwrap();
    let Ok(NetworkSource::Inline(network)) = scenario.network() else { panic!("it stands there") };
    let plan = scenario.plan(network.into(), None, &|_| Err("no files".to_owned()), &|_| true).unwrap();
    let outcome = simulate(&plan, &mut |_| true);
    // The fate of a packet goes by how many were there before it, so it is no matter when they come.
    let mut network = Network::new(&plan, &[]);
    for number in 0..2000 {
        network.handle(packet(), Time::ms(number));
    }
    assert!(network.pop(Time::s(5)).count() > 1800);
    let simulated = outcome.links[0].totals;
    let (_, emulated) = network.counts().next().unwrap();
    assert_eq!((emulated.totals.bytes, emulated.totals.dropped), (simulated.bytes, simulated.dropped));
    // A packet is lost for good if it is lost and its copy is not there, or lost too: 0.1 (0.9 + 0.1 0.1), 182 of 2,000.
    assert!((130..240).contains(&emulated.totals.dropped), "{}", emulated.totals.dropped);
}
