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
    Addition, ChangeKind, ChangeSet, Definition, FileChange, FileKind, FunctionChange, Language,
};
use perfblame_sides::{Side, Sides};

/// Where a method is: its class, and its place there.
type MethodPlace = (usize, usize);

/// One method's change, by its places.
struct Outcome {
    kind: ChangeKind,
    places: Sides<Option<MethodPlace>>,
    certainty: f64,
    additions: Vec<Addition>,
}

/// Both sides' classes.
type BothClasses<'a> = Sides<&'a [Class]>;

/// Instructions from which on a body in another class says that it is the same method.
const LEAST_MOVED: usize = 8;

/// Compares all classes. Beside the changes, the names on each side of which one overload changed and another did not.
pub fn compare(mut found: Sides<Classes>) -> (ChangeSet, Sides<Vec<String>>) {
    let (mut known, differ) = known_names(found.as_ref());
    let read = read_both(found.as_mut(), &differ, &known);
    let sides: BothClasses<'_> = read.as_ref().map(Vec::as_slice);
    let pairing = Pairing::new(sides, &known);
    let mut left = sides.map(unpaired);
    let mut outcomes = Vec::new();
    let mut modified = Vec::new();
    for (pair, methods) in pairing.classes.iter().zip(&pairing.methods) {
        for method in methods {
            let (old, new) = (&sides.before[pair.before], &sides.after[pair.after]);
            let (was, is) = (&old.methods[method.before], &new.methods[method.after]);
            left.before[pair.before][method.before] = false;
            left.after[pair.after][method.after] = false;
            let kind = if is.is_derived() {
                continue;
            } else if !pairing.is_same(&was.body, &is.body) {
                ChangeKind::Modified
            } else if was.name != is.name {
                ChangeKind::Renamed
            } else if old.name != new.name {
                ChangeKind::Moved
            } else {
                continue;
            };
            let outcome = Outcome {
                kind,
                places: Sides::new(
                    Some((pair.before, method.before)),
                    Some((pair.after, method.after)),
                ),
                certainty: pair.certainty.min(method.certainty),
                additions: Vec::new(),
            };
            if kind == ChangeKind::Modified { &mut modified } else { &mut outcomes }.push(outcome);
        }
    }
    for places in moved(sides, &left, &pairing) {
        for (side, (class, method)) in places.each() {
            left[side][*class][*method] = false;
        }
        outcomes.push(Outcome {
            kind: ChangeKind::Moved,
            places: places.map(Some),
            certainty: 0.9,
            additions: Vec::new(),
        });
    }
    known.renamed = renamed(sides, &outcomes);
    let failed = look_closer(found.as_ref(), sides, &known, &pairing, &mut modified);
    outcomes.append(&mut modified);
    for (side, left) in left.each() {
        for (class, methods) in left.iter().enumerate() {
            for (method, _) in methods.iter().enumerate().filter(|(_, left)| **left) {
                let mut places = Sides::default();
                places[side] = Some((class, method));
                let kind = match side {
                    Side::Before => ChangeKind::Deleted,
                    Side::After => ChangeKind::Added,
                };
                outcomes.push(Outcome { kind, places, certainty: 1.0, additions: Vec::new() });
            }
        }
    }
    let unchanged = Sides::of(|side| unchanged(sides, side, &outcomes));
    let mut functions: Vec<_> =
        outcomes.into_iter().map(|outcome| function_change(sides, outcome)).collect();
    functions.sort_by(|a, b| order(a).cmp(&order(b)));
    let said = found.map_with_side(|side, classes| classes.warnings.finish(side.name()));
    let mut warnings: Vec<String> = said.into_iter().flatten().collect();
    warnings.extend(failed);
    (ChangeSet { functions, files: files(sides, &pairing), warnings }, unchanged)
}

/// Names of which one overload changed and another did not.
fn unchanged(sides: BothClasses<'_>, side: Side, outcomes: &[Outcome]) -> Vec<String> {
    let mut changed: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
    for outcome in outcomes {
        if let Some((class, method)) = outcome.places[side] {
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
fn known_names(found: Sides<&Classes>) -> (KnownNames, Sides<Vec<usize>>) {
    let Sides { before, after } = found;
    let mut known = KnownNames::default();
    let mut differ = Sides::<Vec<usize>>::default();
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
        differ.before.push(index);
    }
    for (index, found) in after.found.iter().enumerate() {
        if !before.by_key.contains_key(&found.key) {
            known.one_sided.insert(found.key);
        }
        if !known.equal.contains(&found.key) {
            differ.after.push(index);
        }
    }
    (known, differ)
}

/// Reads what differs. A class that cannot be read on one side must not look deleted or added: it is left out of both.
fn read_both(
    found: Sides<&mut Classes>,
    differ: &Sides<Vec<usize>>,
    known: &KnownNames,
) -> Sides<Vec<Class>> {
    let mut unread = HashSet::new();
    let read = found.zip(differ.as_ref()).map(|(side, wanted)| {
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
        classes
    });
    read.map(|classes| {
        let classes = classes.into_iter().filter(|(key, _)| !unread.contains(key));
        classes.map(|(_, class)| class).collect()
    })
}

fn unpaired(classes: &[Class]) -> Vec<Vec<bool>> {
    let open = |class: &Class| class.methods.iter().map(|method| !method.is_derived()).collect();
    classes.iter().map(open).collect()
}

/// Methods that are now in another class: same name, parameters and body, and nothing else is like them.
fn moved(
    sides: BothClasses<'_>,
    left: &Sides<Vec<Vec<bool>>>,
    pairing: &Pairing<'_>,
) -> Vec<Sides<MethodPlace>> {
    type Key<'a> = (&'a [u8], u128, u128);
    let mut groups: BTreeMap<Key<'_>, Sides<Vec<MethodPlace>>> = BTreeMap::new();
    for (side, classes) in sides.each() {
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
    for group in groups.into_values() {
        if let ([was], [is]) = (group.before.as_slice(), group.after.as_slice()) {
            let places = Sides::new(*was, *is);
            let methods = methods(sides, places);
            if pairing.is_same(&methods.before.body, &methods.after.body) {
                found.push(places);
            }
        }
    }
    found.sort_unstable();
    found
}

fn methods(sides: BothClasses<'_>, places: Sides<MethodPlace>) -> Sides<&Method> {
    sides.zip(places).map(|(classes, (class, method))| &classes[class].methods[method])
}

/// Methods that go by another name after; calls of them are calls of the same.
fn renamed(sides: BothClasses<'_>, outcomes: &[Outcome]) -> HashMap<u128, u128> {
    let mut renamed = HashMap::new();
    for outcome in outcomes {
        if let Sides { before: Some(before), after: Some(after) } = outcome.places {
            let keys = methods(sides, Sides::new(before, after)).map(|method| method.key);
            renamed.insert(keys.before, keys.after);
            renamed.insert(keys.after, keys.after);
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
    found: Sides<&Classes>,
    sides: BothClasses<'_>,
    known: &KnownNames,
    pairing: &Pairing<'_>,
    modified: &mut Vec<Outcome>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut closer = Sides::<HashMap<MethodPlace, Closer>>::default();
    for (side, classes) in sides.each() {
        let mut wanted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for outcome in modified.iter() {
            if let Some((class, method)) = outcome.places[side] {
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
        let bodies = outcome.places.zip(closer.as_ref());
        let bodies = bodies.map(|(place, closer)| place.and_then(|place| closer.get(&place)));
        let Sides { before: Some(was), after: Some(is) } = bodies else { return true };
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
    let Sides { before, after } = sides.zip(outcome.places).map(|(classes, place)| {
        place.map(|(class, method)| {
            let class = &classes[class];
            let method = &class.methods[method];
            Definition {
                name: full_name(class, method),
                signature: Some(text(&method.descriptor)),
                file: source_path(class),
                lines: method.lines,
                language: Language::Java,
            }
        })
    });
    FunctionChange {
        kind: outcome.kind,
        before,
        after,
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
        .filter_map(|pair| {
            let (old, new) = (&sides.before[pair.before], &sides.after[pair.after]);
            if pairing.is_same(&old.shape, &new.shape) {
                return None;
            }
            let path = source_path(new)?;
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
