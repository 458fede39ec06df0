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
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The tokens that an exit accepts, as their digests: how long a comparison takes says nothing of them.
#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<[u8; 32]>);

impl FromIterator<Token> for Tokens {
    fn from_iter<T: IntoIterator<Item = Token>>(tokens: T) -> Self {
        Self(tokens.into_iter().map(|token| sha256(token.0.as_bytes())).collect())
    }
}

impl Tokens {
    /// Whether a value of `proxy-authorization` shows one of the tokens: as a bearer's, or as a password with any name.
    pub(crate) fn accept(&self, header: &[u8]) -> bool {
        let Ok(text) = str::from_utf8(header) else { return false };
        let Some((scheme, shown)) = text.trim().split_once(' ') else { return false };
        let shown = shown.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.has(shown.as_bytes());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        let decoded = STANDARD.decode(shown).unwrap_or_default();
        decoded.iter().position(|byte| *byte == b':').is_some_and(|colon| self.has(&decoded[colon + 1..]))
    }

    fn has(&self, shown: &[u8]) -> bool {
        let shown = sha256(shown);
        self.0.contains(&shown)
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut own = [0; 32];
    own.copy_from_slice(digest(&SHA256, bytes).as_ref());
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    #[test]
    fn a_token_is_accepted_as_a_bearer_s_and_as_a_password() {
        let token = Token::new(SECRET).unwrap();
        let header = token.header();
        let tokens: Tokens = [token, Token::new("another-token-of-16").unwrap()].into_iter().collect();
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for shown in
            [header.clone(), format!("bearer  {SECRET}"), basic(&format!("any:{SECRET}")), basic(&format!(":{SECRET}"))]
        {
            assert!(tokens.accept(shown.as_bytes()), "{shown}");
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
            assert!(!tokens.accept(shown.as_bytes()), "{shown}");
        }
        assert!(!tokens.accept(b"Bearer \xff"));
        assert!(!Tokens::default().accept(header.as_bytes()));
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
