//! The cases, as table 2 of the paper has them: causes within programs, and delays in what they load.

/// How redis is started: it listens on a socket in the case's folder only.
macro_rules! redis {
    ($($more:literal),*) => {
        &[
            "./redis-server",
            "--port",
            "0",
            "--unixsocket",
            "redis.sock",
            "--save",
            "",
            "--appendonly",
            "no",
            $($more),*
        ]
    };
}

/// How redis is asked: once it answers, and it ends afterwards.
macro_rules! ask_redis {
    ($commands:literal) => {
        concat!(
            "for i in $(seq 100); do redis-cli -s redis.sock ping >/dev/null 2>&1 && break; sleep 0.05; done\n",
            $commands,
            "\nredis-cli -s redis.sock shutdown nosave"
        )
    };
}

mod injected;
mod internal;
mod unseen;

pub(crate) use injected::HEADER;

use crate::case::Case;

/// All cases in the order of the table.
pub fn cases() -> Vec<&'static Case> {
    internal::CASES.iter().chain(injected::CASES).chain(unseen::CASES).collect()
}

/// True for cases by which nothing was set.
pub fn is_unseen(name: &str) -> bool {
    unseen::CASES.iter().any(|case| case.name == name)
}

/// Nothing out of the ordinary; cases say what is.
const PLAIN: Case = Case {
    name: "",
    program: "",
    what: "",
    packages: &[],
    cause: crate::case::Cause::Internal,
    truth: crate::case::Truth { object: "", functions: &[], why: "" },
    plugin: None,
    prepare: "",
    base: &[],
    buggy: &[],
    environment: &[],
    client: None,
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::case::{Cause, Workload};

    #[test]
    fn every_case_is_whole_and_has_its_own_name() {
        let mut names: Vec<_> = cases().iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cases().len());
        for case in cases() {
            assert!(
                !case.truth.functions.is_empty() && !case.truth.why.is_empty(),
                "{}",
                case.name
            );
            assert!(!case.packages.is_empty() && !case.what.is_empty(), "{}", case.name);
            assert_eq!(case.plugin.is_some(), case.cause != Cause::Internal, "{}", case.name);
            let program = case.command(Workload::Base, Path::new("/case"))[0].clone();
            assert_eq!(
                program,
                case.command(Workload::Buggy, Path::new("/case"))[0],
                "{}",
                case.name
            );
        }
    }
}
