//! .NET traces of the corpus, read out of the zip files they come in.

use perfblame_fixtures::{corpus, draw};
use perfblame_readers::{Input, ReadOptions, read};

#[test]
fn samples_are_as_many_as_another_reader_counts() {
    let Some(corpus) = corpus() else { return };
    let open = |name: &str| {
        let input = Input::open(&corpus.join("windows").join(name)).unwrap();
        read(input, &ReadOptions::default()).unwrap()
    };
    let profile = open("perfview-only_managed_samples.nettrace.zip");
    assert_eq!(profile.info.format, "nettrace");
    let expected = "NoNativeStacks.Program.Main 7423 0\n  NoNativeStacks.Program.Test 7423 0\n    \
        NoNativeStacks.Program.InnerLoop 7423 2419\n      NoNativeStacks.Program.FindByte 5004 5004\n";
    assert_eq!(draw(&profile), expected);
    assert!(profile.warnings.is_empty());

    // `expected/perfview-eventpipe-3.0-objver4.baseline.txt`: 35,161 events `Thread/Sample`.
    let profile = open("perfview-eventpipe-3.0-objver4.nettrace.zip");
    assert_eq!(profile.samples, 35_161);
    assert_eq!(profile.threads.len(), 13);
}
