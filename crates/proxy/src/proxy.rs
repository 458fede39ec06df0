//! The proxy: doors for applications of this machine, and lines to an exit.

use std::net::SocketAddr;

use anabranch_live::running::Events;

use crate::doors::{Door, DoorError, Kind, let_in};
use crate::uplink::{Exit, Uplink, UplinkState};

/// The settings of a proxy.
#[derive(Debug)]
pub struct ProxyService {
    /// The exit.
    pub exit: Exit,
    /// The doors.
    pub doors: Vec<Door>,
}

/// An event of a proxy.
#[derive(Debug)]
pub enum ProxyEvent {
    /// Applications are served at this address.
    Open(Kind, SocketAddr),
    /// A line to the exit has come or gone.
    Uplink(UplinkState),
    /// The proxy has failed.
    Failed(DoorError),
}

/// Serves until it is dropped: tells each door first, then each change of the connection to the exit.
pub async fn proxy(service: ProxyService, events: Events<ProxyEvent>) {
    let ProxyService { exit, doors } = service;
    let mut open = Vec::new();
    for door in doors {
        match door.open().await {
            Ok(opened) => open.push(opened),
            Err(error) => return events.tell(ProxyEvent::Failed(error)),
        }
    }
    for door in &open {
        events.tell(ProxyEvent::Open(door.kind, door.address));
    }
    let (uplink, keeping) = {
        let events = events.clone();
        Uplink::new(exit, move |state| events.tell(ProxyEvent::Uplink(state)))
    };
    tokio::join!(keeping, let_in(open, uplink));
}
