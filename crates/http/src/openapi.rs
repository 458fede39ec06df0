//! The description of the interface for programs (`OpenAPI` 3.1), made from the routes and their types.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::answer::JSON;
use crate::asked::{Kind, Parameter, Place};
use crate::front::Site;
use crate::problem::Problem;
use crate::routes::{Gives, Route};

/// Describes all routes of a site.
pub(crate) fn document<S: Site>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>();
    let mut paths = Map::new();
    for route in S::ROUTES {
        paths.insert(route.path.to_owned(), json!({ "get": operation(route, &mut generator) }));
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": S::TITLE,
            "version": env!("CARGO_PKG_VERSION"),
            "description": S::DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "What is wrong with the request (RFC 9457)",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    })
}

fn operation<S: 'static>(route: &Route<S>, generator: &mut SchemaGenerator) -> Value {
    let content = match route.gives {
        Gives::Json(schema) => json!({ JSON: { "schema": schema(generator) } }),
        Gives::Other(JSON) => json!({ JSON: { "schema": { "type": "object" } } }),
        Gives::Other(kind) => json!({ kind: { "schema": { "type": "string" } } }),
    };
    let name = route.path.trim_start_matches("/api/v1/").trim_matches(['/', '}']).replace("/{", "-by-");
    json!({
        "operationId": if name.is_empty() { "page" } else { &name },
        "summary": route.summary,
        "parameters": route.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "responses": {
            "200": { "description": route.summary, "content": content },
            "default": { "$ref": "#/components/responses/Problem" },
        },
    })
}

fn parameter(parameter: &Parameter) -> Value {
    let place = match parameter.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
    };
    let schema = match parameter.kind {
        Kind::Whole { least, most, usual: None } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Whole { least, most, usual: Some(usual) } => {
            json!({ "type": "integer", "minimum": least, "maximum": most, "default": usual })
        }
        Kind::Seconds => json!({ "type": "number" }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Flag => json!({ "type": "boolean", "default": false }),
    };
    json!({
        "name": parameter.name,
        "in": place,
        "required": parameter.is_needed,
        "description": parameter.what,
        "schema": schema,
    })
}
