//! Snapshots of subflows, for coupled controls elsewhere.
//!
//! An example is several senders of one file whose paths share links. Each has its own control, which includes the
//! subflows of the others in the state that they report.

use super::MOST_WINDOW;

/// The state of a remote subflow that couplings read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowSnapshot {
    /// Congestion window in packets.
    pub window: f64,
    /// Smoothed round trip in seconds; 0 before the first.
    pub rtt: f64,
    /// A coupling-specific value: for OLIA the packets between losses, for wVegas the rate at the last saturation in
    /// packets a second; 0 otherwise.
    pub rank: f64,
    /// Whether the subflow is in slow start.
    pub is_starting: bool,
    /// Whether the subflow has timed out and nothing was acknowledged since.
    pub is_silent: bool,
}

impl SubflowSnapshot {
    /// The snapshot with values clamped to possible ones, so that no report can harm a control.
    #[must_use]
    pub fn bounded(self) -> Self {
        let number = |value: f64, least: f64, most: f64| if value >= least { value.min(most) } else { least };
        let rtt = number(self.rtt, 0.0, MOST_RTT);
        Self {
            window: number(self.window, 1.0, MOST_WINDOW),
            rtt: if rtt < LEAST_RTT { 0.0 } else { rtt },
            rank: number(self.rank, 0.0, MOST_RANK),
            ..self
        }
    }
}

/// Least and greatest reported round trip, in seconds; a shorter one counts as unknown.
const LEAST_RTT: f64 = 1e-7;
const MOST_RTT: f64 = 1e4;

/// The greatest rank.
const MOST_RANK: f64 = 1e15;

#[cfg(test)]
mod tests {
    use anabranch_core::Time;
    use proptest::num::f64::ANY;
    use proptest::prelude::*;

    use super::*;
    use crate::Protocol;
    use crate::control::ConnectionView;
    use crate::protocols::Control;
    use crate::testing::alone;
    use crate::window::testing::acked;
    use crate::window::{Acked, Signal, WindowControl};

    const COUPLED: [&str; 8] = ["coupled", "ewtcp", "lia", "olia", "balia", "wvegas", "nmcc", "uncoupled"];

    fn control(name: &str) -> Box<dyn WindowControl> {
        let protocol = Protocol::named(name).expect("it is a protocol");
        match protocol.source(&ConnectionView { subflows: 3, ..alone() }) {
            Control::Windows(control) => control,
            Control::Rates(_) => panic!("{name} keeps no windows"),
        }
    }

    /// What happens to a subflow.
    #[derive(Clone, Debug)]
    enum Happening {
        Open,
        Close,
        Acked { packets: u32, rtt: f64, ends_round: bool },
        Signal(Signal),
        Idle,
    }

    fn happening() -> impl Strategy<Value = Happening> {
        let acked = (0_u32..4, 1_u32..200, any::<bool>()).prop_map(|(packets, ms, ends_round)| Happening::Acked {
            packets,
            rtt: 1e-3 * f64::from(ms),
            ends_round,
        });
        let signal = prop_oneof![Just(Signal::Loss), Just(Signal::Mark), Just(Signal::Timeout)];
        prop_oneof![
            60 => acked,
            3 => signal.prop_map(Happening::Signal),
            1 => Just(Happening::Open),
            1 => Just(Happening::Close),
            1 => Just(Happening::Idle),
        ]
    }

    /// What another says, or that it is gone.
    fn told() -> impl Strategy<Value = Option<SubflowSnapshot>> {
        let snapshot =
            (ANY, ANY, ANY, any::<bool>(), any::<bool>()).prop_map(|(window, rtt, rank, is_starting, is_silent)| {
                SubflowSnapshot { window, rtt, rank, is_starting, is_silent }
            });
        let likely = (1.0..100.0, 1e-3..1.0, 0.0..1e4).prop_map(|(window, rtt, rank)| SubflowSnapshot {
            window,
            rtt,
            rank,
            is_starting: false,
            is_silent: false,
        });
        prop::option::weighted(0.8, prop_oneof![snapshot, likely])
    }

    fn tell(control: &mut dyn WindowControl, subflow: usize, happening: &Happening, at: u64) {
        let now = Time::ms(at);
        match *happening {
            Happening::Open => control.open(subflow, now),
            Happening::Close => control.close(subflow),
            Happening::Acked { packets, rtt, ends_round } => {
                let news = Acked { now, packets, ends_round, in_flight: (8, 4), ..acked(0.0, rtt) };
                control.on_ack(subflow, &news);
            }
            Happening::Signal(signal) => control.on_signal(subflow, signal, 100, now),
            Happening::Idle => control.on_idle(subflow),
        }
    }

    proptest! {
        /// Three senders, each with a subflow, that know at any time how those of the others stand, do what one does that has
        /// all three.
        #[test]
        fn controls_that_exchange_snapshots_are_as_one(
            name in prop::sample::select(&COUPLED[..]),
            happenings in prop::collection::vec((0_usize..3, happening()), 1..400),
        ) {
            let mut joint = control(name);
            let mut apart: Vec<_> = (0..3).map(|_| control(name)).collect();
            let mut is_open = [false; 3];
            for (at, (subflow, happening)) in happenings.iter().enumerate() {
                match happening {
                    Happening::Open => is_open[*subflow] = true,
                    Happening::Close => is_open[*subflow] = false,
                    _ if !is_open[*subflow] => continue,
                    _ => {}
                }
                tell(joint.as_mut(), *subflow, happening, at as u64);
                tell(apart[*subflow].as_mut(), *subflow, happening, at as u64);
                let snapshot = apart[*subflow].snapshot(*subflow);
                prop_assert_eq!(snapshot.is_some(), is_open[*subflow], "{} tells of what is open", name);
                (0..3).filter(|other| other != subflow).for_each(|other| apart[other].set_remote(*subflow, snapshot));
                for (subflow, control) in apart.iter().enumerate().filter(|(subflow, _)| is_open[*subflow]) {
                    let (own, wanted) = (control.window(subflow), joint.window(subflow));
                    prop_assert!((own - wanted).abs() <= 1e-9 * wanted, "{}: {} for {}", name, own, wanted);
                }
            }
        }

        /// Whatever others say, windows stay numbers, and in congestion avoidance each grows no faster than twice as fast as
        /// one TCP: by two packets in a round trip.
        #[test]
        fn nobody_can_be_made_greedy(
            name in prop::sample::select(&COUPLED[..]),
            happenings in prop::collection::vec((0_usize..2, happening(), prop::option::of(told())), 1..200),
        ) {
            let mut control = control(name);
            (0..2).for_each(|own| control.open(own, Time(0)));
            for (at, (own, happening, told)) in happenings.iter().enumerate() {
                if let Some(snapshot) = told {
                    control.set_remote(2, snapshot.map(SubflowSnapshot::bounded));
                }
                let Some(before) = control.snapshot(*own) else {
                    control.open(*own, Time(0));
                    continue;
                };
                tell(control.as_mut(), *own, happening, at as u64);
                let after = control.window(*own);
                prop_assert!((1.0..=MOST_WINDOW).contains(&after), "{}: {}", name, after);
                if let Happening::Acked { packets, .. } = *happening {
                    // wVegas adds a packet once a round, whatever was acknowledged in it.
                    let most = if name == "wvegas" { 1.0 } else { 2.0 * f64::from(packets) / before.window };
                    prop_assert!(
                        before.is_starting || after <= before.window + most * (1.0 + 1e-9),
                        "{}: {} after {}", name, after, before.window
                    );
                }
            }
        }
    }
}
