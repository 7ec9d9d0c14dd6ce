//! Two revisions as SARIF: results on the lines that changed, where it is known which changes explain a slowdown.

use std::io::{self, Write};

use perfblame_analysis::Check;
use serde_json::{Value, json};

use crate::check_words::{comparison_line, revisions};
use crate::diff_sarif::{literal, log_value};
use crate::layout::clean;

/// Writes a check as one SARIF log.
pub fn check_sarif(check: &Check, out: &mut dyn Write) -> io::Result<()> {
    let mut whole: Option<Value> = None;
    let mut results: Vec<Value> = Vec::new();
    let mut notes: Vec<Value> = Vec::new();
    for comparison in &check.comparisons {
        let Some(compared) = comparison.compared() else { continue };
        let mut log = log_value(&compared.diff)?;
        let of_run = |log: &mut Value, pointer: &str| {
            let list = log.pointer_mut(pointer).and_then(Value::as_array_mut);
            list.map(std::mem::take).unwrap_or_default()
        };
        notes.extend(of_run(&mut log, "/runs/0/invocations/0/toolExecutionNotifications"));
        let found = of_run(&mut log, "/runs/0/results");
        for mut result in found {
            let title = literal(&clean(&comparison.title()));
            let text = result["message"]["text"].as_str().unwrap_or_default();
            result["message"]["text"] = format!("{title}: {text}").into();
            result["partialFingerprints"]["perfblameWorkload/v1"] = comparison.title().into();
            results.push(result);
        }
        whole.get_or_insert(log);
    }
    let Some(mut log) = whole else {
        // Nothing ran: an empty log that says what failed.
        let failed = check.failed().map(|(comparison, _)| {
            json!({ "level": "error", "message": { "text": literal(&comparison_line(comparison, true)) } })
        });
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": { "name": "perfblame", "semanticVersion": crate::VERSION } },
                "invocations": [{
                    "executionSuccessful": false,
                    "toolExecutionNotifications": failed.collect::<Vec<_>>(),
                }],
                "results": [],
            }],
        });
        serde_json::to_writer_pretty(&mut *out, &log)?;
        return out.write_all(b"\n");
    };
    for (comparison, _) in check.failed() {
        let text = literal(&comparison_line(comparison, true));
        notes.push(json!({ "level": "error", "message": { "text": text } }));
    }
    let run = &mut log["runs"][0];
    run["results"] = results.into();
    run["invocations"][0]["toolExecutionNotifications"] = notes.into();
    run["properties"] = json!({ "verdict": check.verdict.name(), "summary": revisions(check) });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    out.write_all(b"\n")
}
