//! Changes of shape and name that cost nothing: whoever blames them is wrong.

use super::Site;
use crate::names;

/// The part of all that a moved or wrapped subtree has.
const DISGUISED: std::ops::Range<f64> = 0.02..0.3;

impl Site<'_> {
    fn is_cause(&self, function: usize) -> bool {
        self.causes.iter().any(|cause| cause.functions.contains(&function))
    }

    /// Subtrees worth moving that hold no planted context, are not inside one, and have a caller.
    fn movable(&self) -> Vec<usize> {
        let inclusive = self.after.inclusive();
        let mut holds = vec![false; self.after.nodes.len()];
        let mut inside = vec![false; self.after.nodes.len()];
        for context in self.causes.iter().flat_map(|cause| &cause.contexts) {
            for node in self.after.path(*context) {
                holds[node] = true;
            }
            // A cause that is a subtree must keep it.
            inside[*context] = true;
        }
        for node in self.after.preorder() {
            inside[node] |= self.after.nodes[node].parent.is_some_and(|parent| inside[parent]);
        }
        (self.after.plantable().into_iter())
            .filter(|node| DISGUISED.contains(&(inclusive[*node] / self.total)))
            .filter(|node| self.after.nodes[*node].parent.is_some())
            .filter(|node| !holds[*node] && !inside[*node])
            .collect()
    }

    pub(super) fn move_subtree(&mut self) -> Option<()> {
        let movable = self.movable();
        let top = *self.random.pick(&movable)?;
        let function = self.after.nodes[top].function;
        let subtree = self.after.subtree(top);
        let mut moved = vec![false; self.after.nodes.len()];
        for node in &subtree {
            moved[*node] = true;
        }
        let children = self.after.children();
        let callers: Vec<usize> = (self.after.plantable().into_iter())
            .filter(|node| !moved[*node] && self.after.nodes[top].parent != Some(*node))
            .filter(|node| self.after.nodes[*node].function != function)
            .filter(|node| {
                !children[*node].iter().any(|child| self.after.nodes[*child].function == function)
            })
            .collect();
        let caller = *self.random.pick(&callers)?;
        self.after.nodes[top].parent = Some(caller);
        self.decoys.extend(subtree.iter().map(|node| self.after.nodes[*node].function));
        self.decoys.push(self.after.nodes[caller].function);
        Some(())
    }

    /// All contexts of a function, or one, are called through a new function.
    pub(super) fn wrap(&mut self) -> Option<()> {
        let inclusive = self.after.inclusive();
        let worth: Vec<usize> = (self.after.plantable().into_iter())
            .filter(|node| DISGUISED.contains(&(inclusive[*node] / self.total)))
            .filter(|node| self.after.nodes[*node].parent.is_some())
            .collect();
        let one = *self.random.pick(&worth)?;
        let function = self.after.nodes[one].function;
        let mut contexts = vec![one];
        if self.random.chance(0.5) {
            contexts = self.after.contexts(function);
            contexts.retain(|node| self.after.nodes[*node].parent.is_some());
        }
        let wrapper = self.new_function(function)?;
        for node in contexts {
            let (parent, place) = (self.after.nodes[node].parent, self.after.nodes[node].place);
            let between = self.add_node(parent, wrapper, 0.0);
            self.after.nodes[between].place = place;
            self.after.nodes[node].parent = Some(between);
        }
        self.decoys.extend([wrapper, function]);
        Some(())
    }

    /// Some functions that are no cause have other names.
    pub(super) fn rename_others(&mut self) -> Option<()> {
        let part = self.random.between(0.02, 0.15);
        let mut renamed = 0;
        let mut seen = vec![false; self.after.functions.len()];
        for node in self.after.plantable() {
            let function = self.after.nodes[node].function;
            let first = !std::mem::replace(&mut seen[function], true);
            if first && !self.is_cause(function) && self.random.chance(part) {
                self.after.functions[function].name =
                    names::fresh(&self.after, function, self.random)?;
                self.decoys.push(function);
                renamed += 1;
            }
        }
        (renamed > 0).then_some(())
    }

    pub(super) fn rename_culprits(&mut self) -> Option<()> {
        let culprits: Vec<usize> = self.causes.iter().map(|cause| cause.functions[0]).collect();
        for function in culprits {
            self.after.functions[function].name = names::fresh(&self.after, function, self.random)?;
        }
        Some(())
    }

    /// Code functions of one script or class that say where they start, one among those with many.
    pub(super) fn bundle(&mut self, columns: bool) -> Option<Vec<usize>> {
        let mut by_component = std::collections::BTreeMap::<&str, Vec<usize>>::new();
        let mut seen = vec![false; self.after.functions.len()];
        for node in self.after.plantable() {
            let row = self.after.nodes[node].function;
            let function = &self.after.functions[row];
            if let (Some(component), Some(_), false) =
                (&function.component, function.line, std::mem::replace(&mut seen[row], true))
                && (!columns || function.column.is_some())
            {
                by_component.entry(component).or_default().push(row);
            }
        }
        let large: Vec<Vec<usize>> =
            by_component.into_values().filter(|functions| functions.len() >= 4).collect();
        self.random.pick(&large).cloned()
    }

    /// The bundle is minified before, and minified anew after: all in one line, some names given to other functions.
    pub(super) fn minify(&mut self, bundle: &[usize]) -> Option<()> {
        let mut before: Vec<usize> = (0..bundle.len()).collect();
        self.random.shuffle(&mut before);
        // A change shifts the names that come after it.
        let mut after = before.clone();
        let stable = self.random.below(bundle.len());
        if self.random.chance(0.5) {
            let shift = 1 + self.random.below(3);
            for name in after.iter_mut().filter(|name| **name >= stable) {
                *name += shift;
            }
        } else {
            let mut moved: Vec<usize> =
                after.iter().copied().filter(|name| *name >= stable).collect();
            self.random.shuffle(&mut moved);
            let mut moved = moved.into_iter();
            for name in after.iter_mut().filter(|name| **name >= stable) {
                *name = moved.next()?;
            }
        }
        let (mut column_before, mut column_after) = (1, 1);
        let mut order: Vec<usize> = (0..bundle.len()).collect();
        self.random.shuffle(&mut order);
        for row in order {
            let length = 20 + self.random.below(400) as u32;
            let grown = if self.random.chance(0.1) { self.random.below(50) as u32 } else { 0 };
            column_before += length;
            column_after += length + grown;
            let sides = [
                (&mut self.before, before[row], column_before),
                (&mut self.after, after[row], column_after),
            ];
            for (program, name, column) in sides {
                let function = &mut program.functions[bundle[row]];
                function.name = names::minified(name);
                function.line = Some(1);
                function.column = Some(column);
                function.signature = None;
            }
        }
        self.decoys.extend(bundle.iter().copied().filter(|function| {
            !self.causes.iter().any(|cause| cause.functions.contains(function))
        }));
        Some(())
    }

    /// A function without a name, among others without one, is slower; half the time lines have shifted, too.
    pub(super) fn anonymous(&mut self) -> Option<()> {
        let bundle = self.bundle(false)?;
        let part = self.random.between(0.3, 1.0);
        let mut nameless: Vec<usize> =
            bundle.iter().copied().filter(|_| self.random.chance(part)).collect();
        // Without a name, the place is all there is: one function for each line.
        let mut lines: Vec<u32> = Vec::new();
        nameless.retain(|function| {
            let line = self.after.functions[*function].line.unwrap_or(0);
            let first = !lines.contains(&line);
            lines.push(line);
            first
        });
        for function in &nameless {
            self.before.functions[*function].name.clear();
            self.after.functions[*function].name.clear();
        }
        let all = self.random.chance(0.5);
        let inside = nameless.clone();
        self.slow_self(all, &move |function| inside.contains(&function))?;
        if self.random.chance(0.5) {
            self.shift_lines(&bundle)?;
        }
        Some(())
    }

    /// Lines were added somewhere in the file.
    pub(super) fn shift_lines(&mut self, bundle: &[usize]) -> Option<()> {
        let mut lines: Vec<u32> =
            bundle.iter().filter_map(|function| self.after.functions[*function].line).collect();
        lines.sort_unstable();
        let from = *lines.get(self.random.below(lines.len() / 2 + 1))?;
        let shift = 1 + self.random.below(150) as u32;
        for function in bundle {
            let line = &mut self.after.functions[*function].line;
            *line = line.map(|line| if line >= from { line.saturating_add(shift) } else { line });
        }
        Some(())
    }
}
