//! Which code change explains which suspect.
//!
//! A profile knows which call costs more, a change set which functions are not what they were. What joins the two is
//! where a changed function stands to the costs that grew: it is the suspect, it calls the suspect, it is called below
//! it, or it was inlined into it and is in no stack at all. The nearer and the larger the part that it covers, the
//! better it explains. A change that no stack comes near to cannot be the cause, and saying so is an answer too.

mod places;
mod relations;
mod sources;

use perfblame_cct::Warning;
use perfblame_changes::{Addition, ChangeSet, Definition, FileKind, FunctionChange, SYNTAX_TREES};

use crate::{ChangedFunction, CodeChange, Diff, DiffTree, FunctionView, Suspect};
use places::Places;
use relations::{Relation, relations};

/// The source of one side.
pub trait Sources {
    /// The definition of a function of a profile; none when it is not in the sources, or could be several.
    fn locate(&self, function: &FunctionView) -> Option<Located>;
}

/// A function of a profile, found in the sources.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Located {
    /// What it is there.
    pub definition: Definition,
    /// The functions that its body calls, as it spells them.
    pub calls: Vec<String>,
}

/// What is known of the code of both sides.
pub struct Code<'a> {
    /// What changed.
    pub changes: &'a ChangeSet,
    /// The sources before.
    pub before: &'a dyn Sources,
    /// The sources after.
    pub after: &'a dyn Sources,
    /// The newest commit that touched a change, and its title.
    pub commit: &'a dyn Fn(&FunctionChange) -> Option<(String, String)>,
}

/// What the code changes have to do with the difference.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attribution {
    /// How many functions changed.
    pub changed: usize,
    /// How many of them the runs get to: they were sampled, a sampled function calls them, or the profile cannot tell.
    pub reached: usize,
    /// Those that they do not get to, in the order of their files.
    pub unreached: Vec<CodeChange>,
    /// Files that changed outside functions and can matter: dependencies, build, configuration, static data.
    pub outside: Vec<CodeChange>,
    /// What follows from all that.
    pub finding: Blame,
}

impl Attribution {
    /// Functions changed and nothing else that can matter, and the runs get to none of them.
    pub fn is_unreached(&self) -> bool {
        self.changed > 0 && self.reached == 0 && self.outside.is_empty()
    }

    /// What it says about a slowdown that no change explains; none where one does.
    pub fn warning(&self) -> Option<Warning> {
        let message = match self.finding {
            Blame::Nothing | Blame::Explained => return None,
            Blame::Outside => format!(
                "no changed function explains the slowdown; changed outside functions: {}",
                self.outside.iter().map(|change| &*change.file).collect::<Vec<_>>().join(", ")
            ),
            Blame::NotReached => {
                let none = match self.changed {
                    1 => "its function is not".to_owned(),
                    changed => format!("none of its {changed} functions is"),
                };
                format!(
                    "these runs do not reach the change: {none} in a stack or called from a \
                     function in one"
                )
            }
            Blame::Unexplained => {
                "no code change explains this: none is near the functions that got slower".to_owned()
            }
            Blame::Unknown => "cannot tell whether a change explains this: the functions of the runs are not in \
                               the sources, or native code was built without debug information (`-g`)"
                .to_owned(),
            Blame::Unchanged => "no code changed between the two revisions".to_owned(),
        };
        Some(Warning { code: self.finding.name().to_owned(), message, count: 1 })
    }
}

/// What [`attribute`] finds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Findings {
    /// The changes that explain each suspect, in the order of [`Diff::suspects`]; the likeliest first.
    pub changes: Vec<Vec<CodeChange>>,
    /// What the changes have to do with the difference as a whole.
    pub attribution: Attribution,
}

impl Findings {
    /// Gives each suspect its changes.
    pub fn put_into(self, diff: &mut Diff) -> Attribution {
        for (suspect, changes) in diff.suspects.iter_mut().zip(self.changes) {
            suspect.changes = changes;
        }
        self.attribution
    }
}

/// What code changes explain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Blame {
    /// There is nothing to explain.
    #[default]
    Nothing,
    /// The heaviest suspect is explained by a changed function.
    Explained,
    /// No changed function is near it, but something outside of functions changed: dependencies, build, configuration.
    Outside,
    /// Functions changed, and the runs get to none of them.
    NotReached,
    /// Changed functions ran, and none is near what got slower.
    Unexplained,
    /// The profile does not show enough to say which changed functions ran: names that are not in the sources, or
    /// native code without debug information, where inlined functions are in no stack.
    Unknown,
    /// No code changed at all.
    Unchanged,
}

impl Blame {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing-to-explain",
            Self::Explained => "explained",
            Self::Outside => "outside-of-functions",
            Self::NotReached => "not-reached",
            Self::Unexplained => "unexplained",
            Self::Unknown => "unknown",
            Self::Unchanged => "no-changes",
        }
    }
}

/// Changes that explain less than this of the best are left out.
const LEAST_OF_BEST: f64 = 0.1;
/// What explains less than this explains nothing.
const LEAST: f64 = 0.15;

/// Which code changes explain each suspect, and what the changes have to do with the difference as a whole.
pub fn attribute(diff: &Diff, tree: &DiffTree, code: &Code<'_>) -> Findings {
    let places = Places::of(tree, code);
    let outside: Vec<CodeChange> = code.changes.files.iter().filter_map(outside_change).collect();
    let explain = |suspect: &Suspect| {
        let mut found = relations(tree, suspect, &places, code);
        let best = found.first().map_or(0.0, |relation| relation.score);
        found.retain(|relation| relation.score >= (best * LEAST_OF_BEST).max(LEAST));
        let change = |relation: &Relation| {
            let change = &code.changes.functions[relation.change];
            code_change(change, (code.commit)(change), Some(relation))
        };
        found.iter().map(change).collect::<Vec<_>>()
    };
    let explained: Vec<Vec<CodeChange>> = diff.suspects.iter().map(explain).collect();
    let reached = places.reached.iter().filter(|reached| **reached).count();
    let changes = code.changes.functions.iter().zip(&places.reached);
    let unreached = changes.filter(|(_, reached)| !**reached);
    let finding = match explained.first().map(|changes| !changes.is_empty()) {
        None => Blame::Nothing,
        Some(true) => Blame::Explained,
        Some(false) if places.is_blind => Blame::Unknown,
        Some(false) if !outside.is_empty() => Blame::Outside,
        Some(false) if reached > 0 => Blame::Unexplained,
        Some(false) if !code.changes.functions.is_empty() => Blame::NotReached,
        Some(false) => Blame::Unchanged,
    };
    let attribution = Attribution {
        changed: code.changes.functions.len(),
        reached,
        unreached: unreached.map(|(change, _)| code_change(change, None, None)).collect(),
        outside,
        finding,
    };
    Findings { changes: explained, attribution }
}

fn code_change(
    change: &FunctionChange,
    commit: Option<(String, String)>,
    relation: Option<&Relation>,
) -> CodeChange {
    let (commit, title) = commit.unzip();
    CodeChange {
        commit,
        title,
        why: relation.map(|relation| relation.why(change)),
        score: relation.map(|relation| relation.score),
        ..ChangedFunction::from(change).as_change()
    }
}

/// A file that can matter although no function in it changed.
fn outside_change(file: &perfblame_changes::FileChange) -> Option<CodeChange> {
    let why = match file.kind {
        FileKind::Code if !SYNTAX_TREES => "changed",
        FileKind::Code => "changed outside functions",
        FileKind::Dependency => "lists the program's dependencies",
        FileKind::Build => "configures the build",
        FileKind::Config => "is read when the program runs",
        FileKind::Other => return None,
    };
    Some(CodeChange {
        kind: "modified".to_owned(),
        file: file.path.clone(),
        hunks: file.hunks.iter().map(ToString::to_string).collect(),
        why: Some(why.to_owned()),
        ..CodeChange::default()
    })
}

/// What a change brought in, in words; none when that is nothing that costs.
fn brought_in(additions: &[Addition], callee: Option<&str>) -> Option<String> {
    let calls = |name: &&Addition| match name {
        Addition::Call(call) => callee.is_some_and(|callee| last_part(call) == last_part(callee)),
        _ => false,
    };
    let first = additions.iter().find(calls).or_else(|| {
        let rank = |addition: &&Addition| match addition {
            Addition::Wait => 0,
            Addition::Lock => 1,
            Addition::Loop => 2,
            Addition::Call(_) => 3,
            Addition::Allocation => 4,
        };
        additions.iter().min_by_key(rank)
    })?;
    Some(match first {
        Addition::Call(name) => format!("with a new call of `{name}`"),
        Addition::Loop => "with a new loop".to_owned(),
        Addition::Allocation => "with a new allocation".to_owned(),
        Addition::Lock => "with a new lock".to_owned(),
        Addition::Wait => "with a new wait".to_owned(),
    })
}

/// The function's own name, without class, module, arguments.
fn last_part(name: &str) -> &str {
    let mut name = name.trim();
    // Arguments and type arguments stand at the end, one behind the other.
    while let Some((open, close)) = match name.as_bytes().last() {
        Some(b')') => Some(('(', ')')),
        Some(b'>') if !name.ends_with("->") => Some(('<', '>')),
        _ => None,
    } {
        let mut depth = 0;
        let start = name.char_indices().rev().find(|(_, letter)| {
            depth += i32::from(*letter == close) - i32::from(*letter == open);
            depth == 0
        });
        match start {
            Some((start, _)) if start > 0 => name = name[..start].trim_end_matches(':'),
            _ => break,
        }
    }
    let name = name.trim_end_matches('!');
    name.rsplit(['.', ':', '>', '$', '/', ' ']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
