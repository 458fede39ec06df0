//! URLs of web servers: `http://HOST[:PORT]/PATH` and `https://...`.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use thiserror::Error;

/// Characters that are percent-encoded where a URL has them as they are.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'\\').add(b'^').add(b'{').add(b'|').add(b'}');

/// The longest URL in bytes.
const MOST_BYTES: usize = 8192;

/// The URL of a file at a web server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebUrl {
    /// Whether the connection is encrypted and the server verified.
    pub is_https: bool,
    /// Name or address of the host; IPv6 addresses without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Encoded path, from its slash on.
    path: String,
    /// Encoded query, from its question mark on; empty if there is none.
    query: String,
}

/// The reason why a text is not the URL of a file at a web server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{url}` is no URL of a file at a web server: {reason}")]
pub struct WebUrlError {
    url: String,
    reason: String,
}

impl WebUrl {
    /// Whether a text begins as such a URL does.
    pub fn is_meant(text: &str) -> bool {
        scheme(text).is_some_and(|(scheme, _)| scheme == "http" || scheme == "https")
    }

    /// The decoded name of the file: the last part of the path; `None` if the path ends with a slash, or the name cannot
    /// be that of a file.
    pub fn name(&self) -> Option<String> {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        let name = percent_decode_str(last).decode_utf8().ok()?;
        let is_plain = |c: char| c != '/' && c != '\\' && !c.is_control();
        (!matches!(&*name, "" | "." | "..") && name.chars().all(is_plain)).then(|| name.into_owned())
    }

    /// The host and, if it is not the usual one, the port, as requests name them.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let usual = if self.is_https { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// The path and the query, as requests name them.
    pub fn target(&self) -> String {
        format!("{}{}", self.path, self.query)
    }

    /// The URL that `reference` means in an answer from this one [rfc3986, sec. 5.2].
    ///
    /// # Errors
    /// If it is no URL of a web server.
    pub fn join(&self, reference: &str) -> Result<Self, WebUrlError> {
        if scheme(reference).is_some() {
            return reference.parse();
        }
        let scheme = if self.is_https { "https" } else { "http" };
        if reference.starts_with("//") {
            return format!("{scheme}:{reference}").parse();
        }
        let folder = &self.path[..=self.path.rfind('/').unwrap_or(0)];
        let path = match reference.chars().next() {
            None | Some('#') => self.target(),
            Some('/') => reference.to_owned(),
            Some('?') => format!("{}{reference}", self.path),
            Some(_) => format!("{folder}{reference}"),
        };
        format!("{scheme}://{}{path}", self.authority()).parse()
    }
}

/// The scheme of a URL in small letters, and what follows it.
fn scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| (scheme.to_ascii_lowercase(), rest))
}

/// The path without its parts `.` and `..` [rfc3986, sec. 5.2.4].
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let all: Vec<&str> = path.split('/').skip(1).collect();
    for (at, part) in all.iter().enumerate() {
        let is_last = at + 1 == all.len();
        match *part {
            "." | ".." => {
                if *part == ".." {
                    parts.pop();
                }
                if is_last {
                    parts.push("");
                }
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

impl fmt::Display for WebUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(formatter, "{scheme}://{}{}", self.authority(), self.target())
    }
}

impl FromStr for WebUrl {
    type Err = WebUrlError;

    fn from_str(text: &str) -> Result<Self, WebUrlError> {
        parse(text).map_err(|reason| WebUrlError { url: text.chars().take(200).collect(), reason })
    }
}

fn parse(text: &str) -> Result<WebUrl, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("it has {} bytes; it may have {MOST_BYTES}", text.len()));
    }
    let (scheme, rest) = scheme(text).ok_or("it does not begin with http:// or https://")?;
    let is_https = match scheme.as_str() {
        "http" => false,
        "https" => true,
        other => return Err(format!("`{other}` is not http or https")),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("it has a user name, which is not supported".to_owned());
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port).filter(|port| !port.is_empty())),
        _ => (authority, None),
    };
    let port = match port {
        Some(port) => port.parse().ok().filter(|&port| port > 0).ok_or_else(|| format!("`{port}` is no port"))?,
        None if is_https => 443,
        None => 80,
    };
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let escape = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    let path = if path.is_empty() { "/".to_owned() } else { escape(&without_dots(path)) };
    Ok(WebUrl { is_https, host: read_host(host)?, port, path, query: escape(query) })
}

/// The host without its brackets, in small letters.
fn read_host(host: &str) -> Result<String, String> {
    if let Some(v6) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        let address: std::net::Ipv6Addr = v6.parse().map_err(|_| format!("`{v6}` is no address"))?;
        return Ok(address.to_string());
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if host.is_empty() || host.len() > 253 || !host.chars().all(is_plain) {
        let shown = utf8_percent_encode(host, NON_ALPHANUMERIC);
        let advice = if host.is_ascii() { "" } else { "; write it in its ASCII form, which begins with xn--" };
        return Err(format!(
            "`{}` is no host{advice}",
            if host.is_ascii() { host.to_owned() } else { shown.to_string() }
        ));
    }
    Ok(host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> WebUrl {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_is_written_as_requests_need_it() {
        for (text, written) in [
            ("http://a.example", "http://a.example/"),
            ("HTTPS://A.Example:443/x y?q=1 2#part", "https://a.example/x%20y?q=1%202"),
            ("http://a:8080/./b/../c/é", "http://a:8080/c/%C3%A9"),
            ("http://[::1]:80/x", "http://[::1]/x"),
            ("http://a:/x%2Fy", "http://a/x%2Fy"),
            ("http://a?q", "http://a/?q"),
            ("http://a/..", "http://a/"),
        ] {
            assert_eq!(url(text).to_string(), written);
        }
        assert_eq!(
            (url("http://a:8080/b?c").authority(), url("http://a:8080/b?c").target()),
            ("a:8080".into(), "/b?c".into())
        );
    }

    #[test]
    fn the_name_of_the_file_stands_last_in_the_path() {
        for (text, name) in [
            ("http://a/b/c%20d.iso?e=f/g", Some("c d.iso")),
            ("http://a/b/", None),
            ("http://a", None),
            ("http://a/%2e%2e", None),
            ("http://a/b%2Fc", None),
            ("http://a/b%0Ac", None),
            ("http://a/%ff", None),
        ] {
            assert_eq!(url(text).name().as_deref(), name, "{text}");
        }
    }

    #[test]
    fn a_redirect_is_read_from_where_it_stands() {
        let base = url("https://a.example:8443/b/c?d");
        for (reference, joined) in [
            ("http://x/y", "http://x/y"),
            ("//x/y", "https://x/y"),
            ("/y", "https://a.example:8443/y"),
            ("y", "https://a.example:8443/b/y"),
            ("../y?z", "https://a.example:8443/y?z"),
            ("?z", "https://a.example:8443/b/c?z"),
            ("", "https://a.example:8443/b/c?d"),
        ] {
            assert_eq!(base.join(reference).unwrap().to_string(), joined, "{reference}");
        }
        assert!(base.join("ftp://x/y").is_err() && base.join("//user@x/").is_err());
    }

    #[test]
    fn what_is_no_url_is_refused_with_its_reason() {
        for (text, reason) in [
            ("ftp://a/b", "`ftp` is not http or https"),
            ("a/b", "it does not begin with http:// or https://"),
            ("http:///b", "`` is no host"),
            ("http://u:p@a/b", "it has a user name"),
            ("http://a:0/b", "`0` is no port"),
            ("http://a:x/b", "`x` is no port"),
            ("http://[1]/b", "`1` is no address"),
            ("http://mañana/b", "write it in its ASCII form"),
            ("http://a b/", "`a b` is no host"),
        ] {
            let error = text.parse::<WebUrl>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_that_reads_as_it_is_written_or_an_error(
            text in "(https?://)?[a-zA-Z0-9.:/?=&%\\[\\]é# @-]{0,60}",
            reference in "[a-z0-9.:/?=&%\\[\\]é# @-]{0,40}",
        ) {
            if let Ok(url) = text.parse::<WebUrl>() {
                prop_assert_eq!(url.to_string().parse(), Ok(url.clone()));
                prop_assert!(url.target().is_ascii() && url.target().starts_with('/'));
                if let Ok(joined) = url.join(&reference) {
                    prop_assert_eq!(joined.to_string().parse(), Ok(joined));
                }
            }
        }
    }
}
