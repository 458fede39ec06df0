//! A host: a thread in a network namespace of its own, with one TUN device that has the addresses of paths.
//!
//! Threads that this thread starts are in its namespace, and so are programs. Nothing has a name that outlives it: when
//! the thread, what it started and the device are gone, the kernel removes the rest, however the process ends.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anabranch_core::NodeId;
use nix::sched::{CloneFlags, unshare};

use crate::kernel::open_tun;
use crate::processes::Processes;

/// The name of the TUN device in each host.
pub const DEVICE: &str = "lab0";

/// Packets that wait in the kernel for the emulator; more than come while it sleeps too long for a run to be valid.
const MOST_WAITING: u32 = 10_000;

type Job = Box<dyn FnOnce() + Send>;

/// A node of a plan at which paths begin or end, as programs see it.
pub struct Host {
    /// Which.
    pub node: NodeId,
    jobs: Sender<Job>,
    processes: Arc<Processes>,
}

/// What a host begins with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub node: NodeId,
    pub mtu: u32,
    /// Its own address on each path that begins or ends there, and that of the other end.
    pub addresses: Vec<(Ipv4Addr, Ipv4Addr)>,
}

impl Host {
    /// Makes a host of a lab, whose programs are among the lab's processes; gives the TUN device with it.
    pub(crate) fn start(setup: &Setup, processes: Arc<Processes>) -> io::Result<(Self, File)> {
        let (jobs, todo) = channel::<Job>();
        let (tell, told) = channel();
        let script = script(setup);
        thread::Builder::new().name(format!("host-{}", setup.node.0)).spawn(move || live(&script, &tell, todo))?;
        let file = told.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of a host has ended")))?;
        Ok((Self { node: setup.node, jobs, processes }, file))
    }

    /// Starts a thread in the host: sockets that it makes, and threads and programs that it starts, belong there.
    pub fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.ask(|| thread::spawn(work))
    }

    /// Does something in the host, and waits for it.
    ///
    /// # Panics
    /// If `work` does.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Starts a program in the host; with all that it starts it is killed when the lab ends, however that ends.
    ///
    /// # Errors
    /// If the program cannot be started, or the kernel refuses a process namespace.
    pub fn command(&self, command: Command) -> io::Result<Child> {
        let processes = self.processes.clone();
        self.run(move || processes.start(command))
    }

    /// Packets that the kernel dropped before the emulator had them.
    pub(crate) fn dropped(&self) -> u64 {
        let table = self.ask(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
        table.ok().and_then(|table| dropped_in(&table)).unwrap_or(0)
    }

    /// Does something brief on the host's own thread.
    fn ask<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = channel();
        let job = Box::new(move || drop(tell.send(work())));
        self.jobs.send(job).expect("a host's thread lives as long as the host");
        told.recv().expect("a host's thread does what it is asked")
    }
}

/// What the host's thread does: makes the namespace, says whether it could, and then what it is asked.
fn live(script: &str, tell: &Sender<io::Result<File>>, todo: Receiver<Job>) {
    let file = make(script);
    let is_made = file.is_ok();
    if tell.send(file).is_ok() && is_made {
        for job in todo {
            job();
        }
    }
}

fn make(script: &str) -> io::Result<File> {
    let failed = |what: &str, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| failed("a network namespace cannot be made", error.into()))?;
    // So that nothing is sent that no program sends; a kernel without IPv6 has no such file.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let file = open_tun(DEVICE).map_err(|error| failed("a TUN device cannot be made from /dev/net/tun", error))?;
    configure(script).map_err(|error| failed("the program `ip` (iproute2) cannot set up a TUN device", error))?;
    Ok(file)
}

/// What `ip` is told: no address but those of paths, and a route to the other end of each from the right one.
fn script(setup: &Setup) -> String {
    let mut script = format!(
        "link set lo up\nlink set {DEVICE} mtu {} txqueuelen {MOST_WAITING}\nlink set {DEVICE} up\n",
        setup.mtu
    );
    for (own, other) in &setup.addresses {
        let _ = writeln!(script, "addr add {own} peer {other} dev {DEVICE}");
    }
    script
}

fn configure(script: &str) -> io::Result<()> {
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let input = child.stdin.take().expect("its input is a pipe");
    // Where it leaves early, what it says is of more use than that it did not read.
    let _ = { input }.write_all(script.as_bytes());
    let output = child.wait_with_output()?;
    let says = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(io::Error::other(says.trim().replace('\n', "; "))) }
}

/// Packets that a device table counts as not sent: the twelfth number after the device's name.
fn dropped_in(table: &str) -> Option<u64> {
    let numbers = table.lines().find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    numbers.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_packets_stand_behind_those_that_were_sent() {
        let table = "Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
  lab0: 1 2 3 4 5 6 7 8 9 10 11 77 13 14 15 16
";
        assert_eq!(dropped_in(table), Some(77));
        assert_eq!(dropped_in("lab0:\n"), None);
    }
}
