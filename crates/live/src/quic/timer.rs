//! Timers of connections that are late by less than a packet takes.
//!
//! The timers of tokio have ticks of a millisecond, in which eight packets leave at 100 Mbit/s. A pacer that waits for such a
//! tick sends all of them at once, so that they queue at the next link and some of them are marked there. Here a clock of the
//! kernel measures the last milliseconds.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use noq::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Sleep, sleep_until};

/// Times that the clock of the kernel measures.
const NEAR: Duration = Duration::from_millis(2);

/// The least time that is waited: below it several packets leave at once, which bounds what fast connections cost.
const LEAST: Duration = Duration::from_micros(100);

/// The runtime of tokio with these timers.
#[derive(Debug)]
pub(super) struct PreciseRuntime;

impl Runtime for PreciseRuntime {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer::new(deadline))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

/// A timer that tokio measures until little is left, and then a clock of the kernel.
#[derive(Debug)]
struct Timer {
    deadline: Instant,
    sleep: Pin<Box<Sleep>>,
    /// Whether tokio measures all of it, for lack of another clock.
    is_coarse: bool,
    clock: Option<Clock>,
    /// Whether that is set to the deadline.
    is_set: bool,
}

impl Timer {
    fn new(deadline: Instant) -> Self {
        let sleep = Box::pin(sleep_until(deadline.into()));
        let mut timer = Self { deadline, sleep, is_coarse: false, clock: None, is_set: false };
        timer.begin(deadline);
        timer
    }

    fn begin(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.is_set = false;
        let until = if self.is_coarse { deadline } else { deadline.checked_sub(NEAR).unwrap_or(deadline) };
        self.sleep.as_mut().reset(until.into());
    }

    /// Waits for the clock of the kernel.
    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let clock = match &mut self.clock {
            Some(clock) => clock,
            empty => empty.insert(Clock::new()?),
        };
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Poll::Ready(Ok(()));
            }
            if !std::mem::replace(&mut self.is_set, true) {
                clock.set(left)?;
            }
            ready!(clock.poll(cx))?;
            self.is_set = false;
        }
    }
}

impl AsyncTimer for Timer {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().begin(deadline);
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.get_mut();
        loop {
            if !timer.is_set {
                ready!(Future::poll(timer.sleep.as_mut(), cx));
            }
            if timer.is_coarse {
                return Poll::Ready(());
            }
            if ready!(timer.poll_clock(cx)).is_ok() {
                return Poll::Ready(());
            }
            // There are too many open files; the timers of tokio need none.
            timer.is_coarse = true;
            timer.begin(timer.deadline);
        }
    }
}

/// A clock of the kernel, and a file that can be read when its time is over.
#[derive(Debug)]
struct Clock {
    timer: TimerFd,
    /// The same file. What tokio does with pipes it does with all that the kernel calls readable.
    file: Receiver,
}

impl Clock {
    fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let file = Receiver::from_owned_fd_unchecked(timer.as_fd().try_clone_to_owned()?)?;
        Ok(Self { timer, file })
    }

    fn set(&self, wait: Duration) -> io::Result<()> {
        let wait = Expiration::OneShot(TimeSpec::from_duration(wait.max(LEAST)));
        Ok(self.timer.set(wait, TimerSetTimeFlags::empty())?)
    }

    /// Waits until its time is over since it was set last.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.file.poll_read_ready(cx))?;
            // It holds the number of times; none, if it was ready for what was set before.
            match self.file.try_read(&mut [0; size_of::<u64>()]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Poll::Ready(other.map(|_| ())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn lateness(timer: &mut Pin<Box<dyn AsyncTimer>>, wait: Duration) -> Duration {
        let deadline = Instant::now() + wait;
        timer.as_mut().reset(deadline);
        poll_fn(|cx| timer.as_mut().poll(cx)).await;
        Instant::now().checked_duration_since(deadline).expect("it is not early")
    }

    #[tokio::test]
    async fn timers_are_never_early_and_most_of_them_late_by_less_than_a_packet_takes() {
        let mut timer = PreciseRuntime.new_timer(Instant::now() + Duration::from_mins(1));
        for us in [0, 150, 700, 1500, 2500, 7300] {
            let mut all = Vec::new();
            for _ in 0..41 {
                all.push(lateness(&mut timer, Duration::from_micros(us)).await);
            }
            all.sort();
            assert!(all[20] < Duration::from_micros(500), "{us}: {all:?}");
        }
    }

    #[tokio::test]
    async fn a_timer_that_is_set_again_waits_for_the_new_time_alone() {
        let mut timer = PreciseRuntime.new_timer(Instant::now() + Duration::from_millis(1));
        let pending = poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx).is_pending())).await;
        assert!(pending);
        // The clock runs for the first time when the timer is set to others, sooner and later.
        for us in [5000, 300, 1800] {
            std::thread::sleep(Duration::from_micros(1200));
            lateness(&mut timer, Duration::from_micros(us)).await;
        }
    }
}
