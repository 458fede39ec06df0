//! One of several kinds with its parameters, as files have it: a name, or a table with one name and its parameters.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// What can be read as `"name"` or `{ name = { parameter = 1 } }`.
pub trait Choice: Sized {
    /// What one of them is called.
    const KIND: &'static str;
    /// One without and one with parameters, as they stand in a file.
    const EXAMPLES: (&'static str, &'static str);
    /// All names.
    const NAMES: &'static [&'static str];

    /// The one of this name with its default parameters.
    fn named(name: &str) -> Option<Self>;

    /// The one of this name with the parameters that come next in `map`.
    fn with_parameters<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Self, A::Error>;

    /// That there is none of this name, and which there are.
    fn unknown<E: Error>(name: &str) -> E {
        let hint = crate::spelling::nearest(name, Self::NAMES.iter().copied())
            .map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"));
        E::custom(format!("there is no {} `{name}`{hint}; there is {}", Self::KIND, Self::NAMES.join(", ")))
    }
}

/// Makes an enum of parameters a [`Choice`] that can be read: its type, what one is called, examples, and for each its
/// variant, module and name.
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
