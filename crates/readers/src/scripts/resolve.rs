//! From functions as the engine saw them to functions as their authors know them.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{
    Function, FunctionId, FunctionShape, Layer, ProfileBuilder, ScriptShapes, StringId, position,
};
use perfblame_scripts::{Holder, Outline, ScriptPlace, name_of, outline};

use super::files::{Files, MapFile};
use super::source_map::{MappedPlace, SourceMap};
use super::{ScriptKey, ScriptNames, ScriptOptions, Scripts, urls};
use crate::v8::layer_of_url;

/// A function of a script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Use {
    /// As recorded.
    pub function: FunctionId,
    /// Its script.
    pub script: ScriptKey,
}

/// A place inside a function: line and column being executed, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The function.
    pub of: Use,
    /// The line.
    pub line: u32,
    /// The column; 0 for unknown.
    pub column: u32,
}

/// What functions and places are called.
#[derive(Default, Debug)]
pub struct ResolvedNames {
    functions: HashMap<Use, FunctionId>,
    /// Functions that a source map knows: places in them are places in its sources.
    mapped: HashSet<Use>,
    positions: HashMap<Position, (StringId, u32, u32)>,
}

impl ResolvedNames {
    /// What a function is called.
    pub fn function(&self, of: Use) -> FunctionId {
        self.functions.get(&of).copied().unwrap_or(of.function)
    }

    /// Source, line and column of a place; the source is none where it is the function's own. Nothing where a map knows
    /// the function and not the place.
    pub fn position(&self, at: Position) -> Option<(Option<StringId>, u32, u32)> {
        if !self.mapped.contains(&at.of) {
            return Some((None, at.line, at.column));
        }
        let (source, line, column) = self.positions.get(&at)?;
        Some((Some(*source), *line, *column))
    }
}

/// A script's functions under one text: by number where the file has that text, else by address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Group {
    Number(ScriptKey),
    Address(StringId),
}

/// A script that was taken apart.
#[derive(Debug, Default)]
struct Parsed {
    url: String,
    text: Option<String>,
    outline: Outline,
    /// Where it begins in its page.
    start: ScriptPlace,
    uses: Vec<Use>,
    /// Recorded functions by where they start.
    at: HashMap<ScriptPlace, FunctionId>,
}

/// Names in the making.
#[derive(Debug)]
pub struct ScriptNaming<'a> {
    scripts: Scripts,
    options: ScriptOptions<'a>,
    files: Files<'a>,
    groups: Vec<(Group, Parsed)>,
    row_of: HashMap<Group, usize>,
}

impl<'a> ScriptNaming<'a> {
    /// Takes the scripts of these functions apart.
    pub fn new(
        scripts: Scripts,
        options: ScriptOptions<'a>,
        mut uses: Vec<Use>,
        builder: &mut ProfileBuilder,
    ) -> Self {
        let (groups, row_of) = Default::default();
        let files = Files::new(options);
        let mut naming = Self { scripts, options, files, groups, row_of };
        if options.names == ScriptNames::AsRecorded {
            return naming;
        }
        if naming.scripts.left_out > 0 {
            builder.warn_many("scripts-left-out", naming.scripts.left_out, || {
                "texts of scripts were left out, because in total they are too long".to_owned()
            });
        }
        uses.sort_unstable();
        uses.dedup();
        for of in uses {
            naming.add(of, builder);
        }
        for row in 0..naming.groups.len() {
            naming.parse(row, builder);
        }
        naming
    }

    fn add(&mut self, of: Use, builder: &ProfileBuilder) {
        let function = *builder.symbols.function(of.function);
        let Some(group) = self.group(of.script, function.component) else { return };
        let row = *self.row_of.entry(group).or_insert_with(|| {
            self.groups.push((group, Parsed::default()));
            self.groups.len() - 1
        });
        let parsed = &mut self.groups[row].1;
        // What has no address may come first, such as V8's root in the name of some script.
        if let Some(component) = function.component.filter(|_| parsed.url.is_empty()) {
            builder.symbols.text(component).clone_into(&mut parsed.url);
        }
        parsed.uses.push(of);
        if let Some(place) = start_of(&function) {
            parsed.at.entry(place).or_insert(of.function);
        }
    }

    fn group(&self, script: ScriptKey, url: Option<StringId>) -> Option<Group> {
        match (self.scripts.known.get(&script), url) {
            (Some(known), _) if known.text.is_some() => Some(Group::Number(script)),
            (_, Some(url)) => Some(Group::Address(url)),
            _ => None,
        }
    }

    /// Finds the text of a script and its functions in it.
    fn parse(&mut self, row: usize, builder: &mut ProfileBuilder) {
        let (group, parsed) = &mut self.groups[row];
        let is_foreign = matches!(layer_of_url(&parsed.url, true), Layer::Runtime);
        let (text, is_file) = match group {
            Group::Number(key) => {
                (self.scripts.known.get_mut(key).and_then(|known| known.text.take()), false)
            }
            Group::Address(_) if is_foreign => (None, false),
            Group::Address(_) => match self.scripts.resources.remove(&parsed.url) {
                Some(text) => (Some(text), false),
                None => (self.files.text(&parsed.url), true),
            },
        };
        let Some(text) = text else { return };
        let outlined = outline(&text, &parsed.url);
        // Scripts inside pages begin somewhere in them; where, is told by whose functions are found.
        let begins = self.scripts.begins.get(&parsed.url).map_or(&[][..], Vec::as_slice);
        let mut best = (0, ScriptPlace::default());
        for start in [ScriptPlace::default()].iter().chain(begins) {
            let is_found = |place: &&ScriptPlace| {
                *place >= start && outlined.starting_at(place.before(*start)).is_some()
            };
            let found = parsed.at.keys().filter(is_found).count();
            if found > best.0 {
                best = (found, *start);
            }
        }
        let (found, start) = best;
        if found * 2 < parsed.at.len() || found == 0 && !parsed.at.is_empty() {
            if is_file {
                let url = parsed.url.clone();
                builder.warn("changed-scripts", || {
                    format!("scripts have changed since the recording, so their functions keep their recorded names; the first is {url}")
                });
            }
            return;
        }
        (parsed.text, parsed.outline, parsed.start) = (Some(text), outlined, start);
    }

    /// The function around a place that somebody called from, both counted from 1, as it would have been recorded.
    pub fn function_around(
        &mut self,
        (script, url): (ScriptKey, StringId),
        name: StringId,
        (line, column): (u32, u32),
        builder: &mut ProfileBuilder,
    ) -> Option<Use> {
        let component = (!builder.symbols.text(url).is_empty()).then_some(url);
        let row = *self.row_of.get(&self.group_again(script, component)?)?;
        let parsed = &mut self.groups[row].1;
        parsed.text.as_ref()?;
        let place = ScriptPlace::new(line.checked_sub(1)?, column.checked_sub(1)?);
        let place = (place >= parsed.start).then(|| place.before(parsed.start))?;
        let start =
            parsed.outline.functions[parsed.outline.around(place)?].start.after(parsed.start);
        if let Some(function) = parsed.at.get(&start) {
            return Some(Use { function: *function, script });
        }
        let layer = layer_of_url(builder.symbols.text(url), true);
        let function = builder.function(Function {
            component,
            line: position(u64::from(start.line) + 1),
            column: position(u64::from(start.column) + 1),
            ..Function::named(name).in_layer(layer)
        });
        let of = Use { function, script };
        parsed.at.insert(start, function);
        parsed.uses.push(of);
        Some(of)
    }

    /// The group of a script whose text may have been taken out already.
    fn group_again(&self, script: ScriptKey, url: Option<StringId>) -> Option<Group> {
        let group = Group::Number(script);
        if self.row_of.contains_key(&group) { Some(group) } else { url.map(Group::Address) }
    }

    /// Looks everything up.
    pub fn finish(mut self, positions: &[Position], builder: &mut ProfileBuilder) -> ResolvedNames {
        let mut names = ResolvedNames::default();
        let mut in_group: HashMap<usize, Vec<Position>> = HashMap::new();
        for at in positions.iter().filter(|at| at.column > 0) {
            let component = builder.symbols.function(at.of.function).component;
            let group = self.group_again(at.of.script, component);
            if let Some(row) = group.and_then(|group| self.row_of.get(&group)) {
                in_group.entry(*row).or_default().push(*at);
            }
        }
        for row in 0..self.groups.len() {
            let map = self.map_file(row);
            let positions = in_group.remove(&row).unwrap_or_default();
            let parsed = &self.groups[row].1;
            if let Some(map) = map {
                match SourceMap::read(&map.bytes) {
                    Ok(read) => {
                        let reading = Reading::new(parsed, &read, &map.base, self.options.names);
                        reading.name(&positions, &mut names, builder);
                    }
                    Err(fault) => {
                        let (url, offset) = (parsed.url.clone(), fault.offset());
                        builder.warn("damaged-source-maps", || {
                            format!(
                                "source maps cannot be read; the first is that of {url}, at byte {offset}"
                            )
                        });
                    }
                }
            }
            self.name_by_text(row, &mut names, builder);
        }
        names
    }

    fn map_file(&mut self, row: usize) -> Option<MapFile> {
        let (group, parsed) = &self.groups[row];
        if let Some(bytes) = self.scripts.maps.remove(&parsed.url) {
            return Some(MapFile { bytes, base: parsed.url.clone() });
        }
        if layer_of_url(&parsed.url, true) == Layer::Runtime {
            return None;
        }
        let known = match group {
            Group::Number(key) => self.scripts.known.get(key),
            Group::Address(_) => None,
        };
        let annotation = known.and_then(|known| known.map_url.as_deref());
        self.files.map(&parsed.url, annotation, parsed.text.as_deref())
    }

    /// Names what no map knows by the script's text, and keeps what the script looks like.
    fn name_by_text(&self, row: usize, names: &mut ResolvedNames, builder: &mut ProfileBuilder) {
        let parsed = &self.groups[row].1;
        let Some(text) = &parsed.text else { return };
        let mut is_any_left = false;
        for of in &parsed.uses {
            if names.functions.contains_key(of) {
                continue;
            }
            is_any_left = true;
            let function = *builder.symbols.function(of.function);
            if self.options.names != ScriptNames::Full
                || !builder.symbols.name(of.function).is_empty()
            {
                continue;
            }
            let place = start_of(&function);
            let row = match place {
                Some(place) if place >= parsed.start => {
                    parsed.outline.starting_at(place.before(parsed.start))
                }
                Some(_) => None,
                // What has no place is the script itself.
                None => Some(0),
            };
            let Some(row) = row else { continue };
            let name = builder.string(&name_of(text, &parsed.outline, row));
            let start = place.unwrap_or(parsed.start);
            let named = Function {
                name,
                line: position(u64::from(start.line) + 1),
                column: position(u64::from(start.column) + 1),
                ..function
            };
            names.functions.insert(*of, builder.function(named));
        }
        let component =
            parsed.uses.iter().find_map(|of| builder.symbols.function(of.function).component);
        if let Some(component) =
            component.filter(|_| is_any_left && self.options.names == ScriptNames::Full)
        {
            builder.symbols.set_shapes(component, Arc::new(self.shapes(&parsed.url)));
        }
    }

    /// The shapes of all scripts of one address.
    fn shapes(&self, url: &str) -> ScriptShapes {
        let mut shapes = ScriptShapes::default();
        for (_, parsed) in self.groups.iter().filter(|(_, parsed)| parsed.url == url) {
            let first = shapes.functions.len() as u32;
            shapes.functions.extend(parsed.outline.functions.iter().map(|function| {
                let start = function.start.after(parsed.start);
                FunctionShape {
                    line: start.line.saturating_add(1),
                    column: start.column.saturating_add(1),
                    parent: function.parent.map(|parent| parent + first),
                    hash: function.shape.hash,
                    size: function.shape.size,
                    sketch: function.shape.sketch.clone(),
                }
            }));
        }
        shapes
    }
}

/// A script with its map.
struct Reading<'p, 'm> {
    parsed: &'p Parsed,
    map: &'m SourceMap<'m>,
    base: &'m str,
    sources: HashMap<(usize, u32), Option<(String, Outline)>>,
    names: ScriptNames,
}

/// Texts between the start of a nameless function's first word and its bracket: `async function* (`.
const LONGEST_HEAD: u32 = 18;

impl<'p, 'm> Reading<'p, 'm> {
    fn new(parsed: &'p Parsed, map: &'m SourceMap<'m>, base: &'m str, names: ScriptNames) -> Self {
        Self { parsed, map, base, sources: HashMap::new(), names }
    }

    fn name(
        mut self,
        positions: &[Position],
        names: &mut ResolvedNames,
        builder: &mut ProfileBuilder,
    ) {
        let parsed = self.parsed;
        // What is asked for: starts, names' places, places being executed.
        let inner =
            |place: ScriptPlace| (place >= parsed.start).then(|| place.before(parsed.start));
        let row_at = |place: ScriptPlace| {
            parsed.text.as_ref()?;
            parsed.outline.starting_at(inner(place)?)
        };
        let place_of = |at: &Position| {
            inner(ScriptPlace::new(at.line.checked_sub(1)?, at.column.checked_sub(1)?))
        };
        let mut wanted: Vec<ScriptPlace> = Vec::new();
        for of in &parsed.uses {
            let start = start_of(builder.symbols.function(of.function));
            wanted.extend(start.and_then(inner));
            let row = start.and_then(row_at);
            wanted.extend(row.and_then(|row| parsed.outline.functions[row].name_at));
        }
        wanted.extend(positions.iter().filter_map(place_of));
        wanted.sort_unstable();
        wanted.dedup();
        let (found, damaged) = self.map.look_up(&wanted);
        if damaged > 0 {
            builder.warn_many("damaged-source-maps", damaged, || {
                format!(
                    "segments of source maps are damaged; the first is in that of {}",
                    parsed.url
                )
            });
        }
        let origin = |place: ScriptPlace| {
            wanted.binary_search(&place).ok().and_then(|row| found[row].as_ref())
        };
        for of in &parsed.uses {
            let function = *builder.symbols.function(of.function);
            let Some(start) = start_of(&function).and_then(inner) else { continue };
            let row = row_at(start.after(parsed.start));
            let shape = row.map(|row| &parsed.outline.functions[row]);
            let is_script = shape.is_some_and(|shape| shape.holder == Holder::TopLevel)
                || start == ScriptPlace::default() && builder.symbols.name(of.function).is_empty();
            if is_script && !self.map.has_one_source() {
                continue;
            }
            let Some(mapped) = origin(start) else { continue };
            let Some(source) = self.map.source(mapped, self.base) else { continue };
            let own = builder.symbols.name(of.function).to_owned();
            let named = shape
                .and_then(|shape| shape.name_at)
                .and_then(|at| origin(at).filter(|mapped| mapped.origin.generated == at));
            // Without the text, a name stands right before the bracket, or else it is some parameter's.
            let before = Some(mapped).filter(|mapped| {
                let last = own.rsplit(['.', ' ']).next().unwrap_or_default();
                let length = last.encode_utf16().count() as u32;
                shape.is_none()
                    && length > 0
                    && mapped.origin.generated.column.saturating_add(length) == start.column
            });
            let name = named.or(before).and_then(|mapped| self.map.name(mapped));
            // Whether what was found is part of this function, and not something before it.
            let begins = mapped.origin.generated;
            let is_inside = match shape {
                Some(shape) => begins >= shape.from,
                None => {
                    begins == start
                        || before.is_some()
                        || own.is_empty()
                            && start.column - begins.column.min(start.column) <= LONGEST_HEAD
                }
            };
            let from_text = if is_script {
                Some(("(top level)".to_owned(), ScriptPlace::default()))
            } else if is_inside {
                self.by_source(mapped, &source, own.is_empty())
            } else {
                None
            };
            let at = named.unwrap_or(mapped).origin.place;
            let (name, at) = match (name, from_text) {
                (_, text) if self.names == ScriptNames::Mapped && own.is_empty() => {
                    (String::new(), text.map_or(at, |(_, at)| at))
                }
                (Some(name), Some((text, _))) if !text.ends_with(name) => (name.to_owned(), at),
                (_, Some((text, at))) => (text, at),
                (Some(name), None) => (name.to_owned(), at),
                (None, None) if own.is_empty() => {
                    let text = parsed.text.as_ref().zip(row);
                    let name = text.map(|(text, row)| name_of(text, &parsed.outline, row));
                    (name.unwrap_or_default(), at)
                }
                (None, None) => (own, at),
            };
            let layer = match function.layer {
                Layer::Application if self.map.is_ignored(mapped) => Layer::Library,
                Layer::Application
                    if urls::path_of(&source).contains("node_modules/")
                        || source.contains("/node_modules/") =>
                {
                    Layer::Library
                }
                layer => layer,
            };
            let resolved = Function {
                name: builder.string(&name),
                component: Some(builder.string(&source)),
                line: position(u64::from(at.line) + 1),
                column: position(u64::from(at.column) + 1),
                layer,
                ..function
            };
            names.functions.insert(*of, builder.function(resolved));
            names.mapped.insert(*of);
        }
        for at in positions {
            let Some(mapped) = place_of(at).and_then(origin) else { continue };
            if let Some(source) = self.map.source(mapped, self.base) {
                let place = mapped.origin.place;
                let line = (
                    builder.string(&source),
                    place.line.saturating_add(1),
                    place.column.saturating_add(1),
                );
                names.positions.insert(*at, line);
            }
        }
    }

    /// What the source's text says: the name of the function that a place is in, and where that one starts.
    fn by_source(
        &mut self,
        mapped: &MappedPlace,
        source: &str,
        is_nameless: bool,
    ) -> Option<(String, ScriptPlace)> {
        let key = (mapped.section, mapped.origin.source);
        let map = self.map;
        let read = self.sources.entry(key).or_insert_with(|| {
            let text = map.content(mapped)?;
            let outlined = outline(&text, source);
            Some((text, outlined))
        });
        let (text, outlined) = read.as_ref()?;
        let row = outlined.around(mapped.origin.place)?;
        // Where nothing else is around it, the source is in another language, or the place is not exact; or a bundler
        // made a function of the whole module.
        let end = urls::file_name(source).rsplit('.').next().unwrap_or_default();
        let is_script = matches!(end, "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts");
        let function =
            outlined.functions.get(row).filter(|_| row > 0 || is_nameless && is_script)?;
        Some((name_of(text, outlined, row), function.start))
    }
}

/// Where a recorded function starts, counted from 0.
fn start_of(function: &Function) -> Option<ScriptPlace> {
    let at = |number: Option<std::num::NonZeroU32>| number.map(|number| number.get() - 1);
    Some(ScriptPlace::new(at(function.line)?, at(function.column)?))
}
