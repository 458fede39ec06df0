//! What can go wrong, with what would help.

use thiserror::Error;

use crate::plan::Tool;
use crate::settings::SettingError;

/// A reason why rates are not enforced.
#[derive(Debug, Error)]
pub enum EnforceError {
    /// A setting cannot be meant.
    #[error("{0}")]
    Setting(#[from] SettingError),
    /// The process may not change the network.
    #[error("the kernel lets no traffic be shaped without the right CAP_NET_ADMIN; run it as root, or give the right")]
    NotPermitted,
    /// A program is missing.
    #[error("the program `{program}` is needed; install the package {package}")]
    Program {
        /// Its name.
        program: &'static str,
        /// The package of most systems that has it.
        package: &'static str,
    },
    /// A device is missing.
    #[error("there is no device {0:?}; `ip link` lists those that there are")]
    Device(String),
    /// Somebody else shapes a device.
    #[error(
        "device {device:?} has a queue discipline that somebody set up ({kind} {handle}); remove it with `tc qdisc del \
         dev {device} root`, or leave the device out"
    )]
    Foreign {
        /// The device.
        device: String,
        /// The kind of the queue discipline.
        kind: String,
        /// Its handle.
        handle: String,
    },
    /// Another process enforces rates here.
    #[error("another process enforces rates in this network namespace (it holds the socket @{0}); end it first")]
    Running(&'static str),
    /// The kernel lacks something.
    #[error("the kernel or `{tool}` cannot do what is needed: {said}; it needs {needs}")]
    Unsupported {
        /// The program that said so.
        tool: Tool,
        /// The words of the program.
        said: String,
        /// The modules that help.
        needs: &'static str,
    },
    /// A program refused commands; what was changed before is undone.
    #[error("`{tool}` refuses: {said}")]
    Refused {
        /// The program.
        tool: Tool,
        /// The words of the program.
        said: String,
    },
    /// A session is not there.
    #[error("there is no session {0:?}")]
    NoSession(String),
    /// The number of rates is not that of the session's paths.
    #[error("session {session:?} has {paths} paths, and {rates} rates came")]
    Paths {
        /// The session.
        session: String,
        /// The number of its paths.
        paths: usize,
        /// The number of rates.
        rates: usize,
    },
    /// A program could not be run.
    #[error("`{tool}` could not be run: {error}")]
    Io {
        /// The program.
        tool: Tool,
        /// The reason.
        error: std::io::Error,
    },
    /// The kernel refuses a thread or a socket.
    #[error("{0}")]
    System(String),
    /// The system is not Linux.
    #[error("rates of other programs are enforced on Linux alone")]
    NotLinux,
}
