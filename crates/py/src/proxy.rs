//! Proxies and exits, for Python.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::control::{Ceiling, check_groups};
use anabranch_live::qlog::Qlog;
use anabranch_live::running::Running;
use anabranch_live::security::Identity;
use anabranch_live::url::Url;
use anabranch_proxy::accounts::{Account, Accounts, Quota};
use anabranch_proxy::capacity::Capacity;
use anabranch_proxy::credential::Credential;
use anabranch_proxy::doors::{Door, Kind, Password};
use anabranch_proxy::exit::{Course, ExitError, ExitEvent, ExitService, control as suited, exit, line_control};
use anabranch_proxy::ip::{GatewayError, Tun, TunnelState};
use anabranch_proxy::proxy::{ProxyEvent, ProxyService, proxy};
use anabranch_proxy::rules::{Rule, RuleError, Rules};
use anabranch_proxy::token::Token;
use anabranch_proxy::uplink::{Conditions, Counts, Exit, Terms, UplinkState};
use anabranch_proxy::watch::Watching;
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use tokio::sync::watch;

use crate::qlog::PyQlog;

/// A client that has left: its address, whether it was known, its connections, bytes to targets and from them.
type Left = (String, bool, u64, u64, u64);

/// News of an exit: of what, lines of text, a client that has left.
type ExitNews = (&'static str, Vec<String>, Option<Left>);

/// The next exit of a relay, or the exit of a proxy: its URL, who signed its certificate, the local addresses or interfaces of
/// lines and of backups, what this end shows, the name of the control and the capacity.
type NextExit = (String, Option<PathBuf>, Vec<String>, Vec<String>, Shows, String, Option<String>);

/// The terms of a line: whether it is a backup, its weight, its group, the most that each end sends in bit/s, and whether there
/// are copies.
type LineTerms = (bool, f64, Option<u32>, Option<f64>, bool);

/// What is said of the lines to an exit: the terms of each, and what is granted in bit/s, over all and over each.
type LinesSaid = (Vec<LineTerms>, Option<f64>, Vec<f64>);

/// What a proxy or a relay shows to its exit: a token, and the files of a certificate and its key.
type Shows = (Option<String>, Option<(PathBuf, PathBuf)>);

/// A client of an exit: its name, what it shows, its weight, its rate in bit/s, the most of its connections and its targets, and
/// the bytes of its quota with those that are used.
type Client =
    (Option<String>, (String, String), f64, Option<f64>, Option<usize>, Option<Vec<String>>, Option<(u64, u64)>);

/// The lines to an exit.
struct Lines {
    conditions: watch::Sender<Conditions>,
    counts: Counts,
}

/// Name of a TUN device, and the networks from which clients have addresses.
type TunAt = (String, Vec<String>);

/// Where a program shows itself, whether others may read it, and its page.
type WatchedAt = (String, bool, Option<String>);

/// An exit that runs; `None` once it is stopped.
#[pyclass(frozen, name = "Exit", module = "anabranch._core")]
struct PyExit {
    running: Mutex<Option<Running<ExitEvent>>>,
    /// The quotas of clients, by their names.
    quotas: Vec<(String, Arc<Quota>)>,
    /// What is granted to clients, by their names.
    granted: Vec<(String, watch::Sender<Rate>)>,
    /// The lines of a relay.
    lines: Option<Lines>,
}

#[pymethods]
impl PyExit {
    /// Serves at these addresses. Without a key, the identity file has both, and is made if it does not exist.
    #[new]
    #[pyo3(signature = (
        addresses, identity, key, host, accounts, authorities, rules, control, watch, next, always, capacity, lines,
        grants, tun, qlog = None
    ))]
    fn new(
        addresses: Vec<String>,
        identity: PathBuf,
        key: Option<PathBuf>,
        host: Option<String>,
        accounts: Vec<Client>,
        authorities: Option<PathBuf>,
        rules: Vec<String>,
        control: &str,
        watch: Option<WatchedAt>,
        next: Option<NextExit>,
        always: Option<&str>,
        capacity: Option<String>,
        lines: Option<LinesSaid>,
        grants: Vec<(String, f64)>,
        tun: Option<TunAt>,
        qlog: Option<&PyQlog>,
    ) -> PyResult<Self> {
        let qlog = PyQlog::of(qlog);
        let capacity = capacity_of(capacity)?;
        let identity = match key {
            Some(key) => Identity::read(&identity, &key),
            None => Identity::kept(&identity),
        };
        let mut accounts = accounts.into_iter().map(account).collect::<PyResult<Vec<_>>>()?;
        let mut granted = Vec::new();
        for (name, bps) in grants {
            let (tell, present) = watch::channel(Rate(bps));
            if let Some(account) = accounts.iter_mut().find(|account| account.name.as_ref() == Some(&name)) {
                account.granted = Some(present);
            }
            granted.push((name, tell));
        }
        let quota = |own: &Account| own.name.clone().zip(own.quota.clone());
        let quotas = accounts.iter().filter_map(quota).collect();
        let (next, lines) = match next {
            Some(next) => {
                exit_of(next, lines.unwrap_or_default(), qlog.clone()).map(|(exit, lines)| (Some(exit), Some(lines)))?
            }
            None => (None, None),
        };
        let accounts = Accounts::new(accounts).map_err(wrong)?;
        let service = ExitService {
            addresses: addresses.iter().map(|text| address(text)).collect::<PyResult<_>>()?,
            identity: identity.map_err(wrong)?,
            host,
            callers: accounts.callers(authorities.as_deref()).map_err(wrong)?,
            accounts,
            onward: match next {
                Some(next) => Course::Exit(Box::new(next)),
                None if rules.is_empty() => Course::Targets(Rules::default()),
                None => Course::Targets(rules_of(&rules).map_err(wrong)?),
            },
            tun: tun.map(tun_of).transpose()?,
            control: suited(control).map_err(wrong)?,
            always: always.map(|name| line_control(name, capacity.is_some())).transpose().map_err(wrong)?,
            capacity,
            watch: watch.map(watching).transpose()?,
            qlog,
        };
        let running = Running::start(|events| exit(service, events)).map_err(failed)?;
        Ok(Self { running: Mutex::new(Some(running)), quotas, granted, lines })
    }

    /// Sets what is granted to a client, in bit/s.
    fn grant(&self, name: &str, bps: f64) {
        self.granted.iter().filter(|(own, _)| own == name).for_each(|(_, granted)| {
            granted.send_replace(Rate(bps));
        });
    }

    /// Sets what is said of the lines of a relay.
    fn say(&self, said: LinesSaid) -> PyResult<()> {
        self.lines.as_ref().map_or(Ok(()), |lines| lines.say(said))
    }

    /// Bytes on links that each line of a relay has carried.
    fn carried(&self) -> Vec<u64> {
        self.lines.as_ref().map_or_else(Vec::new, |lines| lines.counts.carried())
    }

    /// Bytes that clients with quotas have used.
    fn used(&self) -> Vec<(&str, u64)> {
        self.quotas.iter().map(|(name, quota)| (&**name, quota.used())).collect()
    }

    /// Gives a client its whole quota again.
    fn renew(&self, name: &str) {
        self.quotas.iter().filter(|(own, _)| own == name).for_each(|(_, quota)| quota.renew());
    }

    /// News within `seconds`, if there are any: of what, and a line or the label of each open path; or a client that has
    /// left.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<ExitNews>> {
        match wait(py, &self.running, seconds)? {
            None => Ok(None),
            Some(ExitEvent::Serving(url)) => Ok(Some(("serving", vec![url.to_string()], None))),
            Some(ExitEvent::Shown(address)) => Ok(Some(("shown", vec![address.to_string()], None))),
            Some(ExitEvent::Uplink(state)) => {
                let (kind, lines) = uplink(state);
                Ok(Some((kind, lines, None)))
            }
            Some(ExitEvent::Left(client)) => {
                let left = (client.remote, client.is_known, client.tunnels, client.sent, client.received);
                Ok(Some(("left", Vec::new(), Some(left))))
            }
            Some(ExitEvent::Failed(
                error @ (ExitError::Listen { .. } | ExitError::Gateway(GatewayError::Device(_)) | ExitError::Closed),
            )) => Err(failed(error)),
            Some(ExitEvent::Failed(error)) => Err(wrong(error)),
        }
    }

    /// Stops the exit.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.running);
    }
}

/// A proxy that runs; `None` once it is stopped.
#[pyclass(frozen, name = "Proxy", module = "anabranch._core")]
struct PyProxy {
    running: Mutex<Option<Running<ProxyEvent>>>,
    lines: Lines,
}

#[pymethods]
impl PyProxy {
    /// Serves applications by SOCKS, HTTP and redirection at these addresses, over the exit of this URL.
    #[new]
    #[pyo3(signature = (exit, socks, http, transparent, password, tun, watch, lines, qlog = None))]
    fn new(
        exit: NextExit,
        socks: Vec<String>,
        http: Vec<String>,
        transparent: Vec<String>,
        password: Option<(String, String)>,
        tun: Option<String>,
        watch: Option<WatchedAt>,
        lines: LinesSaid,
        qlog: Option<&PyQlog>,
    ) -> PyResult<Self> {
        let (exit, lines) = exit_of(exit, lines, PyQlog::of(qlog))?;
        let password = password.map(|(name, password)| Password { name, password });
        let doors = |kind, texts: Vec<String>| {
            let door = |text: &String| Ok(Door { kind, address: address(text)?, password: password.clone() });
            texts.iter().map(door).collect::<PyResult<Vec<_>>>()
        };
        let service = ProxyService {
            exit,
            doors: [doors(Kind::Socks, socks)?, doors(Kind::Http, http)?, doors(Kind::Transparent, transparent)?]
                .concat(),
            tun,
            watch: watch.map(watching).transpose()?,
        };
        let running = Running::start(|events| proxy(service, events)).map_err(failed)?;
        Ok(Self { running: Mutex::new(Some(running)), lines })
    }

    /// Sets what is said of the lines.
    fn say(&self, said: LinesSaid) -> PyResult<()> {
        self.lines.say(said)
    }

    /// Bytes on links that each line has carried.
    fn carried(&self) -> Vec<u64> {
        self.lines.counts.carried()
    }

    /// News within `seconds`, if there are any: of what, and a line or the label of each open path.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<(&'static str, Vec<String>)>> {
        Ok(match wait(py, &self.running, seconds)? {
            None => None,
            Some(ProxyEvent::Open(Kind::Socks, address)) => Some(("socks", vec![address.to_string()])),
            Some(ProxyEvent::Open(Kind::Http, address)) => Some(("http", vec![address.to_string()])),
            Some(ProxyEvent::Open(Kind::Transparent, address)) => Some(("transparent", vec![address.to_string()])),
            Some(ProxyEvent::Shown(address)) => Some(("shown", vec![address.to_string()])),
            Some(ProxyEvent::Uplink(state)) => Some(uplink(state)),
            Some(ProxyEvent::Tunnel(TunnelState::Down(reason))) => Some(("no-tunnel", vec![reason])),
            Some(ProxyEvent::Tunnel(TunnelState::Up(name, addresses))) => {
                let addresses = addresses.iter().map(ToString::to_string);
                Some(("tunnel", std::iter::once(name).chain(addresses).collect()))
            }
            Some(ProxyEvent::Failed(error)) => return Err(failed(error)),
        })
    }

    /// Stops the proxy.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.running);
    }
}

fn wait<E: Send + 'static>(py: Python<'_>, running: &Mutex<Option<Running<E>>>, seconds: f64) -> PyResult<Option<E>> {
    let most = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
    Ok(py.detach(|| {
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().and_then(|running| running.wait(most))
    }))
}

fn stop<E: Send + 'static>(py: Python<'_>, running: &Mutex<Option<Running<E>>>) {
    py.detach(|| drop(running.lock().unwrap_or_else(PoisonError::into_inner).take()));
}

fn rules_of(texts: &[String]) -> Result<Rules, RuleError> {
    texts.iter().map(|rule| rule.parse::<Rule>()).collect()
}

fn account((name, (kind, shown), weight, bps, connections, rules, quota): Client) -> PyResult<Account> {
    let title = name.as_ref().map_or_else(String::new, |name| format!("`{name}`: "));
    let told = |error: &dyn std::fmt::Display| wrong(format!("{title}{error}"));
    let shows = match &*kind {
        "token" => Credential::Token(Token::new(&shown).map_err(|error| told(&error))?),
        _ => Credential::Certificate(shown.parse().map_err(|error| told(&error))?),
    };
    let rules = rules.as_deref().map(rules_of).transpose().map_err(|error| told(&error))?;
    let quota = quota.map(|(most, used)| Quota::new(most, used));
    Ok(Account { name, shows, weight, rate: bps.map(Rate), quota, connections, rules, granted: None })
}

impl Lines {
    fn say(&self, said: LinesSaid) -> PyResult<()> {
        let conditions = conditions_of(said)?;
        self.conditions.send_if_modified(|before| {
            let is_other = *before != conditions;
            *before = conditions;
            is_other
        });
        Ok(())
    }
}

fn conditions_of((lines, total, paths): LinesSaid) -> PyResult<Conditions> {
    let rate = |bps: Option<f64>| Rate(bps.unwrap_or(f64::INFINITY));
    let terms = |(is_backup, weight, group, most, has_copies): LineTerms| {
        let terms = Terms { is_backup, weight, group: group.unwrap_or(0), most: rate(most), has_copies };
        terms.check().map(|()| terms).map_err(wrong)
    };
    let granted = Ceiling { total: rate(total), paths: paths.into_iter().map(Rate).collect() };
    Ok(Conditions { lines: lines.into_iter().map(terms).collect::<PyResult<_>>()?, granted })
}

fn exit_of(
    (url, authorities, via, backup, (token, identity), control, capacity): NextExit,
    said: LinesSaid,
    qlog: Option<Arc<Qlog>>,
) -> PyResult<(Exit, Lines)> {
    let url: Url = url.parse().map_err(wrong)?;
    let capacity = capacity_of(capacity)?;
    let protocol = line_control(&control, capacity.is_some()).map_err(wrong)?;
    let token = token.map(|token| Token::new(&token)).transpose().map_err(wrong)?;
    let identity = identity.map(|(certificate, key)| Identity::read(&certificate, &key)).transpose().map_err(wrong)?;
    identity.as_ref().map_or(Ok(()), Identity::check).map_err(wrong)?;
    let identity = identity.map(Arc::new);
    if said.0.iter().any(|(_, _, group, ..)| group.is_some()) {
        check_groups(&protocol).map_err(wrong)?;
    }
    let conditions = conditions_of(said)?;
    let ((tell, conditions), counts) = (conditions.changing(), Counts::default());
    let exit = Exit {
        url,
        authorities,
        via,
        backup,
        token,
        identity,
        qlog,
        control,
        protocol,
        capacity,
        conditions,
        counts: counts.clone(),
    };
    Ok((exit, Lines { conditions: tell, counts }))
}

fn capacity_of(text: Option<String>) -> PyResult<Option<Capacity>> {
    let Some(text) = text else { return Ok(None) };
    let capacity: Capacity = text.parse().map_err(wrong)?;
    capacity.check().map_err(wrong)?;
    Ok(Some(capacity))
}

/// How lines are, and the label of each open path or why there is none; or the control under which the exit sends.
fn uplink(state: UplinkState) -> (&'static str, Vec<String>) {
    match state {
        UplinkState::Down(reason) => ("down", vec![reason]),
        UplinkState::Sends(control) => ("sends", vec![control.to_owned()]),
        UplinkState::Up(paths) => {
            ("up", paths.into_iter().filter(|path| path.is_open).map(|path| path.label).collect())
        }
    }
}

fn tun_of((name, networks): TunAt) -> PyResult<Tun> {
    let network = |text: &String| {
        let mistake =
            || format!("`{text}` is no network of addresses for clients; one is 10.77.0.0/16 or fd00:77::/64");
        text.parse().map_err(|_| PyValueError::new_err(mistake()))
    };
    let networks = networks.iter().map(network).collect::<PyResult<_>>()?;
    Ok(Tun { name, networks })
}

fn watching((at, is_open, page): WatchedAt) -> PyResult<Watching> {
    Ok(Watching { address: address(&at)?, is_open, page: page.map(Into::into) })
}

fn address(text: &str) -> PyResult<SocketAddr> {
    let mistake = || format!("`{text}` is no address to listen at; one is 127.0.0.1:1080 or [::1]:1080");
    text.parse().map_err(|_| PyValueError::new_err(mistake()))
}

fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn failed(error: impl ToString) -> PyErr {
    PyConnectionError::new_err(error.to_string())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyExit>()?;
    module.add_class::<PyProxy>()
}
