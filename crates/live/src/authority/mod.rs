//! The authority of a network of agents: its certificates say who is which agent, and who is which application.
//!
//! A certificate has one name, as a URI: `anabranch:agent:NAME` or `anabranch:application:NAME`, with `%` before the two
//! hexadecimal digits of a byte that URIs do not have.

mod issue;
mod proof;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer, X509Certificate};

pub use self::issue::{Issued, Issuer};
pub use self::proof::Signed;
use crate::security::{SecurityError, certificates, roots};

/// Bytes of names that stand in URIs as they are.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name that an authority has given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// An agent, by the name of its node.
    Agent(String),
    /// An application.
    Application(String),
}

impl Name {
    fn uri(&self) -> String {
        let (kind, name) = match self {
            Self::Agent(name) => ("agent", name),
            Self::Application(name) => ("application", name),
        };
        format!("anabranch:{kind}:{}", utf8_percent_encode(name, PLAIN))
    }

    fn of_uri(uri: &str) -> Option<Self> {
        let (kind, name) = uri.strip_prefix("anabranch:")?.split_once(':')?;
        let name = percent_decode_str(name).decode_utf8().ok()?.into_owned();
        match kind {
            "agent" => Some(Self::Agent(name)),
            "application" => Some(Self::Application(name)),
            _ => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => write!(f, "the agent `{name}`"),
            Self::Application(name) => write!(f, "the application `{name}`"),
        }
    }
}

/// The authority of a network, as those see it who check its certificates.
#[derive(Clone, Debug)]
pub struct Authority {
    anchors: Arc<[TrustAnchor<'static>]>,
}

impl Authority {
    /// Reads the certificates of the authority from a PEM file; several while a new one replaces an old one.
    pub fn read(path: &Path) -> Result<Self, SecurityError> {
        Self::of(certificates(path)?)
    }

    fn of(certificates: Vec<CertificateDer<'static>>) -> Result<Self, SecurityError> {
        Ok(Self { anchors: roots(certificates)?.roots.into() })
    }

    /// The name in a certificate of this authority that is valid now.
    pub fn name(&self, certificate: &CertificateDer<'_>) -> Option<Name> {
        self.name_at(certificate, UnixTime::now())
    }

    /// The name in a certificate of this authority, whether it is still valid or not.
    fn name_ever(&self, certificate: &CertificateDer<'_>) -> Option<Name> {
        let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
        let begin = u64::try_from(parsed.validity().not_before.timestamp()).ok()?;
        self.name_at(certificate, UnixTime::since_unix_epoch(Duration::from_secs(begin)))
    }

    fn name_at(&self, certificate: &CertificateDer<'_>, time: UnixTime) -> Option<Name> {
        let parsed = EndEntityCert::try_from(certificate).ok()?;
        let algorithms = webpki::ALL_VERIFICATION_ALGS;
        parsed.verify_for_usage(algorithms, &self.anchors, &[], time, KeyUsage::client_auth(), None, None).ok()?;
        parsed.valid_uri_names().find_map(Name::of_uri)
    }
}

/// For how long a certificate is still valid; zero if it is not.
pub fn lasts(certificate: &CertificateDer<'_>) -> Duration {
    let left =
        X509Certificate::from_der(certificate).ok().and_then(|(_, parsed)| parsed.validity().time_to_expiration());
    left.and_then(|left| left.try_into().ok()).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use anabranch_agents::{AgentId, Proofs};
    use rustls::pki_types::pem::PemObject;

    use super::*;
    use crate::security::Identity;

    fn der(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    fn authority(issuer: &Issuer) -> Authority {
        Authority::of(vec![der(issuer.certificate())]).unwrap()
    }

    #[test]
    fn a_certificate_says_who_it_is_to_those_who_know_its_authority() {
        let (issuer, other) = (Issuer::made("one").unwrap(), Issuer::made("other").unwrap());
        for name in [Name::Agent("São Paulo: 1/2".to_owned()), Name::Application("backup".to_owned())] {
            let certificate = der(&issuer.issue(&name, 30).unwrap().certificate);
            assert_eq!(authority(&issuer).name(&certificate), Some(name));
            assert_eq!(authority(&other).name(&certificate), None);
            let days = lasts(&certificate).as_secs_f64() / 86400.0;
            assert!((29.9..30.0).contains(&days), "{days}");
        }
    }

    #[test]
    fn a_certificate_is_good_for_those_whose_clocks_are_a_day_behind() {
        let issuer = Issuer::made("one").unwrap();
        let name = Name::Agent("a".to_owned());
        let certificate = der(&issuer.issue(&name, 30).unwrap().certificate);
        let at = |hours: u64| UnixTime::since_unix_epoch(ago(hours));
        let name_at = |hours| authority(&issuer).name_at(&certificate, at(hours));
        assert_eq!((name_at(23), name_at(25)), (Some(name), None));
    }

    /// The time some hours ago, since 1970.
    fn ago(hours: u64) -> Duration {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.checked_sub(Duration::from_hours(hours)).unwrap()
    }

    #[test]
    fn a_certificate_that_has_expired_says_nothing() {
        let issuer = Issuer::made("one").unwrap();
        let name = Name::Agent("a".to_owned());
        let certificate = der(&issuer.issue(&name, 0).unwrap().certificate);
        // It ends with this second.
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!((authority(&issuer).name(&certificate), lasts(&certificate)), (None, Duration::ZERO));
        assert_eq!(authority(&issuer).name_ever(&certificate), Some(name));
    }

    #[test]
    fn an_agent_proves_its_own_news_and_no_others() {
        let issuer = Issuer::made("one").unwrap();
        let signed = |name: Name| {
            let issued = issuer.issue(&name, 30).unwrap();
            let identity = Identity::of_pem(&(issued.certificate + &issued.key)).unwrap();
            Signed::new(authority(&issuer), &identity).unwrap()
        };
        let (a, b) = (signed(Name::Agent("a".to_owned())), signed(Name::Agent("b".to_owned())));
        let application = signed(Name::Application("a".to_owned()));
        let (agent, text) = (AgentId::of("a"), &b"a has begun anew"[..]);
        let proof = a.prove(text);
        assert!(b.check(agent, text, &proof) && proof.len() < anabranch_agents::message::MOST_PROOF);
        assert!(!b.check(AgentId::of("b"), text, &proof) && !b.check(agent, b"another text", &proof));
        assert!(!b.check(agent, text, &b.prove(text)) && !b.check(agent, text, &application.prove(text)));
        // Any byte that is other makes it false, and nothing makes it fall over.
        for place in 0..proof.len() {
            let mut other = proof.clone();
            other[place] ^= 0x41;
            assert!(!b.check(agent, text, &other), "byte {place}");
            assert!(!b.check(agent, text, &proof[..place]));
        }
    }

    #[test]
    fn an_agent_cannot_have_started_long_after_now_or_after_its_certificate() {
        let issuer = Issuer::made("one").unwrap();
        let signed = |days| {
            let issued = issuer.issue(&Name::Agent("a".to_owned()), days).unwrap();
            let identity = Identity::of_pem(&(issued.certificate + &issued.key)).unwrap();
            Signed::new(authority(&issuer), &identity).unwrap()
        };
        let (long, short) = (signed(30), signed(0));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let hours = |count: u64| Duration::from_hours(count);
        let before = |count: u64| now.checked_sub(hours(count)).unwrap();
        let is_timely = |by: &Signed, time: Duration| long.is_timely(time.as_micros() as u64, &by.prove(b"news"));
        // Agents take new certificates while they run.
        assert!([now, before(1000), now + hours(23)].iter().all(|&time| is_timely(&long, time)));
        assert!(!is_timely(&long, now + hours(25)) && !long.is_timely(u64::MAX, &long.prove(b"news")));
        // It is good to the end of its last second, in which an agent may have started.
        let proof = short.prove(b"news");
        let (_, parsed) = X509Certificate::from_der(&proof[2..]).unwrap();
        let end = Duration::from_secs(parsed.validity().not_after.timestamp().try_into().unwrap());
        let is_good = |after_ms| long.is_timely((end + Duration::from_millis(after_ms)).as_micros() as u64, &proof);
        assert!(is_good(0) && is_good(999) && !is_good(1000));
        // What had expired before the start proves nothing.
        assert!(is_timely(&short, before(1)) && !is_timely(&short, now + hours(1)));
        assert!(!long.is_timely(0, b"") && !long.is_timely(0, &[7; 40]));
    }
}
