//! From two sets of classes to the methods that changed.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use super::body::{Body, KnownNames, Shaper};
use super::class_file::{ClassError, ClassFile, text};
use super::costs::Costs;
use super::pairing::Pairing;
use super::parallel::in_parallel;
use super::program::{Class, Method};
use super::scan::Classes;
use perfblame_changes::{
    Addition, ChangeKind, ChangeSet, CodeSide, Definition, FileChange, FileKind, FunctionChange,
    Language,
};

/// Where a method is: its class, and its place there.
type MethodPlace = (usize, usize);

/// One method's change, by its places.
struct Outcome {
    kind: ChangeKind,
    before: Option<MethodPlace>,
    after: Option<MethodPlace>,
    certainty: f64,
    additions: Vec<Addition>,
}

/// Both sides' classes: before, after.
type BothClasses<'a> = [&'a [Class]; 2];

/// Instructions from which on a body in another class says that it is the same method.
const LEAST_MOVED: usize = 8;

/// Compares all classes. Beside the changes, the names on each side of which one overload changed and another did not.
pub fn compare(mut before: Classes, mut after: Classes) -> (ChangeSet, [Vec<String>; 2]) {
    let (mut known, differ) = known_names(&before, &after);
    let (old, new) = read_both([&mut before, &mut after], &differ, &known);
    let sides: BothClasses<'_> = [&old, &new];
    let pairing = Pairing::new(&old, &new, &known);
    let mut left = sides.map(unpaired);
    let mut outcomes = Vec::new();
    let mut modified = Vec::new();
    for (pair, methods) in pairing.classes.iter().zip(&pairing.methods) {
        for method in methods {
            let (was, is) =
                (&old[pair.before].methods[method.before], &new[pair.after].methods[method.after]);
            left[0][pair.before][method.before] = false;
            left[1][pair.after][method.after] = false;
            let kind = if is.is_derived() {
                continue;
            } else if !pairing.is_same(&was.body, &is.body) {
                ChangeKind::Modified
            } else if was.name != is.name {
                ChangeKind::Renamed
            } else if old[pair.before].name != new[pair.after].name {
                ChangeKind::Moved
            } else {
                continue;
            };
            let outcome = Outcome {
                kind,
                before: Some((pair.before, method.before)),
                after: Some((pair.after, method.after)),
                certainty: pair.certainty.min(method.certainty),
                additions: Vec::new(),
            };
            if kind == ChangeKind::Modified { &mut modified } else { &mut outcomes }.push(outcome);
        }
    }
    for [was, is] in moved(sides, &left, &pairing) {
        left[0][was.0][was.1] = false;
        left[1][is.0][is.1] = false;
        outcomes.push(Outcome {
            kind: ChangeKind::Moved,
            before: Some(was),
            after: Some(is),
            certainty: 0.9,
            additions: Vec::new(),
        });
    }
    known.renamed = renamed(sides, &outcomes);
    let failed = look_closer([&before, &after], sides, &known, &pairing, &mut modified);
    outcomes.append(&mut modified);
    for (side, left) in left.iter().enumerate() {
        for (class, methods) in left.iter().enumerate() {
            for (method, _) in methods.iter().enumerate().filter(|(_, left)| **left) {
                let place = Some((class, method));
                let (kind, before, after) = if side == 0 {
                    (ChangeKind::Deleted, place, None)
                } else {
                    (ChangeKind::Added, None, place)
                };
                let additions = Vec::new();
                outcomes.push(Outcome { kind, before, after, certainty: 1.0, additions });
            }
        }
    }
    let unchanged = [0, 1].map(|side| unchanged(sides, side, &outcomes));
    let mut functions: Vec<_> =
        outcomes.into_iter().map(|outcome| function_change(sides, outcome)).collect();
    functions.sort_by(|a, b| order(a).cmp(&order(b)));
    let mut warnings = before.warnings.finish(CodeSide::Before.name());
    warnings.extend(after.warnings.finish(CodeSide::After.name()));
    warnings.extend(failed);
    (ChangeSet { functions, files: files(sides, &pairing), warnings }, unchanged)
}

/// Names of which one overload changed and another did not.
fn unchanged(sides: BothClasses<'_>, side: usize, outcomes: &[Outcome]) -> Vec<String> {
    let mut changed: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
    for outcome in outcomes {
        let place = if side == 0 { outcome.before } else { outcome.after };
        if let Some((class, method)) = place {
            changed.entry(class).or_default().insert(method);
        }
    }
    let mut names = Vec::new();
    for (class, changed) in changed {
        let class = &sides[side][class];
        let (changed, kept): (Vec<_>, Vec<_>) =
            class.methods.iter().enumerate().partition(|(at, _)| changed.contains(at));
        let changed: HashSet<&[u8]> =
            changed.into_iter().map(|(_, method)| method.name.as_slice()).collect();
        let both = kept.into_iter().filter(|(_, method)| changed.contains(method.name.as_slice()));
        names.extend(both.map(|(_, method)| full_name(class, method)));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// What is known from the lists alone, and the classes to read.
fn known_names(before: &Classes, after: &Classes) -> (KnownNames, [Vec<usize>; 2]) {
    let mut known = KnownNames::default();
    let mut differ = [Vec::new(), Vec::new()];
    for (index, found) in before.found.iter().enumerate() {
        match after.by_key.get(&found.key).map(|other| &after.found[*other]) {
            Some(other) if (other.crc, other.size) == (found.crc, found.size) => {
                known.equal.insert(found.key);
                continue;
            }
            Some(_) => {}
            None => {
                known.one_sided.insert(found.key);
            }
        }
        differ[0].push(index);
    }
    for (index, found) in after.found.iter().enumerate() {
        if !before.by_key.contains_key(&found.key) {
            known.one_sided.insert(found.key);
        }
        if !known.equal.contains(&found.key) {
            differ[1].push(index);
        }
    }
    (known, differ)
}

/// Reads what differs. A class that cannot be read on one side must not look deleted or added: it is left out of both.
fn read_both(
    sides: [&mut Classes; 2],
    differ: &[Vec<usize>; 2],
    known: &KnownNames,
) -> (Vec<Class>, Vec<Class>) {
    let mut unread = HashSet::new();
    let mut read = Vec::new();
    for (side, wanted) in sides.into_iter().zip(differ) {
        let results = in_parallel(wanted, |&index| {
            let bytes = side.read(index)?;
            Class::read(&bytes, index, known)
                .map_err(|error| format!("{}: {error}", side.name(index)))
        });
        let mut classes = Vec::with_capacity(results.len());
        for (result, index) in results.into_iter().zip(wanted) {
            match result {
                Ok(Some(class)) => classes.push((side.found[*index].key, class)),
                Ok(None) => {}
                Err(error) => {
                    unread.insert(side.found[*index].key);
                    side.warnings.say(error);
                }
            }
        }
        read.push(classes);
    }
    let mut readable = read.into_iter().map(|classes| {
        let classes = classes.into_iter().filter(|(key, _)| !unread.contains(key));
        classes.map(|(_, class)| class).collect::<Vec<_>>()
    });
    (readable.next().unwrap_or_default(), readable.next().unwrap_or_default())
}

fn unpaired(classes: &[Class]) -> Vec<Vec<bool>> {
    let open = |class: &Class| class.methods.iter().map(|method| !method.is_derived()).collect();
    classes.iter().map(open).collect()
}

/// Methods that are now in another class: same name, parameters and body, and nothing else is like them.
fn moved(
    sides: BothClasses<'_>,
    left: &[Vec<Vec<bool>>; 2],
    pairing: &Pairing<'_>,
) -> Vec<[MethodPlace; 2]> {
    type Key<'a> = (&'a [u8], u128, u128);
    let mut groups: BTreeMap<Key<'_>, [Vec<MethodPlace>; 2]> = BTreeMap::new();
    for (side, classes) in sides.into_iter().enumerate() {
        for (class, unpaired) in left[side].iter().enumerate() {
            for (at, _) in unpaired.iter().enumerate().filter(|(_, left)| **left) {
                let method = &classes[class].methods[at];
                let tells = method.instructions.is_some_and(|count| count >= LEAST_MOVED);
                if tells && !method.name.starts_with(b"<") {
                    let key = (method.name.as_slice(), method.signature.shape, method.body.shape);
                    groups.entry(key).or_default()[side].push((class, at));
                }
            }
        }
    }
    let mut found = Vec::new();
    for [before, after] in groups.into_values() {
        if let ([was], [is]) = (before.as_slice(), after.as_slice()) {
            let (old, new) = (method(sides, 0, *was), method(sides, 1, *is));
            if pairing.is_same(&old.body, &new.body) {
                found.push([*was, *is]);
            }
        }
    }
    found.sort_unstable();
    found
}

fn method(sides: BothClasses<'_>, side: usize, (class, method): MethodPlace) -> &Method {
    &sides[side][class].methods[method]
}

/// Methods that go by another name after; calls of them are calls of the same.
fn renamed(sides: BothClasses<'_>, outcomes: &[Outcome]) -> HashMap<u128, u128> {
    let mut renamed = HashMap::new();
    for outcome in outcomes {
        if let (Some(before), Some(after)) = (outcome.before, outcome.after) {
            let (was, is) = (method(sides, 0, before).key, method(sides, 1, after).key);
            renamed.insert(was, is);
            renamed.insert(is, is);
        }
    }
    renamed
}

/// A body read again, with all that is now known.
struct Closer {
    body: Body,
    costs: Costs,
}

/// Reads the bodies that differ again: those that only call something by its other name are dropped, and of the rest is
/// said what they do more. There are few of them, so unpacking them twice costs less than keeping all.
fn look_closer(
    found: [&Classes; 2],
    sides: BothClasses<'_>,
    known: &KnownNames,
    pairing: &Pairing<'_>,
    modified: &mut Vec<Outcome>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut closer: [HashMap<MethodPlace, Closer>; 2] = [HashMap::new(), HashMap::new()];
    for (side, classes) in sides.into_iter().enumerate() {
        let mut wanted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for outcome in modified.iter() {
            let place = if side == 0 { outcome.before } else { outcome.after };
            if let Some((class, method)) = place {
                wanted.entry(class).or_default().push(method);
            }
        }
        let wanted: Vec<_> = wanted.into_iter().collect();
        let read = in_parallel(&wanted, |(class, methods)| {
            let index = classes[*class].found;
            let bytes = found[side].read(index)?;
            read_closer(&bytes, methods, known)
                .map_err(|error| format!("{}: {error}", found[side].name(index)))
        });
        for ((class, methods), read) in wanted.into_iter().zip(read) {
            match read {
                Ok(bodies) => {
                    let places = methods.into_iter().map(|method| (class, method));
                    closer[side].extend(places.zip(bodies));
                }
                Err(error) => warnings.push(error),
            }
        }
    }
    modified.retain_mut(|outcome| {
        let was = outcome.before.and_then(|place| closer[0].get(&place));
        let is = outcome.after.and_then(|place| closer[1].get(&place));
        let (Some(was), Some(is)) = (was, is) else { return true };
        outcome.additions = is.costs.beyond(&was.costs);
        !pairing.is_same(&was.body, &is.body)
    });
    warnings
}

fn read_closer(
    bytes: &[u8],
    methods: &[usize],
    known: &KnownNames,
) -> Result<Vec<Closer>, ClassError> {
    const OTHER: ClassError = ClassError { offset: 0, what: "the file changed while it was read" };
    let file = ClassFile::read(bytes)?.ok_or(OTHER)?;
    let mut shaper = Shaper::new(&file, known);
    let closer = methods.iter().map(|at| {
        let method = file.methods.get(*at).ok_or(OTHER)?;
        Ok(Closer { body: shaper.body(method, None)?.0, costs: Costs::of(&file, method)? })
    });
    closer.collect()
}

fn function_change(sides: BothClasses<'_>, outcome: Outcome) -> FunctionChange {
    let definition = |side: usize, place: Option<MethodPlace>| {
        place.map(|place| {
            let class = &sides[side][place.0];
            let method = &class.methods[place.1];
            Definition {
                name: full_name(class, method),
                signature: Some(text(&method.descriptor)),
                file: source_path(class),
                lines: method.lines,
                language: Language::Java,
            }
        })
    };
    FunctionChange {
        kind: outcome.kind,
        before: definition(0, outcome.before),
        after: definition(1, outcome.after),
        other: None,
        hunks: Vec::new(),
        additions: outcome.additions,
        certainty: outcome.certainty,
    }
}

fn full_name(class: &Class, method: &Method) -> String {
    format!("{}.{}", text(&class.name).replace('/', "."), text(&method.name))
}

/// The package's path and the name that the compiler was given.
fn source_path(class: &Class) -> Option<String> {
    let name = class.source_file.as_ref()?;
    let package = class.name.iter().rposition(|byte| *byte == b'/');
    let package = package.map_or(String::new(), |end| text(&class.name[..=end]));
    Some(package + name)
}

/// Classes that changed outside of their methods: fields, constants, what they extend.
fn files(sides: BothClasses<'_>, pairing: &Pairing<'_>) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = pairing
        .classes
        .iter()
        .filter(|pair| !pairing.is_same(&sides[0][pair.before].shape, &sides[1][pair.after].shape))
        .filter_map(|pair| {
            let path = source_path(&sides[1][pair.after])?;
            Some(FileChange { path, kind: FileKind::Code, hunks: Vec::new() })
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup();
    files
}

type Order<'a> = (Option<&'a str>, Option<(u32, u32)>, &'a str, Option<&'a str>, ChangeKind);

fn order(change: &FunctionChange) -> Order<'_> {
    let definition = change.after.as_ref().or(change.before.as_ref());
    (
        definition.and_then(|definition| definition.file.as_deref()),
        definition.and_then(|definition| definition.lines),
        definition.map_or("", |definition| &definition.name),
        definition.and_then(|definition| definition.signature.as_deref()),
        change.kind,
    )
}
