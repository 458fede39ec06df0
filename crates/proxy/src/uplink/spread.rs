//! Flows over all lines: over the one that has opened it, over others when that is worth it, and over several streams of a
//! line that has more under way than one stream may have.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anabranch_live::STREAM_WINDOW;
use http::{HeaderValue, Request, StatusCode};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::requests::{Stream, ask};
use super::{ANSWER_TIME, Exit, Way};
use crate::bundle::carrier::Flow;
use crate::bundle::greeting::{FLOW, Part};
use crate::packets::carrier::PacketFlow;
use crate::target::Target;
use crate::tunnel::Receiving;

/// Time between looks at the rate of a flow.
const LOOK: Duration = Duration::from_millis(200);

/// Bytes under way for which a line has another stream: half of what a stream may have. And the most streams of a line.
const HALF: u64 = STREAM_WINDOW as u64 / 2;
const MOST_STREAMS: usize = 8;

/// A flow that has subflows on several lines.
pub(super) trait Spread: Send + Sync + 'static {
    /// The request for a subflow to a target.
    fn request(exit: &Exit, target: &Target, part: Part) -> Request<()>;

    /// Adds a subflow over a stream of a line; the work that it returns carries it.
    fn attach(self: &Arc<Self>, way: Way, stream: Stream) -> impl Future<Output = ()> + Send + 'static;

    /// Bytes that were carried in the direction that has carried more; `None` where one stream carries all that a line can.
    fn carried(&self) -> Option<u64>;

    /// Waits until subflows on all lines are worth it, or the flow has ended.
    fn wants_more(&self) -> impl Future<Output = ()> + Send;

    fn has_ended(&self) -> bool;

    fn ended(&self) -> impl Future<Output = ()> + Send;

    /// Ends the flow, which the other end does not know any more.
    fn abandon(&self);
}

impl Spread for Flow {
    fn request(exit: &Exit, target: &Target, part: Part) -> Request<()> {
        exit.request_for_part(target, part)
    }

    fn attach(self: &Arc<Self>, way: Way, stream: Stream) -> impl Future<Output = ()> + Send + 'static {
        let (sends, receives) = stream.split();
        Self::attach(self, way.line, sends, Receiving::new(receives))
    }

    fn carried(&self) -> Option<u64> {
        let carried = Self::carried(self);
        Some(carried.into_stream.max(carried.out_of_stream))
    }

    async fn wants_more(&self) {
        Self::wants_more(self).await;
    }

    fn has_ended(&self) -> bool {
        Self::has_ended(self)
    }

    async fn ended(&self) {
        Self::ended(self).await;
    }

    fn abandon(&self) {
        Self::abandon(self);
    }
}

impl Spread for PacketFlow {
    fn request(exit: &Exit, target: &Target, part: Part) -> Request<()> {
        let mut request = exit.request_for_packets(target);
        request
            .headers_mut()
            .insert(FLOW, HeaderValue::from_str(&part.write()).expect("it is made of digits and letters"));
        request
    }

    fn attach(self: &Arc<Self>, way: Way, stream: Stream) -> impl Future<Output = ()> + Send + 'static {
        let (datagrams, quic) = (way.flows.of(stream.id().into_inner()), way.line.quic().clone());
        let (sends, receives) = stream.split();
        Self::attach(self, Some(way.line), datagrams, (sends, Receiving::new(receives)), quic)
    }

    fn carried(&self) -> Option<u64> {
        None
    }

    async fn wants_more(&self) {
        Self::wants_more(self).await;
    }

    fn has_ended(&self) -> bool {
        Self::has_ended(self)
    }

    async fn ended(&self) {
        Self::ended(self).await;
    }

    fn abandon(&self) {
        Self::abandon(self);
    }
}

/// Carries a flow until its end: the work on the first subflow, which is on the line of this number, and others.
pub(super) async fn spread<F: Spread>(
    flow: Arc<F>,
    (number, target): (u64, Target),
    (first, work): (u64, impl Future<Output = ()> + Send + 'static),
    (exit, mut ways): (Arc<Exit>, watch::Receiver<Vec<Way>>),
) {
    let mut tried = HashMap::from([(first, 1)]);
    let mut parts = JoinSet::new();
    parts.spawn(work);
    flow.wants_more().await;
    let mut before = (flow.carried(), Instant::now());
    let mut rate = 0.0;
    while !flow.has_ended() {
        let all = ways.borrow_and_update().clone();
        for way in all {
            let streams = tried.entry(way.line.id).or_default();
            for _ in *streams..streams_for(rate, way.line.pace().rtt) {
                *streams += 1;
                let way = way.clone();
                let request = F::request(&exit, &target, Part { flow: number, joins: true });
                parts.spawn(join(flow.clone(), way, request));
            }
        }
        tokio::select! {
            changed = ways.changed() => if changed.is_err() { break },
            () = flow.ended() => {}
            () = sleep(LOOK), if before.0.is_some() => {
                let now = (flow.carried(), Instant::now());
                rate = now.0.zip(before.0).map_or(0.0, |(now, before)| (now - before) as f64) / (now.1 - before.1).as_secs_f64();
                before = now;
            }
        }
    }
    while parts.join_next().await.is_some() {}
}

/// The number of streams of a line that has this round trip, for a flow with this rate in bytes per second: with it all may
/// be on that line.
fn streams_for(rate: f64, rtt: Duration) -> usize {
    let under_way = (rate * rtt.as_secs_f64()) as u64;
    usize::try_from(under_way / HALF).map_or(MOST_STREAMS, |more| (1 + more).min(MOST_STREAMS))
}

/// Adds a subflow to a flow that the exit knows, and carries it.
async fn join<F: Spread>(flow: Arc<F>, mut way: Way, request: Request<()>) {
    match timeout(ANSWER_TIME, ask(&mut way.asking, request)).await {
        Ok(Some((stream, answer))) if answer.status() == StatusCode::OK => flow.attach(way, stream).await,
        Ok(Some(_)) => flow.abandon(),
        _ => {}
    }
}
