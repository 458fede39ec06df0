//! Issuing certificates: done once, where the key of the authority is.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer as Signer, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use time::{Duration, OffsetDateTime};

use super::Name;
use crate::security::SecurityError;

/// Those who issue certificates of a network.
pub struct Issuer {
    certificate: String,
    key: String,
}

/// A certificate with its key, both in PEM.
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// How long clocks may differ: certificates are valid from this time before they are issued.
const SLACK: Duration = Duration::days(1);

impl Issuer {
    /// A new authority of a network of this name, whose certificate lasts for ten years.
    pub fn made(network: &str) -> Result<Self, SecurityError> {
        let mut params = params(network, 3653)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(SecurityError::NotMade)?;
        let certificate = params.self_signed(&key).map_err(SecurityError::NotMade)?;
        Ok(Self { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// An authority by its certificate and its key in PEM.
    pub fn of(certificate: String, key: String) -> Self {
        Self { certificate, key }
    }

    /// The certificate of the authority, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The key of the authority, in PEM.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Issues a certificate with a name, which lasts for some days.
    pub fn issue(&self, name: &Name, days: u32) -> Result<Issued, SecurityError> {
        let key = KeyPair::from_pem(&self.key).map_err(SecurityError::NotMade)?;
        let signer = Signer::from_ca_cert_pem(&self.certificate, key).map_err(SecurityError::NotMade)?;
        let (Name::Agent(common) | Name::Application(common)) = name;
        let mut params = params(common, days)?;
        let uri = name.uri().try_into().map_err(SecurityError::NotMade)?;
        params.subject_alt_names = vec![SanType::URI(uri)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let own = KeyPair::generate().map_err(SecurityError::NotMade)?;
        let certificate = params.signed_by(&own, &signer).map_err(SecurityError::NotMade)?;
        Ok(Issued { certificate: certificate.pem(), key: own.serialize_pem() })
    }
}

fn params(common: &str, days: u32) -> Result<CertificateParams, SecurityError> {
    let mut params = CertificateParams::new(Vec::new()).map_err(SecurityError::NotMade)?;
    params.distinguished_name.push(DnType::CommonName, common);
    let now = OffsetDateTime::now_utc();
    params.not_before = now - SLACK;
    params.not_after = now.checked_add(Duration::days(days.into())).unwrap_or(date_time_ymd(9999, 1, 1));
    Ok(params)
}
