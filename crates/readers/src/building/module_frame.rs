//! A frame known by a module and a symbol, as text reports write them.

use std::num::NonZeroU64;

use perfblame_cct::{Frame, FrameId, Function, FunctionId, Layer, ProfileBuilder, StringId};
use perfblame_native::layer_of;

use crate::building::symbol::{UNKNOWN, native};

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

/// `libc.so.1`read+0x1f`: the module and the function without its offset.
pub(crate) fn module(text: &str) -> Option<(&str, &str)> {
    let (module, name) = text.split_once('`')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+/:@ ".contains(c);
    if module.is_empty() || name.is_empty() || !module.chars().all(plain) {
        return None;
    }
    let end = name.rfind("+0x").filter(|at| {
        name.get(at + 3..).is_some_and(|hex| {
            !hex.is_empty() && hex.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    });
    Some((module, name.get(..end.unwrap_or(name.len())).unwrap_or(name)))
}

/// Whose code a module is, on the systems that DTrace runs on.
pub(crate) fn module_layer(module: &str) -> Layer {
    match module {
        "unix" | "genunix" | "kernel" | "mach_kernel" | "kernel.development" | "zfs" => {
            Layer::Kernel
        }
        _ if module.starts_with("libsystem_") || module.starts_with("libdyld") => Layer::Library,
        _ => layer_of(module),
    }
}

/// The function that stands for an address without a name: binary and offset in its file.
pub(crate) fn unsymbolised_function(
    builder: &mut ProfileBuilder,
    binary: &str,
    start: u64,
    offset: u64,
    address: u64,
) -> FunctionId {
    if binary.is_empty() {
        let name = builder.string(&format!("0x{address:x}"));
        return builder.function(Function::named(name));
    }
    let base = binary.rsplit('/').next().unwrap_or(binary);
    let place = address.checked_sub(start).map_or(address, |within| within.wrapping_add(offset));
    let name = builder.string(&format!("{base}+0x{place:x}"));
    let component = builder.string(binary);
    builder.function(Function::named(name).in_component(component).in_layer(layer_of(binary)))
}
