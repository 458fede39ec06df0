//! What mirrors said of an unfinished file: kept beside its journal, so that a continued fetch notices that the file has
//! changed there.
//!
//! ```text
//! head     anabranch mirrors 1
//! line     URL <tab> entity tag or nothing <tab> time of the last change or nothing
//! ```

use crate::web::{Facts, WebUrl};

/// First line of the list.
pub const HEAD: &str = "anabranch mirrors 1\n";

/// The most bytes of a list that are read.
pub const MOST_BYTES: u64 = 1 << 20;

/// The line of a mirror.
pub fn line(url: &WebUrl, facts: &Facts) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{url}\t{}\t{}\n", part(&facts.etag), part(&facts.last_modified))
}

/// Reads a list; a line that a crash has cut off is ignored. `None` if it is something else.
pub fn read(text: &[u8]) -> Option<Vec<(WebUrl, Facts)>> {
    if HEAD.as_bytes().starts_with(text) {
        return Some(Vec::new());
    }
    let text = std::str::from_utf8(text).ok()?.strip_prefix(HEAD)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mirror = |line: &str| {
        let mut parts = line.split('\t');
        let (url, etag, time) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some((url, Facts { etag: part(etag), last_modified: part(time), ..Facts::default() }))
    };
    Some(whole.lines().filter_map(mirror).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mirror(url: &str, etag: Option<&str>, time: Option<&str>) -> (WebUrl, Facts) {
        let (etag, last_modified) = (etag.map(str::to_owned), time.map(str::to_owned));
        (url.parse().unwrap(), Facts { etag, last_modified, ..Facts::default() })
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let all = [
            mirror("http://a/x", Some("\"1\""), Some("Wed, 21 Oct 2015 07:28:00 GMT")),
            mirror("https://b:8443/x?y", None, None),
        ];
        let lines: String = all.iter().map(|(url, facts)| line(url, facts)).collect();
        let text = format!("{HEAD}{lines}");
        assert_eq!(read(text.as_bytes()).unwrap(), all);
        assert_eq!(read(&text.as_bytes()[..text.len() - 1]).unwrap(), all[..1], "half a line counts for nothing");
        assert_eq!(read(b"anabr").unwrap(), [], "and so does half a head");
        assert_eq!(read(b"something else\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_list_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&bytes);
            let _ = read(&[HEAD.as_bytes(), &bytes].concat());
        }
    }
}
