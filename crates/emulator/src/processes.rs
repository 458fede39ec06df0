//! The processes of a lab: programs see each other and no others, and end with the lab, however that ends.
//!
//! They are in a separate process namespace. Its first process is a shell that waits for orphaned processes. When the
//! shell ends, the kernel kills all others. The kernel also kills the shell when the process that owns the lab ends.

use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::kernel::{end_with_thread, show_own_processes};

/// Script of the first process: it waits for its child, and for all orphaned processes.
const WAIT: &str = "while :; do sleep 1000000 & wait; done";

/// The process namespace of a lab, which is made when the first program starts.
#[derive(Default)]
pub(crate) struct Processes(Mutex<Option<Namespace>>);

struct Namespace {
    file: File,
    /// A channel; closing it ends the first process.
    _lab: Sender<()>,
}

impl Processes {
    /// Starts a program, and permanently changes the calling thread, which can start no threads afterwards.
    pub fn start(&self, mut command: Command) -> io::Result<Child> {
        self.enter().map_err(|error| {
            io::Error::new(error.kind(), format!("the kernel refuses a process namespace: {error}"))
        })?;
        show_own_processes(&mut command);
        command.spawn()
    }

    /// Moves future programs of the calling thread into the namespace.
    fn enter(&self) -> io::Result<()> {
        let mut namespace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = match &mut *namespace {
            Some(own) => own,
            none => none.insert(Namespace::new()?),
        };
        Ok(setns(&own.file, CloneFlags::CLONE_NEWPID)?)
    }
}

impl Namespace {
    fn new() -> io::Result<Self> {
        let (tell, told) = channel();
        let (lab, ended) = channel();
        thread::Builder::new().name("processes".to_owned()).spawn(move || keep(&tell, &ended))?;
        let file = told.recv().unwrap_or_else(|_| Err(io::Error::other("its thread has ended")))?;
        Ok(Self { file, _lab: lab })
    }
}

/// The thread that starts the first process, and kills it when the lab has ended.
fn keep(tell: &Sender<io::Result<File>>, ended: &Receiver<()>) {
    let (mut first, file) = match first_process() {
        Ok((first, file)) => (first, Ok(file)),
        Err(error) => return drop(tell.send(Err(error))),
    };
    let _ = tell.send(file).map(|()| ended.recv());
    let _ = first.kill();
    // This takes until all programs have been waited for.
    let _ = first.wait();
}

fn first_process() -> io::Result<(Child, File)> {
    unshare(CloneFlags::CLONE_NEWPID)?;
    let mut command = Command::new("sh");
    command.args(["-c", WAIT]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    end_with_thread(&mut command);
    let mut first = command.spawn()?;
    let file = File::open(format!("/proc/{}/ns/pid", first.id())).inspect_err(|_| drop(first.kill()))?;
    Ok((first, file))
}
