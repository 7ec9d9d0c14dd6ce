//! A source map's JSON: sources, names, mappings, or sections that are maps of their own.
//!
//! Sources' texts stay as they are in the file, since few of them get asked for.

use perfblame_scripts::{Origin, ScriptPlace, origins};

use super::urls;
use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number, decode};

/// A source map, or all sections of one.
#[derive(Default, Debug)]
pub struct SourceMap<'a> {
    /// In the order of their places.
    sections: Vec<(ScriptPlace, MapSection<'a>)>,
    /// The script it belongs to, as the map says.
    pub file: Option<String>,
    /// What the script and its map have in common.
    pub debug_id: Option<String>,
}

/// What one set of mappings is about.
#[derive(Default, Debug)]
pub struct MapSection<'a> {
    mappings: std::borrow::Cow<'a, str>,
    root: String,
    sources: Vec<String>,
    /// Raw strings of JSON, or nothing.
    contents: Vec<Option<(&'a [u8], bool)>>,
    names: Vec<String>,
    ignored: Vec<usize>,
}

/// What a map says of one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedPlace {
    /// Which section it is from.
    pub section: usize,
    /// Where it comes from.
    pub origin: Origin,
}

impl<'a> SourceMap<'a> {
    /// Reads a map. Servers may put `)]}'` before it, so that no other page can read it as a script.
    pub fn read(bytes: &'a [u8]) -> Result<Self, JsonFault> {
        let bytes = match bytes.strip_prefix(b")]}'") {
            Some(rest) => &rest[rest.iter().position(|byte| *byte == b'\n').unwrap_or(0)..],
            None => bytes,
        };
        let mut map = Self::default();
        let mut cursor = Cursor::new(bytes);
        map.object(&mut cursor)?;
        map.sections.sort_by_key(|(start, _)| *start);
        Ok(map)
    }

    fn object(&mut self, cursor: &mut Cursor<'a>) -> Result<(), JsonFault> {
        let mut whole = MapSection::default();
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            match (key, cursor.peek()?) {
                (b"file", _) => {
                    self.file = cursor.lenient_string()?.map(std::borrow::Cow::into_owned);
                }
                (b"debugId" | b"debug_id", _) => {
                    self.debug_id = cursor.lenient_string()?.map(std::borrow::Cow::into_owned);
                }
                (b"sections", JsonKind::Array) => {
                    cursor.begin_array()?;
                    while cursor.next_element()? {
                        self.section(cursor)?;
                    }
                }
                _ => whole.field(key, cursor)?,
            }
        }
        if !whole.mappings.is_empty() {
            self.sections.push((ScriptPlace::default(), whole));
        }
        Ok(())
    }

    fn section(&mut self, cursor: &mut Cursor<'a>) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return cursor.skip_value();
        }
        let (mut start, mut section) = (ScriptPlace::default(), MapSection::default());
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            match (key, cursor.peek()?) {
                (b"offset", JsonKind::Object) => {
                    cursor.begin_object()?;
                    while let Some(key) = cursor.next_raw_key()? {
                        let number = cursor.lenient_number()?.and_then(Number::as_u64);
                        let number = number.and_then(|number| number.try_into().ok()).unwrap_or(0);
                        match key {
                            b"line" => start.line = number,
                            b"column" => start.column = number,
                            _ => {}
                        }
                    }
                }
                (b"map", JsonKind::Object) => {
                    cursor.begin_object()?;
                    while let Some(key) = cursor.next_raw_key()? {
                        section.field(key, cursor)?;
                    }
                }
                _ => cursor.skip_value()?,
            }
        }
        self.sections.push((start, section));
        Ok(())
    }

    /// Looks places up, which must be sorted; says how many segments were damaged.
    pub fn look_up(&self, wanted: &[ScriptPlace]) -> (Vec<Option<MappedPlace>>, u64) {
        let (mut found, mut damaged) = (Vec::with_capacity(wanted.len()), 0);
        let mut rest = wanted;
        let first = self
            .sections
            .first()
            .map_or(0, |(start, _)| rest.partition_point(|place| place < start));
        found.resize(first, None);
        rest = &rest[first..];
        for (number, (start, section)) in self.sections.iter().enumerate() {
            let next = self.sections.get(number + 1);
            let count =
                next.map_or(rest.len(), |(next, _)| rest.partition_point(|place| place < next));
            let (own, others) = rest.split_at(count);
            rest = others;
            if own.is_empty() {
                continue;
            }
            let relative: Vec<ScriptPlace> = own.iter().map(|place| place.before(*start)).collect();
            let looked_up = origins(&section.mappings, &relative);
            damaged += looked_up.damaged;
            found.extend(looked_up.origins.into_iter().map(|origin| {
                let mut origin = origin?;
                origin.generated = origin.generated.after(*start);
                Some(MappedPlace { section: number, origin })
            }));
        }
        found.resize(wanted.len(), None);
        (found, damaged)
    }

    /// The address of a source beside that of the map; none when there is no such source.
    pub fn source(&self, mapped: &MappedPlace, base: &str) -> Option<String> {
        let (_, section) = self.sections.get(mapped.section)?;
        // Makers that keep a source to themselves write null for it.
        let name =
            section.sources.get(mapped.origin.source as usize).filter(|name| !name.is_empty())?;
        let name = match section.root.as_str() {
            "" => name.clone(),
            _ if urls::is_absolute(name) => name.clone(),
            root => format!("{}/{name}", root.trim_end_matches('/')),
        };
        Some(urls::resolve(base, &name))
    }

    /// The text of a source.
    pub fn content(&self, mapped: &MappedPlace) -> Option<String> {
        let (_, section) = self.sections.get(mapped.section)?;
        let (raw, escaped) = (*section.contents.get(mapped.origin.source as usize)?)?;
        Some(decode(raw, escaped).into_owned())
    }

    /// The name that stands at a place.
    pub fn name(&self, mapped: &MappedPlace) -> Option<&str> {
        let (_, section) = self.sections.get(mapped.section)?;
        section.names.get(mapped.origin.name? as usize).map(String::as_str)
    }

    /// True when the map says that a source is somebody else's.
    pub fn is_ignored(&self, mapped: &MappedPlace) -> bool {
        self.sections
            .get(mapped.section)
            .is_some_and(|(_, section)| section.ignored.contains(&(mapped.origin.source as usize)))
    }

    /// True when everything in it comes from one source.
    pub fn has_one_source(&self) -> bool {
        matches!(&*self.sections, [(_, section)] if section.sources.len() == 1)
    }
}

impl<'a> MapSection<'a> {
    fn field(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Result<(), JsonFault> {
        match (key, cursor.peek()?) {
            (b"mappings", JsonKind::String) => self.mappings = cursor.string()?,
            (b"sourceRoot", _) => {
                self.root = cursor.lenient_string()?.unwrap_or_default().into_owned();
            }
            (b"sources", JsonKind::Array) => strings(cursor, &mut self.sources)?,
            (b"names", JsonKind::Array) => strings(cursor, &mut self.names)?,
            (b"sourcesContent", JsonKind::Array) => {
                cursor.begin_array()?;
                while cursor.next_element()? {
                    let content = if cursor.peek()? == JsonKind::String {
                        Some(cursor.raw_string()?)
                    } else {
                        cursor.skip_value()?;
                        None
                    };
                    self.contents.push(content);
                }
            }
            (b"ignoreList" | b"x_google_ignoreList", JsonKind::Array) => {
                cursor.begin_array()?;
                while cursor.next_element()? {
                    let number = cursor.lenient_number()?.and_then(Number::as_u64);
                    self.ignored.extend(number.and_then(|number| usize::try_from(number).ok()));
                }
            }
            _ => cursor.skip_value()?,
        }
        Ok(())
    }
}

fn strings(cursor: &mut Cursor<'_>, into: &mut Vec<String>) -> Result<(), JsonFault> {
    cursor.begin_array()?;
    while cursor.next_element()? {
        into.push(cursor.lenient_string()?.unwrap_or_default().into_owned());
    }
    Ok(())
}

/// Reads bytes as a source map and asks it for some places: what the fuzzer does.
#[doc(hidden)]
pub fn source_map_never_panics(bytes: &[u8]) {
    let Ok(map) = SourceMap::read(bytes) else { return };
    let places = [(0, 0), (0, 1), (0, 500), (1, 0), (3, 7), (1 << 20, 0)];
    let places = places.map(|(line, column)| ScriptPlace::new(line, column));
    let (found, _) = map.look_up(&places);
    assert_eq!(found.len(), places.len());
    for mapped in found.iter().flatten() {
        let _ = (map.source(mapped, "http://a/b.js"), map.name(mapped), map.is_ignored(mapped));
        if let Some(text) = map.content(mapped) {
            let outline = perfblame_scripts::outline(&text, "a.ts");
            if let Some(row) = outline.around(mapped.origin.place) {
                let _ = perfblame_scripts::name_of(&text, &outline, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = r#"{"version":3,"file":"out.js","sourceRoot":"src","sources":["a.js","b.js"],
        "sourcesContent":["function \u0061(){}",null],"names":["alpha"],"ignoreList":[1],"mappings":"AAAAA,IAAA,KCAA"}"#;

    #[test]
    fn a_map_tells_sources_names_and_texts() {
        let map = SourceMap::read(MAP.as_bytes()).unwrap();
        let places = [0, 4, 9].map(|column| ScriptPlace::new(0, column));
        let (found, damaged) = map.look_up(&places);
        assert_eq!(damaged, 0);
        let found: Vec<MappedPlace> = found.into_iter().flatten().collect();
        assert_eq!(
            map.source(&found[0], "http://h/js/out.js.map").unwrap(),
            "http://h/js/src/a.js"
        );
        assert_eq!(map.name(&found[0]), Some("alpha"));
        assert_eq!(map.name(&found[1]), None);
        assert_eq!(map.content(&found[1]).unwrap(), "function a(){}");
        assert!(!map.is_ignored(&found[1]) && map.is_ignored(&found[2]));
        assert_eq!(map.content(&found[2]), None);
    }

    #[test]
    fn sections_have_maps_of_their_own() {
        let text = format!(
            r#")]}}'
            {{"version":3,"sections":[{{"offset":{{"line":2,"column":10}},"map":{MAP}}},{{"offset":{{"line":0,"column":5}},"map":{MAP}}}]}}"#
        );
        let map = SourceMap::read(text.as_bytes()).unwrap();
        let places =
            [(0, 0), (0, 5), (2, 10), (2, 14)].map(|(line, column)| ScriptPlace::new(line, column));
        let (found, _) = map.look_up(&places);
        let at = |found: &Option<MappedPlace>| {
            found.as_ref().map(|mapped| (mapped.section, mapped.origin.generated))
        };
        let expected = [None, Some((0, places[1])), Some((1, places[2])), Some((1, places[3]))];
        assert_eq!(found.iter().map(at).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn sources_can_be_kept_secret_and_ignored_by_either_name() {
        for key in ["ignoreList", "x_google_ignoreList"] {
            let text = format!(
                r#"{{"version":3,"sources":["a.js",null,"c.js"],"names":[],"{key}":[2],"mappings":"AAAA,ICAA,ICAA"}}"#
            );
            let map = SourceMap::read(text.as_bytes()).unwrap();
            let (found, _) = map.look_up(&[0, 4, 8].map(|column| ScriptPlace::new(0, column)));
            let told = found
                .iter()
                .flatten()
                .map(|mapped| (map.source(mapped, "http://h/out.js.map"), map.is_ignored(mapped)));
            let at = |name: &str| Some(format!("http://h/{name}"));
            let expected = [(at("a.js"), false), (None, false), (at("c.js"), true)];
            assert_eq!(told.collect::<Vec<_>>(), expected, "{key}");
        }
    }

    #[test]
    fn what_is_no_map_is_refused_or_empty() {
        assert!(SourceMap::read(b"<html>").is_err());
        let map = SourceMap::read(br#"{"mappings":7,"sources":{}}"#).unwrap();
        assert_eq!(map.look_up(&[ScriptPlace::new(0, 0)]).0, [None]);
    }
}
