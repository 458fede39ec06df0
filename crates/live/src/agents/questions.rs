//! Questions of applications: each has a stream of a connection, and lines in both directions for as long as that lives.

use std::pin::Pin;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::hops::FIRST_STREAM;
use super::messages::close;
use super::pace::Pace;
use crate::quic::{Connection, RecvStream, SendStream, VarInt};

/// The most questions of a connection in a tenth of a second; more wait.
const MOST_QUESTIONS: u32 = 20;

/// The most bytes of a connection that wait to be read, and to be received.
const MOST_UNREAD: u32 = 64 << 10;
const MOST_UNSENT: u64 = 128 << 10;

/// A question of an application.
#[derive(Debug)]
pub struct Question {
    /// The name of the application, as its certificate has it.
    pub application: Arc<str>,
    /// What the application writes.
    pub reader: RecvStream,
    /// What it reads.
    pub writer: SendStream,
}

/// Answers a question, for as long as the result runs. It is dropped when the connection ends.
pub type Answering = Arc<dyn Fn(Question) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Answers the questions of an application over a connection.
pub(super) async fn serve(connection: &Connection, name: &Arc<str>, answering: &Answering) {
    connection.set_receive_window(VarInt::from_u32(MOST_UNREAD));
    connection.set_send_window(MOST_UNSENT);
    let (mut answers, mut pace) = (JoinSet::new(), Pace::new(MOST_QUESTIONS));
    loop {
        let (writer, reader) = tokio::select! {
            stream = connection.accept_bi() => match stream {
                Ok(stream) => stream,
                Err(_) => return,
            },
            Some(_) = answers.join_next() => continue,
            () = tokio::time::sleep(FIRST_STREAM), if answers.is_empty() => {
                return close(connection, "there is no question");
            }
        };
        pace.wait().await;
        answers.spawn(answering(Question { application: name.clone(), reader, writer }));
    }
}
