//! The answers of an exit to the requests of a client.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use anabranch_live::control::Ceiling;
use anabranch_live::session::Session;
use bytes::Bytes;
use h3::ext::Protocol as Carried;
use h3::server::{RequestResolver, RequestStream};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::bundles::{Far, Place, Proxy};
use super::{CONTROL, Exit, PATIENCE, Peer, control, line_control};
use crate::accounts::Known;
use crate::bundle::carrier::Flow;
use crate::bundle::greeting::{FLOW, Greeting, HOPS, LINE, MARKS, Part, Unreadable};
use crate::bundle::line::Line;
use crate::bundle::turns::{SHARE, Share};
use crate::http3::{Adapter, BidiStream};
use crate::ledger::{Counter, Entry, Flowing, Kind, Ledger};
use crate::packets::carrier::PacketFlow;
use crate::packets::{self, CAPSULES};
use crate::target::Target;
use crate::tunnel::Receiving;
use crate::unreached::Unreached;
use crate::uplink::{Behalf, MOST_STREAMS, plain};

pub(super) type ServerStream = RequestStream<BidiStream<Bytes>, Bytes>;

impl Exit {
    /// Answers a request, and carries what it asks for.
    pub(super) async fn answer(&self, resolver: RequestResolver<Adapter, Bytes>, peer: &Peer) {
        // A request that does not come in time is dropped, which resets its stream.
        let Ok(Ok((request, mut stream))) = timeout(PATIENCE, resolver.resolve_request()).await else { return };
        let shown = request.headers().get(header::PROXY_AUTHORIZATION).map(HeaderValue::as_bytes);
        let Some(client) = self.accounts.find(shown, peer.caller.as_ref()) else {
            return refuse(&mut stream, Unreached::Unknown.status(), Some(Unreached::Unknown)).await;
        };
        if peer.known.fetch_add(1, Ordering::Relaxed) == 0 {
            peer.welcome();
            choose(&peer.session, &request);
        }
        if let Some(granted) = client.granted().filter(|_| peer.client.get().is_none()) {
            peer.session.limit(&Ceiling::asked(granted));
        }
        // A connection is that of the client that was known first.
        let _ = peer.client.set(client.clone());
        let carried = request.extensions().get::<Carried>();
        let target = match carried {
            _ if request.method() == Method::OPTIONS => return self.greet(&mut stream, &client, &request, peer).await,
            _ if request.method() != Method::CONNECT => {
                return refuse(&mut stream, StatusCode::NOT_IMPLEMENTED, None).await;
            }
            Some(&Carried::CONNECT_UDP) => packets::target(request.uri().path()),
            // The library knows no other but that which stands for `connect-ip`.
            Some(_) => return self.answer_ip(stream, &request, (peer, &client)).await,
            None => request.uri().authority().and_then(|authority| authority.as_str().parse().ok()),
        };
        let Some(target) = target else { return refuse(&mut stream, StatusCode::BAD_REQUEST, None).await };
        match (peer.line.get(), read::<Part>(&request, FLOW)) {
            (_, Err(Unreadable)) | (None, Ok(Some(_))) => refuse(&mut stream, StatusCode::BAD_REQUEST, None).await,
            (Some((proxy, line)), Ok(Some(part))) => {
                let Ok(asked) = Asked::read(&request, &target, carried.is_some()) else {
                    return refuse(&mut stream, StatusCode::BAD_REQUEST, None).await;
                };
                self.take_part(stream, &asked, part, (peer, proxy, line)).await;
            }
            (_, Ok(None)) => self.connect(stream, &target, carried.is_some(), (peer, &client)).await,
        }
    }

    /// Answers the first request of a proxy, which says what line the connection is.
    async fn greet(&self, stream: &mut ServerStream, client: &Arc<Known>, request: &Request<()>, peer: &Peer) {
        let greeting = match read::<Greeting>(request, LINE) {
            Ok(Some(greeting)) => greeting,
            Ok(None) => return refuse(stream, StatusCode::NO_CONTENT, None).await,
            Err(Unreadable) => return refuse(stream, StatusCode::BAD_REQUEST, None).await,
        };
        if let Some((proxy, line)) = peer.line.get() {
            return renew(stream, greeting, (proxy, line)).await;
        }
        let named = request.headers().get(CONTROL).and_then(|value| value.to_str().ok());
        let first = (peer.remote(), named.and_then(|name| line_control(name, self.knows_capacity).ok()));
        let Ok(proxy) = self.proxies.find(client, greeting.bundle, first) else {
            return refuse(stream, StatusCode::INTERNAL_SERVER_ERROR, None).await;
        };
        let line = Line::new(greeting.number, greeting.terms, peer.session.clone(), peer.flows.data());
        let datagrams = peer.flows.news(stream.id().into_inner());
        peer.session.move_to(&proxy.bundle.group);
        if !proxy.bundle.add(line.clone()) {
            return refuse(stream, Unreached::Busy.status(), Some(Unreached::Busy)).await;
        }
        if let Err((proxy, line)) = peer.line.set((proxy.clone(), line.clone())) {
            proxy.bundle.remove(&line);
            return refuse(stream, StatusCode::BAD_REQUEST, None).await;
        }
        let mut answer = Response::new(());
        answer.headers_mut().insert(LINE, request.headers()[LINE].clone());
        answer.headers_mut().insert(CONTROL, HeaderValue::from_static(proxy.control));
        if proxy.bundle.group.counts_marks() {
            answer.headers_mut().insert(MARKS, HeaderValue::from_static("?1"));
        }
        let datagrams = (datagrams, request.headers().contains_key(MARKS));
        if stream.send_response(answer).await.is_err() || stream.finish().await.is_err() {
            return;
        }
        // The rate of the next loop is for all proxies that have flows.
        let look = || self.onward.next(proxy.ledger.queued()).part(self.proxies.part(&proxy));
        let look = self.onward.seen().map(|_| look);
        tokio::select! {
            () = line.exchange(&proxy.bundle, datagrams, look) => {}
            _ = line.quic().closed() => {}
        }
    }

    /// Carries a flow over a stream of a line; the first stream of a flow connects to the target.
    async fn take_part(
        &self,
        mut stream: ServerStream,
        asked: &Asked<'_>,
        part: Part,
        (peer, proxy, line): (&Peer, &Arc<Proxy>, &Arc<Line>),
    ) {
        let dialed = match proxy.place(part) {
            Place::First(give) => {
                let dialed = self.begin_flow(asked, part.flow, proxy).await;
                if dialed.is_err() {
                    proxy.ends(part.flow);
                }
                give.send_replace(Some(dialed.clone()));
                dialed
            }
            Place::Other(mut wait) => match wait.wait_for(Option::is_some).await {
                Ok(dialed) => dialed.clone().unwrap_or(Err(Unreached::Other)),
                Err(_) => Err(Unreached::Other),
            },
            Place::None => return refuse(&mut stream, StatusCode::GONE, None).await,
        };
        // Datagrams may come before the answer has gone.
        let datagrams = peer.flows.of(stream.id().into_inner());
        let far = match dialed {
            Ok(far) if !matches!(far, Far::Ip(_)) && matches!(far, Far::Packets(_)) == asked.is_packets => far,
            Ok(_) => return refuse(&mut stream, StatusCode::BAD_REQUEST, None).await,
            Err(reason) => return refuse(&mut stream, reason.status(), Some(reason)).await,
        };
        if let Far::Bytes(flow) = &far
            && flow.streams_on(line.id) >= MOST_STREAMS
        {
            return refuse(&mut stream, Unreached::Busy.status(), Some(Unreached::Busy)).await;
        }
        if stream.send_response(accepted(asked.is_packets)).await.is_ok() {
            let (sends, receives) = stream.split();
            let receives = Receiving::new(receives);
            match &far {
                Far::Bytes(flow) => flow.attach(line.clone(), sends, receives).await,
                Far::Packets(flow) => {
                    flow.attach(Some(line.clone()), datagrams, (sends, receives), line.quic().clone()).await;
                }
                Far::Ip(_) => unreachable!("no other request makes it"),
            }
        }
        // A proxy that breaks off the last stream of a flow, on a line that works, does not want it any more.
        if line.quic().close_reason().is_none() {
            match far {
                Far::Bytes(flow) => flow.abandon(),
                Far::Packets(flow) => flow.abandon(),
                Far::Ip(flow) => flow.abandon(),
            }
        }
    }

    /// Connects to the target of a flow, and carries its bytes or packets from then on.
    async fn begin_flow(&self, asked: &Asked<'_>, number: u64, proxy: &Arc<Proxy>) -> Result<Far, Unreached> {
        let (own, client, target) = (proxy.clone(), &proxy.client, asked.target);
        let behalf = Behalf { share: proxy.share, hops: asked.hops };
        let permit = (self.enter()?, client.enter()?);
        if asked.is_packets {
            let ahead = self.onward.open_packets(target, client, behalf).await?;
            let (flow, mut take) = PacketFlow::new(client.limits.clone());
            let far = Far::Packets(flow.clone());
            let entry = entered(&proxy.ledger, client, (target, Kind::Udp), &flow);
            tokio::spawn(async move {
                ahead.join(&flow, &mut take).await;
                own.ends(number);
                drop((entry, permit));
            });
            return Ok(far);
        }
        let ahead = self.onward.open(target, client, behalf).await?;
        let flow = Flow::within(self.store.clone(), client.limits.clone());
        if let Some(share) = asked.share {
            let weak: Weak<Flow> = Arc::downgrade(&flow);
            flow.take_turns(proxy.turns.enter(share, weak));
        }
        let far = Far::Bytes(flow.clone());
        let entry = entered(&proxy.ledger, client, (target, Kind::Tcp), &flow);
        tokio::spawn(async move {
            ahead.join(&flow).await;
            own.ends(number);
            drop((entry, permit));
        });
        Ok(far)
    }

    /// The right to another connection, which is held until that ends.
    pub(super) fn enter(&self) -> Result<OwnedSemaphorePermit, Unreached> {
        self.room.clone().try_acquire_owned().map_err(|_| Unreached::Busy)
    }

    /// Connects to a target, and carries its bytes or packets over one stream.
    async fn connect(
        &self,
        mut stream: ServerStream,
        target: &Target,
        is_packets: bool,
        (peer, client): (&Peer, &Arc<Known>),
    ) {
        let _permit = match self.enter().and_then(|own| Ok((own, client.enter()?))) {
            Ok(permit) => permit,
            Err(reason) => return refuse(&mut stream, reason.status(), Some(reason)).await,
        };
        let quic = peer.session.connection();
        let behalf = Behalf { share: Share { client: client.number, weight: client.weight }, hops: 0 };
        if is_packets {
            let datagrams = peer.flows.of(stream.id().into_inner());
            let ahead = match self.onward.open_packets(target, client, behalf).await {
                Ok(ahead) => ahead,
                Err(reason) => return refuse(&mut stream, reason.status(), Some(reason)).await,
            };
            let (flow, mut take) = PacketFlow::new(client.limits.clone());
            let _entry = entered(peer.ledger(), client, (target, Kind::Udp), &flow);
            if stream.send_response(accepted(true)).await.is_err() {
                return;
            }
            let (sends, receives) = stream.split();
            let part = flow.attach(None, datagrams, (sends, Receiving::new(receives)), quic.clone());
            tokio::join!(part, ahead.join(&flow, &mut take));
        } else {
            let ahead = match self.onward.open(target, client, behalf).await {
                Ok(ahead) => ahead,
                Err(reason) => return refuse(&mut stream, reason.status(), Some(reason)).await,
            };
            let counter = Arc::new(Counter { limits: client.limits.clone(), ..Counter::default() });
            let _entry = entered(peer.ledger(), client, (target, Kind::Tcp), &counter);
            if stream.send_response(accepted(false)).await.is_err() {
                return;
            }
            let (sends, receives) = stream.split();
            ahead.join_stream((sends, Receiving::new(receives)), quic, &counter).await;
        }
    }
}

/// What the stream of a proxy is for.
struct Asked<'a> {
    target: &'a Target,
    is_packets: bool,
    /// The share of the client of a relay.
    share: Option<Share>,
    /// Number of relays on the way.
    hops: u16,
}

impl<'a> Asked<'a> {
    fn read(request: &Request<()>, target: &'a Target, is_packets: bool) -> Result<Self, Unreadable> {
        let hops = match request.headers().get(HOPS) {
            None => 0,
            Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()).ok_or(Unreadable)?,
        };
        Ok(Self { target, is_packets, share: read(request, SHARE)?, hops })
    }
}

/// What a header says, if there is one.
pub(super) fn read<T: FromStr<Err = Unreadable>>(request: &Request<()>, name: &str) -> Result<Option<T>, Unreadable> {
    let Some(value) = request.headers().get(name) else { return Ok(None) };
    value.to_str().map_err(|_| Unreadable)?.parse().map(Some)
}

/// Enters a flow with the other end and with its client.
pub(super) fn entered<F: Flowing + 'static>(
    ledger: &Arc<Ledger>,
    client: &Known,
    (target, kind): (&impl Display, Kind),
    flow: &Arc<F>,
) -> [Entry; 2] {
    [ledger, &client.ledger].map(|ledger| ledger.enter(target, kind, flow.clone()))
}

/// The answer to a request that reached its target.
pub(super) fn accepted(is_packets: bool) -> Response<()> {
    let mut answer = Response::new(());
    if is_packets {
        answer.headers_mut().insert(CAPSULES.0, HeaderValue::from_static(CAPSULES.1));
    }
    answer
}

/// Takes the control that a client names, if it suits; otherwise the present one stays.
fn choose(session: &Session, request: &Request<()>) {
    let name = request.headers().get(CONTROL).and_then(|value| value.to_str().ok());
    if let Some(protocol) = name.and_then(|name| control(name).ok()) {
        let _ = session.group().choose(&protocol);
    }
}

/// Takes other terms of a line.
async fn renew(stream: &mut ServerStream, greeting: Greeting, (proxy, line): (&Arc<Proxy>, &Line)) {
    if greeting.number != line.number || greeting.bundle != proxy.id {
        return refuse(stream, StatusCode::BAD_REQUEST, None).await;
    }
    if line.set_terms(greeting.terms) {
        proxy.bundle.fit();
    }
    let mut answer = Response::new(());
    answer.headers_mut().insert(LINE, plain(&greeting.write()));
    if stream.send_response(answer).await.is_ok() {
        let _ = stream.finish().await;
    }
}

/// Refuses a request with a status and a reason.
pub(super) async fn refuse(stream: &mut ServerStream, status: StatusCode, reason: Option<Unreached>) {
    let mut answer = Response::builder().status(status);
    if let Some(reason) = reason {
        answer = answer.header("proxy-status", reason.header());
    }
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        answer = answer
            .header(header::PROXY_AUTHENTICATE, "Bearer")
            .header(header::PROXY_AUTHENTICATE, "Basic realm=\"exit\"");
    }
    let answer = answer.body(()).expect("it is made of constants");
    // A client that has gone needs no answer.
    if stream.send_response(answer).await.is_ok() {
        let _ = stream.finish().await;
    }
}
