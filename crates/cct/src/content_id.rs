//! Content ids: what a context is called on every machine, in every process and in every version of perfblame.
//!
//! A context's id is the hash of its parent's id, its function and its call site, so ids need no table to agree on:
//! two hosts that saw the same context give it the same id. It depends on texts and positions only, never on the
//! order in which things were read.
//!
//! The hash is SipHash-2-4-128 under the key `perfblame-cct-id`. What goes in, numbers little-endian:
//!
//! - function: the lengths of name, component and signature (8 bytes each; all ones where there is none), then the
//!   three texts; for an anonymous function, which only its place tells from others, also line and column (4 bytes
//!   each, 0 if unknown);
//! - call site: a byte that says which kind (0 none, 1 line, 2 bytecode, 3 address), and two numbers of 8 bytes;
//! - context: the parent's id (16 bytes; 0 for a root), the function's hash (16 bytes), the call site (17 bytes).

use crate::siphash::siphash_2_4_128;
use crate::{CallSite, FunctionId, Grain, Profile, Symbols};

/// The identity of a context, across machines, processes and versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub u128);

impl std::fmt::Display for ContentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl std::fmt::Debug for ContentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ContentId({self})")
    }
}

/// `perfblame-cct-id`, as two words.
const KEY: [u64; 2] = [u64::from_le_bytes(*b"perfblam"), u64::from_le_bytes(*b"e-cct-id")];

/// The content id of every context, by row. Call sites are part of it where the tree has them; a tree of exact frames
/// has the ids of the same tree with call sites, so that there siblings can share one.
pub fn content_ids(profile: &Profile) -> Vec<ContentId> {
    let symbols = &profile.symbols;
    let functions: Vec<u128> =
        symbols.functions().map(|(id, _)| function_id(symbols, id).0).collect();
    let mut ids: Vec<ContentId> = Vec::with_capacity(profile.tree.len());
    for node in profile.tree.nodes() {
        let parent = profile.tree.parent(node);
        let frame = symbols.frame(profile.tree.frame(node));
        let call_site = match profile.tree.grain() {
            Grain::Functions => None,
            Grain::CallSites => frame.call_site,
            Grain::Frames => {
                parent.and_then(|node| symbols.frame(profile.tree.frame(node)).as_call_site())
            }
        };
        let above = parent.map_or(0, |parent| ids[parent.index()].0);
        let mut bytes = [0; 49];
        bytes[..16].copy_from_slice(&above.to_le_bytes());
        bytes[16..32].copy_from_slice(&functions[frame.function.index()].to_le_bytes());
        bytes[32..].copy_from_slice(&site_bytes(call_site));
        ids.push(ContentId(siphash_2_4_128(KEY, &bytes)));
    }
    ids
}

/// The content id of a function alone.
pub fn function_id(symbols: &Symbols, id: FunctionId) -> ContentId {
    let function = symbols.function(id);
    let name = symbols.text(function.name);
    let signature = function.signature.map(|id| symbols.text(id));
    let texts = [Some(name), symbols.component(id), signature];
    let mut bytes = Vec::with_capacity(name.len() + 64);
    for text in texts {
        bytes.extend(text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
    }
    for text in texts.into_iter().flatten() {
        bytes.extend(text.as_bytes());
    }
    if is_anonymous(name) {
        for position in [function.line, function.column] {
            bytes.extend(position.map_or(0, u32::from).to_le_bytes());
        }
    }
    ContentId(siphash_2_4_128(KEY, &bytes))
}

/// True for a name that says nothing.
fn is_anonymous(name: &str) -> bool {
    matches!(name, "" | "(anonymous)" | "<anonymous>" | "anonymous")
}

fn site_bytes(call_site: Option<CallSite>) -> [u8; 17] {
    let (kind, first, second) = match call_site {
        None => (0, 0, 0),
        Some(CallSite::Line(line, column)) => {
            (1, u64::from(line.get()), column.map_or(0, |column| u64::from(column.get())))
        }
        Some(CallSite::Bytecode(index)) => (2, u64::from(index), 0),
        Some(CallSite::Address(address)) => (3, address.get(), 0),
    };
    let mut bytes = [0; 17];
    bytes[0] = kind;
    bytes[1..9].copy_from_slice(&first.to_le_bytes());
    bytes[9..].copy_from_slice(&second.to_le_bytes());
    bytes
}
