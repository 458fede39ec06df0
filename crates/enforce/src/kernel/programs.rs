//! Runs of `tc`, `nft` and `ip`.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::EnforceError;
use crate::plan::{Batch, Tool};

/// Folders in which system programs are, even where the search path lacks them.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// The path of a program; its bare name if it is nowhere.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// A command whose words are the same in every language setting.
pub(super) fn command(program: &str) -> Command {
    let mut command = Command::new(find(program).unwrap_or_else(|| PathBuf::from(program)));
    command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs commands; with `all`, those after one that fails run, too.
fn feed(batch: &Batch, all: bool) -> io::Result<(bool, String)> {
    let (program, arguments) = batch.tool.command();
    let mut command = command(program);
    command.args((all && batch.tool != Tool::Nft).then_some("-force")).args(arguments).stdout(Stdio::null());
    let mut child = command.spawn()?;
    let input = child.stdin.take().expect("its input is a pipe");
    // If the program exits early, its message is of more use than the failure to write to it.
    let _ = { input }.write_all(batch.text.as_bytes());
    let output = child.wait_with_output()?;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Runs commands until one fails.
pub(crate) fn run(batch: &Batch) -> Result<(), EnforceError> {
    let tool = batch.tool;
    let (success, said) = feed(batch, false).map_err(|error| EnforceError::Io { tool, error })?;
    if success { Ok(()) } else { Err(EnforceError::Refused { tool, said: explained(batch, &said) }) }
}

/// Runs all commands, whatever becomes of each.
pub(crate) fn run_all(batch: &Batch) {
    let _ = feed(batch, true);
}

/// The answer of a program to a question.
pub(crate) fn ask(tool: Tool, arguments: &[&str]) -> Result<String, EnforceError> {
    let output = command(tool.command().0)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| EnforceError::Io { tool, error })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(EnforceError::Refused { tool, said: format!("{} (asked {})", said.trim(), arguments.join(" ")) })
}

/// The words of a program in one line, with the command that they are about.
fn explained(batch: &Batch, said: &str) -> String {
    let words: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    let words = words.join("; ");
    // `tc` and `ip` end with `Command failed -:3`, `nft` begins with `/dev/stdin:3:1-5:`.
    let number = said
        .split_once("Command failed -:")
        .or_else(|| said.split_once("/dev/stdin:"))
        .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok());
    match number.and_then(|number| batch.text.lines().nth(number.checked_sub(1)?)) {
        Some(line) => format!("{words} (command: {})", line.trim()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_command_that_failed() {
        let batch = Batch { tool: Tool::Tc, text: "qdisc add a\nqdisc add b\n".to_owned() };
        let said = "Error: Specified qdisc kind is unknown.\nCommand failed -:2\n";
        assert_eq!(
            explained(&batch, said),
            "Error: Specified qdisc kind is unknown.; Command failed -:2 (command: qdisc add b)"
        );
        assert_eq!(explained(&batch, "no line\n"), "no line");
    }
}
