//! Which file of a profile is the one that somebody asks for.
//!
//! An editor knows a file by where it lies now; a profile knows it by where it lay when it was built, by a url, or, in
//! Java, by the class alone. What they have in common is the end of the path. So paths are compared from their end,
//! name by name, and the file that has the most in common is meant.

use std::borrow::Cow;

use perfblame_cct::{NameKinds, normalise_name};

/// Languages whose profiles name classes instead of files.
const CLASS_LANGUAGES: [&str; 5] = ["java", "kt", "scala", "groovy", "clj"];

/// A path whose last name alone is alike can be any file: every other crate has a `lib.rs`. Unless one of the two is no
/// more than that, so many names must be alike.
const LEAST_ALIKE: usize = 2;

/// How well a file fits what was asked for; more is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Fit {
    /// Names that are alike, from the end.
    alike: usize,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum How {
    /// Both go on with something else.
    End,
    /// One of them ends there.
    Whole,
    /// Both do.
    Same,
}

/// A path as its names, without what is no part of it.
pub(super) struct FilePath {
    names: Vec<String>,
    /// The last name without its extension, for languages that have classes instead of files.
    class: Option<String>,
}

impl FilePath {
    pub(super) fn of(text: &str) -> Self {
        let text = normalise_name(text, NameKinds::default());
        let names = names(&text);
        let class = names.last().and_then(|name| name.rsplit_once('.'));
        let class = class.filter(|(_, extension)| CLASS_LANGUAGES.contains(extension));
        Self { class: class.map(|(stem, _)| stem.to_owned()), names }
    }

    /// How well a file, or what a profile has in its place, fits this path; none when it is another file.
    pub(super) fn fits(&self, file: &str) -> Option<Fit> {
        let file = normalise_name(file, NameKinds::default());
        let as_file = fit(&self.names, &names(&file));
        let as_class = || {
            let mut wanted = self.names.clone();
            self.class.as_ref()?.clone_into(wanted.last_mut()?);
            fit(&wanted, &class_names(&file)?)
        };
        as_file.or_else(as_class)
    }

    /// The file that a text of the profile stands for: equal for a class and the classes inside of it.
    pub(super) fn file_of(&self, file: &str) -> Vec<String> {
        let file = normalise_name(file, NameKinds::default());
        let class = || class_names(&file).filter(|_| self.class.is_some());
        class().unwrap_or_else(|| names(&file))
    }
}

fn fit(wanted: &[String], file: &[String]) -> Option<Fit> {
    let alike = wanted.iter().rev().zip(file.iter().rev()).take_while(|(a, b)| a == b).count();
    let how = match (wanted.len() - alike, file.len() - alike) {
        (0, 0) => How::Same,
        (0, _) | (_, 0) => How::Whole,
        _ => How::End,
    };
    let least = if how == How::End { LEAST_ALIKE } else { 1 };
    (alike >= least).then_some(Fit { alike, how })
}

/// The names of a path or url.
fn names(path: &str) -> Vec<String> {
    let path = match path.split_once("://") {
        Some((_, rest)) => Cow::Borrowed(rest.split(['?', '#']).next().unwrap_or(rest)),
        None => Cow::Borrowed(path),
    };
    let names = path.split(['/', '\\']).filter(|name| !name.is_empty() && *name != ".");
    names.map(str::to_owned).collect()
}

/// The names of a class's packages and the outermost class: `com.example.Parser$State` is in `com/example/Parser`.
fn class_names(class: &str) -> Option<Vec<String>> {
    if class.starts_with('/') {
        return None;
    }
    let outermost = class.split('$').next().filter(|class| !class.is_empty())?;
    Some(outermost.split(['.', '/']).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best of some files, several when they fit as well.
    fn best<'a>(wanted: &str, files: &[&'a str]) -> Vec<&'a str> {
        let path = FilePath::of(wanted);
        let best = files.iter().filter_map(|file| path.fits(file)).max();
        files.iter().copied().filter(|file| best.is_some() && path.fits(file) == best).collect()
    }

    #[test]
    fn the_longest_common_end_wins() {
        let files = ["/build/app/src/parse.rs", "/build/app/tests/parse.rs", "parse.c"];
        assert_eq!(best("/home/me/app/src/parse.rs", &files), [files[0]]);
        assert_eq!(best("tests/parse.rs", &files), [files[1]]);
        assert_eq!(best("parse.rs", &files), files[..2]);
        assert_eq!(best("C:\\app\\src\\parse.rs", &files), [files[0]]);
        assert_eq!(best("se.rs", &files), [""; 0], "half a name is no name");
    }

    #[test]
    fn an_equal_path_is_the_one_whatever_ends_like_it() {
        let files = ["src/lib.rs", "/rustc/library/core/src/lib.rs"];
        assert_eq!(best("src/lib.rs", &files), [files[0]]);
        assert_eq!(best("/home/me/other.rs", &files), [""; 0]);
    }

    #[test]
    fn the_last_name_is_enough_only_where_there_is_no_more() {
        assert_eq!(best("/home/me/app/src/lib.rs", &["/rustc/core/lib.rs"]), [""; 0]);
        assert_eq!(best("/home/me/app/src/lib.rs", &["lib.rs"]), ["lib.rs"]);
    }

    #[test]
    fn urls_are_paths_without_what_comes_behind() {
        let files = ["https://a.example/js/app.js?v=3", "file:///srv/site/js/app.js"];
        assert_eq!(best("/srv/site/js/app.js", &files), [files[1]]);
        assert_eq!(best("js/app.js", &files[..1]), [files[0]]);
        // Bundlers put hashes of the content into names.
        assert_eq!(
            best("dist/app.0f3a9c1be2.js", &["https://a.example/dist/app.77aa01bc9d.js"]).len(),
            1
        );
    }

    #[test]
    fn classes_are_in_files_of_their_name() {
        let files = ["com.example.Parser", "com.example.Parser$State", "org.other.Parser"];
        let path = "/home/me/src/main/java/com/example/Parser.java";
        assert_eq!(best(path, &files), files[..2]);
        assert_eq!(best("Parser.java", &files), files);
        assert_eq!(best("/x/com/example/Parser.rs", &files), [""; 0], "Rust has files");
        let wanted = FilePath::of(path);
        assert_eq!(wanted.file_of(files[0]), wanted.file_of(files[1]));
        assert_ne!(wanted.file_of(files[0]), wanted.file_of(files[2]));
    }
}
