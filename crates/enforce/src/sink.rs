//! Where commands go: to the kernel, or to a text.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(target_os = "linux")]
use crate::counters;
use crate::counters::ClassCounters;
use crate::error::EnforceError;
#[cfg(target_os = "linux")]
use crate::kernel::{self, Guard, Kept};
use crate::plan::{Batch, Class, Leaf, Tool};
use crate::settings::Setup;

/// What carries commands out.
pub enum Backend {
    /// The kernel, by `tc`, `nft` and `ip`.
    Kernel,
    /// Nothing: the commands are written with the programs that would get them.
    Print(Box<dyn Write + Send>),
}

/// What went wrong while rates were changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// The number of refused commands.
    pub count: u64,
    /// The words about the last one.
    pub last: Option<String>,
}

impl Errors {
    pub(crate) fn add(errors: &Mutex<Self>, words: String) {
        let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.count += 1;
        errors.last = Some(words);
    }
}

/// A back end that is ready.
pub(crate) enum Sink {
    #[cfg(target_os = "linux")]
    Kernel(Box<Kernel>),
    Print(Box<dyn Write + Send>),
}

/// The processes and the lock of the kernel's back end.
#[cfg(target_os = "linux")]
pub(crate) struct Kernel {
    kept: Option<Kept>,
    guard: Option<Guard>,
    errors: Arc<Mutex<Errors>>,
    _lock: kernel::Lock,
}

impl Sink {
    /// Checks that the back end can do what is needed, and removes what an earlier run left.
    pub fn open(backend: Backend, setup: &Setup, errors: &Arc<Mutex<Errors>>) -> Result<(Self, Leaf), EnforceError> {
        match backend {
            Backend::Print(text) => Ok((Sink::Print(text), Leaf::FqCodel)),
            #[cfg(not(target_os = "linux"))]
            Backend::Kernel => {
                let _ = (setup, errors);
                Err(EnforceError::NotLinux)
            }
            #[cfg(target_os = "linux")]
            Backend::Kernel => {
                kernel::check(setup)?;
                let lock = kernel::Lock::take()?;
                let left = kernel::left_overs(setup)?;
                let leaf = kernel::leaf_of_kernel(setup)?;
                left.iter().for_each(kernel::run_all);
                let kernel = Kernel { kept: None, guard: None, errors: errors.clone(), _lock: lock };
                Ok((Sink::Kernel(Box::new(kernel)), leaf))
            }
        }
    }

    /// Runs commands until one fails.
    pub fn run(&mut self, batches: &[Batch]) -> Result<(), EnforceError> {
        match self {
            #[cfg(target_os = "linux")]
            Sink::Kernel(_) => batches.iter().try_for_each(kernel::run),
            Sink::Print(text) => {
                for batch in batches {
                    print(text, batch);
                }
                Ok(())
            }
        }
    }

    /// Runs all commands, whatever becomes of each.
    pub fn run_all(&mut self, batches: &[Batch]) {
        match self {
            #[cfg(target_os = "linux")]
            Sink::Kernel(_) => batches.iter().for_each(kernel::run_all),
            Sink::Print(text) => batches.iter().for_each(|batch| print(text, batch)),
        }
    }

    /// Hands changes of rates over, without waiting; whether they have arrived.
    pub fn change(&mut self, text: &str) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Sink::Kernel(kernel) => {
                if kernel.kept.is_none() {
                    kernel.kept = match Kept::start(&kernel.errors) {
                        Ok(kept) => Some(kept),
                        Err(error) => {
                            Errors::add(&kernel.errors, error.to_string());
                            None
                        }
                    };
                }
                let arrived = kernel.kept.as_mut().is_some_and(|kept| kept.write(text));
                if !arrived {
                    kernel.kept = None;
                }
                arrived
            }
            Sink::Print(out) => {
                print(out, &Batch { tool: Tool::Tc, text: text.to_owned() });
                true
            }
        }
    }

    /// What the classes of a device have counted; nothing without a kernel.
    pub fn count(&mut self, device: &str) -> Result<BTreeMap<Class, ClassCounters>, EnforceError> {
        match self {
            #[cfg(target_os = "linux")]
            Sink::Kernel(_) => Ok(counters::read(&kernel::ask(Tool::Tc, &["-s", "class", "show", "dev", device])?)),
            Sink::Print(_) => {
                let _ = device;
                Ok(BTreeMap::new())
            }
        }
    }

    /// Waits until all changes of rates have been made.
    pub fn settle(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Sink::Kernel(kernel) => kernel.kept = None,
            Sink::Print(_) => {}
        }
    }

    /// Leaves commands that run when this process has died; `None` takes them back.
    pub fn guard(&mut self, text: Option<&str>) -> Result<(), EnforceError> {
        match self {
            #[cfg(target_os = "linux")]
            Sink::Kernel(kernel) => {
                kernel.guard = text.map(Guard::start).transpose()?;
            }
            Sink::Print(_) => {
                let _ = text;
            }
        }
        Ok(())
    }
}

/// Runs commands beside everything else; an error is counted.
pub(crate) fn run_beside(sink: &mut Sink, batches: Vec<Batch>, errors: &Arc<Mutex<Errors>>) -> Option<Beside> {
    match sink {
        #[cfg(target_os = "linux")]
        Sink::Kernel(_) => {
            let errors = errors.clone();
            let work = move || {
                for batch in &batches {
                    if let Err(error) = kernel::run(batch) {
                        Errors::add(&errors, error.to_string());
                    }
                }
            };
            std::thread::Builder::new().name("enforce-beside".to_owned()).spawn(work).ok()
        }
        Sink::Print(text) => {
            let _ = errors;
            for batch in &batches {
                print(text, batch);
            }
            None
        }
    }
}

/// Commands that run beside everything else.
pub(crate) type Beside = std::thread::JoinHandle<()>;

fn print(out: &mut Box<dyn Write + Send>, batch: &Batch) {
    // A text that takes no more words is no reason to stop.
    let _ = write!(out, "# {}\n{}", batch.tool, batch.text);
    let _ = out.flush();
}
