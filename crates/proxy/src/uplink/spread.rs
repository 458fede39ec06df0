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
use crate::bundle::line::Line;
use crate::ip::carrier::IpFlow;
use crate::packets::carrier::PacketFlow;
use crate::target::Target;
use crate::tunnel::Receiving;

/// Time between looks at the rate of a flow: the least, and the most for one that carries nothing.
const LOOK: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Bytes under way for which a line has another stream: half of what a stream may have. And the most streams of a line.
const HALF: usize = STREAM_WINDOW as usize / 2;
pub(crate) const MOST_STREAMS: usize = 4;

/// A flow that has subflows on several lines.
pub(super) trait Spread: Send + Sync + 'static {
    /// What it leads to.
    type Target: Clone + Send + Sync + 'static;

    /// The request for a subflow to a target.
    fn request(exit: &Exit, target: &Self::Target, part: Part) -> Request<()>;

    /// Adds a subflow over a stream of a line; the work that it returns carries it.
    fn attach(self: &Arc<Self>, way: Way, stream: Stream) -> impl Future<Output = ()> + Send + 'static;

    /// Bytes that streams of a line have carried, in the direction that has carried more; `None` where one stream carries all
    /// that a line can.
    fn carried_on(&self, line: &Line) -> Option<u64>;

    /// Waits until subflows on all lines are worth it, or the flow has ended.
    fn wants_more(&self) -> impl Future<Output = ()> + Send;

    fn has_ended(&self) -> bool;

    fn ended(&self) -> impl Future<Output = ()> + Send;

    /// Ends the flow, which the other end does not know any more.
    fn abandon(&self);
}

impl Spread for Flow {
    type Target = Target;

    fn request(exit: &Exit, target: &Target, part: Part) -> Request<()> {
        exit.request_for_part(target, part)
    }

    fn attach(self: &Arc<Self>, way: Way, stream: Stream) -> impl Future<Output = ()> + Send + 'static {
        let (sends, receives) = stream.split();
        Self::attach(self, way.line, sends, Receiving::new(receives))
    }

    fn carried_on(&self, line: &Line) -> Option<u64> {
        Some(Self::carried_on(self, line.id))
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
    type Target = Target;

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

    fn carried_on(&self, _: &Line) -> Option<u64> {
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

impl Spread for IpFlow {
    /// All addresses.
    type Target = ();

    fn request(exit: &Exit, (): &(), part: Part) -> Request<()> {
        exit.request_for_ip(part)
    }

    fn attach(self: &Arc<Self>, way: Way, stream: Stream) -> impl Future<Output = ()> + Send + 'static {
        let (datagrams, quic) = (way.flows.of_many(stream.id().into_inner()), way.line.quic().clone());
        let (sends, receives) = stream.split();
        Self::attach(self, Some(way.line), datagrams, (sends, Receiving::new(receives)), quic)
    }

    fn carried_on(&self, _: &Line) -> Option<u64> {
        None
    }

    /// Inner flows are for all lines.
    async fn wants_more(&self) {}

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

/// The streams of a flow on a line.
struct Streams {
    count: usize,
    /// Bytes that they had carried at the last look.
    carried: u64,
}

impl Streams {
    /// The number of streams that are worth it, and whether they have carried anything in the time since the last look.
    fn look<F: Spread>(&mut self, flow: &F, line: &Line, since: Duration) -> (usize, bool) {
        let Some(carried) = flow.carried_on(line) else { return (1, false) };
        let more = carried.saturating_sub(std::mem::replace(&mut self.carried, carried));
        let under_way = more as f64 * line.pace().rtt.as_secs_f64() / since.max(LOOK.0).as_secs_f64();
        // Numbers that are too large become the largest.
        ((1 + under_way as usize / HALF).min(MOST_STREAMS), more > 0)
    }
}

/// Carries a flow until its end: the work on the first subflow, which is on the line of this number, and others.
pub(super) async fn spread<F: Spread>(
    flow: Arc<F>,
    (number, target): (u64, F::Target),
    (first, work): (u64, impl Future<Output = ()> + Send + 'static),
    (exit, mut ways): (Arc<Exit>, watch::Receiver<Vec<Way>>),
) {
    let mut lines = HashMap::from([(first, Streams { count: 1, carried: 0 })]);
    let mut parts = JoinSet::new();
    parts.spawn(async move {
        work.await;
        first
    });
    flow.wants_more().await;
    let (mut last, mut pause, mut gone) = (Instant::now(), LOOK.0, Vec::new());
    while !flow.has_ended() {
        let since = last.elapsed();
        (last, pause) = (Instant::now(), (2 * pause).min(LOOK.1));
        let all = ways.borrow_and_update().clone();
        lines.retain(|id, _| all.iter().any(|way| way.line.id == *id));
        for way in all {
            let streams = lines.entry(way.line.id).or_insert(Streams { count: 0, carried: 0 });
            let (wanted, is_busy) = streams.look(&*flow, &way.line, since);
            if is_busy {
                pause = LOOK.0;
            }
            for _ in streams.count..wanted {
                streams.count += 1;
                let request = F::request(&exit, &target, Part { flow: number, joins: true });
                let (flow, way, id) = (flow.clone(), way.clone(), way.line.id);
                parts.spawn(async move {
                    join(flow, way, request).await;
                    id
                });
            }
        }
        tokio::select! {
            changed = ways.changed() => if changed.is_err() { break },
            () = flow.ended() => {}
            Some(done) = parts.join_next() => gone.extend(done.ok()),
            () = sleep(pause) => {
                // A stream that has ended before its flow is made again, after a while.
                for id in gone.drain(..) {
                    if let Some(streams) = lines.get_mut(&id) {
                        streams.count = streams.count.saturating_sub(1);
                    }
                }
            }
        }
    }
    while parts.join_next().await.is_some() {}
}

/// Adds a subflow to a flow that the exit knows, and carries it.
async fn join<F: Spread>(flow: Arc<F>, mut way: Way, request: Request<()>) {
    match timeout(ANSWER_TIME, ask(&mut way.asking, request)).await {
        Ok(Some((stream, answer))) if answer.status() == StatusCode::OK => flow.attach(way, stream).await,
        Ok(Some(_)) => flow.abandon(),
        _ => {}
    }
}
