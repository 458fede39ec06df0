//! Both ends of a flow, over lines that are late, fail and come back.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::FlowError;
use super::frame::{Frame, Frames, MOST_PIECE};
use super::receiver::{Receiver, WINDOW};
use super::sender::Sender;

fn bytes(from: u64, count: usize) -> Bytes {
    (0..count as u64).map(|n| ((from + n) * 7 % 251) as u8).collect()
}

#[derive(Clone, Debug)]
enum Happening {
    Write(usize),
    /// A line takes a piece, or a copy of what others have.
    HandOut(u64, usize, bool),
    /// The oldest piece on a line arrives, or is lost with the line.
    Arrive(u64),
    Fail(u64),
    Take,
    Tell,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let line = 0..4_u64;
    let one = prop_oneof![
        (0..3000_usize).prop_map(Happening::Write),
        (line.clone(), 0..2000_usize, any::<bool>())
            .prop_map(|(s, most, is_copy)| Happening::HandOut(s, most, is_copy)),
        line.clone().prop_map(Happening::Arrive),
        line.clone().prop_map(Happening::Arrive),
        line.prop_map(Happening::Fail),
        Just(Happening::Take),
        Just(Happening::Tell),
    ];
    proptest::collection::vec(one, 0..400)
}

proptest! {
    #[test]
    fn all_bytes_arrive_once_and_in_order_whatever_fails(happenings in happenings()) {
        let (mut sender, mut receiver) = (Sender::new(WINDOW), Receiver::new(WINDOW));
        let mut ways: [VecDeque<(u64, Bytes)>; 4] = Default::default();
        let (mut written, mut taken) = (0, Vec::new());
        for happening in happenings {
            match happening {
                Happening::Write(count) => {
                    sender.write(bytes(written, count));
                    written += count as u64;
                }
                Happening::HandOut(line, most, is_copy) => {
                    let piece = if is_copy { sender.hand_out_copy(line, most) } else { sender.hand_out(line, most) };
                    if let Some(piece) = piece {
                        prop_assert!(piece.bytes.len() <= most && !piece.bytes.is_empty());
                        ways[line as usize].push_back((piece.offset, piece.bytes));
                    }
                }
                Happening::Arrive(line) => {
                    if let Some((offset, bytes)) = ways[line as usize].pop_front() {
                        receiver.insert(offset, bytes).unwrap();
                    }
                }
                Happening::Fail(line) => {
                    // Half of what was on its way arrives all the same, and late.
                    let way = &mut ways[line as usize];
                    way.truncate(way.len() / 2);
                    sender.fail(line);
                    receiver.forget_told();
                    prop_assert_eq!(sender.outstanding(line), 0);
                }
                Happening::Take => taken.extend(receiver.take().into_iter().flatten()),
                Happening::Tell => {
                    let (received, limit) = receiver.tell();
                    sender.on_ack(received, limit).unwrap();
                }
            }
        }
        sender.finish();
        receiver.finish(sender.end().unwrap()).unwrap();
        // In the end one line is left.
        (0..4).for_each(|line| _ = sender.fail(line));
        while let Some(piece) = sender.hand_out(9, 1000) {
            receiver.insert(piece.offset, piece.bytes).unwrap();
        }
        while let Some(more) = receiver.take() {
            taken.extend(more);
        }
        let (received, limit) = receiver.tell();
        sender.on_ack(received, limit).unwrap();
        prop_assert!(receiver.is_over() && sender.is_done());
        prop_assert_eq!(Bytes::from(taken), bytes(0, written as usize));
    }

    #[test]
    fn frames_are_read_as_they_were_written_however_they_are_cut(
        frames in proptest::collection::vec(prop_oneof![
            (0..1_u64 << 61, 0..200_usize).prop_map(|(offset, count)| Frame::Data(offset, bytes(offset, count))),
            (0..1_u64 << 61, 0..1_u64 << 61).prop_map(|(received, limit)| Frame::Ack(received, limit)),
            (0..1_u64 << 61).prop_map(Frame::End),
        ], 0..20),
        cut in 1..100_usize,
    ) {
        let mut stream = BytesMut::new();
        for frame in &frames {
            frame.write(&mut stream);
            // A capsule of others.
            stream.extend_from_slice(&[0x21, 3, 1, 2, 3]);
        }
        let (mut reader, mut read) = (Frames::default(), Vec::new());
        for part in stream.chunks(cut) {
            reader.add(part);
            read.extend(reader.by_ref().map(Result::unwrap));
        }
        prop_assert_eq!(read, frames);
    }

    #[test]
    fn writes_of_any_size_are_handed_out_in_few_pieces(
        writes in proptest::collection::vec(prop_oneof![0..20_usize, 0..3 * MOST_PIECE], 0..200),
        acked in 0..100_u64,
    ) {
        let mut sender = Sender::new(WINDOW);
        let mut written = 0;
        for count in writes {
            sender.write(bytes(written, count));
            written += count as u64;
        }
        let (mut next, mut pieces) = (0, 0);
        while let Some(piece) = sender.hand_out(0, MOST_PIECE) {
            prop_assert_eq!((piece.offset, &piece.bytes), (next, &bytes(next, piece.bytes.len())));
            (next, pieces) = (piece.end(), pieces + 1);
        }
        // Two that follow each other have half of the most at the least, and a long one is cut once for each MOST_PIECE.
        prop_assert_eq!(next, written.min(WINDOW));
        prop_assert!(pieces <= 5 * written / MOST_PIECE as u64 + 1, "{} pieces of {} bytes", pieces, written);
        let rest = acked * next / 100;
        sender.on_ack(rest, 0).unwrap();
        sender.fail(0);
        let again = sender.hand_out(1, MOST_PIECE);
        prop_assert_eq!(again.map(|piece| (piece.offset, bytes(rest, piece.bytes.len()) == piece.bytes)),
            (rest < next).then_some((rest, true)));
    }

    #[test]
    fn any_bytes_are_frames_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut reader = Frames::default();
        reader.add(&bytes[..]);
        while let Some(Ok(_)) = reader.next() {}
    }
}

#[test]
fn an_end_that_does_what_it_may_not_is_found_out() {
    let mut receiver = Receiver::new(WINDOW);
    assert_eq!(receiver.insert(WINDOW, bytes(0, 1)), Err(FlowError::BeyondLimit));
    assert_eq!(receiver.insert(u64::MAX, bytes(0, 1)), Err(FlowError::BeyondLimit));
    receiver.insert(5, bytes(5, 5)).unwrap();
    assert_eq!(receiver.finish(9), Err(FlowError::BeyondEnd));
    receiver.finish(12).unwrap();
    assert_eq!(receiver.insert(10, bytes(10, 3)), Err(FlowError::BeyondEnd));
    assert_eq!(receiver.finish(13), Err(FlowError::BeyondEnd));
    let mut sender = Sender::new(100);
    sender.write(bytes(0, 200));
    assert_eq!(sender.hand_out(0, 1000).unwrap().bytes.len(), 100, "no more than the other end takes");
    assert_eq!(sender.on_ack(101, 1000), Err(FlowError::NeverSent));
    let mut gaps = Receiver::new(WINDOW);
    let all: Result<Vec<()>, FlowError> = (0..1 << 20).map(|n| gaps.insert(2 * n + 1, bytes(0, 1))).collect();
    assert_eq!(all, Err(FlowError::TooManyGaps));
    let mut stream = BytesMut::new();
    Frame::Data(0, bytes(0, MOST_PIECE + 100)).write(&mut stream);
    let mut reader = Frames::default();
    reader.add(stream);
    assert_eq!(reader.next(), Some(Err(FlowError::Malformed)));
}

#[test]
fn what_a_failed_line_had_is_handed_out_first_and_in_order() {
    let mut sender = Sender::new(WINDOW);
    sender.write(bytes(0, 100));
    let offsets = |sender: &mut Sender, line, count| -> Vec<u64> {
        (0..count).filter_map(|_| Some(sender.hand_out(line, 10)?.offset)).collect()
    };
    assert_eq!(
        (offsets(&mut sender, 0, 2), offsets(&mut sender, 1, 2), offsets(&mut sender, 0, 1)),
        (vec![0, 10], vec![20, 30], vec![40])
    );
    assert_eq!((sender.outstanding(0), sender.backlog()), (30, 50));
    assert!(!sender.on_ack(0, 0).unwrap() && sender.on_ack(15, 0).unwrap());
    assert_eq!(sender.outstanding(0), 15, "without what is acknowledged");
    assert!(sender.fail(0));
    assert_eq!(offsets(&mut sender, 1, 4), [15, 40, 50, 60]);
    // Copies of what only others have, each once, the oldest first and up to the last.
    let copies: Vec<u64> = (0..20).filter_map(|_| Some(sender.hand_out_copy(2, 5)?.offset)).collect();
    assert_eq!(copies, [15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65]);
}

#[test]
fn what_the_other_end_does_not_take_waits_for_no_line() {
    let mut sender = Sender::new(100);
    assert_eq!((sender.sendable(60), sender.sendable(1000)), (60, 100));
    sender.write(bytes(0, 40));
    assert_eq!((sender.backlog(), sender.sendable(1000)), (40, 100));
    sender.write(bytes(40, 60));
    while sender.hand_out(0, 50).is_some() {}
    // It has all that it takes, however much waits here.
    assert_eq!((sender.backlog(), sender.sendable(1 << 20)), (0, 0));
    sender.on_ack(100, 130).unwrap();
    assert_eq!(sender.sendable(1 << 20), 30);
}

#[test]
fn small_writes_are_joined_though_each_was_handed_out_at_once() {
    let mut sender = Sender::new(WINDOW);
    let count = 4 * MOST_PIECE as u64;
    for n in 0..count {
        sender.write(bytes(n, 1));
        assert_eq!(sender.hand_out(0, MOST_PIECE).unwrap().bytes, bytes(n, 1));
    }
    sender.fail(0);
    let pieces: Vec<_> = std::iter::from_fn(|| sender.hand_out(1, MOST_PIECE)).collect();
    assert_eq!(pieces.len(), 4);
    assert_eq!(
        Bytes::from(pieces.into_iter().flat_map(|piece| piece.bytes).collect::<Vec<u8>>()),
        bytes(0, count as usize)
    );
}

#[test]
fn a_large_write_is_not_copied() {
    let mut sender = Sender::new(WINDOW);
    let large = bytes(0, 2 * MOST_PIECE);
    sender.write(large.clone());
    for place in [0, MOST_PIECE] {
        assert_eq!(sender.hand_out(0, MOST_PIECE).unwrap().bytes.as_ptr(), large[place..].as_ptr());
    }
}

#[test]
fn ranges_of_lines_are_bounded() {
    // Each byte is a range of its own, because the lines take turns.
    let mut sender = Sender::new(WINDOW);
    let count = (0..1 << 20).take_while(|n| {
        let has_room = sender.has_room(u64::MAX);
        sender.write(bytes(*n, 1));
        sender.hand_out(n % 2, 1).unwrap();
        has_room
    });
    let count = count.count() as u64;
    assert_eq!(count, 1 << 15);
    sender.on_ack(count / 2, 0).unwrap();
    assert!(sender.has_room(u64::MAX));
}

#[test]
fn small_pieces_in_order_are_joined() {
    let mut receiver = Receiver::new(WINDOW);
    let count = 4 * MOST_PIECE as u64;
    for n in 0..count {
        receiver.insert(n, bytes(n, 1)).unwrap();
    }
    let pieces: Vec<_> = std::iter::from_fn(|| receiver.take()).collect();
    assert_eq!(pieces.len(), 4);
    assert_eq!(Bytes::from(pieces.concat()), bytes(0, count as usize));
}

#[test]
fn a_small_part_of_a_piece_does_not_keep_all_of_it() {
    let mut receiver = Receiver::new(WINDOW);
    receiver.insert(10, bytes(10, 100)).unwrap();
    // The byte before those that are here is new, and then the one before that, in order.
    for (offset, count) in [(9, 101), (0, 1), (1, 100)] {
        let whole = bytes(offset, count);
        receiver.insert(offset, whole.clone()).unwrap();
        assert!(whole.is_unique(), "{count} from {offset} on");
    }
    assert_eq!(receiver.tell().0, 110);
}

#[test]
fn what_a_frame_brings_keeps_no_memory_of_others() {
    let mut stream = BytesMut::new();
    for offset in [0, 100] {
        Frame::Data(offset, bytes(offset, 100)).write(&mut stream);
    }
    let mut reader = Frames::default();
    reader.add(&stream[..]);
    for frame in reader {
        assert!(matches!(frame, Ok(Frame::Data(_, bytes)) if bytes.is_unique()));
    }
}

#[test]
fn what_was_told_on_a_subflow_that_fails_is_told_again() {
    let mut receiver = Receiver::new(WINDOW);
    receiver.forget_told();
    assert!(!receiver.has_news(), "nothing was told");
    receiver.insert(0, bytes(0, 100)).unwrap();
    receiver.take().unwrap();
    let told = receiver.tell();
    assert_eq!((told, receiver.has_news()), ((100, 100 + WINDOW), false));
    receiver.forget_told();
    assert!(receiver.has_news() && receiver.is_urgent());
    // The other end may have heard it all the same.
    receiver.insert(99 + WINDOW, bytes(0, 1)).unwrap();
    assert_eq!((receiver.tell(), receiver.has_news(), receiver.is_urgent()), (told, false, false));
}

#[test]
fn the_window_grows_with_what_was_taken() {
    let mut receiver = Receiver::new(100);
    assert_eq!(receiver.insert(0, bytes(0, 101)), Err(FlowError::BeyondLimit));
    receiver.insert(0, bytes(0, 100)).unwrap();
    assert_eq!((receiver.waiting(), receiver.tell()), (100, (100, 100)));
    receiver.take().unwrap();
    assert!(receiver.is_urgent(), "there is room again, for twice as many as were taken");
    assert_eq!((receiver.waiting(), receiver.tell()), (0, (100, 300)));
    receiver.insert(200, bytes(200, 50)).unwrap();
    assert_eq!(receiver.waiting(), 50);
    receiver.insert(100, bytes(100, 100)).unwrap();
    receiver.take().unwrap();
    // Where there is little room it stays, but what was told holds.
    receiver.narrow(120);
    assert_eq!(receiver.tell(), (250, 370));
    receiver.narrow(10);
    assert_eq!(receiver.tell(), (250, 370));
}

#[test]
fn that_the_other_end_knows_the_end_is_news() {
    let mut sender = Sender::new(WINDOW);
    sender.write(bytes(0, 10));
    sender.hand_out(0, 10).unwrap();
    assert!(sender.on_ack(10, WINDOW).unwrap());
    sender.finish();
    assert!(!sender.is_done(), "it has all, and may expect more");
    assert!(sender.on_ack(11, WINDOW).unwrap() && sender.is_done());
    assert!(!sender.on_ack(11, WINDOW).unwrap());
    let mut receiver = Receiver::new(WINDOW);
    receiver.finish(0).unwrap();
    assert!(receiver.has_all() && receiver.is_urgent());
    assert_eq!(receiver.tell().0, 1);
}

#[test]
fn there_is_room_for_all_though_the_end_is_known_before() {
    let mut receiver = Receiver::new(100);
    receiver.finish(1000).unwrap();
    receiver.insert(0, bytes(0, 100)).unwrap();
    assert_eq!(receiver.tell(), (100, 100));
    receiver.take().unwrap();
    assert!(receiver.has_news() && receiver.is_urgent());
    assert_eq!(receiver.tell(), (100, 300));
}

#[test]
fn a_line_gets_no_copy_of_what_it_has_whatever_it_got_before() {
    let mut sender = Sender::new(1 << 20);
    // Of each two pieces the second line has the later one first: its ranges do not join.
    for pair in 0..40 {
        sender.write(bytes(2000 * pair, 2000));
        assert_eq!(sender.hand_out(1, 1000).unwrap().offset, 2000 * pair);
        assert_eq!(sender.hand_out(2, 1000).unwrap().offset, 2000 * pair + 1000);
    }
    let mut copied = 0;
    while let Some(piece) = sender.hand_out_copy(2, 1500) {
        assert_eq!((piece.offset % 2000, piece.bytes.len()), (0, 1000), "a piece that only the first line has");
        copied += 1;
        assert!(copied <= 40);
    }
    assert!(copied >= 8, "{copied}");
}
