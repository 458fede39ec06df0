//! Questions whose answers last: a program asks by a line, and is told lines of JSON for as long as its stream lives.
//!
//! Programs of the agent's machine ask by a socket, and may ask for everything. Applications on other machines ask by
//! QUIC with their certificates, as far as their rights go. What they can hold at a time and how often they ask is
//! bounded for each of them, so that none keeps the agent from others.

mod lines;
mod opened;
mod told;
mod turns;

use std::sync::Arc;

use anabranch_live::agents::Question;
use serde_json::json;
use tokio::io::{AsyncBufRead, AsyncWrite, BufReader};

use crate::config::Session;
use crate::control::Control;
use crate::topology::Wanted;

pub(crate) use self::lines::question;
use self::lines::say;
pub(crate) use self::turns::Turns;

/// A question whose answer lasts.
pub(crate) enum Lasting {
    /// A session.
    Open(Session),
    /// Paths, or items with their sources.
    Wanted(Wanted),
}

impl Lasting {
    /// Reads a question; `None` if its answer does not last.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn read(question: &str) -> Option<Result<Self, String>> {
        if let Some(session) = question.strip_prefix("open ") {
            return Some(serde_json::from_str(session).map(Self::Open).map_err(|error| error.to_string()));
        }
        Wanted::read(question).map(|wanted| wanted.map(Self::Wanted))
    }
}

/// Answers a program: an application, or one of the agent's machine without a name.
pub(crate) async fn serve(
    application: &Arc<str>,
    lasting: Result<Lasting, String>,
    reader: impl AsyncBufRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    control: &Control,
) {
    let ended = match lasting {
        Ok(Lasting::Open(session)) => opened::serve(application, &session, reader, &mut writer, control).await,
        Ok(Lasting::Wanted(wanted)) => told::serve(application, wanted, reader, &mut writer, control).await,
        Err(reason) => Err(reason),
    };
    if let Err(reason) = ended {
        say(&mut writer, &json!({"error": reason})).await;
    }
}

/// Answers a question of an application on another machine.
pub(crate) async fn answer(question: Question, control: Control) {
    let Question { application, reader, mut writer } = question;
    let mut reader = BufReader::new(reader);
    let Some(turn) = control.turns().enter(&application) else {
        say(&mut writer, &json!({"error": turns::refusal(&application)})).await;
        return;
    };
    turn.wait().await;
    let lasting = match lines::question(&mut reader).await {
        Ok(text) => Lasting::read(text.trim_end()).unwrap_or_else(|| Err(UNKNOWN.to_owned())),
        Err(reason) => Err(reason),
    };
    serve(&application, lasting, reader, writer, &control).await;
}

const UNKNOWN: &str = "an application asks by a line that begins with open, paths, publish or find and goes on with JSON, \
                       such as: paths {\"to\": \"Nice\", \"from\": [\"Paris\"]}";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(
            word in "(open|paths|find|publish|show)?[ \\t]?",
            text in r#"[{}\[\]":,a-z0-9 \\/*.-]{0,200}|\PC{0,60}"#,
        ) {
            let _ = Lasting::read(&format!("{word}{text}"));
        }
    }

    #[test]
    fn questions_are_told_apart_by_their_first_word() {
        assert!(matches!(Lasting::read(r#"open {"name": "x", "to": "b"}"#), Some(Ok(Lasting::Open(_)))));
        assert!(matches!(Lasting::read(r#"find {"item": "x", "to": "b"}"#), Some(Ok(Lasting::Wanted(_)))));
        assert!(matches!(Lasting::read("paths nothing"), Some(Err(_))));
        assert!(Lasting::read("show").is_none() && Lasting::read("opens {}").is_none() && Lasting::read("").is_none());
    }
}
