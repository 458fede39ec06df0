//! System calls that Rust cannot check: TUN devices, real-time priority, and the preparation of child processes.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

/// Path of the kernel's device for TUN devices.
pub const TUN: &str = "/dev/net/tun";

/// Opens a TUN device of this name in the calling thread's network namespace: a read receives a packet, and a write
/// sends one.
///
/// Neither call blocks. The device is removed when the file is closed.
pub fn open_tun(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TUN)?;
    // SAFETY: all zeros are a valid `ifreq`, which is plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the file is open, and the kernel reads and writes one `ifreq`, which lives until the call returns.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}

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
