//! Measurements and their server, on threads of their own.

use super::{Event, PerfError, Plan, Service, measure, serve};
use crate::running::{Events, Running};

impl Running<Event> {
    /// Measures once.
    pub fn measure(plan: Plan) -> Result<Self, PerfError> {
        Self::told(|events| measure(plan, events))
    }

    /// Serves until it is dropped.
    pub fn serve(service: Service) -> Result<Self, PerfError> {
        Self::told(|events| serve(service, events))
    }

    /// Work that tells of itself what goes wrong.
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
