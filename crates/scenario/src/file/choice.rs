//! Protocols and queue disciplines in the schema: a name, or a table with parameters.

use std::borrow::Cow;

use anabranch_proto::Protocol;
use anabranch_proto::protocols::PROTOCOLS;
use anabranch_queues::{QUEUES, QueueDiscipline};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// A protocol by its name, or with parameters.
pub struct ProtocolChoice;

impl JsonSchema for ProtocolChoice {
    fn schema_name() -> Cow<'static, str> {
        "ProtocolChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = PROTOCOLS.map(|(name, ..)| name);
        let with_parameters = generator.subschema_for::<Protocol>();
        json_schema!({
            "description": "A protocol by its name, or with parameters.",
            "anyOf": [{ "type": "string", "enum": names.as_slice() }, with_parameters]
        })
    }
}

/// A queue discipline by its name, or with parameters.
pub struct DisciplineChoice;

impl JsonSchema for DisciplineChoice {
    fn schema_name() -> Cow<'static, str> {
        "DisciplineChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = QUEUES.map(|(name, ..)| name);
        let with_parameters = generator.subschema_for::<QueueDiscipline>();
        json_schema!({
            "description": "A queue discipline by its name, or with parameters.",
            "anyOf": [{ "type": "string", "enum": names.as_slice() }, with_parameters]
        })
    }
}
