//! Signed news: no agent can say them in the name of another.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anabranch_agents::{AgentId, Proofs};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Authority, Name};
use crate::security::{Identity, SecurityError};

/// How far the clock of an agent may be ahead.
const AHEAD: Duration = Duration::from_hours(24);

/// Proofs by the certificates of a network: a certificate, with the length of it before, and a signature by its key.
pub struct Signed {
    authority: Authority,
    certificate: CertificateDer<'static>,
    key: EcdsaKeyPair,
}

impl std::fmt::Debug for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signed").finish_non_exhaustive()
    }
}

impl Signed {
    /// Proofs of an agent with this identity; the numbers of agents are those of the names of their nodes.
    pub fn new(authority: Authority, identity: &Identity) -> Result<Self, SecurityError> {
        let (chain, key) = identity.parts();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.secret_der(), &SystemRandom::new())
            .map_err(|_| SecurityError::Unusable(rustls::Error::General("it needs a P-256 key".to_owned())))?;
        Ok(Self { authority, certificate: chain[0].clone(), key })
    }

    /// The certificate in a proof, and the signature.
    fn parts(proof: &[u8]) -> Option<(CertificateDer<'_>, &[u8])> {
        let (length, rest) = proof.split_first_chunk()?;
        let (certificate, signature) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        Some((CertificateDer::from(certificate), signature))
    }

    /// Whether a certificate is that of an agent. It may have expired since the agent signed: news stay news.
    fn is_of(&self, certificate: &CertificateDer<'_>, agent: AgentId) -> bool {
        matches!(self.authority.name_ever(certificate), Some(Name::Agent(name)) if AgentId::of(&name) == agent)
    }
}

impl Proofs for Signed {
    fn prove(&self, text: &[u8]) -> Vec<u8> {
        let Ok(signature) = self.key.sign(&SystemRandom::new(), text) else { return Vec::new() };
        let length = (self.certificate.len() as u16).to_le_bytes();
        [&length[..], &self.certificate, signature.as_ref()].concat()
    }

    fn check(&self, agent: AgentId, text: &[u8], proof: &[u8]) -> bool {
        let Some((certificate, signature)) = Self::parts(proof) else { return false };
        self.is_of(&certificate, agent)
            && EndEntityCert::try_from(&certificate)
                .is_ok_and(|parsed| parsed.verify_signature(webpki::ring::ECDSA_P256_SHA256, text, signature).is_ok())
    }

    /// Epochs are clock times in microseconds. The certificate may be newer than the epoch, since agents take new ones
    /// while they run; one that had expired before the epoch proves nothing.
    fn is_timely(&self, epoch: u64, proof: &[u8]) -> bool {
        let Some((certificate, _)) = Self::parts(proof) else { return false };
        let Ok((_, parsed)) = X509Certificate::from_der(&certificate) else { return false };
        let latest = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + AHEAD;
        let time = |time: i64| Duration::from_secs(time.try_into().unwrap_or(0));
        let (begin, end) = (parsed.validity().not_before.timestamp(), parsed.validity().not_after.timestamp());
        let started = Duration::from_micros(epoch);
        // A certificate is good to the end of its last second.
        started <= latest && time(begin) <= latest && started.as_secs() <= time(end).as_secs()
    }
}
