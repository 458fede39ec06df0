//! Long work, called off by Ctrl-C.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

/// How often progress is told and the keyboard looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own, while this one, the only that Python lets look at the keyboard, calls `tell`.
///
/// At Ctrl-C, or at whatever `tell` raises, the flag that `work` is given becomes true. Gives what the work came to, and
/// what was raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    mut tell: impl FnMut() -> PyResult<()>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> (T, Option<PyErr>) {
    let is_called_off = AtomicBool::new(false);
    // Nothing is ever sent: that the other end is gone says that the work is over, well or not.
    let (end, receive) = channel::<()>();
    let receive = Mutex::new(receive);
    let mut raised = None;
    let answer = std::thread::scope(|scope| {
        let is_called_off = &is_called_off;
        let worker = scope.spawn(move || {
            let _end = end;
            work(is_called_off)
        });
        loop {
            let heard = py.detach(|| receive.lock().expect("no other holder").recv_timeout(LOOK));
            if let Err(error) = tell().and_then(|()| py.check_signals()) {
                is_called_off.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
            if heard == Err(RecvTimeoutError::Disconnected) {
                return worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        }
    });
    (answer, raised)
}
