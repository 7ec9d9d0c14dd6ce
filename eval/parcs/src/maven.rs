//! Fetching from the Maven repository that the machine is set up for.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The plugin that fetches; pinned as everything else.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

/// What to fetch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Artifact {
    /// `group:artifact:version`.
    pub coordinates: String,
    /// `sources`, for instance.
    pub classifier: Option<&'static str>,
}

/// Whether what an artifact needs to run comes with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    Fetched,
    LeftOut,
}

/// A project whose dependencies are the artifacts: Maven resolves them as it does for everybody.
pub fn project(artifacts: &[Artifact], needs: Needs) -> Result<String> {
    let mut text = String::from(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n<modelVersion>4.0.0</modelVersion>\n\
         <groupId>eval</groupId><artifactId>eval</artifactId><version>1</version><packaging>pom</packaging>\n\
         <dependencies>\n",
    );
    for artifact in artifacts {
        let parts: Vec<&str> = artifact.coordinates.split(':').collect();
        let [group, name, version] = parts[..] else {
            bail!("{}: not group:artifact:version", artifact.coordinates);
        };
        write!(
            text,
            "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        )?;
        if let Some(classifier) = artifact.classifier {
            write!(text, "<classifier>{classifier}</classifier>")?;
        }
        if needs == Needs::LeftOut {
            text.push_str(
                "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>",
            );
        }
        text.push_str("</dependency>\n");
    }
    text.push_str("</dependencies>\n</project>\n");
    Ok(text)
}

/// Puts the artifacts' jars into a folder.
pub fn fetch(artifacts: &[Artifact], needs: Needs, folder: &Path) -> Result<()> {
    let pom = folder.join("pom.xml");
    std::fs::write(&pom, project(artifacts, needs)?)?;
    let output = Command::new("mvn")
        .args(["--quiet", "--batch-mode", "--file"])
        .arg(&pom)
        .args([COPY, "-DincludeScope=runtime"])
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .output()
        .context("mvn, which fetches the programs, cannot be started; is Maven installed?")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        let first = said.lines().find(|line| line.contains("ERROR")).unwrap_or("it says nothing");
        bail!("Maven cannot fetch {}: {first}", artifacts[0].coordinates);
    }
    Ok(())
}
