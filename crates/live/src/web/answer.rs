//! The head of a web server's answer: what it says of the file, and whether it is the answer to the request.
//!
//! Nothing of the answer is believed beyond this: a body that does not fit is cut off by its reader.

use hyper::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LAST_MODIFIED,
    TRANSFER_ENCODING,
};
use hyper::{HeaderMap, StatusCode};
use thiserror::Error;

/// The longest validator that is kept.
const MOST_VALIDATOR: usize = 256;

/// The bytes of a file that are requested: from the first to the last.
pub type Range = std::ops::RangeInclusive<u64>;

/// What a web server says of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Size of the file in bytes, if the server gives it.
    pub size: Option<u64>,
    /// Whether the server sends parts of the file.
    pub takes_ranges: bool,
    /// Tag of the version of the file at this server.
    pub etag: Option<String>,
    /// Time of the last change of the file.
    pub last_modified: Option<String>,
}

/// The reason why an answer is of no use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum AnswerError {
    #[error("it has no such file ({0})")]
    NoFile(StatusCode),
    #[error("it refuses ({0})")]
    Refused(StatusCode),
    #[error("it cannot send now ({0})")]
    Busy(StatusCode),
    #[error("it answers with {0}, which is no answer to this request")]
    Strange(StatusCode),
    #[error("it sends the file compressed ({0}), though it was asked not to")]
    Encoded(String),
    #[error("it sends other bytes ({found}) than those that were asked for ({asked})")]
    WrongRange { found: String, asked: String },
    #[error("it sends several parts at once, where one was asked for")]
    SeveralParts,
    #[error("it sends {found} bytes where {asked} were asked for")]
    WrongLength { found: u64, asked: u64 },
    #[error("the file has changed there since the fetch began")]
    Changed,
    #[error("it sends no parts of files any more")]
    NoRanges,
}

impl AnswerError {
    /// Whether the same request may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Busy(_))
    }
}

impl Facts {
    /// Whether the file at the same server is still this one, as far as both answers say.
    ///
    /// Equal strong tags show that the bytes are the same. Equal weak tags (`W/"..."`) do not: two versions that mean the
    /// same may share one, so ranges of them must not be put together [rfc9110, sec. 8.8.1]. Then the times decide, as
    /// they do without tags. Tags that differ show a change, whether they are weak or strong.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_one_size = self.size.zip(other.size).is_none_or(|(a, b)| a == b);
        let is_one_time = self.last_modified.as_ref().zip(other.last_modified.as_ref()).is_none_or(|(a, b)| a == b);
        is_one_size
            && match self.etag.as_deref().zip(other.etag.as_deref()) {
                Some((a, b)) if opaque(a) != opaque(b) => false,
                Some((a, b)) if !is_weak(a) && !is_weak(b) => true,
                _ => is_one_time,
            }
    }
}

/// Whether a tag is one that several versions of a file may have.
fn is_weak(tag: &str) -> bool {
    tag.starts_with("W/")
}

/// A tag without the mark of weak ones.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// A header as text, if it is one that is not too long.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty() && text.len() <= MOST_VALIDATOR && !text.contains('\t')).then(|| text.to_owned())
}

/// Reads the head of an answer to a request for a range, or for the whole file if `asked` is `None`.
///
/// An answer with the whole file to a request for a range is no error: the server takes no ranges.
///
/// # Errors
/// If it is no answer to the request.
pub fn read_answer(status: StatusCode, headers: &HeaderMap, asked: Option<&Range>) -> Result<Facts, AnswerError> {
    let length = text(headers, &CONTENT_LENGTH).and_then(|text| text.parse::<u64>().ok());
    let (etag, last_modified) = (text(headers, &ETAG), text(headers, &LAST_MODIFIED));
    let facts = |size, takes_ranges| Facts { size, takes_ranges, etag, last_modified };
    check_encoding(headers)?;
    match (status, asked) {
        (StatusCode::OK, _) => {
            // The length of a body in chunks is not known before its end.
            let length = length.filter(|_| !headers.contains_key(TRANSFER_ENCODING));
            Ok(facts(length, false))
        }
        (StatusCode::PARTIAL_CONTENT, Some(asked)) => {
            if text(headers, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("multipart/")) {
                return Err(AnswerError::SeveralParts);
            }
            let said = text(headers, &CONTENT_RANGE).unwrap_or_default();
            let size = check_range(&said, asked)?;
            let wanted = asked.end() - asked.start() + 1;
            match length {
                Some(found) if found != wanted => Err(AnswerError::WrongLength { found, asked: wanted }),
                _ => Ok(facts(size, true)),
            }
        }
        // An empty file has no range; servers say its size in this way.
        (StatusCode::RANGE_NOT_SATISFIABLE, Some(asked)) if *asked.start() == 0 => {
            let said = text(headers, &CONTENT_RANGE).unwrap_or_default();
            let is_empty = said.strip_prefix("bytes").is_some_and(|said| said.trim() == "*/0");
            if is_empty { Ok(facts(Some(0), true)) } else { Err(AnswerError::Strange(status)) }
        }
        (StatusCode::NOT_FOUND | StatusCode::GONE, _) => Err(AnswerError::NoFile(status)),
        (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS, _) => Err(AnswerError::Busy(status)),
        _ if status.is_server_error() => Err(AnswerError::Busy(status)),
        _ if status.is_client_error() => Err(AnswerError::Refused(status)),
        _ => Err(AnswerError::Strange(status)),
    }
}

/// Reads the head of an answer from its parts; `None` if they are no head of HTTP.
pub fn read_head(status: u16, headers: &[(&str, &[u8])], asked: Option<&Range>) -> Option<Result<Facts, AnswerError>> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        map.try_append(name, HeaderValue::from_bytes(value).ok()?).ok()?;
    }
    Some(read_answer(StatusCode::from_u16(status).ok()?, &map, asked))
}

/// Checks that the body is the file as it is.
fn check_encoding(headers: &HeaderMap) -> Result<(), AnswerError> {
    for encoding in headers.get_all(CONTENT_ENCODING) {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).trim().to_ascii_lowercase();
        if !matches!(encoding.as_str(), "" | "identity") {
            return Err(AnswerError::Encoded(encoding.chars().take(40).collect()));
        }
    }
    Ok(())
}

/// Checks `bytes FIRST-LAST/SIZE`; returns the size of the file, if it is given.
fn check_range(said: &str, asked: &Range) -> Result<Option<u64>, AnswerError> {
    let wrong = || AnswerError::WrongRange {
        found: if said.is_empty() { "without saying which".to_owned() } else { said.chars().take(60).collect() },
        asked: format!("bytes {}-{}", asked.start(), asked.end()),
    };
    let (range, size) = said.strip_prefix("bytes ").and_then(|said| said.split_once('/')).ok_or_else(wrong)?;
    let (first, last) = range.trim().split_once('-').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let size = if size.trim() == "*" { None } else { Some(number(size)?) };
    let is_asked = number(first)? == *asked.start() && number(last)? == *asked.end();
    if is_asked && size.is_none_or(|size| size > *asked.end()) { Ok(size) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read<const N: usize>(
        status: u16,
        headers: [(&str, &str); N],
        asked: Option<(u64, u64)>,
    ) -> Result<Facts, AnswerError> {
        let headers = headers.map(|(name, value)| (name, value.as_bytes()));
        let range = asked.map(|(first, last)| first..=last);
        read_head(status, &headers, range.as_ref()).expect("it is a head of HTTP")
    }

    #[test]
    fn a_part_says_how_large_the_file_is() {
        let facts = read(206, [("content-range", "bytes 0-0/300"), ("etag", "\"a\"")], Some((0, 0))).unwrap();
        assert_eq!((facts.size, facts.takes_ranges, facts.etag.as_deref()), (Some(300), true, Some("\"a\"")));
        assert_eq!(read(206, [("content-range", "bytes 5-9/*")], Some((5, 9))).unwrap().size, None);
        assert_eq!(read(416, [("content-range", "bytes */0")], Some((0, 0))).unwrap().size, Some(0));
    }

    #[test]
    fn the_whole_file_is_an_answer_of_a_server_without_ranges() {
        let facts = read(200, [("content-length", "300")], Some((0, 0))).unwrap();
        assert_eq!((facts.size, facts.takes_ranges), (Some(300), false));
        let chunked = [("content-length", "300"), ("transfer-encoding", "chunked")];
        assert_eq!(read(200, chunked, None).unwrap().size, None, "the length in the head does not count");
    }

    #[test]
    fn an_answer_to_another_request_is_refused() {
        let range = |said| read(206, [("content-range", said)], Some((10, 19))).map_err(|error| error.to_string());
        for said in [
            "bytes 0-9/300",
            "bytes 10-18/300",
            "bytes 10-20/300",
            "bytes 10-19/15",
            "bytes",
            "10-19/300",
            "",
            "bytes -/",
        ] {
            let error = range(said).unwrap_err();
            assert!(error.contains("than those that were asked for (bytes 10-19)"), "{error}");
        }
        let long = [("content-range", "bytes 10-19/300"), ("content-length", "11")];
        assert_eq!(read(206, long, Some((10, 19))), Err(AnswerError::WrongLength { found: 11, asked: 10 }));
        let parts = [("content-type", "multipart/byteranges; boundary=x")];
        assert_eq!(read(206, parts, Some((10, 19))), Err(AnswerError::SeveralParts));
        assert!(matches!(read(206, [], None), Err(AnswerError::Strange(_))));
        assert!(
            matches!(read(200, [("content-encoding", "GZip")], None), Err(AnswerError::Encoded(kind)) if kind == "gzip")
        );
        assert!(read(200, [("content-encoding", "identity")], None).is_ok());
    }

    #[test]
    fn a_server_that_is_busy_is_asked_again_and_others_are_not() {
        for (status, is_passing) in [
            (503, true),
            (429, true),
            (408, true),
            (404, false),
            (403, false),
            (410, false),
            (416, false),
            (302, false),
        ] {
            assert_eq!(read(status, [], Some((5, 9))).unwrap_err().is_passing(), is_passing, "{status}");
        }
    }

    #[test]
    fn a_file_is_the_same_by_its_tag_or_else_by_its_time() {
        let facts = |etag: Option<&str>, time: Option<&str>| Facts {
            etag: etag.map(str::to_owned),
            last_modified: time.map(str::to_owned),
            ..Facts::default()
        };
        assert!(facts(Some("\"a\""), Some("1")).is_same(&facts(Some("\"a\""), Some("2"))));
        assert!(!facts(Some("\"a\""), Some("1")).is_same(&facts(Some("\"b\""), Some("1"))));
        assert!(!facts(Some("\"a\""), Some("1")).is_same(&facts(None, Some("2"))));
        assert!(facts(None, None).is_same(&facts(Some("\"a\""), Some("2"))));
        let sized = |size| Facts { size: Some(size), ..Facts::default() };
        assert!(!sized(1).is_same(&sized(2)));
    }

    #[test]
    fn a_weak_tag_does_not_show_that_the_bytes_are_the_same() {
        let facts = |etag: &str, time: Option<&str>| Facts {
            etag: Some(etag.to_owned()),
            last_modified: time.map(str::to_owned),
            ..Facts::default()
        };
        let (weak, strong) = ("W/\"a\"", "\"a\"");
        for (one, other) in [(weak, weak), (weak, strong), (strong, weak)] {
            assert!(!facts(one, Some("1")).is_same(&facts(other, Some("2"))), "the times differ");
            assert!(facts(one, Some("1")).is_same(&facts(other, Some("1"))));
            assert!(facts(one, None).is_same(&facts(other, Some("1"))), "nothing says that it has changed");
        }
        assert!(!facts(weak, Some("1")).is_same(&facts("W/\"b\"", Some("1"))), "a version with another meaning");
    }

    proptest! {
        #[test]
        fn any_head_is_read_or_refused(
            status in 100..600u16,
            said in "(bytes )?[0-9*-]{0,8}/?[0-9*]{0,22}",
            length in "[0-9]{0,25}",
            first in 0..1000u64,
            more in 0..1000u64,
        ) {
            let headers = [("content-range", said.as_str()), ("content-length", length.as_str())];
            let asked = (first, first + more);
            if let Ok(facts) = read(status, headers, Some(asked)) && status == 206 {
                prop_assert!(facts.takes_ranges && facts.size.is_none_or(|size| size > asked.1));
            }
        }
    }
}
