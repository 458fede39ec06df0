//! URLs of servers, with their fingerprints and a file: `anabranch://HOST:PORT/PATH?pin=FINGERPRINT&hash=HASH`.

use std::fmt;
use std::str::FromStr;

use anabranch_transfer::Root;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::security::{Fingerprint, Trust};

/// Characters that are percent-encoded in a path.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`');

/// Scheme of the URLs.
const SCHEME: &str = "anabranch://";

/// The reason why a text is not a URL of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{url}` is no URL of a server: {reason}; one is 'anabranch://HOST:PORT/?pin=FINGERPRINT', in quotes for the shell"
)]
pub struct UrlError {
    url: String,
    reason: String,
}

/// The URL of a server, and of what it shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Name or address of the host; IPv6 addresses without brackets.
    pub host: String,
    /// UDP port.
    pub port: u16,
    /// Decoded path of the file, without the first slash; the URL encodes other characters, as `%20` for a space.
    pub path: String,
    /// Fingerprints that the server's certificate may have; without any, it is verified by its name.
    pub pins: Vec<Fingerprint>,
    /// Hash of the file, if the URL contains it.
    pub hash: Option<Root>,
}

impl Url {
    /// The verification of the server: by its fingerprints or, without any, by the certificates that this system
    /// trusts.
    pub fn trust(&self) -> Trust {
        if self.pins.is_empty() { Trust::System } else { Trust::Pins(self.pins.clone()) }
    }

    /// The last part of the path, which is the name of the file; `None` if the URL names no file.
    ///
    /// It follows the last slash, where a slash that is encoded as `%2F` counts too.
    pub fn name(&self) -> Option<&str> {
        self.path.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// The part of the URL before its question mark.
    pub fn place(&self) -> String {
        let Self { host, port, .. } = self;
        let path = utf8_percent_encode(&self.path, ESCAPED);
        if host.contains(':') {
            format!("{SCHEME}[{host}]:{port}/{path}")
        } else {
            format!("{SCHEME}{host}:{port}/{path}")
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        let mut marks = std::iter::once('?').chain(std::iter::repeat('&'));
        let mut mark = || marks.next().expect("it goes on for ever");
        self.pins.iter().try_for_each(|pin| write!(f, "{}pin={pin}", mark()))?;
        self.hash.iter().try_for_each(|hash| write!(f, "{}hash={hash}", mark()))
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        parse(text).map_err(|reason| UrlError { url: text.to_owned(), reason })
    }
}

fn parse(text: &str) -> Result<Url, String> {
    let rest = text.strip_prefix(SCHEME).ok_or_else(|| format!("it does not begin with {SCHEME}"))?;
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, query)| (place, query));
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let (host, port) = authority.rsplit_once(':').ok_or("it has no port")?;
    let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
    if port == 0 {
        return Err("there is no port 0".to_owned());
    }
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_host = match bare {
        Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(is_plain),
    };
    if !is_host {
        return Err(format!("`{host}` is no host"));
    }
    let path = percent_decode_str(path).decode_utf8().map_err(|_| format!("`{path}` is not UTF-8"))?;
    let mut url =
        Url { host: bare.unwrap_or(host).to_owned(), port, path: path.into_owned(), pins: Vec::new(), hash: None };
    query.split('&').filter(|part| !part.is_empty()).try_for_each(|part| read(&mut url, part))?;
    Ok(url)
}

/// Reads `pin=FINGERPRINT` or `hash=HASH`.
fn read(url: &mut Url, part: &str) -> Result<(), String> {
    match part.split_once('=') {
        Some(("pin", pin)) => {
            url.pins.push(pin.parse().map_err(|error: crate::security::SecurityError| error.to_string())?);
        }
        Some(("hash", hash)) => {
            if url.hash.replace(hash.parse()?).is_some() {
                return Err("it has two hashes; a file has one".to_owned());
            }
        }
        _ => return Err(format!("`{part}` says nothing; `pin=` and `hash=` do")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_url_reads_as_it_is_written() {
        let pin = "0123456789abcdef".repeat(4);
        for text in [
            "anabranch://host.example:4433/".to_owned(),
            "anabranch://host.example:4433/a%20b%3Fc%25d".to_owned(),
            format!("anabranch://10.0.0.1:1/some/folder?pin={pin}"),
            format!("anabranch://[2001:db8::1]:65535/?pin={pin}&pin={pin}"),
            format!("anabranch://h:1/x?pin={pin}&pin={pin}&hash={pin}"),
            format!("anabranch://h:1/x?hash={pin}"),
        ] {
            assert_eq!(text.parse::<Url>().map(|url| url.to_string()), Ok(text));
        }
        assert!(matches!("anabranch://h:1".parse::<Url>().unwrap().trust(), Trust::System));
    }

    #[test]
    fn a_url_has_the_name_of_its_file_if_it_names_one() {
        for (path, name) in [
            ("a/b.tif", Some("b.tif")),
            ("a%2Fb%3Fc", Some("b?c")),
            ("a;b=1#c%20%C3%A9?", Some("a;b=1#c é")),
            ("a%252Fb", Some("a%2Fb")),
            ("a/..", Some("..")),
            ("a/", None),
            ("a%2F", None),
            ("", None),
        ] {
            let text = format!("anabranch://h:1/{path}");
            assert_eq!(text.parse::<Url>().unwrap().name(), name, "{text}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_its_reason() {
        for (text, reason) in [
            ("https://h:1/", "it does not begin with anabranch://"),
            ("anabranch://host/", "it has no port"),
            ("anabranch://host:70000/", "`70000` is no port"),
            ("anabranch://host:0/", "there is no port 0"),
            ("anabranch://:1/", "`` is no host"),
            ("anabranch://a b:1/", "`a b` is no host"),
            ("anabranch://[12]:1/", "`[12]` is no host"),
            ("anabranch://2001:db8::1:1/", "`2001:db8::1` is no host"),
            ("anabranch://h:1/%ff", "`%ff` is not UTF-8"),
            ("anabranch://h:1/?key=2", "`key=2` says nothing; `pin=` and `hash=` do"),
        ] {
            assert_eq!(text.parse::<Url>().map_err(|error| error.reason), Err(reason.to_owned()), "{text}");
        }
        let hash = "0123456789abcdef".repeat(4);
        for (query, reason) in [
            ("pin=12", "`12` is not a fingerprint"),
            ("hash=12", "`12` is not a BLAKE3 hash"),
            (&format!("hash={hash}&hash={hash}"), "it has two hashes; a file has one"),
        ] {
            let error = format!("anabranch://h:1/?{query}").parse::<Url>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_that_reads_as_it_is_written_or_an_error(text in "(anabranch://)?[a-z0-9.:/?=&%\\[\\]é-]{0,60}([?&](pin|hash)=[0-9a-f]{64}){0,2}") {
            if let Ok(url) = text.parse::<Url>() {
                prop_assert_eq!(url.to_string().parse(), Ok(url));
            }
        }
    }
}
