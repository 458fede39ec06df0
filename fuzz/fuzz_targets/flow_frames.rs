//! Frames of a flow: in whatever pieces they come, the same frames are read; what they bring is taken or refused, and what was
//! taken is told.
#![no_main]

use anabranch_proxy::flow::FlowError;
use anabranch_proxy::flow::frame::{Frame, Frames};
use anabranch_proxy::flow::receiver::{FIRST_WINDOW, Receiver};
use libfuzzer_sys::fuzz_target;

/// The frames up to the first that cannot be read.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Frame>, FlowError> {
    let (mut frames, mut found) = (Frames::default(), Vec::new());
    for piece in pieces {
        frames.add(piece);
        for frame in frames.by_ref() {
            found.push(frame?);
        }
    }
    Ok(found)
}

fuzz_target!(|bytes: &[u8]| {
    let whole = read(std::iter::once(bytes));
    assert_eq!(read(bytes.chunks(1)), whole);
    assert_eq!(read(bytes.chunks(7)), whole);
    let (mut receiver, mut taken) = (Receiver::new(FIRST_WINDOW), 0);
    for frame in whole.unwrap_or_default() {
        match frame {
            Frame::Data(offset, bytes) => _ = receiver.insert(offset, bytes),
            Frame::End(end) => _ = receiver.finish(end),
            Frame::Ack(..) => {}
        }
        while let Some(piece) = receiver.take() {
            taken += piece.len() as u64;
        }
        // Who has all says one more.
        assert_eq!(receiver.tell().0, taken + u64::from(receiver.is_over()));
    }
});
