//! Requests and answers over streams.

use std::time::Duration;

use anabranch_transfer::message::{MessageError, decode, encode, length};
use anabranch_transfer::{Answer, Refusal, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::time::timeout;

use crate::quic::{Connection, ConnectionError, ReadExactError, RecvStream, SendStream, VarInt, WriteError};

/// Code with which a server closes a connection of a client that is for a server of another kind.
pub const WRONG_SERVICE: u32 = 2;

/// Whether a server has closed a connection since it is of another kind.
pub fn is_wrong_service(connection: &Connection) -> bool {
    let reason = connection.close_reason();
    matches!(reason, Some(ConnectionError::ApplicationClosed(close)) if close.error_code == VarInt::from_u32(WRONG_SERVICE))
}

/// The longest time from the first byte of a message to its last.
const MESSAGE_TIME: Duration = Duration::from_secs(10);

/// The longest wait for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Time between signs of life of a peer that works on an answer.
pub const WORKING: Duration = Duration::from_secs(5);

/// The reason why a request has failed.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum AskError {
    #[error("the connection is lost: {0}")]
    Connection(#[from] ConnectionError),
    #[error("the stream ended early: {0}")]
    Read(#[from] ReadExactError),
    #[error("the stream was refused: {0}")]
    Write(#[from] WriteError),
    #[error("{0}")]
    Message(#[from] MessageError),
    #[error("{0}")]
    Refused(Refusal),
    #[error("it sent an empty message")]
    Empty,
    #[error("it answered something else than what was asked for")]
    Other,
    #[error("a message took more than {} s", MESSAGE_TIME.as_secs())]
    Slow,
    #[error("nothing came for {} s", ANSWER_TIME.as_secs())]
    Silent,
}

/// Reads a message, which may begin at any time.
pub async fn read<M: DeserializeOwned>(stream: &mut RecvStream) -> Result<M, AskError> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).await?;
    let mut body = vec![0; length(head)?];
    if body.is_empty() {
        return Err(AskError::Empty);
    }
    timeout(MESSAGE_TIME, stream.read_exact(&mut body)).await.map_err(|_| AskError::Slow)??;
    Ok(decode(&body)?)
}

/// Reads a message that must have begun already.
pub async fn read_at_once<M: DeserializeOwned>(stream: &mut RecvStream) -> Result<M, AskError> {
    timeout(MESSAGE_TIME, read(stream)).await.map_err(|_| AskError::Slow)?
}

/// Writes a message.
pub async fn write(stream: &mut SendStream, message: &impl Serialize) -> Result<(), AskError> {
    Ok(stream.write_all(&encode(message)?).await?)
}

/// Sends a request; returns the answer, and the stream on which more may follow.
///
/// # Errors
/// If the request is refused, or the connection is lost.
pub async fn ask(connection: &Connection, request: &Request) -> Result<(Answer, RecvStream), AskError> {
    let (mut send, mut receive) = connection.open_bi().await?;
    write(&mut send, request).await?;
    // The sharer may have answered and closed the stream before this end.
    let _ = send.finish();
    Ok((answer(&mut receive).await?, receive))
}

/// Reads the answer to a request, or the next answer after a sign of life.
///
/// # Errors
/// If the request is refused, the connection is lost, or no answer comes for long.
pub async fn answer(stream: &mut RecvStream) -> Result<Answer, AskError> {
    match timeout(ANSWER_TIME, read(stream)).await.map_err(|_| AskError::Silent)?? {
        Answer::Refused(refusal) => Err(AskError::Refused(refusal)),
        answer => Ok(answer),
    }
}
