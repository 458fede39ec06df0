//! Connections that send data which arrive over other connections.

use std::collections::HashMap;

use anabranch_core::{Bytes, Connection, ConnectionId, Demands, Network, Paths, Time};
use anabranch_plan::Relay;
use anabranch_proto::transport::{InputSettings, Marking};

use super::Scenario;
use super::connections::Connections;
use crate::error::ScenarioError;
use crate::file::after::AfterChoice;
use crate::file::relays::{MarkingChoice, MarkingNumber, MarkingWord};

/// The most ways through a chain, with one path of each loop.
const MOST_WAYS: usize = 1024;

/// A connection with `after`.
pub(super) struct After {
    pub connection: ConnectionId,
    /// Number of the connection's table among the `[[connection]]` tables.
    pub table: usize,
}

impl Scenario {
    /// Builds the relays: which connections send the data of which others. It also sets the amounts of connections with
    /// `after`.
    pub(super) fn relays(
        &self,
        network: &Network,
        wants: &mut Connections,
        paths: &Paths,
    ) -> Result<Vec<Relay>, ScenarioError> {
        if wants.after.is_empty() {
            return Ok(Vec::new());
        }
        let settings = self.file.relays.as_ref().map(|table| *table.get_ref()).unwrap_or_default();
        let names: HashMap<&str, usize> =
            wants.demands.connections().iter().enumerate().map(|(c, own)| (own.name.as_str(), c)).collect();
        // For each connection the number of the relay that sends on its data.
        let mut next: Vec<Option<usize>> = vec![None; wants.transfers.len()];
        let mut relays = Vec::with_capacity(wants.after.len());
        for after in &wants.after {
            let choices = self.file.connection[after.table].get_ref().after.as_ref().expect("it is after others");
            let c = after.connection.index();
            let error = |reason: String| {
                let name = &wants.demands.connections()[c].name;
                self.error(choices.span(), format!("connection `{name}`: {reason}"))
            };
            check_loop(wants, c).map_err(error)?;
            let mut inputs: Vec<(ConnectionId, InputSettings)> = Vec::new();
            let weights: f64 = choices.get_ref().iter().map(AfterChoice::weight).sum();
            for choice in choices.get_ref() {
                let input = find(wants, &names, choice, c).map_err(error)?;
                check_loop(wants, input).map_err(error)?;
                if next[input].replace(c).is_some() {
                    let message = format!("`{}` is named as coming before twice; name it once", choice.connection());
                    return Err(error(message));
                }
                let share = choice.weight() / weights;
                let marking = marking(settings.marking, network, wants, paths, (input, share)).map_err(error)?;
                inputs.push((ConnectionId::new(input), InputSettings { weight: choice.weight(), marking }));
            }
            if inputs.is_empty() {
                return Err(error("`after` names no connection; name one or more, or leave it out".to_owned()));
            }
            let packet = inputs.iter().map(|(id, _)| wants.transfers[id.index()].packet).max().unwrap_or_default();
            if settings.buffer.0 < packet {
                let (has, packet) = (settings.buffer.0.0, packet.0);
                return Err(error(format!(
                    "the buffer of relays is {has} B, and packets have {packet} B; it must hold one"
                )));
            }
            relays.push(Relay { connection: after.connection, inputs, buffer: settings.buffer.0, told: settings.told });
        }
        self.in_order(network, wants, &relays, &next)?;
        for c in (0..next.len()).filter(|&c| next[c].is_some()) {
            check_ways(wants, paths, &next, c).map_err(|reason| self.error(wants.span(c), reason))?;
        }
        Ok(relays)
    }

    /// Sets amounts and stops of connections with `after`, with those before them first.
    fn in_order(
        &self,
        network: &Network,
        wants: &mut Connections,
        relays: &[Relay],
        next: &[Option<usize>],
    ) -> Result<(), ScenarioError> {
        let mut connections = wants.demands.connections().to_vec();
        let mut missing: HashMap<usize, usize> =
            relays.iter().map(|relay| (relay.connection.index(), relay.inputs.len())).collect();
        let inputs: HashMap<usize, &Relay> = relays.iter().map(|relay| (relay.connection.index(), relay)).collect();
        let mut ready: Vec<usize> = (0..next.len()).filter(|c| !missing.contains_key(c)).collect();
        while let Some(c) = ready.pop() {
            if let Some(relay) = inputs.get(&c) {
                wants.transfers[c].amount = amount(wants, relay);
                connections[c].stop = stop(wants, &connections, relay).map_err(|reason| {
                    self.error(wants.span(c), format!("connection `{}`: {reason}", connections[c].name))
                })?;
            }
            let Some(after) = next[c] else { continue };
            let left = missing.get_mut(&after).expect("it is after this one");
            *left -= 1;
            if *left == 0 {
                ready.push(after);
            }
        }
        if let Some(c) = missing.into_iter().filter(|&(_, left)| left > 0).map(|(c, _)| c).min() {
            let message =
                format!("connection `{}`: it comes after itself; let it begin at a source", connections[c].name);
            return Err(self.error(wants.span(c), message));
        }
        wants.demands = Demands::new(network, connections).expect("all were checked, and stop after they start");
        Ok(())
    }
}

/// Amount of a connection that sends the data of others; `None` if it is endless.
fn amount(wants: &Connections, relay: &Relay) -> Option<Bytes> {
    let mut amounts = relay.inputs.iter().map(|(id, _)| wants.transfers[id.index()].amount);
    amounts.try_fold(0_u64, |sum, amount| Some(sum.saturating_add(amount?.0))).map(Bytes)
}

/// Stop of a connection that sends the data of others: its `stop`, or else the last stop of those connections.
fn stop(wants: &Connections, connections: &[Connection], relay: &Relay) -> Result<Option<Time>, String> {
    let own = &connections[relay.connection.index()];
    let before = || relay.inputs.iter().map(|(id, _)| (&connections[id.index()], wants.transfers[id.index()].amount));
    let latest = before().filter_map(|(input, _)| input.stop).max();
    let Some(latest) = latest.filter(|_| own.stop.is_none()) else { return Ok(own.stop) };
    let mut others = before().filter(|(input, _)| input.stop.is_none());
    if let Some((input, _)) = others.clone().find(|(_, amount)| amount.is_some()) {
        let name = &input.name;
        return Err(format!("others before it stop at a time, and `{name}` when all is sent; give it a `stop`"));
    }
    if others.next().is_some() {
        // A connection before it never ends.
        return Ok(None);
    }
    if latest <= own.start {
        let (stop, start) = (latest.seconds(), own.start.seconds());
        return Err(format!(
            "all before it have stopped at {stop} s, and it starts at {start} s; let it start earlier"
        ));
    }
    Ok(Some(latest))
}

/// The connection that a choice names, which must end where connection `c` begins.
fn find(wants: &Connections, names: &HashMap<&str, usize>, choice: &AfterChoice, c: usize) -> Result<usize, String> {
    let name = choice.connection();
    let input = *names.get(name).ok_or_else(|| format!("there is no connection `{name}`; name another"))?;
    let [before, own] = [input, c].map(|c| &wants.demands.connections()[c]);
    if before.target != own.source {
        return Err(format!("`{name}` does not end where it begins; let it, or name another"));
    }
    let weight = choice.weight();
    if !(weight > 0.0 && weight.is_finite()) {
        return Err(format!("the weight of `{name}` is {weight}; it must be over 0"));
    }
    Ok(input)
}

/// Checks whether a connection can be part of a chain.
fn check_loop(wants: &Connections, c: usize) -> Result<(), String> {
    let name = &wants.demands.connections()[c].name;
    let protocol = &wants.protocols[wants.transfers[c].protocol];
    if !protocol.capabilities().keeps_windows() {
        return Err(format!(
            "`{name}` is under {}, which sets rates; loops of a chain keep windows: name another protocol, such as LGCC",
            protocol.title()
        ));
    }
    if wants.fetches.iter().any(|fetch| fetch.connection.index() == c) {
        return Err(format!("the target of `{name}` asks `sources`; in a chain a `source` sends: name one"));
    }
    Ok(())
}

/// Checks the number of ways through each chain, with one path of each loop: with too many, fair rates could not be
/// found.
fn check_ways(wants: &Connections, paths: &Paths, next: &[Option<usize>], c: usize) -> Result<(), String> {
    let loops = std::iter::successors(Some(c), |&c| next[c]);
    let ways = loops.map(|c| paths.of(ConnectionId::new(c)).len()).fold(1_usize, usize::saturating_mul);
    if ways > MOST_WAYS {
        let name = &wants.demands.connections()[c].name;
        return Err(format!(
            "from `{name}` on the paths of the loops make {ways} ways through the chain; {MOST_WAYS} may be: give loops \
             fewer `paths`"
        ));
    }
    Ok(())
}

/// The marking of the packets of an input that is to have this share of the next loop.
///
/// By default every packet is marked where the backlog is what the next loop sends while the loop before learns of a
/// mark: a round trip, and the time for which its source remembers marks. With less, rates and backlogs oscillate for
/// ever.
fn marking(
    choice: MarkingChoice,
    network: &Network,
    wants: &Connections,
    paths: &Paths,
    (input, share): (usize, f64),
) -> Result<Marking, String> {
    let protocol = &wants.protocols[wants.transfers[input].protocol];
    Ok(match choice {
        MarkingChoice::Word(MarkingWord::Never) => Marking::Never,
        MarkingChoice::Word(MarkingWord::Backlog) => {
            let delay = |path: &[_]| path.iter().map(|&link| network.link(link).delay.seconds()).sum::<f64>();
            let one_way = paths.of(ConnectionId::new(input)).map(delay).fold(0.0, f64::max);
            let rtt = (2.0 * one_way).max(1e-6);
            Marking::Backlog(rtt + protocol.memory_of_marks(rtt))
        }
        MarkingChoice::Word(MarkingWord::Weights) => Marking::Share(protocol.marks_at(share).ok_or_else(|| {
            let (name, title) = (&wants.demands.connections()[input].name, protocol.title());
            format!("relays mark by weights, and `{name}` is under {title}; name lgcc, lgc or log-rate, or another `marking`")
        })?),
        MarkingChoice::Number(MarkingNumber::Backlog(span)) => Marking::Backlog(span.0.seconds()),
        MarkingChoice::Number(MarkingNumber::Share(share)) => Marking::Share(share),
    })
}
