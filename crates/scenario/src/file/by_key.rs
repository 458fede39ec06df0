//! A reader that accepts tables by their keys alone, at every depth.
//!
//! Types that derive `Deserialize` also accept a list of values in the order of their fields. Such a list does not show
//! which value is which, so the whole file is read through [`ByKey`], which refuses it.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::words::no_more_keys;

/// Reads a whole file.
pub(super) fn from_toml<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, toml::de::Error> {
    T::deserialize(ByKey(toml::Deserializer::parse(text)?))
}

/// A deserializer, or an access to the parts of a table or list, that accepts tables by keys alone.
struct ByKey<T>(T);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ByKey<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Value { visitor, may_be_list: true })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Value { visitor, may_be_list: true })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Value { visitor, may_be_list: true })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Value { visitor, may_be_list: false })
    }

    /// Passes the name on to the TOML reader, which recognises `Spanned` by it.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Value { visitor, may_be_list: false })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Choice { visitor, names })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for ByKey<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(ByKey(deserializer))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ByKey<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(ByKey(seed))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for ByKey<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(ByKey(seed))
    }
}

/// A visitor for any TOML value.
struct Value<V> {
    visitor: V,
    may_be_list: bool,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Value<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.visitor.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.visitor.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.visitor.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.visitor.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.visitor.visit_str(value)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(ByKey(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(ByKey(deserializer))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(ByKey(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        if self.may_be_list {
            self.visitor.visit_seq(ByKey(seq))
        } else {
            Err(A::Error::invalid_type(Unexpected::Seq, &self.visitor))
        }
    }
}

/// A visitor for one of `names`: in quotes, or the only key of a table.
struct Choice<V> {
    visitor: V,
    names: &'static [&'static str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Choice<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}, in quotes or as the key of a table in braces", self.names.join(", "))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        self.visitor.visit_enum(name.into_deserializer())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let mut map = ByKey(map);
        let value = self.visitor.visit_enum(MapAccessDeserializer::new(&mut map))?;
        no_more_keys(map).map(|()| value)
    }
}
