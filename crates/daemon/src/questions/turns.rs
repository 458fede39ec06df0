//! The streams of applications on other machines: each application has some at a time, and asks at a pace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The most streams of an application at a time.
const MOST_STREAMS: usize = 256;

/// Least time between two questions of an application.
const PACE: Duration = Duration::from_millis(10);

/// Time of rest after a search for paths, as a multiple of the time that it took.
const REST: u32 = 4;

/// The longest wait of a question.
const MOST_WAIT: Duration = Duration::from_secs(10);

/// The streams that there are, by applications.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<BTreeMap<Arc<str>, Own>>>);

#[derive(Debug)]
struct Own {
    streams: usize,
    /// When the next question is heard.
    next: Instant,
}

/// The turn of a stream.
pub(super) struct Turn {
    turns: Turns,
    application: Arc<str>,
    begin: Instant,
}

/// Why there is no turn.
pub(super) fn refusal(application: &str) -> String {
    format!("`{application}` has {MOST_STREAMS} questions already, which is the most")
}

impl Turns {
    /// A turn for another stream; `None` if the application has as many as it may.
    pub(super) fn enter(&self, application: &Arc<str>) -> Option<Turn> {
        let now = Instant::now();
        let mut all = self.lock();
        // An application that comes back after a while begins anew.
        all.retain(|_, own| own.streams > 0 || own.next > now);
        let own = all.entry(application.clone()).or_insert(Own { streams: 0, next: now });
        if own.streams >= MOST_STREAMS {
            return None;
        }
        own.streams += 1;
        let begin = own.next.max(now);
        own.next = begin + PACE;
        Some(Turn { turns: self.clone(), application: application.clone(), begin })
    }

    /// Has an application wait after a search for it, so that it takes a part of the time alone.
    pub(super) fn charge(&self, application: &str, took: Duration) {
        let now = Instant::now();
        if let Some(own) = self.lock().get_mut(application) {
            own.next = (own.next + took * REST).min(now + MOST_WAIT);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Own>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Waits until the question may be heard.
    pub async fn wait(&self) {
        sleep_until(self.begin).await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(own) = self.turns.lock().get_mut(&self.application) {
            own.streams -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_has_many_streams_at_a_pace_and_others_their_own() {
        let (turns, one, other) = (Turns::default(), Arc::from("one"), Arc::from("other"));
        let start = Instant::now();
        let wait = |application| turns.enter(application).unwrap().begin.saturating_duration_since(start);
        let mut held: Vec<Turn> = (0..MOST_STREAMS).map(|_| turns.enter(&one).unwrap()).collect();
        assert!(turns.enter(&one).is_none());
        assert!(wait(&other) < Duration::from_secs(1));
        held.pop();
        assert!(wait(&one) >= PACE * MOST_STREAMS as u32);
        // A search that takes long is followed by a longer rest, which has an end.
        let (before, second) = (wait(&one), Duration::from_secs(1));
        turns.charge("one", second);
        assert!(wait(&one) >= before + 4 * second);
        turns.charge("one", 1000 * second);
        assert!(wait(&one) <= MOST_WAIT + second);
        drop(held);
        assert!(turns.enter(&other).is_some(), "what is over is forgotten, and what rests is not");
        assert!(turns.lock().contains_key(&one));
    }
}
