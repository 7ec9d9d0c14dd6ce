//! The agent that counts every call of a Java program: where its jar is, and how a JVM is told to use it.
//!
//! perfblame builds without Java, so the jar is a file of its own and has to be found. `docs/java-agent.md` says what
//! the agent does with its options.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The jar's name.
pub const AGENT: &str = "perfblame-agent.jar";

/// Where to look for the agent when nobody names its jar.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The running program.
    pub executable: Option<PathBuf>,
    /// Where perfblame's other files are: `$PERFBLAME_HOME`.
    pub home: Option<PathBuf>,
    /// The working folder.
    pub working: Option<PathBuf>,
}

impl Places {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        let home = std::env::var_os("PERFBLAME_HOME").filter(|home| !home.is_empty());
        Self {
            executable: std::env::current_exe().ok(),
            home: home.map(PathBuf::from),
            working: std::env::current_dir().ok(),
        }
    }

    /// All jars that would do, the best first: beside the program, in perfblame's home, in a checkout around the
    /// program, in one around the working folder.
    fn candidates(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if let Some(folder) = self.executable.as_deref().and_then(Path::parent) {
            found.push(folder.join(AGENT));
            found.push(folder.join("agents").join(AGENT));
        }
        found.extend(self.home.as_ref().map(|home| home.join("agents").join(AGENT)));
        for inside in [&self.executable, &self.working].into_iter().flatten() {
            let built = |folder: &Path| folder.join("agents/java/target").join(AGENT);
            found.extend(inside.ancestors().map(built));
        }
        found
    }
}

/// The agent's jar is nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoAgent {
    /// The jar that was named and is not there.
    pub named: Option<PathBuf>,
}

impl std::fmt::Display for NoAgent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.named {
            Some(jar) => write!(out, "the agent's jar {} does not exist", jar.display()),
            None => write!(out, "cannot find the agent's jar"),
        }
    }
}

impl std::error::Error for NoAgent {}

impl NoAgent {
    /// What to do.
    pub fn help(&self) -> String {
        format!(
            "build it with `mvn -f agents/java/pom.xml package` in perfblame's sources, then put {AGENT} next to `perfblame` or into `$PERFBLAME_HOME/agents`, or give its path with `--agent JAR`"
        )
    }
}

/// The agent's jar: the one that is named, else the first that is there.
pub fn find_agent(named: Option<&Path>, places: &Places) -> Result<PathBuf, NoAgent> {
    if let Some(jar) = named {
        if jar.is_file() {
            return Ok(std::path::absolute(jar).unwrap_or_else(|_| jar.to_owned()));
        }
        return Err(NoAgent { named: Some(jar.to_owned()) });
    }
    let mut candidates = places.candidates().into_iter();
    candidates.find(|jar| jar.is_file()).ok_or(NoAgent { named: None })
}

/// What the agent is asked for.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// The profile; `%p` in its name becomes the process id, for programs that start several JVMs.
    pub out: PathBuf,
    /// Packages and classes whose methods are counted; all but the JDK's where there are none.
    pub packages: Vec<String>,
    /// Those left out of them.
    pub exclude: Vec<String>,
    /// A file whose appearance asks for the profile as it is then. The agent takes it away when the profile is there.
    pub trigger: Option<PathBuf>,
    /// Other options as `docs/java-agent.md` lists them, each as `key=value`.
    pub more: Vec<String>,
}

/// The options that make a JVM run with the agent. They belong before the main class or `-jar`, or into
/// `JAVA_TOOL_OPTIONS`.
pub fn jvm_options(agent: &Path, options: &AgentOptions) -> Vec<OsString> {
    let mut option = OsString::from("-javaagent:");
    option.push(agent);
    option.push("=out=");
    option.push(&options.out);
    for (key, names) in [("packages", &options.packages), ("exclude", &options.exclude)] {
        if !names.is_empty() {
            option.push(format!(",{key}={}", names.join(":")));
        }
    }
    if let Some(trigger) = &options.trigger {
        option.push(",trigger=");
        option.push(trigger);
    }
    for each in &options.more {
        option.push(",");
        option.push(each);
    }
    vec![option]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, with these files in it.
    fn folder(test: &str, files: &[&str]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("perfblame-agent-{test}-{}", std::process::id()));
        for file in files {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        root
    }

    fn check_found(test: &str, files: &[&str], expected: Option<&str>) {
        let root = folder(test, files);
        let places = Places {
            executable: Some(root.join("checkout/target/release/perfblame")),
            home: Some(root.join("home")),
            working: Some(root.join("elsewhere/deep/inside")),
        };
        let found = find_agent(None, &places).ok();
        assert_eq!(found, expected.map(|file| root.join(file)), "{files:?}");
        let _ = std::fs::remove_dir_all(root);
    }

    #[test]
    fn the_nearest_jar_is_taken() {
        let beside = "checkout/target/release/perfblame-agent.jar";
        let home = "home/agents/perfblame-agent.jar";
        let built = "checkout/agents/java/target/perfblame-agent.jar";
        let around = "elsewhere/agents/java/target/perfblame-agent.jar";
        check_found("all", &[around, built, home, beside], Some(beside));
        check_found("home", &[around, built, home], Some(home));
        check_found("built", &[around, built], Some(built));
        check_found("around", &[around], Some(around));
        check_found("none", &["checkout/pom.xml"], None);
    }

    #[test]
    fn a_named_jar_is_the_only_one_that_counts() {
        let root = folder("named", &["beside/perfblame-agent.jar", "mine.jar"]);
        let places =
            Places { executable: Some(root.join("beside/perfblame")), ..Places::default() };
        let mine = root.join("mine.jar");
        assert_eq!(find_agent(Some(&mine), &places), Ok(mine));
        let missing = root.join("other.jar");
        let error = find_agent(Some(&missing), &places).unwrap_err();
        assert!(error.to_string().contains("other.jar"), "{error}");
        assert!(error.help().contains("--agent JAR"));
        let _ = std::fs::remove_dir_all(root);
    }

    #[test]
    fn options_are_one_word() {
        let options = AgentOptions {
            out: "runs/calls-%p.perfblame".into(),
            packages: vec!["com.shop".into(), "org.bar".into()],
            exclude: vec!["com.shop.generated".into()],
            trigger: Some("now".into()),
            more: vec!["depth=99".into()],
        };
        let plain = AgentOptions { out: "a.perfblame".into(), ..AgentOptions::default() };
        let jar = Path::new("/opt/perfblame-agent.jar");
        assert_eq!(
            jvm_options(jar, &plain),
            ["-javaagent:/opt/perfblame-agent.jar=out=a.perfblame"]
        );
        assert_eq!(
            jvm_options(jar, &options),
            ["-javaagent:/opt/perfblame-agent.jar=out=runs/calls-%p.perfblame,\
              packages=com.shop:org.bar,exclude=com.shop.generated,trigger=now,depth=99"]
        );
    }
}
