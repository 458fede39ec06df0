//! Metalink files [rfc5854]: the size, the hashes and the mirrors of files; also those of the older version 3.

use roxmltree::{Document, Node, ParsingOptions};
use thiserror::Error;

use crate::chunks::Pieces;
use crate::hash::{Algorithm, FileHash, HashError};
use crate::name::{Name, NameError};

/// Greatest size of a Metalink file in bytes.
pub const MOST_BYTES: usize = 8 << 20;

/// Greatest number of elements, attributes and texts.
const MOST_NODES: u32 = 1 << 20;

/// Priority of a mirror that has none: the lowest [rfc5854, sec. 4.2.16.2].
const LAST: u32 = 999_999;

/// Greatest preference of a mirror in version 3.
const MOST_PREFERENCE: u32 = 100;

/// What a Metalink file says of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Name of the file, which leads nowhere else.
    pub name: Name,
    /// Size of the file in bytes.
    pub size: Option<u64>,
    /// Hashes of the file by known hash functions, the strongest first.
    pub hashes: Vec<FileHash>,
    /// Hashes of its pieces by the strongest known hash function.
    pub pieces: Option<Pieces>,
    /// Addresses of mirrors by http or https, the best first.
    pub urls: Vec<String>,
}

/// The reason why a text is not a Metalink file.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum MetalinkError {
    #[error("it has {0} bytes; a Metalink file may have {MOST_BYTES}")]
    TooLarge(usize),
    #[error("it is not UTF-8")]
    Text,
    #[error("it is not XML: {0}")]
    Xml(#[from] roxmltree::Error),
    #[error("its first element is `{0}`, not `metalink`")]
    Other(String),
    #[error("it describes no file")]
    Empty,
    #[error("line {line}: a file has no name")]
    NoName { line: u32 },
    #[error("line {line}: {error}")]
    Name { line: u32, error: NameError },
    #[error("line {line}: {error}")]
    Hash { line: u32, error: HashError },
    #[error("line {line}: `{text}` is no {what}")]
    Number { line: u32, text: String, what: &'static str },
}

/// Reads a Metalink file.
///
/// # Errors
/// If it is something else, or says something that cannot be.
pub fn read(bytes: &[u8]) -> Result<Vec<Described>, MetalinkError> {
    if bytes.len() > MOST_BYTES {
        return Err(MetalinkError::TooLarge(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| MetalinkError::Text)?;
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text.trim_start_matches('\u{feff}'), options)?;
    let root = document.root_element();
    if root.tag_name().name() != "metalink" {
        return Err(MetalinkError::Other(shortened(root.tag_name().name())));
    }
    // Version 3 has the files in an element of their own.
    let holder = children(root, "files").next().unwrap_or(root);
    let files = children(holder, "file").map(file).collect::<Result<Vec<_>, _>>()?;
    if files.is_empty() { Err(MetalinkError::Empty) } else { Ok(files) }
}

/// The child elements of this name.
fn children<'a, 'input>(node: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The text of an element without blanks around it.
fn text<'a>(node: Node<'a, '_>) -> &'a str {
    node.text().unwrap_or_default().trim()
}

/// The line in which an element begins.
fn line(node: Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

/// The beginning of a text for an error.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn number<T: std::str::FromStr>(node: Node<'_, '_>, text: &str, what: &'static str) -> Result<T, MetalinkError> {
    text.parse().map_err(|_| MetalinkError::Number { line: line(node), text: shortened(text), what })
}

fn file(node: Node<'_, '_>) -> Result<Described, MetalinkError> {
    let name = node.attribute("name").ok_or(MetalinkError::NoName { line: line(node) })?;
    let name = name.parse().map_err(|error| MetalinkError::Name { line: line(node), error })?;
    let size = children(node, "size").next().map(|size| number(size, text(size), "size in bytes")).transpose()?;
    let verification = children(node, "verification").next().unwrap_or(node);
    let hashes = children(verification, "hash").map(hash).collect::<Result<Vec<_>, _>>()?;
    let mut hashes: Vec<FileHash> = hashes.into_iter().flatten().collect();
    hashes.sort_by_key(|hash| std::cmp::Reverse(hash.algorithm()));
    let all = children(verification, "pieces").map(pieces).collect::<Result<Vec<_>, _>>()?;
    let pieces = all.into_iter().flatten().max_by_key(|pieces| pieces.algorithm);
    let resources = children(node, "resources").next().unwrap_or(node);
    let mut urls = children(resources, "url").map(url).collect::<Result<Vec<_>, _>>()?;
    urls.retain(|(_, url)| is_web(url));
    urls.sort_by_key(|(priority, _)| *priority);
    Ok(Described { name, size, hashes, pieces, urls: urls.into_iter().map(|(_, url)| url).collect() })
}

/// The hash of a file; `None` if its hash function is not known.
fn hash(node: Node<'_, '_>) -> Result<Option<FileHash>, MetalinkError> {
    let algorithm = node.attribute("type").and_then(Algorithm::named);
    algorithm.map(|algorithm| digits(node, algorithm)).transpose()
}

fn digits(node: Node<'_, '_>, algorithm: Algorithm) -> Result<FileHash, MetalinkError> {
    let text = text(node);
    FileHash::read(algorithm, text).map_err(|error| MetalinkError::Hash {
        line: line(node),
        error: match error {
            HashError::Digits { name, digits, .. } => HashError::Digits { text: shortened(text), name, digits },
            other => other,
        },
    })
}

/// The hashes of pieces; `None` if their hash function is not known, or they cannot be chunks.
fn pieces(node: Node<'_, '_>) -> Result<Option<Pieces>, MetalinkError> {
    let Some(algorithm) = node.attribute("type").and_then(Algorithm::named) else { return Ok(None) };
    let bytes = number(node, node.attribute("length").unwrap_or_default(), "length of pieces")?;
    let hashes = children(node, "hash").map(|hash| digits(hash, algorithm)).collect::<Result<_, _>>()?;
    Ok(Some(Pieces { algorithm, bytes, hashes }).filter(Pieces::are_usable))
}

/// The priority and the address of a mirror; the smallest priority is the best.
fn url(node: Node<'_, '_>) -> Result<(u32, String), MetalinkError> {
    let priority = match (node.attribute("priority"), node.attribute("preference")) {
        (Some(text), _) => number(node, text, "priority")?,
        (None, Some(text)) => MOST_PREFERENCE.saturating_sub(number(node, text, "preference")?),
        (None, None) => LAST,
    };
    Ok((priority, text(node).to_owned()))
}

/// Whether a URL is one by http or https.
fn is_web(url: &str) -> bool {
    url.split_once("://")
        .is_some_and(|(scheme, _)| ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const SHA1: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";

    fn current() -> String {
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
            <metalink xmlns="urn:ietf:params:xml:ns:metalink">
              <file name="maps/abc.iso">
                <size>3</size>
                <hash type="md5">900150983cd24fb0d6963f7d28e17f72</hash>
                <hash type="sha-256">{SHA256}</hash>
                <hash type="whirlpool">12</hash>
                <pieces length="262144" type="sha-1"><hash>{SHA1}</hash></pieces>
                <url location="de" priority="2">http://two.example/abc.iso</url>
                <url priority="1"> https://one.example/abc.iso </url>
                <url>HTTP://last.example/abc.iso</url>
                <url priority="1">ftp://no.example/abc.iso</url>
                <metaurl mediatype="torrent">http://no.example/abc.torrent</metaurl>
              </file>
            </metalink>"#
        )
    }

    #[test]
    fn size_hashes_pieces_and_mirrors_are_read() {
        let files = read(current().as_bytes()).unwrap();
        let [file] = &files[..] else { panic!("{files:?}") };
        assert_eq!((file.name.as_str(), file.size), ("maps/abc.iso", Some(3)));
        let names: Vec<_> = file.hashes.iter().map(|hash| hash.algorithm().name()).collect();
        assert_eq!(names, ["sha256", "md5"], "the strongest first, without the unknown one");
        let pieces = file.pieces.as_ref().unwrap();
        assert_eq!((pieces.algorithm, pieces.bytes, pieces.hashes.len()), (Algorithm::Sha1, 262_144, 1));
        let urls = ["https://one.example/abc.iso", "http://two.example/abc.iso", "HTTP://last.example/abc.iso"];
        assert_eq!(file.urls, urls);
    }

    #[test]
    fn version_3_is_read_too() {
        let text = format!(
            r#"<metalink version="3.0" xmlns="http://www.metalinker.org/"><files><file name="a">
            <size>3</size><verification><hash type="sha1">{SHA1}</hash>
            <pieces length="262144" type="sha1"><hash piece="0">{SHA1}</hash></pieces></verification>
            <resources><url type="http" preference="10">http://slow.example/a</url>
            <url type="http" preference="90">http://fast.example/a</url></resources></file></files></metalink>"#
        );
        let file = read(text.as_bytes()).unwrap().remove(0);
        assert_eq!(file.urls, ["http://fast.example/a", "http://slow.example/a"]);
        assert!(file.hashes[0].algorithm() == Algorithm::Sha1 && file.pieces.is_some());
    }

    #[test]
    fn pieces_too_large_for_memory_are_left_out() {
        let text = current().replace("262144", "1000000000");
        assert_eq!(read(text.as_bytes()).unwrap()[0].pieces, None);
    }

    #[test]
    fn what_is_no_metalink_file_is_refused_with_its_reason() {
        let entities = r#"<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><metalink>&b;</metalink>"#;
        for (text, reason) in [
            ("", "it is not XML"),
            ("<html/>", "its first element is `html`, not `metalink`"),
            ("<metalink/>", "it describes no file"),
            ("<metalink><file/></metalink>", "line 1: a file has no name"),
            ("<metalink><file name='../x'/></metalink>", "leads out of the shared directory"),
            ("<metalink><file name='x'><size>-1</size></file></metalink>", "`-1` is no size in bytes"),
            ("<metalink><file name='x'><hash type='md5'>12</hash></file></metalink>", "it must be 32 hexadecimal"),
            ("<metalink>\n<file name='x'><url priority='a'>http://x</url></file></metalink>", "line 2: `a` is no prio"),
            (entities, "it is not XML"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert!(matches!(read(&vec![b' '; MOST_BYTES + 1]), Err(MetalinkError::TooLarge(_))));
    }

    #[test]
    fn elements_within_elements_without_end_are_refused_or_read() {
        let deep = format!("<metalink>{}{}</metalink>", "<a>".repeat(5_000), "</a>".repeat(5_000));
        assert!(read(deep.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_damage_leaves_a_metalink_file_or_an_error(cut in 0..1500usize, put in "[<>&a-z\"/=]{0,12}") {
            let text = current();
            let cut = text.floor_char_boundary(cut.min(text.len()));
            let _ = read(format!("{}{put}{}", &text[..cut], &text[cut..]).as_bytes());
            if let Ok(files) = read(format!("{}{put}", &text[..cut]).as_bytes()) {
                prop_assert!(!files.is_empty());
            }
        }
    }
}
