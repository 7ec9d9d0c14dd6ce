//! Recorded profiles that should not be compared get a warning first; two versions of one program get none.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::path::{Path, PathBuf};

use perfblame_analysis::{Ask, DiffQuery, LoadOptions, Loaded, diff, expand, load};
use perfblame_fixtures::{corpus, recordings};

fn side(path: &Path) -> Loaded {
    load(&expand(&[path.to_path_buf()]).unwrap(), LoadOptions::default(), &Ask::default()).unwrap()
}

/// The codes of the warnings of a comparison, those about the comparison itself alone.
fn codes(before: &Loaded, after: &Loaded) -> Vec<String> {
    let found = diff(before, after, &DiffQuery::default(), &Ask::default()).unwrap();
    let first = found.warnings.first().map(|warning| warning.code.clone());
    let codes: Vec<String> = (found.warnings.into_iter().map(|warning| warning.code))
        .filter(|code| code.starts_with("different-"))
        .collect();
    assert!(codes.is_empty() || first.as_ref() == codes.first(), "the warning comes first");
    codes
}

#[test]
fn two_programs_are_noticed() {
    let Some(corpus) = corpus() else { return };
    for (before, after) in [
        ("callgrind/gprof2dot-bzr.callgrind.gz", "callgrind/gprof2dot-selinux.callgrind.gz"),
        ("callgrind/gprof2dot-bool.callgrind.gz", "callgrind/gprof2dot-issue35.callgrind"),
        ("collapsed/ffprofiler-flamegraph.txt", "collapsed/inferno-flames.txt.gz"),
        ("pprof/parca-fib.pb.gz", "pprof/parca-fgprof.pb.gz"),
    ] {
        let (one, other) = (side(&corpus.join(before)), side(&corpus.join(after)));
        assert_eq!(codes(&one, &other), ["different-programs"], "{before} {after}");
        assert_eq!(codes(&other, &one), ["different-programs"], "{after} {before}");
    }
}

#[test]
fn two_pages_are_noticed_and_two_versions_of_one_are_not() {
    let Some(answers) = recordings("corpus-answers") else { return };
    let cases: Vec<PathBuf> =
        ["sixfold", "steady-new-cost", "faster-and-slower"].map(|case| answers.join(case)).into();
    let sides: Vec<(Loaded, Loaded)> =
        cases.iter().map(|case| (side(&case.join("before")), side(&case.join("after")))).collect();
    for (one, (before, after)) in sides.iter().enumerate() {
        assert!(codes(before, after).is_empty(), "{}", cases[one].display());
        let (other, _) = &sides[(one + 1) % sides.len()];
        assert_eq!(codes(before, other), ["different-programs"], "{}", cases[one].display());
    }
}

#[test]
fn versions_of_a_native_program_are_one_program() {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    for example in ["jq-prepend", "tour/runs"] {
        let folder = examples.join(example);
        let (before, after) = (side(&folder.join("before")), side(&folder.join("after")));
        assert!(codes(&before, &after).is_empty(), "{example}");
    }
}
