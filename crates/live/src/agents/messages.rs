//! Messages over a stream, with the tasks that read and write them.

use std::time::Duration;

use anabranch_agents::message::{Message, MessageError, decode, length};
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::timeout;

use crate::quic::{ConnectError, Connection, ConnectionError, ReadExactError, RecvStream, SendStream, VarInt};

/// The longest time from the first byte of a message to its last.
const MESSAGE_TIME: Duration = Duration::from_secs(2);

/// The reason why there are no more messages.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error("the connection is lost: {0}")]
    Lost(#[from] ConnectionError),
    #[error("there can be no connection: {0}")]
    Impossible(#[from] ConnectError),
    #[error("the stream ended: {0}")]
    Stream(#[from] ReadExactError),
    #[error("{0}")]
    Message(#[from] MessageError),
    #[error("the agent has ended")]
    Over,
    #[error("the agent refuses the session for now")]
    Refused,
    #[error("a message, or the first stream, took too long")]
    Slow,
}

/// Queue of messages to the other end of a stream; the stream ends with its last copy.
pub(super) type Sender = mpsc::Sender<Vec<u8>>;

/// Writes queued messages as long as the stream accepts them. At most `waiting` of them wait; a stream that
/// accepts none for longer is useless.
pub(super) fn sender(stream: SendStream, waiting: usize) -> Sender {
    let (sender, words) = mpsc::channel(waiting);
    tokio::spawn(write(stream, words));
    sender
}

async fn write(mut stream: SendStream, mut words: Receiver<Vec<u8>>) {
    while let Some(word) = words.recv().await {
        // The reader of the stream detects its loss.
        if stream.write_all(&word).await.is_err() {
            return;
        }
    }
    let _ = stream.finish();
}

/// Reads the next message.
pub(super) async fn read<M: Message>(stream: &mut RecvStream) -> Result<M, Ended> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).await?;
    let mut body = vec![0; length(head)?];
    timeout(MESSAGE_TIME, stream.read_exact(&mut body)).await.map_err(|_| Ended::Slow)??;
    Ok(decode(&body)?)
}

/// Ends a connection.
pub(super) fn close(connection: &Connection, reason: &str) {
    connection.close(VarInt::from_u32(1), reason.as_bytes());
}
