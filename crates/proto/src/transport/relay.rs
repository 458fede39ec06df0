//! A relay ends one or more loops and begins the next loop. It keeps data until the next loop takes them, and decides
//! which input goes first. It reports to the loops before how much room it has and how fast the next loop sends, and
//! slows them down by marks.
//!
//! The driver has the sinks of the loops before and the source of the next loop, and moves bytes between them by
//! `on_data` and `take`. Each input has its own queue. The next loop takes packets from the inputs in turns, by weight
//! [shreedhar1996].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::packets::Ack;

/// A loop that was granted fewer packets a second receives an increase at once: its packets are too rare for
/// acknowledgements to carry the news.
const SELDOM: u64 = 10;

/// Settings of a loop that ends at a relay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputSettings {
    /// Share of the next loop, relative to other inputs; over 0.
    pub weight: f64,
    /// Marking of the packets that arrive, which slows the loop down.
    pub marking: Marking,
}

/// The share of arriving packets that the relay marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marking {
    /// Marks no packets.
    Never,
    /// Marks this share of all packets.
    Share(f64),
    /// Marks in proportion to the backlog of the input: all packets where it exceeds what the next loop sends in this
    /// many seconds, or two of its packets if these are more. Queues empty by it.
    Backlog(f64),
}

/// Which rate of the next loop a relay reports to the loops before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The sending rate of the next loop.
    Sent,
    /// The delivery rate of the next loop, if that is less and its window keeps it from sending more.
    Through,
}

/// A relay of one or more loops into one.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Bytes of each input that may wait.
    buffer: u64,
    /// Packet size of the next loop, in bytes: an input may send this much in a turn for each unit of weight.
    packet: u32,
    inputs: Vec<Input>,
    /// Input whose turn it is.
    turn: usize,
    /// Sending rate of the next loop, in bits a second.
    onward_bps: u64,
}

/// Data from one of the loops before.
#[derive(Clone, Copy, Debug)]
struct Input {
    /// Weight relative to the least weight.
    weight: f64,
    marking: Marking,
    /// Bytes in order that wait.
    waiting: u64,
    /// Bytes that the input may still send in this turn.
    credit: f64,
    /// Room and rate of the next loop that the last acknowledgement reported.
    told: u64,
    told_bps: u64,
}

impl Relay {
    /// Creates an empty relay: `buffer` bytes of each input may wait, and packets of the next loop have `packet` bytes.
    pub fn new(buffer: u64, packet: u32, inputs: &[InputSettings]) -> Self {
        // The input of least weight may send a packet in each turn.
        let least = inputs.iter().map(|input| input.weight).fold(f64::INFINITY, f64::min);
        let input = |&InputSettings { weight, marking }: &InputSettings| {
            let weight = weight / least;
            Input { weight, marking, waiting: 0, credit: 0.0, told: buffer, told_bps: super::NO_RATE }
        };
        Self { buffer, packet, inputs: inputs.iter().map(input).collect(), turn: 0, onward_bps: super::NO_RATE }
    }

    /// Bytes of each input that may wait.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Adds bytes of an input that have arrived in order.
    pub fn on_data(&mut self, input: usize, bytes: u64) {
        self.inputs[input].waiting += bytes;
    }

    /// Bytes of an input that wait.
    pub fn waiting(&self, input: usize) -> u64 {
        self.inputs[input].waiting
    }

    /// Sets the sending rate of the next loop in bits a second; [`super::NO_RATE`] if it is not known.
    pub fn set_onward(&mut self, bps: u64) {
        self.onward_bps = bps;
    }

    /// Share of the packets of an input to mark now.
    pub fn share(&self, input: usize) -> f64 {
        match self.inputs[input].marking {
            Marking::Never => 0.0,
            Marking::Share(share) => share,
            Marking::Backlog(_) if self.onward_bps == super::NO_RATE => 0.0,
            Marking::Backlog(seconds) => {
                let most = (self.onward_bps as f64 / 8.0 * seconds).max(2.0 * f64::from(self.packet));
                (self.inputs[input].waiting as f64 / most).min(1.0)
            }
        }
    }

    /// Writes the room for an input and the sending rate of the next loop into an acknowledgement.
    pub fn inform(&mut self, input: usize, ack: &mut Ack) {
        let room = self.room(input);
        ack.room = ack.room.min(room);
        ack.onward_bps = self.onward_bps;
        (self.inputs[input].told, self.inputs[input].told_bps) = (room, self.onward_bps);
    }

    fn room(&self, input: usize) -> u64 {
        self.buffer.saturating_sub(self.inputs[input].waiting)
    }

    /// Whether the last acknowledgement to an input reported no room for packets of this many bytes, and now there is
    /// room.
    ///
    /// A lack of room at the sink itself does not count, since the relay cannot change it.
    pub fn is_to_be_told(&self, input: usize, packet: u64) -> bool {
        self.inputs[input].told < (2 * packet).min(self.room(input))
    }

    /// Whether the last reported rate of the next loop is less than ten packets of this many bytes a second.
    pub fn is_slow(&self, input: usize, packet: u64) -> bool {
        self.inputs[input].told_bps < 8 * packet * SELDOM
    }

    /// Whether the next loop now sends at twice the last reported rate or more, for an input that `is_slow`.
    pub fn is_to_be_told_of_rate(&self, input: usize, packet: u64) -> bool {
        self.is_slow(input, packet) && self.onward_bps / 2 >= self.inputs[input].told_bps
    }

    /// Removes the next packet of at most `most` bytes; returns its input and its bytes, or `None` if nothing waits.
    pub fn take(&mut self, most: u32) -> Option<(usize, u32)> {
        if self.inputs.iter().all(|input| input.waiting == 0) {
            return None;
        }
        loop {
            let input = &mut self.inputs[self.turn];
            let bytes = input.waiting.min(u64::from(most));
            if bytes > 0 && input.credit >= bytes as f64 {
                input.credit -= bytes as f64;
                input.waiting -= bytes;
                return Some((self.turn, bytes as u32));
            }
            if bytes == 0 {
                input.credit = 0.0;
            }
            self.turn = (self.turn + 1) % self.inputs.len();
            let next = &mut self.inputs[self.turn];
            next.credit += next.weight * f64::from(self.packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::transport::NO_RATE;

    fn marking(marking: Marking) -> Relay {
        Relay::new(5000, 1000, &[InputSettings { weight: 1.0, marking }])
    }

    fn relay(weights: &[f64]) -> Relay {
        relay_of(1000, weights)
    }

    fn relay_of(packet: u32, weights: &[f64]) -> Relay {
        let input = |&weight: &f64| InputSettings { weight, marking: Marking::Never };
        Relay::new(5000, packet, &weights.iter().map(input).collect::<Vec<_>>())
    }

    fn taken(relay: &mut Relay, packets: usize) -> Vec<usize> {
        (0..packets).filter_map(|_| relay.take(1000)).map(|(input, _)| input).collect()
    }

    #[test]
    fn inputs_take_turns_by_weight() {
        // Two packets of the second for one of the first, until the second has none.
        let mut relay = relay(&[0.5, 1.0]);
        relay.on_data(0, 4000);
        relay.on_data(1, 4000);
        let order = taken(&mut relay, 8);
        let first = |count: usize| order[..count].iter().filter(|&&input| input == 0).count();
        assert_eq!((first(3), first(6), order.len(), relay.take(1000)), (1, 2, 8, None));
    }

    #[test]
    fn who_had_nothing_saves_nothing_up() {
        let mut relay = relay(&[1.0, 1.0]);
        relay.on_data(0, 100_000);
        taken(&mut relay, 50);
        relay.on_data(1, 100_000);
        let second = taken(&mut relay, 20).iter().filter(|&&input| input == 1).count();
        assert!((9..=11).contains(&second), "{second}");
    }

    #[test]
    fn what_fills_up_a_packet_is_no_turn_of_its_own() {
        // 900 bytes of the first come each time that the second fills a packet of 1,000 up. In turns of 100 bytes it would
        // have a tenth; in turns of packets both have as much.
        let mut relay = relay(&[1.0, 1.0]);
        relay.on_data(1, 1_001_000);
        assert_eq!(relay.take(1000), Some((1, 1000)));
        let mut sent = [0, 0];
        for _ in 0..100 {
            relay.on_data(0, 900);
            let mut left = 1000;
            while left > 0 {
                let (input, bytes) = relay.take(left).unwrap();
                sent[input] += bytes;
                left -= bytes;
            }
        }
        assert!((45_000..=55_000).contains(&sent[0]), "{sent:?}");
    }

    #[test]
    fn a_sink_with_little_room_is_no_reason_to_tell_again_and_again() {
        let mut relay = relay(&[1.0]);
        let mut ack = Ack { newest: 0, seen: 1, complete: 9, room: 1500, marked: 0, delay_ns: 0, onward_bps: NO_RATE };
        relay.inform(0, &mut ack);
        assert_eq!(ack.room, 1500);
        assert!(!relay.is_to_be_told(0, 1000));
        // A full relay has told of 0, and has to tell of 2,000 bytes.
        relay.on_data(0, 5000);
        relay.inform(0, &mut ack);
        relay.take(1000);
        relay.take(1000);
        assert!(relay.is_to_be_told(0, 1000));
    }

    #[test]
    fn an_acknowledgement_tells_of_room_and_of_the_next_loop() {
        let mut relay = relay(&[1.0]);
        let mut ack =
            Ack { newest: 0, seen: 1, complete: 9, room: 1 << 40, marked: 0, delay_ns: 0, onward_bps: NO_RATE };
        relay.on_data(0, 4000);
        relay.set_onward(7_000_000);
        relay.inform(0, &mut ack);
        assert_eq!((ack.room, ack.onward_bps), (1000, 7_000_000));
        // It was told of one packet of room; when there is room for two it has to hear.
        assert!(!relay.is_to_be_told(0, 1000));
        relay.take(1000);
        assert!(relay.is_to_be_told(0, 1000));
        relay.inform(0, &mut Ack { room: 1 << 40, ..ack });
        assert!(!relay.is_to_be_told(0, 1000));
    }

    #[test]
    fn a_loop_that_was_told_of_next_to_nothing_hears_of_more_at_once() {
        let mut relay = relay(&[1.0]);
        let mut ack = Ack { newest: 0, seen: 1, complete: 9, room: 9, marked: 0, delay_ns: 0, onward_bps: NO_RATE };
        // Ten packets of 1,000 bytes in a second are 80 kbit/s.
        for (told, now, is_due) in [(8_000, 15_999, false), (8_000, 16_000, true), (80_000, 1_000_000_000, false)] {
            relay.set_onward(told);
            relay.inform(0, &mut ack);
            relay.set_onward(now);
            assert_eq!(relay.is_to_be_told_of_rate(0, 1000), is_due, "{told} {now}");
        }
        // One that was told nothing goes by the room alone.
        relay.set_onward(NO_RATE);
        relay.inform(0, &mut ack);
        relay.set_onward(1);
        assert!(!relay.is_to_be_told_of_rate(0, 1000));
    }

    #[test]
    fn marks_follow_what_waits() {
        // At 8 Mbit/s 10,000 bytes go in 10 ms; 2,500 wait.
        let mut relay = marking(Marking::Backlog(0.01));
        relay.on_data(0, 2500);
        assert!(relay.share(0) <= 0.0);
        relay.set_onward(8_000_000);
        assert!((relay.share(0) - 0.25).abs() < 1e-12);
        relay.set_onward(1);
        assert!(relay.share(0) >= 1.0);
        assert!((marking(Marking::Share(0.4)).share(0) - 0.4).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn what_comes_goes_and_by_weight(
            weights in prop::collection::vec(0.1..10.0_f64, 1..5),
            most in 1_u32..3000,
        ) {
            let mut relay = relay_of(most, &weights);
            let all = 1000 * u64::from(most);
            (0..weights.len()).for_each(|input| relay.on_data(input, all));
            // As long as all have something, each has its part within a turn.
            let mut sent = vec![0.0; weights.len()];
            while (0..weights.len()).all(|input| relay.waiting(input) > 0) {
                let (input, bytes) = relay.take(most).unwrap();
                sent[input] += f64::from(bytes);
            }
            let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
            let turns: Vec<f64> = sent.iter().zip(&weights).map(|(s, w)| s / (w / least * f64::from(most))).collect();
            let (low, high) = turns.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &t| (l.min(t), h.max(t)));
            prop_assert!(high - low <= 2.0, "{turns:?}");
            let rest: u64 = std::iter::from_fn(|| relay.take(most)).map(|(_, bytes)| u64::from(bytes)).sum();
            prop_assert_eq!(rest + sent.iter().sum::<f64>() as u64, all * weights.len() as u64);
        }
    }
}
