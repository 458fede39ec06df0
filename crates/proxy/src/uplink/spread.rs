//! Flows over all lines: over the one that has opened it, and over others when that is worth it.

use std::collections::HashSet;
use std::sync::Arc;

use http::{HeaderValue, Request, StatusCode};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::requests::{Stream, ask};
use super::{ANSWER_TIME, Exit, Way};
use crate::bundle::carrier::Flow;
use crate::bundle::greeting::{FLOW, Part};
use crate::packets::carrier::PacketFlow;
use crate::target::Target;
use crate::tunnel::Receiving;

/// A flow that has subflows on several lines.
pub(super) trait Spread: Send + Sync + 'static {
    /// The request for a subflow to a target.
    fn request(exit: &Exit, target: &Target, part: Part) -> Request<()>;

    /// Adds a subflow over a stream of a line; the work that it returns carries it.
    fn attach(self: &Arc<Self>, way: Way, stream: Stream) -> impl Future<Output = ()> + Send + 'static;

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
    let mut tried = HashSet::from([first]);
    let mut parts = JoinSet::new();
    parts.spawn(work);
    flow.wants_more().await;
    while !flow.has_ended() {
        let all = ways.borrow_and_update().clone();
        for way in all {
            if tried.insert(way.line.id) {
                let request = F::request(&exit, &target, Part { flow: number, joins: true });
                parts.spawn(join(flow.clone(), way, request));
            }
        }
        tokio::select! {
            changed = ways.changed() => if changed.is_err() { break },
            () = flow.ended() => {}
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
