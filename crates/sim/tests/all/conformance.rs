//! What every protocol must do: fill a link, share it, recover, repeat itself, and leave nothing behind.

use crate::common::{MEGA, MILLISECOND, assert_close, last_rates, network, plan, run, timed};
use anabranch_core::{Bytes, Connection, ConnectionId, Demands, Rate, Span, Time};
use anabranch_plan::{ControlPlane, DemandChange, Faults, Limit, Plan};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::{Claims, Expect, PROTOCOLS};
use anabranch_sim::Outcome;

/// Each protocol that grants rates, and how long it may take to settle on these networks, in seconds. Those that keep
/// windows are in `windows.rs`.
fn all() -> impl Iterator<Item = (Protocol, f64)> {
    let named = PROTOCOLS.iter().map(|(name, ..)| Protocol::named(name).unwrap());
    let granting = named.filter(|protocol| !protocol.capabilities().keeps_windows());
    granting.map(|protocol| (protocol.clone(), expect(&protocol).settles_s))
}

/// What may be expected of a protocol.
fn expect(protocol: &Protocol) -> &Expect {
    &protocol.capabilities().expect
}

/// Those whose control packets may wait in queues.
fn all_that_may_wait() -> impl Iterator<Item = (Protocol, f64)> {
    all().filter(|(protocol, _)| expect(protocol).may_wait)
}

/// Rates of a link's connections are such, and more together as far as the protocol may exceed a capacity.
fn assert_shared(protocol: &Protocol, got: &[f64], wanted: &[f64], tolerance: f64) {
    let excess = expect(protocol).excess;
    if excess == 0.0 {
        return assert_close(got, wanted, tolerance);
    }
    let is_fair = got.iter().zip(wanted).all(|(got, wanted)| *got >= wanted - tolerance);
    let (load, fair): (f64, f64) = (got.iter().sum(), wanted.iter().sum());
    assert!(is_fair && load <= (1.0 + excess) * fair + tolerance, "{got:?} is not {wanted:?} and up to {excess} more");
}

/// Some connections over one link of 10 Mbit/s and 5 ms.
fn one_link(count: usize, protocol: Protocol, seconds: f64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b"]];
    let packet = Bytes(expect(&protocol).packet);
    let mut plan = plan(network(&[("a", "b", 10.0, 5.0)]), &vec![path; count], protocol, seconds);
    plan.transfers.iter_mut().for_each(|transfer| transfer.packet = packet);
    plan
}

/// What subflows delivered, as a share of what the link could carry after the first `start` seconds.
fn share_delivered(plan: &Plan, outcome: &Outcome, start: f64) -> f64 {
    let bytes: u64 = outcome.subflows.iter().map(|s| s.delivered_warm).sum();
    bytes as f64 * 8.0 / ((plan.run.duration.seconds() - start) * 10.0 * MEGA)
}

#[test]
fn it_fills_a_link() {
    for (protocol, seconds) in all() {
        let mut plan = one_link(1, protocol, 2.0 * seconds);
        plan.run.warm_up = Span::from_seconds(seconds).unwrap();
        let outcome = run(&plan);
        let share = share_delivered(&plan, &outcome, seconds);
        assert!((0.98..=1.0001).contains(&share), "{:?}: {share}", plan.protocols);
    }
}

#[test]
fn it_shares_a_link() {
    for (protocol, seconds) in all() {
        let tolerance = 0.05 * expect(&protocol).laxity;
        let plan = one_link(4, protocol.clone(), seconds);
        assert_shared(&protocol, &last_rates(&plan, &run(&plan)), &[2.5; 4], tolerance);
    }
}

#[test]
fn it_shares_by_claims_and_within_demands() {
    for (protocol, seconds) in all() {
        let is_weighted = matches!(protocol.capabilities().claims, Claims::Weighted { .. });
        let mut plan = one_link(3, protocol.clone(), seconds);
        let mut all: Vec<Connection> = plan.demands.connections().to_vec();
        // 2 of the 10 for the first, that asks for no more; the rest is divided 3 to 1 if claims are weighed.
        all[0].demand = Some(Rate(2.0 * MEGA));
        all[1].weight = if is_weighted { 3.0 } else { 1.0 };
        plan.demands = Demands::new(&plan.network, all).unwrap();
        let outcome = run(&plan);
        let wanted = if is_weighted { [2.0, 6.0, 2.0] } else { [2.0, 4.0, 4.0] };
        assert_shared(&protocol, &last_rates(&plan, &outcome), &wanted, 0.1);
        // Whatever it is granted, a connection sends no more than its demand, but for the packet at the beginning.
        let most = 2.0 * MEGA / 8.0 * seconds + 1000.0;
        assert!(outcome.subflows[0].sent as f64 <= most, "{} {most}", outcome.subflows[0].sent);
    }
}

#[test]
fn a_connection_that_is_told_to_stop_is_finished_when_all_it_sent_has_arrived() {
    for (protocol, _) in all() {
        let mut plan = one_link(1, protocol, 10.0);
        timed(&mut plan, &[(0.0, Some(0.5))]);
        let outcome = run(&plan);
        let (subflow, done) = (&outcome.subflows[0], &outcome.connections[0]);
        assert!(subflow.delivered == subflow.sent && done.finished_s >= 0.5 && done.finished_s < 10.0, "{done:?}");
    }
}

#[test]
fn a_link_that_goes_down_keeps_what_it_has() {
    for (protocol, _) in all() {
        let mut plan = one_link(1, protocol, 4.0);
        plan.links[0].changes = vec![(Time::from_seconds(1.0).unwrap(), Rate(0.0))];
        let outcome = run(&plan);
        // 10 Mbit/s for a second, and what is delivered was carried.
        let (sent, delivered) = (outcome.links[0].totals.sent, outcome.subflows[0].delivered);
        assert!(sent <= 1_250_000 && delivered <= sent && sent - delivered < 7000, "{sent} {delivered}");
        assert!(outcome.samples.link_carried_bps.iter().all(|&bps| bps < 10.5 * MEGA));
    }
}

#[test]
fn those_that_stay_take_what_others_leave() {
    for (protocol, seconds) in all() {
        let mut plan = one_link(2, protocol, 2.0 * seconds);
        timed(&mut plan, &[(0.0, None), (0.001, Some(seconds))]);
        assert_close(&last_rates(&plan, &run(&plan)), &[10.0, 0.0], 0.2);
    }
}

#[test]
fn it_follows_a_demand_that_changes() {
    for (protocol, seconds) in all() {
        let mut plan = one_link(2, protocol.clone(), 3.0 * seconds);
        let mut all: Vec<Connection> = plan.demands.connections().to_vec();
        all[0].demand = Some(Rate(2.0 * MEGA));
        plan.demands = Demands::new(&plan.network, all).unwrap();
        let change = |time: f64, mbps: f64| DemandChange {
            time: Time::from_seconds(time).unwrap(),
            connection: ConnectionId(0),
            demand: Rate(mbps * MEGA),
        };
        plan.demand_changes = vec![change(seconds, 4.0), change(2.0 * seconds, 1.0)];
        let tolerance = expect(&protocol).after_demand_mbps;
        let outcome = run(&plan);
        let rates: Vec<f64> = outcome.samples.connection_granted_bps.iter().map(|bps| bps / MEGA).collect();
        // Just before the first change, just before the second, and at the end.
        for (sample, wanted) in [(32, [2.0, 8.0]), (65, [4.0, 6.0]), (99, [1.0, 9.0])] {
            assert_shared(&protocol, &rates[2 * sample..2 * sample + 2], &wanted, tolerance);
        }
    }
}

#[test]
fn it_leaves_nothing_behind() {
    for (protocol, _) in all() {
        for stops in [[0.5, 0.7], [0.0001, 0.0101]] {
            let mut plan = one_link(2, protocol.clone(), 1.0);
            timed(&mut plan, &[(0.0, Some(stops[0])), (0.0, Some(stops[1]))]);
            let outcome = run(&plan);
            assert_eq!((outcome.links_not_clear, outcome.under_way), (0, 0));
            assert!(outcome.connections.iter().all(|c| c.left_s.is_finite()));
        }
    }
}

#[test]
fn links_rest_when_all_have_left() {
    // Those that keep nothing of a connection are always clear; but none may measure and wake for ever. RCP's links and
    // those of its relatives sleep after a thousand intervals without a packet at the latest, which are 10 s.
    for (protocol, _) in all() {
        let served = [20.0, 40.0].map(|seconds| {
            let mut plan = one_link(2, protocol.clone(), seconds);
            timed(&mut plan, &[(0.0, Some(0.5)), (0.0, Some(0.7))]);
            plan.run.sample = Span(plan.run.duration.0 + 1);
            let outcome = run(&plan);
            (outcome.hops, outcome.events)
        });
        assert_eq!(served[0], served[1], "{}", protocol.name());
    }
}

#[test]
fn it_repeats_itself_to_the_last_bit_in_any_order_of_threads() {
    let plans: Vec<Plan> = all()
        .map(|(protocol, _)| {
            let mut plan = one_link(5, protocol, 0.5);
            plan.links[0].control = Faults { loss: 0.05, duplicate: 0.05, reorder: 0.05, late: Span(MILLISECOND) };
            plan.links[0].data = Faults { loss: 0.01, ..Faults::default() };
            plan
        })
        .collect();
    let text = |outcome: &Outcome| format!("{outcome:?}");
    let once: Vec<String> = plans.iter().map(|plan| text(&run(plan))).collect();
    let again: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = plans.iter().map(|plan| scope.spawn(|| text(&run(plan)))).collect();
        threads.into_iter().rev().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(once, again.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn a_transfer_is_complete_when_its_last_byte_has_arrived() {
    for (protocol, _) in all() {
        let mut plan = one_link(1, protocol, 30.0);
        plan.transfers[0].amount = Some(Bytes(1_234_567));
        let outcome = run(&plan);
        assert_eq!((outcome.subflows[0].delivered, outcome.subflows[0].lost), (1_234_567, 0));
        // Not faster than the link: 1,234,567 bytes at 10 Mbit/s take 0.9877 s, and 5 ms to arrive.
        let done = &outcome.connections[0];
        assert!(done.finished_s > 0.99 && done.finished_s >= done.stopped_s + 0.005 && done.left_s < 30.0, "{done:?}");
    }
}

#[test]
fn what_a_full_queue_or_the_link_loses_is_counted() {
    for (protocol, _) in all() {
        let mut plan = one_link(3, protocol, 2.0);
        plan.links[0].limit = Limit { packets: Some(2), bytes: None };
        plan.links[0].data = Faults { loss: 0.1, duplicate: 0.1, ..Faults::default() };
        for transfer in &mut plan.transfers {
            transfer.amount = Some(Bytes(100_000));
        }
        let outcome = run(&plan);
        for (subflow, connection) in outcome.subflows.iter().zip(&outcome.connections) {
            assert_eq!(subflow.sent, 100_000);
            assert_eq!(subflow.delivered + subflow.lost, 100_000);
            assert!(subflow.lost > 0 && connection.finished_s.is_finite());
        }
        assert!(outcome.subflows.iter().any(|subflow| subflow.repeated > 0));
    }
}

#[test]
fn control_packets_may_share_the_queues_with_data() {
    for (protocol, seconds) in all_that_may_wait() {
        // Who measures what comes gives 2 % of the link to control packets and acknowledgements of hops; headers of data
        // need an acknowledgement for every packet, and room for it: 64 bytes for 1,000.
        let has_headers = protocol.capabilities().has_headers();
        let wanted = if expect(&protocol).measures_load { 4.9 } else { 5.0 };
        let tolerance = if has_headers { 0.5 } else { 0.1 * expect(&protocol).laxity };
        let mut plan = one_link(2, protocol.clone(), seconds);
        if has_headers {
            plan.transfers.iter_mut().for_each(|transfer| transfer.packet = Bytes(1000));
        }
        plan.run.control = ControlPlane::InBand;
        // Control packets take room of their own: what is granted to data does not know of it, and queues grow slowly.
        plan.links[0].limit = Limit { packets: Some(50), bytes: None };
        plan.links[1].limit = Limit { packets: Some(50), bytes: None };
        let outcome = run(&plan);
        assert_shared(&protocol, &last_rates(&plan, &outcome), &[wanted; 2], tolerance);
        assert!(outcome.links[0].totals.most_packets <= 50);
    }
}

#[test]
fn rates_follow_a_capacity_that_changes() {
    for (protocol, seconds) in all() {
        let mut plan = one_link(2, protocol.clone(), 2.0 * seconds);
        plan.links[0].changes = vec![(Time::from_seconds(seconds / 2.0).unwrap(), Rate(4.0 * MEGA))];
        assert_shared(&protocol, &last_rates(&plan, &run(&plan)), &[2.0; 2], 0.04);
    }
}

#[test]
fn control_packets_take_no_more_than_their_share() {
    // Protocols whose control packets are part of the rate decide on the share themselves.
    let held_back = all_that_may_wait().filter(|(protocol, _)| !protocol.capabilities().in_rate);
    for (protocol, seconds) in held_back {
        let is_slow = !expect(&protocol).settles_held_back;
        let tolerance = 0.1 * expect(&protocol).laxity;
        let mut plan = one_link(2, protocol, seconds);
        plan.run.control = ControlPlane::InBand;
        plan.run.control_share = Some(0.01);
        let outcome = run(&plan);
        // What the link has sent besides data: 1 % of 10 Mbit/s, and a few packets more in the beginning.
        let (data, all) = (outcome.subflows.iter().map(|s| s.sent).sum::<u64>(), outcome.links[0].totals.bytes);
        let most = 0.01 * 10.0 * MEGA / 8.0 * seconds + 100.0 * 64.0;
        assert!(((all - data) as f64) < most, "{:?}: {} of {most}", plan.protocols, all - data);
        if is_slow {
            continue;
        }
        // Data and control together are what was granted, so that nothing waits for long.
        assert_close(&last_rates(&plan, &outcome), &[5.0; 2], tolerance);
        let most = u64::from(outcome.links[0].totals.most_packets) * plan.transfers[0].packet.0;
        assert!(most < 20_000, "{:?}", outcome.links[0].totals);
    }
}
