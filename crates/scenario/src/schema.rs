//! The JSON schema of the scenario file, derived from its types.

use schemars::Schema;
use serde_json::Value;

use crate::file::File;

/// The JSON schema of the scenario file, for editors.
pub fn scenario_schema() -> String {
    let mut schema = schemars::schema_for!(File).to_value();
    drop_null(&mut schema);
    let schema = Schema::try_from(schema).expect("it is still a schema");
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// Removes null values from a schema, which TOML does not have.
fn drop_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                map["type"] = types[0].clone();
            }
            map.values_mut().for_each(drop_null);
            if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
                choices.retain(|choice| choice["type"] != "null");
                if choices.len() == 1 {
                    let only = choices.remove(0);
                    map.remove("anyOf");
                    map.extend(only.as_object().cloned().into_iter().flatten());
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(drop_null),
        _ => {}
    }
}
