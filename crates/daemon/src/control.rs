//! What can be done with a running agent: its file is read again, or it makes ready to end.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_live::agents::AgentHandle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::config::{Config, Session};
use crate::enforced::Enforced;
use crate::interfaces::Watched;
use crate::papers::{CurrentProofs, Papers};
use crate::questions::Turns;
use crate::rights::Rights;
use crate::service::DaemonError;
use crate::sessions::{Opened, Sessions, Told};
use crate::shown::{Names, State};
use crate::topology::Topology;
use crate::watch::Watch;

/// Time between two looks whether all sessions have left.
const LOOK: Duration = Duration::from_millis(20);

/// A handle to the parts of a running agent.
#[derive(Clone)]
pub struct Control(Arc<Parts>);

pub(crate) struct Parts {
    pub agent: AgentHandle,
    pub names: Names,
    pub watch: Watch,
    pub sessions: Sessions,
    pub topology: Topology,
    pub turns: Turns,
    pub enforced: Enforced,
    pub rights: Rights,
    pub proofs: Arc<CurrentProofs>,
    /// The links that are interfaces, with the capacities that the file gives them.
    pub given: watch::Sender<Vec<Watched>>,
    pub config: Mutex<Config>,
}

/// The reason why a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file or a certificate cannot be used.
    #[error("{0}; nothing has changed")]
    Unusable(#[from] DaemonError),
    /// Something changed that a running agent cannot change.
    #[error("{}: {what} cannot change while the agent runs; nothing has changed. Restart it: grants return in some seconds", path.display())]
    Fixed {
        /// The file.
        path: PathBuf,
        /// What changed.
        what: &'static str,
    },
    /// A session has the name of one that a program has opened.
    #[error(
        "{}: session `{session}`: a program has opened a session of this name; take another name, or wait for its end; \
         nothing has changed", path.display()
    )]
    Opened {
        /// The file.
        path: PathBuf,
        /// The name.
        session: String,
    },
}

impl Control {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// A handle to the agent itself.
    pub fn agent(&self) -> &AgentHandle {
        &self.0.agent
    }

    /// What keeps traffic to rates.
    pub(crate) fn enforced(&self) -> Enforced {
        self.0.enforced.clone()
    }

    /// The state of the agent, its changes and its history.
    pub fn watch(&self) -> &Watch {
        &self.0.watch
    }

    /// The paths that programs ask for.
    pub(crate) fn topology(&self) -> &Topology {
        &self.0.topology
    }

    /// The names of nodes and links.
    pub(crate) fn names(&self) -> &Names {
        &self.0.names
    }

    /// The present state; `None` if the agent has ended.
    pub async fn shown(&self) -> Option<State> {
        let report = self.0.agent.report().await?;
        Some(self.0.names.state(&report, self.0.watch.status(), None))
    }

    /// Opens the sessions that always exist. Must be called in a tokio runtime.
    pub(crate) fn begin(&self) {
        let config = self.0.config.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.enforced.set(&config);
        self.0.sessions.set(&config.sessions);
    }

    /// What applications may ask.
    pub(crate) fn rights(&self) -> &Rights {
        &self.0.rights
    }

    /// The streams of applications.
    pub(crate) fn turns(&self) -> &Turns {
        &self.0.turns
    }

    /// Opens a session beside those of the file, for an application or a program of this machine, as long as the answer
    /// lives. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// Returns the reason why it cannot be.
    pub(crate) fn open(
        &self,
        application: &Arc<str>,
        session: &Session,
        tell: mpsc::Sender<Told>,
    ) -> Result<Opened, String> {
        let config = self.0.config.lock().unwrap_or_else(PoisonError::into_inner);
        config.check_opened(session, application.is_empty())?;
        drop(config);
        self.check_rates(application, session)?;
        self.0.sessions.open(application, session, tell)
    }

    /// Checks that an application may have a session.
    ///
    /// # Errors
    /// Returns the reason why it may not.
    pub(crate) fn check_rates(&self, application: &str, session: &Session) -> Result<(), String> {
        let reserved = session.reserved.map_or(0.0, |rate| rate.0.0);
        self.0.rights.session(application, &session.to, session.weight, reserved).map(|_| ())
    }

    /// Keeps [`Self::watch`] up to date.
    pub(crate) async fn look(self) {
        let Parts { agent, names, watch, .. } = &*self.0;
        watch.run(agent, names).await;
    }

    /// Reads the file of the agent again, with the certificates that it names, and takes what has changed. Sessions that
    /// have not changed keep their rates.
    ///
    /// # Errors
    /// Returns an error if the new file cannot be used; the agent goes on with the old one.
    pub fn reload(&self) -> Result<(), ReloadError> {
        let parts = &*self.0;
        let mut present = parts.config.lock().unwrap_or_else(PoisonError::into_inner);
        let mut config = Config::read(&present.path).map_err(DaemonError::from)?;
        if present.is_dry {
            config = config.dry();
        }
        if let Some(what) = present.fixed_difference(&config) {
            return Err(ReloadError::Fixed { path: config.path, what });
        }
        if let Some(session) = config.sessions.iter().find(|session| parts.sessions.has_opened(&session.name)) {
            return Err(ReloadError::Opened { path: config.path, session: session.name.clone() });
        }
        let papers = Papers::read(&config)?;
        let signed = papers.signed()?;
        parts.agent.set_trust(papers.trust(&config)).map_err(DaemonError::from)?;
        parts.proofs.set(signed);
        parts.watch.set(|status| status.certificate_until_s = papers.until_s());
        parts.rights.set(config.rights.clone());
        for (link, capacity) in config.capacities() {
            parts.agent.set_capacity(link, capacity);
        }
        parts.given.send_replace(config.interfaces());
        parts.enforced.set(&config);
        parts.sessions.set(&config.sessions);
        *present = config;
        Ok(())
    }

    /// Makes ready to end: others take paths that avoid the agent, and its sessions leave. Whether all have left in time;
    /// the agent runs on.
    pub async fn drain(&self, most: Duration) -> bool {
        let end = Instant::now() + most;
        self.0.watch.set(|status| status.is_draining = true);
        self.0.sessions.end();
        self.0.enforced.end();
        self.0.agent.drain();
        loop {
            let Some(report) = self.0.agent.report().await else { return true };
            if report.view.sessions.is_empty() && report.is_clear {
                return true;
            }
            if Instant::now() > end {
                return false;
            }
            sleep(LOOK).await;
        }
    }
}
