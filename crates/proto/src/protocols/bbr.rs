//! BBR, version 1: sends at the delivery rate of the bottleneck, with about as many packets in flight as fit without a
//! queue [cardwell2016].
//!
//! ```text
//! bandwidth = greatest delivery rate of ten rounds      round trip = least of ten seconds
//! pace      = pacing gain 0.99 bandwidth                window = window gain bandwidth round trip + 3, even
//!
//! startup   both gains 2 / ln 2, until the bandwidth has grown by less than a quarter in three rounds
//! drain     pacing gain ln 2 / 2, until no more is in flight than fits
//! probing   pacing gains 1.25, 0.75, 1, 1, 1, 1, 1, 1, each for about a round trip; window gain 2
//! round trip probing   a window of 4 for 200 ms and a round, where no round trip was as short for ten seconds
//! ```
//!
//! A round lasts until a packet is acknowledged that was sent after the round began. Marks and losses change nothing,
//! except that after a loss the window equals the packets in flight, for a round. After a timeout it is 1 until an
//! acknowledgement arrives.
//!
//! differs: the phase in which probing begins is random in the original, but never the one with 0.75; here the digits
//! of the present time stand for chance. Bursts get room for three packets only. Policers are not detected.

use anabranch_core::quantity::SpanText;
use anabranch_core::{Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::bbr_model::Model;
use crate::protocols::capabilities::{Capabilities, Paths};
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Acked, MOST_WINDOW, PACES, Signal, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { paths: Paths::Each, ..Capabilities::WINDOWS };

/// The gain that doubles the rate in a round trip: 2 / ln 2.
const HIGH: f64 = 2.0 * std::f64::consts::LOG2_E;

/// Pacing gains while probing for bandwidth.
const PHASES: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Part of the bandwidth at which packets are paced, so that queues do not last.
const MARGIN: f64 = 0.99;

/// Room in packets for packets that wait at the source and acknowledgements that wait at the sink.
const ROOM: f64 = 3.0;

/// The least window in packets, except after a timeout.
const LEAST: f64 = 4.0;

/// Round trip that is assumed before the first is known, in seconds.
const FIRST_RTT: f64 = 1e-3;

/// Parameters of BBR; the defaults are those of Linux.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BbrParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Packets in flight while probing for bandwidth, relative to those that fit without a queue; 1 to 10.
    #[serde(deserialize_with = "gain")]
    #[schemars(range(min = 1, max = 10))]
    pub window_gain: f64,
    /// Time for which the least round trip counts before it is probed for; 100 ms to 1000 s.
    #[serde(deserialize_with = "memory")]
    pub round_trip_memory: SpanText,
    /// The least duration of a probe for the round trip; 1 ms to 10 s.
    #[serde(deserialize_with = "probe")]
    pub round_trip_probe: SpanText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { window_gain: 2.0, round_trip_memory: SpanText(Span::s(10)), round_trip_probe: SpanText(Span::ms(200)) }
    }
}

fn gain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1.0..=10.0, deserializer)
}

fn memory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    range::span(Span::ms(100)..=Span::s(1000), deserializer)
}

fn probe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    range::span(Span::ms(1)..=Span::s(10), deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let packet = 8.0 * connection.packet.0 as f64;
    Box::new(Bbr::new(parameters.clone(), packet, connection.first_window))
}

/// The mode of the control.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    /// Probing for bandwidth: the phase, and its beginning in seconds.
    Bandwidth(usize, f64),
    /// Probing for the round trip; `Some` once the packets in flight fit the small window.
    RoundTrip(Option<Probe>),
}

/// A probe for the round trip with its small window reached.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Probe {
    /// Earliest end of the probe, in seconds.
    end: f64,
    /// Whether a round has passed.
    has_lasted: bool,
}

struct Bbr {
    parameters: Parameters,
    /// Packet size in bits.
    packet: f64,
    first: f64,
    mode: Mode,
    model: Model,
    window: f64,
    /// Window before a loss, or before the probe for the round trip.
    prior: f64,
    recovery: Recovery,
    has_lost: bool,
    is_restarting: bool,
    /// Pace in packets a second.
    pace: f64,
}

/// State after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// A loss is known, and the acknowledgement that revealed it is not yet counted.
    Begins,
    /// For a round, as many packets leave as are acknowledged.
    Conserves,
    Grows,
    /// A timeout: all packets in flight are lost.
    TimedOut,
}

impl Bbr {
    fn new(parameters: Parameters, packet: f64, first: f64) -> Self {
        Self {
            parameters,
            packet,
            first,
            mode: Mode::Startup,
            model: Model::new(),
            window: first,
            prior: 0.0,
            recovery: Recovery::None,
            has_lost: false,
            is_restarting: false,
            pace: HIGH * first / FIRST_RTT,
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => 1.0 / HIGH,
            Mode::Bandwidth(phase, _) => PHASES[phase],
            Mode::RoundTrip(_) => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::Bandwidth(..) => self.parameters.window_gain,
            Mode::RoundTrip(_) => 1.0,
        }
    }

    /// Window in packets for `gain` times the packets that fit without a queue.
    fn target(&self, gain: f64) -> f64 {
        let Some(fits) = self.model.fits(gain) else { return self.first };
        let even = ((fits.ceil() + ROOM) * 0.5).ceil() * 2.0;
        if matches!(self.mode, Mode::Bandwidth(0, _)) { even + 2.0 } else { even }
    }

    fn probe_bandwidth(&mut self, now: Time) {
        // Any phase except the second.
        let phase = (chance(now.0) % 7) as usize;
        self.mode = Mode::Bandwidth(if phase == 0 { 0 } else { phase + 1 }, now.seconds());
    }

    /// Advances the phases while probing for bandwidth.
    fn advance(&mut self, acked: &Acked) {
        let Mode::Bandwidth(phase, since) = self.mode else { return };
        let now = acked.now.seconds();
        let is_over = now - since > self.model.rtt;
        let in_flight = f64::from(acked.in_flight.0);
        let gain = PHASES[phase];
        let goes_on = if gain > 1.0 {
            is_over && (self.has_lost || in_flight >= self.target(gain))
        } else {
            is_over || (gain < 1.0 && in_flight <= self.target(1.0))
        };
        if goes_on {
            self.mode = Mode::Bandwidth((phase + 1) % PHASES.len(), now);
        }
    }

    /// Detects whether startup has filled the path, and drains the queue that startup has built.
    fn leave_startup(&mut self, acked: &Acked, begins_round: bool) {
        let is_told = begins_round && acked.delivery.is_some_and(|delivery| !delivery.is_limited_by_source);
        if is_told && !self.model.is_full {
            self.model.look_for_plateau();
        }
        if self.mode == Mode::Startup && self.model.is_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && f64::from(acked.in_flight.1) <= self.target(1.0) {
            self.probe_bandwidth(acked.now);
        }
    }

    /// Measures the least round trip, and empties the path to measure it again where it is out of date.
    fn measure_round_trip(&mut self, acked: &Acked, begins_round: bool) {
        let now = acked.now.seconds();
        let is_old = now > self.model.rtt_at + self.parameters.round_trip_memory.0.seconds();
        if let Some(rtt) = acked.rtt.filter(|&rtt| rtt <= self.model.rtt || is_old) {
            (self.model.rtt, self.model.rtt_at) = (rtt, now);
        }
        let is_probing = matches!(self.mode, Mode::RoundTrip(_));
        if is_old && !is_probing && !self.is_restarting {
            self.save();
            self.mode = Mode::RoundTrip(None);
        }
        match self.mode {
            Mode::RoundTrip(None) if f64::from(acked.in_flight.1) <= LEAST => {
                let end = now + self.parameters.round_trip_probe.0.seconds();
                self.mode = Mode::RoundTrip(Some(Probe { end, has_lasted: false }));
                self.model.begin_round();
            }
            Mode::RoundTrip(Some(probe)) => {
                let has_lasted = probe.has_lasted || begins_round;
                self.mode = Mode::RoundTrip(Some(Probe { has_lasted, ..probe }));
                if has_lasted && now > probe.end {
                    self.model.rtt_at = now;
                    self.window = self.window.max(self.prior);
                    if self.model.is_full { self.probe_bandwidth(acked.now) } else { self.mode = Mode::Startup }
                }
            }
            _ => {}
        }
    }

    /// Saves the window, to be restored after a loss or a probe.
    fn save(&mut self) {
        let is_disturbed = self.recovery != Recovery::None || matches!(self.mode, Mode::RoundTrip(_));
        self.prior = if is_disturbed { self.prior.max(self.window) } else { self.window };
    }

    /// Updates the recovery from a loss; true if recovery determines the window.
    fn recover(&mut self, acked: &Acked, begins_round: bool) -> bool {
        let fits = f64::from(acked.in_flight.1) + f64::from(acked.packets);
        match self.recovery {
            Recovery::None => return false,
            _ if !acked.is_recovering => {
                self.recovery = Recovery::None;
                self.window = self.window.max(self.prior);
                return false;
            }
            Recovery::Begins | Recovery::TimedOut => {
                self.recovery = Recovery::Conserves;
                self.model.begin_round();
                self.window = fits;
            }
            Recovery::Conserves if begins_round => self.recovery = Recovery::Grows,
            Recovery::Conserves => self.window = self.window.max(fits),
            Recovery::Grows => {}
        }
        self.recovery == Recovery::Conserves
    }

    fn set_window(&mut self, acked: &Acked, begins_round: bool) {
        if !self.recover(acked, begins_round) {
            let target = self.target(self.window_gain());
            let packets = f64::from(acked.packets);
            if self.model.is_full {
                self.window = (self.window + packets).min(target);
            } else if self.window < target || (self.model.delivered as f64) < self.first {
                self.window += packets;
            }
            self.window = self.window.max(LEAST);
        }
        let most = if matches!(self.mode, Mode::RoundTrip(_)) { LEAST } else { MOST_WINDOW };
        self.window = self.window.clamp(1.0, most);
    }

    fn set_pace(&mut self, acked: &Acked) {
        let bandwidth = self.model.bandwidth();
        let gain = self.pacing_gain();
        if bandwidth > 0.0 {
            let pace = gain * MARGIN * bandwidth;
            // At first, delivery rates say little of the path.
            if self.model.is_full || pace > self.pace || self.model.round <= 1 {
                self.pace = pace;
            }
        } else if acked.smoothed > 0.0 {
            self.pace = HIGH * self.first / acked.smoothed;
        }
    }
}

/// Mixes the bits of a number.
fn chance(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl WindowControl for Bbr {
    fn open(&mut self, _: usize, now: Time) {
        *self = Self::new(self.parameters.clone(), self.packet, self.first);
        self.model.rtt_at = now.seconds();
    }

    fn close(&mut self, _: usize) {}

    fn on_ack(&mut self, _: usize, acked: &Acked) {
        let begins_round = acked.delivery.is_some_and(|delivery| self.model.on_delivery(&delivery));
        self.advance(acked);
        self.leave_startup(acked, begins_round);
        self.measure_round_trip(acked, begins_round);
        self.set_pace(acked);
        self.set_window(acked, begins_round);
        (self.has_lost, self.is_restarting) = (false, false);
    }

    fn on_signal(&mut self, _: usize, signal: Signal, _: u32, _: Time) {
        if signal == Signal::Mark {
            return;
        }
        self.save();
        self.has_lost = true;
        self.recovery = if signal == Signal::Loss { Recovery::Begins } else { Recovery::TimedOut };
        if signal == Signal::Timeout {
            self.window = 1.0;
            self.model.forget_plateau();
        }
    }

    fn on_idle(&mut self, _: usize) {
        self.is_restarting = true;
        if matches!(self.mode, Mode::Bandwidth(..)) {
            self.pace = MARGIN * self.model.bandwidth();
        }
    }

    fn window(&self, _: usize) -> f64 {
        self.window
    }

    fn pace(&self, _: usize) -> Option<Rate> {
        Some(Rate(self.packet * self.pace.clamp(*PACES.start(), *PACES.end())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::testing::{ToyLink, acked, is_near, is_within};

    const LINK: ToyLink = ToyLink { rate: 1000.0, delay: 0.05, packet: 8000.0 };

    fn bbr() -> Bbr {
        Bbr::new(Parameters::default(), 8000.0, 10.0)
    }

    #[test]
    fn it_finds_bandwidth_and_round_trip_and_keeps_queues_short() {
        let mut bbr = bbr();
        let (mut in_flight, mut queue, mut packets) = (0.0, 0.0, 0.0);
        LINK.run(&mut bbr, 9.0, |seen| {
            if seen.now > 2.0 {
                in_flight += f64::from(seen.in_flight);
                queue += seen.queue;
                packets += 1.0;
            }
        });
        assert!(matches!(bbr.mode, Mode::Bandwidth(..)), "{:?}", bbr.mode);
        // 1000 packets a second; 50 ms and one to send it.
        assert!(is_within(bbr.model.bandwidth(), 1000.0, 0.02), "{}", bbr.model.bandwidth());
        assert!(is_within(bbr.model.rtt, 0.051, 0.02), "{}", bbr.model.rtt);
        // 51 packets fit without a queue. In one of eight phases a quarter more is under way.
        assert!(is_within(in_flight / packets, 51.0, 0.15) && queue / packets < 8.0, "{}", in_flight / packets);
        assert!(is_within(packets, 7000.0, 0.03), "{packets}");
    }

    #[test]
    fn every_ten_seconds_it_looks_for_a_shorter_round_trip() {
        let mut bbr = bbr();
        let mut least = u32::MAX;
        LINK.run(&mut bbr, 11.0, |seen| {
            if seen.now > 2.0 {
                least = least.min(seen.in_flight);
            }
        });
        assert!(least <= 4 && matches!(bbr.mode, Mode::Bandwidth(..)), "{least} {:?}", bbr.mode);
    }

    #[test]
    fn marks_change_nothing_and_losses_keep_what_is_under_way() {
        let mut bbr = bbr();
        LINK.run(&mut bbr, 5.0, |_| {});
        let window = bbr.window;
        bbr.on_signal(0, Signal::Mark, 60, Time(0));
        assert!(is_near(bbr.window, window));
        bbr.on_signal(0, Signal::Loss, 60, Time(0));
        bbr.on_ack(0, &Acked { in_flight: (60, 56), is_recovering: true, ..acked(5.0, 0.06) });
        assert!(is_near(bbr.window, 57.0), "{}", bbr.window);
        bbr.on_ack(0, &Acked { in_flight: (60, 56), ..acked(5.1, 0.06) });
        assert!(is_near(bbr.window, window), "{} {window}", bbr.window);
        bbr.on_signal(0, Signal::Timeout, 60, Time(0));
        assert!(is_near(bbr.window, 1.0));
        bbr.on_ack(0, &Acked { in_flight: (1, 0), ..acked(6.0, 0.06) });
        assert!(is_near(bbr.window, window), "{} {window}", bbr.window);
    }
}
