//! Sites: folders with all files of an application, as they are served.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use perfblame_cct::Side;

use crate::app::{App, SHARED};
use crate::inject::COUNTERS;
use crate::npm::{self, MINIFIERS};
use crate::work;

/// What a site is made of.
pub struct Recipe<'a> {
    pub app: &'a App,
    pub release: Side,
    /// Scripts that differ, by their address.
    pub scripts: BTreeMap<String, String>,
    /// It counts and reports.
    pub reports: bool,
    /// Each release with another tool.
    pub minified: bool,
}

impl<'a> Recipe<'a> {
    /// A release as it is.
    pub fn plain(app: &'a App, release: Side) -> Self {
        Self { app, release, scripts: BTreeMap::new(), reports: false, minified: false }
    }
}

/// The text of a script of a release.
pub fn script(packages: &Path, app: &App, release: Side, address: &str) -> Result<String> {
    match address {
        "/visit.js" => return Ok(SHARED.to_owned()),
        "/app.js" => return Ok(app.script.to_owned()),
        _ => {}
    }
    let named = |(_, name): &&(&str, &str)| address.strip_prefix("/lib/") == Some(*name);
    let (file, _) = app.files.iter().find(named).context("no such script")?;
    let package = npm::package(packages, app.package, app.releases[release])?;
    let path = package.join(file);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// Makes a site, unless it is there.
pub fn make(packages: &Path, recipe: &Recipe<'_>, to: &Path) -> Result<()> {
    let app = recipe.app;
    let package = npm::package(packages, app.package, app.releases[recipe.release])?;
    work::folder(to, |folder| {
        fs::create_dir_all(folder.join("lib"))?;
        let page = if recipe.reports {
            app.page.replacen("<meta charset", &format!("{COUNTERS}<meta charset"), 1)
        } else {
            app.page.to_owned()
        };
        fs::write(folder.join("index.html"), page)?;
        fs::write(folder.join("settings.json"), app.settings)?;
        for (file, name) in app.files {
            let from = package.join(file);
            let to = folder.join("lib").join(name);
            fs::copy(&from, to).with_context(|| from.display().to_string())?;
        }
        fs::write(folder.join("visit.js"), SHARED)?;
        fs::write(folder.join("app.js"), app.script)?;
        for (address, text) in &recipe.scripts {
            fs::write(folder.join(address.trim_start_matches('/')), text)?;
        }
        if recipe.minified {
            for address in app.scripts() {
                minify(packages, recipe.release, &folder.join(address.trim_start_matches('/')))?;
            }
        }
        Ok(())
    })
}

/// Minifies a script in place.
fn minify(packages: &Path, release: Side, script: &Path) -> Result<()> {
    let tools = npm::tools(packages, "minifiers", &MINIFIERS)?;
    let bin = |name: &str| tools.join("node_modules/.bin").join(name).display().to_string();
    let minified: PathBuf = script.with_extension("min");
    let (from, to) = (script.display().to_string(), minified.display().to_string());
    let here = script.parent().unwrap_or(Path::new("."));
    match release {
        Side::Before => {
            npm::run(here, &bin("terser"), [&from, "--compress", "--mangle", "--output", &to])?;
        }
        Side::After => {
            let outfile = format!("--outfile={to}");
            npm::run(here, &bin("esbuild"), [&from, "--minify", "--log-level=error", &outfile])?;
        }
    }
    if fs::metadata(&minified)?.len() == 0 {
        bail!("nothing is left of {from}");
    }
    fs::rename(minified, script)?;
    Ok(())
}
