//! The kinds of generated links: their capacities and delays.

use rand::{Rng, RngExt};

use crate::units::{Rate, Span};

/// Capacity and delay of a kind of link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkKind {
    /// Capacity of each direction.
    pub capacity: Rate,
    /// Propagation delay of each direction.
    pub delay: Span,
}

/// Capacity of a kind of link whose delays differ, and the rule that makes the delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRule {
    /// Capacity of each direction.
    pub capacity: Rate,
    /// The rule for the delay of a link; both directions have the same delay.
    pub delay: DelayRule,
}

/// The rule for the delay of a generated link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayRule {
    /// One delay for all links.
    Fixed(Span),
    /// A delay drawn for each two-way link, uniformly from a range that includes both ends.
    Uniform {
        /// Shortest delay.
        least: Span,
        /// Longest delay.
        most: Span,
    },
    /// A delay of this much for each unit of the link's length; the generator defines the unit.
    PerLength(Span),
}

impl LinkRule {
    /// A link of this kind with `length`; draws from `rng` only if the rule is random.
    pub(super) fn draw(&self, length: f64, rng: &mut impl Rng) -> LinkKind {
        let delay = match self.delay {
            DelayRule::Fixed(delay) => delay,
            DelayRule::Uniform { least, most } => Span(rng.random_range(least.0..=most.0)),
            DelayRule::PerLength(unit) => Span((unit.0 as f64 * length).round() as u64),
        };
        LinkKind { capacity: self.capacity, delay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn delays_follow_their_rule() {
        let mut rng = stream(1, Purpose::Delays, 0);
        let mut delay = |rule| LinkRule { capacity: Rate(1e9), delay: rule }.draw(2.5, &mut rng).delay;
        assert_eq!(delay(DelayRule::Fixed(Span(7))), Span(7));
        assert_eq!(delay(DelayRule::PerLength(Span(100))), Span(250));
        let drawn: Vec<Span> = (0..100).map(|_| delay(DelayRule::Uniform { least: Span(1), most: Span(2) })).collect();
        assert!(drawn.contains(&Span(1)) && drawn.contains(&Span(2)));
        assert!(drawn.iter().all(|d| (1..=2).contains(&d.0)));
    }
}
