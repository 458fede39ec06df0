//! The samples of a run, simulated or live: one table of columns, from which all else follows.
//!
//! To record another quantity, write its row into `columns!` below and have a recorder push its values. Bindings,
//! tables and files read samples by [`COLUMNS`].

/// The kind of item that the values of a column describe; it determines the number of values in each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// One value for each connection.
    Connection,
    /// One value for each subflow.
    Subflow,
    /// One value for each link of the network.
    Link,
    /// One value for the whole run.
    Run,
    /// One value for the run, from the distribution of the errors of connections.
    ConnectionErrors,
    /// One value for the run, from the distribution of the errors of links.
    LinkErrors,
}

impl Of {
    /// The name of the kind in files and tables.
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

    /// Whether each sample has a single value, whatever the number of items.
    pub fn is_single(self) -> bool {
        matches!(self, Self::Run | Self::ConnectionErrors | Self::LinkErrors)
    }
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Floating-point numbers of 64 bits; NaN stands for an unknown value.
    F64,
    /// Whole numbers of 64 bits.
    U64,
    /// Whole numbers of 32 bits.
    U32,
}

/// A column of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The kind of item that its values describe.
    pub of: Of,
    /// The name among the columns of this kind, including the unit.
    pub name: &'static str,
    /// The unit in readable form; empty for plain numbers.
    pub unit: &'static str,
    /// The type of its values.
    pub kind: Kind,
}

impl Column {
    /// The name among all columns: its own name after that of its kind, or its own name alone for columns of the run.
    pub fn key(&self) -> String {
        if self.of == Of::Run { self.name.to_owned() } else { format!("{}_{}", self.of.name(), self.name) }
    }
}

/// The values of a column, sample after sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// Floating-point numbers.
    F64(&'a [f64]),
    /// Whole numbers of 64 bits.
    U64(&'a [u64]),
    /// Whole numbers of 32 bits.
    U32(&'a [u32]),
}

/// Declares the columns: the field that recorders fill, the kind of item, the name, the type and the unit.
macro_rules! columns {
    ($($(#[$doc:meta])+ $field:ident: $of:ident $name:literal, $kind:ident($type:ty), $unit:literal;)+) => {
        /// All columns, in the order in which tables have them.
        pub const COLUMNS: &[Column] =
            &[$(Column { of: Of::$of, name: $name, unit: $unit, kind: Kind::$kind }),+];

        /// The samples of a run. A column has the values of the first sample, then those of the second, and so on; a
        /// column that was not requested is empty.
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
    /// Rate granted to a connection at the instant, in bit/s.
    connection_granted_bps: Connection "granted_bps", F64(f64), "bit/s";
    /// Rate at which a connection's data arrived since the previous sample, in bit/s.
    connection_delivered_bps: Connection "delivered_bps", F64(f64), "bit/s";
    /// Fair rate of a connection, in bit/s; NaN for connections that were absent.
    connection_fair_bps: Connection "fair_bps", F64(f64), "bit/s";
    /// Sum of the rates granted to subflows over a link at the instant, in bit/s.
    link_granted_bps: Link "granted_bps", F64(f64), "bit/s";
    /// Rate at which a link sent since the previous sample, in bit/s.
    link_carried_bps: Link "carried_bps", F64(f64), "bit/s";
    /// Load of a link at the fair rates, in bit/s.
    link_fair_bps: Link "fair_bps", F64(f64), "bit/s";
    /// Capacity of a link at the instant, in bit/s; empty if no capacity ever changes.
    link_capacity_bps: Link "capacity_bps", F64(f64), "bit/s";
    /// Backlog of a link at the instant, in bytes.
    link_backlog_bytes: Link "backlog_bytes", U64(u64), "byte";
    /// Greatest number of packets that waited at a link at a time since the previous sample.
    link_peak_packets: Link "peak_packets", U32(u32), "packet";
    /// Rate granted to a subflow at the instant, in bit/s.
    subflow_granted_bps: Subflow "granted_bps", F64(f64), "bit/s";
    /// Rate at which a subflow's data arrived since the previous sample, in bit/s.
    subflow_delivered_bps: Subflow "delivered_bps", F64(f64), "bit/s";
    /// Congestion window of a subflow at the instant, in bytes; NaN for subflows without a window then.
    subflow_window_bytes: Subflow "window_bytes", F64(f64), "byte";
    /// Smoothed round-trip time of a subflow at the instant, in seconds; NaN before the first measurement.
    subflow_rtt_s: Subflow "rtt_s", F64(f64), "s";
    /// Pacing rate of a subflow at the instant, in bit/s; NaN for subflows without one then.
    subflow_pace_bps: Subflow "pace_bps", F64(f64), "bit/s";
    /// Smoothed share of marked packets in the control of a subflow at the instant; NaN for controls without one.
    subflow_marked_share: Subflow "marked_share", F64(f64), "";
    /// Largest shortfall of a subflow from its best bottleneck.
    residual: Run "residual", F64(f64), "";
    /// Largest overload of a link relative to its capacity.
    overload: Run "overload", F64(f64), "";
    /// Number of connections present that have a path to use.
    present: Run "present", U32(u32), "";
    /// Greatest number of packets that waited at a time at any link since the previous sample.
    peak_packets: Run "peak_packets", U32(u32), "packet";
    /// Number of connections with a granted rate, whose errors the distribution describes.
    connection_errors_count: ConnectionErrors "count", U32(u32), "";
    /// The mean error of connections.
    connection_errors_mean: ConnectionErrors "mean", F64(f64), "";
    /// The mean of the magnitudes of the errors of connections.
    connection_errors_magnitude: ConnectionErrors "magnitude", F64(f64), "";
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
    /// Number of bottlenecks, whose errors the distribution describes.
    link_errors_count: LinkErrors "count", U32(u32), "";
    /// The mean error of bottlenecks.
    link_errors_mean: LinkErrors "mean", F64(f64), "";
    /// The mean of the magnitudes of the errors of bottlenecks.
    link_errors_magnitude: LinkErrors "magnitude", F64(f64), "";
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

/// The values of the samples from `first` on, of a column with `all` samples.
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
