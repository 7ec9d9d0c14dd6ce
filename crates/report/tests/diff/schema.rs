//! Every answer against `docs/diff.schema.json`.
//!
//! The end-to-end tests ask a real validator; here a checker of the few words the schema uses does, and is stricter in
//! one respect: a field that the schema does not know is an error, so that nothing goes undocumented.

use serde_json::Value;

use crate::{answers, json};

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diff.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Everything wrong with a value.
fn check(root: &Value, schema: &Value, value: &Value, place: &str, wrong: &mut Vec<String>) {
    for (word, wanted) in schema.as_object().unwrap() {
        let number = value.as_f64();
        let limit = || wanted.as_f64().unwrap();
        let length = value.as_array().map(Vec::len);
        let fits = match word.as_str() {
            "description" | "title" | "$schema" | "$id" | "$defs" => true,
            "$ref" => {
                let target = root.pointer(wanted.as_str().unwrap().trim_start_matches('#'));
                check(root, target.unwrap(), value, place, wrong);
                true
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|one| has_type(value, one)),
                one => has_type(value, one),
            },
            "minimum" => number.is_none_or(|number| number >= limit()),
            "maximum" => number.is_none_or(|number| number <= limit()),
            "minItems" => length.is_none_or(|length| length as f64 >= limit()),
            "maxItems" => length.is_none_or(|length| length as f64 <= limit()),
            "minLength" => value.as_str().is_none_or(|text| text.len() as f64 >= limit()),
            "required" => value.as_object().is_none_or(|fields| {
                let required = wanted.as_array().unwrap().iter();
                required.filter_map(Value::as_str).all(|name| fields.contains_key(name))
            }),
            "properties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    match wanted.get(name) {
                        Some(schema) => {
                            check(root, schema, field, &format!("{place}.{name}"), wrong);
                        }
                        None => wrong.push(format!("{place}.{name} is not in the schema")),
                    }
                }
                true
            }
            "items" => {
                for (row, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{place}[{row}]"), wrong);
                }
                true
            }
            other => panic!("the checker does not know `{other}`"),
        };
        if !fits {
            wrong.push(format!("{place}: {value} breaks {word} {wanted}"));
        }
    }
}

fn has_type(value: &Value, wanted: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the checker does not know the type {other}"),
    }
}

#[test]
fn every_answer_fits_the_schema() {
    let schema = schema();
    for (name, diff) in answers::all() {
        let mut wrong = Vec::new();
        check(&schema, &schema, &json::json(&diff), name, &mut wrong);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn the_checker_finds_mistakes() {
    let schema = schema();
    let mut answer = json::json(&answers::regressed());
    answer["verdict"] = "maybe".into();
    answer["suspects"][0]["rank"] = 0.into();
    answer["suspects"][0].as_object_mut().unwrap().remove("kind");
    answer["before"]["runs"] = "3".into();
    answer["extra"] = 1.into();
    let mut wrong = Vec::new();
    check(&schema, &schema, &answer, "answer", &mut wrong);
    assert_eq!(wrong.len(), 5, "{wrong:#?}");
}
