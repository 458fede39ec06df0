//! Capacities that a link reports to controls late, with errors, or at intervals, in place of its capacity itself.

use anabranch_core::{Rate, Span, Time};

/// The reports of a link about its capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityReports {
    /// Time from a measurement to its report.
    pub delay: Span,
    /// Time between two measurements; `None` for a measurement at each change.
    pub interval: Option<Span>,
    /// The reports in the order of time; the first is at 0 s.
    pub reports: Vec<CapacityReport>,
}

/// A report of a capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityReport {
    /// Time of the report.
    pub time: Time,
    /// Reported capacity.
    pub capacity: Rate,
    /// Ratio of the reported capacity to the measured one; 1 without an error.
    pub error: f64,
}

impl CapacityReports {
    /// The last report at a time.
    pub fn at(&self, time: Time) -> &CapacityReport {
        &self.reports[self.reports.partition_point(|report| report.time <= time).max(1) - 1]
    }

    /// Time of the measurement that is known at a time, for a discipline that measures capacities over a window.
    pub fn measured(&self, time: Time) -> Time {
        let seen = time.0.saturating_sub(self.delay.0);
        Time(self.interval.map_or(seen, |interval| seen / interval.0 * interval.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_what_was_measured_before_the_delay() {
        // Measured at 0, 10, 20 ms and so on, and known 3 ms later: at 22 ms what was measured at 10 ms.
        let report = |ms, capacity| CapacityReport { time: Time::ms(ms), capacity: Rate(capacity), error: 1.0 };
        let reports = vec![report(0, 1.0), report(13, 2.0), report(23, 3.0)];
        let reports = CapacityReports { delay: Span::ms(3), interval: Some(Span::ms(10)), reports };
        let at = |ms| (reports.at(Time::ms(ms)).capacity, reports.measured(Time::ms(ms)));
        assert_eq!((at(2), at(12)), ((Rate(1.0), Time(0)), (Rate(1.0), Time(0))));
        assert_eq!((at(13), at(22)), ((Rate(2.0), Time::ms(10)), (Rate(2.0), Time::ms(10))));
        assert_eq!(at(99), (Rate(3.0), Time::ms(90)));
        let always = CapacityReports { interval: None, ..reports };
        assert_eq!(always.measured(Time::ms(22)), Time::ms(19));
    }
}
