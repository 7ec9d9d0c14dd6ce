//! What was mapped where: `/proc/self/maps`, or the brief form `start-end: file (@offset)`.

/// The executable mappings of a process, in the order of the file.
#[derive(Default)]
pub struct MemoryMap {
    mappings: Vec<MapLine>,
}

struct MapLine {
    start: u64,
    end: u64,
    offset: u64,
    file: String,
}

/// Mappings that are kept; a process has at most some ten thousand.
const MAX_MAPPINGS: usize = 100_000;

/// Variables that are kept; real maps have one, for the folder of the build.
const MAX_VARIABLES: usize = 16;

impl MemoryMap {
    /// True for the line before a map.
    pub fn starts_after(line: &str) -> bool {
        line.contains("--- Memory map: ---") || line.contains("MAPPED_LIBRARIES:")
    }

    /// Reads a map; lines that are something else are skipped. `name=value` defines `$name`.
    pub fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut map = Self::default();
        let mut variables: Vec<(String, String)> = Vec::new();
        for line in lines {
            let mut line = without_log_prefix(line).to_owned();
            if line.contains('$') {
                for (name, value) in &variables {
                    line = line.replace(name.as_str(), value);
                }
            }
            if let Some((mapping, is_code)) = mapping(&line) {
                if is_code && map.mappings.len() < MAX_MAPPINGS {
                    map.mappings.push(mapping);
                }
            } else if let Some((name, value)) = line.split_once('=')
                && variables.len() < MAX_VARIABLES
            {
                variables.push((format!("${}", name.trim()), value.trim().to_owned()));
            }
        }
        map
    }

    /// File, start and offset of the mapping that holds an address.
    pub fn find(&self, address: u64) -> Option<(&str, u64, u64)> {
        let inside =
            self.mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&address));
        // What lies between the file's own start and the mapping is the part that was mapped without execution.
        let before = || {
            self.mappings.iter().find(|mapping| {
                mapping.offset != 0
                    && mapping
                        .start
                        .checked_sub(mapping.offset)
                        .is_some_and(|start| start <= address)
                    && address < mapping.start
            })
        };
        let found = inside.or_else(before)?;
        Some((&found.file, found.start.saturating_sub(found.offset), 0))
    }

    /// The file of the first mapping: the program.
    pub fn program(&self) -> Option<&str> {
        self.mappings.first().map(|mapping| mapping.file.as_str()).filter(|file| !file.is_empty())
    }
}

/// A log may have put its own words before each line: `I0102 03:04:05 file.cc:123] `.
fn without_log_prefix(line: &str) -> &str {
    match line.split_once("] ") {
        Some((before, rest)) if !before.contains('[') && before.contains(':') => {
            let number = before.rsplit(':').next().unwrap_or("");
            let is_log = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            if is_log { rest } else { line }
        }
        _ => line,
    }
}

/// One line, and whether what is mapped can run.
fn mapping(line: &str) -> Option<(MapLine, bool)> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    let (start, end) = first.split_once('-')?;
    let start = hex(start)?;
    let end = hex(end.trim_end_matches(':'))?;
    let rest: Vec<&str> = words.collect();
    let (permissions, rest) = match rest.split_first() {
        Some((word, rest)) if word.bytes().all(|byte| b"-rwxps".contains(&byte)) => {
            (Some(*word), rest)
        }
        _ => (None, &rest[..]),
    };
    let is_code = permissions.is_none_or(|permissions| permissions.contains('x'));
    // `offset device inode file`, or `file (@offset) build-id`.
    let proc_maps = rest.len() >= 3 && rest[1].contains(':') && hex(rest[0]).is_some();
    let (offset, file) = if proc_maps {
        (hex(rest[0])?, rest.get(3..).unwrap_or(&[]).join(" "))
    } else {
        let file = rest.first().copied().unwrap_or("");
        let offset = rest.get(1).and_then(|word| word.strip_prefix("(@")?.strip_suffix(')'));
        (offset.and_then(hex).unwrap_or(0), file.to_owned())
    };
    Some((MapLine { start, end, offset, file }, is_code && start < end))
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_and_variables() {
        let text = "build=/path/to/binary\n\
            00400000-00fcb000: $build/prog\n\
            7f0000001000-7f0000002000 r-xp 00001000 08:01 1234 /lib/with blank.so\n\
            7f0000003000-7f0000004000 rw-p 00001000 08:01 1234 /lib/data.so\n\
            I0101 10:00:00 file.cc:12] 7f0000005000-7f0000006000: /lib/x.so (@1000) abc\n\
            nonsense\n";
        let map = MemoryMap::read(text.lines());
        assert_eq!(map.program(), Some("/path/to/binary/prog"));
        assert_eq!(map.find(0x0040_0010), Some(("/path/to/binary/prog", 0x0040_0000, 0)));
        assert_eq!(map.find(0x7f00_0000_1010), Some(("/lib/with blank.so", 0x7f00_0000_0000, 0)));
        assert_eq!(map.find(0x7f00_0000_0010), Some(("/lib/with blank.so", 0x7f00_0000_0000, 0)));
        assert_eq!(map.find(0x7f00_0000_3010), None);
        assert_eq!(map.find(0x7f00_0000_5010), Some(("/lib/x.so", 0x7f00_0000_4000, 0)));
    }
}
