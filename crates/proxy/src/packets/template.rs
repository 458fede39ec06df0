//! The path of a request for packets [rfc9298, sec. 2]: the target is in it.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::target::{Host, Target};

/// What comes before the host.
const PREFIX: &str = "/.well-known/masque/udp/";

/// The path of a request for a target.
pub(crate) fn path(target: &Target) -> String {
    let host = match &target.host {
        Host::Name(name) => name.clone(),
        Host::Address(address) => address.to_string(),
    };
    // Dots and the like are no trouble in a path, and easier to read.
    let host = utf8_percent_encode(&host, NON_ALPHANUMERIC).to_string();
    format!("{PREFIX}{}/{}/", host.replace("%2E", ".").replace("%2D", "-").replace("%5F", "_"), target.port)
}

/// The target of a path; nothing if there is none.
pub(crate) fn target(path: &str) -> Option<Target> {
    let (host, rest) = path.strip_prefix(PREFIX)?.split_once('/')?;
    let port = rest.strip_suffix('/').unwrap_or(rest);
    let host = percent_decode_str(host).decode_utf8().ok()?;
    let is_digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| is_digits && *port > 0)?;
    Some(Target { host: Host::parse(&host).ok()?, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_standard() {
        for (text, written) in [
            ("192.0.2.6:443", "/.well-known/masque/udp/192.0.2.6/443/"),
            ("[2001:db8::42]:443", "/.well-known/masque/udp/2001%3Adb8%3A%3A42/443/"),
            ("target-1.example:53", "/.well-known/masque/udp/target-1.example/53/"),
        ] {
            let wanted: Target = text.parse().unwrap();
            assert_eq!(path(&wanted), written);
            assert_eq!(target(written), Some(wanted));
        }
        for wrong in [
            "/",
            "/.well-known/masque/udp/192.0.2.6/",
            "/.well-known/masque/udp/192.0.2.6/0/",
            "/.well-known/masque/udp/192.0.2.6/+1/",
            "/.well-known/masque/udp/a b/53/",
            "/.well-known/masque/udp/a/53/x",
            "/.well-known/masque/ip/a/53/",
            "/.well-known/masque/udp/%ff/53/",
        ] {
            assert_eq!(target(wrong), None, "{wrong}");
        }
    }
}
