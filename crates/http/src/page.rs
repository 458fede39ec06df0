//! The page, and what may run in it: its own scripts and styles, and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use ring::digest::{SHA256, digest};

use crate::answer::{Body, HTML, whole};

/// The page with its policy.
pub struct Page {
    text: Bytes,
    policy: HeaderValue,
}

impl Page {
    /// A page of HTML.
    pub fn new(text: &str) -> Self {
        let (scripts, styles) = (hashes(text, "script"), hashes(text, "style"));
        let policy = format!(
            "default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        let policy = HeaderValue::from_str(&policy).expect("hashes are ASCII");
        Self { text: Bytes::copy_from_slice(text.as_bytes()), policy }
    }

    /// The page as an answer.
    pub fn answer(&self) -> Response<Body> {
        let mut response = whole(HTML, self.text.clone());
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        response
    }
}

/// The hashes of what stands in the elements of a kind, as a policy lists them; data are no scripts.
fn hashes(page: &str, kind: &str) -> String {
    let (open, close) = (format!("<{kind}"), format!("</{kind}>"));
    let mut all = Vec::new();
    let mut rest = page;
    while let Some(begin) = rest.find(&open) {
        rest = &rest[begin + open.len()..];
        let Some(end) = rest.find('>') else { break };
        let (head, inside) = (&rest[..end], &rest[end + 1..]);
        let Some(length) = inside.find(&close) else { break };
        if !head.contains("type=\"application/") {
            all.push(format!("'sha256-{}'", STANDARD.encode(digest(&SHA256, &inside.as_bytes()[..length]))));
        }
        rest = &inside[length..];
    }
    if all.is_empty() { "'none'".to_owned() } else { all.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_allows_what_the_page_has_and_nothing_else() {
        let page =
            "<style>a{}</style><script type=\"application/json\">{}</script><script type=\"module\">go()</script>";
        let page = Page::new(page);
        // As `printf 'go()' | openssl dgst -sha256 -binary | base64` has it.
        let policy = page.policy.to_str().unwrap();
        assert!(
            policy.contains("script-src 'sha256-5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw='; style-src 'sha256-"),
            "{policy}"
        );
        assert_eq!(policy.matches("sha256-").count(), 2);
        assert!(Page::new("<script>never ends").policy.to_str().unwrap().contains("script-src 'none'"));
    }
}
