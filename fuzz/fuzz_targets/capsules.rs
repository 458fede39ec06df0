//! Capsules of a stream: in whatever pieces they come, the same datagrams are read, and no more than the stream has.
#![no_main]

use anabranch_proxy::packets::capsule::Capsules;
use libfuzzer_sys::fuzz_target;

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let (mut capsules, mut found) = (Capsules::default(), Vec::new());
    for piece in pieces {
        capsules.add(piece);
        found.extend(capsules.by_ref().map(|datagram| datagram.to_vec()));
    }
    found
}

fuzz_target!(|bytes: &[u8]| {
    let whole = read(std::iter::once(bytes));
    assert!(whole.iter().map(Vec::len).sum::<usize>() <= bytes.len());
    assert_eq!(read(bytes.chunks(1)), whole);
    assert_eq!(read(bytes.chunks(7)), whole);
});
