use std::net::Ipv4Addr;

use anabranch_core::random::{Purpose, stream};
use anabranch_core::units::MILLISECOND;
use anabranch_queues::Ecn;
use anabranch_scenario::{NetworkSource, Scenario};
use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::hops::hops;
use crate::packet::tests::v4;

/// Two links from a to c over b, of which the second is as said; a connection there and back.
fn plan(second: &str) -> Plan {
    let text = format!(
        "[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"unlimited\"\ndelay = \"1 ms\"\n\
         [[link]]\nname = \"second\"\nsource = \"b\"\ntarget = \"c\"\ndelay = \"5 ms\"\n{second}\n\
         [[connection]]\nsource = \"a\"\ntarget = \"c\"\n"
    );
    let scenario = Scenario::parse(&text).unwrap().for_programs();
    let Ok(NetworkSource::Inline(network)) = scenario.network() else { panic!("it stands there") };
    scenario.plan(network.into(), None, &|_| Err("no files".to_owned()), &|_| true).unwrap()
}

fn network(second: &str) -> Network {
    Network::new(&plan(second), &[])
}

fn packet(size: u16) -> Packet {
    let (from, to) = addresses(0);
    v4(from, to, Ecn::Ect0, size)
}

fn ms(time: f64) -> Time {
    Time((time * MILLISECOND as f64) as u64)
}

/// When packets arrive that come at some times in picoseconds; what comes in between is rounded to microseconds.
fn arrivals(network: &mut Network, packets: &[(u64, u16)]) -> Vec<(u64, u32)> {
    for &(time, size) in packets {
        network.handle(packet(size), Time(time));
    }
    network.pop(Time(u64::MAX - 1)).map(|delivery| (delivery.due.0 / 1_000_000, delivery.packet.size())).collect()
}

#[test]
fn a_packet_takes_the_links_of_its_path_there_and_back() {
    // 1,250 bytes take 1 ms at 10 Mbit/s: there 1 + 1 + 5 ms, the next a millisecond later; back the same.
    let mut network = network("capacity = \"10 Mbit/s\"");
    let (from, to) = addresses(0);
    network.handle(packet(1250), ms(0.0));
    network.handle(packet(1250), ms(0.0));
    network.handle(v4(to, from, Ecn::NotEct, 1250), ms(0.0));
    // On the way back nothing waits for those two. A picosecond for a link without a limit, two for what comes second.
    assert_eq!(network.pop(ms(6.9)).count(), 0);
    let due = |d: Delivery| (d.node.0, d.due.0);
    let first: Vec<_> = network.pop(ms(7.5)).map(due).collect();
    assert_eq!(first, [(2, 7 * MILLISECOND + 1), (0, 7 * MILLISECOND + 1)]);
    assert_eq!(network.next_at(), Some(Time(8 * MILLISECOND + 1)));
    let second: Vec<_> = network.pop(ms(9.0)).map(due).collect();
    assert_eq!((second, network.under_way()), (vec![(2, 8 * MILLISECOND + 1)], 0));
}

#[test]
fn who_asks_late_hears_when_it_was_due() {
    let mut network = network("capacity = \"10 Mbit/s\"");
    network.handle(packet(1250), ms(0.0));
    network.handle(packet(1250), ms(20.0));
    let due: Vec<u64> = network.pop(ms(50.0)).map(|delivery| delivery.due.0 / MILLISECOND).collect();
    assert_eq!(due, [7, 27]);
}

#[test]
fn control_packets_of_hops_take_only_delays_and_have_fates_of_their_own() {
    // The second link loses control packets only, one in a million excepted: of data that wait behind each other none is lost.
    let plan = plan("capacity = \"10 Mbit/s\"\ncontrol_faults = { loss = 0.999999 }");
    let hops = hops(&plan);
    let ends: Vec<(u32, u32)> = hops.iter().map(|hop| (hop.from.0, hop.to.0)).collect();
    assert_eq!(ends, [(0, 1), (1, 2)]);
    let mut network = Network::new(&plan, &hops);
    for _ in 0..10 {
        network.handle(packet(1250), ms(0.0));
    }
    // Hops have the addresses after those of the path, which is the only one.
    for hop in [1, 2] {
        let (from, to) = addresses(hop);
        network.handle(v4(from, to, Ecn::NotEct, 100), ms(0.0));
    }
    let first = network.pop(ms(2.0)).map(|delivery| (delivery.node.0, delivery.due)).collect::<Vec<_>>();
    assert_eq!(first, [(1, ms(1.0))]);
    assert_eq!(network.pop(ms(90.0)).count(), 10);
}

#[test]
fn packets_of_no_path_go_nowhere() {
    let mut network = network("capacity = \"10 Mbit/s\"");
    network.handle(v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 2), Ecn::NotEct, 100), ms(0.0));
    assert_eq!((network.strangers(), network.under_way(), network.next_at()), (1, 0, None));
}

#[test]
fn a_queue_marks_real_packets_and_drops_what_it_has_no_room_for() {
    // One is in transmission and 4 of 5 may wait; those that find 2 waiting are marked: the fourth and the fifth.
    let discipline = "capacity = \"10 Mbit/s\"\nqueue = \"5 packets\"\ndiscipline = { ecn-step = { threshold = 2 } }";
    let mut network = network(discipline);
    for _ in 0..7 {
        network.handle(packet(1250), ms(0.0));
    }
    let fields: Vec<Ecn> = network.pop(ms(90.0)).map(|delivery| delivery.packet.ecn()).collect();
    assert_eq!(fields, [Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ce, Ecn::Ce]);
    let (_, count) = network.counts().find(|(_, count)| count.marked > 0).unwrap();
    assert_eq!((count.marked, count.packets, count.totals.dropped, count.totals.most_packets), (2, 5, 2, 5));
}

#[test]
fn a_change_of_capacity_counts_from_its_time_on() {
    // Half of the packet in 0.5 ms, then nothing until 20 ms, and the rest in 0.5 ms.
    let changes = "capacity_changes = [{ at = \"1.5 ms\", capacity = \"0 Mbit/s\" }, { at = \"20 ms\", capacity = \"10 Mbit/s\" }]";
    let mut network = network(&format!("capacity = \"10 Mbit/s\"\n{changes}"));
    assert_eq!(arrivals(&mut network, &[(0, 1250)]), [(25_500, 1250)]);
}

#[test]
fn a_trace_says_when_packets_leave() {
    // The packets come at 1 ms and find room at 3 and 8 ms; then 5 ms more.
    let mut network = network("capacity = \"1 Mbit/s\"\ntrace = { opportunities_ms = [3, 8, 10] }");
    assert_eq!(arrivals(&mut network, &[(0, 1500), (0, 1500)]), [(8_000, 1500), (13_000, 1500)]);
}

#[test]
fn faults_repeat_with_the_seed() {
    let faults = "capacity = \"10 Mbit/s\"\nfaults = { loss = 0.2, duplicate = 0.2, reorder = 0.2, late = \"3 ms\" }";
    let packets: Vec<(u64, u16)> = (0..200).map(|i| (i * MILLISECOND, 200 + i as u16)).collect();
    let first = arrivals(&mut network(faults), &packets);
    assert_eq!(first, arrivals(&mut network(faults), &packets));
    let mut network = network(faults);
    let arrived = arrivals(&mut network, &packets).len();
    let sizes: Vec<u32> = first.iter().map(|(_, size)| *size).collect();
    // Four standard deviations of 200 draws at 0.2 are 23 packets; of those lost a few come twice and arrive once.
    assert!((177..240).contains(&arrived) && !sizes.is_sorted(), "{arrived}");
    let lost: u64 = network.counts().map(|(_, count)| count.totals.dropped).sum();
    assert!((5..60).contains(&lost), "{lost}");
}

/// Times and sizes of packets that come in bunches.
fn bunches() -> impl Strategy<Value = Vec<(u64, u16)>> {
    (any::<u64>(), 1..80usize).prop_map(|(seed, count)| {
        let mut random = stream(seed, Purpose::Faults, 0);
        let mut now = 0;
        let mut next = || {
            now += if random.random_bool(0.7) { 0 } else { random.random_range(0..4 * MILLISECOND) };
            (now, random.random_range(40..1500))
        };
        (0..count).map(|_| next()).collect()
    })
}

proptest! {
    #[test]
    fn a_first_in_first_out_discipline_is_the_plain_link_of_the_simulator(
        packets in bunches(), limit in 2..20u32, which in 0..2usize,
    ) {
        let changes = ["", "capacity_changes = [{ at = \"5 ms\", capacity = \"2 Mbit/s\" }]"][which];
        let plain = format!("capacity = \"10 Mbit/s\"\nqueue = \"{limit} packets\"\n{changes}");
        let driven = format!("{plain}\ndiscipline = \"drop-tail\"");
        prop_assert_eq!(arrivals(&mut network(&plain), &packets), arrivals(&mut network(&driven), &packets));
    }

    #[test]
    fn at_a_traced_link_too(packets in bunches()) {
        let plain = "capacity = \"1 Mbit/s\"\ntrace = { opportunities_ms = [1, 1, 4, 5, 9] }\nqueue = \"10 packets\"";
        let driven = format!("{plain}\ndiscipline = \"drop-tail\"");
        let (plain, driven) = (arrivals(&mut network(plain), &packets), arrivals(&mut network(&driven), &packets));
        // What is in transmission waits in the one and not in the other; where nothing was dropped they are alike.
        if plain.len() == packets.len() {
            prop_assert_eq!(plain, driven);
        }
    }
}

#[test]
fn samples_say_what_paths_have_carried_and_what_waits() {
    // Two of 1,250 bytes are at the second link after 1 ms and take 1 ms each there: at 1.5 ms half of the first and all of
    // the second wait, 1,875 bytes. They arrive at 7 and 8 ms, and took as long; 7.5 ms see the first of them. A third finds
    // no room for 2,500 bytes.
    let mut network = network("capacity = \"10 Mbit/s\"\nqueue = \"2500 bytes\"");
    network.watch(vec![ms(1.5), ms(7.5), ms(9.0)]);
    (0..3).for_each(|_| network.handle(packet(1250), ms(0.0)));
    network.pop(ms(20.0)).for_each(drop);
    let all: Vec<_> = network.samples().collect();
    assert_eq!(all.iter().map(|sample| sample.time).collect::<Vec<_>>(), [ms(1.5), ms(7.5), ms(9.0)]);
    // Of the two links with a limit the way there is the first.
    let second = |sample: usize| all[sample].links.iter().find(|link| link.capacity.0.is_finite()).unwrap();
    assert_eq!((second(0).backlog, second(0).totals.dropped, second(0).peak_packets), (1875, 1, 2));
    let counts: Vec<_> = all.iter().map(|sample| sample.paths[0]).collect();
    assert_eq!((counts[0].sent, counts[0].delivered, counts[0].lost), (3750, 0, 1250));
    assert_eq!((counts[1].delivered, counts[1].packets, counts[2].delivered), (1250, 1, 2500));
    // The links without limit add a picosecond or two.
    assert_eq!((counts[2].delays / 1_000_000, counts[2].most_delay / 1_000_000), (15_000, 8_000));
}
