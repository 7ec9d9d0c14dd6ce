//! Where mapped files come from: which of them nothing but code has loaded, and which Debian package brought each.
//!
//! dpkg keeps a list of files for each package, by the names that packages use: `/lib/…` where `/lib` is a link to
//! `/usr/lib` today. All lists are read once, whatever number of files is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::elf;

/// Where dpkg keeps its lists.
const DPKG: &str = "/var/lib/dpkg";

/// A mapped file, and what is known of it here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOrigin {
    /// The file.
    pub path: PathBuf,
    /// Some program or library among the files names it as one it needs.
    pub needed: bool,
    /// The package and its version.
    pub package: Option<String>,
}

/// Looks into files that processes have mapped, in the order given.
pub fn origins_of(files: &[PathBuf]) -> Vec<FileOrigin> {
    let mut needed = BTreeSet::new();
    let mut names = Vec::new();
    for file in files {
        let links = elf::links_of(file);
        needed.extend(links.needed);
        names.push(links.name);
    }
    let packages = packages_of(files, Path::new(DPKG));
    let rows = files.iter().zip(names).zip(packages);
    rows.map(|((path, name), package)| {
        let base = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_needed = [name, base].into_iter().flatten().any(|name| needed.contains(&name));
        FileOrigin { path: path.clone(), needed: is_needed, package }
    })
    .collect()
}

/// The package of each file with its version, as the lists in a folder of dpkg's say.
fn packages_of(files: &[PathBuf], dpkg: &Path) -> Vec<Option<String>> {
    let mut rows: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    for (row, file) in files.iter().enumerate() {
        for name in names_of(file) {
            rows.entry(name.into_bytes()).or_default().push(row);
        }
    }
    let mut owners: Vec<Option<String>> = vec![None; files.len()];
    let entries = fs::read_dir(dpkg.join("info")).into_iter().flatten().flatten();
    let mut lists: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    lists.retain(|path| path.extension().is_some_and(|end| end == "list"));
    // Of two owners, the same one every time.
    lists.sort();
    for list in lists {
        let Some(package) = list.file_stem().and_then(|name| name.to_str()) else { continue };
        let Ok(bytes) = fs::read(&list) else { continue };
        for line in bytes.split(|byte| *byte == b'\n') {
            for row in rows.get(line).into_iter().flatten() {
                owners[*row].get_or_insert_with(|| package.to_owned());
            }
        }
    }
    let wanted: BTreeSet<&str> = owners.iter().flatten().map(|name| bare(name)).collect();
    let status =
        if wanted.is_empty() { None } else { fs::read_to_string(dpkg.join("status")).ok() };
    let versions = versions_of(&wanted, &status.unwrap_or_default());
    let with_version = |name: &str| match versions.get(bare(name)) {
        Some(version) => format!("{} {version}", bare(name)),
        None => bare(name).to_owned(),
    };
    owners.iter().map(|owner| owner.as_deref().map(with_version)).collect()
}

/// `libz1:amd64` without the architecture.
fn bare(package: &str) -> &str {
    package.split(':').next().unwrap_or(package)
}

/// The names under which a package may list a file.
fn names_of(file: &Path) -> Vec<String> {
    let name = file.to_string_lossy().into_owned();
    let other = match name.strip_prefix("/usr") {
        Some(rest) if ["/lib", "/bin", "/sbin"].iter().any(|start| rest.starts_with(start)) => {
            Some(rest.to_owned())
        }
        None if ["/lib", "/bin", "/sbin"].iter().any(|start| name.starts_with(start)) => {
            Some(format!("/usr{name}"))
        }
        _ => None,
    };
    [Some(name), other].into_iter().flatten().collect()
}

fn versions_of<'a>(wanted: &BTreeSet<&'a str>, status: &str) -> BTreeMap<&'a str, String> {
    let mut versions = BTreeMap::new();
    for paragraph in status.split("\n\n") {
        let field = |name: &str| {
            paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let Some(package) = field("Package").and_then(|package| wanted.get(package)) else {
            continue;
        };
        if let Some(version) = field("Version") {
            versions.insert(*package, version.trim().to_owned());
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_either_name_of_a_file() {
        let folder = std::env::temp_dir().join(format!("perfblame-dpkg-{}", std::process::id()));
        fs::create_dir_all(folder.join("info")).unwrap();
        fs::write(folder.join("info/libfoo1:amd64.list"), "/.\n/lib/x/libfoo.so.1.2\n").unwrap();
        fs::write(folder.join("info/tool.list"), "/usr/bin/tool\n").unwrap();
        fs::write(folder.join("info/tool.md5sums"), "/usr/bin/other\n").unwrap();
        let status = "Package: libfoo1\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.2-3\n\n\
                      Package: else\nVersion: 9\n";
        fs::write(folder.join("status"), status).unwrap();
        let files = ["/usr/lib/x/libfoo.so.1.2", "/bin/tool", "/usr/bin/other", "/home/me/app"];
        let packages = packages_of(&files.map(PathBuf::from), &folder);
        let shown: Vec<_> = packages.iter().map(Option::as_deref).collect();
        assert_eq!(shown, [Some("libfoo1 1.2-3"), Some("tool"), None, None]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_this_program_needs_is_known() {
        let own = std::env::current_exe().unwrap();
        let libc = fs::read_to_string("/proc/self/maps").unwrap();
        let Some(libc) = libc.lines().find_map(|line| {
            line.split_whitespace().nth(5).filter(|path| path.contains("/libc.so"))
        }) else {
            return;
        };
        let origins = origins_of(&[own, PathBuf::from(libc), PathBuf::from("/nowhere.so")]);
        let needed: Vec<bool> = origins.iter().map(|origin| origin.needed).collect();
        assert_eq!(needed, [false, true, false]);
    }
}
