//! The builder that turns a scenario file into a problem to solve or a plan to run.

mod assistance;
mod check;
mod connections;
mod ends;
mod filters;
mod generate;
mod links;
mod network;
mod path_times;
mod paths;
mod queues;
mod relays;
mod reports;
mod resolved;
mod sources;
mod traces;
mod traffic;

use std::ops::Range;
use std::sync::Arc;

use anabranch_core::paths::Progress;
use anabranch_core::{Demands, Network, Paths};
use anabranch_plan::Plan;
use toml::Spanned;

use connections::Connections;
use paths::missing_paths;

use crate::error::ScenarioError;
use crate::file::File;
use crate::file::connection::DemandsTable;
use crate::file::relays::divide;
use crate::file::run::RunTable;
use crate::set::with_values;
use crate::values::check_bounds;

pub use network::{NetworkFile, NetworkSource};

/// A function that gives the text of a file named in the scenario, or says why it cannot.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// A scenario file that was read. The caller reads files that it names.
pub struct Scenario {
    text: String,
    pub(crate) file: File,
    /// Values that were set from outside, for messages.
    changed: String,
    /// Whether any programs send over the network besides, or instead of, the connections.
    carries_programs: bool,
}

/// The most characters of a value that a message repeats.
const MOST_REPEATED: usize = 80;

/// The beginning of a text that may be long.
fn excerpt(value: &str) -> String {
    match value.char_indices().nth(MOST_REPEATED) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

impl Scenario {
    /// Reads the text of a scenario file.
    ///
    /// # Errors
    /// The first mistake in form: syntax, an unknown key, a wrong type, a value out of its range.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        Self::parse_with(text, &[])
    }

    /// Reads the text of a scenario file in which values are set from outside, each by its path.
    ///
    /// Paths have keys and numbers of list entries, counted from 0: `connection.0.weight`. Values are TOML, or else text:
    /// `2`, `true`, `5 ms`.
    ///
    /// # Errors
    /// A path that leads nowhere, or an error of [`Self::parse`].
    pub fn parse_with(text: &str, sets: &[(String, String)]) -> Result<Self, ScenarioError> {
        let values: Vec<String> = sets.iter().map(|(path, value)| format!("{path}={}", excerpt(value))).collect();
        let changed = if sets.is_empty() { String::new() } else { format!(" (with {})", values.join(", ")) };
        check_bounds(text)?;
        let text =
            if sets.is_empty() { text.to_owned() } else { with_values(text, sets).map_err(ScenarioError::outside)? };
        let mut file = File::parse(&text)
            .map_err(|error| ScenarioError { changed: changed.clone(), ..ScenarioError::from_toml(&text, &error) })?;
        file.connection = divide(file.connection).map_err(|(span, reason)| ScenarioError {
            changed: changed.clone(),
            ..ScenarioError::at(&text, span, reason)
        })?;
        let scenario = Self { text, file, changed, carries_programs: false };
        scenario.check_run()?;
        Ok(scenario)
    }

    /// The tables of the file as they were read.
    pub fn tables(&self) -> &File {
        &self.file
    }

    /// The scenario as a network for programs: its connections need no protocol, and every queue has a limit.
    #[must_use]
    pub fn for_programs(self) -> Self {
        Self { carries_programs: true, ..self }
    }

    fn check_run(&self) -> Result<(), ScenarioError> {
        let Some(run) = &self.file.run else { return Ok(()) };
        run.get_ref().mistake().map_or(Ok(()), |mistake| Err(self.error(run.span(), mistake)))
    }

    /// The title of the scenario, for headings.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// What the scenario shows, without blank lines at its ends; may be empty.
    pub fn description(&self) -> &str {
        self.file.description.trim_matches('\n').trim_end()
    }

    /// The table `[run]`, or its defaults.
    pub fn run(&self) -> RunTable {
        self.file.run()
    }

    /// The file of demands that `[demands]` names, for the caller to read on the network.
    pub fn demands_file(&self) -> Option<&str> {
        self.named_demands().map(|file| file.get_ref().as_str())
    }

    /// Makes the error for a mistake in the file of demands; its place is that of the file's name.
    pub fn demands_file_error(&self, message: &str) -> ScenarioError {
        self.error(self.named_demands().map_or(0..0, Spanned::span), message)
    }

    fn named_demands(&self) -> Option<&Spanned<String>> {
        match self.file.demands.as_ref()?.get_ref() {
            DemandsTable::File(file) => Some(file),
            DemandsTable::Rule(_) => None,
        }
    }

    /// All connections with their paths; a connection may have none.
    ///
    /// `extra` are the connections of [`Self::demands_file`]. `progress` receives the number of pairs of nodes that a
    /// search for paths has finished, and cancels the search with false.
    ///
    /// # Errors
    /// An unknown node, a repeated name, a number out of its range, an impossible path, or a cancelled search.
    pub fn connections(
        &self,
        network: &Network,
        extra: Option<&Demands>,
        progress: Progress<'_>,
    ) -> Result<(Demands, Paths), ScenarioError> {
        let wants = self.wants(network, extra)?;
        let paths = self.paths(network, &wants, progress)?;
        Ok((wants.demands, paths))
    }

    /// All inputs of a run: everything drawn, resolved and checked.
    ///
    /// `extra` are the connections of [`Self::demands_file`], `read` gives the texts of traces, and `progress` is that
    /// of [`Self::connections`].
    ///
    /// # Errors
    /// The errors of [`Self::connections`], and scenarios that can be solved but not run: a connection without a path,
    /// a path without a way back for replies, and so on.
    pub fn plan(
        &self,
        network: Arc<Network>,
        extra: Option<&Demands>,
        read: Read<'_>,
        progress: Progress<'_>,
    ) -> Result<Plan, ScenarioError> {
        let mut links = self.links(&network, read)?;
        self.check_capacities(&network, &links)?;
        let assistance = self.assistance(&network)?;
        let mut wants = self.wants(&network, extra)?;
        self.check_protocols(&wants)?;
        self.set_up(&network, &mut wants)?;
        let paths = self.paths(&network, &wants, progress)?;
        let limits = self.set_limits(&network, &mut links, &wants, &paths);
        let notes = limits.into_iter().chain(missing_paths(&wants, &paths)).collect();
        self.check_paths(&network, &links, &wants, &paths)?;
        self.check_path_times(&wants, &paths)?;
        let relays = self.relays(&network, &mut wants, &paths)?;
        let run = self.run().plan();
        self.check_size(&network, &paths, &run)?;
        let filters = self.filters(&network, &wants, &paths)?;
        let Connections { demands, transfers, protocols, demand_changes, path_times, fetches, .. } = wants;
        Ok(Plan {
            network,
            links,
            demands,
            paths,
            transfers,
            demand_changes,
            path_times,
            fetches,
            relays,
            assistance,
            filters,
            protocols,
            run,
            notes,
        })
    }

    fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError { changed: self.changed.clone(), ..ScenarioError::at(&self.text, span, message) }
    }
}
