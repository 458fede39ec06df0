//! Choices in files: one of several kinds, written as a name or as a table with one name and its parameters.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// A type that can be read as `"name"` or `{ name = { parameter = 1 } }`.
pub trait Choice: Sized {
    /// The noun for one of the choices, for messages.
    const KIND: &'static str;
    /// An example without and one with parameters, as a file has them.
    const EXAMPLES: (&'static str, &'static str);
    /// The names of all choices.
    const NAMES: &'static [&'static str];

    /// The choice of this name with its default parameters.
    fn named(name: &str) -> Option<Self>;

    /// The choice of this name with the parameters that come next in `map`.
    fn with_parameters<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Self, A::Error>;

    /// An error that there is no choice of this name, with a list of the names.
    fn unknown<E: Error>(name: &str) -> E {
        let hint = crate::spelling::nearest(name, Self::NAMES.iter().copied())
            .map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"));
        E::custom(format!("there is no {} `{name}`{hint}; there is {}", Self::KIND, Self::NAMES.join(", ")))
    }
}

/// Makes an enum of parameters a [`Choice`]. The arguments are its type, the noun for one choice, the examples, and the
/// variant, module and name of each choice.
#[macro_export]
macro_rules! choices {
    ($choice:ty, $kind:literal, $examples:expr, $($variant:ident($module:ident): $name:literal),*) => {
        impl $crate::choice::Choice for $choice {
            const KIND: &'static str = $kind;
            const EXAMPLES: (&'static str, &'static str) = $examples;
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($module::Parameters::default())),)*
                    _ => None,
                }
            }

            fn with_parameters<'de, A: serde::de::MapAccess<'de>>(name: &str, map: &mut A) -> Result<Self, A::Error> {
                match name {
                    $($name => map.next_value().map(Self::$variant),)*
                    _ => Err(Self::unknown(name)),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $choice {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::choice::read(deserializer)
            }
        }
    };
}

/// Reads a choice.
pub fn read<'de, D: Deserializer<'de>, C: Choice>(deserializer: D) -> Result<C, D::Error> {
    deserializer.deserialize_any(NameOrTable(PhantomData))
}

struct NameOrTable<C>(PhantomData<C>);

impl<'de, C: Choice> Visitor<'de> for NameOrTable<C> {
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, table) = C::EXAMPLES;
        write!(f, "a {} such as {name}, or with parameters {table}", C::KIND)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<C, E> {
        C::named(name).ok_or_else(|| C::unknown(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<C, A::Error> {
        let one = || A::Error::custom(format!("one {} is wanted, such as {}", C::KIND, C::EXAMPLES.1));
        let name: String = map.next_key()?.ok_or_else(one)?;
        let choice = C::with_parameters(&name, &mut map)?;
        match map.next_key::<String>()? {
            Some(_) => Err(one()),
            None => Ok(choice),
        }
    }
}
