//! Records visits with `perfblame record chrome`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::ADDRESS;
use crate::serve::Server;
use crate::work;

/// How often a visit is tried: browsers sometimes do not start on a busy machine.
const ATTEMPTS: usize = 3;

/// What a page reports of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// How often each counter was reached; absent ones never.
    pub counts: Vec<Option<u64>>,
    pub errors: Vec<String>,
    /// What there is to see at the end, roughly.
    pub seen: String,
}

/// Who records.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub perfblame: PathBuf,
}

impl Recorder {
    /// Records a visit to a site, unless the file is there.
    pub fn record(&self, site: &Path, flow: &str, options: &[&str], to: &Path) -> Result<()> {
        if to.exists() {
            return Ok(());
        }
        let mut attempt = 1;
        loop {
            let server = Server::start(site)?;
            match self.visit(&server, flow, options, to) {
                Err(error) if attempt == ATTEMPTS => return Err(error),
                Err(_) => attempt += 1,
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Visits a site that reports.
    pub fn report(&self, site: &Path, flow: &str, to: &Path) -> Result<Report> {
        let server = Server::start(site)?;
        let mut flow: Value = serde_json::from_str(flow)?;
        let asks =
            json!({ "type": "waitForExpression", "expression": "zamReport()", "timeout": 5000 });
        flow["steps"].as_array_mut().context("a flow without steps")?.push(asks);
        self.visit(&server, &flow.to_string(), &[], to)?;
        let report = server.report().context("the page reported nothing")?;
        serde_json::from_slice(&report).context("a report")
    }

    fn visit(&self, server: &Server, flow: &str, options: &[&str], to: &Path) -> Result<()> {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        let folder = work::unfinished(to);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let flow_file = folder.join("flow.json");
        fs::write(&flow_file, flow.replace(ADDRESS, &server.address()))?;
        let recorded = folder.join("recorded");
        let output = Command::new(&self.perfblame)
            .args(["record", "chrome", "--quiet"])
            .args(options)
            .arg("--flow")
            .arg(&flow_file)
            .arg("--output")
            .arg(&recorded)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", self.perfblame.display()))?;
        let run = recorded.join("run-1.json.gz");
        if !output.status.success() || !run.exists() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            bail!("{}: {said}", to.display());
        }
        fs::rename(run, to)?;
        fs::remove_dir_all(folder)?;
        Ok(())
    }
}
