//! Enforcement as the file of an agent has it, checked; and the routes of paths.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use anabranch_core::{NodeId, Rate};
use anabranch_enforce::{Device, Path, Route, Session, Setup};

use super::file::{Kind, Segment, Table};
use crate::config;
use crate::interfaces;
use crate::network::Map;

/// What the file says that matters here.
pub(crate) struct Written<'a> {
    pub table: Option<&'a Table>,
    pub segments: &'a BTreeMap<String, Segment>,
    pub links: &'a BTreeMap<String, config::Link>,
    pub sessions: &'a [config::Session],
}

/// Enforcement, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Enforcement {
    /// What carries commands out.
    pub backend: Kind,
    /// The settings, with the devices of the links that leave the node.
    pub setup: Setup,
    segments: BTreeMap<String, Segment>,
    links: BTreeMap<String, config::Link>,
}

impl Enforcement {
    /// Checks what is written; nothing where there is no table.
    pub(crate) fn of(written: &Written<'_>, map: &Map, node: NodeId) -> Result<Option<Self>, String> {
        let matched: Vec<_> = written.sessions.iter().filter(|session| !session.traffic.is_empty()).collect();
        let Some(table) = written.table else {
            return match matched.first() {
                None => Ok(None),
                Some(session) => Err(format!(
                    "session `{}`: it has a match, but nothing keeps traffic to rates; write a table [enforce] with \
                     backend = \"kernel\", or \"print\" to see what would be done",
                    session.name
                )),
            };
        };
        check_segments(written.segments, map)?;
        check_links(written.links)?;
        let mut setup = Setup::default();
        setup.mark_mask = table.mark_mask.unwrap_or(setup.mark_mask);
        setup.tables = table.tables.unwrap_or(setup.tables);
        setup.priorities = table.priorities.unwrap_or(setup.priorities);
        setup.lease = anabranch_live::agents::LEASE;
        let (segments, links) = (written.segments.clone(), written.links.clone());
        let mut own = Self { backend: table.backend, setup, segments, links };
        own.setup.devices = own.devices(map);
        if own.setup.devices.is_empty() {
            let links = map.links_from(node);
            let link = links.first().map_or("A-B", String::as_str);
            return Err(format!(
                "enforce: no link has a device; write that of each, such as [links.\"{link}\"] interface = \"eth1\""
            ));
        }
        own.setup.check().map_err(|error| format!("enforce: {error}"))?;
        for session in &matched {
            own.check_ways(session, map, node)?;
        }
        let wanted: Result<Vec<Session>, String> =
            matched.iter().map(|session| own.at_first(session, map, node)).collect();
        own.setup.check_sessions(&wanted?).map_err(|error| error.to_string())?;
        Ok(Some(own))
    }

    /// Checks that the traffic of a session can be kept to its rates.
    pub(crate) fn check_session(&self, session: &config::Session, map: &Map, node: NodeId) -> Result<(), String> {
        self.check_ways(session, map, node)?;
        self.setup.check_sessions(&[self.at_first(session, map, node)?]).map_err(|error| error.to_string())
    }

    /// What a running agent cannot change.
    pub(crate) fn is_fixed_as(&self, other: &Self) -> bool {
        let fixed = |own: &Self| {
            let names: Vec<String> = own.setup.devices.iter().map(|device| device.name.clone()).collect();
            (own.backend, names, own.setup.mark_mask, own.setup.tables, own.setup.priorities)
        };
        fixed(self) == fixed(other)
    }

    /// The path of packets over links, each with its name, its node and the name of that.
    pub(crate) fn path(&self, map: &Map, links: &[usize]) -> Result<Path, String> {
        let network = map.network();
        let name = |place: usize| network.links()[place].name.as_str();
        let node = |id: NodeId| network.node(id).name.as_str();
        let (Some(&first), Some(&last)) = (links.first(), links.last()) else {
            return Err("a path without links".to_owned());
        };
        let hop = self.links.get(name(first));
        let device = hop.and_then(|link| link.interface.clone()).ok_or_else(|| no_device(name(first)))?;
        let target = node(network.links()[last].target);
        let Some(unpack) = self.segments.get(target).and_then(|segment| segment.unpack) else {
            let route = hop.and_then(|link| Some(Route::Via { gateway: link.via?, source: link.source }));
            return Ok(Path { device, route: route.unwrap_or(Route::Ordinary) });
        };
        let over = |&place: &usize| {
            let source = node(network.links()[place].source);
            self.over(name(place), source).ok_or_else(|| no_end(source))
        };
        let segments: Result<Vec<_>, String> = links[1..].iter().map(over).chain([Ok(unpack)]).collect();
        Ok(Path { device, route: Route::Segments(segments?) })
    }

    /// The devices of links, each with the sum of their capacities as they are now.
    pub(crate) fn devices(&self, map: &Map) -> Vec<Device> {
        let mut devices: Vec<Device> = Vec::new();
        for (name, link) in &self.links {
            let Some(interface) = &link.interface else { continue };
            let plain = || map.network().links().iter().find(|known| known.name == *name).map(|known| known.capacity);
            // Of an interface that is down nothing is known but what the network says.
            let present = interfaces::capacity(interface, link.capacity.map(|text| text.0)).ok();
            let capacity = present.filter(|rate| rate.0 > 0.0).or_else(plain);
            let capacity = capacity.filter(|rate| rate.0.is_finite() && rate.0 > 0.0);
            match devices.iter_mut().find(|device| device.name == *interface) {
                Some(device) => device.capacity = device.capacity.zip(capacity).map(|(a, b)| Rate(a.0 + b.0)),
                None => devices.push(Device { name: interface.clone(), capacity }),
            }
        }
        devices
    }

    fn link(&self, name: &str) -> config::Link {
        self.links.get(name).cloned().unwrap_or_default()
    }

    /// The segment that leads over a link from its node.
    fn over(&self, link: &str, node: &str) -> Option<Ipv6Addr> {
        let end = |name: &str| self.segments.get(name).and_then(|segment| segment.end);
        end(link).or_else(|| end(node))
    }

    /// Checks that a session can have every path that may be found for it.
    fn check_ways(&self, session: &config::Session, map: &Map, node: NodeId) -> Result<(), String> {
        let network = map.network();
        let place = format!("session `{}`", session.name);
        let own = map.links_from(node);
        if let Some(link) = own.iter().find(|link| self.link(link).interface.is_none()) {
            return Err(format!("{place}: its packets may leave over `{link}`; {}", no_device(link)));
        }
        let is_unpacked = self.segments.get(&session.to).is_some_and(|segment| segment.unpack.is_some());
        if !is_unpacked {
            let without = own.iter().find(|link| self.link(link).via.is_none()).filter(|_| own.len() > 1);
            return without.map_or(Ok(()), |link| {
                Err(format!(
                    "{place}: nothing leads its packets; write the next router, as [links.\"{link}\"] via = \
                     \"192.0.2.1\", or segments, as [segments] \"{}\" = {{ unpack = \"2001:db8::4\" }}",
                    session.to
                ))
            });
        }
        let missing = network.links().iter().find(|link| {
            let between = &network.node(link.source).name;
            link.source != node
                && link.target != node
                && *between != session.to
                && self.over(&link.name, between).is_none()
                && map.around(link.source).len() > 1
        });
        missing.map_or(Ok(()), |link| Err(format!("{place}: {}", no_end(&network.node(link.source).name))))
    }

    /// A session with the paths that it has while all links are up.
    fn at_first(&self, session: &config::Session, map: &Map, node: NodeId) -> Result<Session, String> {
        let found = map.paths(node, map.node(&session.to)?, session.paths.into());
        let links = found.iter().filter_map(|(steps, _)| map.places(node, steps.iter().map(|step| step.link)));
        let paths: Result<Vec<Path>, String> = links.map(|links| self.path(map, &links)).collect();
        let mut paths = paths.map_err(|error| format!("session `{}`: {error}", session.name))?;
        if paths.is_empty() {
            let device = self.setup.devices[0].name.clone();
            paths.push(Path { device, route: Route::Ordinary });
        }
        Ok(self.session(session, paths))
    }

    /// A session as enforcement takes it.
    pub(crate) fn session(&self, session: &config::Session, paths: Vec<Path>) -> Session {
        let traffic = session.traffic.iter().map(|found| found.traffic(self.setup.mark_mask)).collect();
        Session { name: session.name.clone(), traffic, paths }
    }
}

fn no_device(link: &str) -> String {
    format!("`{link}` has no device; write it, such as [links.\"{link}\"] interface = \"eth1\"")
}

fn no_end(node: &str) -> String {
    format!("no segment leads over `{node}`; write one, such as [segments] \"{node}\" = {{ end = \"2001:db8::e\" }}")
}

fn check_segments(segments: &BTreeMap<String, Segment>, map: &Map) -> Result<(), String> {
    let network = map.network();
    for (name, segment) in segments {
        let is_link = network.links().iter().any(|link| link.name == *name);
        if !is_link {
            map.node(name).map_err(|error| format!("segments: {error}, and no link of this name"))?;
        }
        if is_link && segment.unpack.is_some() {
            return Err(format!("segments.{name}: packets are unpacked at nodes; write unpack under the name of one"));
        }
        if *segment == Segment::default() {
            return Err(format!("segments.{name}: write end = \"2001:db8::e\", or unpack = \"2001:db8::4\", or both"));
        }
    }
    Ok(())
}

fn check_links(links: &BTreeMap<String, config::Link>) -> Result<(), String> {
    for (name, link) in links {
        match (link.via, link.source) {
            (None, Some(_)) => {
                return Err(format!("links.{name}: source is the address of packets that take `via`; write that, too"));
            }
            (Some(via), Some(source)) if via.is_ipv4() != source.is_ipv4() => {
                return Err(format!("links.{name}: via and source are of two families; write both in one"));
            }
            _ => {}
        }
    }
    Ok(())
}
