//! The receiver of feedback: counts of marked packets and snapshots of remote subflows go to the control of the
//! connection; snapshots of the peer's own subflows are kept for callers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::snapshots::STALE;
use super::{Inbox, Marked, Message, MessageError, Others, Peer, SentSnapshots, Snapshots, Wire};
use crate::control::{FewerMarks, Group, MOST_REMOTE, RemoteSubflow};
use crate::marks::{Marks, Scalable};
use crate::paths::Paths;
use crate::quic::{Connection, PathId, VarInt};

/// Time between checks whether packets must be ECT(1), and between reports of snapshots.
const LOOK: Duration = Duration::from_millis(20);

/// Code with which a connection to a peer that breaks the rules is closed.
const UNRULY: VarInt = VarInt::from_u32(2);

/// The reason why a peer's messages are no longer accepted.
#[derive(Debug, thiserror::Error)]
enum Unruly {
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Fewer(#[from] FewerMarks),
}

/// The receiving side of a connection's feedback.
struct Receiver<W> {
    connection: Connection,
    wire: W,
    paths: Paths,
    group: Arc<Group>,
    peer: Arc<Peer>,
    /// Number of the latest message of each kind.
    marked: u64,
    own: u64,
    others: u64,
    /// Time of the last message on remote subflows; `None` if it is too old, so that the peer does not need snapshots.
    told_of_others: Option<Instant>,
    told: SentSnapshots,
}

/// Receives feedback until the connection ends.
pub(crate) async fn receive_feedback(
    connection: Connection,
    paths: Paths,
    group: Arc<Group>,
    (marks, peer): (Marks, Arc<Peer>),
    (wire, mut inbox): (impl Wire, impl Inbox),
) {
    let mut receiver = Receiver {
        connection: connection.clone(),
        wire,
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
            message = inbox.next() => match message {
                Some(bytes) => if let Err(error) = receiver.take(&bytes) {
                    return connection.close(UNRULY, error.to_string().as_bytes());
                },
                None => return,
            },
            _ = look.tick() => {
                leave_as(&mut scalable, &receiver.paths, &receiver.group, &marks);
                receiver.tell_own();
            }
        }
    }
}

impl<W: Wire> Receiver<W> {
    /// Processes a message, unless a later one of its kind has arrived before.
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

    /// For each slot the window of its subflow in the snapshots that this end sent under a sequence number.
    fn windows(&self, sequence: u64) -> Vec<(usize, f64)> {
        let (told, slots) = (self.told.windows(sequence), self.paths.numbered_slots());
        let window = |&(number, window)| {
            let (_, slot) = slots.iter().find(|(own, _)| *own == number)?;
            Some((*slot, window))
        };
        told.iter().filter_map(window).collect()
    }

    /// Sends snapshots of the subflows on which this end sends, if the peer needs them.
    fn tell_own(&mut self) {
        let Some(at) = self.told_of_others else { return };
        if at.elapsed() >= STALE {
            self.told_of_others = None;
            return self.group.set_remotes(&[], &[]);
        }
        let snapshot = |(number, slot)| Some((number, self.group.snapshot(slot)?));
        let subflows = self.paths.numbered_slots().into_iter().filter_map(snapshot).take(MOST_REMOTE).collect();
        if let Some(snapshots) = self.told.next(Instant::now(), subflows, 0) {
            // Lost messages are repeated, and the end of the connection is detected elsewhere.
            let _ = self.wire.send(Message::Own(snapshots).encode());
        }
    }
}

/// Makes packets of controls that count marks ECT(1) on all paths.
fn leave_as(scalable: &mut HashMap<SocketAddr, Scalable>, paths: &Paths, group: &Group, marks: &Marks) {
    let remotes: Vec<SocketAddr> =
        if group.counts_marks() { paths.open().into_iter().map(|(_, _, remote)| remote).collect() } else { Vec::new() };
    scalable.retain(|remote, _| remotes.contains(remote));
    for remote in remotes {
        scalable.entry(remote).or_insert_with(|| marks.send_scalable(remote));
    }
}
