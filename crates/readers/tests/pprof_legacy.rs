//! Legacy profiles of the corpus: stacks and values as the pprof project's own expectations state them.

use std::collections::BTreeMap;

use perfblame_cct::{Grain, Profile};
use perfblame_fixtures::{corpus, read_damaged, samples};
use perfblame_readers::{Input, ReadOptions, read};

/// Values by stack, innermost frame first; a frame is its address, or name and line.
type Stacks = BTreeMap<Vec<String>, Vec<i64>>;

fn add(stacks: &mut Stacks, stack: Vec<String>, values: &[i64]) {
    // Samples without any value have no place in a tree of costs.
    if values.iter().all(|value| *value == 0) {
        return;
    }
    let sums = stacks.entry(stack).or_insert_with(|| vec![0; values.len()]);
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// Reads what `Profile.String()` of google/pprof prints: a line of types, samples as values and location ids, locations.
fn expected(text: &str) -> (Vec<String>, u64, Stacks) {
    let mut lines = text.lines().skip_while(|line| *line != "Samples:").skip(1);
    let types = lines.next().unwrap_or("").split_whitespace().map(str::to_owned).collect();
    let mut samples: Vec<(Vec<i64>, Vec<&str>)> = Vec::new();
    for line in lines.by_ref().take_while(|line| *line != "Locations") {
        let Some((values, ids)) = line.split_once(':') else { continue };
        let values: Option<Vec<i64>> =
            values.split_whitespace().map(|value| value.parse().ok()).collect();
        // Lines with labels such as `bytes:[9216]` are no samples.
        if let Some(values) = values.filter(|values| !values.is_empty()) {
            samples.push((values, ids.split_whitespace().collect()));
        }
    }
    let mut locations = BTreeMap::new();
    for line in lines.take_while(|line| *line != "Mappings") {
        let words: Vec<&str> = line.split_whitespace().collect();
        let id = words[0].trim_end_matches(':');
        let frame = match words[2..] {
            [name, place, _] => format!("{name} {}", place.rsplit(':').nth(1).unwrap_or("")),
            _ => words[1].to_owned(),
        };
        locations.insert(id, frame);
    }
    let count = samples.len() as u64;
    let mut stacks = Stacks::new();
    for (values, ids) in samples {
        add(&mut stacks, ids.iter().map(|id| locations[id].clone()).collect(), &values);
    }
    (types, count, stacks)
}

fn found(profile: &Profile) -> Stacks {
    let mut stacks = Stacks::new();
    for cell in profile.cells.rows() {
        let frame = |node| {
            let frame = profile.symbols.frame(profile.tree.frame(node));
            match frame.address {
                Some(address) => format!("{address:#x}"),
                None => {
                    format!(
                        "{} {}",
                        profile.name_of(node),
                        frame.line.map_or(0, std::num::NonZero::get)
                    )
                }
            }
        };
        let mut stack: Vec<String> = profile.tree.path(cell.node).into_iter().map(frame).collect();
        // What came without a stack hangs below this root.
        stack.retain(|frame| frame != "(truncated) 0");
        stack.reverse();
        // pprof's order: the default type, which we put first, is its last.
        let mut values = cell.values.clone();
        values.rotate_left(1);
        add(&mut stacks, stack, &values);
    }
    stacks
}

#[test]
fn stacks_and_values_are_those_of_pprof() {
    let Some(corpus) = corpus() else { return };
    let mut checked = 0;
    for entry in std::fs::read_dir(corpus.join("pprof/expected")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (types, count, mut expected) = expected(&std::fs::read_to_string(&path).unwrap());
        let input = Input::open(&corpus.join("pprof").join(name)).unwrap();
        let profile =
            read(input, &ReadOptions { grain: Grain::Frames, ..ReadOptions::default() }).unwrap();
        assert_eq!(profile.info.format, "pprof legacy", "{name}");
        if types.last().is_some_and(|last| last == "delay/microseconds") {
            // Times are nanoseconds here.
            for values in expected.values_mut() {
                values[1] *= 1_000;
            }
        }
        assert_eq!(found(&profile), expected, "{name}");
        // Threads that share a stack are one sample to pprof, one each to us.
        let shared = u64::from(name == "google-cppbench.thread");
        assert_eq!(profile.samples, count + shared, "{name}");
        let without_stack = usize::from(name == "google-gobench.heap");
        assert_eq!(profile.warnings.len(), without_stack, "{name}: {:?}", profile.warnings);
        checked += 1;
    }
    assert_eq!(checked, 12);
}

#[test]
fn a_profile_with_its_memory_map() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("pprof/google-driver-cppbench.cpu");
    let profile = read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
    let totals: Vec<i64> = profile.metrics().map(|(id, _)| profile.cells.total(id)).collect();
    // As `pprof -raw` counts them.
    assert_eq!((totals[1], profile.samples), (712, 52));
    let program = profile.info.command.as_deref().and_then(|path| path.rsplit('/').next());
    assert_eq!(program, Some("cppbench_server_main"));
}

#[test]
fn pprof_legacy_never_panics() {
    for sample in [
        "google-gobench.heap",
        "google-java.cpu",
        "google-cppbench.thread",
        "google-java.contention",
    ] {
        let bytes = std::fs::read(samples().join("pprof_legacy").join(sample)).unwrap();
        read_damaged(&bytes, 0..200, |bytes| {
            read(Input::from_bytes(bytes)?, &ReadOptions::default())
        });
    }
}
