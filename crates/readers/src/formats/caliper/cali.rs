//! `.cali` streams: a record a line. Nodes make up a tree of attributes and values, in which attributes themselves are
//! nodes; snapshots refer to a node and hold values besides.

use hashbrown::{HashMap, HashSet};
use perfblame_cct::{Cursor, ProfileBuilder};

use super::{CaliperColumn, column, frame, outside, rank, stored};

/// The nodes that Caliper has before any file: attributes' names and properties.
const NAME: u64 = 8;
const PROPERTIES: u64 = 10;

/// The property of attributes whose values nest, such as regions and functions.
const NESTED: u64 = 256;

/// True for text that starts with a record.
pub fn sniff(head: &[u8]) -> bool {
    head.starts_with(b"__rec=")
}

#[derive(Clone, Copy, Default)]
struct CaliperNode {
    /// Where regions and functions up to this node lead.
    at: Option<Cursor>,
    /// The properties found on the way from the root.
    properties: u64,
}

/// Reads a stream into `builder`.
pub fn read(bytes: &[u8], builder: &mut ProfileBuilder) {
    let text = String::from_utf8_lossy(bytes);
    let mut nodes: HashMap<u64, CaliperNode> = HashMap::new();
    let mut attributes: HashMap<u64, (String, bool)> = HashMap::new();
    let names: HashSet<String> = text.lines().filter_map(attribute_name).collect();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields = fields(line);
        let first = |key: &str| fields.iter().find(|field| field.0 == key)?.1.first();
        let number = |key: &str| first(key)?.parse::<u64>().ok();
        match first("__rec").map(String::as_str) {
            Some("node") => {
                let (Some(id), Some(attribute)) = (number("id"), number("attr")) else {
                    damaged(builder);
                    continue;
                };
                let data = first("data").map(String::as_str).unwrap_or_default();
                let above = number("parent").and_then(|id| nodes.get(&id)).copied();
                let mut node = above.unwrap_or_default();
                match attribute {
                    PROPERTIES => node.properties = data.parse().unwrap_or(0),
                    NAME => {
                        let nested = node.properties & NESTED != 0;
                        attributes.insert(id, (data.to_owned(), nested));
                    }
                    other if attributes.get(&other).is_some_and(|known| known.1) => {
                        let frame = frame(data, builder);
                        node.at = Some(match node.at {
                            Some(above) => builder.child(above, frame),
                            None => builder.root(frame),
                        });
                    }
                    _ => {}
                }
                nodes.insert(id, node);
            }
            Some("ctx") => {
                let at = match number("ref").map(|id| nodes.get(&id)) {
                    Some(None) => {
                        damaged(builder);
                        continue;
                    }
                    Some(Some(node)) => node.at,
                    None => None,
                };
                let at = at.unwrap_or_else(|| outside(builder));
                let all = |key: &str| {
                    fields.iter().find(|field| field.0 == key).map_or(&[][..], |field| &field.1)
                };
                snapshot(at, all("attr"), all("data"), &attributes, &names, builder);
            }
            Some("globals") => {}
            _ => damaged(builder),
        }
    }
}

fn damaged(builder: &mut ProfileBuilder) {
    builder.warn("damaged-records", || {
        "records that are cut off or have dangling references were left out".to_owned()
    });
}

fn snapshot(
    at: Cursor,
    ids: &[String],
    data: &[String],
    attributes: &HashMap<u64, (String, bool)>,
    names: &HashSet<String>,
    builder: &mut ProfileBuilder,
) {
    let mut values = Vec::new();
    let mut thread = None;
    for (id, data) in ids.iter().zip(data) {
        let Some((name, _)) = id.parse().ok().and_then(|id: u64| attributes.get(&id)) else {
            damaged(builder);
            continue;
        };
        let Ok(value) = data.parse::<f64>() else { continue };
        match column(name, |other| names.contains(other), builder) {
            CaliperColumn::Rank => thread = Some(rank(data, builder)),
            CaliperColumn::Own(metric) => values.push((metric, value)),
            // The caller of a snapshot's node is not at hand; streams hold self values.
            CaliperColumn::Inclusive(_) | CaliperColumn::Path | CaliperColumn::Other => {}
        }
    }
    for (metric, value) in values {
        builder.add(at, thread, metric, stored(value, metric, builder));
    }
}

/// The name that a record gives to an attribute.
fn attribute_name(line: &str) -> Option<String> {
    let fields = fields(line);
    let first = |key: &str| fields.iter().find(|field| field.0 == key)?.1.first();
    (first("attr")? == "8").then(|| first("data").cloned())?
}

/// `key=value=value,key=value`, with `\` before what does not separate.
fn fields(line: &str) -> Vec<(String, Vec<String>)> {
    let mut fields: Vec<(String, Vec<String>)> = vec![Default::default()];
    let mut characters = line.chars();
    // The text that is growing: a key, or the last value of the last field.
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        let (key, values) = &mut fields[last];
        match character {
            ',' => fields.push(Default::default()),
            '=' => values.push(String::new()),
            other => {
                let other = match other {
                    '\\' => match characters.next() {
                        Some('n') => '\n',
                        Some(escaped) => escaped,
                        None => continue,
                    },
                    plain => plain,
                };
                values.last_mut().unwrap_or(key).push(other);
            }
        }
    }
    fields
}
