//! Every answer against the real schemas, by a real validator.

use perfblame_fixtures::{Schema, invalid};
use perfblame_report::{diff_json, diff_sarif};

use crate::answers;

#[test]
fn json_and_sarif_fit_their_schemas() {
    let folder = std::env::temp_dir().join(format!("perfblame-schemas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut json, mut sarif) = (Vec::new(), Vec::new());
    for (name, diff) in answers::all() {
        let mut text = Vec::new();
        diff_json(&diff, &mut text).unwrap();
        json.push(folder.join(format!("{name}.json")));
        std::fs::write(json.last().unwrap(), text).unwrap();
        let mut text = Vec::new();
        diff_sarif(&diff, &mut text).unwrap();
        sarif.push(folder.join(format!("{name}.sarif")));
        std::fs::write(sarif.last().unwrap(), text).unwrap();
    }
    assert_eq!(invalid(&json, Schema::Diff), "");
    assert_eq!(invalid(&sarif, Schema::Sarif), "");
    // The validator does look: one kind of file is not the other.
    assert_ne!(invalid(&sarif[..1], Schema::Diff), "");
    assert_ne!(invalid(&json[..1], Schema::Sarif), "");
    std::fs::remove_dir_all(folder).unwrap();
}
