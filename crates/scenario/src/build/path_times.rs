//! Paths with times, which may not be used for the whole lifetime of their connections.

use std::ops::Range;

use anabranch_core::{Connection, ConnectionId, Paths, Span, Time};
use anabranch_plan::PathTime;
use anabranch_proto::Protocol;

use super::Scenario;
use super::connections::Connections;
use crate::error::ScenarioError;
use crate::file::connection::PathTimes;

/// A connection whose paths have times.
pub(super) struct Timed {
    pub connection: ConnectionId,
    /// Number of paths with times.
    pub paths: usize,
    /// Place of the times in the file.
    pub span: Range<usize>,
}

impl Scenario {
    /// Checks that each path has times where any path of its connection has.
    pub(super) fn check_path_times(&self, wants: &Connections, paths: &Paths) -> Result<(), ScenarioError> {
        for Timed { connection, paths: given, span } in &wants.timed {
            let count = paths.of(*connection).len();
            if count != *given {
                let name = &wants.demands.connections()[connection.index()].name;
                let word = if count == 1 { "path" } else { "paths" };
                let message = format!(
                    "connection `{name}`: `path_times` has {given} entries, and it has {count} {word}; write one for \
                     each path, {{}} for one without times of its own"
                );
                return Err(self.error(span.clone(), message));
            }
        }
        Ok(())
    }
}

/// The paths of a connection that have times.
pub(super) fn path_times(
    times: &[PathTimes],
    connection: &Connection,
    id: ConnectionId,
    protocol: &Protocol,
) -> Result<Vec<PathTime>, String> {
    if !protocol.capabilities().keeps_windows() {
        return Err(format!(
            "{} sets rates, and paths have times of their own only under a protocol that keeps windows, such as LIA; \
             name another protocol, or leave `path_times` out",
            protocol.title()
        ));
    }
    let of_path = |(path, times): (usize, &PathTimes)| {
        let time = path_time(times, connection).map_err(|reason| format!("path {}: {reason}", path + 1))?;
        Ok(time.map(|(start, stop)| PathTime { connection: id, path, start, stop }))
    };
    times.iter().enumerate().filter_map(|entry| of_path(entry).transpose()).collect()
}

/// The times from and until which a path may be used, if they differ from those of its connection.
fn path_time(times: &PathTimes, connection: &Connection) -> Result<Option<(Time, Option<Time>)>, String> {
    let time = |time: Time| Span(time.0);
    let start = times.start.map_or(connection.start, |start| Time(start.0.0));
    let stop = times.stop.map(|stop| Time(stop.0.0));
    if start < connection.start {
        let (own, all) = (time(start), time(connection.start));
        return Err(format!("it begins at {own}, and its connection at {all}; let it begin no earlier"));
    }
    if let (Some(own), Some(all)) = (stop, connection.stop)
        && own > all
    {
        return Err(format!("it ends at {}, and its connection at {}; let it end no later", time(own), time(all)));
    }
    if let Some(end) = stop.or(connection.stop).filter(|end| *end <= start) {
        return Err(format!("it begins at {} and ends at {}; let it end later", time(start), time(end)));
    }
    Ok((start > connection.start || stop.is_some()).then_some((start, stop)))
}
