//! The harness without network, JVM and Maven: drawn trees through comparison, keeping and document.
#![expect(clippy::unwrap_used, reason = "a test that cannot draw its input has failed")]

use std::num::NonZeroU32;
use std::path::PathBuf;

use perfblame_cct::{
    CallSite, Cct, Cells, Frame, Function, Grain, Metric, NodeId, Profile, Side, Sides, Symbols,
    Unit,
};
use perfblame_changes::{ChangeKind, ChangeSet, Definition, FunctionChange};
use perfblame_eval_parcs::code::{Code, of_changes};
use perfblame_eval_parcs::compare::{Compared, compare};
use perfblame_eval_parcs::document::document;
use perfblame_eval_parcs::experiment::{Cost, Measured, Measurement, order};
use perfblame_eval_parcs::maven::{Artifact, Needs, project};
use perfblame_eval_parcs::programs::{From, PROGRAMS};
use perfblame_eval_steps::{Work, key};

/// A folder of one test, gone in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let name = format!("perfblame-eval-parcs-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn keep(&self, name: &str, outline: &str) -> PathBuf {
        let path = self.0.join(name);
        let mut bytes = Vec::new();
        perfblame_file::write(&exact(outline), &mut bytes).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An exact profile from lines of `method site calls nanoseconds`, callees indented.
fn exact(outline: &str) -> Profile {
    let mut symbols = Symbols::default();
    let (mut parents, mut frames): (Vec<Option<NodeId>>, Vec<_>) = Default::default();
    let mut columns = [Vec::new(), Vec::new()];
    let mut open: Vec<(usize, NodeId)> = Vec::new();
    for line in outline.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        while open.last().is_some_and(|(above, _)| *above >= indent) {
            open.pop();
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = symbols.string(words[0]);
        let function = symbols.intern_function(Function::named(name));
        let site = words[1].parse::<NonZeroU32>().ok();
        let call_site = site.map(|site| CallSite::Line(site, None));
        frames.push(symbols.intern_frame(Frame { call_site, ..Frame::of(function) }));
        parents.push(open.last().map(|(_, node)| *node));
        columns[0].push(words[3].parse().unwrap());
        columns[1].push(words[2].parse().unwrap());
        open.push((indent, NodeId::new(parents.len() - 1)));
    }
    let keys: Vec<_> = (0..parents.len()).map(|row| (NodeId::new(row), None)).collect();
    Profile {
        symbols,
        metrics: vec![
            Metric::exact("wall", Unit::Nanoseconds),
            Metric::exact("calls", Unit::Count),
        ],
        tree: Cct::from_preorder(Grain::CallSites, parents, frames),
        cells: Cells::from_columns(&keys, &columns),
        ..Profile::default()
    }
}

fn change(kind: ChangeKind, name: &str) -> FunctionChange {
    let definition = Some(Definition { name: name.to_owned(), ..Definition::default() });
    let (before, after) = match kind {
        ChangeKind::Added => (None, definition),
        ChangeKind::Deleted => (definition, None),
        _ => (definition.clone(), definition),
    };
    FunctionChange {
        kind,
        before,
        after,
        other: None,
        hunks: Vec::new(),
        additions: vec![perfblame_changes::Addition::Call("app.Main.fresh()V".to_owned())],
        certainty: 1.0,
    }
}

const BEFORE: &str = "
app.Main.main - 1 100
  app.Main.parse 1 2 200
    app.Main.gone 1 2 50
    app.Main.read 2 9 90
  app.Main.print 2 1 70
  app.Main.print 3 1 30";

const AFTER: &str = "
app.Main.main - 1 100
  app.Main.parse 1 2 200
    app.Main.fresh 1 4 60
    app.Main.read 2 9 90
    app.Main.read 3 1 10
  app.Main.chance 2 1 5
  app.Main.print 3 1 70
  app.Main.print 4 1 30";

fn drawn_code() -> Code {
    let functions = vec![
        change(ChangeKind::Added, "app.Main.fresh"),
        change(ChangeKind::Deleted, "app.Main.gone"),
        change(ChangeKind::Modified, "app.Main.parse"),
        change(ChangeKind::Modified, "lib.Other.parse"),
    ];
    of_changes(&ChangeSet { functions, ..ChangeSet::default() }, &["app"])
}

fn compared(test: &str) -> Compared {
    let scratch = Scratch::new(test);
    let before = [scratch.keep("before.perfblame", BEFORE)];
    let after = ["1.perfblame", "2.perfblame"].map(|name| scratch.keep(name, AFTER));
    compare(&before, &after, &drawn_code()).unwrap()
}

#[test]
fn changes_of_other_packages_do_not_count() {
    let code = drawn_code();
    assert_eq!((code.counts.added, code.counts.deleted, code.counts.modified), (1, 1, 1));
    assert_eq!(code.changes.len(), 3);
}

#[test]
fn drawn_trees_are_taken_apart() {
    let compared = compared("apart");
    assert_eq!(compared.nodes, Sides::new(6, 8));
    assert_eq!(compared.nodes_without_sites, Sides::new(5, 6));
    let staged = &compared.staged;
    assert_eq!(staged.common, 5);
    assert_eq!((staged.deleted, staged.added), ((1, 1), (1, 1)));
    // `read` is called once more by the modified `parse`; nobody above `chance` was modified.
    assert_eq!((staged.modified, staged.side_effects), ((1, 1), (1, 1)));
    // Every node of both trees is in common or taken out.
    assert_eq!(2 * staged.common + staged.removed(), compared.nodes.iter().sum::<usize>());
    assert_eq!((staged.calls, staged.total), (Some(1.0), Some(1.0)));
    // Without call sites the second call of `read` is no other context.
    assert_eq!(compared.without_sites.modified, (0, 0));
    let same = compared.same.unwrap();
    assert_eq!((same.removed(), same.score.round()), (0, 100.0));
    let weights = compared.weights.unwrap();
    assert_eq!((weights.threshold, weights.adjusted), (1.0, 0));
    // What is new shifts what stands to the right of it.
    assert!(compared.strict < staged.score, "{} {}", compared.strict, staged.score);
}

#[test]
fn the_caller_of_a_new_method_holds_the_call() {
    let found = compared("caller").attribution;
    assert_eq!((found.stage_1.subtrees, found.stage_1.changed, found.stage_1.caller), (2, 2, 2));
    assert_eq!((found.stage_1.after, found.stage_1.calls), (1, 1));
    // The code says that `fresh` is newly called, not that `read` is.
    assert_eq!((found.stage_2.subtrees, found.stage_2.after, found.stage_2.calls), (1, 1, 0));
    assert_eq!(found.unexplained, 1);
}

#[test]
fn a_second_start_takes_what_is_kept() {
    let scratch = Scratch::new("kept");
    let work = Work::at(&scratch.0.join("work")).unwrap();
    let made = work.step(&["a", "b.json"], || Ok(7u32)).unwrap();
    let kept = work.step(&["a", "b.json"], || anyhow::bail!("made again")).unwrap();
    assert_eq!((made, kept), (7, 7));
    // A folder whose making failed is not there.
    assert!(work.folder(&["c"], |_| anyhow::bail!("no network")).is_err());
    let folder = work.folder(&["c"], |folder| Ok(std::fs::write(folder.join("x"), "x")?)).unwrap();
    assert!(folder.join("x").is_file());
    assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
}

#[test]
fn the_table_of_programs_is_in_order() {
    assert!(PROGRAMS.len() >= 6);
    for program in PROGRAMS {
        assert_ne!(program.releases.before, program.releases.after, "{}", program.name);
        for release in program.releases {
            let coordinates = format!("{}:{release}", program.artifact);
            let artifact = Artifact { coordinates, classifier: None };
            assert!(project(&[artifact], Needs::Fetched).unwrap().contains(release));
        }
        for input in &program.inputs {
            let twice = program.inputs.iter().filter(|other| other.name == input.name).count();
            assert_eq!(twice, 1, "{} {}", program.name, input.name);
            if let From::Ours(_, text) = input.from {
                assert!(!text.is_empty());
            }
        }
    }
}

#[test]
fn runs_take_turns() {
    let (before, after) = (Side::Before, Side::After);
    let expected = [(before, 1), (after, 1), (after, 2), (before, 2)];
    assert_eq!(order(Sides::new(2, 2)), expected);
    assert_eq!(order(Sides::new(1, 2)), expected[..3]);
}

#[test]
fn the_document_has_every_table() {
    let cost = Cost { cpu: [1.0, 3.0], wall: [1.0, 3.0], runs: Sides::new(1, 2), printed: [2, 2] };
    let input =
        Measurement { input: "commons-cli".to_owned(), compared: compared("document"), cost };
    let measured = Measured {
        program: "checkstyle".to_owned(),
        code: drawn_code().counts,
        inputs: vec![input],
        failed: vec!["with gson: it took too long".to_owned()],
    };
    let written = document(&[measured], "a machine");
    for table in 1..=6 {
        let named = [format!("table {table}"), format!("tables {table}"), format!("and {table}")];
        assert!(named.iter().any(|name| written.text.contains(name)), "table {table}");
    }
    assert!(written.text.contains("| *checkstyle, paper* | 1,448,937.6 |"), "{}", written.text);
    assert!(written.text.contains("- checkstyle with gson: it took too long"));
    assert!(written.text.contains("- pmd: no figures, its runs were not finished"));
    assert_eq!(written.figures.len(), 4);
    assert!(written.figures.iter().all(|(_, picture)| picture.ends_with("</svg>\n")));
}
