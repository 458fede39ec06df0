//! A controller that writes down what it is told.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

/// A call of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Call {
    Built { mtu: u16 },
    Sent { at: Instant, number: u64, bytes: u16 },
    Acked { at: Instant, sent: Instant, number: u64 },
    AcksEnd { at: Instant, is_starved: bool },
    Lost { number: u64 },
    Event { is_persistent: bool, is_ecn: bool },
    Full,
    Mtu(u16),
    Copied,
}

/// Makes controllers with a window, which they keep.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub calls: Arc<Mutex<Vec<(usize, Call)>>>,
    /// Of each end of acknowledgements the time that was told and that at which it was.
    pub ended: Arc<Mutex<Vec<(Instant, Instant)>>>,
    window: u64,
    pace: Option<u64>,
    /// How many have been built before.
    built: Arc<Mutex<usize>>,
}

/// The controller of a path.
#[derive(Clone, Debug)]
pub struct Recording {
    pub recorder: Recorder,
    /// The place of its path among those that have begun.
    pub path: usize,
}

impl Recorder {
    /// One whose windows have so many bytes, and whose pace is in bytes a second.
    pub fn new(window: u64, pace: Option<u64>) -> Self {
        Self { calls: Arc::default(), ended: Arc::default(), window, pace, built: Arc::default() }
    }

    /// What the controller of a path was told, by the place of the path among those that have begun.
    pub fn of(&self, path: usize) -> Vec<Call> {
        self.calls.lock().unwrap().iter().filter(|(own, _)| *own == path).map(|(_, call)| *call).collect()
    }

    /// Forgets what was told.
    pub fn forget(&self) {
        self.calls.lock().unwrap().clear();
    }
}

impl ControllerFactory for Recorder {
    fn build(self: Arc<Self>, _now: Instant, mtu: u16) -> Box<dyn Controller> {
        let mut built = self.built.lock().unwrap();
        let recording = Recording { recorder: (*self).clone(), path: *built };
        *built += 1;
        recording.write(Call::Built { mtu });
        Box::new(recording)
    }
}

impl Recording {
    fn write(&self, call: Call) {
        self.recorder.calls.lock().unwrap().push((self.path, call));
    }
}

impl Controller for Recording {
    fn on_packet_sent(&mut self, at: Instant, bytes: u16, number: u64) {
        self.write(Call::Sent { at, number, bytes });
    }

    fn on_cwnd_limited(&mut self) {
        self.write(Call::Full);
    }

    fn on_ack(&mut self, at: Instant, sent: Instant, _: u64, number: u64, _: bool, _: &RttEstimator) {
        self.write(Call::Acked { at, sent, number });
    }

    fn on_end_acks(&mut self, at: Instant, _: u64, is_starved: bool, _: Option<u64>) {
        self.recorder.ended.lock().unwrap().push((at, Instant::now()));
        self.write(Call::AcksEnd { at, is_starved });
    }

    fn on_packet_lost(&mut self, _: u16, number: u64, _: Instant) {
        self.write(Call::Lost { number });
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, is_persistent: bool, is_ecn: bool, _: u64, _: u64) {
        self.write(Call::Event { is_persistent, is_ecn });
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.write(Call::Mtu(mtu));
    }

    fn window(&self) -> u64 {
        self.recorder.window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = self.recorder.pace;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        self.write(Call::Copied);
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
