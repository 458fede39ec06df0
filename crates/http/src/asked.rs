//! What a request asks: the values of its path and its query, checked against the parameters of its route.

use std::collections::BTreeMap;

use anabranch_core::spelling;
use percent_encoding::percent_decode_str;

use crate::problem::Problem;

/// A parameter of a route.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What it may be.
    pub kind: Kind,
    /// What it is for.
    pub what: &'static str,
    /// Whether it has to be given.
    pub is_needed: bool,
}

impl Parameter {
    /// A parameter of the query, which need not be given.
    pub const fn query(name: &'static str, kind: Kind, what: &'static str) -> Self {
        Self { name, place: Place::Query, kind, what, is_needed: false }
    }
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the path, in braces.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number.
    Whole {
        /// The least that it may be.
        least: u64,
        /// The most that it may be.
        most: u64,
        /// What it is if it is not given.
        usual: Option<u64>,
    },
    /// A time in seconds.
    Seconds,
    /// The text of a parameter.
    Text,
    /// The texts of a parameter that may come several times.
    Texts,
    /// Whether something is so: `true` or `false`.
    Flag,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Whole(u64),
    Seconds(f64),
    Text(String),
    Texts(Vec<String>),
    Flag(bool),
}

/// The values of a request.
#[derive(Debug, Default)]
pub struct Asked(BTreeMap<&'static str, Value>);

impl Asked {
    /// A whole number, or what it usually is.
    pub fn whole(&self, name: &str) -> Option<u64> {
        match self.0.get(name) {
            Some(Value::Whole(number)) => Some(*number),
            _ => None,
        }
    }

    /// A time in seconds.
    pub fn seconds(&self, name: &str) -> Option<f64> {
        match self.0.get(name) {
            Some(Value::Seconds(number)) => Some(*number),
            _ => None,
        }
    }

    /// The text of a parameter.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The texts of a parameter.
    pub fn texts(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// Whether something is wanted.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Flag(true)))
    }

    /// Takes the values of a request for the parameters of its route.
    ///
    /// # Errors
    /// For a value that cannot be, an unknown parameter, and one that is lacking.
    pub fn of<'a>(
        parameters: &'static [Parameter],
        path: &[(&'static str, &str)],
        query: &str,
        header: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, Problem> {
        let mut asked = Self::default();
        for parameter in parameters {
            if let Kind::Whole { usual: Some(usual), .. } = parameter.kind {
                asked.0.insert(parameter.name, Value::Whole(usual));
            }
        }
        let mut take = |place: Place, name: &str, text: &str| {
            let mut here = parameters.iter().filter(|parameter| parameter.place == place);
            let Some(parameter) = here.find(|parameter| parameter.name == name) else {
                return Err(unknown(parameters, name));
            };
            match (asked.0.get_mut(parameter.name), parameter.read(text)?) {
                (Some(Value::Texts(all)), Value::Texts(more)) => all.extend(more),
                (_, value) => _ = asked.0.insert(parameter.name, value),
            }
            Ok(())
        };
        for (name, text) in path {
            take(Place::Path, name, &decoded(text)?)?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
            take(Place::Query, &decoded(&name.replace('+', " "))?, &decoded(&text.replace('+', " "))?)?;
        }
        for parameter in parameters.iter().filter(|parameter| parameter.place == Place::Header) {
            if let Some(text) = header(parameter.name) {
                take(Place::Header, parameter.name, text)?;
            }
        }
        match parameters.iter().find(|needed| needed.is_needed && !asked.0.contains_key(needed.name)) {
            Some(Parameter { name, what, .. }) => Err(Problem::bad(format!("give ?{name}=: {what}"))),
            None => Ok(asked),
        }
    }
}

impl Parameter {
    fn read(&self, text: &str) -> Result<Value, Problem> {
        let name = self.name;
        match self.kind {
            Kind::Whole { least, most, .. } => {
                let number = text.parse().ok().filter(|number| (least..=most).contains(number));
                let wrong = || Problem::bad(format!("{name} must be a whole number from {least} to {most}"));
                number.map(Value::Whole).ok_or_else(wrong)
            }
            Kind::Seconds => {
                let number = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
                number.map(Value::Seconds).ok_or_else(|| Problem::bad(format!("{name} must be a number of seconds")))
            }
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Texts => Ok(Value::Texts(vec![text.to_owned()])),
            Kind::Flag => {
                let wrong = |_| Problem::bad(format!("{name} must be true or false"));
                text.parse().map(Value::Flag).map_err(wrong)
            }
        }
    }
}

fn unknown(parameters: &[Parameter], name: &str) -> Problem {
    let known =
        || parameters.iter().filter(|parameter| parameter.place == Place::Query).map(|parameter| parameter.name);
    let nearest = spelling::nearest(name, known());
    let hint = nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
    Problem::bad(format!("there is no parameter `{}` here{hint}", name.chars().take(40).collect::<String>()))
}

fn decoded(text: &str) -> Result<String, Problem> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| Problem::bad("the address holds bytes that are no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(name: &'static str, kind: Kind) -> Parameter {
        Parameter::query(name, kind, "")
    }

    const PARAMETERS: &[Parameter] = &[
        Parameter {
            name: "number",
            place: Place::Path,
            kind: Kind::Whole { least: 0, most: 9, usual: None },
            what: "",
            is_needed: true,
        },
        Parameter {
            name: "limit",
            place: Place::Query,
            kind: Kind::Whole { least: 1, most: 9, usual: Some(5) },
            what: "",
            is_needed: false,
        },
        of("since", Kind::Seconds),
        of("to", Kind::Text),
        of("from", Kind::Texts),
        of("all", Kind::Flag),
    ];

    fn asked(number: &str, query: &str) -> Result<Asked, String> {
        Asked::of(PARAMETERS, &[("number", number)], query, |_| None).map_err(|problem| problem.detail)
    }

    #[test]
    fn values_are_read_and_have_their_usual_value_otherwise() {
        let all = asked("3", "to=S%C3%A3o+x&since=1.5").unwrap();
        assert_eq!((all.whole("number"), all.whole("limit"), all.seconds("since")), (Some(3), Some(5), Some(1.5)));
        assert_eq!((all.text("to"), all.text("since")), (Some("São x"), None));
        assert_eq!(asked("3", "&&limit=9&").unwrap().whole("limit"), Some(9));
        let several = asked("3", "from=a&all=true&from=b").unwrap();
        assert_eq!((several.texts("from"), several.flag("all")), (&["a".to_owned(), "b".to_owned()][..], true));
        assert_eq!((all.texts("from"), all.flag("all")), (&[][..], false));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (number, query, said) in [
            ("ten", "", "number must be a whole number from 0 to 9"),
            ("3", "limit=10", "limit must be a whole number from 1 to 9"),
            ("3", "limit=-1", "limit must be"),
            ("3", "limit", "limit must be"),
            ("3", "since=NaN", "since must be a number of seconds"),
            ("3", "since=inf", "since must be"),
            ("3", "all=yes", "all must be true or false"),
            ("3", "number=4", "there is no parameter `number` here"),
            ("3", "limits=4", "did you mean `limit`?"),
            ("3", "to=%ff", "no UTF-8"),
            ("%ff", "", "no UTF-8"),
        ] {
            let problem = asked(number, query).unwrap_err();
            assert!(problem.contains(said), "{query}: {problem}");
        }
    }
}
