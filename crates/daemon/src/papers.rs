//! The certificates of an agent: its own, and those that it expects of others.

use std::sync::{Arc, PoisonError, RwLock};

use anabranch_agents::message::MOST_PROOF;
use anabranch_agents::{AgentId, Proofs};
use anabranch_live::agents::{Guest, Peer, Peers, Trust};
use anabranch_live::authority::{Authority, Name, Signed, lasts};
use anabranch_live::security::Identity;

use crate::config::Config;
use crate::service::DaemonError;
use crate::watch::now_s;

/// The certificates of an agent.
pub(crate) struct Papers {
    authority: Authority,
    identity: Arc<Identity>,
}

impl Papers {
    /// Reads the certificates that a configuration names.
    pub fn read(config: &Config) -> Result<Self, DaemonError> {
        let authority = Authority::read(&config.authority)?;
        let identity = Identity::read(&config.certificate, &config.certificate)?;
        let own = Name::Agent(config.node.clone());
        let found = identity.name(&authority);
        if found.as_ref() != Some(&own) {
            return Err(DaemonError::NotOwn {
                certificate: config.certificate.display().to_string(),
                node: config.node.clone(),
                found: found.map_or_else(String::new, |found| format!(", but of {found}")),
            });
        }
        Ok(Self { authority, identity: Arc::new(identity) })
    }

    /// End of the certificate, in seconds since 1970.
    pub fn until_s(&self) -> f64 {
        now_s() + lasts(self.identity.certificate()).as_secs_f64()
    }

    /// Proofs by the certificate; an error if they would be too long for a message.
    pub fn signed(&self) -> Result<Signed, DaemonError> {
        let signed = Signed::new(self.authority.clone(), &self.identity)?;
        let length = signed.prove(b"any text").len();
        if length > MOST_PROOF {
            return Err(DaemonError::LongProof { length });
        }
        Ok(signed)
    }

    /// Those around the agent: neighbours in the order of their names, with the door for applications last.
    pub fn trust(&self, config: &Config) -> Trust {
        let authority = || Some(self.authority.clone());
        let peer = |name: &str| Peer::Named(Name::Agent(name.to_owned()));
        let calls = config.called().map(|(name, _)| Peers::one(authority(), peer(name), ()));
        let guests = config.callers().map(|name| (peer(name), Guest::Neighbour(AgentId::of(name))));
        let applications = config.rights.iter().map(|rights| {
            (Peer::Named(Name::Application(rights.name.clone())), Guest::Application(rights.name.clone()))
        });
        let door = |all| Peers { authority: authority(), all };
        let doors = vec![door(guests.collect()), door(applications.collect())];
        Trust { identity: self.identity.clone(), calls: calls.collect(), doors }
    }
}

/// Proofs by the present certificate.
#[derive(Debug)]
pub(crate) struct CurrentProofs(RwLock<Signed>);

impl CurrentProofs {
    pub fn new(signed: Signed) -> Self {
        Self(RwLock::new(signed))
    }

    pub fn set(&self, signed: Signed) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = signed;
    }
}

impl Proofs for CurrentProofs {
    fn prove(&self, text: &[u8]) -> Vec<u8> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).prove(text)
    }

    fn check(&self, agent: AgentId, text: &[u8], proof: &[u8]) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).check(agent, text, proof)
    }

    fn is_timely(&self, epoch: u64, proof: &[u8]) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_timely(epoch, proof)
    }
}
