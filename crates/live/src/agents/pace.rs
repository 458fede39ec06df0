//! The pace at which messages are read, so that no sender keeps the agent from the others.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_millis(100);

/// The pace of the messages of one sender.
pub(super) struct Pace {
    /// The most messages in a window.
    most: u32,
    window: Instant,
    messages: u32,
}

impl Pace {
    /// A pace of this many messages in a tenth of a second.
    pub(super) fn new(most: u32) -> Self {
        Self { most, window: Instant::now(), messages: 0 }
    }

    /// Waits until another message may be read.
    pub(super) async fn wait(&mut self) {
        self.messages += 1;
        if self.messages <= self.most {
            return;
        }
        tokio::time::sleep(WINDOW.saturating_sub(self.window.elapsed())).await;
        *self = Self { messages: 1, ..Self::new(self.most) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_beyond_the_pace_wait() {
        let (mut pace, start) = (Pace::new(200), Instant::now());
        for _ in 0..200 {
            pace.wait().await;
        }
        let first = start.elapsed();
        for _ in 200..1000 {
            pace.wait().await;
        }
        assert!(first < WINDOW && start.elapsed() >= 4 * WINDOW, "{first:?}, {:?}", start.elapsed());
    }
}
