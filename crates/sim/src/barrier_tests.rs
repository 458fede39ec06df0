//! Real threads at a barrier; `tests/barrier.rs` tries every order in which they can meet.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::barrier::Barrier;

#[test]
fn nobody_goes_on_before_all_have_come() {
    let (barrier, count) = (Barrier::new(3), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 1..=1000 {
                    count.fetch_add(1, Ordering::Relaxed);
                    barrier.wait();
                    assert_eq!(count.load(Ordering::Relaxed), 3 * round);
                    barrier.wait();
                }
            });
        }
    });
}

#[test]
fn those_who_wait_learn_that_another_has_failed() {
    let barrier = Barrier::new(2);
    let ended = thread::scope(|scope| {
        let waits = scope.spawn(|| barrier.wait());
        let fails = scope.spawn(|| {
            let _alarm = barrier.alarm();
            panic!("as it should");
        });
        (waits.join().is_err(), fails.join().is_err())
    });
    assert_eq!(ended, (true, true));
}
