//! The recipes for CI against the schemas that their makers publish, as `check-jsonschema` carries them.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::process::Command;

#[test]
fn recipes_fit_their_schemas() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci");
    for (schema, file) in
        [("vendor.github-workflows", "github-actions.yml"), ("vendor.gitlab-ci", "gitlab-ci.yml")]
    {
        let program = perfblame_fixtures::tool_file("bin/check-jsonschema");
        let output = Command::new(&program)
            .args(["--builtin-schema", schema])
            .arg(docs.join(file))
            .output()
            .unwrap_or_else(|error| {
                panic!("{}, which `cargo xtask setup` installs: {error}", program.display())
            });
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&said));
    }
}
