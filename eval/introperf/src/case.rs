//! A case: a program of Debian, a workload that is fine, one that is not, and the function that is to blame.

use std::path::Path;

/// Which of the two workloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    Base,
    Buggy,
}

impl Workload {
    /// Both, in the order they are run.
    pub const BOTH: [Self; 2] = [Self::Base, Self::Buggy];

    /// Its name in files and scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Buggy => "buggy",
        }
    }
}

/// Where the time is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// In the program or a library that comes with it, by what it was asked to do.
    Internal,
    /// In a plug-in that was made slow, by this kind of delay.
    Injected(&'static str),
}

/// The function to find.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    /// How the name of its object starts.
    pub object: &'static str,
    /// Any of these is right.
    pub functions: &'static [&'static str],
    /// Why it is the one, and how we know.
    pub why: &'static str,
}

/// A plug-in, built once as it should be and once slow.
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// What it is called when built.
    pub object: &'static str,
    /// Its file and its text.
    pub source: (&'static str, &'static str),
    /// What the compiler needs besides; a shell reads it.
    pub flags: &'static str,
    /// Functions have no names in it, as in what Debian ships.
    pub stripped: bool,
}

/// A case. Commands run in the case's folder; `{side}` in them is `base` or `buggy`,
/// `{folder}` the path of the folder.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub program: &'static str,
    /// What is done, in a few words.
    pub what: &'static str,
    pub packages: &'static [&'static str],
    pub cause: Cause,
    pub truth: Truth,
    pub plugin: Option<Plugin>,
    /// A shell script that makes the inputs.
    pub prepare: &'static str,
    pub base: &'static [&'static str],
    pub buggy: &'static [&'static str],
    pub environment: &'static [(&'static str, &'static str)],
    /// A shell script that asks a server and then ends it; `$SIDE` tells for which workload.
    pub client: Option<&'static str>,
}

impl Case {
    /// The command line of a side.
    pub fn command(&self, side: Workload, folder: &Path) -> Vec<String> {
        let words = match side {
            Workload::Base => self.base,
            Workload::Buggy => self.buggy,
        };
        let folder = folder.display().to_string();
        words.iter().map(|word| fill(word, side).replace("{folder}", &folder)).collect()
    }

    /// What is set for the program on a side.
    pub fn settings(&self, side: Workload) -> Vec<(&'static str, String)> {
        self.environment.iter().map(|(name, value)| (*name, fill(value, side))).collect()
    }

    /// The whole of it as text, to see whether a kept result is still of this case.
    pub fn identity(&self) -> String {
        format!("{self:?}")
    }
}

fn fill(word: &str, side: Workload) -> String {
    word.replace("{side}", side.name())
}
