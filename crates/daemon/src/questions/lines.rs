//! Lines of programs, and of the agent: none is too long, and none takes too long.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The longest time until a question is there, and that a program takes nothing of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest question, in bytes.
const MOST_QUESTION: u64 = 1 << 14;

/// The first line, or what there is up to the end.
///
/// # Errors
/// Returns what is wrong with it.
pub(crate) async fn question(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<String, String> {
    let mut line = Vec::new();
    let mut head = reader.take(MOST_QUESTION);
    let read = timeout(PATIENCE, head.read_until(b'\n', &mut line)).await;
    let read = read.map_err(|_| format!("no question comes within {} s", PATIENCE.as_secs()))?;
    read.map_err(|error| error.to_string())?;
    if line.len() as u64 == MOST_QUESTION && line.last() != Some(&b'\n') {
        return Err(format!("a question is a line of at most {MOST_QUESTION} bytes"));
    }
    String::from_utf8(line).map_err(|_| "a question is text in UTF-8".to_owned())
}

/// Writes a value as a line; whether the program takes it in time.
pub(super) async fn say(writer: &mut (impl AsyncWrite + Unpin), value: &Value) -> bool {
    say_text(writer, &value.to_string()).await
}

/// Writes a line; whether the program takes it in time.
pub(super) async fn say_text(writer: &mut (impl AsyncWrite + Unpin), text: &str) -> bool {
    let written = async {
        writer.write_all(text.as_bytes()).await?;
        writer.write_all(b"\n").await
    };
    matches!(timeout(PATIENCE, written).await, Ok(Ok(())))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> Result<String, String> {
        question(&mut &*bytes).await
    }

    #[tokio::test]
    async fn a_question_is_a_line_of_text_that_is_not_too_long() {
        assert_eq!(read(b"show").await.unwrap(), "show");
        assert_eq!(read(b"paths {}\nmore").await.unwrap(), "paths {}\n");
        assert!(read(&vec![b'x'; 1 << 20]).await.unwrap_err().contains("at most 16384 bytes"));
        assert!(read(b"\xff\n").await.unwrap_err().contains("UTF-8"));
        assert_eq!(read(b"").await.unwrap(), "");
    }
}
