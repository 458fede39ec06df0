//! The names that formulas know: variables of a subflow, and functions.

use super::program::{self, Over};

/// A variable of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Congestion window in packets.
    Window,
    /// Smoothed round trip in seconds.
    Rtt,
    /// Least round trip so far in seconds.
    BaseRtt,
    /// Window divided by round trip, in packets a second.
    Rate,
    /// Time since recovery from the last loss or mark ended, in seconds.
    Since,
    /// Window before the last loss or mark, in packets.
    LostAt,
    /// 1 from a timeout to the next acknowledgement, else 0.
    Silent,
}

/// The variables with their names.
const VARIABLES: [(&str, Variable); 7] = [
    ("window", Variable::Window),
    ("rtt", Variable::Rtt),
    ("base_rtt", Variable::BaseRtt),
    ("rate", Variable::Rate),
    ("since", Variable::Since),
    ("lost_at", Variable::LostAt),
    ("silent", Variable::Silent),
];

/// The name of the number of known subflows.
const COUNT: &str = "flows";

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// A variable of the subflow.
    Variable(Variable),
    /// The number of known subflows.
    Count,
    /// A function.
    Function(Function),
}

/// A function, by the number of its values.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// Of one value.
    One(fn(f64) -> f64),
    /// Of two values or more, from left to right.
    Fold(fn(f64, f64) -> f64),
    /// `if(condition, a, b)`: a if the condition is over 0, else b.
    Choose,
    /// Over all known subflows, of one value of each.
    Over(Over),
}

/// The functions with their names.
const FUNCTIONS: [(&str, Function); 12] = [
    ("sum", Function::Over(Over::Sum)),
    ("largest", Function::Over(Over::Largest)),
    ("smallest", Function::Over(Over::Smallest)),
    ("min", Function::Fold(program::smaller)),
    ("max", Function::Fold(program::larger)),
    ("if", Function::Choose),
    ("sqrt", Function::One(f64::sqrt)),
    ("cbrt", Function::One(f64::cbrt)),
    ("exp", Function::One(f64::exp)),
    ("ln", Function::One(f64::ln)),
    ("log2", Function::One(f64::log2)),
    ("abs", Function::One(f64::abs)),
];

/// Finds what a name stands for; the error lists what there is instead.
pub fn find(name: &str, is_called: bool) -> Result<Named, String> {
    let variable = VARIABLES.iter().find(|(known, _)| *known == name).map(|&(_, variable)| Named::Variable(variable));
    let variable = variable.or((name == COUNT).then_some(Named::Count));
    let function = FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, function)| Named::Function(function));
    match (variable, function, is_called) {
        (Some(variable), _, false) => Ok(variable),
        (_, Some(function), true) => Ok(function),
        (Some(_), _, true) => Err(format!("`{name}` is a variable; write an operator such as `*` before `(`")),
        (_, Some(_), false) => Err(format!("`{name}` is a function; write its values in brackets: `{name}(...)`")),
        (None, None, true) => Err(unknown("function", name, &functions())),
        (None, None, false) => Err(unknown("variable", name, &variables())),
    }
}

fn variables() -> Vec<&'static str> {
    VARIABLES.iter().map(|(name, _)| *name).chain([COUNT]).collect()
}

fn functions() -> Vec<&'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name).collect()
}

/// Says that there is no such name, and lists the names that there are.
fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    const MOST_SHOWN: usize = 40;
    let near = anabranch_core::spelling::nearest(name, known.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
    let shown: String = name.chars().take(MOST_SHOWN).collect();
    format!("there is no {kind} `{shown}`{hint}; there are {}", known.join(", "))
}
