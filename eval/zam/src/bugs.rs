//! The real slowdowns of section 5.3 of `[zam]` (RQ5) that can be rebuilt from npm: both sides are releases as they were.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use perfblame_cct::{Side, Sides};

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
    pub releases: Sides<&'static str>,
    /// The file that is served, or that everything is bundled from.
    pub entry: Entry,
    pub page: &'static str,
    pub script: &'static str,
    pub settings: &'static str,
    pub flow: &'static str,
    /// What `perfblame record chrome` is told besides.
    pub options: &'static [&'static str],
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
    /// Installed with what each release of the package needs beside it, then bundled from this text.
    Installed {
        beside: Sides<&'static [&'static str]>,
        text: &'static str,
    },
}

/// Shaders are compiled by Mesa while a page waits, as by the drivers of its time. The browser's own software compiles
/// them when they first draw, in time that no function waits for.
const MESA: &[&str] = &[
    "--gpu",
    "--browser-arg=--use-gl=angle",
    "--browser-arg=--use-angle=gl-egl",
    "--browser-arg=--ignore-gpu-blocklist",
];

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
const DECK: (&str, &str, &str, &str) = files!("deck.gl");

/// All three.
pub const BUGS: &[Bug] = &[
    Bug {
        name: "highlight.js",
        issue: "highlight.js 1031",
        package: "highlight.js",
        releases: Sides::new("8.9.1", "9.0.0"),
        entry: Entry::Bundle(
            "var hljs = require('./package/lib/highlight.js');\n\
             hljs.registerLanguage('java', require('./package/lib/languages/java.js'));\n\
             window.hljs = hljs;\n",
        ),
        page: HIGHLIGHT.0,
        script: HIGHLIGHT.1,
        settings: HIGHLIGHT.2,
        flow: HIGHLIGHT.3,
        options: &[],
        causes: &["RegExp: ", "exec", "subMode", "testRe"],
        why: "a regular expression for generics in Java takes exponential time",
        paper: "exact: `exec`",
    },
    Bug {
        name: "async",
        issue: "async 883",
        package: "async",
        releases: Sides::new("1.0.0", "1.4.2"),
        entry: Entry::File("lib/async.js"),
        page: ASYNC.0,
        script: ASYNC.1,
        settings: ASYNC.2,
        flow: ASYNC.3,
        options: &[],
        causes: &["_delay", "async.nextTick", "async.setImmediate"],
        why: "`eachSeries` waits for a timer after each item",
        paper: "exact: `_delay`",
    },
    // The reporter's bisection ends between 43212ce and 063a6e1, where 64-bit outlines of a14eddf came in. Of the
    // releases that npm has, these two are the closest on both sides, 67 commits apart; each needs its own luma.gl, which
    // asks for a program's parameters in `_getParameter`, the later one through a `getProgramParameter` of its own.
    Bug {
        name: "deck.gl",
        issue: "deck.gl 1126",
        package: "deck.gl",
        releases: Sides::new("4.1.0-alpha.7", "4.1.0-alpha.15"),
        entry: Entry::Installed {
            beside: Sides::new(
                &["luma.gl@4.0.0-alpha.5", "react@15.6.2", "react-dom@15.6.2", "assert@1.4.1"],
                &["luma.gl@4.0.0-alpha.13", "react@15.6.2", "react-dom@15.6.2", "assert@1.4.1"],
            ),
            text: "window.React = require('react');\n\
                   window.ReactDOM = require('react-dom');\n\
                   window.deck = require('deck.gl');\n",
        },
        page: DECK.0,
        script: DECK.1,
        settings: DECK.2,
        flow: DECK.3,
        options: MESA,
        causes: &["getProgramParameter", "_getParameter"],
        why: "the shader of outlines projects three points with 64 bits instead of one, and takes longer to compile",
        paper: "8 calls above `getProgramParameter`",
    },
];

impl Bug {
    /// Its folder.
    pub fn folder(&self, folder: &Path) -> PathBuf {
        folder.join("bugs").join(self.name)
    }

    /// The site of a side, made unless it is there.
    pub fn site(&self, folder: &Path, side: Side) -> Result<PathBuf> {
        let packages = folder.join("packages");
        let tools = npm::tools(&packages, "minifiers", &MINIFIERS)?;
        let release = self.releases[side];
        let to = self.folder(folder).join(format!("site-{side}"));
        work::folder(&to, |to| {
            fs::create_dir_all(to.join("lib"))?;
            let script = to.join("lib").join(format!("{}.js", self.name.trim_end_matches(".js")));
            let package = || npm::package(&packages, self.package, release);
            match self.entry {
                Entry::File(file) => {
                    fs::copy(package()?.join(file), script)?;
                }
                Entry::Bundle(text) => {
                    let package = package()?;
                    bundle(&tools, package.parent().unwrap_or(&package), text, &script)?;
                }
                Entry::Installed { beside, text } => {
                    let whole = format!("{}@{release}", self.package);
                    let specs = [&[whole.as_str()], beside[side]].concat();
                    let name = format!("{}-{release}-installed", self.package);
                    bundle(&tools, &npm::installed(&packages, &name, &specs)?, text, &script)?;
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
    pub fn file(&self, folder: &Path, side: Side, number: usize) -> PathBuf {
        self.folder(folder).join(side.name()).join(format!("{number}.json.gz"))
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

/// Bundles what a text in a folder requires.
fn bundle(tools: &Path, folder: &Path, text: &str, to: &Path) -> Result<()> {
    fs::write(folder.join("entry.js"), text)?;
    let esbuild = tools.join("node_modules/.bin/esbuild").display().to_string();
    let outfile = format!("--outfile={}", to.display());
    let released = r#"--define:process.env.NODE_ENV="production""#;
    let arguments =
        ["entry.js", "--bundle", "--log-level=error", "--define:global=window", released, &outfile];
    npm::run(folder, &esbuild, arguments)
}

fn prefixed(kind: &str) -> String {
    if kind.is_empty() { String::new() } else { format!("{kind}, ") }
}
