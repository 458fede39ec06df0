//! The pace of a program's own sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use anabranch_core::Rate;

/// Lets a socket send at most at a rate, by the socket option `SO_MAX_PACING_RATE`; an infinite rate takes the limit away.
///
/// The kernel paces TCP on any device. It paces UDP only where the device has the queue discipline `fq`.
///
/// # Errors
/// Returns an error if the rate is no rate, or the kernel refuses.
pub fn pace(socket: BorrowedFd<'_>, rate: Rate) -> io::Result<()> {
    if !rate.is_capacity() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is no pace", rate.0)));
    }
    // The option counts bytes; all ones mean no limit, and no bytes at all would be a socket that never sends.
    let bytes: u64 = if rate.0 == f64::INFINITY { u64::MAX } else { ((rate.0 / 8.0) as u64).clamp(1, u64::MAX - 1) };
    // SAFETY: the kernel reads eight bytes, which live until the call returns.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes).cast(),
            size_of::<u64>() as libc::socklen_t,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_paced_tcp_socket_keeps_to_its_rate() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let reader = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let begin = Instant::now();
            let mut bytes = 0;
            let mut buffer = vec![0; 65_536];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                bytes += read;
            }
            (bytes, begin.elapsed().as_secs_f64())
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        // 2 MB at 16 Mbit/s take a second; without a pace the loopback device needs some milliseconds.
        pace(stream.as_fd(), Rate(16e6)).unwrap();
        stream.write_all(&vec![0; 2_000_000]).unwrap();
        drop(stream);
        let (bytes, seconds) = reader.join().unwrap();
        assert_eq!(bytes, 2_000_000);
        assert!(seconds > 0.5, "{seconds} s");
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(pace(listener.as_fd(), Rate(f64::NAN)).is_err());
        assert!(pace(listener.as_fd(), Rate(-1.0)).is_err());
        assert!(pace(listener.as_fd(), Rate(f64::INFINITY)).is_ok());
    }
}
