//! A page that waits longer and computes no more, as recorded; `waits/README.md` says how.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::path::Path;

use perfblame_analysis::{
    Ask, Diff, DiffQuery, LoadOptions, Loaded, Source, SuspectKind, Verdict, diff, load,
};

fn side(folder: &str) -> Loaded {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/waits").join(folder);
    let sources = [1, 2, 3].map(|run| Source::File(folder.join(format!("{run}.json.gz"))));
    load(&sources, LoadOptions::default(), &Ask::default()).unwrap()
}

fn compared(before: &str, after: &str) -> Diff {
    diff(&side(before), &side(after), &DiffQuery::default(), &Ask::default()).unwrap()
}

#[test]
fn whoever_installs_a_longer_timer_is_the_suspect() {
    for before in ["before", "again"] {
        let found = compared(before, "after");
        assert_eq!(found.verdict, Verdict::Regressed);
        let first = &found.suspects[0];
        assert_eq!((first.function.name.as_str(), first.kind), ("settle", SuspectKind::Waits));
        let path: Vec<&str> = first.path.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(path, ["refresh", "mergeOrders", "settle"]);
        assert_eq!(first.function.line, Some(4));
        let milliseconds = first.delta.median / 1e6;
        assert!((149.0..151.0).contains(&milliseconds), "{milliseconds} ms");
        assert!(first.share > 0.0 && first.share <= 1.0);
    }
}

/// The machine was so busy that the page's own work took 65 to 733 ms: its busy time can only be called unknown, which
/// is what is said today of the same code. Waits make no more of it.
#[test]
fn the_same_code_has_no_suspects() {
    for (before, after) in [("before", "again"), ("again", "before"), ("before", "before")] {
        let found = compared(before, after);
        assert_eq!(found.verdict, Verdict::Inconclusive, "{before} against {after}");
        assert!(found.suspects.is_empty(), "{before} against {after}: {:?}", found.suspects);
    }
}
