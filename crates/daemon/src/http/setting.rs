//! Where an agent answers by HTTP, as its file says it.

use std::fmt;
use std::net::SocketAddr;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Where an agent answers by HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// The address.
    pub listen: SocketAddr,
    /// Whether other machines may reach it.
    pub open: bool,
    /// The names, beside `localhost`, by which it may be asked; any IP address may be used.
    pub hosts: Vec<String>,
}

/// The setting as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    listen: SocketAddr,
    #[serde(default)]
    open: bool,
    #[serde(default)]
    hosts: Vec<String>,
}

impl Http {
    /// Checks that an address that others can reach is wanted.
    pub(crate) fn check(&self) -> Result<(), String> {
        let listen = self.listen;
        if !self.open && !listen.ip().is_loopback() {
            return Err(format!(
                "http: other machines can reach {listen}, and would read without a password what the agent shows; use \
                 \"127.0.0.1:{port}\", or write http = {{ listen = \"{listen}\", open = true }}",
                port = listen.port()
            ));
        }
        let is_name = |host: &String| {
            !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        };
        match self.hosts.iter().find(|host| !is_name(host)) {
            Some(host) => {
                Err(format!("http: `{host}` is no name of a host; write it without a port, such as \"paris\""))
            }
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for Http {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Reads an address alone, or a table.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Http;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an address such as \"127.0.0.1:4436\", or a table with `listen`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Http, E> {
        let wrong = |_| E::custom(format!("`{text}` is no address with a port, such as \"127.0.0.1:4436\""));
        let listen = text.parse().map_err(wrong)?;
        Ok(Http { listen, open: false, hosts: Vec::new() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Http, A::Error> {
        let Table { listen, open, hosts } = Table::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Http { listen, open, hosts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct File {
        http: Http,
    }

    fn read(text: &str) -> Result<Http, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        file.http.check()?;
        Ok(file.http)
    }

    #[test]
    fn an_address_that_others_can_reach_has_to_be_wanted() {
        let loopback = read("http = \"127.0.0.1:4436\"").unwrap();
        assert_eq!((loopback.open, loopback.hosts.len()), (false, 0));
        assert!(read("http = \"[::1]:4436\"").is_ok());
        let said = read("http = \"0.0.0.0:4436\"").unwrap_err();
        assert!(said.contains("write http = { listen = \"0.0.0.0:4436\", open = true }"), "{said}");
        assert!(read("http = { listen = \"0.0.0.0:4436\" }").is_err());
        let open = read("http = { listen = \"0.0.0.0:4436\", open = true, hosts = [\"paris.example\"] }").unwrap();
        assert!(open.open);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, said) in [
            ("http = \"localhost\"", "`localhost` is no address with a port"),
            ("http = 4436", "an address such as"),
            ("http = { listen = \"127.0.0.1:1\", opne = true }", "unknown field `opne`"),
            ("http = { open = true }", "missing field `listen`"),
            ("http = { listen = \"127.0.0.1:1\", hosts = [\"a:1\"] }", "`a:1` is no name of a host"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
