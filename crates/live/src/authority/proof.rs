//! Signed news: no agent can say them in the name of another.

use anabranch_agents::{AgentId, Proofs};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::{Authority, Name};
use crate::security::{Identity, SecurityError};

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
        let Some((length, rest)) = proof.split_first_chunk() else { return false };
        let length = usize::from(u16::from_le_bytes(*length));
        let Some((certificate, signature)) = rest.split_at_checked(length) else { return false };
        let certificate = CertificateDer::from(certificate);
        self.is_of(&certificate, agent)
            && EndEntityCert::try_from(&certificate)
                .is_ok_and(|parsed| parsed.verify_signature(webpki::ring::ECDSA_P256_SHA256, text, signature).is_ok())
    }
}
