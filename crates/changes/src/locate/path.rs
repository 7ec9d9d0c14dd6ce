//! Paths of profiles against paths of a repository.
//!
//! A profile has the path of the machine that built or ran the program: absolute, a url, or the name alone. What both
//! have in common is the end.

/// The parts of a path that could be in a repository.
pub(super) fn components(path: &str) -> Vec<String> {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let path = match path.find("://") {
        // Of a url, what follows the host.
        Some(at) => path[at + 3..].split_once('/').map_or("", |(_, rest)| rest),
        None => path,
    };
    let path = path.replace('\\', "/");
    path.split('/')
        .filter(|part| !part.is_empty() && *part != "." && *part != "..")
        .map(str::to_owned)
        .collect()
}

/// How many parts two paths share at their ends.
pub(super) fn shared_end(one: &[String], other: &[String]) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

/// Whether a component of a profile is a path or url of source, and not a class, an object or a package.
pub(super) fn is_source(component: &str) -> bool {
    crate::Language::of_path(component.split(['?', '#']).next().unwrap_or(component)).is_some()
}
