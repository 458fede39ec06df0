//! Clients that a server knows by their certificates.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::CertificateError;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::quic::{Connection, peer_certificate};
use crate::security::{Fingerprint, SecurityError, certificates, crypto, roots};
use crate::verifier::Judge;

/// The certificates that a server takes from clients. A client may come without one, but not with one that is not valid.
#[derive(Clone, Debug)]
pub struct Callers {
    authorities: Option<Arc<dyn ClientCertVerifier>>,
    pins: Arc<[Fingerprint]>,
}

impl Callers {
    /// Takes certificates for clients of TLS that the authorities in a PEM file have signed and that are valid now, and those
    /// with one of these fingerprints.
    ///
    /// # Errors
    /// If the file cannot be read, or has no certificate.
    pub fn new(authorities: Option<&Path>, pins: Vec<Fingerprint>) -> Result<Self, SecurityError> {
        let verifier = |path: &Path| {
            let roots = Arc::new(roots(certificates(path)?)?);
            let built = WebPkiClientVerifier::builder_with_provider(roots, crypto()).build();
            built.map_err(|_| SecurityError::NobodyTrusted)
        };
        Ok(Self { authorities: authorities.map(verifier).transpose()?, pins: pins.into() })
    }
}

impl Judge for Callers {
    const IS_OPTIONAL: bool = true;

    fn judge(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        if self.pins.contains(&Fingerprint::of(certificate)) {
            return Ok(());
        }
        match &self.authorities {
            Some(verifier) => verifier.verify_client_cert(certificate, intermediates, now).map(|_| ()),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

/// A client by its certificate, which the server has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Fingerprint of the certificate.
    pub fingerprint: Fingerprint,
    /// The names in it: its subject, the common name of that, and the alternative names.
    pub names: Vec<String>,
}

impl Caller {
    /// The client at the other end of a connection; `None` if it has shown no certificate.
    pub fn of(connection: &Connection) -> Option<Self> {
        peer_certificate(connection).as_ref().map(Self::read)
    }

    fn read(certificate: &CertificateDer<'_>) -> Self {
        let parsed = X509Certificate::from_der(certificate);
        let names = parsed.map_or_else(|_| Vec::new(), |(_, parsed)| names(&parsed));
        Self { fingerprint: Fingerprint::of(certificate), names }
    }
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let subject = certificate.subject();
    let common = subject.iter_common_name().filter_map(|name| name.as_str().ok()).map(str::to_owned);
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let alternatives = alternatives.into_iter().flat_map(|found| &found.value.general_names).filter_map(alternative);
    // Where a value has signs that divide attributes, another subject may read the same.
    let is_plain = subject.iter_attributes().all(|own| own.as_str().is_ok_and(|text| !text.contains([',', '+', '='])));
    let whole = Some(subject.to_string()).filter(|subject| is_plain && !subject.is_empty());
    whole.into_iter().chain(common).chain(alternatives).collect()
}

fn alternative(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => Some((*text).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let address = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            address.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
        KeyPair, SanType,
    };
    use rustls::Error::InvalidCertificate;

    use super::*;

    type Signer = CertifiedIssuer<'static, KeyPair>;

    fn authority() -> Signer {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority");
        Signer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    fn params(usage: ExtendedKeyUsagePurpose) -> CertificateParams {
        let mut params = CertificateParams::new(vec!["office.example".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Example");
        params.distinguished_name.push(DnType::CommonName, "office");
        params.extended_key_usages = vec![usage];
        params
    }

    fn signed(by: &Signer, params: &CertificateParams) -> CertificateDer<'static> {
        params.signed_by(&KeyPair::generate().unwrap(), by).unwrap().into()
    }

    /// Those who trust an authority.
    fn trusting(authority: &Signer, pins: Vec<Fingerprint>) -> Callers {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), authority.pem()).unwrap();
        Callers::new(Some(file.path()), pins).unwrap()
    }

    fn judged(callers: &Callers, certificate: &CertificateDer<'_>) -> Result<(), CertificateError> {
        callers.judge(certificate, &[], UnixTime::now()).map_err(|error| match error {
            InvalidCertificate(error) => error,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn certificates_for_clients_by_the_authority_are_taken_while_they_are_valid_and_no_others() {
        use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
        let (own, other) = (authority(), authority());
        let callers = trusting(&own, Vec::new());
        assert_eq!(judged(&callers, &signed(&own, &params(ClientAuth))), Ok(()));
        let foreign = judged(&callers, &signed(&other, &params(ClientAuth)));
        // Both authorities have the same name, so the signature tells.
        assert!(
            matches!(foreign, Err(CertificateError::BadSignature | CertificateError::UnknownIssuer)),
            "{foreign:?}"
        );
        let server = judged(&callers, &signed(&own, &params(ServerAuth)));
        assert!(matches!(server, Err(CertificateError::InvalidPurposeContext { .. })), "{server:?}");
        let mut old = params(ClientAuth);
        (old.not_before, old.not_after) = (rcgen::date_time_ymd(2020, 1, 1), rcgen::date_time_ymd(2021, 1, 1));
        let old = signed(&own, &old);
        assert!(matches!(judged(&callers, &old), Err(CertificateError::ExpiredContext { .. })));
        let then = UnixTime::since_unix_epoch(Duration::from_hours(24 * 365 * 50 + 24 * 100));
        assert!(callers.judge(&old, &[], then).is_ok());
        assert!(judged(&callers, &CertificateDer::from(vec![1, 2, 3])).is_err());
    }

    #[test]
    fn a_pinned_certificate_needs_no_authority() {
        let own = signed(&authority(), &params(ExtendedKeyUsagePurpose::ServerAuth));
        let callers = Callers::new(None, vec![Fingerprint::of(&own)]).unwrap();
        assert_eq!(judged(&callers, &own), Ok(()));
        let other = signed(&authority(), &params(ExtendedKeyUsagePurpose::ClientAuth));
        assert_eq!(judged(&callers, &other), Err(CertificateError::ApplicationVerificationFailure));
    }

    #[test]
    fn a_client_has_the_names_of_its_certificate() {
        let mut params = params(ExtendedKeyUsagePurpose::ClientAuth);
        params.subject_alt_names.extend([
            SanType::Rfc822Name("it@office.example".try_into().unwrap()),
            SanType::URI("anabranch:application:office".try_into().unwrap()),
            SanType::IpAddress([192, 0, 2, 7].into()),
        ]);
        let own = signed(&authority(), &params);
        let names = Caller::read(&own).names;
        let expected = [
            "O=Example, CN=office",
            "office",
            "office.example",
            "it@office.example",
            "anabranch:application:office",
            "192.0.2.7",
        ];
        assert_eq!(names, expected);
        assert!(Caller::read(&CertificateDer::from(vec![1, 2, 3])).names.is_empty());
    }
}
