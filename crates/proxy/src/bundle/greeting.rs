//! What a proxy says of a line and of its streams in the headers of its requests, so that they become parts of flows.

use std::fmt::Write;
use std::str::FromStr;

use ring::rand::{SecureRandom, SystemRandom};

use super::terms::Terms;

/// The header with the line of a connection, in the first request; the answer has it where the exit knows lines.
pub(crate) const LINE: &str = "anabranch-line";

/// The header with the flow of a stream.
pub(crate) const FLOW: &str = "anabranch-flow";

/// The header with the number of relays that a flow has passed, in the request that begins it.
pub(crate) const HOPS: &str = "anabranch-hops";

/// The header that says that the control of this end counts marks, in the first request and its answer.
pub(crate) const MARKS: &str = "anabranch-marks";

/// The number of a bundle, which nobody else can guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BundleId([u8; 16]);

impl BundleId {
    /// A new number; nothing if the system has no random numbers.
    pub fn random() -> Option<Self> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self(bytes))
    }
}

/// What a proxy says of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Greeting {
    pub bundle: BundleId,
    /// Number of the line in the bundle.
    pub number: u8,
    pub terms: Terms,
}

impl Greeting {
    /// The header.
    pub fn write(&self) -> String {
        let mut text = String::with_capacity(48);
        for byte in self.bundle.0 {
            // Writing into a string succeeds.
            let _ = write!(text, "{byte:02x}");
        }
        let _ = write!(text, " {} {}", self.number, self.terms.write());
        text.truncate(text.trim_end().len());
        text
    }
}

/// A header that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl FromStr for Greeting {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let mut words = text.splitn(3, ' ');
        let id = words
            .next()
            .filter(|id| id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .ok_or(Unreadable)?;
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&id[2 * at..2 * at + 2], 16).map_err(|_| Unreadable)?;
        }
        let number = words.next().and_then(|number| number.parse().ok()).ok_or(Unreadable)?;
        let terms = words.next().map_or(Ok(Terms::default()), Terms::read)?;
        Ok(Self { bundle: BundleId(bytes), number, terms })
    }
}

/// What a proxy says of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Number of the flow in the bundle.
    pub flow: u64,
    /// Whether the flow is known to exist: the exit begins none.
    pub joins: bool,
}

impl Part {
    /// The header.
    pub fn write(&self) -> String {
        format!("{}{}", self.flow, if self.joins { " join" } else { "" })
    }
}

impl FromStr for Part {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let (flow, joins) = text.strip_suffix(" join").map_or((text, false), |flow| (flow, true));
        Ok(Self { flow: flow.parse().map_err(|_| Unreadable)?, joins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_are_read_as_they_were_written() {
        let bundle = BundleId::random().unwrap();
        let backup = Terms { is_backup: true, ..Terms::default() };
        for (number, terms) in [(0, Terms::default()), (255, Terms { weight: 0.5, group: 3, ..backup })] {
            let greeting = Greeting { bundle, number, terms };
            assert_eq!(greeting.write().parse(), Ok(greeting));
        }
        let text = "000102030405060708090a0b0c0d0e0f 7 backup";
        let bundle = BundleId(std::array::from_fn(|byte| byte as u8));
        assert_eq!(text.parse(), Ok(Greeting { bundle, number: 7, terms: backup }));
        let id = &text[..32];
        for wrong in
            ["", "0", &text[..33], &format!("{id} 256"), &format!("{id} 1 other"), &format!("{text} 1"), &text[1..]]
        {
            assert_eq!(wrong.parse::<Greeting>(), Err(Unreadable), "{wrong}");
        }
        assert_eq!(format!("é{}", &text[2..]).parse::<Greeting>(), Err(Unreadable));
    }

    #[test]
    fn parts_are_read_as_they_were_written() {
        for part in [Part { flow: 0, joins: false }, Part { flow: u64::MAX, joins: true }] {
            assert_eq!(part.write().parse(), Ok(part));
        }
        for wrong in ["", "join", "1 joins", "-1", " join", "1  join"] {
            assert_eq!(wrong.parse::<Part>(), Err(Unreadable), "{wrong}");
        }
    }
}
