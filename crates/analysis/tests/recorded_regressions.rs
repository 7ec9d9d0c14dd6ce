//! Regressions that were recorded, with known causes: the first suspect is the cause, and identical code has none.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::path::PathBuf;

use perfblame_analysis::{
    Ask, Diff, DiffQuery, LoadOptions, Loaded, SuspectKind, Verdict, diff, expand, load,
};
use perfblame_fixtures::{corpus, recordings};

fn side(files: &[PathBuf]) -> Loaded {
    load(&expand(files).unwrap(), LoadOptions::default(), &Ask::default()).unwrap()
}

fn compare(before: &[PathBuf], after: &[PathBuf], metric: Option<&str>) -> Diff {
    let query = DiffQuery { metric: metric.map(str::to_owned), ..DiffQuery::default() };
    diff(&side(before), &side(after), &query, &Ask::default()).unwrap()
}

#[test]
fn the_busy_wait_in_a_web_page_is_the_first_suspect() {
    let Some(sample) = recordings("corpus-web-sample") else { return };
    let answer = compare(&[sample.join("old")], &[sample.join("new")], None);
    assert_eq!(answer.verdict, Verdict::Regressed);
    let first = &answer.suspects[0];
    assert!(["dummyFn", "ko.bindingContext"].contains(&first.function.name.as_str()), "{first:?}");
    assert_eq!(first.kind, SuspectKind::New);
    let path: Vec<_> = first.path.iter().map(|call| call.name.as_str()).collect();
    assert!(path.contains(&"ko.bindingContext"), "{path:?}");
    // The busy-waits were measured to add 417 ms.
    assert!((first.delta.median / 1e6 - 417.0).abs() < 25.0, "{:?}", first.delta);
    assert_eq!(answer.suspects.len(), 1, "everything else is noise or the library's next version");
}

#[test]
fn runs_of_one_page_raise_no_alarm_however_they_are_split() {
    let Some(sample) = recordings("corpus-web-sample") else { return };
    for version in ["old", "new"] {
        let folder = sample.join(version);
        let run = |number: usize| folder.join(format!("{number}.json.gz"));
        for (one, two, three) in [(1, 2, 3), (2, 1, 3), (3, 1, 2)] {
            for (before, after) in [
                (vec![run(one)], vec![run(two), run(three)]),
                (vec![run(two), run(three)], vec![run(one)]),
            ] {
                let answer = compare(&before, &after, None);
                // One run against two of a page that scatters by 30 %: often nobody can tell.
                let quiet = [Verdict::Unchanged, Verdict::Inconclusive].contains(&answer.verdict);
                assert!(quiet, "{version} {one} apart: {:?}", answer.verdict);
                assert_eq!(answer.suspects, [], "{version} {one} apart");
            }
        }
        let same = compare(std::slice::from_ref(&folder), std::slice::from_ref(&folder), None);
        assert_eq!(same.verdict, Verdict::Unchanged);
    }
}

#[test]
fn the_allocation_that_was_fixed_is_the_first_improvement() {
    let Some(corpus) = corpus() else { return };
    let file = |name: &str| corpus.join("jfr").join(name);
    let (before, fixed) =
        (file("jmc-allocation_10s_before.jfr"), file("jmc-allocation_10s_fixed.jfr"));
    let answer =
        compare(std::slice::from_ref(&before), std::slice::from_ref(&fixed), Some("allocated"));
    assert_eq!(answer.verdict, Verdict::Improved);
    assert_eq!(answer.improvements[0].function.name, "java.lang.Integer.valueOf");
    let back = compare(&[fixed], &[before], Some("allocated"));
    assert_eq!(back.verdict, Verdict::Regressed);
    assert_eq!(back.suspects[0].function.name, "java.lang.Integer.valueOf");
}
