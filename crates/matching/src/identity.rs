//! Which function before is which function after, settled once, before any tree is walked.

use hashbrown::HashMap;
use perfblame_cct::FunctionId;

use crate::{Side, component_key};

/// Why two functions are taken for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// Same name in the same component.
    Name,
}

/// Functions of both sides that are one, for another reason than their name.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionMatch {
    /// The function before.
    pub before: FunctionId,
    /// The function after.
    pub after: FunctionId,
    /// What speaks for it.
    pub why: Why,
    /// How sure that is, from 0 to 1.
    pub certainty: f64,
}

/// Functions of both sides in classes: two functions are one when their classes are equal.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Identity {
    class_of_before: Vec<u32>,
    class_of_after: Vec<u32>,
    classes: u32,
    /// What was matched for another reason than its name, in the order of the after side.
    pub matches: Vec<FunctionMatch>,
}

impl Identity {
    /// Functions of equal name and component are one, whatever host a script came from; see [`component_key`].
    pub fn by_name(before: &Side<'_>, after: &Side<'_>) -> Self {
        let mut known: HashMap<(&str, Option<&str>), u32> = HashMap::new();
        let mut classes = [before, after].map(|side| {
            let mut classes = Vec::with_capacity(side.symbols.functions().len());
            for (id, _) in side.symbols.functions() {
                let next = known.len() as u32;
                let key = (side.symbols.name(id), side.symbols.component(id).map(component_key));
                classes.push(*known.entry(key).or_insert(next));
            }
            classes
        });
        let [class_of_before, class_of_after] = classes.each_mut().map(std::mem::take);
        let classes = known.len() as u32;
        Self { class_of_before, class_of_after, classes, matches: Vec::new() }
    }

    /// How many classes there are; their numbers start at 0.
    pub fn classes(&self) -> usize {
        self.classes as usize
    }

    /// The class of a function of the before side.
    pub fn before(&self, function: FunctionId) -> u32 {
        self.class_of_before[function.index()]
    }

    /// The class of a function of the after side.
    pub fn after(&self, function: FunctionId) -> u32 {
        self.class_of_after[function.index()]
    }
}
