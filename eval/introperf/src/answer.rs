//! Asks `perfblame diff` as users do, and reads its answer.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::rank::{Ranked, RankedFunction, Wanted};

/// The JSON of a comparison.
pub fn ask(perfblame: &Path, base: &Path, buggy: &Path, method: &str) -> Result<Value> {
    let output = Command::new(perfblame)
        .arg("diff")
        .args([base, buggy])
        .args(["--method", method, "--format", "json"])
        .output()
        .with_context(|| format!("cannot start {}", perfblame.display()))?;
    // 1 says that something is slower.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("perfblame diff: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("JSON of perfblame diff")
}

/// The paths of an answer to `--method paths`.
pub fn paths(answer: &Value) -> Vec<Ranked> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let function = |value: &Value| RankedFunction {
        function: text(&value["function"]),
        component: text(&value["component"]),
        latency: value["latency"].as_f64().unwrap_or(0.0),
    };
    let path = |value: &Value| Ranked {
        cost: value["cost"].as_f64().unwrap_or(0.0),
        functions: value["functions"].as_array().into_iter().flatten().map(function).collect(),
    };
    answer["paths"].as_array().into_iter().flatten().map(path).collect()
}

/// Where suspects name the cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Named {
    /// The first suspect that is the wanted function.
    pub itself: Option<usize>,
    /// The first suspect with the wanted function on the way to it.
    pub on_path: Option<usize>,
}

/// Looks for the cause among suspects.
pub fn named(answer: &Value, wanted: &Wanted) -> Named {
    let suspects = answer["suspects"].as_array().map_or(&[][..], Vec::as_slice);
    let is = |value: &Value| {
        let text = |name: &str| value[name].as_str().unwrap_or_default();
        wanted.is(text("function"), text("component"))
    };
    let first = |test: &dyn Fn(&Value) -> bool| suspects.iter().position(test).map(|at| at + 1);
    Named {
        itself: first(&is),
        on_path: first(&|suspect| {
            is(suspect) || suspect["path"].as_array().into_iter().flatten().any(is)
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case::Truth;
    use crate::rank::find;

    #[test]
    fn answers_are_read() {
        let truth = Truth { object: "b.so", functions: &["g"], why: "" };
        let wanted = Wanted::new(&truth, "");
        let step = |function: &str, component: &str, latency: f64| json!({ "function": function, "component": component, "latency": latency });
        let ranking = json!({ "paths": [
            { "rank": 1, "cost": 7.5, "functions": [step("main", "a", 1.0), step("g", "b.so.1", 6.5)] },
        ] });
        let found = find(&paths(&ranking), &wanted).unwrap();
        assert_eq!((found.p_min, found.f_min, found.place), (1, 0, 0));
        let suspects = json!({ "suspects": [
            { "function": "read", "component": "libc", "path": [step("g", "b.so.1", 0.0), step("read", "libc", 0.0)] },
            { "function": "g", "component": "b.so.1", "path": [step("g", "b.so.1", 0.0)] },
        ] });
        assert_eq!(named(&suspects, &wanted), Named { itself: Some(2), on_path: Some(1) });
    }
}
