//! What is sampled of a run, simulated or live: one table of columns, from which all else follows.
//!
//! To record another quantity, write its row into `columns!` below and have a recorder push its values.
//! Bindings, tables and files read samples by [`COLUMNS`].

/// What the values of a column are of: each kind has its number of values for each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A value for each connection.
    Connection,
    /// A value for each subflow.
    Subflow,
    /// A value for each link of the network.
    Link,
    /// One value for the whole run.
    Run,
    /// One value for the run: how the errors of connections are spread.
    ConnectionErrors,
    /// One value for the run: how the errors of links are spread.
    LinkErrors,
}

impl Of {
    /// The name of the kind, as files and tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Subflow => "subflow",
            Self::Link => "link",
            Self::Run => "run",
            Self::ConnectionErrors => "connection_errors",
            Self::LinkErrors => "link_errors",
        }
    }

    /// Whether there is one value for each sample, however many things there are.
    pub fn is_single(self) -> bool {
        matches!(self, Self::Run | Self::ConnectionErrors | Self::LinkErrors)
    }
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Floats of 64 bits; what is not known is not a number.
    F64,
    /// Whole numbers of 64 bits.
    U64,
    /// Whole numbers of 32 bits.
    U32,
}

/// A column of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What its values are of.
    pub of: Of,
    /// Its name among the columns of this kind, with its unit.
    pub name: &'static str,
    /// Its unit as people read it; empty for plain numbers.
    pub unit: &'static str,
    /// The type of its values.
    pub kind: Kind,
}

impl Column {
    /// The name of the column among all columns: that of its kind before its own, but for those of the run.
    pub fn key(&self) -> String {
        if self.of == Of::Run { self.name.to_owned() } else { format!("{}_{}", self.of.name(), self.name) }
    }
}

/// The values of a column, sample after sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// Floats.
    F64(&'a [f64]),
    /// Whole numbers of 64 bits.
    U64(&'a [u64]),
    /// Whole numbers of 32 bits.
    U32(&'a [u32]),
}

/// Declares the columns: the field that recorders fill, what it is of, its name, its type and its unit.
macro_rules! columns {
    ($($(#[$doc:meta])+ $field:ident: $of:ident $name:literal, $kind:ident($type:ty), $unit:literal;)+) => {
        /// All columns that there are, in the order in which tables have them.
        pub const COLUMNS: &[Column] =
            &[$(Column { of: Of::$of, name: $name, unit: $unit, kind: Kind::$kind }),+];

        /// How things were, sample after sample. A column has the values of the first sample, then those of the second,
        /// and so on; one that was not asked for is empty.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Samples {
            /// The times of the samples, in seconds.
            pub time_s: Vec<f64>,
            $($(#[$doc])+ pub $field: Vec<$type>,)+
        }

        impl Samples {
            /// The columns with their values, in the order of [`COLUMNS`].
            pub fn columns(&self) -> impl Iterator<Item = (&'static Column, Values<'_>)> {
                COLUMNS.iter().zip([$(Values::$kind(&self.$field)),+])
            }

            /// The samples after the first `count`.
            #[must_use]
            pub fn after(&self, count: usize) -> Self {
                let all = self.time_s.len();
                let first = count.min(all);
                Self {
                    time_s: tail(&self.time_s, first, all),
                    $($field: tail(&self.$field, first, all),)+
                }
            }
        }
    };
}

columns! {
    /// What a connection was granted at the instant, in bit/s.
    connection_granted_bps: Connection "granted_bps", F64(f64), "bit/s";
    /// What of a connection's arrived since the sample before, in bit/s.
    connection_delivered_bps: Connection "delivered_bps", F64(f64), "bit/s";
    /// The fair rate of a connection in bit/s; NaN for those that were not there.
    connection_fair_bps: Connection "fair_bps", F64(f64), "bit/s";
    /// The sum of what subflows over a link were granted at the instant, in bit/s.
    link_granted_bps: Link "granted_bps", F64(f64), "bit/s";
    /// What a link sent since the sample before, in bit/s.
    link_carried_bps: Link "carried_bps", F64(f64), "bit/s";
    /// What a link would carry at the fair rates, in bit/s.
    link_fair_bps: Link "fair_bps", F64(f64), "bit/s";
    /// What a link could carry at the instant, in bit/s; empty if no capacity ever changes.
    link_capacity_bps: Link "capacity_bps", F64(f64), "bit/s";
    /// The bytes that waited at a link at the instant.
    link_backlog_bytes: Link "backlog_bytes", U64(u64), "byte";
    /// The most packets that waited at a link at a time since the sample before.
    link_peak_packets: Link "peak_packets", U32(u32), "packet";
    /// What a subflow was granted at the instant, in bit/s.
    subflow_granted_bps: Subflow "granted_bps", F64(f64), "bit/s";
    /// What of a subflow's arrived since the sample before, in bit/s.
    subflow_delivered_bps: Subflow "delivered_bps", F64(f64), "bit/s";
    /// The window of a subflow at the instant, in bytes; NaN for those that keep no window then.
    subflow_window_bytes: Subflow "window_bytes", F64(f64), "byte";
    /// The smoothed round trip of a subflow at the instant, in seconds; NaN before the first is known.
    subflow_rtt_s: Subflow "rtt_s", F64(f64), "s";
    /// The pace of a subflow at the instant, in bit/s; NaN for those that have none then.
    subflow_pace_bps: Subflow "pace_bps", F64(f64), "bit/s";
    /// The smoothed share of marked packets that a subflow's control goes by at the instant; NaN for those that have none.
    subflow_marked_share: Subflow "marked_share", F64(f64), "";
    /// The largest shortfall of a subflow from its best bottleneck.
    residual: Run "residual", F64(f64), "";
    /// The largest overload of a link relative to its capacity.
    overload: Run "overload", F64(f64), "";
    /// The connections present that have a path to use.
    present: Run "present", U32(u32), "";
    /// The most packets that waited at a time at any link since the sample before.
    peak_packets: Run "peak_packets", U32(u32), "packet";
    /// The connections that are granted a rate, whose errors are summed up.
    connection_errors_count: ConnectionErrors "count", U32(u32), "";
    /// The mean error of connections.
    connection_errors_mean: ConnectionErrors "mean", F64(f64), "";
    /// The least error of connections.
    connection_errors_least: ConnectionErrors "least", F64(f64), "";
    /// The 10th percentile of the errors of connections.
    connection_errors_p10: ConnectionErrors "p10", F64(f64), "";
    /// The median of the errors of connections.
    connection_errors_p50: ConnectionErrors "p50", F64(f64), "";
    /// The 90th percentile of the errors of connections.
    connection_errors_p90: ConnectionErrors "p90", F64(f64), "";
    /// The greatest error of connections.
    connection_errors_most: ConnectionErrors "most", F64(f64), "";
    /// The bottlenecks, whose errors are summed up.
    link_errors_count: LinkErrors "count", U32(u32), "";
    /// The mean error of bottlenecks.
    link_errors_mean: LinkErrors "mean", F64(f64), "";
    /// The least error of bottlenecks.
    link_errors_least: LinkErrors "least", F64(f64), "";
    /// The 10th percentile of the errors of bottlenecks.
    link_errors_p10: LinkErrors "p10", F64(f64), "";
    /// The median of the errors of bottlenecks.
    link_errors_p50: LinkErrors "p50", F64(f64), "";
    /// The 90th percentile of the errors of bottlenecks.
    link_errors_p90: LinkErrors "p90", F64(f64), "";
    /// The greatest error of bottlenecks.
    link_errors_most: LinkErrors "most", F64(f64), "";
}

/// Of a column with `all` samples the values of those from `first` on.
fn tail<T: Clone>(column: &[T], first: usize, all: usize) -> Vec<T> {
    column[first * (column.len() / all.max(1))..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_keys_of_their_own_and_one_type_for_each_name() {
        let keys: Vec<String> = COLUMNS.iter().map(Column::key).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), keys.len());
        assert_eq!((keys[0].as_str(), COLUMNS[0].of.name()), ("connection_granted_bps", "connection"));
        // Tables of several kinds of things share the columns of one name.
        for (column, other) in COLUMNS.iter().flat_map(|column| COLUMNS.iter().map(move |other| (column, other))) {
            assert!(column.name != other.name || column.kind == other.kind, "{}", column.name);
        }
    }

    #[test]
    fn the_samples_after_some_have_the_values_of_the_others() {
        // Two connections and three samples.
        let samples = Samples {
            time_s: vec![1.0, 2.0, 3.0],
            connection_granted_bps: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            present: vec![0, 1, 2],
            ..Samples::default()
        };
        let later = samples.after(2);
        assert_eq!((&later.time_s[..], &later.connection_granted_bps[..]), (&[3.0][..], &[5.0, 6.0][..]));
        let filled: Vec<_> = later.columns().filter(|(_, values)| !matches!(values, Values::F64([]))).collect();
        let present = filled.iter().find(|(column, _)| column.name == "present").map(|(_, values)| *values);
        assert_eq!(present, Some(Values::U32(&[2])));
        assert_eq!(samples.after(3).connection_granted_bps, [0.0; 0]);
    }
}
