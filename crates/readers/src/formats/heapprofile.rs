//! V8's sampling heap profile (`.heapprofile`): where the memory that is still alive was allocated.
//!
//! The call tree is nested under `head`, each node with the bytes it allocated; newer files list the samples besides.
//! Sizes are V8's own estimates from its samples, so the metric `allocated` is sampled.

use perfblame_cct::{Metric, Profile, ProfileBuilder, Unit};

use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number, top_level_keys};
use crate::error::ReadError;
use crate::format::{Format, ReadOptions};
use crate::input::Input;
use crate::v8::{Gaps, SampledTree, V8Chunk, name_functions};

/// This format.
pub const FORMAT: Format = Format {
    name: "heapprofile",
    producers: "V8's sampling heap profiler: DevTools, Node (`--heap-prof`)",
    sniff,
    read,
    tracer: None,
};

/// True for an object with a call tree of sizes.
fn sniff(input: &Input) -> bool {
    let keys = top_level_keys(input.head());
    keys.iter().any(|key| key == "head")
        && memchr::memmem::find(input.head(), b"\"selfSize\"").is_some()
        && memchr::memmem::find(input.head(), b"\"callFrame\"").is_some()
}

/// Reads a profile.
fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let mut builder = options.builder();
    let allocated = builder.metric(Metric::sampled("allocated", Unit::Bytes));
    let samples = builder.metric(Metric::sampled("samples", Unit::Count).with_period(1));
    let mut chunk = V8Chunk::default();
    if let Err(fault) = read_tree(&mut Cursor::new(&bytes), &mut chunk, &mut builder) {
        if chunk.nodes.is_empty() {
            return Err(fault.into());
        }
        let offset = fault.offset();
        builder.warn("cut-off", || {
            let what = ReadError::from(fault);
            format!("the profile cannot be read beyond byte {offset} ({what}); the part before it was kept")
        });
    }
    let listed = !chunk.samples.is_empty();
    let mut tree = SampledTree::default();
    tree.add_sizes(&chunk);
    // What is left are nodes and edges: no sample has a time.
    chunk.samples.clear();
    tree.add(&chunk, &mut builder);
    name_functions(std::slice::from_mut(&mut tree), options, &mut builder);
    tree.finish(&mut builder, None, (allocated, samples), &mut Gaps::default());
    if !listed {
        builder.choose_metrics(&[allocated]);
    }
    builder.info.producer = Some("V8".to_owned());
    Ok(builder.finish())
}

fn read_tree(
    cursor: &mut Cursor<'_>,
    chunk: &mut V8Chunk,
    builder: &mut ProfileBuilder,
) -> Result<(), JsonFault> {
    cursor.begin_object()?;
    while let Some(key) = cursor.next_raw_key()? {
        match (key, cursor.peek()?) {
            (b"head", JsonKind::Object) => chunk.read_node(cursor, builder)?,
            (b"samples", JsonKind::Array) => {
                cursor.begin_array()?;
                while cursor.next_element()? {
                    read_sample(cursor, &mut chunk.samples)?;
                }
            }
            _ => cursor.skip_value()?,
        }
    }
    Ok(())
}

/// The node of a sample; its size is in the node's already.
fn read_sample(cursor: &mut Cursor<'_>, samples: &mut Vec<i64>) -> Result<(), JsonFault> {
    if cursor.peek()? != JsonKind::Object {
        return cursor.skip_value();
    }
    cursor.begin_object()?;
    while let Some(key) = cursor.next_raw_key()? {
        if key == b"nodeId" {
            samples.extend(cursor.lenient_number()?.and_then(Number::as_i64));
        } else {
            cursor.skip_value()?;
        }
    }
    Ok(())
}
