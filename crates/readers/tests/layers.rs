//! Whose code the functions of the corpus are: standard libraries are told from programs, in whatever format.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::BTreeMap;
use std::path::Path;

use perfblame_cct::Layer;
use perfblame_fixtures::corpus;
use perfblame_readers::{Input, ReadOptions, read};

/// The layers of all functions by name, and how many functions each layer has.
fn layers(file: &Path) -> (BTreeMap<String, Layer>, BTreeMap<Layer, usize>) {
    let profile = read(Input::open(file).unwrap(), &ReadOptions::default()).unwrap();
    let mut counts = BTreeMap::new();
    let mut named = BTreeMap::new();
    for (id, function) in profile.symbols.functions() {
        *counts.entry(function.layer).or_default() += 1;
        named.insert(profile.symbols.name(id).to_owned(), function.layer);
    }
    (named, counts)
}

#[test]
fn libraries_are_told_from_programs() {
    let Some(corpus) = corpus() else { return };
    for (file, expected) in [
        (
            "perf-script/inferno-go-stacks.txt",
            &[
                ("go/build.(*Context).Import", Layer::Library),
                ("regexp.MustCompile", Layer::Library),
                ("runtime.growslice", Layer::Runtime),
                ("main.init", Layer::Application),
                ("cmd/go/internal/load.LoadImport", Layer::Application),
            ][..],
        ),
        (
            "perf-script/perf-rust-Yamakaky-dcpu.txt.gz",
            &[
                ("core::mem::swap", Layer::Library),
                ("<core::option::Option<T>>::map", Layer::Library),
                ("<u8 as core::clone::Clone>::clone", Layer::Library),
                ("emulator::main", Layer::Application),
                ("simplelog::termlog::TermLogger::new", Layer::Application),
            ],
        ),
        (
            "other/inferno-dtrace-rust.txt",
            &[
                ("std::panicking::try::do_call", Layer::Library),
                ("<F as alloc::boxed::FnBox<A>>::call_box", Layer::Library),
                ("ignore::walk::Worker::run", Layer::Application),
                ("rg::search_parallel::{{closure}}::{{closure}}", Layer::Application),
            ],
        ),
    ] {
        let (named, counts) = layers(&corpus.join(file));
        for (name, layer) in expected {
            assert_eq!(named.get(*name), Some(layer), "{file}: {name}");
        }
        assert!(counts[&Layer::Library] > 0 && counts[&Layer::Application] > 0, "{file}");
    }
}
