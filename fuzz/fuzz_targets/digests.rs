//! The digests of a file as a peer lists them: only those of the file with the hash that was asked for are taken.
#![no_main]

use anabranch_transfer::{Digests, Root};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, [u8; 32], &[u8], u16, Option<(u32, u8)>)| {
    let (size, root, list, length, change) = input;
    if let Ok(digests) = Digests::listed(size, Root(root), list) {
        check(&digests, size, list);
    }
    // Random digests never fit a hash, so here are those of a file: zeros behind what stands in the list.
    let mut file = list.to_vec();
    file.resize(length as usize % 20_000 * 64, 0);
    let own = Digests::of(file.len() as u64, &file[..]).expect("it is there");
    let (size, mut list) = (own.size(), own.list().to_vec());
    assert_eq!(Digests::listed(size, own.root(), &list).as_ref(), Ok(&own));
    check(&own, size, &list);
    if let Some((place, change @ 1..)) = change
        && !list.is_empty()
    {
        let place = place as usize % list.len();
        list[place] ^= change;
        assert!(Digests::listed(size, own.root(), &list).is_err());
    }
});

fn check(digests: &Digests, size: u64, list: &[u8]) {
    assert_eq!((digests.size(), digests.list()), (size, list));
    let last = digests.len().wrapping_sub(1);
    assert_eq!(digests.extent(last).map_or(0, |(offset, length)| offset + length as u64), size);
}
