//! Threads that rest while the first thread drives all shards, until it calls them back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The messages of the first thread to the threads that rest; `T` is what they need to know when they come back.
pub struct Crew<T> {
    /// The number of times that all other threads were sent to rest.
    rests: AtomicUsize,
    orders: Mutex<Orders<T>>,
    bell: Condvar,
}

/// The last message to the threads that rest.
struct Orders<T> {
    /// The number of times that they were called back.
    calls: usize,
    is_over: bool,
    news: T,
}

impl<T: Copy> Crew<T> {
    /// Creates a crew of which all threads work.
    pub fn new(news: T) -> Self {
        let orders = Mutex::new(Orders { calls: 0, is_over: false, news });
        Self { rests: AtomicUsize::new(0), orders, bell: Condvar::new() }
    }

    /// Sends all other threads to rest; each rests as soon as it asks.
    pub fn send_to_rest(&self) {
        self.rests.fetch_add(1, Ordering::AcqRel);
    }

    /// The number of times that all threads were sent to rest. A thread that has rested less often has to rest.
    pub fn rests(&self) -> usize {
        self.rests.load(Ordering::Acquire)
    }

    /// Rests, for the `number`-th time, until called back. Gives the news, or `None` if there is no more work.
    pub fn rest(&self, number: usize) -> Option<T> {
        let is_idle = |orders: &mut Orders<T>| orders.calls < number && !orders.is_over;
        let orders = self.bell.wait_while(self.orders(), is_idle).unwrap_or_else(PoisonError::into_inner);
        (orders.calls >= number).then_some(orders.news)
    }

    /// Calls back all threads that rest.
    pub fn call(&self, news: T) {
        let mut orders = self.orders();
        orders.calls += 1;
        orders.news = news;
        self.bell.notify_all();
    }

    /// Gives a guard that ends all rest when it is dropped, also in a panic.
    pub fn until_over(&self) -> UntilOver<'_, T> {
        UntilOver(self)
    }

    fn orders(&self) -> MutexGuard<'_, Orders<T>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard that ends all rest when it is dropped, also in a panic.
pub struct UntilOver<'a, T: Copy>(&'a Crew<T>);

impl<T: Copy> Drop for UntilOver<'_, T> {
    fn drop(&mut self) {
        self.0.orders().is_over = true;
        self.0.bell.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn those_who_rest_learn_the_news_or_that_it_is_over() {
        let crew = Crew::new(0);
        thread::scope(|scope| {
            let rests = scope.spawn(|| (crew.rest(1), crew.rest(2)));
            crew.send_to_rest();
            crew.call(7);
            drop(crew.until_over());
            assert_eq!(rests.join().unwrap(), (Some(7), None));
        });
    }

    #[test]
    fn a_panic_of_the_first_thread_ends_all_rest() {
        let crew = Crew::new(());
        thread::scope(|scope| {
            let rests = scope.spawn(|| crew.rest(1));
            let first = scope.spawn(|| {
                let _until = crew.until_over();
                panic!("as it should");
            });
            assert!(first.join().is_err() && rests.join().unwrap().is_none());
        });
    }
}
