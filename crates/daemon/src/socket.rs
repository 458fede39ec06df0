//! The socket in the folder of an agent by which commands on the same machine ask it.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixListener;
use tokio::time::timeout;

use crate::control::Control;
use crate::questions::{self, Lasting};

/// The longest time that a command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest path of a socket, in bytes.
const MOST_PLACE: usize = 107;

/// The longest time that commands wait for all sessions to leave.
const MOST_DRAIN_S: f64 = 600.0;

/// The greatest number of questions at a time.
const MOST_AT_A_TIME: usize = 16;

fn place(state: &Path) -> PathBuf {
    state.join("agent.sock")
}

/// Makes the socket, for the owner alone. One that a former start left behind is replaced.
pub(crate) fn bind(state: &Path) -> io::Result<UnixListener> {
    let path = place(state);
    let length = path.as_os_str().len();
    if length > MOST_PLACE {
        let most = MOST_PLACE - (length - state.as_os_str().len());
        return Err(io::Error::other(format!("its path may have {most} bytes, so that a socket in it can be named")));
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Time after an error of the socket, such as too many open files.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// Answers questions as long as the agent runs. A question is a line, or all that comes until the end.
pub(crate) async fn serve(listener: UnixListener, control: Control) {
    let turns = std::sync::Arc::new(tokio::sync::Semaphore::new(MOST_AT_A_TIME));
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_ERROR).await;
            continue;
        };
        let (control, turns) = (control.clone(), turns.clone());
        tokio::spawn(async move {
            let Ok(turn) = turns.try_acquire() else { return };
            let (reader, mut writer) = stream.split();
            let mut reader = BufReader::new(reader);
            let Ok(question) = questions::question(&mut reader).await else { return };
            if let Some(lasting) = Lasting::read(&question) {
                // It may last, so that it takes no turn of those that ask.
                drop(turn);
                return questions::serve(&"".into(), lasting, reader, writer, &control).await;
            }
            let answer = answer(&control, question.trim()).await;
            let _ = timeout(PATIENCE, writer.write_all(answer.to_string().as_bytes())).await;
        });
    }
}

/// The answer to a question: an object with `answer`, or with `error`.
async fn answer(control: &Control, question: &str) -> Value {
    let words: Vec<&str> = question.split_whitespace().collect();
    let answer = match *words {
        ["show"] => Ok(json!(control.shown().await)),
        ["reload"] => control.reload().map(|()| Value::Null).map_err(|error| error.to_string()),
        ["drain", seconds] => match seconds.parse().map(|seconds: f64| seconds.clamp(0.0, MOST_DRAIN_S)) {
            Ok(seconds) if !seconds.is_nan() => Ok(json!(control.drain(Duration::from_secs_f64(seconds)).await)),
            _ => Err(format!("`{seconds}` is no number of seconds")),
        },
        _ => Err(format!("the agent does not know `{question}`; it may be of another version")),
    };
    answer.map_or_else(|error| json!({"error": error}), |answer| json!({"answer": answer}))
}

/// Asks the agent that runs with this folder: `show`, `reload`, or `drain` with a number of seconds. The answer is JSON:
/// an object with `answer`, or with `error`.
///
/// # Errors
/// Returns an error if no agent answers within `most`.
pub fn ask(state: &Path, question: &str, most: Duration) -> io::Result<String> {
    let path = place(state);
    let failed =
        |error: io::Error| io::Error::new(error.kind(), format!("no agent answers at {}: {error}", path.display()));
    let mut stream = UnixStream::connect(&path).map_err(failed)?;
    stream.set_read_timeout(Some(most.max(PATIENCE)))?;
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
