//! The socket in the folder of an agent by which commands on the same machine ask it.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anabranch_live::agents::AgentHandle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::time::timeout;

use crate::shown::Names;

/// The longest time that a command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest question, in bytes.
const MOST_QUESTION: u64 = 64;

/// The greatest number of questions at a time.
const MOST_AT_A_TIME: usize = 16;

fn place(state: &Path) -> PathBuf {
    state.join("agent.sock")
}

/// Makes the socket, for the owner alone. One that a former start left behind is replaced.
pub(crate) fn bind(state: &Path) -> io::Result<UnixListener> {
    let path = place(state);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Answers questions as long as the agent runs.
pub(crate) async fn serve(listener: UnixListener, agent: AgentHandle, names: Names) {
    let turns = std::sync::Arc::new(tokio::sync::Semaphore::new(MOST_AT_A_TIME));
    while let Ok((mut stream, _)) = listener.accept().await {
        let (agent, names, turns) = (agent.clone(), names.clone(), turns.clone());
        tokio::spawn(async move {
            let Ok(_turn) = turns.try_acquire() else { return };
            let answer = async {
                let mut question = String::new();
                (&mut stream).take(MOST_QUESTION).read_to_string(&mut question).await.ok()?;
                let report = agent.report().await?;
                let answer = if question.trim() == "show" { names.shown(&report).to_string() } else { String::new() };
                stream.write_all(answer.as_bytes()).await.ok()
            };
            let _ = timeout(PATIENCE, answer).await;
        });
    }
}

/// Asks the agent that runs with this folder; the answer is JSON.
///
/// # Errors
/// Returns an error if no agent answers.
pub fn ask(state: &Path, question: &str) -> io::Result<String> {
    let path = place(state);
    let failed =
        |error: io::Error| io::Error::new(error.kind(), format!("no agent answers at {}: {error}", path.display()));
    let mut stream = UnixStream::connect(&path).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(question.as_bytes()).map_err(failed)?;
    stream.shutdown(std::net::Shutdown::Write).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    if answer.is_empty() {
        return Err(failed(io::Error::other("it ended without an answer")));
    }
    Ok(answer)
}
