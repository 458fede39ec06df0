//! Mutual TLS: each end shows a certificate, and the other end knows its fingerprint.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme, version};

use crate::quic::tls::{QuicClientConfig, QuicServerConfig};
use crate::security::{Fingerprint, Identity, Pinned, SecurityError, crypto, no_suite};

/// Name of the protocol between agents and applications.
const ALPN: &[u8] = b"anabranch-control/1";

/// The TLS settings of a server that holders of certificates with these fingerprints call.
pub(super) fn called(identity: &Identity, pins: Vec<Fingerprint>) -> Result<QuicServerConfig, SecurityError> {
    let (chain, key) = identity.parts();
    let mut tls = rustls::ServerConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&version::TLS13])
        .map_err(SecurityError::Unusable)?
        .with_client_cert_verifier(Arc::new(Callers(Pinned::new(pins))))
        .with_single_cert(chain, key)
        .map_err(SecurityError::Unusable)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    QuicServerConfig::try_from(tls).map_err(|_| no_suite())
}

/// The TLS settings of a client that calls the holder of the certificate with this fingerprint.
pub(super) fn calling(identity: &Identity, pin: Fingerprint) -> Result<QuicClientConfig, SecurityError> {
    let (chain, key) = identity.parts();
    let mut tls = rustls::ClientConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&version::TLS13])
        .map_err(SecurityError::Unusable)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned::new(vec![pin])))
        .with_client_auth_cert(chain, key)
        .map_err(SecurityError::Unusable)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    QuicClientConfig::try_from(tls).map_err(|_| no_suite())
}

/// A verifier that accepts clients whose certificate has a known fingerprint and who hold its key.
#[derive(Debug)]
struct Callers(Pinned);

impl ClientCertVerifier for Callers {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.0.check(end_entity, "caller").map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC needs TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.schemes()
    }
}
