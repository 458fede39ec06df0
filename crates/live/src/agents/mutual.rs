//! Mutual TLS: each end shows a certificate, and the other end knows whose it is.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::version;

use crate::authority::{Authority, Name};
use crate::quic::tls::{QuicClientConfig, QuicServerConfig};
use crate::quic::{Connection, protocol};
use crate::security::{Fingerprint, Identity, SecurityError, crypto, no_suite};
use crate::verifier::{Judge, Verifier};

/// What is spoken over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Speech {
    /// Messages between agents, and with applications that ask for rates.
    Control,
    /// Questions of applications and their answers, in lines.
    Questions,
}

impl Speech {
    const ALL: [Self; 2] = [Self::Control, Self::Questions];

    /// The name of the protocol in TLS.
    fn name(self) -> &'static [u8] {
        match self {
            Self::Control => b"anabranch-control/2",
            Self::Questions => b"anabranch-questions/1",
        }
    }

    /// What the caller of a connection wants to speak.
    pub(super) fn of(connection: &Connection) -> Option<Self> {
        let named = protocol(connection)?;
        Self::ALL.into_iter().find(|speech| speech.name() == named)
    }
}

/// The other end of a connection, as it is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The holder of the certificate with this fingerprint.
    Pinned(Fingerprint),
    /// Who has this name from the authority of the network.
    Named(Name),
}

/// Those who may be at the other end, and what each of them is here.
#[derive(Clone, Debug)]
pub struct Peers<T> {
    /// The authority that gives names; without one only fingerprints count.
    pub authority: Option<Authority>,
    /// The peers.
    pub all: Vec<(Peer, T)>,
}

impl<T> Peers<T> {
    /// One peer.
    pub fn one(authority: Option<Authority>, peer: Peer, what: T) -> Self {
        Self { authority, all: vec![(peer, what)] }
    }

    /// What the holder of a certificate is.
    pub(super) fn find(&self, certificate: &CertificateDer<'_>) -> Option<&T> {
        let print = Fingerprint::of(certificate);
        let name = self.authority.as_ref().and_then(|authority| authority.name(certificate));
        let is_it = |peer: &Peer| match peer {
            Peer::Pinned(pin) => *pin == print,
            Peer::Named(wanted) => name.as_ref() == Some(wanted),
        };
        self.all.iter().find(|(peer, _)| is_it(peer)).map(|(_, what)| what)
    }
}

/// The TLS settings of a server that these peers call.
pub(super) fn called<T: Known>(identity: &Identity, peers: Arc<Peers<T>>) -> Result<QuicServerConfig, SecurityError> {
    let (chain, key) = identity.parts();
    let mut tls = rustls::ServerConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&version::TLS13])
        .map_err(SecurityError::Unusable)?
        .with_client_cert_verifier(Verifier::new(peers))
        .with_single_cert(chain, key)
        .map_err(SecurityError::Unusable)?;
    tls.alpn_protocols = Speech::ALL.map(|speech| speech.name().to_vec()).into();
    QuicServerConfig::try_from(tls).map_err(|_| no_suite())
}

/// The TLS settings of a client that calls one of these peers.
pub(super) fn calling<T: Known>(
    identity: &Identity,
    peers: Arc<Peers<T>>,
    speech: Speech,
) -> Result<QuicClientConfig, SecurityError> {
    let (chain, key) = identity.parts();
    let mut tls = rustls::ClientConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&version::TLS13])
        .map_err(SecurityError::Unusable)?
        .dangerous()
        .with_custom_certificate_verifier(Verifier::new(peers))
        .with_client_auth_cert(chain, key)
        .map_err(SecurityError::Unusable)?;
    tls.alpn_protocols = vec![speech.name().to_vec()];
    QuicClientConfig::try_from(tls).map_err(|_| no_suite())
}

/// What a peer is here: anything that threads can share.
pub(super) trait Known: std::fmt::Debug + Send + Sync + 'static {}

impl<T: std::fmt::Debug + Send + Sync + 'static> Known for T {}

impl<T: Known> Judge for Arc<Peers<T>> {
    fn judge(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<(), rustls::Error> {
        if self.find(certificate).is_some() {
            return Ok(());
        }
        let print = Fingerprint::of(certificate);
        let name = self.authority.as_ref().and_then(|authority| authority.name(certificate));
        let name = name.map_or_else(|| "without a name that is valid".to_owned(), |name| format!("of {name}"));
        Err(rustls::Error::General(format!(
            "the certificate {name} (fingerprint {print}) is not one of those expected"
        )))
    }
}
