//! Long work that Ctrl-C, an exception of its callback or the limit on memory can cancel.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::memory::too_much;

/// Time between two calls of the callback and checks for Ctrl-C.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// A function that work calls from time to time; it returns whether the work should continue.
pub(crate) type GoesOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// Runs `work`, and calls `tell` several times a second.
///
/// After Ctrl-C, an exception of `tell`, or an excess over the memory limit, work should not continue. Returns the
/// result of the work, and the exception.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    tell: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce(GoesOn<'_>) -> T + Send,
) -> (T, Option<PyErr>) {
    // If Python does not tell, this thread is treated as the main one.
    if sees_keyboard(py).unwrap_or(true) { beside(py, tell, work) } else { here(py, tell, work) }
}

/// Whether this is the thread in which Python checks for Ctrl-C.
fn sees_keyboard(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    Ok(threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?))
}

/// Runs `work` on a separate thread, while this one checks for Ctrl-C.
fn beside<T: Send>(
    py: Python<'_>,
    mut tell: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(GoesOn<'_>) -> T + Send,
) -> (T, Option<PyErr>) {
    let is_called_off = AtomicBool::new(false);
    // Nothing is ever sent: when the other end is gone, the work is over, successfully or not.
    let (end, receive) = channel::<()>();
    let receive = Mutex::new(receive);
    let mut raised = None;
    let answer = std::thread::scope(|scope| {
        let is_called_off = &is_called_off;
        let worker = scope.spawn(move || {
            let _end = end;
            work(&|| !is_called_off.load(Ordering::Relaxed))
        });
        loop {
            let heard = py.detach(|| receive.lock().expect("no other holder").recv_timeout(LOOK));
            if let Err(error) = tell(py).and_then(|()| py.check_signals()).and_then(|()| too_much().map_or(Ok(()), Err))
            {
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

/// The state of a thread that calls the callback during its own work.
struct Telling<F> {
    tell: F,
    last: Instant,
    raised: Option<PyErr>,
}

/// Runs `work` on this thread, which need not be free for Ctrl-C; starting another takes long relative to a small run.
fn here<T: Send>(
    py: Python<'_>,
    tell: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce(GoesOn<'_>) -> T + Send,
) -> (T, Option<PyErr>) {
    let telling = Mutex::new(Telling { tell, last: Instant::now(), raised: None });
    let goes_on = || {
        // Another thread of the work may be calling the callback just now.
        let Ok(mut own) = telling.try_lock() else { return true };
        if own.raised.is_none() && own.last.elapsed() >= LOOK {
            own.last = Instant::now();
            own.raised = Python::attach(|py| (own.tell)(py)).err().or_else(too_much);
        }
        own.raised.is_none()
    };
    let answer = py.detach(|| work(&goes_on));
    let Telling { mut tell, raised, .. } = telling.into_inner().expect("no holder panics");
    let last = tell(py).err();
    (answer, raised.or(last))
}
