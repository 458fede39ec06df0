//! The bundles of an exit: the lines of each proxy, and the flows over them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use anabranch_live::control::{Group, Unsuited};
use anabranch_live::running::Events;
use anabranch_proto::Protocol;
use ring::digest::{SHA256, digest};
use tokio::sync::watch;

use super::{Client, ExitEvent};
use crate::bundle::Bundle;
use crate::bundle::carrier::Flow;
use crate::bundle::greeting::{BundleId, Part};
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
}

/// A proxy: its lines, and its flows over them.
pub(super) struct Proxy {
    /// The lines.
    pub bundle: Arc<Bundle>,
    /// First address of its first line.
    pub remote: String,
    flows: Mutex<HashMap<u64, watch::Receiver<Dialed>>>,
    pub ledger: Arc<Ledger>,
    events: Events<ExitEvent>,
}

impl Drop for Proxy {
    /// Tells that the proxy has left, with its last line and its last flow.
    fn drop(&mut self) {
        let remote = std::mem::take(&mut self.remote);
        self.events.tell(ExitEvent::Left(Client::new(remote, true, self.ledger.total())));
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
    events: Events<ExitEvent>,
}

/// Digest of what a client shows, and the number of its bundle: nobody takes part in the bundle of another.
type Key = ([u8; 32], BundleId);

impl Proxies {
    /// None, with a control for those that name no other, and one for all if there is one.
    pub fn new((control, always): (Protocol, Option<Protocol>), events: Events<ExitEvent>) -> Self {
        Self { all: Mutex::default(), control, always, events }
    }

    /// All proxies.
    pub fn all(&self) -> Vec<Arc<Proxy>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).values().filter_map(Weak::upgrade).collect()
    }

    /// The proxies that have flows.
    pub fn busy(&self) -> Vec<Arc<Proxy>> {
        self.all().into_iter().filter(|proxy| proxy.ledger.open() > 0).collect()
    }

    /// The proxy with a bundle of this number that shows this token. If it is new its address is `remote`, and its control
    /// that of its name, if it has one that suits.
    ///
    /// # Errors
    /// If the control of the exit does not suit.
    pub fn find(
        &self,
        shown: &[u8],
        id: BundleId,
        (remote, control): (String, Option<Protocol>),
    ) -> Result<Arc<Proxy>, Unsuited> {
        let mut token = [0; 32];
        token.copy_from_slice(digest(&SHA256, shown).as_ref());
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = all.get(&(token, id)).and_then(Weak::upgrade) {
            return Ok(proxy);
        }
        all.retain(|_, proxy| proxy.strong_count() > 0);
        let group = Group::new(self.always.as_ref().or(control.as_ref()).unwrap_or(&self.control))?;
        let proxy = Arc::new(Proxy {
            bundle: Bundle::new(group, false),
            remote,
            flows: Mutex::default(),
            ledger: Arc::default(),
            events: self.events.clone(),
        });
        all.insert((token, id), Arc::downgrade(&proxy));
        Ok(proxy)
    }
}
