//! Parts of urls that change with every build, every page or every run: content hashes, cache busters, random ids, ports
//! by chance.

use std::borrow::Cow;

/// Names of parameters that only keep caches from answering.
const CACHE_BUSTERS: &[&str] = &[
    "_",
    "v",
    "ver",
    "version",
    "t",
    "ts",
    "time",
    "timestamp",
    "cb",
    "cache",
    "cachebust",
    "nocache",
    "hash",
    "h",
    "rev",
    "revision",
    "build",
    "buildid",
    "bust",
    "r",
    "rnd",
    "random",
];

/// From here on systems hand out ports to whoever asks for any; those below are chosen by people.
const PORTS_BY_CHANCE: u16 = 32_768;

/// The url without them. Texts that are neither urls nor file names stay as they are.
pub(super) fn without_hashes(name: &str) -> Cow<'_, str> {
    match without_port(name) {
        Cow::Borrowed(name) => without_hashes_in_path(name),
        Cow::Owned(name) => Cow::Owned(without_hashes_in_path(&name).into_owned()),
    }
}

/// Test servers listen on this machine at any port that is free, another one in every run.
fn without_port(name: &str) -> Cow<'_, str> {
    let Some(start) = name.find("://").map(|at| at + 3) else { return Cow::Borrowed(name) };
    let end = name[start..].find(['/', '?', '#']).map_or(name.len(), |at| start + at);
    let Some((host, port)) = name[start..end].rsplit_once(':') else {
        return Cow::Borrowed(name);
    };
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    match port.parse::<u16>() {
        Ok(port) if is_here && port >= PORTS_BY_CHANCE => {
            Cow::Owned(format!("{}{}", &name[..start + host.len()], &name[end..]))
        }
        _ => Cow::Borrowed(name),
    }
}

fn without_hashes_in_path(name: &str) -> Cow<'_, str> {
    let Some(rest) = name.strip_prefix("blob:") else {
        return if is_location(name) { clean(name) } else { Cow::Borrowed(name) };
    };
    // A blob's path is one random id.
    match rest.rfind('/') {
        Some(slash) if is_uuid(&rest[slash + 1..]) => {
            Cow::Owned(format!("blob:{}/#", &rest[..slash]))
        }
        _ => Cow::Borrowed(name),
    }
}

fn is_location(name: &str) -> bool {
    let scripts = ["js", "mjs", "cjs", "css", "wasm", "html", "map", "ts", "tsx", "jsx"];
    let path = name.split(['?', '#']).next().unwrap_or(name);
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    (name.contains("://") || scripts.contains(&extension)) && !name.contains(char::is_whitespace)
}

fn clean(name: &str) -> Cow<'_, str> {
    let (before, fragment) = name.split_at(name.find('#').unwrap_or(name.len()));
    let (path, query) = before.split_at(before.find('?').unwrap_or(before.len()));
    let mut out = String::with_capacity(name.len());
    for (number, segment) in path.split('/').enumerate() {
        if number > 0 {
            out.push('/');
        }
        push_segment(&mut out, segment);
    }
    let mut separator = '?';
    for parameter in query.trim_start_matches('?').split('&').filter(|text| !text.is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or(("", parameter));
        let busts = CACHE_BUSTERS.contains(&key.to_ascii_lowercase().as_str())
            || is_hash(value)
            || is_uuid(value)
            || (value.len() >= 8 && value.bytes().all(|b| b.is_ascii_digit()));
        if !busts {
            out.push(separator);
            out.push_str(parameter);
            separator = '&';
        }
    }
    out.push_str(fragment);
    if out == name { Cow::Borrowed(name) } else { Cow::Owned(out) }
}

/// One segment of a path without the hashes in it: `main.3f2a9c.js` is `main.js`, `index-BdXk3f9A.js` is `index.js`,
/// and a segment that is nothing but a hash is `#`.
fn push_segment(out: &mut String, segment: &str) {
    if is_uuid(segment) || (segment.len() >= 16 && is_hash(segment)) {
        out.push('#');
        return;
    }
    let mut pieces = segment.split('.').peekable();
    let mut first = true;
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        // Between two dots, or before the first when the name is a hash alone.
        if !last && is_hash(piece) {
            if first {
                out.push('#');
                first = false;
            }
            continue;
        }
        if !first {
            out.push('.');
        }
        first = false;
        match piece.rsplit_once(['-', '~']) {
            Some((before, hash)) if !last && !before.is_empty() && is_hash(hash) => {
                out.push_str(before);
            }
            _ => out.push_str(piece),
        }
    }
}

/// Six or more hexadecimal digits with a letter among them, eight or more decimal digits, or the eight or more mixed
/// characters of today's bundlers. Words and version numbers are neither.
fn is_hash(text: &str) -> bool {
    let any = |what: fn(&u8) -> bool| text.bytes().any(|b| what(&b));
    let all = |what: fn(&u8) -> bool| text.bytes().all(|b| what(&b));
    let digits = any(u8::is_ascii_digit);
    let hex = text.len() >= 6
        && all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
        && digits
        && (any(u8::is_ascii_lowercase) || text.len() >= 8);
    let mixed = (8..=12).contains(&text.len())
        && all(|b| b.is_ascii_alphanumeric() || *b == b'_')
        && digits
        && any(u8::is_ascii_uppercase)
        && any(u8::is_ascii_lowercase);
    hex || mixed
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}
