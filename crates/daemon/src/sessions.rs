//! The sessions that always exist, as the file of the agent names them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_agents::{Answer, Ask, ClientId};
use anabranch_live::agents::{AgentHandle, RETRY};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::config::{Session, demand};
use crate::directory::Directory;
use crate::enforced::Enforced;

/// The sessions that always exist.
#[derive(Debug)]
pub(crate) struct Sessions {
    agent: AgentHandle,
    directory: Directory,
    enforced: Enforced,
    all: Mutex<BTreeMap<String, Kept>>,
    /// The sessions that were opened beside those of the file.
    opened: Arc<Mutex<BTreeSet<Called>>>,
}

/// The name of a session, after that of its application; programs of the same machine have none.
type Called = (Arc<str>, String);

/// The greatest number of sessions that programs of the same machine open beside those of the file. Those of an
/// application are bounded by its rights.
const MOST_OPENED: usize = 1024;

/// What happens to a session that was opened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// Its paths: the numbers of the links of each.
    Paths(Vec<Vec<u32>>),
    /// The rate of each path, in bit/s.
    Rates(Vec<f64>),
    /// It is refused, for good or for the moment.
    Refused(String, bool),
}

/// A session that was opened beside those of the file; it ends with this.
#[derive(Debug)]
pub(crate) struct Opened {
    called: Called,
    demand: watch::Sender<f64>,
    task: JoinHandle<()>,
    names: Arc<Mutex<BTreeSet<Called>>>,
    enforced: Enforced,
}

impl Opened {
    /// Changes the demand, in bit/s.
    pub fn set_demand(&self, bps: f64) {
        self.demand.send_replace(bps);
    }

    /// Asks with the same demand again, as rights may have changed.
    pub fn ask_again(&self) {
        self.demand.send_modify(|_| ());
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.task.abort();
        self.enforced.close(&self.called.1);
        // Only now may another have this name.
        self.names.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.called);
    }
}

#[derive(Debug)]
struct Kept {
    settings: Session,
    demand: watch::Sender<f64>,
    task: JoinHandle<()>,
}

/// A session leaves when its task ends.
impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sessions {
    /// No sessions, at this agent.
    pub fn new(agent: AgentHandle, directory: Directory, enforced: Enforced) -> Self {
        Self { agent, directory, enforced, all: Mutex::default(), opened: Arc::default() }
    }

    /// Keeps these sessions and no others. One that has another demand or other packets goes on; one that changed otherwise
    /// begins anew.
    /// Must be called in a tokio runtime.
    pub fn set(&self, wanted: &[Session]) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|name, kept| wanted.iter().any(|session| session.name == *name && session.is_as(&kept.settings)));
        for session in wanted {
            let bps = demand(session.demand).0;
            if let Some(kept) = all.get_mut(&session.name) {
                if kept.settings != *session {
                    kept.demand.send_replace(bps);
                    kept.settings = session.clone();
                }
                continue;
            }
            let (tell, told) = watch::channel(bps);
            let task = self.begin(&"".into(), session, told, None);
            all.insert(session.name.clone(), Kept { settings: session.clone(), demand: tell, task });
        }
    }

    /// Opens a session of this name beside those of the file, as long as the answer lives. What happens to it is told.
    /// Must be called in a tokio runtime.
    ///
    /// # Errors
    /// Returns the reason if there is a session of this name, or there are too many.
    pub fn open(&self, application: &Arc<str>, session: &Session, tell: mpsc::Sender<Told>) -> Result<Opened, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let called = (application.clone(), session.name.clone());
        if opened.contains(&called) {
            return Err("there is a session of this name already; take another".to_owned());
        }
        let is_near = application.is_empty();
        if is_near && opened.iter().filter(|(own, _)| own.is_empty()).count() >= MOST_OPENED {
            return Err(format!("there are {MOST_OPENED} opened sessions already, which is the most"));
        }
        opened.insert(called.clone());
        let enforced = self.enforced_for(application);
        enforced.open(session);
        let (demand, told) = watch::channel(demand(session.demand).0);
        let task = self.begin(application, session, told, Some(tell));
        Ok(Opened { called, demand, task, names: self.opened.clone(), enforced })
    }

    /// What keeps traffic to rates: that of applications is on other machines.
    fn enforced_for(&self, application: &str) -> Enforced {
        if application.is_empty() { self.enforced.clone() } else { Enforced::default() }
    }

    /// Asks for a session, and keeps it from then on. Sessions have the order in which this is called.
    fn begin(
        &self,
        application: &Arc<str>,
        session: &Session,
        wanted: watch::Receiver<f64>,
        tell: Option<mpsc::Sender<Told>>,
    ) -> JoinHandle<()> {
        let opening =
            Opening { agent: self.agent.clone(), directory: self.directory.clone(), application: application.clone() };
        let first = opening.ask_for(session, *wanted.borrow());
        tokio::spawn(keep(opening, self.enforced_for(application), session.clone(), first, wanted, tell))
    }

    /// Whether a program of this machine has opened a session of this name.
    pub fn has_opened(&self, name: &str) -> bool {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).contains(&("".into(), name.to_owned()))
    }

    /// Ends all sessions of the file.
    pub fn end(&self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// What it takes to ask the agent for sessions of an application or, without a name, of its own.
struct Opening {
    agent: AgentHandle,
    directory: Directory,
    application: Arc<str>,
}

impl Opening {
    /// Asks the agent for a session.
    fn ask_for(&self, session: &Session, demand: f64) -> Asked {
        let Session { to: target, paths, weight: claim, reserved, name, .. } = session.clone();
        let reserved = reserved.map_or(0.0, |rate| rate.0.0);
        let ask = Ask::Open { target, paths, protocol: 0, claim, reserved, demand };
        // The agent cannot end the session before its name is known: it needs the directory for that.
        let mut directory = self.directory.open();
        let (id, answers) = self.agent.open(&self.application, ask);
        directory.names.insert(id, name);
        (id, answers)
    }
}

/// The number of a session that was asked for, and the answers.
type Asked = (ClientId, mpsc::Receiver<Answer>);

/// Keeps a session, and opens it again when it has ended: soon, unless the reason lasts.
async fn keep(
    opening: Opening,
    enforced: Enforced,
    session: Session,
    (mut id, mut answers): Asked,
    mut wanted: watch::Receiver<f64>,
    tell: Option<mpsc::Sender<Told>>,
) {
    let tell = |told| {
        if let Some(tell) = &tell {
            // Whatever is told is told again.
            let _ = tell.try_send(told);
        }
    };
    let mut wait = RETRY.0;
    loop {
        loop {
            tokio::select! {
                answer = answers.recv() => match answer {
                    Some(Answer::Granted { rates }) => {
                        wait = RETRY.0;
                        tell(Told::Rates(rates.clone()));
                        enforced.grant(&session.name, rates);
                    }
                    Some(Answer::Paths { paths }) => {
                        tell(Told::Paths(paths.clone()));
                        enforced.take_paths(&session.name, paths);
                    }
                    Some(Answer::Refused { is_lasting, reason }) => {
                        tell(Told::Refused(reason, is_lasting));
                        wait = if is_lasting { RETRY.1 } else { wait };
                        break;
                    }
                    None | Some(Answer::Left) => break,
                },
                Ok(()) = wanted.changed() => opening.agent.ask(id, Ask::Demand { demand: *wanted.borrow_and_update() }),
            }
        }
        drop(answers);
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY.1);
        (id, answers) = opening.ask_for(&session, *wanted.borrow_and_update());
    }
}
