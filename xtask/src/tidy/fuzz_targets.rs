//! Formats and fuzz targets belong to each other: every format has a target named after its module, every target has a
//! format or stands in a list of others, and every target is built.

use super::{TrackedFile, text_of};

/// Targets that fuzz something else than one format.
const OTHERS: &[&str] = &[
    "classes_never_panic",
    "script_never_panics",
    "source_map_never_panics",
    "source_never_panics",
    "traces_never_panic",
];

pub fn check(files: &[TrackedFile]) -> Vec<String> {
    let formats = formats(text_of(files, "crates/readers/src/formats.rs"));
    let names = files.iter().filter_map(|file| {
        file.path.strip_prefix("fuzz/fuzz_targets/")?.strip_suffix(".rs").map(str::to_owned)
    });
    let built = binaries(text_of(files, "fuzz/Cargo.toml"));
    disagreements(&formats, &names.collect::<Vec<_>>(), &built)
}

/// The modules of formats, from the rows of their table.
fn formats(table: &str) -> Vec<String> {
    let rows = table.lines().filter_map(|line| line.trim().strip_suffix("::FORMAT,"));
    rows.map(|row| row.rsplit("::").next().unwrap_or(row).to_owned()).collect()
}

/// The binaries of a manifest, by their names.
fn binaries(manifest: &str) -> Vec<String> {
    let blocks = manifest.split("[[bin]]").skip(1);
    let names = blocks.filter_map(|block| {
        block.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
    });
    names.map(str::to_owned).collect()
}

fn disagreements(formats: &[String], targets: &[String], built: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    if formats.is_empty() {
        findings.push("crates/readers/src/formats.rs: no row of a format was found".to_owned());
    }
    for format in formats {
        if !targets.contains(&format!("{format}_never_panics")) {
            findings.push(format!("fuzz/fuzz_targets has no {format}_never_panics.rs"));
        }
    }
    for target in targets {
        let format = target.strip_suffix("_never_panics");
        let known = format.is_some_and(|format| formats.iter().any(|known| known == format));
        if !known && !OTHERS.contains(&target.as_str()) {
            findings.push(format!("fuzz/fuzz_targets/{target}.rs fuzzes no format"));
        }
        if !built.contains(target) {
            findings.push(format!("fuzz/Cargo.toml does not build {target}"));
        }
    }
    for target in built.iter().filter(|target| !targets.contains(target)) {
        findings.push(format!("fuzz/Cargo.toml builds {target}, which is not there"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn both_directions_are_checked() {
        let formats = formats("    pprof::FORMAT,\n    formats::jfr::FORMAT,\n");
        let built = binaries("[[bin]]\nname = \"pprof_never_panics\"\n[[bin]]\nname = \"gone\"\n");
        let targets = names(&["pprof_never_panics", "odd_never_panics", "traces_never_panic"]);
        assert_eq!(
            disagreements(&formats, &targets, &built),
            [
                "fuzz/fuzz_targets has no jfr_never_panics.rs",
                "fuzz/fuzz_targets/odd_never_panics.rs fuzzes no format",
                "fuzz/Cargo.toml does not build odd_never_panics",
                "fuzz/Cargo.toml does not build traces_never_panic",
                "fuzz/Cargo.toml builds gone, which is not there",
            ]
        );
        assert!(!disagreements(&[], &[], &[]).is_empty());
    }
}
