//! What functions of scripts look like, there and back: without it, two files made from traces of minified builds could
//! not be compared as the traces can.
//!
//! Two tables in one section: scripts with how many functions they have, and all these functions one after the other.

use std::sync::Arc;

use perfblame_cct::{FunctionShape, ScriptShapes, StringId, Symbols};

use crate::columns::{ColumnWriter, Columns};
use crate::decode::Rows;
use crate::error::FileError;
use crate::fields::shapes as f;

/// Bytes of a hash.
const HASH: usize = 8;

/// The section; none when nothing is known of any script.
pub fn encode(symbols: &Symbols) -> Option<Vec<u8>> {
    let scripts = || symbols.all_shapes();
    scripts().next()?;
    let functions = || scripts().flat_map(|(_, script)| &script.functions);
    let mut out = ColumnWriter::default();
    out.numbers(f::SCRIPT, scripts().map(|(component, _)| component.index() as u64));
    out.numbers(f::FUNCTIONS, scripts().map(|(_, script)| script.functions.len() as u64));
    out.deltas(f::LINE, functions().map(|function| i64::from(function.line)));
    out.deltas(f::COLUMN, functions().map(|function| i64::from(function.column)));
    let outwards = scripts().flat_map(|(_, script)| {
        (0u32..).zip(&script.functions).map(|(row, function)| match function.parent {
            Some(parent) => u64::from(row.saturating_sub(parent)),
            None => 0,
        })
    });
    out.numbers(f::OUTWARDS, outwards);
    // Hashes look like chance: written as numbers, most would take ten bytes.
    let hashes: Vec<u8> = functions().flat_map(|function| function.hash.to_le_bytes()).collect();
    out.bytes(f::HASH, &hashes);
    out.numbers(f::SIZE, functions().map(|function| u64::from(function.size)));
    out.numbers(f::MARKS, functions().map(|function| function.sketch.len() as u64));
    let marks: Vec<u8> = functions()
        .flat_map(|function| &function.sketch)
        .flat_map(|mark| mark.to_le_bytes())
        .collect();
    out.bytes(f::MARK, &marks);
    Some(out.finish())
}

/// Reads the section.
pub fn decode(
    columns: &Columns,
    texts: &Rows<StringId>,
    symbols: &mut Symbols,
) -> Result<(), FileError> {
    let cut_off = || columns.malformed("a table of functions is cut off");
    let small = |number: u64| {
        u32::try_from(number).map_err(|_| columns.malformed("a number beyond 32 bits"))
    };
    let scripts = columns.rows(f::SCRIPT);
    let (script, functions) =
        (columns.numbers(f::SCRIPT, scripts)?, columns.numbers(f::FUNCTIONS, scripts)?);
    let rows = columns.rows(f::LINE);
    let [line, column, outwards, size, marks] =
        [f::LINE, f::COLUMN, f::OUTWARDS, f::SIZE, f::MARKS]
            .map(|field| columns.numbers(field, rows));
    let (line, column, outwards) = (line?, column?, outwards?);
    let (size, marks) = (size?, marks?);
    let mut hashes = columns.bytes(f::HASH)?.chunks_exact(HASH);
    let mut sketches = columns.bytes(f::MARK)?.chunks_exact(4);
    let mut first = 0;
    for (script, count) in script.into_iter().zip(functions) {
        let count = usize::try_from(count).ok().filter(|count| *count <= rows - first);
        let count = count.ok_or_else(cut_off)?;
        let mut shapes = ScriptShapes { functions: Vec::with_capacity(count) };
        for row in first..first + count {
            let inner = (row - first) as u64;
            let parent = match outwards[row] {
                0 => None,
                steps => Some(inner.checked_sub(steps).ok_or_else(|| {
                    columns.malformed("a row refers to a row that does not exist")
                })?),
            };
            let hash = hashes.next().and_then(|bytes| bytes.try_into().ok()).ok_or_else(cut_off)?;
            let left = usize::try_from(marks[row]).ok().filter(|marks| *marks <= sketches.len());
            let sketch = sketches.by_ref().take(left.ok_or_else(cut_off)?);
            let mut sketch: Box<[u32]> =
                sketch.map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes)).collect();
            // Those who compare rely on the order.
            sketch.sort_unstable();
            shapes.functions.push(FunctionShape {
                line: small(line[row])?,
                column: small(column[row])?,
                parent: parent.map(small).transpose()?,
                hash: u64::from_le_bytes(hash),
                size: small(size[row])?,
                sketch,
            });
        }
        first += count;
        symbols.set_shapes(texts.get(script, columns)?, Arc::new(shapes));
    }
    Ok(())
}
