//! Every answer against the real schemas, by a real validator: ours for JSON, and the one of SARIF as its authors
//! publish it. `cargo xtask setup` installs both.

use std::path::{Path, PathBuf};
use std::process::Command;

use perfblame_report::{diff_json, diff_sarif};

use crate::answers;

/// Validates files given after the schema; prints what is wrong.
const VALIDATE: &str = r#"
const fs = require("fs");
const [draft, schema, ...files] = process.argv.slice(1);
const Ajv = require(draft);
// A pattern in the schema of SARIF is none for Unicode.
const ajv = new (Ajv.default ?? Ajv)({ allErrors: true, strict: false, unicodeRegExp: false });
(require("ajv-formats").default)(ajv);
const validate = ajv.compile(JSON.parse(fs.readFileSync(schema)));
for (const file of files) {
  if (!validate(JSON.parse(fs.readFileSync(file)))) {
    console.log(file, JSON.stringify(validate.errors.slice(0, 5), null, 1));
  }
}
"#;

fn tools() -> PathBuf {
    let cache = || {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        cache.or_else(home).unwrap_or_default().join("perfblame/tools")
    };
    std::env::var_os("PERFBLAME_TOOLS").map_or_else(cache, PathBuf::from)
}

/// What the validator finds wrong.
fn validate(draft: &str, schema: &Path, files: &[PathBuf]) -> String {
    assert!(schema.exists(), "{} is missing: `cargo xtask setup` installs it", schema.display());
    let mut node = Command::new("node");
    node.args(["-e", VALIDATE, draft]).arg(schema).args(files);
    let output = node.env("NODE_PATH", tools().join("node_modules")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn json_and_sarif_fit_their_schemas() {
    let folder = std::env::temp_dir().join(format!("perfblame-schemas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut json, mut sarif) = (Vec::new(), Vec::new());
    for (name, diff) in answers::all() {
        for (files, kind) in [(&mut json, "json"), (&mut sarif, "sarif")] {
            let mut text = Vec::new();
            match kind {
                "json" => diff_json(&diff, &mut text).unwrap(),
                _ => diff_sarif(&diff, &mut text).unwrap(),
            }
            files.push(folder.join(format!("{name}.{kind}")));
            std::fs::write(files.last().unwrap(), text).unwrap();
        }
    }
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diff.schema.json");
    assert_eq!(validate("ajv/dist/2020", &ours, &json), "");
    let official = "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json";
    assert_eq!(validate("ajv-draft-04", &tools().join(official), &sarif), "");
    // The validator does look: one kind of file is not the other.
    assert_ne!(validate("ajv/dist/2020", &ours, &sarif[..1]), "");
    assert_ne!(validate("ajv-draft-04", &tools().join(official), &json[..1]), "");
    std::fs::remove_dir_all(folder).unwrap();
}
