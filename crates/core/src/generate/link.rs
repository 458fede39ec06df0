//! The kinds of generated links: what they carry and how long they take.

use rand::{Rng, RngExt};

use crate::units::{Rate, Span};

/// Capacity and delay of a kind of link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkKind {
    /// What each direction carries.
    pub capacity: Rate,
    /// Propagation delay of each direction.
    pub delay: Span,
}

/// Capacity of a kind of link whose delays differ, and the rule that makes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRule {
    /// What each direction carries.
    pub capacity: Rate,
    /// How the delay of a link comes about; both directions have the same.
    pub delay: DelayRule,
}

/// How the delay of a generated link comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayRule {
    /// All links have the same.
    Fixed(Span),
    /// Each two-way link draws its own, both ends of the range included.
    Uniform {
        /// The shortest.
        least: Span,
        /// The longest.
        most: Span,
    },
    /// This much for each unit of the link's length; the generator says what the unit is.
    PerLength(Span),
}

impl LinkRule {
    /// The link of this kind with `length`; draws from `rng` only if the rule draws.
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
