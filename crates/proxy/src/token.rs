//! Tokens by which an exit knows its clients.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

/// Least number of bytes of a token, so that it cannot be guessed.
pub const LEAST_TOKEN: usize = 16;

/// Greatest number of bytes of a token.
pub const MOST_TOKEN: usize = 256;

/// A secret that a client shows.
#[derive(Clone)]
pub struct Token(String);

/// The reason why a text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token has {LEAST_TOKEN} to {MOST_TOKEN} letters, digits and signs of ASCII without blanks, colons and quotation \
     marks; `openssl rand -hex 32` makes one"
)]
pub struct TokenError;

impl Token {
    /// Takes a text as a token.
    ///
    /// # Errors
    /// If it is too short or too long, or has other signs.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let is_fine = |byte: u8| byte.is_ascii_graphic() && !b":\"\\,".contains(&byte);
        let is_token = (LEAST_TOKEN..=MOST_TOKEN).contains(&text.len()) && text.bytes().all(is_fine);
        if is_token { Ok(Self(text.to_owned())) } else { Err(TokenError) }
    }

    /// The value of the header `proxy-authorization` that shows it.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Its digest.
    pub(crate) fn digest(&self) -> Digest {
        sha256(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The digest of a token.
pub(crate) type Digest = [u8; 32];

/// The digest of the token that a value of `proxy-authorization` shows: as a bearer's, or as a password with any name.
pub(crate) fn shown(header: &[u8]) -> Option<Digest> {
    let (scheme, shown) = str::from_utf8(header).ok()?.trim().split_once(' ')?;
    let shown = shown.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(sha256(shown.as_bytes()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(shown).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(sha256(&decoded[colon + 1..]))
}

fn sha256(bytes: &[u8]) -> Digest {
    let mut own = [0; 32];
    own.copy_from_slice(digest(&SHA256, bytes).as_ref());
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    #[test]
    fn a_token_is_known_as_a_bearer_s_and_as_a_password() {
        let token = Token::new(SECRET).unwrap();
        let (header, digest) = (token.header(), Some(token.digest()));
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for shown in
            [header.clone(), format!("bearer  {SECRET}"), basic(&format!("any:{SECRET}")), basic(&format!(":{SECRET}"))]
        {
            assert_eq!(super::shown(shown.as_bytes()), digest, "{shown}");
        }
        for shown in [
            String::new(),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
            format!("{header}x"),
            SECRET.to_owned(),
            format!("Digest {SECRET}"),
            basic(SECRET),
            basic(&format!("{SECRET}:")),
            "Basic ???".to_owned(),
        ] {
            assert_ne!(super::shown(shown.as_bytes()), digest, "{shown}");
        }
        assert_eq!(super::shown(b"Bearer \xff"), None);
    }

    #[test]
    fn a_token_that_could_be_guessed_or_not_be_written_is_refused() {
        for text in ["", "short", &"a".repeat(257), "has a blank within", "has:a:colon:within", "with-ä-umlaut-within"]
        {
            assert_eq!(Token::new(text).err(), Some(TokenError), "{text}");
        }
        assert_eq!(format!("{:?}", Token::new(SECRET).unwrap()), "Token");
    }
}
