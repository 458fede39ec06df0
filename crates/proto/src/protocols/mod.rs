//! The list of all protocols: an entry makes a protocol known to the scenario file, its schema, the command line and
//! the tests.

pub mod abc;
pub mod b_neck;
mod b_neck_link;
pub mod balia;
pub mod bbr;
mod bbr_model;
pub mod bfyz;
mod capabilities;
pub mod charny;
pub mod cobb;
pub mod copa;
pub mod coupled;
pub mod cubic;
pub mod d_slen;
mod d_slen_as_printed;
pub mod dctcp;
pub mod erica;
pub mod ewtcp;
mod expect;
mod family;
pub mod formulas;
pub mod gaimd;
mod headroom;
pub mod lgc;
pub mod lgcc;
pub mod lia;
pub mod log_rate;
pub mod nmcc;
pub mod olia;
pub mod perc;
pub mod piqi_rcp;
mod probe_cycle;
pub mod qi_rcp;
mod range;
mod rate_feedback;
pub mod rcp;
pub mod reno;
pub mod s_perc;
pub mod slbn;
mod steps;
pub mod uncoupled;
pub mod vegas;
pub mod vo_le_tran;
mod whole_rates;
pub mod wvegas;
pub mod xcp;

use anabranch_core::Rate;
use anabranch_core::choice::Choice;
use anabranch_core::choices;
use anabranch_core::quantity::SpanText;
use anabranch_core::units::Short;
use schemars::JsonSchema;
use serde::Serialize;

pub use capabilities::{Capabilities, Claims, Demands, Paths, Sources};
pub use expect::Expect;
pub use family::Family;
pub use headroom::Headroom;

use crate::control::{ConnectionView, LinkControls, SourceControl};
use crate::window::{EachPath, WindowControl};

/// The control of a source, by the kind of its protocol.
pub enum Control {
    /// A control that sends control packets and is granted rates.
    Rates(Box<dyn SourceControl>),
    /// A control that keeps windows.
    Windows(Box<dyn WindowControl>),
}

impl From<Box<dyn SourceControl>> for Control {
    fn from(control: Box<dyn SourceControl>) -> Self {
        Self::Rates(control)
    }
}

impl From<Box<dyn WindowControl>> for Control {
    fn from(control: Box<dyn WindowControl>) -> Self {
        Self::Windows(control)
    }
}

/// Makes [`Protocol`], [`Header`] and [`PROTOCOLS`] of a list: variant, module, type of the control packets' fields if
/// the protocol has such, name in files, name for readers, family, and description.
///
/// The module has `CAPABILITIES`, `source`, `links`, and `Parameters`, which derive what [`Protocol`] derives and have
/// defaults. Modules of window protocols take `links` from `crate::window`.
macro_rules! protocols {
    ($($(#[$doc:meta])* $variant:ident($module:ident $(, $header:ident)?): $name:literal, $title:literal, $family:ident,
        $does:literal;)*) => {
        /// A protocol with its parameters, written `protocol = "d-slen"` or `protocol.d-slen = { variant = "paper" }`.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        pub enum Protocol {
            $($(#[$doc])* #[serde(rename = $name)] $variant($module::Parameters),)*
        }

        /// The fields of a control packet: one variant for each protocol whose packets have fields.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Header {
            $($(
                #[doc = concat!("The fields of ", $title, ".")]
                $variant($module::$header),
            )?)*
        }

        /// Name of each protocol in files, name for readers, description, family, and module here.
        pub const PROTOCOLS: [(&str, &str, &str, Family, &str); [$($name),*].len()] =
            [$(($name, $title, $does, Family::$family, stringify!($module))),*];

        impl Protocol {
            /// Name of the protocol in files: `d-slen`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// Name of the protocol for readers: `d-SLEN`.
            pub fn title(&self) -> &'static str {
                match self { $(Self::$variant(_) => $title,)* }
            }

            /// Creates the control of a connection's source.
            pub fn source(&self, connection: &ConnectionView) -> Control {
                let control = |view: &ConnectionView| match self {
                    $(Self::$variant(parameters) => $module::source(parameters, view).into(),)*
                };
                if self.capabilities().paths == Paths::Each && connection.subflows > 1 {
                    EachPath::boxed(connection, control).into()
                } else {
                    control(connection)
                }
            }

            /// Creates the controls of `count` links.
            pub fn links(&self, count: usize) -> Box<dyn LinkControls> {
                match self { $(Self::$variant(parameters) => $module::links(parameters, count),)* }
            }

            /// What the protocol can serve.
            pub fn capabilities(&self) -> &'static Capabilities {
                match self { $(Self::$variant(_) => &$module::CAPABILITIES,)* }
            }
        }

        choices!(Protocol, "protocol", ("\"d-slen\"", "{ d-slen = { variant = \"paper\" } }"),
            $($variant($module): $name),*);
    };
}

protocols! {
    /// ABC: links tell the source with each packet to enlarge or reduce its window [goyal2020].
    Abc(abc): "abc", "ABC", LinkWindows,
        "one window that links enlarge or reduce with each packet [goyal2020]";
    /// B-Neck (reconstruction): links find bottlenecks and notify sessions; then no control packet is sent [mozo2011].
    BNeck(b_neck, Packet): "b-neck", "B-Neck (reconstruction)", MaxMinRates,
        "max-min fair rates, and no control packets once they are found [mozo2011]";
    /// BALIA: windows that depend on the fastest of a connection's subflows [peng2016].
    Balia(balia): "balia", "BALIA", PathWindows,
        "windows of several paths, balanced between fairness to others and fast response [peng2016]";
    /// BBR: sends at the delivery rate of the bottleneck [cardwell2016].
    Bbr(bbr): "bbr", "BBR", DelayWindows,
        "one window and a pace, from delivery rates and the least round trip [cardwell2016]";
    /// BFYZ (reconstruction): links label sessions and offer levels, sources take the least [bartal2002].
    Bfyz(bfyz, Probe): "bfyz", "BFYZ (reconstruction)", MaxMinRates,
        "max-min fair rates with a label for each session at a link [bartal2002]";
    /// Charny (reconstruction): links mark sessions and advertise rates, sources take the least [charny1995].
    Charny(charny, Probe): "charny", "Charny (reconstruction)", MaxMinRates,
        "max-min fair rates by marks on sessions that other links limit [charny1995]";
    /// COBB-like: links count the sessions that they limit anew in every period [cobb2008].
    CobbLike(cobb, Probe): "cobb-like", "COBB-like", MaxMinRates,
        "max-min fair rates; links count the sessions that they limit again in each period [cobb2008]";
    /// Copa: a rate inverse to the queueing delay [arun2018].
    Copa(copa): "copa", "Copa", DelayWindows,
        "one window and a pace, from the queueing delay [arun2018]";
    /// Fully coupled windows: all subflows together behave as one Reno [wischik2011].
    Coupled(coupled): "coupled", "Fully coupled", PathWindows,
        "windows of several paths that together behave as one Reno, on the best paths [wischik2011]";
    /// CUBIC: a window that follows a curve in time since the last loss [rfc9438].
    Cubic(cubic): "cubic", "CUBIC", LossWindows,
        "one window that grows with the time since a loss, independently of the round trip [rfc9438]";
    /// d-SLEN: links report saturation levels, sources set rates and portions [ludena2021, sec. II-C].
    DSlen(d_slen, Probe): "d-slen", "d-SLEN", PathRates,
        "upward max-min fair rates by saturation levels [ludena2021]";
    /// DCTCP: reduces its window by half of the share of marked packets [bensley2017].
    Dctcp(dctcp): "dctcp", "DCTCP", LossWindows,
        "one window that falls by half of the share of marked packets [bensley2017]";
    /// ERICA: links share their target among the sessions whose packets arrive in an interval [kalyanaraman2000].
    Erica(erica, Rm): "erica", "ERICA", MaxMinRates,
        "nearly max-min fair rates, from the load and the number of sessions at a link [kalyanaraman2000]";
    /// EWTCP: Reno on each subflow, with a smaller increase [wischik2011].
    Ewtcp(ewtcp): "ewtcp", "EWTCP", PathWindows,
        "windows of several paths that add up to one Reno [wischik2011]";
    /// Formulas: two formulas of the scenario file say how windows grow and fall.
    Formulas(formulas): "formulas", "Formulas", PathWindows,
        "windows of one or several paths by two formulas in the scenario file, without compilation";
    /// GAIMD: Reno with any increase and any decrease [yang2000].
    Gaimd(gaimd): "gaimd", "GAIMD", LossWindows,
        "one window with any increase and decrease; smoother than Reno by default [yang2000]";
    /// LGC: a rate that grows as a population does, end to end [teymoori2016].
    Lgc(lgc): "lgc", "LGC", Growth,
        "one rate that grows as a population does, by marks and capacities [teymoori2016]";
    /// LGCC: a rate that grows as a population does, over chains of loops [teymoori2023].
    Lgcc(lgcc): "lgcc", "LGCC", Growth,
        "one rate for each loop of a chain; each loop follows the next [teymoori2023]";
    /// LIA: linked increases, as fast as the best path alone [rfc6356].
    Lia(lia): "lia", "LIA", PathWindows,
        "windows of several paths with linked increases [rfc6356]";
    /// A logarithmic controller: a rate that rests where its price equals its claim [teymoori2023].
    LogRate(log_rate): "log-rate", "Logarithmic", Growth,
        "one rate, set by marks, with a logarithmic utility [teymoori2023]";
    /// NMCC: subflows that share links grow together as one, in slow start too [thomas2016].
    Nmcc(nmcc): "nmcc", "NMCC", PathWindows,
        "windows of several paths, coupled where the network says that these share links [thomas2016]";
    /// OLIA: linked increases that leave worse paths to others [khalili2012].
    Olia(olia): "olia", "OLIA", PathWindows,
        "windows of several paths with linked increases, on the best paths [khalili2012]";
    /// PERC: links and sessions exchange offers and limits [jose2015].
    Perc(perc, Probe): "perc", "PERC", MaxMinRates,
        "max-min fair rates by messages; links keep a limit for each session [jose2015]";
    /// PIQI-RCP-like: links offer one rate to all, corrected by the load and its changes [jain2007].
    PiqiRcp(piqi_rcp): "piqi-rcp-like", "PIQI-RCP-like", LinkRates,
        "one rate for all sessions at a link, from its load and the change of its load [jain2007]";
    /// QI-RCP-like: links offer one rate to all, corrected by the load [jain2007].
    QiRcp(qi_rcp): "qi-rcp-like", "QI-RCP-like", LinkRates,
        "one rate for all sessions at a link, from its load [jain2007]";
    /// RCP: links offer one rate to all, corrected by load and queue [dukkipati2005].
    Rcp(rcp, Probe): "rcp", "RCP", LinkRates,
        "one rate for all sessions at a link, from its load and its queue [dukkipati2005]";
    /// Reno: one packet more in a round trip, half the window at a loss [rfc5681].
    Reno(reno): "reno", "Reno", LossWindows,
        "additive increase and multiplicative decrease of one window [rfc5681]";
    /// s-PERC: links and sessions exchange offers and limits, and packets carry what links allocated [jose2019].
    SPerc(s_perc, Probe): "s-perc", "s-PERC", MaxMinRates,
        "max-min fair rates by messages; links keep sums, and nothing of a session [jose2019]";
    /// SLBN: links count sessions and sum rates, sources look for the largest share [mozo2012].
    Slbn(slbn, Probe): "slbn", "SLBN", MaxMinRates,
        "max-min fair rates; links keep three numbers each [mozo2012]";
    /// Uncoupled: Reno on each subflow independently [wischik2011].
    Uncoupled(uncoupled): "uncoupled", "Uncoupled", PathWindows,
        "a Reno on each of several paths [wischik2011]";
    /// Vegas: keeps a few packets of the connection in queues [brakmo1994].
    Vegas(vegas): "vegas", "Vegas", DelayWindows,
        "one window that keeps a few packets in queues [brakmo1994]";
    /// Vo-Le-Tran (reconstruction): links raise and lower prices, and sources use the largest price of a path [vo2019].
    VoLeTran(vo_le_tran, Notice): "vo-le-tran", "Vo-Le-Tran (reconstruction)", PathRates,
        "upward max-min fair rates by prices of links [vo2019]";
    /// wVegas: Vegas on each subflow; subflows divide the packets that may wait by their rates [cao2012].
    Wvegas(wvegas): "wvegas", "wVegas", PathWindows,
        "windows of several paths that keep ten packets in queues [cao2012]";
    /// XCP: links tell each packet how the window of its source is to change [katabi2002].
    Xcp(xcp, Congestion): "xcp", "XCP", LinkWindows,
        "equal shares by windows that links enlarge or reduce [katabi2002]";
}

impl Default for Protocol {
    fn default() -> Self {
        Self::DSlen(d_slen::Parameters::default())
    }
}

impl Protocol {
    /// The protocol of this name in files, with its default parameters; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Choice::named(name)
    }

    /// Time in seconds for which sources remember marks, where a round trip takes `rtt` seconds: 1 / alpha intervals if
    /// they smooth the share of marked packets, and a round trip if they respond to each mark.
    pub fn memory_of_marks(&self, rtt: f64) -> f64 {
        let smoothed = |interval: Option<SpanText>, alpha: f64| interval.map_or(rtt, |span| span.0.seconds()) / alpha;
        match self {
            Self::Lgc(own) => smoothed(own.interval, own.alpha),
            Self::Lgcc(own) => smoothed(own.interval, own.alpha),
            Self::LogRate(own) => smoothed(own.interval, own.alpha),
            Self::Dctcp(own) => smoothed(None, own.gain),
            _ => rtt,
        }
    }

    /// Number of paths of a connection for which no number is written: 4 if one control decides on all paths by the state
    /// of all, else 1.
    pub fn usual_paths(&self) -> usize {
        let looks_around = if let Self::Formulas(own) = self { own.couples() } else { self.capabilities().is_joint() };
        if looks_around { 4 } else { 1 }
    }

    /// Part of each link's capacity that the protocol does not hand out, 0 to 0.5.
    ///
    /// The driver shows links the rest of the capacity: [`crate::LinkView::capacity`].
    pub fn headroom(&self) -> f64 {
        let Headroom(part) = match self {
            Self::BNeck(own) => own.headroom,
            Self::Bfyz(own) => own.headroom,
            Self::Charny(own) => own.headroom,
            Self::CobbLike(own) => own.headroom,
            Self::DSlen(own) => own.headroom,
            Self::Perc(own) => own.headroom,
            Self::SPerc(own) => own.headroom,
            Self::Slbn(own) => own.headroom,
            Self::VoLeTran(own) => own.headroom,
            _ => Headroom::default(),
        };
        part
    }

    /// Share of marked packets, 0 to 1, at which a source rests at this share of what its path can carry, over 0 and at
    /// most 1; `None` under protocols that have no such share, as they also respond to queues and losses.
    pub fn marks_at(&self, share: f64) -> Option<f64> {
        match self {
            Self::Lgc(_) => Some(1.0 - share),
            Self::Lgcc(own) => Some(lgcc::marks_at(own, share)),
            Self::LogRate(own) => Some(log_rate::marks_at(own, share)),
            _ => None,
        }
    }

    /// Whether connections may have a reserved part of their rate.
    pub fn reserves(&self) -> bool {
        matches!(self, Self::DSlen(own) if own.variant == d_slen::Variant::Corrected)
    }

    /// Checks whether the protocol can serve a connection with this claim, reserved part and number of paths.
    ///
    /// # Errors
    /// If it cannot: why, and what it can serve.
    pub fn check(&self, claim: f64, reserved: Rate, paths: usize) -> Result<(), String> {
        if reserved.0 > 0.0 && !self.reserves() {
            return Err(format!(
                "{} bit/s are reserved, and {} reserves nothing; leave that out, or take d-slen",
                Short(reserved.0),
                self.title()
            ));
        }
        self.capabilities().check(self.title(), claim, paths)
    }
}
