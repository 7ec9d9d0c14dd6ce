//! Functions by name, component and signature alone, for comparisons that are told what was renamed.
//!
//! Two revisions are often checked out into two folders, and profiles of some languages have whole paths for
//! components. So what has no partner looks for one in a file of the same name: where that is unambiguous it is taken,
//! and the pair of folders that most of these agree on tells the partners of all others.

use hashbrown::HashMap;
use perfblame_cct::{FunctionId, Side, Sides, Symbols};

use crate::component_key;

/// Name, component, signature.
type Key<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// The classes of the functions of both sides, and how many there are. Signatures count where both sides have them.
pub(super) fn classes(before: &Symbols, after: &Symbols) -> (Sides<Vec<u32>>, usize) {
    let sides = Sides { before, after };
    let signed = |symbols: &Symbols| symbols.functions().any(|(_, row)| row.signature.is_some());
    let signed = sides.iter().all(|symbols| signed(symbols));
    let mut known: HashMap<Key<'_>, u32> = HashMap::new();
    let mut classes = sides.map(|symbols| {
        let ids = symbols.functions().map(|(id, _)| id);
        let class = |id| {
            let next = known.len() as u32;
            *known.entry(key(symbols, id, signed)).or_insert(next)
        };
        ids.map(class).collect::<Vec<u32>>()
    });
    let count = known.len();
    let mut present = Sides::same(vec![false; count]);
    for (present, classes) in present.iter_mut().zip(&classes) {
        for class in classes {
            present[*class as usize] = true;
        }
    }
    let is_open = |side: Side, class: u32| !present[side.other()][class as usize];
    // By name, file name and signature: the open classes of each side, as long as there is one each.
    let mut by_file: HashMap<Key<'_>, Sides<Files<'_>>> = HashMap::new();
    for (side, symbols) in [(Side::Before, before), (Side::After, after)] {
        for (id, _) in symbols.functions() {
            let class = classes[side][id.index()];
            let (name, component, signature) = key(symbols, id, signed);
            let Some(path) = component.filter(|path| is_open(side, class) && path.contains('/'))
            else {
                continue;
            };
            let file = path.rsplit('/').next();
            by_file.entry((name, file, signature)).or_default()[side].add(class, path);
        }
    }
    let mut folders: HashMap<(&str, &str), usize> = HashMap::new();
    let mut renumbered: HashMap<u32, u32> = HashMap::new();
    // Which pair of folders wins, and who is paired, does not depend on the order of the table.
    for found in by_file.values() {
        if let Sides { before: Files::One(old, before), after: Files::One(new, after) } = found {
            renumbered.insert(*new, *old);
            *folders.entry(heads(before, after)).or_default() += 1;
        }
    }
    let best = folders.into_iter().max_by_key(|((old, new), count)| {
        (*count, std::cmp::Reverse((*old.min(new), *old.max(new))))
    });
    if let Some(((old_head, new_head), _)) = best {
        for (id, _) in after.functions() {
            let class = classes.after[id.index()];
            let (name, component, signature) = key(after, id, signed);
            let rest = component.and_then(|path| path.strip_prefix(new_head));
            let (true, Some(rest)) = (is_open(Side::After, class), rest) else { continue };
            let path = format!("{old_head}{rest}");
            if let Some(old) = known.get(&(name, Some(path.as_str()), signature))
                && is_open(Side::Before, *old)
            {
                renumbered.insert(class, *old);
            }
        }
    }
    for class in &mut classes.after {
        if let Some(old) = renumbered.get(class) {
            *class = *old;
        }
    }
    (classes, count)
}

fn key(symbols: &Symbols, id: FunctionId, signed: bool) -> Key<'_> {
    let signature = symbols.function(id).signature.filter(|_| signed);
    let component = symbols.component(id).map(component_key);
    (symbols.name(id), component, signature.map(|text| symbols.text(text)))
}

/// The classes of one name in files of one name.
#[derive(Clone, Copy, Default)]
enum Files<'a> {
    #[default]
    None,
    One(u32, &'a str),
    Many,
}

impl<'a> Files<'a> {
    fn add(&mut self, class: u32, path: &'a str) {
        *self = match *self {
            Self::None => Self::One(class, path),
            Self::One(known, _) if known == class => *self,
            _ => Self::Many,
        };
    }
}

/// What stands before the folders and the file that two paths end in alike.
fn heads<'a>(before: &'a str, after: &'a str) -> (&'a str, &'a str) {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    // Back to the start of a whole name.
    let tail = &old[old.len() - same..];
    let whole = tail.iter().position(|letter| *letter == b'/').map_or(0, |at| same - at);
    let cut = |path: &'a str| path.get(..path.len() - whole).unwrap_or(path);
    (cut(before), cut(after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::Function;

    fn symbols(functions: &[(&str, &str)]) -> Symbols {
        let mut symbols = Symbols::default();
        for (name, component) in functions {
            let (name, component) = (symbols.string(name), symbols.string(component));
            symbols.intern_function(Function::named(name).in_component(component));
        }
        symbols
    }

    #[test]
    fn two_checkouts_of_one_program() {
        let files = [
            ("main", "app/run.py"),
            ("f", "app/a/util.py"),
            ("f", "app/b/util.py"),
            ("g", "app/b/__init__.py"),
        ];
        let in_folder = |folder: &str, also: (&str, &str)| {
            let paths: Vec<_> =
                files.iter().map(|(name, file)| (*name, format!("{folder}/{file}"))).collect();
            let mut all: Vec<_> = paths.iter().map(|(name, file)| (*name, &**file)).collect();
            all.push(("read", "/usr/lib/python3/io.py"));
            all.push(also);
            symbols(&all)
        };
        let before = in_folder("/tmp/base-1", ("gone", "/tmp/base-1/app/run.py"));
        let after = in_folder("/tmp/head", ("new", "/tmp/head/app/run.py"));
        let (Sides { before: old, after: new }, _) = classes(&before, &after);
        assert_eq!(old[..5], new[..5]);
        assert!(!old.contains(&new[5]) && !new.contains(&old[5]));
        // Neither are files that only have their name in common with several others.
        let (before, after) =
            (symbols(&[("f", "/x/a.py"), ("f", "/y/a.py")]), symbols(&[("f", "/z/a.py")]));
        let (Sides { before: old, after: new }, _) = classes(&before, &after);
        assert!(!old.contains(&new[0]));
    }

    #[test]
    fn folders_are_cut_at_whole_names() {
        assert_eq!(heads("/old/src/a.py", "/new/src/a.py"), ("/old", "/new"));
        assert_eq!(heads("/my-old/a.py", "/old/a.py"), ("/my-old", "/old"));
        assert_eq!(heads("a/é.py", "b/é.py"), ("a", "b"));
    }
}
