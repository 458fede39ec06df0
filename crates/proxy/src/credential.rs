//! What clients show so that an exit knows them: a token, or a certificate.

use std::str::FromStr;

use anabranch_live::callers::Caller;
use anabranch_live::security::Fingerprint;

use crate::token::Token;

/// What a client shows.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A token, in its requests.
    Token(Token),
    /// A certificate, when it connects.
    Certificate(Certificate),
}

/// Which certificates are those of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The certificate with this fingerprint, by any authority or none.
    Pinned(Fingerprint),
    /// Those that authorities have signed and that have this name: the subject, its common name, or an alternative name.
    Named(String),
    /// Those that authorities have signed and that are of no other client.
    Signed,
}

/// The reason why a text says of no certificate whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a certificate is given by its SHA-256, by its subject, its common name or an alternative name in it, or by `*` for all \
     that the authorities have signed"
)]
pub struct CertificateError;

/// What stands for all certificates of authorities.
const ALL: &str = "*";

impl FromStr for Certificate {
    type Err = CertificateError;

    fn from_str(text: &str) -> Result<Self, CertificateError> {
        let text = text.trim();
        // Tools write fingerprints with colons, too.
        if let Ok(fingerprint) = text.replace(':', "").parse() {
            return Ok(Self::Pinned(fingerprint));
        }
        match text {
            "" => Err(CertificateError),
            ALL => Ok(Self::Signed),
            name => Ok(Self::Named(name.to_owned())),
        }
    }
}

impl Certificate {
    /// Whether it takes authorities to say whose a certificate is.
    pub fn needs_authorities(&self) -> bool {
        !matches!(self, Self::Pinned(_))
    }

    /// How well a certificate that was taken is met, if it is: a fingerprint more than a name, and that more than none.
    pub(crate) fn meets(&self, caller: &Caller) -> Option<u8> {
        match self {
            Self::Pinned(fingerprint) => (*fingerprint == caller.fingerprint).then_some(3),
            Self::Named(name) => caller.names.iter().any(|own| own.eq_ignore_ascii_case(name)).then_some(2),
            Self::Signed => Some(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_given_by_its_digest_its_name_or_its_authority() {
        let digits = "5f0c".repeat(16);
        let colons = digits.as_bytes().chunks(2).map(|two| str::from_utf8(two).unwrap()).collect::<Vec<_>>().join(":");
        let pin = Certificate::Pinned(digits.parse().unwrap());
        for text in [digits.clone(), digits.to_uppercase(), colons, format!(" {digits} ")] {
            assert_eq!(text.parse(), Ok(pin.clone()), "{text}");
        }
        assert_eq!("*".parse(), Ok(Certificate::Signed));
        for name in ["office", "O=Example, CN=office", "anabranch:application:office", &digits[1..]] {
            assert_eq!(name.parse(), Ok(Certificate::Named(name.to_owned())));
        }
        assert_eq!(" ".parse::<Certificate>(), Err(CertificateError));
        assert!(!pin.needs_authorities() && Certificate::Signed.needs_authorities());
    }
}
