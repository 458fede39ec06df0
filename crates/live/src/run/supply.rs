//! The data of a connection that several senders send.
//!
//! Each sender takes the next packet when it has room for it, so fast senders deliver more. Data that a sender took are
//! taken back when it stops. At the end, when nothing is left to take, data that a silent sender took are sent by others
//! too; the target counts them once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::token_bucket::TokenBucket;

/// The data of a connection, with an account of each sender.
pub(super) struct Supply {
    pub tokens: TokenBucket,
    /// Bytes of data; `None` for data without end.
    amount: Option<u64>,
    accounts: Vec<Mutex<Account>>,
    /// Signal that data were taken back, or that all have arrived.
    change: Notify,
}

/// The data that a sender took and that have not arrived.
struct Account {
    /// Bytes that only this sender sends.
    owed: u64,
    /// Bytes that another sender sends too, which do not count when they arrive from this one.
    superfluous: u64,
    /// Time of the last arrival, or of the beginning.
    last: Instant,
}

impl Account {
    /// Records arrived bytes; returns how many of them count.
    fn arrive(&mut self, bytes: u64) -> u64 {
        self.last = Instant::now();
        let superfluous = bytes.min(self.superfluous);
        self.superfluous -= superfluous;
        self.owed -= bytes - superfluous;
        bytes - superfluous
    }

    fn is_silent(&self, patience: Duration) -> bool {
        self.owed > 0 && self.last.elapsed() > patience
    }
}

impl Supply {
    /// Creates the supply of a connection with this amount of data and this number of senders.
    pub fn new(tokens: TokenBucket, amount: Option<u64>, senders: usize) -> Self {
        let account = |_| Mutex::new(Account { owed: 0, superfluous: 0, last: Instant::now() });
        Self { tokens, amount, accounts: (0..senders).map(account).collect(), change: Notify::new() }
    }

    fn account(&self, sender: usize) -> MutexGuard<'_, Account> {
        self.accounts[sender].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a sender begins.
    pub fn begin(&self, sender: usize) {
        self.account(sender).last = Instant::now();
    }

    /// Waits for the next bytes for a sender, and returns their number.
    pub async fn take(&self, sender: usize) -> usize {
        loop {
            let change = self.change.notified();
            let bytes = self.tokens.take().await;
            if bytes > 0 {
                self.account(sender).owed += bytes as u64;
                return bytes;
            }
            change.await;
        }
    }

    /// Records bytes that have arrived from a sender; adds those that have not arrived from another to `count`.
    pub fn arrive(&self, sender: usize, bytes: u64, count: &AtomicU64) {
        let new = self.account(sender).arrive(bytes);
        if count.fetch_add(new, Ordering::Relaxed) + new >= self.amount.unwrap_or(u64::MAX) {
            self.change.notify_waiters();
        }
    }

    /// Waits until all data are in `count`.
    pub async fn all_arrived(&self, count: &AtomicU64) {
        loop {
            let change = self.change.notified();
            if count.load(Ordering::Relaxed) >= self.amount.unwrap_or(u64::MAX) {
                return;
            }
            change.await;
        }
    }

    /// Takes back what a sender took and did not deliver, since it has stopped.
    pub async fn end(&self, sender: usize) {
        let owed = {
            let account = &mut *self.account(sender);
            account.superfluous = 0;
            std::mem::take(&mut account.owed)
        };
        self.take_back(owed).await;
    }

    async fn take_back(&self, bytes: u64) {
        if bytes > 0 {
            self.tokens.take_back(bytes).await;
            self.change.notify_waiters();
        }
    }

    /// Lets others send too what silent senders took, if nothing is left to take. Each sender has a patience, after which
    /// it counts as silent; `None` if it is not connected.
    pub async fn relieve_silent(&self, patience: &[Option<Duration>]) {
        if self.amount.is_none() || !self.tokens.is_empty().await {
            return;
        }
        let of = |(sender, patience): (usize, &Option<Duration>)| Some(self.account(sender).is_silent((*patience)?));
        let silent: Vec<Option<bool>> = patience.iter().enumerate().map(of).collect();
        if !silent.contains(&Some(false)) {
            return;
        }
        for sender in (0..silent.len()).filter(|&sender| silent[sender] == Some(true)) {
            let owed = {
                let account = &mut *self.account(sender);
                account.superfluous += account.owed;
                std::mem::take(&mut account.owed)
            };
            self.take_back(owed).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    fn supply(amount: u64) -> (Supply, AtomicU64) {
        (Supply::new(TokenBucket::new(Some(amount), 1000, 1000), Some(amount), 2), AtomicU64::new(0))
    }

    async fn is_over(supply: &Supply, count: &AtomicU64) -> bool {
        tokio::time::timeout(PATIENCE, supply.all_arrived(count)).await.is_ok()
    }

    #[tokio::test]
    async fn what_a_sender_that_stops_has_not_delivered_another_sends() {
        let (supply, count) = supply(2000);
        assert_eq!((supply.take(0).await, supply.take(1).await), (1000, 1000));
        supply.arrive(1, 1000, &count);
        supply.arrive(0, 400, &count);
        supply.end(0).await;
        assert_eq!(supply.take(1).await, 600);
        assert!(!is_over(&supply, &count).await);
        supply.arrive(1, 600, &count);
        assert!(is_over(&supply, &count).await);
        assert_eq!(count.into_inner(), 2000);
    }

    #[tokio::test]
    async fn what_a_silent_sender_took_another_sends_at_the_end_and_it_counts_once() {
        let (supply, count) = supply(3000);
        assert_eq!((supply.take(0).await, supply.take(1).await), (1000, 1000));
        supply.arrive(1, 1000, &count);
        tokio::time::sleep(2 * PATIENCE).await;
        let patience = [Some(PATIENCE); 2];
        supply.relieve_silent(&patience).await;
        assert_eq!(supply.take(1).await, 1000, "it was left");
        supply.arrive(1, 1000, &count);
        supply.relieve_silent(&patience).await;
        assert_eq!(supply.take(1).await, 1000, "the first had taken it");
        // What comes late from the first comes twice.
        supply.arrive(0, 1000, &count);
        assert!(!is_over(&supply, &count).await);
        supply.arrive(1, 1000, &count);
        assert!(is_over(&supply, &count).await);
        assert_eq!(count.into_inner(), 3000);
    }

    #[tokio::test]
    async fn where_all_are_silent_nothing_is_sent_twice() {
        let (supply, _) = supply(1000);
        assert_eq!(supply.take(0).await, 1000);
        tokio::time::sleep(2 * PATIENCE).await;
        supply.relieve_silent(&[Some(PATIENCE), None]).await;
        assert!(supply.tokens.is_empty().await, "the other is not connected");
        supply.relieve_silent(&[Some(PATIENCE), Some(PATIENCE)]).await;
        assert!(!supply.tokens.is_empty().await, "the other has nothing to do");
    }
}
