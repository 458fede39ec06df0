//! Long work, called off by Ctrl-C, by what it is told to, or because it takes more memory than it may.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::memory::too_much;

/// How often progress is told and the keyboard looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// What work asks now and then: whether it is to go on.
pub(crate) type GoesOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// Does `work` while `tell` is called some times a second.
///
/// At Ctrl-C, at whatever `tell` raises, or over the limit of memory, work is not to go on. Gives what the work came
/// to, and what was raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    tell: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce(GoesOn<'_>) -> T + Send,
) -> (T, Option<PyErr>) {
    // Where Python says nothing of its threads, this is as good as the main one.
    if sees_keyboard(py).unwrap_or(true) { beside(py, tell, work) } else { here(py, tell, work) }
}

/// Whether this is the thread that Python lets look at the keyboard.
fn sees_keyboard(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    Ok(threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?))
}

/// Does `work` on a thread of its own, while this one looks at the keyboard.
fn beside<T: Send>(
    py: Python<'_>,
    mut tell: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(GoesOn<'_>) -> T + Send,
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

/// What a thread needs to know that tells of its own work.
struct Telling<F> {
    tell: F,
    last: Instant,
    raised: Option<PyErr>,
}

/// Does `work` on this thread: it need not be kept free, and to begin another takes as long as much of a small run.
fn here<T: Send>(
    py: Python<'_>,
    tell: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce(GoesOn<'_>) -> T + Send,
) -> (T, Option<PyErr>) {
    let telling = Mutex::new(Telling { tell, last: Instant::now(), raised: None });
    let goes_on = || {
        // Another thread of the work may be telling just now.
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
