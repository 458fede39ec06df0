//! Controls of one path, used over several: each subflow has its own, which knows nothing of the others.

use anabranch_core::{Rate, Time};

use crate::control::ConnectionView;
use crate::protocols::Control;
use crate::window::{Acked, Signal, SubflowSnapshot, WindowControl};

/// One control for each subflow of a connection. A connection gets as much of a link as it has subflows there.
pub struct EachPath(Vec<Box<dyn WindowControl>>);

impl EachPath {
    /// Creates the controls of all subflows of `connection`: `control` creates that of a connection with one.
    ///
    /// # Panics
    /// If `control` creates a control of rates.
    pub fn boxed(connection: &ConnectionView, control: impl Fn(&ConnectionView) -> Control) -> Box<dyn WindowControl> {
        let alone = ConnectionView { subflows: 1, ..*connection };
        let window = |_| match control(&alone) {
            Control::Windows(control) => control,
            Control::Rates(_) => panic!("rates over several paths are set by one control"),
        };
        Box::new(Self((0..connection.subflows).map(window).collect()))
    }
}

impl WindowControl for EachPath {
    fn open(&mut self, subflow: usize, now: Time) {
        self.0[subflow].open(0, now);
    }

    fn close(&mut self, subflow: usize) {
        self.0[subflow].close(0);
    }

    fn on_capacity(&mut self, subflow: usize, capacity: Rate) {
        self.0[subflow].on_capacity(0, capacity);
    }

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        self.0[subflow].on_ack(0, acked);
    }

    fn on_signal(&mut self, subflow: usize, signal: Signal, in_flight: u32, now: Time) {
        self.0[subflow].on_signal(0, signal, in_flight, now);
    }

    fn on_idle(&mut self, subflow: usize) {
        self.0[subflow].on_idle(0);
    }

    fn window(&self, subflow: usize) -> f64 {
        self.0[subflow].window(0)
    }

    fn pace(&self, subflow: usize) -> Option<Rate> {
        self.0[subflow].pace(0)
    }

    fn snapshot(&self, subflow: usize) -> Option<SubflowSnapshot> {
        self.0[subflow].snapshot(0)
    }

    fn set_remote(&mut self, subflow: usize, snapshot: Option<SubflowSnapshot>) {
        self.0[subflow].set_remote(0, snapshot);
    }

    fn marked_share(&self, subflow: usize) -> Option<f64> {
        self.0[subflow].marked_share(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::Protocol;
    use crate::testing::alone;
    use crate::window::testing::is_near;

    #[test]
    fn a_loss_on_one_path_leaves_the_window_of_the_other() {
        let view = ConnectionView { subflows: 2, ..alone() };
        let Control::Windows(mut control) = Protocol::named("cubic").unwrap().source(&view) else { unreachable!() };
        control.open(0, Time(0));
        control.open(1, Time(0));
        control.on_signal(1, Signal::Loss, 10, Time(1_000_000_000));
        // CUBIC keeps 0.7 of the window.
        assert!(is_near(control.window(0), 10.0) && is_near(control.window(1), 7.0));
    }
}
