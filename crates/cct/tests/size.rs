//! How much memory a large profile takes.

use perfblame_fixtures::synthetic_profile;

/// The bound is per node, so fewer nodes than a real profile's 1.5 million show it too; the program's own symbols are
/// part of it.
#[test]
fn a_node_takes_at_most_40_bytes() {
    let profile = synthetic_profile(300_000, 40, 1);
    let bytes = profile.heap_bytes() / profile.tree.len();
    assert!(bytes <= 40, "{bytes} bytes a node");
    // The tree alone is three columns of four bytes.
    assert_eq!(profile.tree.heap_bytes(), profile.tree.len() * 12);
    assert_eq!(profile.cells.heap_bytes(), profile.cells.len() * 16 + size_of::<Vec<i64>>());
}
