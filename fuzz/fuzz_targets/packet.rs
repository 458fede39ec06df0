//! Packets that programs send in a lab: a mark changes the ECN field of any that is taken, and nothing that makes it invalid.
#![no_main]

use anabranch_emulator::packet::Packet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(mut packet) = Packet::read(bytes) {
        packet.set_ecn(anabranch_queues::Ecn::Ce);
        let read = Packet::read(packet.as_bytes()).expect("it is still a packet");
        assert_eq!((read.ecn(), read.addresses()), (anabranch_queues::Ecn::Ce, packet.addresses()));
    }
});
