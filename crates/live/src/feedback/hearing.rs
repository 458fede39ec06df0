//! The sending end: hears how many packets came marked, and hands it to the control of the connection.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use noq::{Connection, PathId, VarInt};

use super::{Message, MessageError};
use crate::control::{FewerMarks, Group};
use crate::marks::{Marks, Scalable};
use crate::paths::Paths;

/// How often it is looked whether packets are to be ECT(1), and to where.
const LOOK: Duration = Duration::from_millis(20);

/// With this number a connection ends whose peer does not keep to the rules.
const UNRULY: VarInt = VarInt::from_u32(2);

/// Why a peer is not listened to any longer.
#[derive(Debug, thiserror::Error)]
enum Unruly {
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Fewer(#[from] FewerMarks),
}

/// Hears until the connection ends.
pub(crate) async fn hear(connection: Connection, paths: Paths, group: Arc<Group>, marks: Marks) {
    let mut last = 0;
    let mut scalable: HashMap<SocketAddr, Scalable> = HashMap::new();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            datagram = connection.read_datagram() => match datagram {
                Ok(bytes) => if let Err(error) = take(&connection, &group, &bytes, &mut last) {
                    return connection.close(UNRULY, error.to_string().as_bytes());
                },
                Err(_) => return,
            },
            _ = look.tick() => leave_as(&mut scalable, &paths, &group, &marks),
        }
    }
}

/// Takes a message, unless a later one has come before.
fn take(connection: &Connection, group: &Group, bytes: &[u8], last: &mut u64) -> Result<(), Unruly> {
    let message = Message::decode(bytes)?;
    if message.sequence <= *last {
        return Ok(());
    }
    *last = message.sequence;
    for (path, marked) in message.marked {
        if let Some(slot) = crate::paths::slot(connection, PathId::from(path)) {
            group.on_marked(slot, marked)?;
        }
    }
    group.set_onward(message.onward_bps);
    Ok(())
}

/// Packets of controls that count marks are ECT(1) on all paths.
fn leave_as(scalable: &mut HashMap<SocketAddr, Scalable>, paths: &Paths, group: &Group, marks: &Marks) {
    let remotes: Vec<SocketAddr> =
        if group.counts_marks() { paths.open().into_iter().map(|(_, _, remote)| remote).collect() } else { Vec::new() };
    scalable.retain(|remote, _| remotes.contains(remote));
    for remote in remotes {
        scalable.entry(remote).or_insert_with(|| marks.send_scalable(remote));
    }
}
