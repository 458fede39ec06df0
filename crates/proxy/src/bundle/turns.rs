//! Turns of clients whose flows share lines: while more than one has bytes that wait for a line, each has a part by weight.
//!
//! A client that has had more than its part, relative to the one that had least, takes in nothing more until that has caught
//! up. Without this each stream would have an equal part, and a client with many flows most of all. A client whose bytes do
//! not wait for a line is held up elsewhere, and nobody waits for it. Flows of one client go on in the order in which they
//! came.

use std::collections::{BTreeMap, VecDeque};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::greeting::Unreadable;

/// The least and the greatest weight of a client.
pub(crate) const LEAST_WEIGHT: f64 = 1e-3;
pub(crate) const MOST_WEIGHT: f64 = 1e3;

/// Bytes that a client may have beyond its part.
const AHEAD: f64 = 65_536.0;

/// The least time between looks at what waits. Looks that take long are further apart, by this factor.
const LOOK: Duration = Duration::from_millis(4);
const RARELY: u32 = 10;

/// The most clients that have turns; those beyond have one together.
const MOST_CLIENTS: usize = 4096;

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
        format!("{} {}", self.client, self.weight)
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

/// A flow that shares lines.
pub(crate) trait Queued: Send + Sync {
    /// Bytes that wait for a line that works.
    fn backlog(&self) -> u64;
}

/// The clients whose flows share lines.
#[derive(Default)]
pub(crate) struct Turns(Mutex<Clients>);

#[derive(Default)]
struct Clients {
    all: BTreeMap<u64, Client>,
    /// When the next look is due.
    next: Option<Instant>,
    /// Whether a task looks again and again, since some wait for a turn.
    is_watched: bool,
}

/// A client.
struct Client {
    weight: f64,
    /// Bytes that it has had, relative to its weight.
    had: f64,
    /// Whether some of its bytes wait for a line.
    is_queued: bool,
    /// Its flows that wait for a turn, in the order in which they have it: what calls each.
    waits: VecDeque<Arc<Notify>>,
    flows: Vec<Weak<dyn Queued>>,
}

/// The place of a flow among others.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    client: u64,
}

impl Client {
    /// Whether it waits for a line or for a turn.
    fn is_waiting(&self) -> bool {
        self.is_queued || !self.waits.is_empty()
    }
}

impl Clients {
    /// Whether a client may have more.
    fn may(&self, client: u64) -> bool {
        let Some(own) = self.all.get(&client) else { return true };
        self.least(Some(client)).is_none_or(|least| (own.had - least) * own.weight < AHEAD)
    }

    /// What that client has had, of those that wait, that has had least; without one of them.
    fn least(&self, without: Option<u64>) -> Option<f64> {
        let waiting = self.all.iter().filter(|(client, own)| own.is_waiting() && Some(**client) != without);
        waiting.map(|(_, own)| own.had).reduce(f64::min)
    }

    /// Finds out whose bytes wait, if that is due. What others had or could have had does not count.
    fn look(&mut self) {
        let begin = Instant::now();
        if self.next.is_some_and(|next| begin < next) {
            return;
        }
        for own in self.all.values_mut() {
            own.is_queued = false;
            own.flows.retain(|flow| {
                let Some(flow) = flow.upgrade() else { return false };
                own.is_queued |= flow.backlog() > 0;
                true
            });
        }
        self.all.retain(|_, own| !own.flows.is_empty());
        let least = self.least(None);
        for own in self.all.values_mut() {
            own.had = match least {
                None => 0.0,
                Some(_) if own.is_waiting() => own.had,
                Some(least) => own.had.clamp(least, least + AHEAD / 2.0 / own.weight),
            };
        }
        self.next = Some(Instant::now() + LOOK.max(RARELY * begin.elapsed()));
    }

    /// Calls the first flow of each client that may have more.
    fn call(&self) {
        for (client, own) in &self.all {
            if let Some(first) = own.waits.front().filter(|_| self.may(*client)) {
                first.notify_one();
            }
        }
    }

    /// Whether it is the turn of a flow, which waits already or comes now.
    fn is_turn(&self, client: u64, waits: Option<&Arc<Notify>>) -> bool {
        let first = self.all.get(&client).and_then(|own| own.waits.front());
        let is_first = first.is_none_or(|first| waits.is_some_and(|own| Arc::ptr_eq(own, first)));
        is_first && self.may(client)
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Clients> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a flow a place among others.
    pub fn enter(self: &Arc<Self>, share: Share, flow: Weak<dyn Queued>) -> Turn {
        let mut clients = self.lock();
        clients.look();
        let is_room = clients.all.contains_key(&share.client) || clients.all.len() < MOST_CLIENTS;
        let client = if is_room { share.client } else { u64::MAX };
        let had = clients.least(None).unwrap_or(0.0);
        let own = clients.all.entry(client).or_insert_with(|| Client {
            weight: share.weight,
            had,
            is_queued: false,
            waits: VecDeque::new(),
            flows: Vec::new(),
        });
        own.flows.push(flow);
        Turn { turns: self.clone(), client }
    }

    /// Looks again and again while some wait for a turn.
    async fn watch(self: Arc<Self>) {
        loop {
            sleep(LOOK).await;
            let mut clients = self.lock();
            clients.look();
            clients.call();
            clients.is_watched = clients.all.values().any(|own| !own.waits.is_empty());
            if !clients.is_watched {
                return;
            }
        }
    }
}

impl Turn {
    /// Whether the flow may take in more now, before those that wait.
    fn is_there(&self) -> bool {
        self.turns.lock().is_turn(self.client, None)
    }

    /// Waits until the flow may take in more.
    pub async fn come(&self) {
        if self.is_there() {
            return;
        }
        let waits = Waits::new(self);
        while !self.turns.lock().is_turn(self.client, Some(&waits.call)) {
            // A call that comes before this is kept.
            waits.call.notified().await;
        }
    }

    /// Counts bytes that the flow has taken in.
    pub fn note(&self, bytes: u64) {
        let mut clients = self.turns.lock();
        if let Some(own) = clients.all.get_mut(&self.client) {
            own.had += bytes as f64 / own.weight;
        }
        clients.look();
        clients.call();
    }
}

/// A flow that waits for its turn, until this is dropped.
struct Waits<'a> {
    turn: &'a Turn,
    call: Arc<Notify>,
}

impl<'a> Waits<'a> {
    fn new(turn: &'a Turn) -> Self {
        let mut clients = turn.turns.lock();
        if !std::mem::replace(&mut clients.is_watched, true) {
            tokio::spawn(turn.turns.clone().watch());
        }
        let call = Arc::<Notify>::default();
        if let Some(own) = clients.all.get_mut(&turn.client) {
            own.waits.push_back(call.clone());
        }
        Self { turn, call }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if let Some(own) = self.turn.turns.lock().all.get_mut(&self.turn.client) {
            own.waits.retain(|call| !Arc::ptr_eq(call, &self.call));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::time::timeout;

    use super::*;

    /// A flow with bytes that wait.
    #[derive(Default)]
    struct Bytes(AtomicU64);

    impl Queued for Bytes {
        fn backlog(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// A flow, and its place.
    type Placed = (Arc<Bytes>, Turn);

    fn flow(turns: &Arc<Turns>, client: u64, weight: f64, backlog: u64) -> Placed {
        let flow = Arc::new(Bytes(backlog.into()));
        let weak: Weak<Bytes> = Arc::downgrade(&flow);
        (flow, turns.enter(Share { client, weight }, weak))
    }

    /// Looks, whether it is due or not.
    fn look(turns: &Turns) {
        let mut clients = turns.lock();
        clients.next = None;
        clients.look();
    }

    /// Bytes that each flow has had after many rounds in which each takes in a piece as soon as it may.
    fn had(flows: &[Placed]) -> Vec<f64> {
        let mut had = vec![0.0; flows.len()];
        for _ in 0..10_000 {
            for ((_, turn), had) in flows.iter().zip(&mut had) {
                if turn.is_there() {
                    turn.note(10_000);
                    *had += 10_000.0;
                }
            }
        }
        had
    }

    #[test]
    fn clients_have_parts_by_weight_however_many_flows_they_have() {
        let turns = Arc::<Turns>::default();
        // A client with one flow and thrice the weight of another, which has three flows.
        let flows = [(1, 3.0), (2, 1.0), (2, 1.0), (2, 1.0)].map(|(client, weight)| flow(&turns, client, weight, 1));
        look(&turns);
        let had = had(&flows);
        let others: f64 = had[1..].iter().sum();
        assert!((had[0] / others - 3.0).abs() < 0.05, "{had:?}");
    }

    #[test]
    fn nobody_waits_for_a_client_whose_bytes_do_not_wait() {
        let turns = Arc::<Turns>::default();
        let all = [flow(&turns, 1, 1.0, 1), flow(&turns, 2, 1.0, 1)];
        let idle = flow(&turns, 3, 1.0, 0);
        look(&turns);
        assert!(had(&all).iter().all(|bytes| *bytes > 9e7));
        // When it has something to send, it has what the others have from then on, and nothing for the past.
        look(&turns);
        let least = turns.lock().least(None).unwrap();
        assert!((turns.lock().all[&3].had - least).abs() < 1.0);
        drop((all, idle));
        look(&turns);
        assert!(turns.lock().all.is_empty());
    }

    #[test]
    fn what_a_client_had_while_nobody_waited_does_not_count() {
        let turns = Arc::<Turns>::default();
        let first = flow(&turns, 1, 1.0, 0);
        first.1.note(1_000_000_000);
        let second = flow(&turns, 2, 1.0, 1);
        look(&turns);
        assert!(first.1.is_there() && second.1.is_there());
        second.1.note(1_000_000);
        first.1.note(1_000_000_000);
        // It never waits for a line, so it has no more than a small debt.
        look(&turns);
        second.1.note(2 * AHEAD as u64);
        assert!(first.1.is_there());
    }

    #[tokio::test]
    async fn a_flow_waits_until_others_have_caught_up_or_have_ended() {
        let turns = Arc::<Turns>::default();
        let (own, other) = (flow(&turns, 1, 1.0, 1), flow(&turns, 2, 1.0, 1));
        look(&turns);
        let wait = |(flow, turn): Placed| {
            tokio::spawn(async move {
                turn.come().await;
                (flow, turn)
            })
        };
        own.1.note(200_000);
        let waits = wait(own);
        sleep(10 * LOOK).await;
        assert!(!waits.is_finished());
        other.1.note(200_000);
        let own = timeout(Duration::from_secs(5), waits).await.unwrap().unwrap();
        own.1.note(200_000);
        let waits = wait(own);
        sleep(10 * LOOK).await;
        assert!(!waits.is_finished());
        drop(other);
        timeout(Duration::from_secs(5), waits).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn flows_of_a_client_go_on_in_the_order_in_which_they_came() {
        let turns = Arc::<Turns>::default();
        let (other, own) = (flow(&turns, 1, 1.0, 1), flow(&turns, 2, 1.0, 1));
        look(&turns);
        own.1.note(1_000_000);
        let order = Arc::<Mutex<Vec<usize>>>::default();
        let waits: Vec<_> = (0..5)
            .map(|number| {
                let (flow, order) = (flow(&turns, 2, 1.0, 1), order.clone());
                async move {
                    flow.1.come().await;
                    order.lock().unwrap().push(number);
                    flow.1.note(100_000);
                    flow
                }
            })
            .map(tokio::spawn)
            .collect();
        sleep(10 * LOOK).await;
        // Each 100 kB of the other lets one go on.
        for passed in 0..5 {
            assert_eq!(order.lock().unwrap().len(), passed);
            other.1.note(if passed == 0 { 950_000 } else { 100_000 });
            sleep(10 * LOOK).await;
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
        drop(waits);
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

    proptest::proptest! {
        #[test]
        fn whatever_a_header_says_weights_are_bounded(text in "\\PC{0,40}|[0-9]{1,3} [-+.0-9eEnaif]{0,12}") {
            if let Ok(share) = text.parse::<Share>() {
                assert!((LEAST_WEIGHT..=MOST_WEIGHT).contains(&share.weight));
                assert_eq!(share.write().parse(), Ok(share));
            }
        }
    }
}
