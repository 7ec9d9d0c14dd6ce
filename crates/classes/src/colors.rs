//! What loose names stand for.
//!
//! A lambda is what its body does; if that creates another lambda, what that one does counts as well. So each loose
//! class and each numbered method gets a colour from its own shape, then a few times from the colours of what it
//! names, as graphs are told apart by refinement. Things of one colour do the same, whatever their numbers are.

use hashbrown::HashMap;

use super::body::KnownNames;
use super::fingerprint::fingerprint;
use super::program::{Class, Method};

/// How far into what a body names its colour looks. Something deeper has a colour of its own and is found there.
const ROUNDS: usize = 4;

/// Colours of one side, by key.
pub struct Colors {
    colors: HashMap<u128, u128>,
}

struct Thing {
    key: u128,
    own: u128,
    names: Vec<u128>,
}

impl Colors {
    pub fn new(classes: &[Class], known: &KnownNames) -> Self {
        let mut things = Vec::new();
        for class in classes {
            for method in class.methods.iter().filter(|method| method.numbered().is_some()) {
                let own = hash(&[method.signature.shape, method.body.shape]);
                things.push(Thing { key: method.key, own, names: names(method).collect() });
            }
            if known.is_loose(&class.name) {
                things.push(class_thing(class));
            }
        }
        let mut colors: HashMap<u128, u128> =
            things.iter().map(|thing| (thing.key, thing.own)).collect();
        let mut parts = Vec::new();
        for _ in 0..ROUNDS {
            let next = things.iter().map(|thing| {
                parts.clear();
                parts.push(thing.own);
                parts.extend(thing.names.iter().map(|name| *colors.get(name).unwrap_or(name)));
                (thing.key, hash(&parts))
            });
            let next: HashMap<u128, u128> = next.collect();
            colors = next;
        }
        Self { colors }
    }

    /// What this name stands for; a name of which nothing is known stands for itself.
    pub fn of(&self, key: u128) -> u128 {
        *self.colors.get(&key).unwrap_or(&key)
    }
}

fn names(method: &Method) -> impl Iterator<Item = u128> {
    method.signature.names.iter().chain(&method.body.names).copied()
}

/// Methods in an order that does not depend on numbers.
fn class_thing(class: &Class) -> Thing {
    let mut methods: Vec<_> = class
        .methods
        .iter()
        .filter(|method| !method.is_derived())
        .map(|method| {
            let name = if method.numbered().is_some() { b"#" } else { method.name.as_slice() };
            (fingerprint(name), method.signature.shape, method.body.shape, method)
        })
        .collect();
    methods.sort_by_key(|(name, signature, body, _)| (*name, *signature, *body));
    let mut own = vec![class.shape.shape];
    let mut all = class.shape.names.to_vec();
    for (name, signature, body, method) in methods {
        own.extend([name, signature, body]);
        all.extend(names(method));
    }
    Thing { key: class.key, own: hash(&own), names: all }
}

/// A class's own shape, without what it names.
pub fn own_shape(class: &Class) -> u128 {
    class_thing(class).own
}

pub fn hash(parts: &[u128]) -> u128 {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    fingerprint(&bytes)
}
