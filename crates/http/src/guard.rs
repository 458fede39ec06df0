//! Requests that are refused before a route sees them, and the headers of all answers.
//!
//! No password is asked for, so only pages of the program itself may read. A name in `Host` that is not the program's is how
//! the page of another site reaches this address by a name of its own (DNS rebinding); an IP address in `Host` cannot be
//! bound anew. Browsers keep answers from pages of other sites, as nothing here allows them; those that say that another
//! site asks are refused besides.

use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode};

use crate::problem::Problem;

/// What stands on every answer; a page says what may run in it.
pub(crate) const HEADERS: [(&str, &str); 7] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    ("cache-control", "no-store"),
];

/// Puts [`HEADERS`] on an answer that does not have them yet.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
}

/// Refuses what must not be read.
pub(crate) fn check<B>(request: &Request<B>, hosts: &[String], hint: &str) -> Result<(), Problem> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here; ask with GET"));
    }
    let host = host(request.headers())?;
    let named = request.uri().authority().unwrap_or(&host);
    for authority in [&host, named] {
        if !is_own(authority.host(), hosts) {
            let detail = format!("`{}` is no name of this program; use its IP address{hint}", authority.host());
            return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail));
        }
    }
    let header = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
    // A link leads a person here, and no script; frames in other sites are refused by a header.
    let is_visit = header("sec-fetch-mode") == Some(b"navigate");
    let site = header("sec-fetch-site").unwrap_or(b"none");
    let is_same = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host.as_str()))
    };
    let origins = request.headers().get_all(ORIGIN);
    if !is_visit && !matches!(site, b"none" | b"same-origin") || !origins.iter().all(is_same) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "this page belongs to another server, which may not read this",
        ));
    }
    Ok(())
}

/// The host that a request names, which it does once.
fn host(headers: &HeaderMap) -> Result<Authority, Problem> {
    let mut all = headers.get_all(HOST).iter();
    let (Some(host), None) = (all.next(), all.next()) else {
        return Err(Problem::bad("a request names its host, once"));
    };
    let authority = Authority::try_from(host.as_bytes()).ok().filter(|authority| !authority.as_str().contains('@'));
    authority.ok_or_else(|| Problem::bad("the host of the request is no name and no address"))
}

/// Whether a name is one of the program's.
fn is_own(host: &str, hosts: &[String]) -> bool {
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || plain.parse::<std::net::IpAddr>().is_ok()
        || hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &str, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap(), &["paris.example".to_owned()], "")
            .map_or_else(|problem| problem.status, |()| 200)
    }

    #[test]
    fn only_names_of_the_program_and_addresses_may_be_asked() {
        for host in ["localhost", "LocalHost:80", "127.0.0.1:4436", "[::1]:4436", "192.0.2.1", "Paris.example:1"] {
            assert_eq!(status("GET", "/", &[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:4436", "paris.example.", "[::1"]
        {
            assert!(matches!(status("GET", "/", &[("host", host)]), 400 | 421), "{host}");
        }
        for headers in [&[][..], &[("host", "localhost"), ("host", "localhost")], &[("host", "a@localhost")]] {
            assert_eq!(status("GET", "/", headers), 400, "{headers:?}");
        }
        assert_eq!(status("GET", "http://evil.example/metrics", &[("host", "localhost")]), 421);
    }

    #[test]
    fn nothing_is_changed_and_no_other_site_reads() {
        let host = ("host", "localhost:4436");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "ODD"] {
            assert_eq!(status(method, "/", &[host]), 405, "{method}");
        }
        assert_eq!(status("HEAD", "/metrics", &[host]), 200);
        assert_eq!(status("GET", "/metrics", &[host, ("origin", "http://localhost:4436")]), 200);
        for origin in ["http://evil.example", "null", "http://localhost:1", "localhost:4436"] {
            assert_eq!(status("GET", "/metrics", &[host, ("origin", origin)]), 403, "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(status("GET", "/metrics", &[host, ("sec-fetch-site", site)]), 403);
            // A link may stand anywhere.
            let visit = [host, ("sec-fetch-site", site), ("sec-fetch-mode", "navigate")];
            assert_eq!((status("GET", "/", &visit), status("GET", "/metrics", &visit)), (200, 200));
        }
    }
}
