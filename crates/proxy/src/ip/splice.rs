//! Two tunnels that a relay joins: that of a client, and one to the next exit, which gives the addresses.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use super::capsules::Capsule;
use super::carrier::{Incoming, IpFlow, framed};
use super::packet;
use super::path::Scope;
use super::trouble::{Messages, tell};

/// What an exit has told, which the client hears on each of its streams.
#[derive(Default)]
struct Told {
    addresses: Option<Capsule>,
    routes: Option<Capsule>,
}

/// Carries packets between two tunnels, and what their ends tell each other, until one of them ends.
pub(crate) async fn splice(near: (Arc<IpFlow>, Incoming), far: (Arc<IpFlow>, Incoming), scope: Scope) {
    let ((near, mut from_near), (far, mut from_far)) = (near, far);
    let (mut told, mut messages) = (Told::default(), [Messages::default(), Messages::default()]);
    let work = async {
        loop {
            tokio::select! {
                Some(packet) = from_near.packets.recv() => pass(&packet, &near, &far, (Some(&scope), &mut messages[0])),
                Some(packet) = from_far.packets.recv() => pass(&packet, &far, &near, (None, &mut messages[1])),
                Some(capsule) = from_near.capsules.recv() => {
                    if matches!(capsule, Capsule::Request(_)) {
                        far.tell(&[capsule]);
                    }
                }
                Some(capsule) = from_far.capsules.recv() => {
                    match &capsule {
                        Capsule::Assign(addresses) => {
                            let held = addresses.iter().filter(|own| !own.is_refused());
                            let title = held.map(|own| own.network.addr().to_string()).collect::<Vec<_>>().join(", ");
                            near.name(title.clone());
                            far.name(title);
                            told.addresses = Some(capsule);
                        }
                        Capsule::Routes(_) => told.routes = Some(capsule),
                        Capsule::Request(_) => {}
                    }
                    near.tell(&told.addresses.iter().chain(&told.routes).cloned().collect::<Vec<_>>());
                }
                else => return,
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = near.forsaken() => {}
        () = near.ended() => {}
        () = far.ended() => {}
    }
    near.end();
    far.end();
}

/// Carries a packet on, or tells the tunnel from which it came why it does not go on.
fn pass(packet: &Bytes, back: &IpFlow, on: &IpFlow, (scope, messages): (Option<&Scope>, &mut Messages)) {
    let Ok(header) = packet::read(packet) else { return };
    if scope.is_some_and(|scope| !scope.has(&header)) {
        return;
    }
    let mut framed_packet = framed(packet);
    if let Err(trouble) = on.forward(&mut framed_packet, &header)
        && messages.may_tell(Instant::now())
        && let Some(message) = tell(packet, &header, header.destination, trouble)
    {
        back.send(&framed(&message), 0);
    }
}
