//! What holds for all disciplines, whatever comes and goes.

use std::collections::BTreeMap;

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Bytes, Rate, Time};
use proptest::prelude::*;

use super::testing::{Driven, at_most, of_flow, packets, read, with_ecn};
use super::{Discipline, Ecn, Item, Limits, QUEUES, QueueDiscipline};

/// All disciplines with their defaults, and some with parameters that make them act often.
fn all() -> Vec<QueueDiscipline> {
    let eager = [
        "red = { min = 0.5, max = 3, weight = 0.5, max_probability = 1 }",
        "ecn-step.threshold = 1",
        "codel = { target = \"1 us\", interval = \"1 us\" }",
        "pie = { target = \"1 us\", update = \"1 us\", burst = \"0 s\", alpha = 1000, beta = 1000, most_marked = 1 }",
        "fq-codel = { target = \"1 us\", interval = \"1 us\", quantum = \"1 B\", queues = 2 }",
        "drr.quantum = \"1 B\"",
        "dualpi2 = { target = \"1 us\", update = \"1 us\", alpha = 1000, coupling = 0.5, threshold = \"0 s\" }",
        "dualpi2 = { scheduler = \"time-shift\", time_shift = \"0 s\", ramp = \"0 s\", coupling = 3 }",
    ];
    let defaults = QUEUES.iter().map(|(name, ..)| QueueDiscipline::named(name).unwrap());
    defaults.chain(eager.iter().map(|text| read(text).unwrap())).collect()
}

/// What happens at a link.
#[derive(Clone, Debug)]
enum Event {
    Comes { flow: u32, bytes: u32 },
    IsFree,
    Waits { picoseconds: u64 },
    Changes { capacity: f64 },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let bytes = prop_oneof![Just(0), Just(500), Just(1500), 1..2000_u32, Just(u32::MAX)];
    let spans = prop_oneof![0..10_000_000_u64, 0..100_000_000_000_000_u64, Just(u64::MAX / 4)];
    let capacities = prop_oneof![Just(0.0), Just(1e6), Just(1e9), Just(1e100), Just(f64::INFINITY)];
    let event = prop_oneof![
        8 => (0..6_u32, bytes).prop_map(|(flow, bytes)| Event::Comes { flow, bytes }),
        6 => Just(Event::IsFree),
        4 => spans.prop_map(|picoseconds| Event::Waits { picoseconds }),
        1 => capacities.prop_map(|capacity| Event::Changes { capacity }),
    ];
    prop::collection::vec(event, 0..200)
}

fn limits() -> impl Strategy<Value = Limits> {
    (prop::option::of(0..20_u32), prop::option::of(0..20_000_u64))
        .prop_map(|(packets, bytes)| Limits { packets, bytes: bytes.map(Bytes) })
}

/// A link with a queue, and what is known of the packets that wait.
struct Link {
    queue: Box<dyn Discipline>,
    limits: Limits,
    now: Time,
    capacity: Rate,
    waiting: BTreeMap<u32, Item>,
    came: u32,
    /// The last packet that left, for each flow.
    left: BTreeMap<u32, u32>,
}

impl Link {
    fn new(queue: &QueueDiscipline, limits: Limits) -> Self {
        let queue = queue.discipline(limits, stream(1, Purpose::Faults, 0));
        let (now, capacity) = (Time(0), Rate(1e6));
        Self { queue, limits, now, capacity, waiting: BTreeMap::new(), came: 0, left: BTreeMap::new() }
    }

    fn happens(&mut self, event: &Event) {
        let mut dropped = Vec::new();
        match *event {
            Event::Comes { flow, bytes } => {
                // Packets of a flow are alike: a classic one may overtake another that is not.
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4];
                let item = Item { packet: self.came, bytes, flow, ecn, arrived: self.now };
                self.came += 1;
                self.waiting.insert(item.packet, item);
                self.queue.enqueue(self.now, Item { arrived: Time(7), ..item }, self.capacity, &mut dropped);
            }
            Event::IsFree => match self.queue.dequeue(self.now, self.capacity, &mut dropped) {
                Some(item) => self.leaves(&item),
                None => assert!(self.queue.is_empty(), "nothing was sent, and something is left"),
            },
            Event::Waits { picoseconds } => self.now = Time(self.now.0.saturating_add(picoseconds)),
            Event::Changes { capacity } => self.capacity = Rate(capacity),
        }
        for item in dropped {
            let came = self.waiting.remove(&item.packet).expect("only what waits is dropped, and once");
            assert_eq!((item.bytes, item.flow), (came.bytes, came.flow));
        }
        self.check();
    }

    fn leaves(&mut self, item: &Item) {
        let came = self.waiting.remove(&item.packet).expect("only what waits leaves, and once");
        let is_marked = item.ecn == Ecn::Ce && came.ecn != Ecn::NotEct;
        assert!(item.ecn == came.ecn || is_marked, "{:?} became {:?}", came.ecn, item.ecn);
        assert_eq!(Item { ecn: came.ecn, ..*item }, came);
        let before = self.left.insert(item.flow, item.packet);
        assert!(before < Some(item.packet), "{} left before {}", before.unwrap_or(0), item.packet);
    }

    fn check(&self) {
        assert_eq!(self.queue.len(), self.waiting.len());
        assert_eq!(self.queue.backlog(), Bytes(self.waiting.values().map(|item| u64::from(item.bytes)).sum()));
        assert!(self.limits.allow(self.queue.len(), self.queue.backlog().0), "over the limit");
    }
}

proptest! {
    #[test]
    fn packets_are_conserved_in_order_and_within_limits(events in events(), limits in limits()) {
        for queue in all() {
            let mut link = Link::new(&queue, limits);
            for event in &events {
                link.happens(event);
            }
            while !link.queue.is_empty() {
                link.happens(&Event::IsFree);
            }
            assert!(link.waiting.is_empty(), "{}", queue.name());
        }
    }

    #[test]
    fn the_same_events_give_the_same_packets(events in events(), limits in limits()) {
        for queue in all() {
            let mut links = [Link::new(&queue, limits), Link::new(&queue, limits)];
            for event in &events {
                for link in &mut links {
                    link.happens(event);
                }
            }
            assert_eq!(&links[0].left, &links[1].left);
        }
    }
}

#[test]
fn a_packet_that_comes_alone_leaves_as_it_came() {
    for queue in all() {
        for (flow, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().enumerate() {
            let mut driven = Driven::of(&queue, at_most(1));
            driven.offer(of_flow(with_ecn(packets(3..4, 1500), ecn), flow as u32));
            let sent = driven.send().expect("it is sent");
            assert_eq!((sent.packet, sent.ecn, driven.drops.len()), (3, ecn, 0), "{}", queue.name());
        }
    }
}

#[test]
fn files_name_a_discipline_or_give_parameters() {
    assert_eq!(read("codel").unwrap(), QueueDiscipline::named("codel").unwrap());
    let red = read("red = { min = 5, max = 15 }").unwrap();
    assert_eq!(red, QueueDiscipline::named("red").unwrap());
    assert_eq!((red.name(), red.title()), ("red", "RED"));
}

#[test]
fn what_is_written_reads_as_the_same() {
    for queue in all() {
        let text = serde_json::to_string(&queue).unwrap();
        assert_eq!(serde_json::from_str::<QueueDiscipline>(&text).unwrap(), queue, "{text}");
    }
}

#[test]
fn mistakes_are_told_with_what_would_do() {
    for (text, said) in [
        ("cdel", "there is no queue discipline `cdel` (did you mean `codel`?)"),
        ("codel.target = \"0 s\"", "it is 0 ps; it must be 1 us to 100 s"),
        ("codel.target = 5", "a time in quotes with its unit, such as \"5 ms\""),
        ("codel.aim = \"5 ms\"", "unknown field `aim`"),
        ("drop-tail.packets = 5", "unknown field `packets`"),
        ("drr.quantum = \"0 B\"", "it is 0; it must be 1 B to 1 GB"),
        ("dualpi2.coupling = 0", "it is 0; it must be over 0 and at most 100"),
        ("dualpi2.scheduler = \"fair\"", "unknown variant `fair`, expected `weighted` or `time-shift`"),
        ("ecn-step.threshold = 0", "it is 0; it must be 1 or more"),
        ("fq-codel.queues = 100000", "it is 100000; it must be 1 to 65536"),
        ("pie.most_marked = nan", "it is NaN; it must be 0 to 1"),
        ("red.min = -1", "it is -1; it must be over 0 and at most 1e9"),
        ("red.weight = 2", "it is 2; it must be over 0 and at most 1"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn the_schema_has_each_discipline_and_its_parameters_under_names_of_their_own() {
    let schema = serde_json::to_string(&schemars::schema_for!(QueueDiscipline)).unwrap();
    assert!(schema.contains("\"title\":\"QueueDiscipline\""), "{schema}");
    for name in ["CoDel", "DropTail", "Drr", "DualPi2", "EcnStep", "FqCoDel", "Pie", "Red", "Wfq"] {
        assert!(schema.contains(&format!("\"{name}Parameters\"")), "{name} in {schema}");
    }
}

#[test]
fn flows_with_small_and_large_packets_send_as_many_bytes() {
    for name in ["drr", "wfq"] {
        let mut queue = Driven::new(name, Limits::default());
        queue.offer(of_flow(packets(0..600, 500), 1));
        queue.offer(of_flow(packets(0..200, 1500), 2));
        let mut sent = [0_u32; 3];
        for _ in 0..700 {
            let item = queue.send().unwrap();
            sent[item.flow as usize] += item.bytes;
            assert!(sent[1].abs_diff(sent[2]) <= 1500, "{name}: {sent:?}");
        }
    }
}
