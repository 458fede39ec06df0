//! Requests and answers over streams.

use std::time::Duration;

use anabranch_transfer::message::{MessageError, decode, encode, length};
use anabranch_transfer::{Answer, Refusal, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::time::timeout;

use crate::quic::{Connection, ConnectionError, ReadExactError, RecvStream, SendStream, WriteError};

/// How long a message may take from its first byte to its last.
const MESSAGE_TIME: Duration = Duration::from_secs(10);

/// How long an answer may be in coming.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// How often it says so who has long to work on an answer.
pub const WORKING: Duration = Duration::from_secs(5);

/// Why nothing came of a request.
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
    #[error("it answered something else than what was asked for")]
    Other,
    #[error("a message took more than {} s", MESSAGE_TIME.as_secs())]
    Slow,
    #[error("nothing came for {} s", ANSWER_TIME.as_secs())]
    Silent,
}

/// Reads a message, whenever it begins.
pub async fn read<M: DeserializeOwned>(stream: &mut RecvStream) -> Result<M, AskError> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).await?;
    let mut body = vec![0; length(head)?];
    timeout(MESSAGE_TIME, stream.read_exact(&mut body)).await.map_err(|_| AskError::Slow)??;
    Ok(decode(&body)?)
}

/// Reads a message that is not awaited: it is to come at once.
pub async fn read_at_once<M: DeserializeOwned>(stream: &mut RecvStream) -> Result<M, AskError> {
    timeout(MESSAGE_TIME, read(stream)).await.map_err(|_| AskError::Slow)?
}

/// Writes a message.
pub async fn write(stream: &mut SendStream, message: &impl Serialize) -> Result<(), AskError> {
    Ok(stream.write_all(&encode(message)?).await?)
}

/// Asks for something: the answer, and the stream on which more may follow.
///
/// # Errors
/// If it is refused, or the connection is lost.
pub async fn ask(connection: &Connection, request: &Request) -> Result<(Answer, RecvStream), AskError> {
    let (mut send, mut receive) = connection.open_bi().await?;
    write(&mut send, request).await?;
    // The sharer may have answered and gone before it hears of the end.
    let _ = send.finish();
    Ok((answer(&mut receive).await?, receive))
}

/// The answer to a request, or the next one if it was that there is work to do.
///
/// # Errors
/// If it is refused, the connection is lost, or nothing comes for long.
pub async fn answer(stream: &mut RecvStream) -> Result<Answer, AskError> {
    match timeout(ANSWER_TIME, read(stream)).await.map_err(|_| AskError::Silent)?? {
        Answer::Refused(refusal) => Err(AskError::Refused(refusal)),
        answer => Ok(answer),
    }
}
