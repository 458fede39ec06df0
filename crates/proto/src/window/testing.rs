//! What tests of window controls need: mean-field equations, a path that loses packets, a link with a queue.

use std::collections::VecDeque;

use anabranch_core::Time;

use super::{Acked, Coupling, Delivery, Flow, Signal, WindowControl};

/// A subflow in congestion avoidance; its round trip in seconds.
pub fn flow(window: f64, rtt: f64) -> Flow {
    Flow { threshold: 1.0, rtt, ..Flow::new(window) }
}

/// Whether two numbers are within a millionth of each other.
pub fn is_near(a: f64, b: f64) -> bool {
    is_within(a, b, 1e-6)
}

/// Whether two numbers are within this share of each other.
pub fn is_within(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * b.abs().max(1e-12)
}

/// A wireless link of 10 ms that loses 4 %, and a mobile one of 100 ms that loses 1 % [wischik2011, sec. 2].
pub const WIFI_AND_3G: [(f64, f64); 2] = [(0.01, 0.04), (0.1, 0.01)];

/// The rates in packets a second at which the mean-field equations of a coupling stand still, where each path has a round
/// trip in seconds and loses a share of the packets:
///
/// ```text
/// d window / d time = rate (increase - loss (window - decreased))
/// ```
pub fn settled<C: Coupling>(coupling: &C, paths: &[(f64, f64)]) -> Vec<f64> {
    const STEP: f64 = 1e-3;
    let mut flows: Vec<Flow> = paths.iter().map(|&(rtt, _)| flow(10.0, rtt)).collect();
    for _ in 0..200_000 {
        let drift = |(subflow, &(_, loss)): (usize, &(f64, f64))| {
            let down = flows[subflow].window - coupling.decreased(&flows, subflow);
            flows[subflow].rate() * (coupling.increase(&flows, subflow) - loss * down)
        };
        let drifts: Vec<f64> = paths.iter().enumerate().map(drift).collect();
        for (flow, drift) in flows.iter_mut().zip(drifts) {
            flow.window = (flow.window + STEP * drift).max(1e-3);
        }
    }
    flows.iter().map(Flow::rate).collect()
}

/// What an acknowledgement of one packet says if nothing is known but its round trip.
pub fn acked(now: f64, rtt: f64) -> Acked {
    Acked {
        now: Time::from_seconds(now).expect("tests end"),
        packets: 1,
        marked: 0,
        rtt: Some(rtt),
        smoothed: rtt,
        in_flight: (1, 0),
        is_limited: true,
        ends_round: false,
        is_recovering: false,
        delivery: None,
    }
}

/// The mean window of subflow 0 in time over the last half of so many packets, on a path of a constant round trip that
/// loses those packets of which `is_lost` says so; of those under way at a loss no second one counts.
pub fn mean_window(
    control: &mut dyn WindowControl,
    rtt: f64,
    packets: u64,
    mut is_lost: impl FnMut(u64) -> bool,
) -> f64 {
    control.open(0, Time(0));
    let (mut now, mut area, mut time) = (0.0, 0.0, 0.0);
    let (mut recovery, mut round) = (0, 0);
    for number in 0..packets {
        let window = control.window(0);
        let step = rtt / window;
        now += step;
        if number >= packets / 2 {
            area += window * step;
            time += step;
        }
        let in_flight = window as u32;
        let next = number + u64::from(in_flight);
        if is_lost(number) && number >= recovery {
            recovery = next;
            control.on_signal(0, Signal::Loss, in_flight, Time::from_seconds(now).expect("tests end"));
            continue;
        }
        let ends_round = number >= round;
        if ends_round {
            round = next;
        }
        let is_recovering = number < recovery;
        let in_flight = (in_flight, in_flight.saturating_sub(1));
        control.on_ack(0, &Acked { in_flight, ends_round, is_recovering, ..acked(now, rtt) });
    }
    area / time
}

/// A link with a queue that never overflows, and a source with one path over it that always has more to send.
pub struct ToyLink {
    /// In packets a second.
    pub rate: f64,
    /// The round trip without the queue, in seconds.
    pub delay: f64,
    /// Bits of a packet.
    pub packet: f64,
}

/// How a toy link stands when an acknowledgement has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// In seconds.
    pub now: f64,
    /// Packets that wait or are being sent by the link.
    pub queue: f64,
    /// Packets under way.
    pub in_flight: u32,
}

/// A packet under way on a toy link; times in seconds.
struct Sent {
    number: u64,
    at: f64,
    back_at: f64,
    delivered: u64,
    delivered_at: f64,
    first_at: f64,
}

impl ToyLink {
    /// Lets subflow 0 of a control send for so long, and shows how the link stands after each acknowledgement.
    pub fn run(&self, control: &mut dyn WindowControl, seconds: f64, mut look: impl FnMut(&Seen)) {
        control.open(0, Time(0));
        let mut sent: VecDeque<Sent> = VecDeque::new();
        let (mut now, mut free_at, mut next_send) = (0.0_f64, 0.0_f64, 0.0_f64);
        let (mut delivered, mut delivered_at, mut first_at) = (0, 0.0, 0.0);
        let (mut next, mut round, mut is_limited) = (0, 0, false);
        let mut smoothed = 0.0;
        while now < seconds {
            let has_room = (sent.len() + 1) as f64 <= control.window(0);
            let back_at = sent.front().map_or(f64::INFINITY, |first| first.back_at);
            if has_room && next_send.max(now) < back_at {
                now = next_send.max(now);
                free_at = free_at.max(now) + 1.0 / self.rate;
                if sent.is_empty() {
                    (delivered_at, first_at) = (now, now);
                }
                sent.push_back(Sent {
                    number: next,
                    at: now,
                    back_at: free_at + self.delay,
                    delivered,
                    delivered_at,
                    first_at,
                });
                next += 1;
                is_limited = (sent.len() + 1) as f64 > control.window(0);
                if let Some(pace) = control.pace(0) {
                    next_send = now + self.packet / pace.0;
                }
                continue;
            }
            now = back_at;
            let newest = sent.pop_front().expect("a window lets one packet go");
            let rtt = now - newest.at;
            smoothed = if smoothed == 0.0 { rtt } else { smoothed + (rtt - smoothed) / 8.0 };
            delivered += 1;
            delivered_at = now;
            let between = (newest.at - newest.first_at).max(now - newest.delivered_at);
            first_at = newest.at;
            let ends_round = newest.number >= round;
            if ends_round {
                round = next;
            }
            let in_flight = sent.len() as u32;
            let delivery = Delivery {
                rate: (delivered - newest.delivered) as f64 / between,
                before: newest.delivered,
                delivered,
                is_limited_by_source: false,
            };
            let news = Acked {
                smoothed,
                in_flight: (in_flight + 1, in_flight),
                is_limited,
                ends_round,
                delivery: Some(delivery),
                ..acked(now, rtt)
            };
            control.on_ack(0, &news);
            look(&Seen { now, queue: (free_at - now).max(0.0) * self.rate, in_flight });
        }
    }

    /// The mean queue in packets from a time on, in seconds.
    pub fn mean_queue(&self, control: &mut dyn WindowControl, from: f64, to: f64) -> f64 {
        let (mut last, mut area) = (from, 0.0);
        self.run(control, to, |seen| {
            if seen.now > last {
                area += seen.queue * (seen.now - last);
                last = seen.now;
            }
        });
        area / (last - from)
    }
}
