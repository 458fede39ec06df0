//! Processes that live as long as rates are enforced: one that changes rates, and one that outlives us if we are killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use super::programs::command;
use crate::error::EnforceError;
use crate::plan::Tool;
use crate::sink::Errors;

/// A `tc` that takes commands as they come.
pub(crate) struct Kept {
    child: Child,
    input: Option<ChildStdin>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Kept {
    /// Starts it in the network namespace of the calling thread; refused commands are counted.
    pub fn start(errors: &Arc<Mutex<Errors>>) -> Result<Self, EnforceError> {
        let tool = Tool::Tc;
        let mut child = command("tc")
            .args(["-force", "-batch", "-"])
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| EnforceError::Io { tool, error })?;
        let said = child.stderr.take().expect("its errors are a pipe");
        let errors = errors.clone();
        let reader = thread::Builder::new().name("enforce-errors".to_owned()).spawn(move || count(said, &errors)).ok();
        Ok(Self { input: child.stdin.take(), child, reader })
    }

    /// Hands commands over; whether the process still takes them.
    pub fn write(&mut self, text: &str) -> bool {
        self.input.as_mut().is_some_and(|input| input.write_all(text.as_bytes()).is_ok())
    }
}

impl Drop for Kept {
    /// Waits until all commands have been run.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn count(said: impl Read, errors: &Mutex<Errors>) {
    let mut words = String::new();
    for line in BufReader::new(said).lines() {
        let Ok(line) = line else { return };
        if line.starts_with("Command failed") {
            Errors::add(errors, std::mem::take(&mut words));
        } else if words.len() < 1000 {
            words += if words.is_empty() { "" } else { "; " };
            words += line.trim();
        }
    }
}

/// A shell that brings rates down when this process has died.
///
/// It reads commands until its input ends, which only our death does, and hands them to `tc`. In an orderly end it is
/// killed before.
pub(crate) struct Guard {
    child: Child,
    _input: ChildStdin,
}

/// The shell ignores signals that a terminal or a service manager sends to all processes of a service.
const SCRIPT: &str = "trap '' HUP INT TERM; text=$(cat); printf '%s\\n' \"$text\" | \"$0\" -force -batch -";

impl Guard {
    /// Starts a guard with the commands that it should run.
    pub fn start(text: &str) -> Result<Self, EnforceError> {
        let io = |error| EnforceError::Io { tool: Tool::Tc, error };
        let tc = super::programs::find("tc").unwrap_or_else(|| "tc".into());
        let mut child = command("sh")
            .args(["-c", SCRIPT])
            .arg(tc)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(io)?;
        let mut input = child.stdin.take().expect("its input is a pipe");
        if let Err(error) = input.write_all(text.as_bytes()) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(io(error));
        }
        Ok(Self { child, _input: input })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
