//! Drawn profiles of both shapes, and the corpus.

use expect_test::{Expect, expect};
use perfblame_cct::{Grain, MetricId, Times};
use perfblame_fixtures::{corpus_files, describe, read_damaged};

use super::*;

fn parse(text: &[u8]) -> Profile {
    let input = Input::from_bytes(text.to_vec()).unwrap();
    assert!(sniff(&input));
    read(
        input,
        &ReadOptions { grain: Grain::Functions, times: Times::Keep, ..ReadOptions::default() },
    )
    .unwrap()
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&describe(&parse(text.as_bytes())));
}

const GECKO: &str = r#"{"meta":{"version":27,"interval":1,"startTime":1000,"processType":0,"product":"Firefox",
  "misc":"rv:99.0","categories":[{"name":"Idle"},{"name":"Other"},{"name":"GC / CC"}],
  "sampleUnits":{"threadCPUDelta":"ns"}},
 "libs":[{"start":4096,"end":8192,"name":"xul.dll","breakpadId":"1","debugName":"xul.pdb"}],
 "pausedRanges":[{"startTime":2.5,"endTime":12,"reason":"collecting"}],
 "threads":[{"name":"GeckoMain","processType":"default","tid":7,"pid":3,
  "samples":{"schema":{"stack":0,"time":1,"threadCPUDelta":2},"data":[[2,1,100],[3,2],[4,13,50],[null,14],[1,14.5]]},
  "stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1],[1,2],[1,3],[0,4]]},
  "frameTable":{"schema":{"location":0,"line":1,"category":2},"data":[[0],[1,34],[2],[3,null,2],[4,null,0]]},
  "stringTable":["(root)","f (http://h/a.js:34:5)","0x1010","GCSlice","mach_msg"]}],
 "processes":[{"meta":{"version":27,"interval":1,"startTime":1500,"processType":2},
  "threads":[{"name":"GeckoMain","processType":"tab","pid":4,
   "samples":{"schema":{"stack":0,"time":1},"data":[[0,1]]},
   "stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
   "frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["g (http://h/b.js:1)"]}]}]}"#;

#[test]
fn gecko_profiles_with_their_processes() {
    check(
        GECKO,
        &expect![[r"
        6 samples
        samples 5 count
        wall 5500000 ns
        cpu 150 ns
        thread GeckoMain
        thread GeckoMain
        (root) 4 0
          f 3 1
            0x1010 1 1
            GCSlice 1 1
          mach_msg 1 1
        g 1 1
        1 × empty-stacks: samples without a stack are counted but have no place in the tree
    "]],
    );
    let profile = parse(GECKO.as_bytes());
    assert_eq!(profile.info.producer.as_deref(), Some("Firefox 99.0"));
    let times: Vec<_> =
        profile.timeline.unwrap().samples.iter().map(|sample| sample.time / 1000).collect();
    assert_eq!(times, [1000, 2000, 13_000, 14_500, 501_000]);
}

const SHARED: &str = r#""stringArray":["main","work","a.out","/src/a.c","libc.so.6","page"],
  "sources":{"length":2,"filename":[3,5]},
  "stackTable":{"prefix":[null,0,1],"frame":[0,1,2],"length":3},
  "frameTable":{"func":[0,1,2],"address":[16,32,-1],"line":[3,9,null],"inlineDepth":[0,1,0],"length":3},
  "funcTable":{"name":[0,1,4],"resource":[0,0,1],"source":[0,0,null],"isJS":[false,false,false],"length":3},
  "resourceTable":{"lib":[0,1],"name":[2,4],"type":[1,1],"length":2}"#;

#[test]
fn processed_profiles_with_shared_tables_and_time_deltas() {
    let text = format!(
        r#"{{"meta":{{"interval":1,"startTime":0,"preprocessedProfileVersion":60,"version":30,"product":"ls -l",
        "sampleUnits":{{"threadCPUDelta":"µs"}},"importedFrom":"samply"}},
        "libs":[{{"name":"a.out","path":"/bin/a.out"}},{{"name":"libc.so.6"}}],"shared":{{{SHARED}}},
        "threads":[{{"name":"one","pid":"77","tid":"78","processName":"a.out",
          "samples":{{"length":3,"stack":[1,2,1],"timeDeltas":[5,1,2.5],"weight":[1,2,1],"weightType":"samples",
          "threadCPUDelta":[null,900,1000]}}}},
         {{"name":"two","samples":{{"stack":[0],"time":[1],"weight":[2.5],"weightType":"tracing-ms"}},
          "jsAllocations":{{"stack":[2,1],"time":[1,2],"weight":[100,-40]}}}}]}}"#
    );
    check(
        &text,
        &expect![[r"
        4 samples
        samples 5 count
        wall 7000000 ns
        cpu 1900000 ns
        allocated 100 bytes
        freed 40 bytes
        thread one
        thread two
        main 5 1
          work 4 2
            libc.so.6 2 2
    "]],
    );
    let profile = parse(text.as_bytes());
    assert_eq!(profile.threads[0].pid, Some(77));
    assert_eq!(profile.info.command.as_deref(), Some("ls -l"));
    assert_eq!(profile.info.producer.as_deref(), Some("samply"));
    let components: Vec<_> =
        profile.symbols.functions().map(|(id, _)| profile.symbols.component(id)).collect();
    assert_eq!(components, [Some("a.out"), Some("a.out"), Some("libc.so.6")]);
    let input = Input::from_bytes(text.as_bytes().to_vec()).unwrap();
    let options =
        ReadOptions { grain: Grain::Frames, times: Times::Drop, ..ReadOptions::default() };
    let exact = read(input, &options).unwrap();
    assert!(exact.symbols.frames().any(|(_, frame)| frame.inlined && frame.line.is_some()));
}

#[test]
fn damage_costs_what_is_damaged() {
    check(
        &GECKO[..GECKO.len() / 2],
        &expect![[r"
        5 samples
        samples 0 count
        wall 0 ns
        cpu 0 ns
        thread GeckoMain
        5 × empty-stacks: samples without a stack are counted but have no place in the tree
        1 × damaged-json: the rest of a table was left out: the file ends at byte 617
    "]],
    );
    // A frame that is not there, and a stack before its caller.
    let broken =
        GECKO.replace("[[null,0],[0,1],[1,2],[1,3],[0,4]]", "[[null,9],[0,1],[9,2],[1,3],[0,4]]");
    check(
        &broken,
        &expect![[r"
        6 samples
        samples 5 count
        wall 5500000 ns
        cpu 150 ns
        thread GeckoMain
        thread GeckoMain
        0x1010 1 1
        f 2 1
          GCSlice 1 1
        g 1 1
        mach_msg 1 1
        1 × unknown-frames: stacks were cut where their frame does not exist
        1 × broken-stacks: stacks whose callers come after them were read without callers
        1 × empty-stacks: samples without a stack are counted but have no place in the tree
    "]],
    );
    // Processes in processes in processes.
    let deep = r#"{"meta":{"interval":1,"startTime":1},"processes":["#.repeat(20_000);
    check(
        &deep,
        &expect![[r"
            0 samples
            1 × nested-processes: processes nested more than twice were left out
            1 × damaged-json: the rest of a table was left out: the file ends at byte 1000000
        "]],
    );
}

/// Samples as the manifest counts them, but for one: the first Gecko profile holds a process as a text, which the
/// manifest does not look into and the processed one of the same recording shows.
#[test]
fn the_corpus_has_its_samples() {
    // File, samples, wall in nanoseconds.
    let expected = [
        ("ffprofiler-ancient-cleopatra.sps.json.gz", 4918, 5_301_000_000),
        ("ffprofiler-argument-values.json", 32, 37_733_375),
        ("ffprofiler-gecko-1.json", 21, 21_000_000),
        ("ffprofiler-gecko-2.json", 21, 21_000_000),
        ("ffprofiler-processed-1.json", 21, 21_000_000),
        ("ffprofiler-processed-2.json", 21, 21_000_000),
        ("ffprofiler-processed-3.json", 21, 21_000_000),
        ("firefox59-simple.json.gz", 38, 37_978_056),
        ("firefox61-recursion.json.gz", 15, 15_114_334),
        ("firefox63-simple.json.gz", 39, 38_775_204),
        ("firefox79-webpack.json.gz", 483, 483_264_506),
    ];
    for path in corpus_files("firefox") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let profile = crate::read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        let wall = profile.cells.total(profile.metric("wall").unwrap());
        let row = expected.iter().find(|row| row.0 == name).unwrap();
        assert_eq!((name, profile.samples, wall), *row);
        assert_eq!(profile.cells.total(MetricId::new(0)), profile.samples as i64);
        assert!(profile.warnings.is_empty());
        assert!(profile.info.producer.is_some());
    }
}

/// Inclusive time of scripts' functions as speedscope's snapshots have them, in nanoseconds.
#[test]
fn times_are_those_of_speedscope() {
    let expected = [
        ("firefox59-simple.json.gz", "a", 31_992_821),
        ("firefox59-simple.json.gz", "b", 20_971_447),
        ("firefox59-simple.json.gz", "c", 11_021_374),
        ("firefox59-simple.json.gz", "d", 31_992_821),
        ("firefox61-recursion.json.gz", "main", 11_149_112),
        ("firefox61-recursion.json.gz", "alpha", 9_954_630),
        ("firefox61-recursion.json.gz", "beta", 8_962_159),
        ("firefox61-recursion.json.gz", "delta", 6_859_737),
        ("firefox61-recursion.json.gz", "gamma", 9_954_630),
        ("firefox63-simple.json.gz", "alpha", 26_983_817),
        ("firefox63-simple.json.gz", "gamma", 26_983_817),
        ("firefox63-simple.json.gz", "beta", 15_037_493),
    ];
    for path in corpus_files("firefox") {
        let file = path.file_name().unwrap().to_str().unwrap();
        let profile = crate::read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        let wall = profile.self_values(profile.metric("wall").unwrap());
        let totals = profile.tree.inclusive(&wall);
        for row in expected.iter().filter(|row| row.0 == file) {
            let is_it = |node: &perfblame_cct::NodeId| {
                profile.name_of(*node) == row.1
                    && profile.symbols.function(profile.function_of(*node)).component.is_some()
            };
            // A function counts once per stack.
            let outermost = |node: &perfblame_cct::NodeId| {
                !profile.tree.ancestors(*node).skip(1).any(|above| is_it(&above))
            };
            let nodes: Vec<_> = profile.tree.nodes().filter(is_it).collect();
            let total: i64 =
                nodes.iter().filter(|node| outermost(node)).map(|node| totals[node.index()]).sum();
            assert!((total - row.2).abs() <= 1, "{row:?}: {total}");
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let mut samples = vec![GECKO.as_bytes().to_vec()];
    for path in corpus_files("firefox") {
        let bytes = Input::open(&path).unwrap().read_all().unwrap();
        samples.extend((bytes.len() < 100_000).then_some(bytes));
    }
    for sample in samples {
        read_damaged(&sample, 0..150, |bytes| {
            let input = Input::from_bytes(bytes)?;
            let _ = sniff(&input);
            read(
                input,
                &ReadOptions { grain: Grain::Frames, times: Times::Keep, ..ReadOptions::default() },
            )
        });
    }
}
