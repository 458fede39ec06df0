//! The journal of an unfinished file: of what was written all is read up to the first damage, and nothing behind it.
#![no_main]

use anabranch_transfer::Root;
use anabranch_transfer::digests::{MOST_CHUNKS, MOST_SIZE};
use anabranch_transfer::journal::{HEADER, Journal, RECORD, header, read, record};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

/// A journal with damage: random bytes alone never have a valid check.
#[derive(Arbitrary, Debug)]
struct Written {
    size: u64,
    root: [u8; 32],
    records: Vec<Record>,
    /// What a crash left behind the last whole record.
    rest: Vec<u8>,
    /// Where a byte is changed, and how.
    damage: Option<(u16, u8)>,
}

#[derive(Arbitrary, Debug)]
enum Record {
    Chunk(u32),
    Bytes([u8; RECORD]),
}

impl Written {
    fn bytes(&self, root: Root) -> Vec<u8> {
        let mut bytes = header(self.size, root).to_vec();
        for entry in &self.records {
            match entry {
                Record::Chunk(chunk) => bytes.extend(record(root, *chunk)),
                Record::Bytes(other) => bytes.extend(other),
            }
        }
        bytes.extend(&self.rest);
        bytes
    }

    /// The chunks of the records before the first that is not good.
    fn chunks(&self, root: Root) -> Vec<u32> {
        let is_there = |chunk: u32| (u64::from(chunk) < MOST_CHUNKS).then_some(chunk);
        let chunk = |entry: &Record| match entry {
            Record::Chunk(chunk) => is_there(*chunk),
            Record::Bytes(bytes) => {
                let chunk = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                (record(root, chunk) == *bytes).then_some(chunk).and_then(is_there)
            }
        };
        self.records.iter().map_while(chunk).collect()
    }
}

fuzz_target!(|written: Written| {
    let root = Root(written.root);
    let mut bytes = written.bytes(root);
    if written.size > MOST_SIZE {
        assert!(read(&bytes).is_err());
        return;
    }
    let chunks = written.chunks(root);
    let journal = read(&bytes).expect("its header is good");
    assert_eq!((journal.size, journal.root, &journal.chunks[..chunks.len()]), (written.size, root, &chunks[..]));
    assert_eq!(read(&bytes[..journal.good]).as_ref(), Ok(&journal));
    let Some((place, change @ 1..)) = written.damage else { return };
    let place = usize::from(place) % bytes.len();
    bytes[place] ^= change;
    match read(&bytes) {
        Ok(Journal { chunks: after, .. }) => {
            // What stands before the damage is untouched.
            let whole = (place.checked_sub(HEADER).expect("damage to the header is seen") / RECORD).min(chunks.len());
            assert_eq!(after[..whole], chunks[..whole]);
        }
        Err(_) => assert!(place < HEADER),
    }
});
