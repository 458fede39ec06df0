//! Messages over a stream, and who reads and writes them.

use std::time::Duration;

use anabranch_agents::message::{Message, MessageError, decode, length};
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::timeout;

use crate::quic::{ConnectError, Connection, ConnectionError, ReadExactError, RecvStream, SendStream, VarInt};

/// How long a message may take from its first byte to its last.
const MESSAGE_TIME: Duration = Duration::from_secs(2);

/// Why there are no more messages.
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
    #[error("a message took more than {} s", MESSAGE_TIME.as_secs())]
    Slow,
}

/// Where messages to the other end of a stream are put; the stream ends with the last copy.
pub(super) type Sender = mpsc::Sender<Vec<u8>>;

/// Messages that wait for a stream; one that takes none for longer is of no use.
const MOST_WAITING: usize = 8192;

/// Writes what is put into the sender, as long as the stream takes it.
pub(super) fn sender(stream: SendStream) -> Sender {
    let (sender, words) = mpsc::channel(MOST_WAITING);
    tokio::spawn(write(stream, words));
    sender
}

async fn write(mut stream: SendStream, mut words: Receiver<Vec<u8>>) {
    while let Some(word) = words.recv().await {
        // Who reads the stream hears that it is lost.
        if stream.write_all(&word).await.is_err() {
            return;
        }
    }
    let _ = stream.finish();
}

/// The next message.
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
