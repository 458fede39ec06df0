//! Formulas: two formulas in the scenario file say how windows grow and fall, so that a protocol needs no compilation.
//!
//! ```text
//! increase  = 1 / window     for each packet acknowledged in congestion avoidance, unless the scenario says otherwise
//! decreased = window / 2     after a loss or a mark, unless the scenario says otherwise; floor or more
//! ```
//!
//! These defaults are Reno. Slow start, recovery and timeouts are always those of Reno. Both formulas are evaluated for
//! one subflow, and know these variables of it:
//!
//! ```text
//! window    congestion window, in packets
//! rtt       smoothed round trip, in seconds
//! base_rtt  least round trip so far, in seconds
//! rate      window / rtt, in packets a second
//! since     time since the first acknowledgement after recovery from the last loss or mark, in seconds, without
//!           time in which the source sent less than the window allowed; it begins anew after idle times
//! lost_at   window before the last loss or mark, in packets; before the first, window
//! silent    1 from a timeout to the next acknowledgement, else 0
//! flows     number of subflows of the connection that are in use and whose round trip is known
//!
//! + - * / ^ and brackets        as on paper: -x^2 is -(x^2), and 2^3^2 is 2^9
//! < <= > >=                     1 if it holds, else 0
//! if(condition, a, b)           a if condition is over 0, else b
//! min max sqrt cbrt exp ln log2 abs
//! sum(x) largest(x) smallest(x) over the subflows that flows counts; variables in x are those of each
//! ```
//!
//! Some protocols as formulas, with Scalable TCP [kelly2003]:
//!
//! ```text
//! GAIMD           increase = 0.3125 / window                                     decreased = 0.875 * window
//! Scalable TCP    increase = 0.01                                                decreased = 0.875 * window
//! Vegas-like      increase = if(window * (1 - base_rtt / rtt) < 3, 1, -1) / window
//! EWTCP           increase = 1 / (window * sum(1 - silent)^2)
//! LIA             increase = min(largest(rate / rtt) / sum(rate)^2, 1 / window)
//! Fully coupled   increase = 1 / sum(window)       decreased = window - sum(window) / 2       floor = 1
//! CUBIC's curve   increase = min(max(0.4 * (since + rtt - cbrt(0.75 * lost_at))^3 + lost_at - window, 0) / window, 0.5)
//!                 decreased = 0.7 * window
//! ```
//!
//! Values stay within bounds. An increase that is infinite or not a number, such as 1 / 0, does not change the window.
//! Such a value of `decreased` counts as window / 2. A loss never enlarges the window: `decreased` counts as at most
//! window, and then as at least `floor`. Windows are 1 to 2^30 packets.
//!
//! While the round trip of a subflow is not known, it counts as the only one, and `rtt`, `base_rtt` and `rate` are not
//! numbers, nor is anything that is computed of them. Of subflows on which other senders send, only `window`, `rtt`,
//! `rate` and `silent` are known; there `base_rtt` is `rtt`, `lost_at` is `window`, and `since` is 0.
//!
//! A connection has 4 paths if `paths` is not written and a formula has `sum`, `largest`, `smallest` or `flows`.
//! Otherwise it has 1, since its subflows would know nothing of each other.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::formula::{Formula, Variable};
use crate::protocols::capabilities::Capabilities;
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Acked, Aimd, Coupling, Flow, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// The two formulas and the least window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FormulasParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Packets by which the window grows for each packet acknowledged in congestion avoidance; it may be negative.
    pub increase: Formula,
    /// Window in packets after a loss or a mark.
    pub decreased: Formula,
    /// Least window after a loss or a mark, in packets, 1 to 1000.
    #[serde(deserialize_with = "floor")]
    #[schemars(range(min = 1, max = 1000))]
    pub floor: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        let formula = |text| Formula::new(text).expect("the formulas of Reno are formulas");
        Self { increase: formula("1 / window"), decreased: formula("window / 2"), floor: 2.0 }
    }
}

impl Parameters {
    /// Whether a formula has values over all subflows of a connection.
    pub fn couples(&self) -> bool {
        self.increase.couples() || self.decreased.couples()
    }
}

fn floor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1.0..=1000.0, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let histories = vec![History::default(); connection.subflows];
    let coupling = Formulas { parameters: parameters.clone(), histories };
    Box::new(Aimd::new(connection.subflows, connection.first_window, coupling))
}

struct Formulas {
    parameters: Parameters,
    histories: Vec<History>,
}

/// The state of a subflow that formulas read besides its [`Flow`].
#[derive(Clone, Copy, Debug)]
struct History {
    /// Least round trip in seconds; infinite before the first.
    base_rtt: f64,
    /// Window before the last loss or mark.
    lost_at: Option<f64>,
    /// Seconds since recovery from the last loss or mark; `None` before the first acknowledgement after it.
    since: Option<f64>,
    /// Time of the last acknowledgement in seconds.
    last: f64,
}

impl Default for History {
    fn default() -> Self {
        Self { base_rtt: f64::INFINITY, lost_at: None, since: None, last: 0.0 }
    }
}

impl Formulas {
    fn variable(&self, flows: &[Flow], variable: Variable, subflow: usize) -> f64 {
        let (flow, history) = (&flows[subflow], &self.histories[subflow]);
        match variable {
            Variable::Window => flow.window,
            Variable::Rtt | Variable::BaseRtt | Variable::Rate if flow.rtt <= 0.0 => f64::NAN,
            Variable::Rtt => flow.rtt,
            Variable::BaseRtt => history.base_rtt.min(flow.rtt),
            Variable::Rate => flow.rate(),
            Variable::Since => history.since.unwrap_or(0.0),
            Variable::LostAt => history.lost_at.unwrap_or(flow.window),
            Variable::Silent => f64::from(u8::from(flow.is_silent)),
        }
    }

    /// The value of a formula for a subflow; `None` if it is infinite or not a number.
    fn value(&self, formula: &Formula, flows: &[Flow], own: usize) -> Option<f64> {
        let is_known = flows[own].is_known();
        let all = (0..flows.len()).filter(|&i| if is_known { flows[i].is_known() } else { i == own });
        let value = formula.value(own, &all, |variable, subflow| self.variable(flows, variable, subflow));
        value.is_finite().then_some(value)
    }
}

impl Coupling for Formulas {
    fn increase(&self, flows: &[Flow], subflow: usize) -> f64 {
        self.value(&self.parameters.increase, flows, subflow).unwrap_or(0.0)
    }

    fn decreased(&self, flows: &[Flow], subflow: usize) -> f64 {
        let window = flows[subflow].window;
        self.value(&self.parameters.decreased, flows, subflow).unwrap_or(window / 2.0).min(window)
    }

    fn floor(&self) -> f64 {
        self.parameters.floor
    }

    fn on_open(&mut self, _: &[Flow], subflow: usize) {
        self.histories[subflow] = History::default();
    }

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        let (history, now) = (&mut self.histories[subflow], acked.now.seconds());
        history.base_rtt = acked.rtt.unwrap_or(f64::INFINITY).min(history.base_rtt);
        if !acked.is_recovering && acked.is_limited {
            history.since = Some(history.since.map_or(0.0, |since| since + now - history.last));
        }
        history.last = now;
    }

    fn on_idle(&mut self, _: &[Flow], subflow: usize) {
        self.histories[subflow].since = None;
    }

    fn on_signal(&mut self, _: &[Flow], subflow: usize, before: f64) {
        let history = &mut self.histories[subflow];
        (history.lost_at, history.since) = (Some(before), None);
    }
}

#[cfg(test)]
mod tests {
    use anabranch_core::Time;

    use super::*;
    use crate::protocols::cubic;
    use crate::testing::alone;
    use crate::window::Signal;
    use crate::window::testing::{WIFI_AND_3G, acked, flow, is_near, is_within, mean_window, settled};

    fn parameters(increase: &str, decreased: &str) -> Parameters {
        let formula = |text| Formula::new(text).unwrap();
        Parameters { increase: formula(increase), decreased: formula(decreased), ..Parameters::default() }
    }

    fn formulas(increase: &str, decreased: &str, subflows: usize) -> Formulas {
        Formulas { parameters: parameters(increase, decreased), histories: vec![History::default(); subflows] }
    }

    #[test]
    fn scalable_tcp_grows_by_a_hundredth_and_loses_an_eighth() {
        let mut stcp = source(&parameters("0.01", "0.875 * window"), &alone());
        stcp.open(0, Time(0));
        // Slow start from 10 to 40 packets; a loss leaves 7/8 of them; a hundred acknowledgements are one packet.
        stcp.on_ack(0, &Acked { packets: 30, ..acked(0.1, 0.1) });
        stcp.on_signal(0, Signal::Loss, 40, Time::ms(200));
        assert!(is_near(stcp.window(0), 35.0));
        (0..100).for_each(|_| stcp.on_ack(0, &acked(0.3, 0.1)));
        assert!(is_near(stcp.window(0), 36.0));
    }

    #[test]
    fn linked_increases_get_what_the_best_path_alone_would() {
        // sqrt(2 / 0.04) / 0.01 = 707.1, of which 3G gives all it has: sqrt(2 / 0.01) / 0.1 = 141.4.
        let lia = formulas("min(largest(rate / rtt) / sum(rate)^2, 1 / window)", "window / 2", 2);
        let rates = settled(&lia, &WIFI_AND_3G);
        assert!(is_within(rates[0], 565.7, 1e-3) && is_within(rates[1], 141.4, 1e-3), "{rates:?}");
    }

    #[test]
    fn a_value_that_is_no_finite_number_is_as_documented() {
        let flows = [flow(10.0, 0.1)];
        for text in ["1 / 0", "-1 / 0", "sqrt(-1)", "ln(0)"] {
            let formulas = formulas(text, text, 1);
            assert!(is_near(1.0 + formulas.increase(&flows, 0), 1.0), "{text}");
            assert!(is_near(formulas.decreased(&flows, 0), 5.0), "{text}");
        }
        assert!(is_near(formulas("1", "3 * window", 1).decreased(&flows, 0), 10.0));
    }

    #[test]
    fn a_subflow_without_a_round_trip_counts_alone() {
        let flows = [flow(10.0, 0.0), flow(8.0, 0.1)];
        let coupled = formulas("1 / sum(window)", "window - sum(window) / 2", 2);
        assert!(is_near(coupled.decreased(&flows, 0), 5.0) && is_near(coupled.decreased(&flows, 1), 4.0));
        assert!(is_near(coupled.increase(&flows, 1), 0.125));
        assert!(is_near(formulas("1", "min(rate, 1)", 2).decreased(&flows, 0), 5.0));
    }

    #[test]
    fn variables_remember_losses_times_and_the_least_round_trip() {
        let mut all = formulas("since", "lost_at", 1);
        let flows = [flow(10.0, 0.1)];
        let is = |all: &Formulas, variable, wanted: f64| {
            let value = all.variable(&flows, variable, 0);
            assert!((value - wanted).abs() < 1e-9, "{variable:?} is {value}, and not {wanted}");
        };
        is(&all, Variable::LostAt, 10.0);
        all.on_ack(0, &acked(1.0, 0.08));
        all.on_ack(0, &acked(2.0, 0.09));
        is(&all, Variable::Since, 1.0);
        is(&all, Variable::BaseRtt, 0.08);
        all.on_signal(&flows, 0, 24.0);
        all.on_ack(0, &Acked { is_recovering: true, ..acked(3.0, 0.1) });
        is(&all, Variable::LostAt, 24.0);
        is(&all, Variable::Since, 0.0);
        // Time counts from the second acknowledgement on, but for the second in which it had too little to send.
        all.on_ack(0, &acked(4.0, 0.1));
        all.on_ack(0, &Acked { is_limited: false, ..acked(5.0, 0.1) });
        all.on_ack(0, &acked(6.5, 0.1));
        is(&all, Variable::Since, 1.5);
        all.on_idle(&flows, 0);
        is(&all, Variable::Since, 0.0);
        all.on_open(&flows, 0);
        is(&all, Variable::BaseRtt, 0.1);
    }

    #[test]
    fn the_curve_of_cubic_is_as_high_as_the_compiled_one() {
        let curve = "min(max(0.4 * (since + rtt - cbrt(0.75 * lost_at))^3 + lost_at - window, 0) / window, 0.5)";
        let view = ConnectionView { first_window: 100.0, ..alone() };
        let mean = |control: &mut dyn WindowControl| mean_window(control, 0.2, 400_000, |number| number % 5000 == 4999);
        let written = mean(&mut *source(&parameters(curve, "0.7 * window"), &view));
        let cubic = cubic::Parameters { hystart: false, fast_convergence: false, ..Default::default() };
        let compiled = mean(&mut *cubic::source(&cubic, &view));
        assert!(is_within(written, compiled, 0.02), "{written} and {compiled}");
    }

    #[test]
    fn by_the_least_round_trip_it_keeps_three_packets_in_the_queue() {
        let mut vegas = formulas("if(window * (1 - base_rtt / rtt) < 3, 1, -1) / window", "window / 2", 1);
        vegas.on_ack(0, &acked(1.0, 0.05));
        // 60 packets in 60 ms are ten more than 50 ms hold, 51 in 51 ms are one more.
        assert!(is_near(vegas.increase(&[flow(60.0, 0.06)], 0), -1.0 / 60.0));
        assert!(is_near(vegas.increase(&[flow(51.0, 0.051)], 0), 1.0 / 51.0));
    }
}
