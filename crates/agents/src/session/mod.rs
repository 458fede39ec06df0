//! The session of an application: the control of its source, and its packets.

mod path;

use anabranch_core::{Bytes, Rate, Span, Time, units::SECOND};
use anabranch_proto::control::{ConnectionView, PacketOrder};
use anabranch_proto::protocols::{Control, Demands};
use anabranch_proto::{Orders, Protocol, SourceControl};

use crate::message::{AgentId, Answer, ClientId, Fate, Fields, Parcel, Refusal, Step, UNLIMITED};
use crate::rising::{Rising, RoundTrips};
use crate::view::{SessionState, SessionView};
use path::{DemandLink, Path};

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The session has joined and sends.
    Active,
    /// The session is leaving, and will join again.
    Renewing,
    /// No path works; the session tries again.
    Waiting,
    /// The session is leaving for good.
    Leaving,
    /// The session has left.
    Gone,
}

/// The parameters of a new session.
pub(crate) struct Beginning {
    pub protocol: (u8, Protocol),
    pub claim: f64,
    pub reserved: Rate,
    pub demand: Rate,
    pub paths: Vec<(Vec<Step>, AgentId)>,
}

/// Time after which a session tries paths again that did not work: at first, and at most.
const TRY_AGAIN: (Span, Span) = (Span(5 * SECOND), Span(160 * SECOND));

/// The session of an application.
pub(crate) struct Session {
    client: ClientId,
    protocol: (u8, Protocol),
    claim: f64,
    reserved: Rate,
    demand: Rate,
    paths: Vec<Path>,
    /// Paths that take the place of these when the session joins again.
    next_paths: Option<Vec<Path>>,
    /// The paths that work, by the subflows of the control.
    subflows: Vec<usize>,
    /// Time after which paths that do not work are tried again, and when.
    pause: Span,
    try_at: Option<Time>,
    /// Least time between two packets of a path.
    gap: Span,
    joining: u32,
    /// The generation in which links count the session.
    generation: u64,
    control: Box<dyn SourceControl>,
    own: Option<DemandLink>,
    state: State,
    rates: Vec<Rising>,
    /// Time before which rates stay as they are.
    held: Time,
    wakes: Vec<Time>,
    orders: Orders,
    /// Packets to send, and answers for the application.
    pub parcels: Vec<Parcel>,
    pub answers: Vec<Answer>,
}

impl Session {
    /// A session that has not joined yet; returns the reason as an error if the session is not possible.
    pub fn new(client: ClientId, gap: Span, beginning: Beginning) -> Result<Self, String> {
        let Beginning { protocol, claim, reserved, demand, paths } = beginning;
        if !crate::serves(&protocol.1) {
            return Err(format!("agents do not carry the packets of {}", protocol.1.title()));
        }
        protocol.1.check(claim, reserved, paths.len())?;
        let control = source(&protocol.1, claim, (reserved, demand), paths.len())?;
        let count = paths.len();
        Ok(Self {
            client,
            protocol,
            claim,
            reserved,
            demand,
            paths: paths.into_iter().map(Path::new).collect(),
            next_paths: None,
            subflows: Vec::new(),
            pause: TRY_AGAIN.0,
            try_at: None,
            gap,
            joining: 0,
            generation: 0,
            control,
            own: None,
            state: State::Gone,
            rates: none(count),
            held: Time(0),
            wakes: Vec::new(),
            orders: Orders::default(),
            parcels: Vec::new(),
            answers: Vec::new(),
        })
    }

    /// Joins in this generation.
    pub fn begin(&mut self, now: Time, generation: u64, held: Time) {
        (self.generation, self.held) = (generation, held);
        self.tell_paths();
        self.join(now);
    }

    fn join(&mut self, now: Time) {
        self.joining = self.joining.wrapping_add(1);
        self.wakes.clear();
        if let Some(paths) = self.next_paths.take() {
            let before = std::mem::replace(&mut self.paths, paths);
            // A path that stays keeps its rate until another is granted.
            let mut rates = std::mem::take(&mut self.rates);
            let kept = |path: &Path| before.iter().position(|old| (&old.steps, old.end) == (&path.steps, path.end));
            let rate = |path| kept(path).map_or_else(Rising::default, |place| std::mem::take(&mut rates[place]));
            self.rates = self.paths.iter().map(rate).collect();
            self.tell_paths();
            self.tell_rates(now);
        }
        self.subflows = (0..self.paths.len()).filter(|&place| !self.paths[place].is_away).collect();
        for (path, rate) in self.paths.iter_mut().zip(&mut self.rates) {
            path.ceiling = f64::INFINITY;
            path.due.clear();
            path.limit = None;
            path.reach = path.steps.len() as u8;
            rate.hold(self.held);
            if path.is_away {
                rate.bound(now, 0.0);
            }
        }
        if self.subflows.len() < self.paths.len() {
            self.tell_rates(now);
        }
        if self.subflows.is_empty() {
            self.state = State::Waiting;
            return;
        }
        self.state = State::Active;
        self.own = self.needs_own().then(|| DemandLink::new(&self.protocol.1, self.demand));
        if let Ok(control) = source(&self.protocol.1, self.claim, (self.reserved, self.demand), self.subflows.len()) {
            self.control = control;
        }
        self.control.join(now, &mut self.orders);
        self.obey(now);
    }

    /// Leaves, since the application has nothing more to send.
    pub fn leave(&mut self, now: Time) {
        match self.state {
            State::Active => {
                self.state = State::Leaving;
                self.control.leave(now, &mut self.orders);
                self.obey(now);
            }
            State::Renewing => self.state = State::Leaving,
            State::Waiting => self.finish(),
            State::Leaving | State::Gone => {}
        }
    }

    /// Begins a new generation, in which no link has counted the session yet: the session joins again, unless it is
    /// leaving. Paths that did not work may work now.
    pub fn renew(&mut self, now: Time, generation: u64, held: Time) {
        (self.generation, self.held) = (generation, held);
        self.pause = TRY_AGAIN.0;
        self.take_all_paths();
        match self.state {
            State::Active | State::Renewing | State::Waiting => self.join(now),
            State::Leaving => self.finish(),
            State::Gone => {}
        }
    }

    /// Keeps rates as they are until a time, if they stay now.
    pub fn hold(&mut self, held: Time) {
        self.held = held;
        self.rates.iter_mut().for_each(|rate| rate.hold(held));
    }

    /// Tells the rates that count.
    fn tell_rates(&mut self, now: Time) {
        let rates = self.rates.iter_mut().map(|rate| rate.rate(now)).collect();
        self.answers.push(Answer::Granted { rates });
    }

    fn tell_paths(&mut self) {
        let links = |path: &Path| path.steps.iter().map(|step| step.link).collect();
        self.answers.push(Answer::Paths { paths: self.paths.iter().map(links).collect() });
    }

    fn take_all_paths(&mut self) {
        self.try_at = None;
        self.paths.iter_mut().for_each(|path| path.is_away = false);
    }

    /// Changes the demand.
    pub fn set_demand(&mut self, now: Time, demand: Rate) {
        self.demand = demand;
        if self.state == State::Waiting {
            return;
        }
        if self.needs_own() != self.own.is_some() {
            return self.begin_anew(now);
        }
        if let Some(own) = &mut self.own {
            own.capacity = demand;
        }
        self.control.on_demand(now, demand, &mut self.orders);
        self.obey(now);
    }

    /// Changes the paths. Those that the protocol cannot serve are refused.
    pub fn set_paths(&mut self, now: Time, paths: Vec<(Vec<Step>, AgentId)>) {
        if let Err(reason) = self.protocol.1.check(self.claim, self.reserved, paths.len()) {
            return self.refuse(now, &reason);
        }
        let is_same =
            |(path, (steps, end)): (&Path, &(Vec<Step>, AgentId))| (&*path.steps, &path.end) == (&**steps, end);
        if self.next_paths.is_none() && self.paths.len() == paths.len() && self.paths.iter().zip(&paths).all(is_same) {
            return;
        }
        self.next_paths = Some(paths.into_iter().map(Path::new).collect());
        match self.state {
            State::Active => self.begin_anew(now),
            State::Waiting => self.join(now),
            State::Renewing | State::Leaving | State::Gone => {}
        }
    }

    /// Whether the paths have to begin with a link for the demand.
    fn needs_own(&self) -> bool {
        self.demand.0.is_finite() && self.protocol.1.capabilities().demands == Demands::AsLinks
    }

    /// What the session shows of itself.
    pub fn view(&self) -> SessionView {
        let state = match self.state {
            State::Active | State::Renewing => SessionState::Active,
            State::Waiting => SessionState::Waiting,
            State::Leaving | State::Gone => SessionState::Leaving,
        };
        let paths = self.paths.iter().zip(&self.rates).map(|(path, rate)| path.view(rate.last())).collect();
        let (claim, reserved, demand) = (self.claim, self.reserved, self.demand);
        SessionView { client: self.client, state, claim, reserved, demand, paths }
    }

    /// Whether the session is leaving for good, or has left.
    pub fn is_leaving(&self) -> bool {
        matches!(self.state, State::Leaving | State::Gone)
    }

    /// Whether the session has left.
    pub fn is_gone(&self) -> bool {
        self.state == State::Gone
    }

    /// Leaves, and then joins again.
    fn begin_anew(&mut self, now: Time) {
        if self.state == State::Active {
            self.state = State::Renewing;
            self.control.leave(now, &mut self.orders);
            self.obey(now);
        }
    }

    fn finish(&mut self) {
        self.state = State::Gone;
        self.answers.push(Answer::Left);
    }

    /// Handles a packet that has come back; its round trip goes to those of the agent.
    pub fn on_reply(&mut self, now: Time, mut parcel: Parcel, trips: &mut RoundTrips) {
        let place = usize::from(parcel.path);
        if matches!(self.state, State::Gone | State::Waiting) || !self.is_own(&parcel) {
            return;
        }
        let Some(subflow) = self.subflows.iter().position(|&path| path == place) else { return };
        if parcel.before == 1
            && let Some(own) = &mut self.own
        {
            parcel.fields = own.show(now, true, parcel.fields);
        }
        let path = &mut self.paths[place];
        if let Some(sent) = path.sent {
            let rise = trips.note(now, Span(now.0.saturating_sub(sent.0)));
            self.rates.iter_mut().for_each(|rate| rate.set_rise(rise));
        }
        path.ceiling = parcel.ceiling;
        path.reach = parcel.reach;
        if parcel.fate == Fate::Counted {
            path.limit = path.limit_of(&parcel);
        }
        let is_unlimited = parcel.ceiling >= UNLIMITED && self.demand.0.is_infinite();
        match parcel.fate {
            // What this agent says of its own links is right; what comes from elsewhere may be a lie.
            Fate::Lost if parcel.reach == 0 => self.refuse(now, "the first link of a path does not exist"),
            Fate::Lost | Fate::Away | Fate::Refused => self.do_without(now, place),
            _ if is_unlimited => self.refuse(now, "no link of a path has a limit, and neither has the session"),
            _ => {}
        }
        self.control.on_reply(now, subflow, &parcel.fields.header(), &mut self.orders);
        self.obey(now);
    }

    /// Leaves a path that does not work, and joins on the others.
    fn do_without(&mut self, now: Time, place: usize) {
        if !std::mem::replace(&mut self.paths[place].is_away, true) {
            self.try_at = Some(now + self.pause);
            self.pause = Span((2 * self.pause.0).min(TRY_AGAIN.1.0));
        }
        self.begin_anew(now);
    }

    /// Whether a packet belongs to the session, and all links counted it. If a link is in a later generation, this
    /// agent hears of that soon.
    fn is_own(&self, parcel: &Parcel) -> bool {
        let Some(path) = self.paths.get(usize::from(parcel.path)) else { return false };
        (parcel.joining, parcel.generation, parcel.protocol) == (self.joining, self.generation, self.protocol.0)
            && parcel.fate != Fate::Stale
            && (&*parcel.steps, parcel.end) == (&*path.steps, path.end)
            && parcel.before == u8::from(self.own.is_some())
    }

    /// Leaves, since the session cannot be served.
    fn refuse(&mut self, now: Time, reason: &str) {
        self.answers.push(Refusal::lasting(reason).into());
        self.leave(now);
    }

    /// The time at which [`Self::on_time`] has to be called.
    pub fn next_at(&self) -> Option<Time> {
        let dues = self.paths.iter().filter(|path| !path.due.is_empty()).map(|path| path.next(self.gap));
        let rises = self.rates.iter().filter_map(Rising::next_at);
        dues.chain(self.wakes.iter().copied()).chain(self.try_at).chain(rises).min()
    }

    /// Sends the packets that are due.
    pub fn on_time(&mut self, now: Time) {
        let before = self.wakes.len();
        self.wakes.retain(|wake| *wake > now);
        if self.wakes.len() < before {
            self.control.on_timer(now, &mut self.orders);
            self.obey(now);
        }
        if self.rates.iter().any(|rate| rate.next_at().is_some_and(|time| time <= now)) {
            self.tell_rates(now);
        }
        if self.try_at.is_some_and(|time| time <= now) {
            self.take_all_paths();
            match self.state {
                State::Active => self.begin_anew(now),
                State::Waiting => self.join(now),
                State::Renewing | State::Leaving | State::Gone => {}
            }
        }
        for place in 0..self.paths.len() {
            if !self.paths[place].due.is_empty() && self.paths[place].next(self.gap) <= now {
                let due = std::mem::take(&mut self.paths[place].due);
                for order in due {
                    self.send(now, place, &order);
                }
            }
        }
    }

    /// Carries out the orders of the control.
    fn obey(&mut self, now: Time) {
        let mut orders = std::mem::take(&mut self.orders);
        for order in orders.packets.drain(..) {
            let place = self.subflows[order.subflow];
            let path = &mut self.paths[place];
            // A packet without a reply is sent at once: nothing follows it.
            if order.wants_reply && (path.next(self.gap) > now || !path.due.is_empty()) {
                path.due.push(order);
            } else {
                self.send(now, place, &order);
            }
        }
        if !orders.grants.is_empty() {
            for (subflow, rate) in orders.grants.drain(..) {
                let place = self.subflows[subflow];
                let ceiling = self.paths[place].ceiling.min(self.demand.0);
                self.rates[place].grant(now, if rate.0.is_finite() { rate.0.clamp(0.0, ceiling) } else { 0.0 });
                self.rates[place].bound(now, ceiling);
            }
            self.tell_rates(now);
        }
        self.wakes.extend(orders.wake);
        let has_left = orders.has_left;
        orders.clear();
        self.orders = orders;
        match self.state {
            State::Renewing if has_left => self.join(now),
            State::Leaving if has_left => self.finish(),
            _ => {}
        }
    }

    /// Sends a packet.
    fn send(&mut self, now: Time, place: usize, order: &PacketOrder) {
        let path = &mut self.paths[place];
        path.sent = Some(now);
        let Some(mut fields) = Fields::of(&order.header) else { return };
        if let Some(own) = &mut self.own {
            fields = own.show(now, false, fields);
        }
        self.parcels.push(Parcel {
            client: self.client,
            joining: self.joining,
            path: place as u8,
            protocol: self.protocol.0,
            steps: path.steps.to_vec(),
            end: path.end,
            before: u8::from(self.own.is_some()),
            at: 0,
            is_returning: false,
            reach: path.reach,
            wants_reply: order.wants_reply,
            generation: self.generation,
            fate: Fate::Counted,
            ceiling: f64::INFINITY,
            fields,
        });
    }
}

/// The rates of some paths, without any.
fn none(paths: usize) -> Vec<Rising> {
    (0..paths).map(|_| Rising::default()).collect()
}

fn source(
    protocol: &Protocol,
    claim: f64,
    (reserved, demand): (Rate, Rate),
    subflows: usize,
) -> Result<Box<dyn SourceControl>, String> {
    let view = ConnectionView { subflows, claim, reserved, demand, packet: Bytes(1500), first_window: 1.0 };
    match protocol.source(&view) {
        Control::Rates(control) => Ok(control),
        Control::Windows(_) => Err(format!("{} keeps windows, and agents grant rates", protocol.title())),
    }
}
