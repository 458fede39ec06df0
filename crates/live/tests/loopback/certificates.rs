//! Certificates of clients: a server takes those that it knows, and tells others why it does not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch_live::callers::{Caller, Callers};
use anabranch_live::control::named;
use anabranch_live::quic::{ConnectionError, certificate_refused};
use anabranch_live::security::{Identity, Trust};
use anabranch_live::session::{Client, Server, Session, SessionError};
use anabranch_live::sockets::{Local, Sockets};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(15);

fn here() -> [Local; 1] {
    ["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()]
}

/// What a server that knows one certificate makes of a client with an identity, and what this hears.
async fn meet(known: &Identity, shown: Option<Arc<Identity>>) -> (Result<Session, SessionError>, Session) {
    let identity = Identity::made().unwrap();
    let callers = Callers::new(None, vec![known.fingerprint()]).unwrap();
    let sockets = Sockets::bind(&here()).await.unwrap();
    let server = Server::knowing(b"anabranch/1", sockets, &identity, Some(callers)).unwrap();
    let trust = Trust::Pins(vec![identity.fingerprint()]);
    let at = server.address();
    let accepted = tokio::spawn(async move { server.next().await.unwrap().accept().await });
    let client = Client::bind(&here()).await.unwrap().with_identity(shown);
    let session = client.connect("here", &[at], &trust, &named("lia").unwrap()).await.unwrap();
    (timeout(LONG, accepted).await.unwrap().unwrap(), session)
}

#[tokio::test]
async fn a_client_is_known_by_its_certificate_and_may_come_without_one() {
    let own = Arc::new(Identity::made().unwrap());
    let (met, _client) = meet(&own, Some(own.clone())).await;
    assert_eq!(Caller::of(met.unwrap().connection()).unwrap().fingerprint, own.fingerprint());
    let (met, _client) = meet(&own, None).await;
    assert_eq!(Caller::of(met.unwrap().connection()), None);
}

#[tokio::test]
async fn a_client_hears_why_its_certificate_is_not_taken() {
    let other = Arc::new(Identity::made().unwrap());
    let (met, client) = meet(&Identity::made().unwrap(), Some(other)).await;
    assert!(matches!(met, Err(SessionError::Refused { .. })), "{met:?}");
    let end = timeout(LONG, client.connection().closed()).await.unwrap();
    assert_eq!(certificate_refused(&end).as_deref(), Some("it is not one of those that are known there"));
    assert_eq!(certificate_refused(&ConnectionError::TimedOut), None);
}
