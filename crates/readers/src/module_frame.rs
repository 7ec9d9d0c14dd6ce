//! A frame known by a module and a symbol, as text reports write them.

use std::num::NonZeroU64;

use perfblame_cct::{Frame, FrameId, Function, Layer, ProfileBuilder, StringId};

use crate::native::layer_of;
use crate::perf_script::symbol::{UNKNOWN, native};

/// Interns `symbol` of `module`. A symbol that is only an address, or `???`, is unknown.
pub(crate) fn module_frame(
    builder: &mut ProfileBuilder,
    module: Option<&str>,
    symbol: &str,
    layer: Option<Layer>,
    address: Option<u64>,
) -> FrameId {
    let module = module.filter(|module| !module.is_empty());
    let component = module.map(|module| builder.string(module));
    let layer = layer.or_else(|| module.map(layer_of)).unwrap_or_default();
    let written = symbol.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let address = address.or(written).and_then(NonZeroU64::new);
    if written.is_some() || matches!(symbol, "" | "???" | UNKNOWN) {
        return interned(builder, UNKNOWN, component, None, layer, address);
    }
    let named = native(symbol);
    interned(builder, &named.name, component, named.signature.as_deref(), layer, address)
}

fn interned(
    builder: &mut ProfileBuilder,
    name: &str,
    component: Option<StringId>,
    signature: Option<&str>,
    layer: Layer,
    address: Option<NonZeroU64>,
) -> FrameId {
    let name = builder.string(name);
    let signature = signature.map(|text| builder.string(text));
    let function = Function { component, signature, layer, ..Function::named(name) };
    let function = builder.function(function);
    builder.frame(Frame { address, ..Frame::of(function) })
}
