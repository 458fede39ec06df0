//! Formulas as programs for a stack of numbers.

use super::names::Variable;

/// The most numbers on the stack.
pub const MOST_HEIGHT: usize = 32;

/// The most sums and extremes over subflows in a formula.
pub const MOST_TOTALS: usize = 16;

/// A step of a program, which takes numbers from the stack and puts one there.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A number.
    Number(f64),
    /// A variable of the subflow.
    Variable(Variable),
    /// A sum or extreme over subflows, by its number.
    Total(usize),
    /// A function of the last number.
    One(fn(f64) -> f64),
    /// A function of the last two numbers.
    Two(fn(f64, f64) -> f64),
    /// Of the last three numbers the second if the first is over 0, else the third.
    Choose,
}

/// A sum or extreme over subflows.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// The sum of all values.
    Sum,
    /// The largest value.
    Largest,
    /// The smallest value.
    Smallest,
}

impl Step {
    /// The change of the number of numbers on the stack.
    pub fn rise(self) -> isize {
        match self {
            Self::Number(_) | Self::Variable(_) | Self::Total(_) => 1,
            Self::One(_) => 0,
            Self::Two(_) => -1,
            Self::Choose => -2,
        }
    }
}

impl Over {
    fn of(self, values: impl Iterator<Item = f64>) -> f64 {
        match self {
            Self::Sum => values.sum(),
            Self::Largest => values.fold(f64::NEG_INFINITY, larger),
            Self::Smallest => values.fold(f64::INFINITY, smaller),
        }
    }
}

/// The larger of two numbers; not a number if one of them is not.
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// The smaller of two numbers; not a number if one of them is not.
pub fn smaller(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// The program of a formula: sums and extremes in the order in which they need each other, and the steps of the rest.
#[derive(Clone, Debug)]
pub struct Program {
    totals: Box<[(Over, Box<[Step]>)]>,
    steps: Box<[Step]>,
}

impl Program {
    /// Creates a program of at most [`MOST_TOTALS`] totals, whose steps need a stack of at most [`MOST_HEIGHT`] numbers.
    pub fn new(totals: Vec<(Over, Box<[Step]>)>, steps: Vec<Step>) -> Self {
        Self { totals: totals.into(), steps: steps.into() }
    }

    pub fn has_totals(&self) -> bool {
        !self.totals.is_empty()
    }

    pub fn value(
        &self,
        own: usize,
        all: &(impl Iterator<Item = usize> + Clone),
        of: impl Fn(Variable, usize) -> f64,
    ) -> f64 {
        let mut totals = [0.0; MOST_TOTALS];
        for (number, (over, steps)) in self.totals.iter().enumerate() {
            totals[number] = over.of(all.clone().map(|subflow| run(steps, |variable| of(variable, subflow), &totals)));
        }
        run(&self.steps, |variable| of(variable, own), &totals)
    }
}

/// Runs steps, whose variables have the values `of`, and returns the number that is left.
fn run(steps: &[Step], of: impl Fn(Variable) -> f64, totals: &[f64; MOST_TOTALS]) -> f64 {
    let mut stack = [0.0; MOST_HEIGHT];
    let mut height = 0;
    for step in steps {
        let number = match *step {
            Step::Number(number) => number,
            Step::Variable(variable) => of(variable),
            Step::Total(number) => totals[number],
            Step::One(function) => function(stack[height - 1]),
            Step::Two(function) => function(stack[height - 2], stack[height - 1]),
            Step::Choose if stack[height - 3] > 0.0 => stack[height - 2],
            Step::Choose => stack[height - 1],
        };
        height = height.wrapping_add_signed(step.rise());
        stack[height - 1] = number;
    }
    stack[0]
}
