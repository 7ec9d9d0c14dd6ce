//! How many tests `--unit` leaves out: those behind the feature `e2e`, counted in the source, since building them to
//! count them would take minutes.

use std::path::Path;

use anyhow::{Context, Result};

const GATE: &str = "#[cfg(feature = \"e2e\")]";

/// The number of tests that only run with all features.
pub fn end_to_end_tests(project: &Path) -> Result<usize> {
    let mut count = 0;
    for group in ["crates", "eval"] {
        let folder = project.join(group);
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let package = entry?.path();
            if let Ok(manifest) = std::fs::read_to_string(package.join("Cargo.toml")) {
                count += tests_of(&package, &manifest)?;
            }
        }
    }
    Ok(count)
}

fn tests_of(package: &Path, manifest: &str) -> Result<usize> {
    let gated = gated_targets(manifest);
    let mut count = 0;
    let Ok(entries) = std::fs::read_dir(package.join("tests")) else { return Ok(0) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_gated = gated.contains(&name.as_str());
        if path.is_dir() {
            // A target of several files; folders without a main file hold what targets share.
            if is_gated && path.join("main.rs").is_file() {
                for file in std::fs::read_dir(&path)? {
                    count += tests_in(&file?.path());
                }
            }
        } else if is_gated {
            count += tests_in(&path);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let modules = gated_modules(&text);
            count += modules.map(|file| tests_in(&package.join("tests").join(file))).sum::<usize>();
        }
    }
    Ok(count)
}

/// The names of a manifest's test targets that need a feature.
fn gated_targets(manifest: &str) -> Vec<&str> {
    let blocks = manifest.split("\n[").filter(|block| block.starts_with("[test]]"));
    let gated = blocks.filter(|block| block.contains("\nrequired-features = "));
    let names = gated.filter_map(|block| {
        block.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
    });
    names.collect()
}

/// The files of modules behind the feature, each with its path given.
fn gated_modules(text: &str) -> impl Iterator<Item = &str> {
    text.split(GATE)
        .skip(1)
        .filter_map(|behind| behind.trim_start().strip_prefix("#[path = \"")?.split('"').next())
}

fn tests_in(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| line.trim() == "#[test]").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_feature_is_left_out() {
        let manifest = "[package]\nname = \"p\"\n\n[[test]]\nname = \"a\"\n\n[[test]]\nname = \"b\"\n\
                        required-features = [\"e2e\"]\n\n[lints]\nworkspace = true\n";
        assert_eq!(gated_targets(manifest), ["b"]);
        let text = format!("mod a;\n{GATE}\n#[path = \"diff/dot.rs\"]\nmod dot;\nmod b;\n");
        assert_eq!(gated_modules(&text).collect::<Vec<_>>(), ["diff/dot.rs"]);
        let found = end_to_end_tests(&crate::shell::project()).unwrap();
        assert!(found > 50, "{found} tests");
    }
}
