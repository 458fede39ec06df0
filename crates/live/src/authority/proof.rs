//! Signed news of renewals: no agent can say that another has begun one.

use anabranch_agents::{AgentId, Proofs, Stamp};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::{Authority, Name};
use crate::security::{Identity, SecurityError};

/// What a signature is for; no other text that agents sign begins like this.
const PURPOSE: &[u8] = b"anabranch renewal 1\0";

/// Proofs by the certificates of a network: a certificate, with the length of it before, and a signature by its key.
pub struct Signed {
    authority: Authority,
    /// The nodes of agents, by their numbers.
    names: Vec<String>,
    certificate: CertificateDer<'static>,
    key: EcdsaKeyPair,
}

impl std::fmt::Debug for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signed").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Signed {
    /// Proofs of an agent with this identity; `names` are the nodes of all agents, by their numbers.
    pub fn new(authority: Authority, names: Vec<String>, identity: &Identity) -> Result<Self, SecurityError> {
        let (chain, key) = identity.parts();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.secret_der(), &SystemRandom::new())
            .map_err(|_| SecurityError::Unusable(rustls::Error::General("it needs a P-256 key".to_owned())))?;
        Ok(Self { authority, names, certificate: chain[0].clone(), key })
    }

    /// Whether a certificate is that of an agent. It may have expired since the agent signed: news stay news.
    fn is_of(&self, certificate: &CertificateDer<'_>, agent: AgentId) -> bool {
        let Some(Name::Agent(name)) = self.authority.name_ever(certificate) else { return false };
        self.names.get(agent.0 as usize) == Some(&name)
    }
}

fn text(agent: AgentId, stamp: Stamp) -> Vec<u8> {
    [PURPOSE, &agent.0.to_le_bytes(), &stamp.epoch.to_le_bytes(), &stamp.round.to_le_bytes()].concat()
}

impl Proofs for Signed {
    fn prove(&self, agent: AgentId, stamp: Stamp) -> Vec<u8> {
        let Ok(signature) = self.key.sign(&SystemRandom::new(), &text(agent, stamp)) else { return Vec::new() };
        let length = (self.certificate.len() as u16).to_le_bytes();
        [&length[..], &self.certificate, signature.as_ref()].concat()
    }

    fn check(&self, agent: AgentId, stamp: Stamp, proof: &[u8]) -> bool {
        let Some((length, rest)) = proof.split_first_chunk() else { return false };
        let length = usize::from(u16::from_le_bytes(*length));
        let Some((certificate, signature)) = rest.split_at_checked(length) else { return false };
        let certificate = CertificateDer::from(certificate);
        self.is_of(&certificate, agent)
            && EndEntityCert::try_from(&certificate).is_ok_and(|parsed| {
                let algorithm = webpki::ring::ECDSA_P256_SHA256;
                parsed.verify_signature(algorithm, &text(agent, stamp), signature).is_ok()
            })
    }
}
