//! The real slowdowns of section 5.3 of `[zam]` (RQ5) that can be rebuilt from npm: both sides are releases as they were.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::answer::{Answer, Blamed};
use crate::app::SHARED;
use crate::npm::{self, MINIFIERS};
use crate::work;

/// A slowdown that somebody reported.
#[derive(Debug)]
pub struct Bug {
    /// Its name, which is that of the folder with its page.
    pub name: &'static str,
    pub issue: &'static str,
    pub package: &'static str,
    pub releases: [&'static str; 2],
    /// The file that is served, or that everything is bundled from.
    pub entry: Entry,
    pub page: &'static str,
    pub script: &'static str,
    pub settings: &'static str,
    pub flow: &'static str,
    /// How functions that explain it begin; one of them is the cause.
    pub causes: &'static [&'static str],
    pub why: &'static str,
    /// What the paper says that ZAM found.
    pub paper: &'static str,
}

/// How a script comes out of a package.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    File(&'static str),
    /// Bundled from this text.
    Bundle(&'static str),
}

macro_rules! files {
    ($name:literal) => {
        (
            include_str!(concat!("../bugs/", $name, "/index.html")),
            include_str!(concat!("../bugs/", $name, "/app.js")),
            include_str!(concat!("../bugs/", $name, "/settings.json")),
            include_str!(concat!("../bugs/", $name, "/flow.json")),
        )
    };
}

const HIGHLIGHT: (&str, &str, &str, &str) = files!("highlight.js");
const ASYNC: (&str, &str, &str, &str) = files!("async");

/// Both of them. The third, of deck.gl, needs the graphics card of its time: shaders are compiled by the driver.
pub const BUGS: &[Bug] = &[
    Bug {
        name: "highlight.js",
        issue: "highlight.js 1031",
        package: "highlight.js",
        releases: ["8.9.1", "9.0.0"],
        entry: Entry::Bundle(
            "var hljs = require('./package/lib/highlight.js');\n\
             hljs.registerLanguage('java', require('./package/lib/languages/java.js'));\n\
             window.hljs = hljs;\n",
        ),
        page: HIGHLIGHT.0,
        script: HIGHLIGHT.1,
        settings: HIGHLIGHT.2,
        flow: HIGHLIGHT.3,
        causes: &["RegExp: ", "exec", "subMode", "testRe"],
        why: "a regular expression for generics in Java takes exponential time",
        paper: "exact: `exec`",
    },
    Bug {
        name: "async",
        issue: "async 883",
        package: "async",
        releases: ["1.0.0", "1.4.2"],
        entry: Entry::File("lib/async.js"),
        page: ASYNC.0,
        script: ASYNC.1,
        settings: ASYNC.2,
        flow: ASYNC.3,
        causes: &["_delay", "async.nextTick", "async.setImmediate"],
        why: "`eachSeries` waits for a timer after each item",
        paper: "exact: `_delay`",
    },
];

impl Bug {
    /// Its folder.
    pub fn folder(&self, folder: &Path) -> PathBuf {
        folder.join("bugs").join(self.name)
    }

    /// The site of a side, made unless it is there.
    pub fn site(&self, folder: &Path, side: usize) -> Result<PathBuf> {
        let packages = folder.join("packages");
        let package = npm::package(&packages, self.package, self.releases[side])?;
        let tools = npm::tools(&packages, "minifiers", &MINIFIERS)?;
        let to = self.folder(folder).join(["site-before", "site-after"][side]);
        work::folder(&to, |to| {
            fs::create_dir_all(to.join("lib"))?;
            let script = to.join("lib").join(format!("{}.js", self.name.trim_end_matches(".js")));
            match self.entry {
                Entry::File(file) => {
                    fs::copy(package.join(file), script)?;
                }
                Entry::Bundle(text) => {
                    let above = package.parent().unwrap_or(&package);
                    fs::write(above.join("entry.js"), text)?;
                    let esbuild = tools.join("node_modules/.bin/esbuild").display().to_string();
                    let outfile = format!("--outfile={}", script.display());
                    npm::run(
                        above,
                        &esbuild,
                        ["entry.js", "--bundle", "--log-level=error", &outfile],
                    )?;
                }
            }
            fs::write(to.join("index.html"), self.page)?;
            fs::write(to.join("app.js"), self.script)?;
            fs::write(to.join("visit.js"), SHARED)?;
            fs::write(to.join("settings.json"), self.settings)?;
            Ok(())
        })?;
        Ok(to)
    }

    /// Where a time line is, counted from 1.
    pub fn file(&self, folder: &Path, side: usize, number: usize) -> PathBuf {
        self.folder(folder).join(["before", "after"][side]).join(format!("{number}.json.gz"))
    }

    fn is_cause(&self, blamed: &Blamed) -> bool {
        self.causes.iter().any(|cause| blamed.place.name.starts_with(cause))
    }

    /// The row of the cause, counted from 1, and all that is blamed.
    pub fn found(&self, answer: &Answer) -> (Option<usize>, Vec<String>) {
        let row = answer.blamed.iter().position(|blamed| self.is_cause(blamed));
        let names = answer.blamed.iter().map(|blamed| {
            let name: String = blamed.place.name.chars().take(40).collect();
            format!("{name} ({}{:+.0} ms)", prefixed(&blamed.kind), blamed.delta / 1e6)
        });
        (row.map(|row| row + 1), names.collect())
    }
}

fn prefixed(kind: &str) -> String {
    if kind.is_empty() { String::new() } else { format!("{kind}, ") }
}
