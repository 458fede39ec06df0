//! The bundles of an exit: the lines of each proxy, and the flows over them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use anabranch_live::control::{Ceiling, Group, Unsuited};
use anabranch_live::running::Events;
use anabranch_proto::Protocol;
use tokio::sync::watch;

use super::{Client, ExitEvent};
use crate::accounts::Known;
use crate::bundle::Bundle;
use crate::bundle::carrier::Flow;
use crate::bundle::greeting::{BundleId, Part};
use crate::bundle::turns::{Share, Turns};
use crate::ip::carrier::IpFlow;
use crate::ledger::Ledger;
use crate::packets::carrier::PacketFlow;
use crate::unreached::Unreached;

/// What becomes of the connection to a target: nothing is known until it stands or has failed.
pub(super) type Dialed = Option<Result<Far, Unreached>>;

/// A flow that reaches its target.
#[derive(Clone)]
pub(super) enum Far {
    Bytes(Arc<Flow>),
    Packets(Arc<PacketFlow>),
    Ip(Arc<IpFlow>),
}

/// A proxy: its lines, and its flows over them.
pub(super) struct Proxy {
    /// The number of the bundle.
    pub id: BundleId,
    /// The lines.
    pub bundle: Arc<Bundle>,
    /// First address of its first line.
    pub remote: String,
    /// Name of the control of what is sent to it.
    pub control: &'static str,
    flows: Mutex<HashMap<u64, watch::Receiver<Dialed>>>,
    pub ledger: Arc<Ledger>,
    /// Its client.
    pub client: Arc<Known>,
    /// Turns of the clients of a relay that is the proxy.
    pub turns: Arc<Turns>,
    /// Its share of the lines to the next exit.
    pub share: Share,
    events: Events<ExitEvent>,
}

impl Drop for Proxy {
    /// Tells that the proxy has left, with its last line and its last flow.
    fn drop(&mut self) {
        self.events.tell(ExitEvent::Left(Client::new(self.name(), true, self.ledger.total())));
    }
}

/// What a stream is to a flow.
pub(super) enum Place {
    /// The first: it connects to the target.
    First(watch::Sender<Dialed>),
    /// Another: the connection stands or is being made.
    Other(watch::Receiver<Dialed>),
    /// There is no such flow.
    None,
}

impl Proxy {
    /// Its client and its first address.
    pub fn name(&self) -> String {
        self.client.at(&self.remote)
    }

    /// The place of a stream.
    pub fn place(&self, part: Part) -> Place {
        match self.lock().entry(part.flow) {
            Entry::Occupied(known) => Place::Other(known.get().clone()),
            Entry::Vacant(_) if part.joins => Place::None,
            Entry::Vacant(new) => {
                let (give, dialed) = watch::channel(None);
                new.insert(dialed);
                Place::First(give)
            }
        }
    }

    /// Forgets a flow.
    pub fn ends(&self, flow: u64) {
        self.lock().remove(&flow);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, watch::Receiver<Dialed>>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The proxies of an exit.
pub(super) struct Proxies {
    all: Mutex<HashMap<Key, Weak<Proxy>>>,
    control: Protocol,
    always: Option<Protocol>,
    /// Number of proxies that there were.
    count: AtomicU64,
    events: Events<ExitEvent>,
}

/// Number of the client, and that of its bundle: nobody takes part in the bundle of another.
type Key = (u64, BundleId);

/// The number from which on those of proxies count as clients: where one token is for all, each proxy is one.
const PROXIES: u64 = 1 << 32;

impl Proxies {
    /// None, with a control for those that name no other, and one for all if there is one.
    pub fn new((control, always): (Protocol, Option<Protocol>), events: Events<ExitEvent>) -> Self {
        Self { all: Mutex::default(), control, always, count: AtomicU64::new(PROXIES), events }
    }

    /// All proxies.
    pub fn all(&self) -> Vec<Arc<Proxy>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).values().filter_map(Weak::upgrade).collect()
    }

    /// The proxies that have flows.
    pub fn busy(&self) -> Vec<Arc<Proxy>> {
        self.all().into_iter().filter(|proxy| proxy.ledger.open() > 0).collect()
    }

    /// The part that a proxy has of a rate for all: by the weights of those clients that have flows, and equally among the
    /// proxies of one client.
    pub fn part(&self, own: &Proxy) -> f64 {
        let busy = self.busy();
        let clients: BTreeMap<u64, f64> = busy.iter().map(|proxy| (proxy.share.client, proxy.share.weight)).collect();
        let same = busy.iter().filter(|proxy| proxy.share.client == own.share.client).count().max(1);
        let others: f64 =
            clients.iter().filter(|(client, _)| **client != own.share.client).map(|(_, weight)| weight).sum();
        own.share.weight / (own.share.weight + others) / same as f64
    }

    /// The proxy of a client with a bundle of this number. If it is new its address is `remote`, and its control
    /// that of its name, if it has one that suits.
    ///
    /// # Errors
    /// If the control of the exit does not suit.
    pub fn find(
        &self,
        client: &Arc<Known>,
        id: BundleId,
        (remote, control): (String, Option<Protocol>),
    ) -> Result<Arc<Proxy>, Unsuited> {
        let key = (client.number, id);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = all.get(&key).and_then(Weak::upgrade) {
            return Ok(proxy);
        }
        all.retain(|_, proxy| proxy.strong_count() > 0);
        let control = self.always.as_ref().or(control.as_ref()).unwrap_or(&self.control);
        let group = Group::new(control)?;
        let own = self.count.fetch_add(1, Ordering::Relaxed);
        let share = Share { client: client.name.as_ref().map_or(own, |_| client.number), weight: client.weight };
        let proxy = Arc::new(Proxy {
            id,
            bundle: Bundle::new(group, false),
            remote,
            control: control.name(),
            flows: Mutex::default(),
            ledger: Arc::default(),
            client: client.clone(),
            turns: Arc::default(),
            share,
            events: self.events.clone(),
        });
        if let Some(granted) = client.granted() {
            proxy.bundle.set_granted(Ceiling::asked(granted));
        }
        all.insert(key, Arc::downgrade(&proxy));
        Ok(proxy)
    }
}
