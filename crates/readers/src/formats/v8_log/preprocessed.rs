//! The log after `node --prof-process --preprocess`: code, functions and ticks as JSON, addresses resolved, the
//! functions of libraries named.

use perfblame_cct::{Frame, FrameId, Function, Layer, Profile, ProfileBuilder};

use super::{Ticks, library_frame, script_frame};
use crate::encodings::json::{JsonValue, parse_prefix, top_level_keys};
use crate::error::ReadError;
use crate::format::ReadOptions;
use crate::input::Input;

/// True for an object of `code`, `functions` and `ticks`; the first may fill all that can be seen.
pub fn sniff(input: &Input) -> bool {
    let keys = top_level_keys(input.head());
    let has = |sign: &[u8]| memchr::memmem::find(input.head(), sign).is_some();
    keys.first().is_some_and(|key| key == "code")
        && (keys.iter().any(|key| key == "ticks") || !input.is_whole())
        && has(b"\"type\"")
        && (has(b"\"SHARED_LIB\"") || has(b"\"CPP\"") || has(b"\"CODE\"") || has(b"\"JS\""))
}

/// Reads a preprocessed log.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let bytes = input.read_all()?;
    let (document, fault) = parse_prefix(&bytes);
    let root = document.root();
    let mut builder = options.builder();
    match (fault, root.get("ticks")) {
        (Some(fault), None) => return Err(fault.into()),
        (Some(fault), Some(_)) => {
            let what = ReadError::from(fault);
            builder.warn("cut-off", || format!("{what}; the ticks before it were kept"));
        }
        (None, _) => {}
    }
    let code = root.get("code").map(JsonValue::elements);
    let code: Vec<JsonValue<'_>> = code.into_iter().flatten().collect();
    let mut frames: Vec<Option<Option<FrameId>>> = vec![None; code.len()];
    let mut ticks = Ticks::default();
    for tick in root.get("ticks").map(JsonValue::elements).into_iter().flatten() {
        let Some(time) = tick.get("tm").and_then(JsonValue::as_i64) else {
            builder.warn("damaged-records", || "ticks without a time were left out".to_owned());
            continue;
        };
        ticks.stack.clear();
        let collecting = tick.get("vm").and_then(JsonValue::as_i64) == Some(1);
        if collecting {
            ticks.stack.push(builder.named_frame("(garbage collector)", Layer::GarbageCollection));
        }
        // Code and the offset in it take turns, innermost first; -1 is code that nobody knows.
        let places = tick.get("s").map(JsonValue::elements).into_iter().flatten().step_by(2);
        for id in places.skip(usize::from(collecting)) {
            let Some(row) = id.as_u64().and_then(|id| usize::try_from(id).ok()) else { continue };
            let Some(code) = code.get(row) else { continue };
            let frame = *frames[row].get_or_insert_with(|| frame(*code, &mut builder));
            ticks.stack.extend(frame);
        }
        ticks.add(time.saturating_mul(1000), &mut builder);
    }
    builder.info.producer = Some("V8".to_owned());
    ticks.finish(&mut builder, None);
    Ok(builder.finish())
}

/// The frame of a piece of code; none for what runs on behalf of its caller.
fn frame(code: JsonValue<'_>, builder: &mut ProfileBuilder) -> Option<FrameId> {
    let text = |key| code.get(key).and_then(JsonValue::as_str).unwrap_or_default();
    let (name, kind) = (text("name"), text("kind"));
    Some(match text("type") {
        "SHARED_LIB" => library_frame(name, builder),
        "CPP" => {
            let layer = Layer::Runtime;
            let function = Function::named(builder.string(name)).in_layer(layer);
            let function = builder.function(function);
            builder.frame(Frame::of(function))
        }
        "CODE"
            if matches!(kind, "BytecodeHandler" | "Handler" | "Stub") || kind.ends_with("IC") =>
        {
            return None;
        }
        "CODE" => builder.named_frame(name, Layer::Runtime),
        _ => script_frame(name, builder),
    })
}
