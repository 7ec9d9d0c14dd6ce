//! What changed in the code, as a comparison of profiles needs it: plain names and places, whoever found them out.

use perfblame_changes::{ChangeKind, Definition, FunctionChange};

use super::CodeChange;

/// A function that is not what it was.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ChangedFunction {
    /// How it changed.
    pub kind: ChangedKind,
    /// The function before; none when it is new.
    pub before: Option<CodePlace>,
    /// The function after; none when it is gone.
    pub after: Option<CodePlace>,
    /// Headers of the hunks inside of it.
    pub hunks: Vec<String>,
    /// The commit that changed it.
    pub commit: Option<String>,
    /// How sure the pairing of before and after is, 0 to 1.
    pub certainty: f64,
}

/// How a function changed, in the words of `[parcs]`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ChangedKind {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its body is another one.
    #[default]
    Modified,
    /// It goes by another name, or is in another place; hunks say that its body is another one, too.
    Renamed,
}

impl ChangedKind {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
        }
    }

    /// The kind that a word means; the finer words of source comparisons are taken for what they come down to.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "added" | "extracted" => Self::Added,
            "deleted" | "inlined" => Self::Deleted,
            "modified" => Self::Modified,
            "renamed" | "moved" => Self::Renamed,
            _ => return None,
        })
    }
}

/// A function as the code has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodePlace {
    /// Full name with class, module or namespace.
    pub name: String,
    /// Class, module or file of the profile, where the name does not hold it.
    pub component: Option<String>,
    /// What tells overloads apart.
    pub signature: Option<String>,
    /// The file, from the root of the code.
    pub file: Option<String>,
    /// First and last line, from 1.
    pub lines: Option<(u32, u32)>,
}

impl From<&Definition> for CodePlace {
    fn from(definition: &Definition) -> Self {
        Self {
            name: definition.name.clone(),
            component: None,
            signature: definition.signature.clone(),
            file: definition.file.clone(),
            lines: definition.lines,
        }
    }
}

impl From<&FunctionChange> for ChangedFunction {
    fn from(change: &FunctionChange) -> Self {
        Self {
            kind: match change.kind {
                ChangeKind::Added | ChangeKind::Extracted => ChangedKind::Added,
                ChangeKind::Deleted | ChangeKind::Inlined => ChangedKind::Deleted,
                ChangeKind::Modified => ChangedKind::Modified,
                ChangeKind::Renamed | ChangeKind::Moved => ChangedKind::Renamed,
            },
            before: change.before.as_ref().map(CodePlace::from),
            after: change.after.as_ref().map(CodePlace::from),
            hunks: change.hunks.iter().map(ToString::to_string).collect(),
            commit: None,
            certainty: change.certainty,
        }
    }
}

impl ChangedFunction {
    /// The function after, or before when it is gone.
    pub fn place(&self) -> Option<&CodePlace> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// As answers carry it.
    pub fn as_change(&self) -> CodeChange {
        let place = self.place().cloned().unwrap_or_default();
        CodeChange {
            kind: self.kind.name().to_owned(),
            function: place.name,
            file: place.file.unwrap_or_default(),
            lines: place.lines,
            commit: self.commit.clone(),
            hunks: self.hunks.clone(),
            ..CodeChange::default()
        }
    }
}
