//! Files that were made or cut to do harm.

use proptest::prelude::*;

use super::maker::{Maker, RETURN, changes, drawn, jar};
use crate::{ClassOptions, compare_jars};

fn sample() -> Maker {
    let mut class = Maker::new("A")
        .makes("run", &["lambda$run$0"])
        .calls("lambda$run$0", &[("A$1", "one"), ("B", "two")]);
    class.method_with(
        0x21,
        "go",
        "(LA$1;I)V",
        &[0x00, 0xa7, 0xff, 0xff, RETURN],
        &[3, 9],
        &[[0, 1, 4, 0]],
    );
    class.field("$SwitchMap$E", "[I");
    class
}

#[test]
fn jumps_far_away_are_damage() {
    for jump in [[0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0], [0, 0, 0, 2]] {
        let mut class = Maker::new("A");
        class.method("run", &[&[0xc8][..], &jump, &[RETURN]].concat());
        let found = drawn(&changes(&[Maker::new("A")], &[class]));
        assert!(found.starts_with("! after!/A.class: a jump to an invalid place"), "{found}");
    }
}

#[test]
fn a_switch_of_any_size_allocates_nothing() {
    for (low, high) in [(i32::MIN, i32::MAX), (0, i32::MAX), (5, 1)] {
        let mut class = Maker::new("A");
        let mut code = vec![0x03, 0xaa, 0, 0, 0, 0, 0, 0];
        code.extend(low.to_be_bytes());
        code.extend(high.to_be_bytes());
        class.method("run", &code);
        let found = drawn(&changes(&[Maker::new("A")], &[class]));
        assert!(found.starts_with("! after!/A.class: "), "{found}");
    }
}

#[test]
fn a_constant_within_itself_is_damage() {
    let mut class = Maker::new("A");
    // A dynamic constant whose bootstrap entry has that constant for an argument.
    let lambda = class.lambda("A", "lambda$run$0");
    let code = [&[0xba][..], &lambda.to_be_bytes(), &[0, 0, RETURN]].concat();
    class.method("run", &code);
    let mut whole = class.finish();
    // The last bytes of the file are the bootstrap entry's only argument.
    let at = whole.len() - 2;
    whole[at..].copy_from_slice(&lambda.to_be_bytes());
    let pack = |bytes: Vec<u8>| jar(&[("A.class".to_owned(), bytes)], false);
    let found =
        compare_jars(pack(Maker::new("A").finish()), pack(whole), ClassOptions::default()).unwrap();
    assert!(drawn(&found.changes).contains("a constant within itself"), "{found:?}");
}

#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = ("A.class".to_owned(), vec![0u8; 8 << 20]);
    let good = Maker::new("C").file();
    let found = compare_jars(
        jar(std::slice::from_ref(&good), false),
        jar(&[zeros, good], true),
        ClassOptions::default(),
    )
    .unwrap();
    let found = drawn(&found.changes);
    assert_eq!(found, "! after!/A.class: its header does not match its name\n");
}

#[test]
fn encrypted_classes_are_said() {
    let file = Maker::new("A").calls("run", &[]).file();
    let plain = jar(&[Maker::new("A").file()], false);
    let mut encrypted = jar(&[file], false);
    let list = encrypted.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    encrypted[list + 8] |= 1;
    let found = compare_jars(plain, encrypted, ClassOptions::default()).unwrap();
    assert_eq!(drawn(&found.changes), "! after!/A.class: it is encrypted\n");
}

proptest! {
    #[test]
    fn damaged_classes_never_panic(
        places in prop::collection::vec((0usize..700, any::<u8>()), 1..6),
        cut in 0usize..700,
    ) {
        let whole = sample().finish();
        let mut damaged = whole.clone();
        for (place, byte) in places {
            let place = place % damaged.len();
            damaged[place] = byte;
        }
        damaged.truncate(whole.len().saturating_sub(cut % 50));
        let pack = |bytes: &[u8]| jar(&[("A.class".to_owned(), bytes.to_vec())], false);
        let found = compare_jars(pack(&whole), pack(&damaged), ClassOptions::default());
        prop_assert!(found.is_ok());
    }

    #[test]
    fn damaged_jars_never_panic(
        places in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        deflate in any::<bool>(),
    ) {
        let nested = ("lib.jar".to_owned(), jar(&[sample().file()], true));
        let whole = jar(&[nested, Maker::new("C").file()], deflate);
        let mut damaged = whole.clone();
        for (place, byte) in places {
            let place = place % damaged.len();
            damaged[place] = byte;
        }
        let _ = compare_jars(whole, damaged, ClassOptions::default());
    }
}
