//! What suspects were before, where that is not plain from their names.

use perfblame_cct::{NodeId, Sides};
use perfblame_matching::{Identity, Joint, Link, SideTree, Why};

use super::Suspect;
use crate::FunctionView;

/// Says of each suspect what it was called before, why it is taken for that, and how its heaviest context came to its
/// place.
pub(super) fn annotate(
    suspects: &mut [Suspect],
    joint: &Joint,
    identity: &Identity,
    sides: &Sides<SideTree<'_>>,
) {
    let Sides { before, after } = sides;
    for suspect in suspects {
        let Some(row) = suspect.contexts.first().copied().filter(|row| *row < joint.tree.len())
        else {
            continue;
        };
        let (Some(was), Some(is)) = (joint.node.before[row], joint.node.after[row]) else {
            continue;
        };
        let (was, is) = (before.function_of(was), after.function_of(is));
        if before.symbols.name(was) != after.symbols.name(is) {
            suspect.was = Some(FunctionView::of(before.symbols, was));
        }
        // Another host or version needs no word.
        let found = identity.match_of(is).filter(|found| found.why != Why::Component);
        suspect.notes.extend(found.map(|found| found.reason(before.symbols, after.symbols)));
        let between = |node: NodeId| {
            let caller = joint.tree.parent(node)?;
            let function = joint.symbols.frame(joint.tree.frame(caller)).function;
            Some(FunctionView::of(&joint.symbols, function).name)
        };
        let note = match joint.link[row] {
            Link::Wrapped => between(NodeId::new(row))
                .map(|name| format!("`{name}` is now between it and its caller")),
            Link::Unwrapped => Some("a frame between it and its caller is gone".to_owned()),
            Link::Moved => Some("it had another caller before".to_owned()),
            Link::Same | Link::Renamed => None,
        };
        suspect.notes.extend(note);
    }
}

#[cfg(test)]
mod tests {
    use perfblame_cct::merge_runs;
    use perfblame_fixtures::profile;

    use crate::{Ask, DiffQuery, Loaded, diff};

    /// Three runs with a column for each name, so often: the callee of `main > run`, which calls `read` and `lex`.
    fn runs(callee: &str, counts: [usize; 3]) -> Loaded {
        let run = |count: usize| {
            let row = |name: &str| format!("{name} ").repeat(count);
            let below = "read lex ".repeat(count / 2);
            profile(&[row("main"), row("run"), row(callee), below].join("\n"))
        };
        let names = counts.iter().map(|count| format!("{callee}-{count}")).collect();
        Loaded { names, runs: merge_runs(counts.map(run).into()) }
    }

    #[test]
    fn a_suspect_says_what_it_was_called() {
        let (before, after) = (runs("parse", [100, 102, 98]), runs("scan", [300, 302, 298]));
        let found = diff(&before, &after, &DiffQuery::default(), &Ask::default()).unwrap();
        let [suspect] = &*found.suspects else { panic!("{:?}", found.suspects) };
        assert_eq!(suspect.function.name, "scan");
        assert_eq!(suspect.was.as_ref().map(|was| &*was.name), Some("parse"));
        assert_eq!(suspect.notes, ["was `parse` (same callers and callees, 76 % sure)"]);
    }
}
