//! The origin of a connection's data: one node that sends, or several nodes that answer requests.

use anabranch_core::{ConnectionId, NodeId, Span, Time};
use anabranch_plan::{Fetch, Server};
use anabranch_proto::Protocol;

use crate::file::connection::ConnectionTable;
use crate::file::sources::SourceChoice;

/// The nodes that a `[[connection]]` table names as its sources, in order.
///
/// # Errors
/// If the names are wrong: why, and what they may be.
pub(super) fn source_names(table: &ConnectionTable) -> Result<Vec<&str>, String> {
    match (&table.source, &table.sources) {
        (Some(source), None) => Ok(vec![source]),
        (None, Some(sources)) if !sources.get_ref().is_empty() => {
            Ok(sources.get_ref().iter().map(SourceChoice::node).collect())
        }
        (None, Some(_)) => Err("`sources` names no node; name one or more".to_owned()),
        (Some(_), Some(_)) => Err("it has both `source` and `sources`; leave one out".to_owned()),
        (None, None) => Err("it has no `source`; name a node, or several in `sources`".to_owned()),
    }
}

/// The fetch of a connection, with its sources; `None` if its source sends without requests.
///
/// # Errors
/// If the sources are wrong: why, and what they may be.
pub(super) fn fetch(
    table: &ConnectionTable,
    connection: ConnectionId,
    nodes: &[NodeId],
    target: NodeId,
    protocol: &Protocol,
) -> Result<Option<Fetch>, String> {
    let Some(sources) = &table.sources else { return Ok(None) };
    check_protocol(protocol)?;
    let mut servers: Vec<Server> = Vec::with_capacity(nodes.len());
    for (choice, &node) in sources.get_ref().iter().zip(nodes) {
        let name = choice.node();
        if node == target {
            return Err(format!("source `{name}` is its target; they must differ"));
        }
        if servers.iter().any(|server| server.node == node) {
            return Err(format!("source `{name}` is named twice; name it once"));
        }
        let (start, stop) = choice.times();
        let (start, stop) = (start.map_or(Time(0), |time| Time(time.0.0)), stop.map(|time| Time(time.0.0)));
        if stop.is_some_and(|stop| stop <= start) {
            return Err(format!("source `{name}` stops before it starts; let it stop later"));
        }
        servers.push(Server { node, start, stop });
    }
    Ok(Some(Fetch { connection, servers, set_up: Span(0) }))
}

/// Checks that a protocol suits a fetch: a target can keep windows only.
///
/// # Errors
/// If the protocol does not suit: why, and which does.
pub(super) fn check_protocol(protocol: &Protocol) -> Result<(), String> {
    if protocol.capabilities().keeps_windows() {
        return Ok(());
    }
    Err(format!(
        "{} sets rates, and a target asks `sources` for data only under a protocol that keeps windows, such as NMCC; name \
         another protocol, or one `source`",
        protocol.title()
    ))
}

/// Checks that a connection under a protocol of one path has one source.
///
/// # Errors
/// If a protocol does not support this number of sources over this number of paths: why, and what it supports.
pub(super) fn check_sources(protocol: &Protocol, sources: usize, paths: usize) -> Result<(), String> {
    if sources < 2 || paths < 2 || protocol.capabilities().serves_many_paths() {
        return Ok(());
    }
    Err(format!(
        "it has {sources} sources, and {} serves one path, which leads from one; name one source, or a protocol of several \
         paths, such as NMCC",
        protocol.title()
    ))
}
