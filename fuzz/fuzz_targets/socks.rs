//! Messages of clients of SOCKS: no reader takes more bytes than there are, and half a message is no other.
#![no_main]

use anabranch_proxy::socks::{MOST_MESSAGE, read_methods, read_packet, read_password, read_request, write_packet};
use libfuzzer_sys::fuzz_target;

fn check<T: PartialEq + std::fmt::Debug, E>(bytes: &[u8], read: impl Fn(&[u8]) -> Result<Option<(T, usize)>, E>) {
    if let Ok(Some((message, used))) = read(bytes) {
        assert!(used <= bytes.len().min(MOST_MESSAGE));
        // What follows does not change what is read, and what is missing is waited for.
        assert!(matches!(read(&bytes[..used]), Ok(Some((own, end))) if own == message && end == used));
        assert!((0..used).all(|end| matches!(read(&bytes[..end]), Ok(None))));
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes, read_methods);
    check(bytes, read_password);
    check(bytes, read_request);
    if let Some((target, begin)) = read_packet(bytes) {
        assert!(begin <= bytes.len());
        let written = write_packet(&target);
        assert_eq!(read_packet(&written), Some((target, written.len())));
    }
});
