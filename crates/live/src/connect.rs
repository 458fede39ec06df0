//! Connections to a server by its URL: the first of its addresses that answers is taken [rfc8305].

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anabranch_proto::Protocol;
use tokio::time::sleep;

use crate::control::{Group, Unsuited};
use crate::qlog::Qlog;
use crate::security::{Identity, Trust};
use crate::session::{Application, Client, Session, SessionError, addresses};
use crate::sockets::resolve;
use crate::url::Url;

/// How long the next address waits while the addresses before it are silent [rfc8305, sec. 5].
const HEAD_START: Duration = Duration::from_millis(250);

/// An attempt at an address.
type Attempt<'a> = Pin<Box<dyn Future<Output = Result<ClientSession, SessionError>> + Send + 'a>>;

/// A session of a client with a server, and the address that answered.
#[derive(Debug)]
pub struct ClientSession {
    /// Client that made the connection.
    pub client: Client,
    /// Session with the server.
    pub session: Session,
    /// Address of the server that answered.
    pub remote: SocketAddr,
}

/// The server to connect to, and how to reach and verify it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// URL of the server, which may contain fingerprints of its certificate.
    pub url: &'a Url,
    /// File of certificates that signed the server's, instead of fingerprints in the URL.
    pub authorities: Option<&'a Path>,
    /// What this end shows, if the server asks for a certificate.
    pub identity: Option<&'a Arc<Identity>>,
    /// Where logs of connections are kept, if they are.
    pub qlog: Option<&'a Arc<Qlog>>,
    /// Local addresses or interfaces, with a path over each; empty if the system chooses.
    pub via: &'a [String],
    /// Further local addresses or interfaces: what is sent takes their paths while no other is open.
    pub backup: &'a [String],
    /// Protocol that controls what this end sends.
    pub protocol: &'a Protocol,
    /// What is spoken over the connection.
    pub application: Application,
}

impl Target<'_> {
    /// Connects to the first address of the host that answers. They are tried in the order of the resolver: the next
    /// one when one has failed or has been silent for a quarter of a second.
    ///
    /// # Errors
    /// If there is no address, or none answers: the error has all that were tried.
    pub async fn connect(&self) -> Result<ClientSession, SessionError> {
        let remotes = addresses(&self.url.host, self.url.port).await?;
        self.connect_to_one_of(&remotes, || Group::new(self.protocol)).await
    }

    /// Connects as [`Self::connect`], under the control of a group, which may have paths of other connections. Where the only
    /// path has an address of the peer, the server is sought there, which may be of another kind than its address in the URL.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_under(&self, group: &Arc<Group>) -> Result<ClientSession, SessionError> {
        let peer = match self.via {
            [one] if self.backup.is_empty() => one.split_once('=').and_then(|(_, peer)| peer.parse::<IpAddr>().ok()),
            _ => None,
        };
        let remotes = match peer {
            Some(peer) => vec![SocketAddr::new(peer, self.url.port)],
            None => addresses(&self.url.host, self.url.port).await?,
        };
        self.connect_to_one_of(&remotes, || Ok(group.clone())).await
    }

    /// Connects to the first address that answers, under a group for each attempt.
    async fn connect_to_one_of(
        &self,
        remotes: &[SocketAddr],
        group: impl Fn() -> Result<Arc<Group>, Unsuited> + Sync,
    ) -> Result<ClientSession, SessionError> {
        let mut tried = Vec::new();
        let group = &group;
        let at = |&remote| -> Attempt<'_> { Box::pin(async move { self.connect_at(remote, &group()?).await }) };
        let mut rest = remotes.iter().map(at);
        let mut attempts: Vec<_> = rest.next().into_iter().collect();
        while !attempts.is_empty() {
            tokio::select! {
                outcome = first(&mut attempts) => match outcome {
                    Ok(reached) => return Ok(reached),
                    Err(error) if error.is_of_address() || !attempts.is_empty() => tried.push(error),
                    Err(error) => return Err(error),
                },
                () = sleep(HEAD_START), if rest.len() > 0 => {}
            }
            attempts.extend(rest.next());
        }
        let host = self.url.host.clone();
        Err(if tried.len() == 1 { tried.remove(0) } else { SessionError::Unreached { host, tried } })
    }

    async fn connect_at(&self, remote: SocketAddr, group: &Arc<Group>) -> Result<ClientSession, SessionError> {
        let locals = resolve(&[self.via, self.backup].concat(), remote)?;
        let client = Client::bind(&locals).await?.with_backups(self.backup.len());
        let client = client.with_identity(self.identity.cloned()).with_qlog(self.qlog.cloned());
        let trust = self.authorities.map_or_else(|| self.url.trust(), |path| Trust::Authorities(path.to_owned()));
        let session = client.connect_under(group, &self.application, &self.url.host, &[remote], &trust).await?;
        Ok(ClientSession { client, session, remote })
    }
}

/// The outcome of the first attempt that ends; the others continue.
async fn first(attempts: &mut Vec<Attempt<'_>>) -> Result<ClientSession, SessionError> {
    poll_fn(|context| {
        for at in 0..attempts.len() {
            if let Poll::Ready(outcome) = attempts[at].as_mut().poll(context) {
                drop(attempts.remove(at));
                return Poll::Ready(outcome);
            }
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::control::named;
    use crate::security::Identity;
    use crate::session::Server;

    #[tokio::test]
    async fn the_next_address_is_tried_where_one_does_not_answer() {
        let identity = Identity::made().unwrap();
        let server = Server::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()], &identity).await.unwrap();
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (good, other_kind) = (server.address(), "[::1]:9".parse().unwrap());
        tokio::spawn(async move {
            let _session = server.next().await.unwrap().accept().await.unwrap();
            std::future::pending::<()>().await;
        });
        let url = Url {
            host: "several.example".to_owned(),
            port: good.port(),
            path: String::new(),
            pins: vec![identity.fingerprint()],
            hash: None,
        };
        let (protocol, via) = (named("lia").unwrap(), ["127.0.0.1".to_owned()]);
        let target = Target {
            url: &url,
            authorities: None,
            identity: None,
            qlog: None,
            via: &via,
            backup: &[],
            protocol: &protocol,
            application: Application::default(),
        };
        let group = || Group::new(&protocol);
        let begin = std::time::Instant::now();
        let reached = target.connect_to_one_of(&[other_kind, silent, good], &group).await.unwrap();
        // The silent one is given up after seconds only.
        assert!((HEAD_START..8 * HEAD_START).contains(&begin.elapsed()), "{:?}", begin.elapsed());
        assert_eq!((reached.remote, reached.session.paths().len()), (good, 1));
        // From an IPv4 address there is no way to one of IPv6, and nobody is at the other.
        let error = target.connect_to_one_of(&[other_kind, silent], &group).await.unwrap_err().to_string();
        assert!(error.starts_with("no connection to `several.example`; tried "), "{error}");
        assert!(error.contains(&other_kind.to_string()) && error.contains(&silent.to_string()), "{error}");
        // What is wrong at every address is said once.
        let via = ["wlan77".to_owned()];
        let wrong = Target { via: &via, ..target }
            .connect_to_one_of(&[other_kind, silent], &group)
            .await
            .unwrap_err()
            .to_string();
        assert!(wrong.starts_with("`wlan77` is neither"), "{wrong}");
        let alone = target.connect_to_one_of(&[silent], &group).await.unwrap_err().to_string();
        assert!(alone.starts_with(&format!("no connection to {silent}: ")), "{alone}");
    }
}
