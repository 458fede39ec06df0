//! Connections in loops: `relays` and `after` of a connection, and `[relays]`.

use std::collections::HashMap;
use std::ops::Range;

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span};
use anabranch_proto::transport::Told;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::after::AfterChoice;
use super::connection::{ConnectionTable, PathChoice};
use super::words::text_or_table;

/// `[relays]`: settings of the nodes where one loop of a connection ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RelaysTable {
    /// The most of each loop that may wait at a relay for the next loop; when it is full, the loop before stops.
    pub buffer: BytesText,
    /// Marking of packets at relays, which slows the loop before.
    pub marking: MarkingChoice,
    /// Rate of the next loop that a relay reports to the loop before.
    pub told: Told,
}

impl Default for RelaysTable {
    fn default() -> Self {
        Self {
            buffer: BytesText(Bytes(16_000_000)),
            marking: MarkingChoice::Word(MarkingWord::Backlog),
            told: Told::Through,
        }
    }
}

/// The marking of packets at relays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MarkingChoice {
    /// A rule without a number.
    Word(MarkingWord),
    /// A rule with a number.
    Number(MarkingNumber),
}

/// A rule without a number for the marking of packets at relays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkingWord {
    /// No packets are marked.
    Never,
    /// Packets are marked at random. The probability is the backlog divided by what the next loop sends while the loop
    /// before learns of marks: in a round trip of it, and the time for which its source remembers marks.
    Backlog,
    /// Packets are marked at random. The probability is that at which the loop before rests at its share of the next
    /// loop: its weight, divided by the sum of the weights of all loops that end there.
    Weights,
}

/// A rule with a number for the marking of packets at relays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkingNumber {
    /// Packets are marked at random. The probability is the backlog divided by what the next loop sends in this time.
    Backlog(#[serde(deserialize_with = "some_time")] SpanText),
    /// This share of packets is marked at random, 0 to 1.
    Share(#[serde(deserialize_with = "part")] f64),
}

impl From<MarkingNumber> for MarkingChoice {
    fn from(number: MarkingNumber) -> Self {
        Self::Number(number)
    }
}

impl<'de> Deserialize<'de> for MarkingChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "\"never\", \"backlog\", \"weights\", { backlog = \"2 ms\" } or { share = 0.4 }";
        text_or_table::<_, MarkingNumber, _>(deserializer, expected, |word| match word {
            "never" => Ok(Self::Word(MarkingWord::Never)),
            "backlog" => Ok(Self::Word(MarkingWord::Backlog)),
            "weights" => Ok(Self::Word(MarkingWord::Weights)),
            other => Err(format!("marking is `{other}`; give {expected}")),
        })
    }
}

fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let span = SpanText::deserialize(deserializer)?;
    if span.0 > Span(0) { Ok(span) } else { Err(D::Error::custom("the time is 0; it must be longer")) }
}

fn part<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let part = f64::deserialize(deserializer)?;
    let message = || D::Error::custom(format!("the share is {part}; it must be 0 to 1"));
    if (0.0..=1.0).contains(&part) { Ok(part) } else { Err(message()) }
}

/// Replaces each connection with `relays` by a connection for each of its loops: `film/1`, and `film/2` after that.
///
/// # Errors
/// The place of a mistake, and how to correct it.
pub fn divide(
    connections: Vec<Spanned<ConnectionTable>>,
) -> Result<Vec<Spanned<ConnectionTable>>, (Range<usize>, String)> {
    let mut divided = Vec::with_capacity(connections.len());
    for connection in connections {
        let Some(relays) = &connection.get_ref().relays else {
            divided.push(connection);
            continue;
        };
        let (span, place) = (connection.span(), relays.span());
        let loops = loops(connection.get_ref()).map_err(|reason| (place, reason))?;
        divided.extend(loops.into_iter().map(|table| Spanned::new(span.clone(), table)));
    }
    Ok(divided)
}

/// The loops of a connection with `relays`.
fn loops(table: &ConnectionTable) -> Result<Vec<ConnectionTable>, String> {
    let relays = table.relays.as_ref().map_or(&[][..], |relays| relays.get_ref());
    let source = table.source.clone().ok_or("`relays` of a connection that has no one `source`; name it")?;
    let name = table.name.clone().unwrap_or_else(|| format!("{source}>{}", table.target));
    let at = |reason: String| format!("connection `{name}`: {reason}");
    if relays.is_empty() {
        return Err(at("`relays` names no node; name one or more, or leave it out".to_owned()));
    }
    if table.links.is_some() {
        return Err(at("`relays` of a connection whose paths are given by links; give them by nodes".to_owned()));
    }
    let ends: Vec<&String> = std::iter::once(&source).chain(relays).chain([&table.target]).collect();
    let protocols = table.loops.as_deref().unwrap_or_default();
    if !protocols.is_empty() && protocols.len() != ends.len() - 1 {
        let (has, loops) = (protocols.len(), ends.len() - 1);
        return Err(at(format!("`loops` names {has} protocols for {loops} loops; name one for each")));
    }
    let parts = parts(table, &ends).map_err(at)?;
    let one = |(i, paths): (usize, Option<Spanned<PathChoice>>)| {
        let first = (i == 0).then_some(table);
        ConnectionTable {
            name: Some(format!("{name}/{}", i + 1)),
            source: Some(ends[i].clone()),
            target: ends[i + 1].clone(),
            paths,
            protocol: protocols.get(i).cloned().or_else(|| table.protocol.clone()),
            demand: first.and_then(|table| table.demand),
            demand_changes: first.and_then(|table| table.demand_changes.clone()),
            amount: first.and_then(|table| table.amount),
            after: first.map_or_else(
                || {
                    let before = AfterChoice::Equal(format!("{name}/{i}"));
                    table.relays.as_ref().map(|relays| Spanned::new(relays.span(), vec![before]))
                },
                |table| table.after.clone(),
            ),
            relays: None,
            loops: None,
            ..table.clone()
        }
    };
    Ok(parts.into_iter().enumerate().map(one).collect())
}

/// The paths of each loop, as far as they are given.
fn parts(table: &ConnectionTable, ends: &[&String]) -> Result<Vec<Option<Spanned<PathChoice>>>, String> {
    let Some(paths) = &table.paths else { return Ok(vec![None; ends.len() - 1]) };
    let span = Spanned::span(paths);
    let PathChoice::Nodes(lists) = paths.get_ref() else { return Ok(vec![Some(paths.clone()); ends.len() - 1]) };
    let mut of_loops: Vec<Vec<Vec<String>>> = vec![Vec::new(); ends.len() - 1];
    for (number, nodes) in lists.iter().enumerate() {
        let places: HashMap<&String, usize> = nodes.iter().enumerate().map(|(place, node)| (node, place)).collect();
        let at = |end: &&String| places.get(*end).copied();
        let cuts: Option<Vec<usize>> = ends.iter().map(at).collect();
        let cuts = cuts.filter(|cuts| cuts.is_sorted() && cuts[0] == 0 && cuts[cuts.len() - 1] == nodes.len() - 1);
        let Some(cuts) = cuts else {
            let names: Vec<String> = ends.iter().map(|end| format!("`{end}`")).collect();
            return Err(format!("path {} does not lead over {} in this order; let it", number + 1, names.join(", ")));
        };
        for (part, cut) in of_loops.iter_mut().zip(cuts.windows(2)) {
            let nodes = nodes[cut[0]..=cut[1]].to_vec();
            if !part.contains(&nodes) {
                part.push(nodes);
            }
        }
    }
    Ok(of_loops.into_iter().map(|lists| Some(Spanned::new(span.clone(), PathChoice::Nodes(lists)))).collect())
}
