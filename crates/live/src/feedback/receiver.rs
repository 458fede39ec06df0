//! Hears what the peer tells: how many packets came marked and how others' subflows stand, which goes to the control of the
//! connection, and how the peer's own stand, which is kept for those who ask.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::snapshots::STALE;
use super::{Marked, Message, MessageError, Others, Peer, SentSnapshots, Snapshots};
use crate::control::{FewerMarks, Group, MOST_REMOTE, RemoteSubflow};
use crate::marks::{Marks, Scalable};
use crate::paths::Paths;
use crate::quic::{Connection, PathId, VarInt};

/// How often it is looked whether packets are to be ECT(1), and to where, and told how subflows stand.
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

/// The receiving side of a connection's feedback.
struct Receiver {
    connection: Connection,
    paths: Paths,
    group: Arc<Group>,
    peer: Arc<Peer>,
    /// The number of the latest message of each kind.
    marked: u64,
    own: u64,
    others: u64,
    /// When it was told of others last; `None` if it was not, or not for long: then nobody wants to know of its own.
    told_of_others: Option<Instant>,
    told: SentSnapshots,
}

/// Receives feedback until the connection ends.
pub(crate) async fn receive_feedback(
    connection: Connection,
    paths: Paths,
    group: Arc<Group>,
    marks: Marks,
    peer: Arc<Peer>,
) {
    let mut receiver = Receiver {
        connection: connection.clone(),
        paths,
        group,
        peer,
        marked: 0,
        own: 0,
        others: 0,
        told_of_others: None,
        told: SentSnapshots::default(),
    };
    let mut scalable: HashMap<SocketAddr, Scalable> = HashMap::new();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            datagram = connection.read_datagram() => match datagram {
                Ok(bytes) => if let Err(error) = receiver.take(&bytes) {
                    return connection.close(UNRULY, error.to_string().as_bytes());
                },
                Err(_) => return,
            },
            _ = look.tick() => {
                leave_as(&mut scalable, &receiver.paths, &receiver.group, &marks);
                receiver.tell_own();
            }
        }
    }
}

impl Receiver {
    /// Takes a message, unless a later one of its kind has come before.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unruly> {
        match Message::decode(bytes)? {
            Message::Marked(Marked { sequence, onward_bps, marked }) if sequence > self.marked => {
                self.marked = sequence;
                for (path, marked) in marked {
                    if let Some(slot) = crate::paths::slot(&self.connection, PathId::from(path)) {
                        self.group.on_marked(slot, marked)?;
                    }
                }
                self.group.set_onward(onward_bps);
            }
            Message::Own(snapshots) if snapshots.sequence > self.own => {
                self.own = snapshots.sequence;
                self.peer.set(snapshots);
            }
            Message::Others(Others { heard, snapshots: Snapshots { sequence, subflows } })
                if sequence > self.others =>
            {
                (self.others, self.told_of_others) = (sequence, Some(Instant::now()));
                let remote = |(group, snapshot)| RemoteSubflow { group, snapshot };
                let others: Vec<RemoteSubflow> = subflows.into_iter().map(remote).collect();
                self.group.set_remotes(&others, &self.windows(heard));
            }
            _ => {}
        }
        Ok(())
    }

    /// By slots the windows of the subflows on which this end sends, as it told them under a sequence number.
    fn windows(&self, sequence: u64) -> Vec<(usize, f64)> {
        let (told, slots) = (self.told.windows(sequence), self.paths.numbered_slots());
        let window = |&(number, window)| {
            let (_, slot) = slots.iter().find(|(own, _)| *own == number)?;
            Some((*slot, window))
        };
        told.iter().filter_map(window).collect()
    }

    /// Tells how the subflows stand on which this end sends, if anybody wants to know.
    fn tell_own(&mut self) {
        let Some(at) = self.told_of_others else { return };
        if at.elapsed() >= STALE {
            self.told_of_others = None;
            return self.group.set_remotes(&[], &[]);
        }
        let snapshot = |(number, slot)| Some((number, self.group.snapshot(slot)?));
        let subflows = self.paths.numbered_slots().into_iter().filter_map(snapshot).take(MOST_REMOTE).collect();
        if let Some(snapshots) = self.told.next(Instant::now(), subflows, 0) {
            // What is lost is told again, and of the end of the connection is heard elsewhere.
            let _ = self.connection.send_datagram(Message::Own(snapshots).encode().into());
        }
    }
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
