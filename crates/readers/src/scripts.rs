//! Names of JavaScript functions from what is known of their scripts: the texts that a trace carries or that lie on
//! this machine, and source maps. Nothing is fetched from anywhere.
//!
//! A function of a profile is known by where it starts. Its script's text tells what holds it when it has no name; its
//! script's source map tells what it was called before a bundler and a minifier went over it. Each place is looked up
//! once, and all places of a script at once: one walk through the text, one through the map.

mod files;
mod resolve;
mod source_map;
mod urls;

use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use perfblame_scripts::ScriptPlace;

use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};

pub use resolve::{Position, ResolvedNames, ScriptNaming, Use};
pub use source_map::source_map_never_panics;

/// How far functions of scripts are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScriptNames {
    /// As the file has them.
    #[default]
    AsRecorded,
    /// By source maps; what has no name stays without.
    Mapped,
    /// By source maps, and what has no name by what holds it.
    Full,
}

/// Where names come from, beside the profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptOptions<'a> {
    /// How far functions are named.
    pub names: ScriptNames,
    /// Folders with source maps.
    pub maps: &'a [PathBuf],
    /// The folder that the profile lies in.
    pub beside: Option<&'a Path>,
    /// Whether callbacks hang under those who asked for them.
    pub async_stacks: bool,
}

impl ScriptOptions<'static> {
    /// Names as the file has them.
    pub const NONE: Self =
        Self { names: ScriptNames::AsRecorded, maps: &[], beside: None, async_stacks: false };
}

/// Text of scripts that is kept at most; scripts of a page have some megabytes.
const MOST_TEXT: usize = 1 << 30;

/// A script, by the process it was loaded into and its number there.
pub type ScriptKey = (i64, i64);

/// What a file says about scripts.
#[derive(Default, Debug)]
pub struct Scripts {
    known: HashMap<ScriptKey, Script>,
    /// Source maps that came with the file, as JSON, by the script's address.
    maps: HashMap<String, Vec<u8>>,
    /// Texts that came with the file, by the script's address.
    resources: HashMap<String, String>,
    /// Where scripts begin in the pages that hold them, by the page's address.
    begins: HashMap<String, Vec<ScriptPlace>>,
    bytes: usize,
    left_out: u64,
}

#[derive(Default, Debug)]
struct Script {
    map_url: Option<String>,
    text: Option<String>,
    /// Pieces of a text that comes in several events.
    pieces: Vec<Option<String>>,
}

impl Scripts {
    /// Takes the arguments of `ScriptCatchup`, `LargeScriptCatchup` and their like.
    pub fn event(&mut self, process: i64, args: &[u8]) -> Result<(), JsonFault> {
        let mut cursor = Cursor::new(args);
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            if key == b"data" && cursor.peek()? == JsonKind::Object {
                self.script(process, &mut cursor)?;
            } else {
                cursor.skip_value()?;
            }
        }
        Ok(())
    }

    fn script(&mut self, process: i64, cursor: &mut Cursor<'_>) -> Result<(), JsonFault> {
        let (mut id, mut map_url, mut text, mut split) = (None, None, None, (0, 1));
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            let whole =
                |cursor: &mut Cursor<'_>| Ok(cursor.lenient_number()?.and_then(Number::as_i64));
            match key {
                b"scriptId" => id = whole(cursor)?,
                b"splitIndex" => split.0 = whole(cursor)?.unwrap_or(0),
                b"splitCount" => split.1 = whole(cursor)?.unwrap_or(1),
                b"sourceMapUrl" => map_url = cursor.lenient_string()?,
                b"sourceText" => text = cursor.lenient_string()?,
                _ => cursor.skip_value()?,
            }
        }
        let Some(id) = id else { return Ok(()) };
        let script = self.known.entry((process, id)).or_default();
        if let Some(url) = map_url.filter(|url| !url.is_empty() && script.map_url.is_none()) {
            script.map_url = Some(url.into_owned());
        }
        let Some(text) = text.filter(|text| !text.is_empty() && script.text.is_none()) else {
            return Ok(());
        };
        if self.bytes.saturating_add(text.len()) > MOST_TEXT {
            self.left_out += 1;
            return Ok(());
        }
        self.bytes += text.len();
        // Numbers of pieces are the file's word; a text of gigabytes has some thousand.
        let (Ok(index), Ok(count @ 2..=65_536)) =
            (usize::try_from(split.0), usize::try_from(split.1))
        else {
            script.text = Some(text.into_owned());
            return Ok(());
        };
        // Pieces count from 0 or from 1.
        if script.pieces.len() <= index {
            script.pieces.resize(index.min(count) + 1, None);
        }
        if let Some(piece) = script.pieces.get_mut(index) {
            *piece = Some(text.into_owned());
        }
        if script.pieces.iter().flatten().count() == count {
            script.text = Some(script.pieces.drain(..).flatten().collect());
        }
        Ok(())
    }

    /// A script of a page begins here; Chrome counts from 1.
    pub fn begins(&mut self, url: &str, line: i64, column: i64) {
        let at = |number: i64| u32::try_from(number).ok()?.checked_sub(1);
        if let (Some(line), Some(column)) = (at(line), at(column))
            && (line, column) != (0, 0)
        {
            let begins = self.begins.entry(url.to_owned()).or_default();
            let place = ScriptPlace::new(line, column);
            if begins.len() < 1000 && !begins.contains(&place) {
                begins.push(place);
            }
        }
    }

    /// An entry of the `sourceMaps` that DevTools saves: the script's address and the map.
    pub fn map(&mut self, entry: &[u8]) -> Result<(), JsonFault> {
        let mut cursor = Cursor::new(entry);
        let (mut url, mut map) = (None, None);
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            match (key, cursor.peek()?) {
                (b"url", _) => url = cursor.lenient_string()?,
                (b"sourceMap", JsonKind::Object) => map = Some(cursor.raw_value()?.to_vec()),
                (b"sourceMap", JsonKind::String) => {
                    map = Some(cursor.string()?.into_owned().into());
                }
                _ => cursor.skip_value()?,
            }
        }
        if let (Some(url), Some(map)) = (url, map) {
            self.maps.entry(url.into_owned()).or_insert(map);
        }
        Ok(())
    }

    /// An entry of the `resources` that DevTools saves: an address and what was there.
    pub fn resource(&mut self, entry: &[u8]) -> Result<(), JsonFault> {
        let mut cursor = Cursor::new(entry);
        let (mut url, mut text) = (None, None);
        cursor.begin_object()?;
        while let Some(key) = cursor.next_raw_key()? {
            match key {
                b"url" => url = cursor.lenient_string()?,
                b"content" => text = cursor.lenient_string()?,
                _ => cursor.skip_value()?,
            }
        }
        if let (Some(url), Some(text)) = (url, text)
            && self.bytes.saturating_add(text.len()) <= MOST_TEXT
        {
            self.bytes += text.len();
            self.resources.entry(url.into_owned()).or_insert_with(|| text.into_owned());
        }
        Ok(())
    }
}
