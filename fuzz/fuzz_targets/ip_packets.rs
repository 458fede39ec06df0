//! IP packets in a tunnel, and the capsules beside them: a packet that is read is read again with a hop less, and a capsule as
//! it was written. The first byte says what the rest is.
#![no_main]

use anabranch_proxy::ip::capsules::Capsule;
use anabranch_proxy::ip::packet::{self, Header};
use anabranch_proxy::packets::capsule::read_number;
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;

fn capsule(kind: u64, value: &[u8]) {
    let Ok(Some(capsule)) = Capsule::read(kind, value) else { return };
    let mut bytes = BytesMut::new();
    capsule.write(&mut bytes);
    let (written, after) = read_number(&bytes).expect("it has a type");
    let (length, more) = read_number(&bytes[after..]).expect("it has a length");
    assert_eq!((written, length as usize), (kind, bytes.len() - after - more));
    assert_eq!(Capsule::read(kind, &bytes[after + more..]), Ok(Some(capsule)));
}

fn packet(packet: &[u8]) {
    let Ok(header) = packet::read(packet) else { return };
    assert!(header.payload <= packet.len());
    assert_eq!(header.source.is_ipv4(), header.destination.is_ipv4());
    if header.hops > 0 {
        let mut next = packet.to_vec();
        packet::take_hop(&mut next);
        assert_eq!(packet::read(&next), Ok(Header { hops: header.hops - 1, ..header }));
    }
}

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((kind @ 0..4, value)) => capsule((*kind).into(), value),
        Some((_, rest)) => packet(rest),
        None => {}
    }
});
