//! The connections to neighbours.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anabranch_agents::{AgentId, Pulse};
use anabranch_core::{Span, Time};
use bytes::Bytes;
use rustls::pki_types::CertificateDer;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::connections::Event;
use super::messages::{Ended, close, read, sender};
use super::mutual::{Peers, Speech, calling};
use super::pace::Pace;
use super::server::time;
use super::{BACK_OFF, BEAT, SILENCE};
use crate::authority::lasts;
use crate::control::{Group, named};
use crate::quic::{ClientConfig, Connection, Endpoint, PathId, TransportConfig};
use crate::quic_config::QuicConfig;
use crate::security::Identity;

/// Assumed round trip to a neighbour; a first packet that is lost is sent again after three.
const NEAR: Duration = Duration::from_millis(50);

/// The most bytes of a connection that are not read yet.
const MOST_UNREAD: u32 = 512 << 10;

/// The longest wait for the first stream of a connection.
pub(super) const FIRST_STREAM: Duration = Duration::from_secs(2);

/// The most messages of a neighbour in a tenth of a second.
const MOST_IN_WINDOW: u32 = 4000;

/// The most messages that wait for a neighbour: an agent hands out half of them before it hears that they arrived.
const MOST_WAITING: usize = 8192;

/// The transport settings of control connections: one path, with signs of life.
pub(super) fn transport() -> TransportConfig {
    let group = Group::new(&named("reno").expect("it is a protocol")).expect("it controls real connections");
    let quic_config = QuicConfig {
        idle: SILENCE,
        uni_streams: 0,
        receive_window: MOST_UNREAD,
        stream_window: MOST_UNREAD,
        ..QuicConfig::default()
    };
    let mut transport = quic_config.transport(group, None);
    transport.keep_alive_interval(Some(BEAT)).default_path_keep_alive_interval(Some(BEAT)).initial_rtt(NEAR);
    transport
}

/// Sender of events of the connections to a neighbour.
#[derive(Clone)]
pub(super) struct Talk {
    pub id: AgentId,
    pub tell: mpsc::Sender<Event>,
    /// Source of the numbers of connections.
    pub numbers: Arc<AtomicU64>,
}

/// The one who calls a neighbour, and the neighbour as it is expected.
#[derive(Debug)]
pub(super) struct Caller {
    pub identity: Arc<Identity>,
    pub who: Arc<Peers<()>>,
}

/// Keeps a connection to a neighbour, and makes a new one when it is lost.
pub(super) async fn keep_hop(
    remote: SocketAddr,
    endpoint: Endpoint,
    mut caller: watch::Receiver<Arc<Caller>>,
    talk: Talk,
) {
    let mut wait = BACK_OFF.0;
    loop {
        let present = caller.borrow_and_update().clone();
        if let Some(connection) = call(&endpoint, &present, remote).await {
            let begun = Instant::now();
            let is_expected = |caller: &Arc<Caller>, who: &CertificateDer<'_>| caller.who.find(who).is_some();
            let can_expire = present.who.authority.is_some();
            let work = talk.over(connection.clone(), true);
            while_expected(&connection, can_expire, &mut caller, is_expected, work).await;
            if begun.elapsed() > BACK_OFF.1 {
                wait = BACK_OFF.0;
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(BACK_OFF.1);
    }
}

async fn call(endpoint: &Endpoint, caller: &Caller, remote: SocketAddr) -> Option<Connection> {
    let mut config = ClientConfig::new(Arc::new(calling(&caller.identity, caller.who.clone(), Speech::Control).ok()?));
    config.transport_config(Arc::new(transport()));
    endpoint.connect_with(config, remote, "anabranch").ok()?.await.ok()
}

/// Does something with a connection, which does not outlive the certificate of the other end if that can expire, and ends
/// when the other end is not expected any longer.
pub(super) async fn while_expected<T>(
    connection: &Connection,
    can_expire: bool,
    trust: &mut watch::Receiver<T>,
    is_expected: impl Fn(&T, &CertificateDer<'_>) -> bool,
    work: impl Future<Output = ()>,
) {
    let Some(certificate) = certificate(connection) else { return close(connection, "there is no certificate") };
    let lasts = if can_expire { lasts(&certificate) } else { Duration::MAX };
    let mut work = std::pin::pin!(work);
    let reason = tokio::select! {
        () = &mut work => return,
        () = tokio::time::sleep(lasts) => "the certificate has expired",
        Ok(_) = trust.wait_for(|trust| !is_expected(trust, &certificate)) => "the certificate is not expected any longer",
    };
    close(connection, reason);
    work.await;
}

/// The certificate at the other end.
pub(super) fn certificate(connection: &Connection) -> Option<CertificateDer<'static>> {
    let chain = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.first().cloned()
}

impl Talk {
    /// Reports the messages of the neighbour over a connection, with its beginning and its end.
    pub(super) async fn over(&self, connection: Connection, calls: bool) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let Err(ended) = self.listen(&connection, calls, number).await;
        close(&connection, &ended.to_string());
        // Sending fails only if the agent has ended.
        let _ = self.tell.send(Event::Down(self.id, number)).await;
    }

    async fn listen(&self, connection: &Connection, calls: bool, number: u64) -> Result<Infallible, Ended> {
        let stream = async { if calls { connection.open_bi().await } else { connection.accept_bi().await } };
        let (send, mut receive) = timeout(FIRST_STREAM, stream).await.map_err(|_| Ended::Slow)??;
        self.say(Event::Up(self.id, number, sender(send, MOST_WAITING), connection.clone())).await?;
        let mut pace = Pace::new(MOST_IN_WINDOW);
        let messages = async {
            loop {
                pace.wait().await;
                let message = read(&mut receive).await?;
                self.say(Event::Hop(self.id, number, message)).await?;
            }
        };
        tokio::select! {
            ended = messages => ended,
            ended = self.watch(connection, number) => ended,
        }
    }

    /// Exchanges signs of life with the neighbour over a connection, and reports when there are none and when they are back.
    async fn watch(&self, connection: &Connection, number: u64) -> Result<Infallible, Ended> {
        let start = Instant::now();
        let mut pulse = Pulse::new(Time(0));
        let mut beat = interval(Duration::from_secs_f64(Pulse::BEAT.seconds()));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                datagram = connection.read_datagram() => pulse.hear(&datagram?),
                _ = beat.tick() => {
                    // What cannot be sent now is as good as lost.
                    let _ = connection.send_datagram(Bytes::copy_from_slice(&pulse.beat(time(start))));
                }
            }
            let round_trip =
                connection.rtt(PathId::ZERO).and_then(|rtt| Span::from_seconds(rtt.as_secs_f64())).unwrap_or(Span(0));
            match pulse.change(time(start), round_trip) {
                Some(true) => {
                    let since = start + Duration::from_secs_f64(pulse.alive(round_trip).seconds());
                    self.say(Event::Silent(self.id, number, since)).await?;
                }
                Some(false) => self.say(Event::Alive(self.id, number)).await?,
                None => {}
            }
        }
    }

    async fn say(&self, event: Event) -> Result<(), Ended> {
        self.tell.send(event).await.map_err(|_| Ended::Over)
    }
}
