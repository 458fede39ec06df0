//! The reader of formulas, by recursive descent: it writes the program while it reads.

use super::names::{self, Function, Named};
use super::program::{MOST_HEIGHT, MOST_TOTALS, Over, Program, Step};
use super::{FormulaError, MOST_CHARACTERS};

/// The most brackets and signs within each other.
const MOST_DEPTH: usize = 32;

/// Reads the program of a formula.
pub fn program(text: &str) -> Result<Program, FormulaError> {
    let mut reader = Reader { text, at: 0, depth: 0, totals: Vec::new(), steps: Vec::new(), height: 0 };
    let length = text.chars().count();
    if length > MOST_CHARACTERS {
        return Err(reader.error(0, format!("it has {length} characters; it may have {MOST_CHARACTERS}")));
    }
    reader.formula()?;
    match reader.next() {
        None => Ok(Program::new(reader.totals, reader.steps)),
        Some(')') => Err(reader.error(reader.at, "there is no `(` for this `)`".to_owned())),
        Some(_) => Err(reader.error(reader.at, reader.left_over())),
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The byte at which the rest begins.
    at: usize,
    /// Number of brackets and signs around the present place.
    depth: usize,
    /// Sums and extremes read so far.
    totals: Vec<(Over, Box<[Step]>)>,
    /// Steps of the formula, or of the sum or extreme within it.
    steps: Vec<Step>,
    /// Numbers that these steps leave on the stack.
    height: usize,
}

/// Operators of two values, by what is written for them.
type Operators<const COUNT: usize> = [(&'static str, fn(f64, f64) -> f64); COUNT];

type Read<T = ()> = Result<T, FormulaError>;

impl<'a> Reader<'a> {
    fn error(&self, byte: usize, reason: String) -> FormulaError {
        FormulaError { character: self.text[..byte].chars().count() + 1, reason }
    }

    /// The next character after blanks; `None` at the end.
    fn next(&mut self) -> Option<char> {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Whether the rest begins with `token`, which is then taken.
    fn takes(&mut self, token: &str) -> bool {
        self.next();
        let is_there = self.text[self.at..].starts_with(token);
        self.at += if is_there { token.len() } else { 0 };
        is_there
    }

    /// The first of these operators that is next, which is then taken.
    fn operator<T: Copy>(&mut self, known: &[(&str, T)]) -> Option<T> {
        known.iter().find(|(token, _)| self.takes(token)).map(|&(_, what)| what)
    }

    fn push(&mut self, step: Step) -> Read {
        self.height = self.height.wrapping_add_signed(step.rise());
        if self.height > MOST_HEIGHT {
            return Err(self.error(self.at, format!("more than {MOST_HEIGHT} values wait for each other here")));
        }
        self.steps.push(step);
        Ok(())
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Read) -> Read {
        if self.depth == MOST_DEPTH {
            let reason = format!("there are more than {MOST_DEPTH} brackets and signs within each other");
            return Err(self.error(self.at, reason));
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn formula(&mut self) -> Read {
        const COMPARISONS: Operators<4> = [
            ("<=", |a, b| f64::from(a <= b)),
            (">=", |a, b| f64::from(a >= b)),
            ("<", |a, b| f64::from(a < b)),
            (">", |a, b| f64::from(a > b)),
        ];
        self.sum()?;
        if let Some(compare) = self.operator(&COMPARISONS) {
            self.sum()?;
            self.push(Step::Two(compare))?;
        }
        Ok(())
    }

    fn sum(&mut self) -> Read {
        const SUMS: Operators<2> = [("+", |a, b| a + b), ("-", |a, b| a - b)];
        self.product()?;
        while let Some(add) = self.operator(&SUMS) {
            self.product()?;
            self.push(Step::Two(add))?;
        }
        Ok(())
    }

    fn product(&mut self) -> Read {
        const PRODUCTS: Operators<2> = [("*", |a, b| a * b), ("/", |a, b| a / b)];
        self.signed()?;
        while let Some(multiply) = self.operator(&PRODUCTS) {
            self.signed()?;
            self.push(Step::Two(multiply))?;
        }
        Ok(())
    }

    fn signed(&mut self) -> Read {
        if self.takes("-") {
            self.nested(Self::signed)?;
            return self.push(Step::One(|x| -x));
        }
        self.value()?;
        if self.takes("^") {
            self.nested(Self::signed)?;
            self.push(Step::Two(f64::powf))?;
        }
        Ok(())
    }

    fn value(&mut self) -> Read {
        match self.next() {
            Some('(') => self.bracket(Self::formula),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if is_of_name(c) => self.name(),
            Some('*') if self.text[..self.at].ends_with('*') => {
                Err(self.error(self.at, "write a power as `window^2`".to_owned()))
            }
            Some(c) => Err(self.error(self.at, format!("a number, a name or `(` is missing before `{c}`"))),
            None => Err(self.error(self.at, "a number, a name or `(` is missing at the end".to_owned())),
        }
    }

    /// Reads what stands in brackets.
    fn bracket(&mut self, inner: impl FnOnce(&mut Self) -> Read) -> Read {
        let opened = self.at;
        self.at += 1;
        self.nested(inner)?;
        match self.next() {
            Some(')') => self.at += 1,
            Some(_) => return Err(self.error(self.at, self.left_over())),
            None => return Err(self.error(opened, "this `(` is not closed".to_owned())),
        }
        Ok(())
    }

    fn number(&mut self) -> Read {
        let (from, rest) = (self.at, &self.text[self.at..]);
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
        let mut length = digits(rest);
        if rest[length..].starts_with('.') {
            length += 1 + digits(&rest[length + 1..]);
        }
        if let Some(exponent) = rest[length..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let count = digits(&exponent[sign..]);
            length += if count > 0 { 1 + sign + count } else { 0 };
        }
        self.at += length;
        match rest[..length].parse::<f64>() {
            Ok(number) if number.is_finite() => self.push(Step::Number(number)),
            Ok(_) => Err(self.error(from, "this number is too large".to_owned())),
            Err(_) => Err(self.error(from, "this is no number; write it like `0.5` or `1e-3`".to_owned())),
        }
    }

    fn name(&mut self) -> Read {
        let (from, rest) = (self.at, &self.text[self.at..]);
        let name = &rest[..rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())];
        self.at += name.len();
        let is_called = self.next() == Some('(');
        match names::find(name, is_called).map_err(|reason| self.error(from, reason))? {
            Named::Variable(variable) => self.push(Step::Variable(variable)),
            Named::Count => self.total(Over::Sum, |inner| inner.push(Step::Number(1.0))),
            Named::Function(Function::Over(over)) => self.total(over, |inner| inner.values(from, name, 1, 1).map(drop)),
            Named::Function(Function::One(function)) => {
                self.values(from, name, 1, 1)?;
                self.push(Step::One(function))
            }
            Named::Function(Function::Choose) => {
                self.values(from, name, 3, 3)?;
                self.push(Step::Choose)
            }
            Named::Function(Function::Fold(function)) => {
                let count = self.values(from, name, 2, usize::MAX)?;
                (1..count).try_for_each(|_| self.push(Step::Two(function)))
            }
        }
    }

    /// Reads the values of a function in brackets, and returns their number.
    fn values(&mut self, from: usize, name: &'a str, least: usize, most: usize) -> Read<usize> {
        let mut count = 0;
        self.bracket(|inner| {
            loop {
                inner.formula()?;
                count += 1;
                if !inner.takes(",") {
                    return Ok(());
                }
            }
        })?;
        if (least..=most).contains(&count) {
            return Ok(count);
        }
        let wanted = match (least, most) {
            (1, _) => "one value".to_owned(),
            (_, usize::MAX) => format!("{least} values or more"),
            _ => format!("{least} values"),
        };
        Err(self.error(from, format!("`{name}` takes {wanted}; here it has {count}")))
    }

    /// Reads a sum or extreme, whose steps `inner` reads.
    fn total(&mut self, over: Over, inner: impl FnOnce(&mut Self) -> Read) -> Read {
        let from = self.at;
        let (outer, height) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.height));
        inner(self)?;
        let steps = std::mem::replace(&mut self.steps, outer);
        self.height = height;
        if self.totals.len() == MOST_TOTALS {
            let reason = format!("there are more than {MOST_TOTALS} values over all subflows");
            return Err(self.error(from, reason));
        }
        self.totals.push((over, steps.into()));
        self.push(Step::Total(self.totals.len() - 1))
    }

    /// What is wrong with the character after a complete value.
    fn left_over(&self) -> String {
        let rest = &self.text[self.at..];
        match rest.chars().next() {
            Some('<' | '>') => "there is a comparison already; put it in brackets".to_owned(),
            Some(',') => "a `,` separates the values of a function, within its brackets".to_owned(),
            Some(c) if is_of_name(c) || c == '.' || c == '(' => {
                format!("an operator such as `*` is missing before `{c}`")
            }
            Some(c) => format!("`{c}` is unknown here; operators are + - * / ^ < <= > >="),
            None => unreachable!("there is a character after the value"),
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
