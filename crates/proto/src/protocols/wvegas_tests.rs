//! Tests of wVegas: weights, drains, losses and slow start, worked by hand.

use super::*;
use crate::testing::alone;
use crate::window::testing::{ToyLink, acked, is_near, is_within};

fn wvegas(parameters: Parameters, windows: &[f64]) -> Wvegas {
    let count = windows.len();
    let new = |&window: &f64| Subflow { threshold: 2.0, ..Subflow::new(window, parameters.alpha, count) };
    let subflows = windows.iter().map(new).collect();
    Wvegas { parameters, first: 10.0, subflows }
}

/// A control whose first subflow has a round trip of 100 ms without queues.
fn after_100_ms(parameters: Parameters, windows: &[f64]) -> Wvegas {
    let mut wvegas = wvegas(parameters, windows);
    wvegas.subflows[0].trips.add(0.1);
    wvegas.subflows[0].trips.begin_round();
    wvegas
}

/// One subflow in slow start, whose path takes 100 ms without queues.
fn starting(parameters: Parameters, window: f64) -> Wvegas {
    let mut wvegas = after_100_ms(parameters, &[window]);
    wvegas.subflows[0].threshold = f64::INFINITY;
    wvegas
}

/// A round of a subflow with these samples.
fn round(wvegas: &mut Wvegas, subflow: usize, rtts: &[f64]) {
    for (i, &rtt) in rtts.iter().enumerate() {
        wvegas.on_ack(subflow, &Acked { ends_round: i + 1 == rtts.len(), ..acked(0.0, rtt) });
    }
}

#[test]
fn weights_follow_rates_where_there_are_any() {
    let mut wvegas = wvegas(Parameters::default(), &[10.0; 3]);
    for (subflow, rate) in [100.0, 0.0, 300.0].into_iter().enumerate() {
        wvegas.subflows[subflow].rate = rate;
    }
    // 100 / 400, as it was, and 300 / 400.
    wvegas.weigh();
    let weights: Vec<f64> = wvegas.subflows.iter().map(|subflow| subflow.weight).collect();
    assert!(is_near(weights[0], 0.25) && is_near(weights[1], 1.0 / 3.0) && is_near(weights[2], 0.75));
}

#[test]
fn with_share_the_weights_of_open_subflows_sum_to_one() {
    let parameters = Parameters { at_loss: AtLoss::Share, ..Parameters::default() };
    let mut wvegas = wvegas(parameters, &[10.0; 4]);
    for (subflow, (weight, rate)) in [(0.4, 100.0), (0.25, 50.0), (0.35, 200.0), (0.7, 0.0)].into_iter().enumerate() {
        (wvegas.subflows[subflow].weight, wvegas.subflows[subflow].rate) = (weight, rate);
    }
    wvegas.close(3);
    // A quarter is kept for the subflow with the loss. The others share 3/4 as 1 to 2. The last is closed.
    wvegas.on_signal(1, Signal::Loss, 10, Time(0));
    wvegas.weigh();
    let weights: Vec<f64> = wvegas.subflows.iter().map(|subflow| subflow.weight).collect();
    assert!(is_near(weights[0], 0.25) && is_near(weights[1], 0.25) && is_near(weights[2], 0.5), "{weights:?}");
    // With no loss they are 100, 50 and 200 of 350.
    wvegas.subflows[1].rate = 50.0;
    wvegas.weigh();
    assert!(is_near(wvegas.subflows[2].weight, 4.0 / 7.0));
}

#[test]
fn alpha_is_the_weight_times_ten_and_at_least_two() {
    // 30 100 / 200 = 15 packets wait: 30 / 0.2 = 150 a second, 150 / (150 + 50) of 10 is 7.5.
    for (sibling, alpha) in [(50.0, 7.5), (450.0, 2.5), (1350.0, 2.0)] {
        let mut wvegas = after_100_ms(Parameters::default(), &[30.0, 10.0]);
        wvegas.subflows[1].rate = sibling;
        round(&mut wvegas, 0, &[0.15, 0.25]);
        assert!(is_near(wvegas.subflows[0].alpha, alpha), "{}", wvegas.subflows[0].alpha);
        // Its sibling's weight has changed with it: 450 / 600 where it was a half.
        assert!(is_near(wvegas.subflows[1].weight, sibling / (sibling + 150.0)));
        // 15 is more than any of these.
        assert!(is_near(wvegas.window(0), 29.0));
    }
}

#[test]
fn a_queue_twice_as_long_as_the_least_is_drained() {
    // 1/6 of 30 waits, so 31; then a half of that, so 30, and half of 30 100 / 200 if it drains. Then nothing waits, so one
    // more; or still a half, so 29, and half of 29 100 / 200.
    for (drain, rounds) in [
        (Drain::Saturated, [(0.2, 7.5), (0.1, 8.5)]),
        (Drain::Steady, [(0.2, 30.0), (0.2, 7.25)]),
        (Drain::Paper, [(0.2, 7.5), (0.1, 8.5)]),
        (Drain::Off, [(0.2, 30.0), (0.2, 29.0)]),
    ] {
        let parameters = Parameters { drain, total_alpha: 5.5, ..Parameters::default() };
        let mut wvegas = after_100_ms(parameters, &[30.0]);
        round(&mut wvegas, 0, &[0.12, 0.12]);
        assert!(is_near(wvegas.window(0), 31.0) && is_near(wvegas.subflows[0].alpha, 5.5));
        for (rtt, window) in rounds {
            round(&mut wvegas, 0, &[rtt]);
            assert!(is_near(wvegas.window(0), window), "{}", wvegas.window(0));
        }
    }
}

#[test]
fn after_a_drain_slow_start_returns_to_the_threshold() {
    // Half of 31 waits, which is more than alpha, so 30, and half of 30 100 / 200. Slow start doubles that every other
    // round, up to the threshold: 7.5 itself, 3/4 of 30, or 30. A round that ends there adds a packet.
    for (after_drain, windows) in [
        (AfterDrain::Window, [7.5, 8.5, 9.5, 10.5]),
        (AfterDrain::ThreeQuarters, [7.5, 15.5, 15.5, 23.5]),
        (AfterDrain::Kept, [7.5, 15.5, 15.5, 31.0]),
    ] {
        let mut wvegas = after_100_ms(Parameters { after_drain, ..Parameters::default() }, &[31.0]);
        wvegas.subflows[0].least_queue = 0.02;
        round(&mut wvegas, 0, &[0.2]);
        let mut seen = vec![wvegas.window(0)];
        for packets in [8, 16, 16] {
            round(&mut wvegas, 0, &vec![0.1; packets]);
            seen.push(wvegas.window(0));
        }
        assert!(seen.iter().zip(windows).all(|(&seen, window)| is_near(seen, window)), "{seen:?}");
    }
}

#[test]
fn a_moment_in_which_nothing_moves_is_no_queue() {
    // 20 ms wait, then 70 in the mean; but it is 20 for one packet, or was so in the round before.
    for (drain, is_drained) in [(Drain::Steady, false), (Drain::Saturated, true)] {
        for halt in [vec![0.12, 0.22], vec![0.17]] {
            let parameters = Parameters { drain, total_alpha: 2.0, ..Parameters::default() };
            let mut wvegas = after_100_ms(parameters, &[30.0]);
            round(&mut wvegas, 0, &[0.12, 0.12]);
            round(&mut wvegas, 0, &halt);
            round(&mut wvegas, 0, &[0.12]);
            assert_eq!(wvegas.window(0) < 15.0, is_drained, "{}", wvegas.window(0));
        }
    }
}

#[test]
fn a_moment_in_which_nothing_moves_does_not_end_slow_start() {
    for (drain, window) in [(Drain::Steady, 14.0), (Drain::Saturated, 8.0)] {
        let mut wvegas = starting(Parameters { drain, ..Parameters::default() }, 10.0);
        // 14 80 / 180 wait in the mean: down to the whole part of 14 100 / 180, and one. But there is none for one packet.
        round(&mut wvegas, 0, &[0.1, 0.2, 0.2, 0.22]);
        assert!(is_near(wvegas.window(0), window), "{}", wvegas.window(0));
    }
}

#[test]
fn slow_start_doubles_every_other_round_until_a_packet_waits() {
    let mut wvegas = starting(Parameters::default(), 10.0);
    for window in [14.0, 14.0, 18.0] {
        round(&mut wvegas, 0, &[0.1; 4]);
        assert!(is_near(wvegas.window(0), window));
    }
    // 18 10 / 110 = 1.6: down to the whole part of 16.4, and one.
    round(&mut wvegas, 0, &[0.11]);
    assert!(is_near(wvegas.window(0), 17.0));
    round(&mut wvegas, 0, &[0.1]);
    assert!(is_near(wvegas.window(0), 18.0));
}

#[test]
fn slow_start_ends_where_each_packet_waits() {
    // Half of 20 is what fits, and one. "steady" does not grow in such a round; else it is half of 24, and one.
    for (drain, window) in [(Drain::Steady, 11.0), (Drain::Saturated, 13.0)] {
        let mut wvegas = starting(Parameters { drain, ..Parameters::default() }, 20.0);
        round(&mut wvegas, 0, &[0.2; 4]);
        assert!(is_near(wvegas.window(0), window), "{}", wvegas.window(0));
        assert!(is_near(wvegas.subflows[0].threshold, window));
    }
}

#[test]
fn what_is_not_under_way_does_not_wait() {
    // 20 ms wait 1/6 of ten packets, or of three, which is less than gamma.
    for (is_limited, window) in [(false, 10.0), (true, 9.0)] {
        let mut wvegas = starting(Parameters::default(), 10.0);
        wvegas.subflows[0].is_growing = false;
        wvegas.on_ack(0, &Acked { is_limited, ends_round: true, in_flight: (3, 2), ..acked(0.0, 0.12) });
        assert!(is_near(wvegas.window(0), window), "{}", wvegas.window(0));
    }
    // Later too: a half of 30 would, but of three it is less than alpha. There is no rate to weigh.
    let mut wvegas = after_100_ms(Parameters::default(), &[30.0]);
    let unused = Acked { is_limited: false, ends_round: true, in_flight: (3, 2), ..acked(0.0, 0.2) };
    wvegas.on_ack(0, &unused);
    assert!(is_near(wvegas.window(0), 30.0) && wvegas.subflows[0].rate <= 0.0);
}

#[test]
fn a_round_without_a_sample_is_no_queue() {
    let drain = Drain::Steady;
    let mut wvegas = after_100_ms(Parameters { drain, total_alpha: 2.0, ..Parameters::default() }, &[30.0]);
    round(&mut wvegas, 0, &[0.12]);
    wvegas.on_ack(0, &Acked { rtt: None, ends_round: true, ..acked(0.0, 0.2) });
    round(&mut wvegas, 0, &[0.2]);
    assert!(wvegas.window(0) > 15.0, "{}", wvegas.window(0));
}

#[test]
fn a_loss_makes_it_forget_its_rate_or_alpha() {
    for (at_loss, rate, alpha) in
        [(AtLoss::Paper, 0.0, 6.0), (AtLoss::Share, 0.0, 6.0), (AtLoss::Keep, 5.0, 6.0), (AtLoss::Least, 0.0, 2.0)]
    {
        let mut wvegas = wvegas(Parameters { at_loss, ..Parameters::default() }, &[30.0]);
        let own = &mut wvegas.subflows[0];
        (own.rate, own.alpha, own.least_queue) = (5.0, 6.0, 0.1);
        wvegas.on_signal(0, Signal::Loss, 30, Time(0));
        let own = &wvegas.subflows[0];
        assert!(is_near(own.window, 15.0) && own.least_queue <= 0.0);
        assert!(is_near(own.rate, rate) && is_near(own.alpha, alpha), "{at_loss:?} {own:?}");
    }
}

#[test]
fn ten_packets_wait_at_a_link_of_its_own_unless_as_printed_with_an_exact_clock() {
    // 9 Mbit/s of packets of 1000 bytes, 100 ms: 1125 packets a second.
    let link = ToyLink { rate: 1125.0, delay: 0.1, packet: 8000.0 };
    let rate = |drain, clock| {
        let clock = SpanText(Span(clock));
        let mut control = source(&Parameters { drain, clock, ..Parameters::default() }, &alone());
        let mut packets = 0;
        link.run(control.as_mut(), 200.0, |seen| packets += u32::from(seen.now > 40.0));
        (f64::from(packets) / 160.0, control.window(0) - 1125.0 * 0.1 - 1.0)
    };
    let (full, waiting) = rate(Drain::Saturated, 0);
    assert!(is_within(full, 1125.0, 0.01) && (8.0..=12.0).contains(&waiting), "{full} {waiting}");
    for drain in [Drain::Steady, Drain::Off] {
        let (full, _) = rate(drain, 0);
        assert!(is_within(full, 1125.0, 0.01), "{full}");
    }
    // With an exact clock the first queue after a drain is next to nothing, so it drains again and again. In whole
    // milliseconds it is 1, so it drains at 3, to a half: three quarters in the mean.
    let (collapsed, _) = rate(Drain::Paper, 0);
    let (coarse, _) = rate(Drain::Paper, 1_000_000_000);
    assert!(collapsed < 500.0 && is_within(coarse, 0.75 * 1125.0, 0.05), "{collapsed} {coarse}");
}
