//! What happened to a method, asked by the name in a profile.

use hashbrown::{HashMap, HashSet};
use perfblame_changes::{ChangeKind, ChangeSet, Definition};
use perfblame_sides::{Side, Sides};

/// Labels of methods by class, name and, where the profile has it, descriptor.
///
/// Profiles often name methods without descriptors. Then a name stands for all its overloads, and the label is the one
/// that keeps most of a tree for comparison: with any overload modified the name counts as modified; with some added,
/// deleted, renamed or moved and others not, it counts as modified too, since some of its costs are not comparable;
/// only if all that happened is one thing, and no overload stayed as it was ([`MethodLabels::with_unchanged`]), is it
/// that one.
#[derive(Clone, Debug, Default)]
pub struct MethodLabels {
    by_name: Sides<HashMap<String, Vec<Label>>>,
    /// Names of which one overload at least is as it was, on each side.
    unchanged: Sides<HashSet<String>>,
}

#[derive(Clone, Debug)]
struct Label {
    signature: Option<String>,
    kind: ChangeKind,
    /// The place in [`ChangeSet::functions`].
    change: usize,
}

impl MethodLabels {
    /// The labels of a change set.
    pub fn new(changes: &ChangeSet) -> Self {
        let mut labels = Self::default();
        for (change, function) in changes.functions.iter().enumerate() {
            for (side, definition) in Sides::new(&function.before, &function.after).each() {
                if let Some(Definition { name, signature, .. }) = definition {
                    labels.by_name[side].entry_ref(name.as_str()).or_default().push(Label {
                        signature: signature.clone(),
                        kind: function.kind,
                        change,
                    });
                }
            }
        }
        labels
    }

    /// Says which names have overloads that did not change, such as `a.B.run`: a profile without descriptors cannot
    /// tell these from an overload that was added.
    pub fn with_unchanged<'a>(
        mut self,
        side: Side,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        for name in names {
            if self.by_name[side].contains_key(name) {
                self.unchanged[side].insert(name.to_owned());
            }
        }
        self
    }

    /// What happened to a method, seen from one side; none if nothing did. The class is written with dots or slashes.
    pub fn label(
        &self,
        side: Side,
        class: &str,
        method: &str,
        descriptor: Option<&str>,
    ) -> Option<ChangeKind> {
        let name = format!("{}.{method}", class.replace('/', "."));
        self.label_of(side, &name, descriptor)
    }

    /// The same for a full name, `pkg.Outer$Inner.method`.
    pub fn label_of(&self, side: Side, name: &str, descriptor: Option<&str>) -> Option<ChangeKind> {
        let mut kinds = self.matching(side, name, descriptor).map(|label| label.kind);
        let first = kinds.next()?;
        let mixed = descriptor.is_none() && self.unchanged[side].contains(name);
        if mixed || kinds.any(|kind| kind != first) {
            return Some(ChangeKind::Modified);
        }
        Some(first)
    }

    /// The places in [`ChangeSet::functions`] of what happened to a method, in their order.
    pub fn changes_of(&self, side: Side, name: &str, descriptor: Option<&str>) -> Vec<usize> {
        self.matching(side, name, descriptor).map(|label| label.change).collect()
    }

    fn matching<'a>(
        &'a self,
        side: Side,
        name: &str,
        descriptor: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Label> {
        let labels = self.by_name[side].get(name).map_or(&[][..], Vec::as_slice);
        labels.iter().filter(move |label| match (descriptor, &label.signature) {
            (Some(wanted), Some(signature)) => wanted == signature,
            _ => true,
        })
    }
}
