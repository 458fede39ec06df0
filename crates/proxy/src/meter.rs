//! The most that a client may send and receive: bytes wait for their time, and packets that come before theirs are dropped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_core::Rate;
use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

/// The time for which bytes may come at once after silence.
const BURST: Duration = Duration::from_millis(50);

/// Bits of a byte.
const BITS: f64 = 8.0;

/// Bytes that a client may send and receive together, until they are renewed.
#[derive(Debug)]
pub struct Quota {
    most: u64,
    used: AtomicU64,
}

impl Quota {
    /// This number of bytes, of which some are used.
    pub fn new(most: u64, used: u64) -> Arc<Self> {
        Arc::new(Self { most, used: used.into() })
    }

    /// The bytes that the client may use.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Bytes that are used.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts from 0 again.
    pub fn renew(&self) {
        self.used.store(0, Ordering::Relaxed);
    }

    /// Whether all bytes are used.
    pub(crate) fn is_spent(&self) -> bool {
        self.used() >= self.most
    }

    /// Takes the bytes of a piece, which may be more than are left; none if none are.
    fn take(&self, bytes: u64) -> Result<(), Spent> {
        if self.is_spent() {
            return Err(Spent);
        }
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// The quota of a client is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent;

/// The most in one direction.
#[derive(Debug)]
pub(crate) struct Meter {
    rate: Rate,
    quota: Option<Arc<Quota>>,
    paid: Mutex<Paid>,
}

/// When what has passed is paid for: bytes and packets, and packets alone. So bytes leave packets their part.
#[derive(Clone, Copy, Debug)]
struct Paid {
    all: Instant,
    packets: Instant,
}

/// The most in both directions.
#[derive(Debug)]
struct Meters {
    /// What the client sends.
    sending: Meter,
    /// What it receives.
    receiving: Meter,
}

/// The meters of a client, if it has a limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits(Option<Arc<Meters>>);

/// Waits until bytes may pass some meters, and gives these bytes: all that there are, or as many as pass at a time.
///
/// # Errors
/// If a quota is used up.
pub(crate) async fn metered(bytes: &mut Bytes, meters: [Option<&Meter>; 2]) -> Result<Bytes, Spent> {
    let most = meters.iter().flatten().map(|meter| meter.piece()).fold(bytes.len(), usize::min);
    let piece = bytes.split_to(most);
    for meter in meters.into_iter().flatten() {
        meter.take(piece.len() as u64)?;
        meter.pass(piece.len() as u64).await;
    }
    Ok(piece)
}

impl Limits {
    /// A rate in each direction, and a quota for both.
    pub fn of(rate: Option<Rate>, quota: Option<&Arc<Quota>>) -> Self {
        let meter = || Meter::new(rate.unwrap_or(Rate(f64::INFINITY)), quota.cloned());
        let is_limited = rate.is_some() || quota.is_some();
        Self(is_limited.then(|| Arc::new(Meters { sending: meter(), receiving: meter() })))
    }

    /// What meters the bytes that the client sends.
    pub fn sending(&self) -> Option<&Meter> {
        self.0.as_ref().map(|meters| &meters.sending)
    }

    /// What meters the bytes that the client receives.
    pub fn receiving(&self) -> Option<&Meter> {
        self.0.as_ref().map(|meters| &meters.receiving)
    }
}

/// The least number of bytes that pass at a time: a full packet.
const LEAST_PIECE: usize = 1500;

impl Meter {
    fn new(rate: Rate, quota: Option<Arc<Quota>>) -> Self {
        let now = Instant::now();
        Self { rate, quota, paid: Mutex::new(Paid { all: now, packets: now }) }
    }

    fn lock(&self) -> MutexGuard<'_, Paid> {
        self.paid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most bytes that pass at a time.
    pub fn piece(&self) -> usize {
        ((self.rate.0 / BITS * BURST.as_secs_f64()) as usize).max(LEAST_PIECE)
    }

    fn take(&self, bytes: u64) -> Result<(), Spent> {
        self.quota.as_ref().map_or(Ok(()), |quota| quota.take(bytes))
    }

    /// Waits until bytes are paid for, in the order of the calls.
    pub async fn pass(&self, bytes: u64) {
        sleep_until(self.note(Instant::now(), bytes)).await;
    }

    /// Counts bytes that come now; when they are paid for.
    fn note(&self, now: Instant, bytes: u64) -> Instant {
        let paid = &mut *self.lock();
        paid.all = self.after(now, paid.all, bytes);
        paid.all
    }

    /// Whether a packet may pass now, which counts then.
    pub fn lets(&self, now: Instant, bytes: u64) -> bool {
        let paid = &mut *self.lock();
        let may_pass = paid.packets <= now && self.take(bytes).is_ok();
        if may_pass {
            paid.packets = self.after(now, paid.packets, bytes);
            paid.all = self.after(now, paid.all, bytes);
        }
        may_pass
    }

    /// When bytes that come now are paid for, after others. Silence pays for some at the most.
    fn after(&self, now: Instant, others: Instant, bytes: u64) -> Instant {
        let from = others.max(now.checked_sub(BURST).unwrap_or(now));
        from + Duration::from_secs_f64(bytes as f64 * BITS / self.rate.0.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_at_the_rate_after_a_burst() {
        let meter = Meter::new(Rate(8e6), None);
        let begin = Instant::now() + Duration::from_secs(1);
        // 1 MB/s: 50 kB at once, and 450 kB in 0.45 s, over however many flows.
        let last = (0..50).map(|_| meter.note(begin, 10_000)).max().unwrap();
        let took = last.duration_since(begin).as_secs_f64();
        assert!((took - 0.45).abs() < 1e-6, "{took}");
    }

    #[test]
    fn packets_before_their_time_are_dropped() {
        let meter = Meter::new(Rate(8e5), None);
        let begin = Instant::now() + Duration::from_secs(1);
        // 100 packets of 1000 bytes a second, and five at once. 1000 packets come in a second.
        let passed = (0..1000).filter(|ms| meter.lets(begin + Duration::from_millis(*ms), 1000)).count();
        assert!((104..=106).contains(&passed), "{passed}");
    }

    #[test]
    fn packets_pass_beside_bytes_that_take_all_and_bytes_leave_them_their_part() {
        let meter = Meter::new(Rate(8e6), None);
        let begin = Instant::now() + Duration::from_secs(1);
        let (mut now, mut bytes, mut packets) = (begin, 0, 0);
        while now < begin + Duration::from_secs(1) {
            now = now.max(meter.note(now, 10_000));
            bytes += 10_000;
            // A packet of 1000 bytes each time: a tenth.
            packets += u64::from(meter.lets(now, 1000));
        }
        assert!(packets >= 90 && bytes + 1000 * packets <= 1_070_000, "{bytes} bytes, {packets} packets");
    }

    #[tokio::test]
    async fn bytes_wait_for_their_time() {
        let (meter, begin) = (Meter::new(Rate(8e6), None), Instant::now());
        for _ in 0..10 {
            meter.pass(10_000).await;
        }
        // 100 kB, of which 50 kB may come at once after silence; there was none.
        assert!(begin.elapsed() >= Duration::from_millis(90), "{:?}", begin.elapsed());
        assert_eq!((meter.piece(), Meter::new(Rate(64e3), None).piece()), (50_000, 1500));
    }

    #[tokio::test]
    async fn a_quota_is_for_both_directions_and_ends_what_is_carried() {
        let quota = Quota::new(10_000, 4000);
        let limits = Limits::of(None, Some(&quota));
        let both = [limits.sending(), limits.receiving()];
        for meter in both {
            assert_eq!(
                metered(&mut Bytes::from(vec![0; 2999]), [meter, None]).await.map(|bytes| bytes.len()),
                Ok(2999)
            );
        }
        // Two bytes are left, which is enough for a packet.
        assert!(limits.sending().unwrap().lets(Instant::now(), 1000));
        assert_eq!((quota.used(), quota.is_spent()), (10_998, true));
        assert!(!limits.sending().unwrap().lets(Instant::now(), 1));
        assert_eq!(metered(&mut Bytes::from_static(b"x"), both).await, Err(Spent));
        quota.renew();
        assert!(metered(&mut Bytes::from_static(b"x"), both).await.is_ok() && quota.used() == 2);
        assert!(Limits::of(None, None).sending().is_none());
    }
}
