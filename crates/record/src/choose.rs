//! Which profiler fits a program, and why.

use crate::command::{ProgramKind, find};
use crate::{Profiler, Program, RecordError};

/// A profiler that fits, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The profiler.
    pub profiler: Profiler,
    /// What about the program says so.
    pub because: String,
}

/// Finds the profiler that fits a program by what its command is.
pub fn choose(program: &Program) -> Result<Choice, RecordError> {
    let found = find(program)?;
    let profiler = match found.kind {
        ProgramKind::JavaLauncher | ProgramKind::Jar | ProgramKind::JavaWrapper => Profiler::Jfr,
        ProgramKind::Python => Profiler::PySpy,
        ProgramKind::NodeLauncher | ProgramKind::NodeScript | ProgramKind::NodeWrapper => {
            Profiler::NodeCpuProf
        }
        // perf sees every process, so that it also fits a script of native programs.
        ProgramKind::Elf | ProgramKind::Script => Profiler::Perf,
        ProgramKind::Unknown => {
            let program = program.command.first().map(|word| word.to_string_lossy().into_owned());
            let program = program.unwrap_or_default();
            return Err(RecordError::NoProfilerFits { program, why: found.because });
        }
    };
    Ok(Choice { profiler, because: found.because })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// A folder with programs of all kinds, which goes with the test.
    struct Programs(PathBuf);

    impl Programs {
        fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
            let folder =
                std::env::temp_dir().join(format!("perfblame-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            for (name, content) in files {
                let path = folder.join(name);
                fs::write(&path, content).unwrap();
                let mode = if name.contains("jar") { 0o644 } else { 0o755 };
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
            Self(folder)
        }

        fn choose(&self, words: &[&str]) -> Result<Choice, RecordError> {
            let mut program = Program::new(words.iter().map(OsString::from));
            program.directory.clone_from(&self.0);
            program.environment.push(("PATH".into(), self.0.clone().into()));
            choose(&program)
        }
    }

    impl Drop for Programs {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_profiler_fits_what_would_run() {
        let programs = Programs::new(
            "choose",
            &[
                ("java", b"\x7fELF"),
                ("app.jar", b"PK\x03\x04"),
                ("gradlew", b"#!/bin/sh\n"),
                ("start", b"#!/bin/sh\n# node is not it\ncd x\nexec \"$JAVACMD\" \"$@\"\n"),
                ("python3.12", b"\x7fELF"),
                ("pytest", b"#!/opt/env/bin/python3\nimport x\n"),
                ("flask", b"#!/usr/bin/env -S python3 -u\n"),
                ("node", b"\x7fELF"),
                ("tsc", b"#!/usr/bin/env node\n"),
                ("npx", b"#!/usr/bin/env node\n"),
                ("parser", b"\x7fELF"),
                ("build", b"#!/bin/bash\nmake\n"),
                ("env", b"\x7fELF"),
                ("sh", b"\x7fELF"),
                ("text", b"hello"),
            ],
        );
        let check = |words: &[&str], profiler| {
            let choice = programs.choose(words).unwrap();
            assert_eq!(choice.profiler, profiler, "{words:?}: {}", choice.because);
            assert!(!choice.because.is_empty());
        };
        check(&["java", "-jar", "x.jar"], Profiler::Jfr);
        check(&["app.jar"], Profiler::Jfr);
        check(&["./gradlew", "test"], Profiler::Jfr);
        check(&["./start"], Profiler::Jfr);
        check(&["python3.12", "x.py"], Profiler::PySpy);
        check(&["pytest"], Profiler::PySpy);
        check(&["./flask", "run"], Profiler::PySpy);
        check(&["node", "x.js"], Profiler::NodeCpuProf);
        check(&["tsc"], Profiler::NodeCpuProf);
        check(&["npx", "x"], Profiler::NodeCpuProf);
        check(&["./parser", "java"], Profiler::Perf);
        check(&["./build"], Profiler::Perf);
        check(&["env", "-i", "A=1", "node", "x.js"], Profiler::NodeCpuProf);
        check(&["env", "parser"], Profiler::Perf);
        check(&["sh", "-c", "cd x && java Y"], Profiler::Jfr);
        check(&["sh", "-c", "true"], Profiler::Perf);
        check(&["sh", "-e", "start"], Profiler::Jfr);
        let error = programs.choose(&["./text"]).unwrap_err();
        assert!(matches!(error, RecordError::NoProfilerFits { .. }), "{error}");
        let error = programs.choose(&["./absent"]).unwrap_err();
        assert!(matches!(error, RecordError::Start { .. }), "{error}");
        assert!(matches!(programs.choose(&[]).unwrap_err(), RecordError::NoCommand));
    }
}
