//! System calls that Rust cannot check: real-time priority, and the preparation of child processes.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

/// Real-time priority of threads that send and receive packets in a lab.
pub const OF_ENDS: i32 = 1;

/// Real-time priority of the thread that moves packets.
pub const OF_EMULATOR: i32 = 2;

/// Gives the calling thread real-time priority, so that it runs before threads of lower or ordinary priority.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn take_precedence(rank: i32) -> io::Result<()> {
    // SAFETY: all zeros are a valid `sched_param`, which is plain data.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = rank;
    // Threads that the thread starts are ordinary again.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads one `sched_param`, which lives until the call returns.
    let answer = unsafe { libc::sched_setscheduler(0, policy, &raw const param) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the kernel kill the program when the thread that started it ends.
pub fn end_with_thread(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes one system call, and neither allocates nor locks.
    unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
}

/// Shows the program the processes of its own namespace in `/proc`, without effect on other programs.
///
/// If the kernel refuses, as in some containers, the program sees the `/proc` of its parent.
pub fn show_own_processes(command: &mut Command) {
    let show = || {
        unshare(CloneFlags::CLONE_NEWNS)?;
        // Later mounts outside are visible inside, but not the other way round.
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>)
    };
    // SAFETY: between fork and exec the closure makes system calls alone, and neither allocates nor locks: paths as short
    // as these are put on the stack.
    unsafe {
        command.pre_exec(move || {
            let _ = show();
            Ok(())
        })
    };
}
