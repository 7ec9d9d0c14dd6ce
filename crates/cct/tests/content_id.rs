//! Content ids agree wherever the same context was seen.

use perfblame_cct::{
    ContentId, Frame, Function, Grain, Metric, Profile, ProfileBuilder, Times, Unit, coarsen,
    content_ids, position,
};
use perfblame_fixtures::{any_samples, profile, profile_of};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Stored and sent to others: these must never change.
#[test]
fn ids_are_what_they_always_were() {
    let profile = profile(
        "main
         parse",
    );
    let ids: Vec<_> = content_ids(&profile).iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["cf28f9b0c1b41ef4ce054a890d8bfabd", "1b46798aca9cc8e39c2233d617173baf"]);
}

/// One function at a place, called from another line of `main`.
fn called(name: &str, component: Option<&str>, line: u64, from: u64, grain: Grain) -> ContentId {
    let mut builder = ProfileBuilder::new(grain, Times::Drop);
    let metric = builder.metric(Metric::sampled("samples", Unit::Count));
    let main = builder.string("main");
    let main = builder.function(Function::named(main));
    let main = builder.frame(Frame::of(main).at_line(from));
    let name = builder.string(name);
    let component = component.map(|text| builder.string(text));
    let function = Function { component, line: position(line), ..Function::named(name) };
    let function = builder.function(function);
    let frame = builder.frame(Frame::of(function));
    builder.sample(&[main, frame], None, metric, 1);
    content_ids(&builder.finish())[1]
}

#[test]
fn name_component_and_call_site_make_the_id() {
    let id = called("f", Some("lib"), 1, 5, Grain::CallSites);
    assert_eq!(
        id,
        called("f", Some("lib"), 2, 5, Grain::CallSites),
        "where a named function starts"
    );
    assert_eq!(id, called("f", Some("lib"), 1, 5, Grain::Frames), "exact frames");
    assert_ne!(id, called("f", Some("lib"), 1, 6, Grain::CallSites), "call site");
    assert_ne!(id, called("f", Some("lib"), 1, 5, Grain::Functions), "no call site");
    assert_ne!(id, called("f", Some("bil"), 1, 5, Grain::CallSites), "component");
    assert_ne!(id, called("flib", Some(""), 1, 5, Grain::CallSites), "texts run together");
    assert_ne!(
        called("f", None, 1, 5, Grain::CallSites),
        called("f", Some(""), 1, 5, Grain::CallSites)
    );
    let anonymous = |line| called("", Some("a.js"), line, 5, Grain::Functions);
    assert_ne!(anonymous(1), anonymous(2), "anonymous functions are known by their place");
}

#[test]
fn overloads_are_different_functions() {
    let mut symbols = perfblame_cct::Symbols::default();
    let name = symbols.string("append");
    let [chars, ints] = ["(C)V", "(I)V"].map(|signature| {
        let signature = Some(symbols.string(signature));
        let function = symbols.intern_function(Function { signature, ..Function::named(name) });
        perfblame_cct::function_id(&symbols, function)
    });
    assert_ne!(chars, ints);
}

fn ids(profile: &Profile) -> BTreeSet<ContentId> {
    content_ids(profile).into_iter().collect()
}

proptest! {
    #[test]
    fn ids_ignore_the_order_of_reading(samples in any_samples()) {
        let mut reversed = samples.clone();
        reversed.reverse();
        for grain in [Grain::Functions, Grain::CallSites, Grain::Frames] {
            prop_assert_eq!(ids(&profile_of(&samples, grain)), ids(&profile_of(&reversed, grain)));
        }
        for grain in [Grain::Functions, Grain::CallSites] {
            let profile = profile_of(&samples, grain);
            prop_assert_eq!(ids(&profile).len(), profile.tree.len());
        }
        let frames = profile_of(&samples, Grain::Frames);
        prop_assert_eq!(ids(&frames), ids(&coarsen(&frames, Grain::CallSites)));
    }
}
