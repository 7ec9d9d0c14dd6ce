//! Comparisons of real recordings against the schemas of what we print, by a real validator.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use std::path::PathBuf;

use perfblame_fixtures::{Schema, corpus, invalid, recordings};
use run::Folder;

/// Real sides: before, after and a metric.
fn pairs() -> Vec<(PathBuf, PathBuf, Option<&'static str>)> {
    let sample = |name: &str| perfblame_fixtures::samples().join(name);
    let mut pairs = vec![
        (sample("cpuprofile/node10-head.cpuprofile"), sample("cpuprofile/node20.cpuprofile"), None),
        (sample("pprof/parca-node-profile.pb.gz"), sample("pprof"), Some("samples")),
    ];
    if let Some(corpus) = corpus() {
        let jfr = |name: &str| corpus.join("jfr").join(name);
        let (before, after) =
            (jfr("jmc-allocation_10s_before.jfr"), jfr("jmc-allocation_10s_fixed.jfr"));
        pairs.push((before.clone(), after.clone(), None));
        pairs.push((before, after, Some("allocated")));
    }
    if let Some(web) = recordings("corpus-web-sample") {
        pairs.push((web.join("old"), web.join("new"), None));
    }
    pairs
}

#[test]
fn real_comparisons_fit_their_schemas() {
    let folder = Folder::new();
    let (mut json, mut sarif) = (Vec::new(), Vec::new());
    for (row, (before, after, metric)) in pairs().iter().enumerate() {
        for method in ["suspects", "critical-graph", "paths"] {
            for (files, format) in [(&mut json, "json"), (&mut sarif, "sarif")] {
                let name = format!("{row}-{method}.{format}");
                let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
                let mut arguments =
                    vec!["diff", before, after, "--method", method, "--format", format];
                arguments.extend(metric.iter().flat_map(|metric| ["--metric", metric]));
                arguments.extend(["--output", &name]);
                let output = folder.run(&arguments);
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {errors}");
                files.push(folder.path().join(name));
            }
        }
    }
    assert_eq!(invalid(&json, Schema::Diff), "");
    assert_eq!(invalid(&sarif, Schema::Sarif), "");
}
