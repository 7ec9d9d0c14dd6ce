//! Scripts and source maps on this machine: where their addresses say, beside the profile, or in folders that the user
//! named. Only files are opened, and none that is absurdly large.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::source_map::SourceMap;
use super::{ScriptOptions, urls};

/// Larger files are neither scripts nor maps.
const LARGEST: u64 = 512 << 20;

/// Files of a folder that are looked at, and how deep.
const MOST_FILES: usize = 50_000;
const DEEPEST: usize = 24;

/// Maps that are opened to see which script they are for.
const MOST_OPENED: usize = 2000;

/// What lies where.
#[derive(Debug)]
pub struct Files<'a> {
    options: ScriptOptions<'a>,
    /// Files of the folders by their names.
    by_name: Option<HashMap<String, Vec<PathBuf>>>,
    /// Maps by what they say themselves: the script's name and the number they share.
    by_word: Option<HashMap<String, PathBuf>>,
}

/// A source map with the address that its sources are beside.
#[derive(Debug)]
pub struct MapFile {
    pub bytes: Vec<u8>,
    pub base: String,
}

impl<'a> Files<'a> {
    pub fn new(options: ScriptOptions<'a>) -> Self {
        Self { options, by_name: None, by_word: None }
    }

    /// The text of a script.
    pub fn text(&mut self, url: &str) -> Option<String> {
        let bytes = match urls::file(url).and_then(|path| read(&path)) {
            Some(bytes) => bytes,
            None => read(&self.named(urls::file_name(url), urls::path_of(url))?)?,
        };
        String::from_utf8(bytes).ok()
    }

    /// The source map of a script, which its text or its maker says is at `annotation`.
    pub fn map(
        &mut self,
        url: &str,
        annotation: Option<&str>,
        text: Option<&str>,
    ) -> Option<MapFile> {
        let annotation = annotation.or_else(|| annotation_of(text?));
        if let Some(bytes) = annotation.and_then(urls::data) {
            return Some(MapFile { bytes, base: url.to_owned() });
        }
        let map_url = annotation.map(|name| urls::resolve(url, name.trim()));
        let beside = format!("{}.map", url.split(['?', '#']).next().unwrap_or_default());
        let addresses = [map_url.as_deref(), Some(beside.as_str())];
        for address in addresses.into_iter().flatten() {
            if let Some(bytes) = urls::file(address).and_then(|path| read(&path)) {
                return Some(MapFile { bytes, base: address.to_owned() });
            }
        }
        for address in addresses.into_iter().flatten() {
            let found = self.named(urls::file_name(address), urls::path_of(address));
            if let Some(bytes) = found.and_then(|path| read(&path)) {
                return Some(MapFile { bytes, base: address.to_owned() });
            }
        }
        let words = [text.and_then(debug_id), Some(urls::file_name(url))];
        let path = words.into_iter().flatten().find_map(|word| self.saying(word))?;
        Some(MapFile { bytes: read(&path)?, base: beside })
    }

    /// The file of this name whose folders are most like those of `path`.
    fn named(&mut self, name: &str, path: &str) -> Option<PathBuf> {
        if name.is_empty() {
            return None;
        }
        let options = self.options;
        let by_name = self.by_name.get_or_insert_with(|| listed(options));
        let like = |candidate: &Path| {
            let parts = candidate.iter().rev().map(std::ffi::OsStr::as_encoded_bytes);
            let wanted = path.rsplit(['/', '\\']).map(str::as_bytes);
            parts.zip(wanted).take_while(|(one, other)| one == other).count()
        };
        let found = by_name.get(name)?;
        // The first of equals, in the order of folders and names.
        found.iter().rev().max_by_key(|candidate| like(candidate)).cloned()
    }

    /// The map that says it is for this script, or has this number.
    fn saying(&mut self, word: &str) -> Option<PathBuf> {
        if self.options.maps.is_empty() || word.is_empty() {
            return None;
        }
        let options = self.options;
        let by_name = self.by_name.get_or_insert_with(|| listed(options));
        let by_word = self.by_word.get_or_insert_with(|| {
            let mut maps: Vec<&PathBuf> =
                by_name.values().flatten().filter(|path| is_map(path)).collect();
            maps.sort();
            let mut by_word = HashMap::new();
            for path in maps.into_iter().take(MOST_OPENED) {
                let Some(bytes) = read(path) else { continue };
                let Ok(map) = SourceMap::read(&bytes) else { continue };
                let file = map.file.as_deref().map(|file| urls::file_name(file).to_owned());
                for word in [file, map.debug_id].into_iter().flatten() {
                    by_word.entry(word).or_insert_with(|| path.clone());
                }
            }
            by_word
        });
        by_word.get(word).cloned()
    }
}

fn is_map(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("map") || end == "json")
}

/// All files of the folders, by name.
fn listed(options: ScriptOptions<'_>) -> HashMap<String, Vec<PathBuf>> {
    let mut by_name: HashMap<String, Vec<PathBuf>> = HashMap::new();
    let mut count = 0;
    let mut add = |path: PathBuf| {
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            by_name.entry(name.to_owned()).or_default().push(path);
        }
    };
    let mut folders: Vec<(PathBuf, usize)> = Vec::new();
    // Only what lies beside the profile, not what is below: that may be anybody's.
    folders.extend(options.beside.map(|path| (path.to_owned(), DEEPEST)));
    folders.extend(options.maps.iter().rev().map(|path| (path.clone(), 0)));
    while let Some((folder, depth)) = folders.pop() {
        if folder.is_file() {
            add(folder);
            continue;
        }
        let Ok(entries) = folder.read_dir() else { continue };
        let mut entries: Vec<_> = entries.flatten().take(MOST_FILES).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        let mut inner = Vec::new();
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            count += 1;
            if count > MOST_FILES {
                return by_name;
            }
            if kind.is_dir() && depth < DEEPEST {
                inner.push((entry.path(), depth + 1));
            } else if !kind.is_dir() {
                add(entry.path());
            }
        }
        folders.extend(inner.into_iter().rev());
    }
    by_name
}

/// A file's bytes; none for pipes, devices and what cannot be a script.
fn read(path: &Path) -> Option<Vec<u8>> {
    let data = path.metadata().ok()?;
    (data.is_file() && data.len() <= LARGEST).then(|| std::fs::read(path).ok())?
}

/// What a script says about where its map is. The last word counts: bundles hold scripts with a word of their own.
fn annotation_of(text: &str) -> Option<&str> {
    let at = memchr::memmem::rfind(text.as_bytes(), b"sourceMappingURL=")?;
    let before = text[..at].trim_end();
    let is_comment = ["//#", "//@", "/*#", "/*@"].iter().any(|start| before.ends_with(start));
    let rest = &text[at + "sourceMappingURL=".len()..];
    let end = rest
        .find(|char: char| char.is_whitespace() || matches!(char, '"' | '\''))
        .unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches("*/")).filter(|name| is_comment && !name.is_empty())
}

/// The number that a script shares with its map.
fn debug_id(text: &str) -> Option<&str> {
    let at = memchr::memmem::rfind(text.as_bytes(), b"//# debugId=")?;
    text[at + "//# debugId=".len()..].split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_annotation_counts() {
        let text = "//# sourceMappingURL=inner.map\nf();\n//# sourceMappingURL=outer.map\n";
        assert_eq!(annotation_of(text), Some("outer.map"));
        assert_eq!(annotation_of("/*# sourceMappingURL=a.css.map*/"), Some("a.css.map"));
        assert_eq!(annotation_of("var x='sourceMappingURL=no'"), None);
        assert_eq!(debug_id("x\n//# debugId=85314830-023f-4cf1\n"), Some("85314830-023f-4cf1"));
    }

    #[test]
    fn maps_are_found_by_path_and_by_what_they_say() {
        let folder = std::env::temp_dir().join(format!("perfblame-maps-{}", std::process::id()));
        for (path, text) in [
            ("a/js/app.js.map", r#"{"mappings":"A","names":["a"]}"#),
            ("b/js/app.js.map", r#"{"mappings":"A","names":["b"]}"#),
            (
                "c/other.map",
                r#"{"file":"out/main.js","debugId":"id-7","mappings":"A","names":["c"]}"#,
            ),
        ] {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let maps = [folder.clone()];
        let mut files = Files::new(ScriptOptions { maps: &maps, ..ScriptOptions::default() });
        let mut found = |url: &str, text: Option<&str>| {
            let map = files.map(url, None, text)?;
            Some(String::from_utf8(map.bytes).unwrap().chars().rev().nth(3).unwrap())
        };
        assert_eq!(found("http://h/b/js/app.js?v=2", None), Some('b'));
        assert_eq!(found("http://h/js/app.js", None), Some('a'));
        assert_eq!(found("http://h/main.js", None), Some('c'));
        assert_eq!(found("http://h/x.js", Some("f()\n//# debugId=id-7")), Some('c'));
        assert_eq!(found("http://h/none.js", None), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
