//! `--changes FILE`: what changed in the code, as JSON; `docs/stages.md` describes it.
//!
//! A list of changes, or an object with one under `changes`. Each is what `changes` of an answer holds: `kind`,
//! `function`, and where known `file`, `lines`, `commit`, `hunks`; beyond that `component`, `signature`, and what the
//! function was before under `was`.

use std::path::Path;

use perfblame_analysis::{ChangedFunction, ChangedKind, CodePlace};
use serde_json::Value;

use crate::failure::Failure;

/// Reads the file.
pub fn read(path: &Path) -> anyhow::Result<Vec<ChangedFunction>> {
    let failed = |why: String, help: Option<String>| Failure {
        what: format!("cannot read {}", path.display()),
        why,
        help,
    };
    let text = std::fs::read(path).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        failed(why, None)
    })?;
    let shape = || Some("docs/stages.md shows what changes look like".to_owned());
    let value: Value =
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string(), shape()))?;
    let list = value.get("changes").unwrap_or(&value).as_array();
    let list =
        list.ok_or_else(|| failed("it does not contain a list of changes".to_owned(), shape()))?;
    let change = |(row, value): (usize, &Value)| {
        change(value).map_err(|why| failed(format!("change {}: {why}", row + 1), shape()).into())
    };
    list.iter().enumerate().map(change).collect()
}

fn change(value: &Value) -> Result<ChangedFunction, String> {
    let kind = text(value, "kind").ok_or("`kind` is missing")?;
    let kind = ChangedKind::from_name(&kind).ok_or_else(|| {
        format!("unknown kind `{kind}`; expected added, deleted, modified or renamed")
    })?;
    let own = place(value)?.ok_or("`function` is missing")?;
    let was = match value.get("was") {
        None | Some(Value::Null) => None,
        // The name alone, or all that is known of it.
        Some(Value::String(name)) => Some(CodePlace { name: name.clone(), ..own.clone() }),
        Some(was) => Some(place(was)?.ok_or("`function` is missing in `was`")?),
    };
    let (before, after) = match kind {
        ChangedKind::Added => (None, Some(own)),
        ChangedKind::Deleted => (Some(own), None),
        ChangedKind::Modified => (Some(was.unwrap_or_else(|| own.clone())), Some(own)),
        ChangedKind::Renamed => (
            Some(was.ok_or("`was` is missing: the earlier name of a renamed function")?),
            Some(own),
        ),
    };
    let hunks = value.get("hunks").and_then(Value::as_array);
    let hunks = hunks.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Ok(ChangedFunction {
        kind,
        before,
        after,
        hunks: hunks.collect(),
        commit: text(value, "commit"),
        certainty: value.get("certainty").and_then(Value::as_f64).unwrap_or(1.0),
    })
}

fn place(value: &Value) -> Result<Option<CodePlace>, String> {
    let Some(name) = text(value, "function").filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let lines = match value.get("lines") {
        None | Some(Value::Null) => None,
        Some(lines) => {
            let number = |row: usize| lines.get(row)?.as_u64().and_then(|n| u32::try_from(n).ok());
            Some(
                number(0)
                    .zip(number(1))
                    .ok_or("`lines` must be a list of the first and the last line")?,
            )
        }
    };
    Ok(Some(CodePlace {
        name,
        component: text(value, "component"),
        signature: text(value, "signature"),
        file: text(value, "file").filter(|file| !file.is_empty()),
        lines,
    }))
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field)?.as_str().map(str::to_owned)
}
