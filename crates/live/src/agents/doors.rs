//! The doors of an agent, at which neighbours and applications call.
//!
//! Handshakes are limited for all callers together, and what follows for each guest, so that no guest keeps another out.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_agents::ClientId;
use rustls::pki_types::CertificateDer;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connections::Event;
use super::hops::{FIRST_STREAM, Talk, certificate, transport, while_expected};
use super::messages::{Ended, close, read, sender};
use super::mutual::{Peers, Speech, called};
use super::pace::Pace;
use super::questions::{self, Answering};
use super::server::Guest;
use super::{MOST_APPLICATIONS, MOST_ASKING};
use crate::quic::{Connection, Endpoint, Incoming, RecvStream, SendStream, ServerConfig};
use crate::security::Identity;
use crate::session::SessionError;

/// The longest handshake.
const HANDSHAKE: Duration = Duration::from_secs(2);

/// The most messages of an application in a tenth of a second, over all streams of a connection.
const MOST_ASKS: u32 = 200;

/// The most answers that wait for a session.
const MOST_ANSWERS: usize = 1024;

/// The settings of a server that these guests may call.
pub(super) fn taking(identity: &Identity, guests: Arc<Peers<Guest>>) -> Result<ServerConfig, SessionError> {
    let mut config = ServerConfig::with_crypto(Arc::new(called(identity, guests)?));
    config.transport_config(Arc::new(transport()));
    Ok(config)
}

/// The most callers at a door.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Handshakes at a time. From half of these on, callers have to show first that they receive what is sent to them.
    pub handshakes: usize,
    /// Calls of a neighbour at a time, since ended ones may not be detected yet.
    pub neighbour: usize,
    /// Connections of an application at a time, for messages.
    pub application: usize,
    /// Connections of an application at a time, for questions.
    pub asking: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { handshakes: 256, neighbour: 4, application: MOST_APPLICATIONS, asking: MOST_ASKING }
    }
}

/// The guests that are present and what they speak, with the number of their connections.
#[derive(Clone, Debug, Default)]
struct Present(Arc<Mutex<BTreeMap<(Guest, Speech), usize>>>);

/// A connection of a guest that is present.
struct Place<'a> {
    present: &'a Present,
    guest: (Guest, Speech),
}

impl Present {
    /// A place for another connection of a guest; `None` if it has as many as it may.
    fn enter(&self, guest: (Guest, Speech), limits: Limits) -> Option<Place<'_>> {
        let most = match guest {
            (Guest::Neighbour(_), _) => limits.neighbour,
            (Guest::Application(_), Speech::Control) => limits.application,
            (Guest::Application(_), Speech::Questions) => limits.asking,
        };
        let mut all = self.lock();
        let count = all.entry(guest.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place { present: self, guest })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Guest, Speech), usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut all = self.present.lock();
        if let Some(count) = all.get_mut(&self.guest) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.guest);
            }
        }
    }
}

/// Takes the calls of guests. A neighbour that restarts may call before its old connection is known to be lost.
pub(super) async fn keep_door(
    door: Endpoint,
    guests: watch::Receiver<Arc<Peers<Guest>>>,
    limits: Limits,
    (tell, numbers): (mpsc::Sender<Event>, Arc<AtomicU64>),
    answering: Option<Answering>,
) {
    let (mut calls, present) = (JoinSet::new(), Present::default());
    let handshakes = Arc::new(Semaphore::new(limits.handshakes));
    while let Some(incoming) = door.accept().await {
        while calls.try_join_next().is_some() {}
        let Ok(turn) = handshakes.clone().try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        if 2 * handshakes.available_permits() < limits.handshakes && incoming.may_retry() {
            // An error says that the caller has shown it already, which `may_retry` excludes.
            let _ = incoming.retry();
            continue;
        }
        let (mut guests, tell, numbers, present) = (guests.clone(), tell.clone(), numbers.clone(), present.clone());
        let answering = answering.clone();
        calls.spawn(async move {
            let Some(connection) = shake(incoming).await else { return };
            drop(turn);
            let Some(certificate) = certificate(&connection) else { return };
            let trusted = guests.borrow_and_update().clone();
            let Some(guest) = trusted.find(&certificate) else { return };
            let Some(speech) = Speech::of(&connection) else { return };
            let Some(_place) = present.enter((guest.clone(), speech), limits) else {
                return close(&connection, "there are as many connections as there may be");
            };
            let serving = async {
                match (guest, speech, answering) {
                    (&Guest::Neighbour(id), Speech::Control, _) => {
                        Talk { id, tell, numbers }.over(connection.clone(), false).await;
                    }
                    (Guest::Application(name), Speech::Control, _) => {
                        serve_all(&connection, name.as_str().into(), tell, numbers).await;
                    }
                    (Guest::Application(name), Speech::Questions, Some(answering)) => {
                        questions::serve(&connection, &name.as_str().into(), &answering).await;
                    }
                    _ => close(&connection, "no questions are answered here"),
                }
            };
            let is_expected = |guests: &Arc<Peers<Guest>>, who: &CertificateDer<'_>| guests.find(who) == Some(guest);
            while_expected(&connection, trusted.authority.is_some(), &mut guests, is_expected, serving).await;
        });
    }
}

async fn shake(incoming: Incoming) -> Option<Connection> {
    timeout(HANDSHAKE, incoming.accept().ok()?).await.ok()?.ok()
}

/// Serves an application: each of its streams has a session.
async fn serve_all(connection: &Connection, name: Arc<str>, tell: mpsc::Sender<Event>, numbers: Arc<AtomicU64>) {
    let mut sessions = JoinSet::new();
    let pace = Arc::new(tokio::sync::Mutex::new(Pace::new(MOST_ASKS)));
    loop {
        let (send, receive) = tokio::select! {
            stream = connection.accept_bi() => match stream {
                Ok(stream) => stream,
                Err(_) => break,
            },
            Some(_) = sessions.join_next() => continue,
            () = tokio::time::sleep(FIRST_STREAM), if sessions.is_empty() => {
                close(connection, "there is no session");
                break;
            }
        };
        let (name, tell, id) = (name.clone(), tell.clone(), ClientId(numbers.fetch_add(1, Ordering::Relaxed)));
        let pace = pace.clone();
        sessions.spawn(async move {
            let Err(_ended) = serve((send, receive), (id, name), &pace, &tell).await;
            let _ = tell.send(Event::Gone(id)).await;
        });
    }
    // The streams have ended with the connection; each says so.
    while sessions.join_next().await.is_some() {}
}

/// Reports the messages of a session.
async fn serve(
    (send, mut receive): (SendStream, RecvStream),
    (id, name): (ClientId, Arc<str>),
    pace: &tokio::sync::Mutex<Pace>,
    tell: &mpsc::Sender<Event>,
) -> Result<Infallible, Ended> {
    let say = async |event| tell.send(event).await.map_err(|_| Ended::Over);
    say(Event::Came(id, name, sender(send, MOST_ANSWERS))).await?;
    loop {
        let ask = read(&mut receive).await?;
        pace.lock().await.wait().await;
        say(Event::Asked(id, ask)).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Instant;

    use anabranch_agents::message::encode;
    use anabranch_agents::{Agent, AgentId, Ask, Event as AgentEvent, HopMessage, Settings};
    use anabranch_core::Time;

    use super::super::connections::Connections;
    use super::super::mutual::{Peer, calling};
    use super::super::policy::Trusting;
    use super::*;
    use crate::quic::ClientConfig;
    use crate::session::endpoint;
    use crate::sockets::Sockets;

    const HOME: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    /// A door, and guests who call at it.
    struct House {
        identity: Identity,
        guests: [Identity; 2],
        outside: Endpoint,
        address: SocketAddr,
        events: mpsc::Receiver<Event>,
    }

    impl House {
        /// The first guest is an application, the second a neighbour.
        async fn new(limits: Limits) -> Self {
            Self::answering(limits, None).await
        }

        async fn answering(limits: Limits, answering: Option<Answering>) -> Self {
            let identity = Identity::made().unwrap();
            let guests = [Identity::made().unwrap(), Identity::made().unwrap()];
            let what = [Guest::Application("one".to_owned()), Guest::Neighbour(AgentId(2))];
            let all = guests.iter().map(|guest| Peer::Pinned(guest.fingerprint())).zip(what).collect();
            let all = Arc::new(Peers { authority: None, all });
            let config = taking(&identity, all.clone()).unwrap();
            let door = endpoint(Sockets::bind(&[HOME.into()]).await.unwrap(), Some(config)).unwrap();
            let address = door.local_addr().unwrap();
            let (tell, events) = mpsc::channel(100);
            tokio::spawn(keep_door(
                door,
                watch::Sender::new(all).subscribe(),
                limits,
                (tell, Arc::default()),
                answering,
            ));
            let outside = endpoint(Sockets::bind(&[HOME.into()]).await.unwrap(), None).unwrap();
            Self { identity, guests, outside, address, events }
        }

        async fn call(&self, guest: usize) -> Connection {
            self.call_for(guest, Speech::Control).await
        }

        async fn call_for(&self, guest: usize, speech: Speech) -> Connection {
            let who = Peers::one(None, Peer::Pinned(self.identity.fingerprint()), ());
            let mut config = ClientConfig::new(Arc::new(calling(&self.guests[guest], Arc::new(who), speech).unwrap()));
            config.transport_config(Arc::new(transport()));
            self.outside.connect_with(config, self.address, "anabranch").unwrap().await.unwrap()
        }

        /// A call on which something is said.
        async fn talk(&self, guest: usize) -> (Connection, SendStream) {
            let connection = self.call(guest).await;
            let (mut send, _) = connection.open_bi().await.unwrap();
            send.write_all(&[0]).await.unwrap();
            (connection, send)
        }
    }

    async fn ends(connection: &Connection) -> bool {
        timeout(Duration::from_secs(1), connection.closed()).await.is_ok()
    }

    #[tokio::test]
    async fn no_guest_keeps_another_out() {
        // With one handshake at a time each caller shows that it receives what is sent to it.
        let house = House::new(Limits { handshakes: 1, neighbour: 1, application: 2, asking: 1 }).await;
        let first = house.talk(0).await;
        let second = house.talk(0).await;
        assert!(ends(&house.call(0).await).await, "an application has two connections");
        let neighbour = house.talk(1).await;
        assert!(!ends(&neighbour.0).await && !ends(&second.0).await);
        first.0.close(0u32.into(), b"");
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!ends(&house.talk(0).await.0).await, "there is a place again");
    }

    #[tokio::test]
    async fn who_says_nothing_is_sent_away() {
        let house = House::new(Limits::default()).await;
        for guest in [0, 1] {
            let (connection, start) = (house.call(guest).await, Instant::now());
            assert!(timeout(2 * FIRST_STREAM, connection.closed()).await.is_ok(), "guest {guest}");
            assert!(start.elapsed() >= FIRST_STREAM / 2);
        }
    }

    #[tokio::test]
    async fn an_application_is_heard_at_a_pace() {
        let mut house = House::new(Limits::default()).await;
        let connection = house.call(0).await;
        let mut streams = Vec::new();
        for _ in 0..2 {
            let (mut send, _) = connection.open_bi().await.unwrap();
            send.write_all(&encode(&Ask::Here).unwrap().repeat(1000)).await.unwrap();
            streams.push(send);
        }
        let (start, mut asks) = (Instant::now(), 0);
        while let Ok(Some(event)) = timeout(Duration::from_millis(450), house.events.recv()).await {
            asks += u32::from(matches!(event, Event::Asked(..)));
            if start.elapsed() > Duration::from_millis(450) {
                break;
            }
        }
        // A window at once, and one for each tenth of a second.
        assert!((MOST_ASKS..=6 * MOST_ASKS).contains(&asks), "{asks}");
    }

    #[tokio::test]
    async fn questions_are_answered_at_a_pace_and_end_with_their_connection() {
        let count = Arc::new(AtomicU64::new(0));
        let present = count.clone();
        let answering: Answering = Arc::new(move |question| {
            let present = present.clone();
            Box::pin(async move {
                present.fetch_add(1, Ordering::Relaxed);
                // It never ends by itself.
                let _question = question;
                let _present = counted_until_dropped(&present);
                std::future::pending::<()>().await;
            })
        });
        let house = House::answering(Limits::default(), Some(answering)).await;
        let connection = house.call_for(0, Speech::Questions).await;
        let (mut streams, start) = (Vec::new(), Instant::now());
        // There can be 64 streams at a time.
        while let Ok(stream) = timeout(Duration::from_millis(300), connection.open_bi()).await {
            let (mut send, receive) = stream.unwrap();
            send.write_all(b"x").await.unwrap();
            streams.push((send, receive));
        }
        assert_eq!(streams.len(), 64);
        while count.load(Ordering::Relaxed) < 64 {
            assert!(start.elapsed() < Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(start.elapsed() >= Duration::from_millis(200), "twenty in a tenth of a second");
        connection.close(0u32.into(), b"");
        while count.load(Ordering::Relaxed) > 0 {
            assert!(start.elapsed() < Duration::from_secs(5), "answers outlive their connection");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // A neighbour asks nothing, and who says nothing is sent away.
        assert!(ends(&house.call_for(1, Speech::Questions).await).await);
        let silent = house.call_for(0, Speech::Questions).await;
        assert!(timeout(2 * FIRST_STREAM, silent.closed()).await.is_ok());
        assert!(ends(&House::new(Limits::default()).await.call_for(0, Speech::Questions).await).await);
    }

    /// Counts one less at the end.
    fn counted_until_dropped(count: &AtomicU64) -> impl Drop {
        struct Less<'a>(&'a AtomicU64);
        impl Drop for Less<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Less(count)
    }

    #[tokio::test]
    async fn connections_to_a_neighbour_end_when_another_comes_and_when_it_is_held_off() {
        let mut house = House::new(Limits::default()).await;
        let settings = Settings { neighbours: vec![AgentId(2)], ..Settings::new(AgentId(1), 1, Vec::new()) };
        let mut agent = Agent::new(Time(0), settings);
        let mut connections = Connections::new(Box::new(Trusting));
        let (first, _stream) = house.talk(1).await;
        let event = house.events.recv().await.unwrap();
        connections.on_event(&mut agent, Time(0), event);
        let (second, _other) = house.talk(1).await;
        let event = house.events.recv().await.unwrap();
        connections.on_event(&mut agent, Time(0), event);
        assert!(ends(&first).await && !ends(&second).await);
        // A message before hello is out of order.
        let heard = HopMessage::Heard { count: 1 };
        agent.handle(Time(0), AgentEvent::Hop(AgentId(2), heard));
        connections.obey(&mut agent, Time(0));
        assert!(ends(&second).await);
    }
}
