//! A real git repository with a small program in it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::run::Folder;

/// A repository that goes with the test.
pub struct Repository(pub Folder);

impl Repository {
    pub fn new() -> Self {
        let repository = Self(Folder::new());
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        for (name, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
            repository.git(&["config", name, value]);
        }
        repository
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(self.0.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Writes files and commits them.
    pub fn commit(&self, subject: &str, files: &[(&str, &str)]) {
        for (name, content) in files {
            self.0.file(name, content);
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", subject]);
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.0.run(arguments)
    }

    /// Starts the program in the background.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.0.perfblame(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().unwrap()
    }

    /// What is left in perfblame's folder of checkouts.
    pub fn trees(&self) -> Vec<String> {
        let folder = self.0.path().join(".git/perfblame/trees");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Waits until something is true.
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < end, "{what} never came true");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Interrupts a process group as a terminal does.
pub fn interrupt(child: &Child) {
    let line = format!("kill -s INT -- -{}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
}
