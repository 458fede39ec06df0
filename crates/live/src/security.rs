//! Certificates of servers and clients, and how clients verify servers: TLS 1.3, never unchecked.
//!
//! A server has a certificate, read from files or made at its start. A client verifies it by its SHA-256, which is part
//! of the server's URL, or by its signature. No connection is possible without either. A client may have a certificate,
//! too, for servers that [know clients by it](crate::callers).

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::crypto::{CryptoProvider, ring as provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, version};

use crate::authority::{Authority, Name};
use crate::callers::Callers;
use crate::quic::tls::{QuicClientConfig, QuicServerConfig};
use crate::verifier::{Judge, Verifier};

/// Name of the protocol of transfers and measurements in the handshake.
pub const ALPN: &[u8] = b"anabranch/1";

/// Number of digits of a fingerprint.
const DIGITS: usize = 64;

/// The reason why an identity or a trust is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SecurityError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// A file lacks the required content.
    #[error("{}: it has no {what} in PEM", path.display())]
    Lacks {
        /// Path of the file.
        path: PathBuf,
        /// Content that is missing.
        what: &'static str,
    },
    /// A certificate and its key do not match, or are invalid.
    #[error("the certificate or its key cannot be used: {0}")]
    Unusable(rustls::Error),
    /// A new certificate cannot be stored.
    #[error("cannot keep a certificate at {}: {error}", path.display())]
    NotKept {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// A certificate cannot be made.
    #[error("no certificate could be made: {0}")]
    NotMade(rcgen::Error),
    /// There is no trusted certificate.
    #[error("this system has no certificates to trust; give a fingerprint or a file of certificates")]
    NobodyTrusted,
    /// A text is not a fingerprint.
    #[error("`{0}` is not a fingerprint; it must be the {DIGITS} hexadecimal digits of a SHA-256")]
    NoFingerprint(String),
}

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = SecurityError;

    fn from_str(text: &str) -> Result<Self, SecurityError> {
        let wrong = || SecurityError::NoFingerprint(text.to_owned());
        if text.len() != DIGITS || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// A certificate with its key, which identifies a server.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Makes a new certificate, which clients know by its fingerprint only.
    pub fn made() -> Result<Self, SecurityError> {
        let made = rcgen::generate_simple_self_signed(["anabranch".to_owned()]).map_err(SecurityError::NotMade)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Ok(Self { chain: vec![made.cert.into()], key: key.into() })
    }

    /// Reads a certificate and its key from two PEM files.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, SecurityError> {
        let chain = certificates(certificate)?;
        let lacks = |_| SecurityError::Lacks { path: key.to_owned(), what: "private key" };
        Ok(Self { chain, key: PrivateKeyDer::from_pem_slice(&read(key)?).map_err(lacks)? })
    }

    /// A certificate and its key, both in one PEM text.
    pub fn of_pem(text: &str) -> Result<Self, SecurityError> {
        let lacks = |what| SecurityError::Lacks { path: PathBuf::from("the text"), what };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| lacks("certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| lacks("private key"))?;
        Ok(Self { chain, key })
    }

    /// Reads certificate and key from one PEM file. If the file does not exist, it is made, readable by its owner only,
    /// so that the fingerprint stays the same next time.
    pub fn kept(path: &Path) -> Result<Self, SecurityError> {
        if !path.exists() {
            keep_new(path).map_err(|error| SecurityError::NotKept { path: path.to_owned(), error })?;
        }
        Self::read(path, path)
    }

    /// The fingerprint of the certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.chain[0])
    }

    /// The certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    /// The name that an authority gives to the holder; `None` if it gives none that is valid now.
    pub fn name(&self, authority: &Authority) -> Option<Name> {
        authority.name(&self.chain[0])
    }

    /// The certificate with its chain, and the key.
    pub(crate) fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.chain.clone(), self.key.clone_key())
    }

    /// Checks that the key is that of the certificate.
    pub fn check(&self) -> Result<(), SecurityError> {
        let (chain, key) = self.parts();
        CertifiedKey::from_der(chain, key, &crypto()).map(|_| ()).map_err(SecurityError::Unusable)
    }

    /// The TLS settings of a server with this identity, which speaks a protocol of this name and takes certificates of these
    /// clients, if there are any.
    pub(crate) fn tls(&self, alpn: &[u8], callers: Option<Callers>) -> Result<QuicServerConfig, SecurityError> {
        let builder = rustls::ServerConfig::builder_with_provider(crypto())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(SecurityError::Unusable)?;
        let knows_clients = callers.is_some();
        let builder = match callers {
            Some(callers) => builder.with_client_cert_verifier(Verifier::new(callers)),
            None => builder.with_no_client_auth(),
        };
        let mut tls =
            builder.with_single_cert(self.chain.clone(), self.key.clone_key()).map_err(SecurityError::Unusable)?;
        if knows_clients {
            // A session that goes on would not look at the certificate again, which may have expired.
            tls.session_storage = Arc::new(NoServerSessionStorage {});
            tls.send_tls13_tickets = 0;
        }
        tls.alpn_protocols = vec![alpn.to_vec()];
        QuicServerConfig::try_from(tls).map_err(|_| no_suite())
    }
}

/// Makes an identity and stores it at `path`, completely or not at all; an identity that was stored there meanwhile
/// stays.
fn keep_new(path: &Path) -> io::Result<()> {
    let made = rcgen::generate_simple_self_signed(["anabranch".to_owned()]).map_err(io::Error::other)?;
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    let written = file
        .write_all((made.cert.pem() + &made.signing_key.serialize_pem()).as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| match fs::hard_link(&beside, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        });
    fs::remove_file(&beside)?;
    written
}

/// The way in which a client verifies the server's certificate.
#[derive(Clone, Debug)]
pub enum Trust {
    /// The certificate has one of these fingerprints.
    Pins(Vec<Fingerprint>),
    /// The certificate is valid for its name, and signed by one in this PEM file.
    Authorities(PathBuf),
    /// The certificate is valid for its name, and signed by one that this system trusts.
    System,
}

impl Trust {
    /// The TLS settings of a client with this trust, which speaks a protocol of this name and shows its identity, if it has
    /// one.
    pub(crate) fn tls(&self, alpn: &[u8], own: Option<&Identity>) -> Result<QuicClientConfig, SecurityError> {
        let builder = rustls::ClientConfig::builder_with_provider(crypto())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(SecurityError::Unusable)?;
        let builder = match self {
            Self::Pins(pins) => {
                builder.dangerous().with_custom_certificate_verifier(Verifier::new(Pinned(pins.clone())))
            }
            Self::Authorities(path) => builder.with_root_certificates(roots(certificates(path)?)?),
            Self::System => builder.with_root_certificates(roots(rustls_native_certs::load_native_certs().certs)?),
        };
        let mut tls = match own.map(Identity::parts) {
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(SecurityError::Unusable)?,
            None => builder.with_no_client_auth(),
        };
        tls.alpn_protocols = vec![alpn.to_vec()];
        QuicClientConfig::try_from(tls).map_err(|_| no_suite())
    }
}

/// The TLS settings of a client of web servers: TLS 1.2 or 1.3, with the authorities that this system trusts and those
/// in a PEM file.
pub(crate) fn web_client(authorities: Option<&Path>) -> Result<rustls::ClientConfig, SecurityError> {
    let mut trusted = rustls_native_certs::load_native_certs().certs;
    if let Some(path) = authorities {
        trusted.extend(certificates(path)?);
    }
    let mut tls = rustls::ClientConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&version::TLS12, &version::TLS13])
        .map_err(SecurityError::Unusable)?
        .with_root_certificates(roots(trusted)?)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

pub(crate) fn crypto() -> Arc<CryptoProvider> {
    Arc::new(provider::default_provider())
}

pub(crate) fn no_suite() -> SecurityError {
    SecurityError::Unusable(rustls::Error::General("it has no cipher that QUIC begins with".to_owned()))
}

fn read(path: &Path) -> Result<Vec<u8>, SecurityError> {
    fs::read(path).map_err(|error| SecurityError::Unreadable { path: path.to_owned(), error })
}

/// All certificates of a PEM file, which has at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let text = read(path)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(SecurityError::Lacks { path: path.to_owned(), what: "certificate" });
    }
    Ok(chain)
}

pub(crate) fn roots(certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, SecurityError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 { Err(SecurityError::NobodyTrusted) } else { Ok(roots) }
}

/// Accepts servers whose certificate has one of these fingerprints.
#[derive(Debug)]
struct Pinned(Vec<Fingerprint>);

impl Judge for Pinned {
    fn judge(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let found = Fingerprint::of(certificate);
        if self.0.contains(&found) {
            return Ok(());
        }
        let pins: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        let wanted = pins.join(" or ");
        Err(rustls::Error::General(format!(
            "it is not the server that was meant, or has a new certificate: the server's certificate has the fingerprint \
             {found}, not {wanted}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_that_is_kept_is_the_same_next_time() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/identity.pem");
        let first = Identity::kept(&path).unwrap().fingerprint();
        assert_eq!(Identity::kept(&path).unwrap().fingerprint(), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
        fs::write(&path, "x").unwrap();
        assert!(matches!(Identity::kept(&path), Err(SecurityError::Lacks { .. })));
    }

    #[test]
    fn a_fingerprint_reads_as_it_is_written() {
        let fingerprint = Identity::made().unwrap().fingerprint();
        assert_eq!(fingerprint.to_string().parse::<Fingerprint>().unwrap(), fingerprint);
        for wrong in ["", "12", &"g".repeat(64), &"é".repeat(32), &"a".repeat(65)] {
            let error = wrong.parse::<Fingerprint>().unwrap_err();
            assert!(matches!(error, SecurityError::NoFingerprint(_)), "{error}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let error = Identity::read(&path, &path).unwrap_err();
        assert!(matches!(error, SecurityError::Lacks { what: "certificate", .. }), "{error}");
        let error = Trust::Authorities("no/such.pem".into()).tls(ALPN, None).map(|_| ()).unwrap_err();
        assert!(error.to_string().starts_with("cannot read no/such.pem: "), "{error}");
    }
}
