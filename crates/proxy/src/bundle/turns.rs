//! Turns of clients whose flows share lines: while more than one has bytes that wait for a line, each has a part by weight.
//!
//! A client that has had more than its part, relative to the one that had least, takes in nothing more until that has caught
//! up. Without this each stream would have an equal part, and a client with many flows most of all. A client whose bytes do
//! not wait for a line is held up elsewhere, and nobody waits for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::pin::pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::carrier::Flow;
use super::greeting::Unreadable;

/// The least and the greatest weight of a client.
pub(crate) const LEAST_WEIGHT: f64 = 1e-3;
pub(crate) const MOST_WEIGHT: f64 = 1e3;

/// Bytes that a client may have beyond its part.
const AHEAD: f64 = 65_536.0;

/// Time between looks at what waits.
const LOOK: Duration = Duration::from_millis(4);

/// The most clients that have turns; those beyond have one together.
const MOST_CLASSES: usize = 4096;

/// The header with the share of a flow, in the request that begins it.
pub(crate) const SHARE: &str = "anabranch-share";

/// The client of a flow as a number, and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub client: u64,
    pub weight: f64,
}

impl Share {
    /// The header.
    pub fn write(&self) -> String {
        let mut text = self.client.to_string();
        // Writing into a string succeeds.
        let _ = write!(text, " {}", self.weight);
        text
    }
}

impl FromStr for Share {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let (client, weight) = text.split_once(' ').ok_or(Unreadable)?;
        let weight: f64 = weight.parse().map_err(|_| Unreadable)?;
        let client = client.parse().map_err(|_| Unreadable)?;
        let is_weight = (LEAST_WEIGHT..=MOST_WEIGHT).contains(&weight);
        if is_weight { Ok(Self { client, weight }) } else { Err(Unreadable) }
    }
}

/// The clients whose flows share lines.
#[derive(Default)]
pub(crate) struct Turns {
    classes: Mutex<Classes>,
    /// Who waits may have a turn.
    changed: Notify,
}

#[derive(Default)]
struct Classes {
    all: BTreeMap<u64, Class>,
    looked: Option<Instant>,
}

/// A client.
struct Class {
    weight: f64,
    /// Bytes that it has had, relative to its weight.
    had: f64,
    /// Whether some of its bytes wait for a line.
    is_waiting: bool,
    /// Number of its flows that wait for a turn.
    waits: usize,
    flows: Vec<Weak<Flow>>,
}

impl Class {
    /// Whether it waits for a line or for a turn.
    fn waits(&self) -> bool {
        self.is_waiting || self.waits > 0
    }
}

/// The place of a flow among others.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    client: u64,
}

impl Classes {
    /// Whether a client may have more.
    fn may(&self, client: u64) -> bool {
        let Some(own) = self.all.get(&client) else { return true };
        self.least(Some(client)).is_none_or(|least| (own.had - least) * own.weight < AHEAD)
    }

    /// What that client has had, of those that wait, that has had least; without one of them.
    fn least(&self, without: Option<u64>) -> Option<f64> {
        let waiting = self.all.iter().filter(|(client, class)| class.waits() && Some(**client) != without);
        waiting.map(|(_, class)| class.had).reduce(f64::min)
    }

    /// Finds out whose bytes wait. Others lose what they could have had.
    fn look(&mut self, now: Instant) {
        self.looked = Some(now);
        for class in self.all.values_mut() {
            class.is_waiting = false;
            class.flows.retain(|flow| {
                let Some(flow) = flow.upgrade() else { return false };
                class.is_waiting |= flow.backlog() > 0;
                true
            });
        }
        self.all.retain(|_, class| !class.flows.is_empty());
        let Some(least) = self.least(None) else { return };
        for class in self.all.values_mut().filter(|class| !class.waits()) {
            class.had = class.had.max(least);
        }
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Classes> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a flow a place among others.
    pub fn enter(self: &Arc<Self>, share: Share, flow: &Arc<Flow>) {
        let mut classes = self.lock();
        let is_room = classes.all.contains_key(&share.client) || classes.all.len() < MOST_CLASSES;
        let client = if is_room { share.client } else { u64::MAX };
        let had = classes.least(None).unwrap_or(0.0);
        let new = Class { weight: share.weight, had, is_waiting: false, waits: 0, flows: Vec::new() };
        let class = classes.all.entry(client).or_insert(new);
        class.flows.push(Arc::downgrade(flow));
        flow.take_turns(Turn { turns: self.clone(), client });
    }

    /// Looks at what waits, unless that was done just now.
    fn look(&self) {
        let now = Instant::now();
        let mut classes = self.lock();
        if classes.looked.is_none_or(|looked| now >= looked + LOOK) {
            classes.look(now);
            drop(classes);
            self.changed.notify_waiters();
        }
    }
}

impl Turn {
    /// Whether the flow may take in more now.
    pub fn is_there(&self) -> bool {
        self.turns.lock().may(self.client)
    }

    /// Waits until the flow may take in more.
    pub async fn come(&self) {
        if self.is_there() {
            return;
        }
        let _waits = Waits::new(self);
        loop {
            let mut woken = pin!(self.turns.changed.notified());
            woken.as_mut().enable();
            if self.is_there() {
                return;
            }
            tokio::select! {
                () = woken => {}
                // Who waits longest looks for all.
                () = sleep(LOOK) => self.turns.look(),
            }
        }
    }

    /// Counts bytes that the flow has taken in.
    pub fn note(&self, bytes: u64) {
        if let Some(class) = self.turns.lock().all.get_mut(&self.client) {
            class.had += bytes as f64 / class.weight;
        }
        self.turns.look();
    }
}

/// A flow that waits for its turn, until this is dropped.
struct Waits<'a>(&'a Turn);

impl<'a> Waits<'a> {
    fn new(turn: &'a Turn) -> Self {
        if let Some(class) = turn.turns.lock().all.get_mut(&turn.client) {
            class.waits += 1;
        }
        Self(turn)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if let Some(class) = self.0.turns.lock().all.get_mut(&self.0.client) {
            class.waits -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::time::timeout;

    use super::super::Store;
    use super::*;

    /// Flows of clients with these numbers and weights, with bytes that wait.
    fn flows(turns: &Arc<Turns>, shares: &[(u64, f64)]) -> Vec<Arc<Flow>> {
        let new = |&(client, weight): &(u64, f64)| {
            let flow = Flow::new(Arc::<Store>::default());
            turns.enter(Share { client, weight }, &flow);
            flow.write_first(Bytes::from_static(&[0; 1000]));
            flow
        };
        shares.iter().map(new).collect()
    }

    /// Bytes that each flow has had after many rounds in which each takes in a piece as soon as it may.
    fn had(flows: &[Arc<Flow>]) -> Vec<f64> {
        let mut had = vec![0.0; flows.len()];
        for _ in 0..10_000 {
            for (flow, had) in flows.iter().zip(&mut had) {
                let turn = flow.turn().expect("it has entered");
                if turn.is_there() {
                    turn.note(10_000);
                    *had += 10_000.0;
                }
            }
        }
        had
    }

    #[tokio::test]
    async fn clients_have_parts_by_weight_however_many_flows_they_have() {
        let turns = Arc::<Turns>::default();
        // A client with one flow and thrice the weight of another, which has three flows.
        let flows = flows(&turns, &[(1, 3.0), (2, 1.0), (2, 1.0), (2, 1.0)]);
        turns.lock().look(Instant::now());
        let had = had(&flows);
        let others: f64 = had[1..].iter().sum();
        assert!((had[0] / others - 3.0).abs() < 0.05, "{had:?}");
    }

    #[tokio::test]
    async fn nobody_waits_for_a_client_whose_bytes_do_not_wait() {
        let turns = Arc::<Turns>::default();
        let all = flows(&turns, &[(1, 1.0), (2, 1.0)]);
        let idle = Flow::new(Arc::<Store>::default());
        turns.enter(Share { client: 3, weight: 1.0 }, &idle);
        turns.lock().look(Instant::now());
        assert!(had(&all).iter().all(|bytes| *bytes > 9e7));
        // When it has something to send, it has what the others have from then on, and nothing for the past.
        turns.lock().look(Instant::now());
        let least = turns.lock().least(None).unwrap();
        assert!((turns.lock().all[&3].had - least).abs() < 1.0);
        drop(all);
        turns.lock().look(Instant::now());
        assert_eq!(turns.lock().all.keys().copied().collect::<Vec<_>>(), [3]);
    }

    #[tokio::test]
    async fn a_flow_waits_until_others_have_caught_up_or_have_ended() {
        let turns = Arc::<Turns>::default();
        let mut all = flows(&turns, &[(1, 1.0), (2, 1.0)]);
        turns.lock().look(Instant::now());
        let first = all.remove(0);
        first.turn().unwrap().note(200_000);
        assert!(!first.turn().unwrap().is_there());
        let waits = tokio::spawn(async move { first.turn().unwrap().come().await });
        sleep(10 * LOOK).await;
        assert!(!waits.is_finished());
        drop(all);
        timeout(Duration::from_secs(5), waits).await.unwrap().unwrap();
    }

    #[test]
    fn shares_are_read_as_they_were_written() {
        for share in [Share { client: 0, weight: 1.0 }, Share { client: u64::MAX, weight: 0.125 }] {
            assert_eq!(share.write().parse(), Ok(share));
        }
        for wrong in ["", "1", "1 0", "1 nan", "1 inf", "1 1e9", "-1 1", "1 -1", "1 1 1", " 1"] {
            assert_eq!(wrong.parse::<Share>(), Err(Unreadable), "{wrong}");
        }
    }
}
