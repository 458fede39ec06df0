//! The proxy: doors for applications of this machine, and lines to an exit.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_live::running::Events;

use crate::doors::{Door, DoorError, Kind, let_in};
use crate::ip::tunnel::Tunnel;
use crate::ip::{DeviceError, TunnelState};
use crate::uplink::{Exit, Seen, Uplink, UplinkState};
use crate::watch::{Peer, Shows, WatchError, Watching, show};

/// The settings of a proxy.
#[derive(Debug)]
pub struct ProxyService {
    /// The exit.
    pub exit: Exit,
    /// The doors.
    pub doors: Vec<Door>,
    /// Name of the TUN device whose packets leave at the exit, if there is one.
    pub tun: Option<String>,
    /// Where the proxy shows itself, if it does.
    pub watch: Option<Watching>,
}

/// An event of a proxy.
#[derive(Debug)]
pub enum ProxyEvent {
    /// Applications are served at this address.
    Open(Kind, SocketAddr),
    /// The proxy shows itself at this address.
    Shown(SocketAddr),
    /// A line to the exit has come or gone.
    Uplink(UplinkState),
    /// The TUN device has addresses, or has none.
    Tunnel(TunnelState),
    /// The proxy has failed.
    Failed(ProxyError),
}

/// The reason why a proxy cannot serve.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ProxyError {
    #[error(transparent)]
    Door(#[from] DoorError),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A proxy as it is shown.
struct Shown {
    url: String,
    control: String,
    seen: Arc<Seen>,
}

impl Shows for Shown {
    fn kind(&self) -> &'static str {
        "proxy"
    }

    fn url(&self) -> String {
        self.url.clone()
    }

    fn control(&self) -> String {
        self.control.clone()
    }

    fn waiting(&self) -> u64 {
        self.seen.store.waiting()
    }

    fn peers(&self) -> Vec<Peer> {
        vec![self.seen.peer(self.url.clone())]
    }
}

/// Serves until it is dropped: tells each door first, then each change of the connection to the exit.
pub async fn proxy(service: ProxyService, events: Events<ProxyEvent>) {
    let ProxyService { exit, doors, tun, watch } = service;
    let (url, control) = (exit.url.place(), exit.protocol.title().to_owned());
    let mut open = Vec::new();
    for door in doors {
        match door.open().await {
            Ok(opened) => open.push(opened),
            Err(error) => return events.tell(ProxyEvent::Failed(error.into())),
        }
    }
    let opened = match watch {
        Some(watch) => match watch.open().await {
            Ok(opened) => Some(opened),
            Err(error) => return events.tell(ProxyEvent::Failed(error.into())),
        },
        None => None,
    };
    let tunnel = match tun.as_deref().map(Tunnel::open).transpose() {
        Ok(tunnel) => tunnel,
        Err(error) => return events.tell(ProxyEvent::Failed(error.into())),
    };
    for door in &open {
        events.tell(ProxyEvent::Open(door.kind, door.address));
    }
    if let Some(opened) = &opened {
        events.tell(ProxyEvent::Shown(opened.address));
    }
    let (uplink, keeping) = {
        let events = events.clone();
        Uplink::new(exit, Arc::default(), move |state| events.tell(ProxyEvent::Uplink(state)))
    };
    let shown = Shown { url, control, seen: uplink.seen() };
    let tunneling = carry(tunnel, uplink.clone(), events.clone());
    tokio::select! {
        error = tunneling => events.tell(ProxyEvent::Failed(error.into())),
        _ = async { tokio::join!(keeping, let_in(open, uplink), show(opened, shown)) } => {}
    }
}

/// Carries packets of a TUN device, if there is one, until it cannot be used any more.
async fn carry(tunnel: Option<Tunnel>, uplink: Uplink, events: Events<ProxyEvent>) -> DeviceError {
    let Some(tunnel) = tunnel else { return std::future::pending().await };
    tunnel.run(uplink, move |state| events.tell(ProxyEvent::Tunnel(state))).await
}
