//! Which line the packets of an inner flow take: one that the flow keeps, so that they arrive in their order.

use std::time::Duration;

use tokio::time::Instant;

/// Number of lanes. Flows that share one take the same line.
const LANES: usize = 1024;

/// Silence after which a flow may take another line: what it sent before has arrived by then.
const PAUSE: Duration = Duration::from_millis(500);

/// The lane of flows: the subflow over which they go, and when the last packet went there.
#[derive(Debug)]
pub(super) struct Lanes(Vec<Option<(u32, Instant)>>);

impl Default for Lanes {
    fn default() -> Self {
        Self(vec![None; LANES])
    }
}

impl Lanes {
    /// The subflow for a packet of a flow: that of the packet before, while it `serves`; otherwise the best.
    pub fn choose(
        &mut self,
        flow: u64,
        now: Instant,
        serves: impl Fn(u32) -> bool,
        best: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let lane = &mut self.0[(flow % LANES as u64) as usize];
        let kept = lane.filter(|(own, last)| now.saturating_duration_since(*last) < PAUSE && serves(*own));
        let own = kept.map(|(own, _)| own).or_else(best)?;
        *lane = Some((own, now));
        Some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_keeps_its_line_until_that_dies_or_the_flow_pauses() {
        let (mut lanes, begin) = (Lanes::default(), Instant::now());
        let mut at = |ms: u64, flow, serving: &[u32], best| {
            lanes.choose(flow, begin + Duration::from_millis(ms), |own| serving.contains(&own), || Some(best))
        };
        assert_eq!(at(0, 7, &[1, 2], 1), Some(1));
        // The other is better now, and new flows take it.
        assert_eq!((at(400, 7, &[1, 2], 2), at(400, 8, &[1, 2], 2)), (Some(1), Some(2)));
        assert_eq!(at(800, 7, &[2], 2), Some(2), "the line has died");
        assert_eq!(at(1299, 7, &[1, 2], 1), Some(2));
        assert_eq!(at(1799, 7, &[1, 2], 1), Some(1), "it has paused");
        assert_eq!(lanes.choose(9, begin, |_| true, || None), None);
    }
}
