//! Measurements and their server, on separate threads.

use super::{Event, PerfError, Plan, Service, measure, serve};
use crate::running::{Events, Running};

impl Running<Event> {
    /// Starts one measurement.
    pub fn measure(plan: Plan) -> Result<Self, PerfError> {
        Self::told(|events| measure(plan, events))
    }

    /// Starts a server, which serves until it is dropped.
    pub fn serve(service: Service) -> Result<Self, PerfError> {
        Self::told(|events| serve(service, events))
    }

    /// Starts work whose error becomes an event.
    fn told<F>(work: impl FnOnce(Events<Event>) -> F) -> Result<Self, PerfError>
    where
        F: Future<Output = Result<(), PerfError>> + Send + 'static,
    {
        let start = |events: Events<Event>| {
            let work = work(events.clone());
            async move {
                if let Err(error) = work.await {
                    events.tell(Event::Failed(error));
                }
            }
        };
        Self::start(start).map_err(PerfError::NoThreads)
    }
}
