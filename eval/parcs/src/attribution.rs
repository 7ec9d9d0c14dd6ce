//! Does the method that section 3.5 names hold the change? The paper looks by hand; the class files answer part of it.
//!
//! For a subtree that is new, the paper names its caller (stage 1) or the modified methods above it, nearest first
//! (stage 2). The class files say whether the first one named was changed at all, and whether its change brought in a
//! call of the subtree's root. A call that is not new in the code can still be new in the run, when a condition changed:
//! so the second figure is a part of what is right; calls are compared by the method's name alone.

use perfblame_analysis::{FunctionView, Side, StagePart, StagedSubtree, Stages};
use serde::{Deserialize, Serialize};

use crate::code::Code;

/// How often, over the subtrees that are listed: at most the 1,000 costliest of each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    pub stage_1: Named,
    pub stage_2: Named,
    /// Subtrees of stage 3, which names nobody.
    pub unexplained: usize,
}

/// Subtrees of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// Looked at.
    pub subtrees: usize,
    /// The first method named was changed, is new or is gone.
    pub changed: usize,
    /// The first method named is the direct caller.
    pub caller: usize,
    /// Those on the side after, where new calls can be seen.
    pub after: usize,
    /// Of those: the change of the first method named brought in a call of a method of the root's name.
    pub calls: usize,
    /// Methods named, all together.
    pub candidates: usize,
}

impl Named {
    /// Adds another count.
    pub fn add(&mut self, other: &Self) {
        self.subtrees += other.subtrees;
        self.changed += other.changed;
        self.caller += other.caller;
        self.after += other.after;
        self.calls += other.calls;
        self.candidates += other.candidates;
    }
}

/// Looks at the methods that a staged comparison names.
pub fn attribution(stages: &Stages, code: &Code) -> Attribution {
    let mut found =
        Attribution { unexplained: stages.side_effects.subtrees.len(), ..Attribution::default() };
    for part in [&stages.added, &stages.deleted] {
        found.stage_1.add(&named(part, code));
    }
    found.stage_2 = named(&stages.modified, code);
    found
}

fn named(part: &StagePart, code: &Code) -> Named {
    let mut named = Named::default();
    for subtree in &part.subtrees {
        let Some((root, above)) = subtree.path.split_last() else { continue };
        named.subtrees += 1;
        named.candidates += subtree.candidates.len();
        let Some(first) = subtree.candidates.first() else { continue };
        let is_new = subtree.side == Side::After;
        named.after += usize::from(is_new);
        named.changed += usize::from(!first.changes.is_empty());
        named.caller += usize::from(above.last() == Some(&first.function));
        named.calls += usize::from(is_new && brings_in(code, subtree, &first.function, root));
    }
    named
}

fn brings_in(
    code: &Code,
    subtree: &StagedSubtree,
    first: &FunctionView,
    root: &FunctionView,
) -> bool {
    let called = last_name(&root.name);
    // A class is initialised at its first use, which no call names.
    let by_use = called == "<clinit>" && !subtree.candidates.is_empty();
    let calls = code.new_calls.get(&first.name);
    calls.is_some_and(|calls| calls.iter().any(|call| by_use || last_name(call) == called))
}

/// The method of a full name, without arguments.
fn last_name(name: &str) -> &str {
    let name = name.split('(').next().unwrap_or(name);
    name.rsplit(['.', ':', '#', '/']).next().unwrap_or(name)
}
