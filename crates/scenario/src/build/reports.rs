//! The reports that links give of their capacities, drawn from the seed.

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{Rate, Span, Time};
use anabranch_plan::{CAPACITIES, CapacityReport, CapacityReports};
use rand_distr::{Distribution, StandardNormal};

use crate::file::report::ReportTable;

/// The capacity of a link over a run.
pub(super) struct Course<'a> {
    pub first: Rate,
    pub changes: &'a [(Time, Rate)],
    pub duration: Span,
}

impl Course<'_> {
    /// Number of measurements of the capacity.
    pub fn measurements(&self, table: &ReportTable) -> usize {
        let by_interval = |interval: Span| (self.duration.0 / interval.0) as usize;
        1 + table.interval.map_or(self.changes.len(), |interval| by_interval(interval.0))
    }

    /// Times and capacities of all measurements, in the order of time.
    fn measured(&self, table: &ReportTable) -> Vec<(Time, Rate)> {
        let Some(interval) = table.interval else {
            return std::iter::once((Time(0), self.first)).chain(self.changes.iter().copied()).collect();
        };
        let times = (0..self.measurements(table) as u64).map(|number| Time(number * interval.0.0));
        times.map(|time| (time, self.at(time))).collect()
    }

    fn at(&self, time: Time) -> Rate {
        let past = self.changes.partition_point(|&(from, _)| from <= time);
        past.checked_sub(1).map_or(self.first, |last| self.changes[last].1)
    }
}

/// The reports of a link, by its number in the network. The first measurement is known at once.
pub(super) fn reports(table: &ReportTable, course: &Course<'_>, seed: u64, link: u32) -> CapacityReports {
    let mut random = stream(seed, Purpose::CapacityReports, link);
    // A log-normal factor with mean 1 and this relative standard deviation.
    let sigma = (1.0 + table.noise * table.noise).ln().sqrt();
    let mut error = || {
        let normal: f64 = StandardNormal.sample(&mut random);
        (sigma * normal - sigma * sigma / 2.0).exp()
    };
    let mut reports: Vec<CapacityReport> = Vec::new();
    for (time, capacity) in course.measured(table) {
        let error = if table.noise > 0.0 { error() } else { 1.0 };
        let time = if reports.is_empty() { Time(0) } else { Time(time.0.saturating_add(table.delay.0.0)) };
        let report = CapacityReport { time, capacity: reported(capacity, error), error };
        let bits = |report: &CapacityReport| (report.capacity.0.to_bits(), report.error.to_bits());
        let is_news = reports.last().is_none_or(|last| bits(last) != bits(&report));
        if is_news {
            reports.push(report);
        }
    }
    CapacityReports { delay: table.delay.0, interval: table.interval.map(|interval| interval.0), reports }
}

/// A capacity with an error, within the range of capacities; 0 and infinite ones stay.
fn reported(capacity: Rate, error: f64) -> Rate {
    let has_error = capacity.0 > 0.0 && capacity.0.is_finite();
    if has_error { Rate((capacity.0 * error).clamp(*CAPACITIES.start(), *CAPACITIES.end())) } else { capacity }
}

#[cfg(test)]
mod tests {
    use anabranch_core::quantity::SpanText;

    use super::*;

    fn table(delay: u64, noise: f64, interval: Option<u64>) -> ReportTable {
        let interval = interval.map(|ms| SpanText(Span::ms(ms)));
        ReportTable { delay: SpanText(Span::ms(delay)), noise, interval }
    }

    /// 8 bit/s, 4 from 15 ms and 6 from 25 ms on, for 40 ms.
    fn course(changes: &[(Time, Rate)]) -> Course<'_> {
        Course { first: Rate(8.0), changes, duration: Span::ms(40) }
    }

    fn seen(reports: &CapacityReports) -> Vec<(u64, f64)> {
        reports.reports.iter().map(|report| (report.time.0 / Time::ms(1).0, report.capacity.0)).collect()
    }

    #[test]
    fn changes_are_reported_late_or_when_they_are_measured() {
        let changes = [(Time::ms(15), Rate(4.0)), (Time::ms(25), Rate(6.0))];
        let course = course(&changes);
        assert_eq!(seen(&reports(&table(20, 0.0, None), &course, 1, 0)), [(0, 8.0), (35, 4.0), (45, 6.0)]);
        // Measured at 0, 20 and 40 ms: 8, 4 and 6.
        assert_eq!(seen(&reports(&table(5, 0.0, Some(20)), &course, 1, 0)), [(0, 8.0), (25, 4.0), (45, 6.0)]);
        // Measured at 0, 10, 20, 30 and 40 ms: what does not change is no news.
        assert_eq!(seen(&reports(&table(0, 0.0, Some(10)), &course, 1, 0)), [(0, 8.0), (20, 4.0), (30, 6.0)]);
    }

    #[test]
    fn errors_have_their_mean_and_spread_and_follow_the_seed() {
        // 40,001 draws: the mean is right to 5 sigma = 5 0.2 / 200 = 0.005.
        let course = Course { first: Rate(1e6), changes: &[], duration: Span::ms(40_000) };
        let of = |seed, link| reports(&table(0, 0.2, Some(1)), &course, seed, link);
        let errors: Vec<f64> = of(1, 0).reports.iter().map(|report| report.error).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let spread = (errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / errors.len() as f64).sqrt();
        assert!(errors.len() == 40_001 && (mean - 1.0).abs() < 0.005 && (spread - 0.2).abs() < 0.01, "{mean} {spread}");
        assert!(of(1, 0) == of(1, 0) && of(1, 0) != of(2, 0) && of(1, 0) != of(1, 1));
    }

    #[test]
    fn an_outage_is_reported_as_one() {
        assert_eq!([0.0, 2.0, f64::INFINITY].map(|c| reported(Rate(c), 1.5)), [0.0, 3.0, f64::INFINITY].map(Rate));
    }
}
