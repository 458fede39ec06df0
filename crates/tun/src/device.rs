//! The system call that makes a TUN device, which Rust cannot check.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Path of the kernel's device for TUN devices.
pub const PATH: &str = "/dev/net/tun";

/// Opens a TUN device of this name in the calling thread's network namespace: a read receives a packet, and a write
/// sends one.
///
/// Neither call blocks. A device that there was not before is removed when the file is closed.
///
/// # Errors
/// Returns an error if the name is too long or empty, or the kernel refuses.
pub fn open(name: &str) -> io::Result<File> {
    // The last byte stays 0, and the kernel itself would cut a longer name.
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.bytes().any(|byte| byte == 0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of a device has 1 to 15 bytes"));
    }
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(PATH)?;
    // SAFETY: all zeros are a valid `ifreq`, which is plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the file is open, and the kernel reads and writes one `ifreq`, which lives until the call returns.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_device_can_have_is_refused() {
        for name in ["", "a-name-of-16-byte", "a\0b"] {
            assert_eq!(open(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }
}
