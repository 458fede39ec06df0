//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;

/// The media type.
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a family of series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that goes up and down.
    Gauge,
    /// A value that only grows, and whose name ends in `_total`.
    Counter,
}

/// A text that grows by one family of series after the other.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// Adds a family: its name, what it is, and each series with its labels. A family without series is left out.
    pub fn family<'a, const N: usize>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        series: impl IntoIterator<Item = ([(&'static str, &'a str); N], f64)>,
    ) {
        let word = if kind == Kind::Counter { "counter" } else { "gauge" };
        let mut is_first = true;
        for (labels, value) in series {
            if is_first {
                // Writing to a string cannot fail.
                let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {word}");
                is_first = false;
            }
            self.0.push_str(name);
            for (place, (label, text)) in labels.into_iter().enumerate() {
                self.0.push(if place == 0 { '{' } else { ',' });
                self.0.push_str(label);
                self.0.push_str("=\"");
                self.escape(text);
                self.0.push('"');
            }
            if N > 0 {
                self.0.push('}');
            }
            let _ = match value {
                _ if value.is_nan() => writeln!(self.0, " NaN"),
                _ if value.is_infinite() => writeln!(self.0, " {}Inf", if value > 0.0 { '+' } else { '-' }),
                _ => writeln!(self.0, " {value}"),
            };
        }
    }

    /// Adds a family with one series.
    pub fn one(&mut self, name: &str, kind: Kind, help: &str, value: f64) {
        self.family(name, kind, help, [([], value)]);
    }

    fn escape(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                letter => self.0.push(letter),
            }
        }
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_values_are_as_prometheus_reads_them() {
        let mut text = Text::default();
        text.family("a_total", Kind::Counter, "An a.", [([("x", "q\"\\\n"), ("y", "São")], 2.0)]);
        text.family::<1>("none", Kind::Gauge, "None.", []);
        text.one("b", Kind::Gauge, "A b.", f64::INFINITY);
        text.one("c", Kind::Gauge, "A c.", 1.5e-9);
        assert_eq!(
            text.finish(),
            "# HELP a_total An a.\n# TYPE a_total counter\na_total{x=\"q\\\"\\\\\\n\",y=\"São\"} 2\n\
             # HELP b A b.\n# TYPE b gauge\nb +Inf\n# HELP c A c.\n# TYPE c gauge\nc 0.0000000015\n"
        );
    }
}
