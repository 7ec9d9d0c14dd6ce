//! `perfblame hook`: has git start checks, and is what the hooks start.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use perfblame_changes::Repository;
use perfblame_check::hook::{self, Changed};
use perfblame_check::{Busy, CheckOptions, Home, Unwatched};
use perfblame_report::{DiffLook, check_text};

use crate::args::{FailOn, HookArgs, HookCommand};
use crate::check::{remember, status};
use crate::failure::Failure;
use crate::output;
use crate::terminal::Terminal;
use crate::watching::Watching;

pub fn run(args: &HookArgs, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let git = Repository::with_working_tree(Path::new("."))?;
    let changed = match &args.command {
        HookCommand::Install => hook::install(&git, &program())?,
        HookCommand::Uninstall => hook::uninstall(&git)?,
        HookCommand::Run { hook } => return started(hook, &git, terminal),
    };
    for change in &changed {
        let (what, path) = match change {
            Changed::Created(path) => ("wrote", path),
            Changed::Added(path) => ("added a block to", path),
            Changed::Removed(path) => ("removed the block from", path),
            Changed::Deleted(path) => ("removed", path),
        };
        terminal.note(&format!("{what} {}", path.display()));
    }
    if changed.is_empty() {
        terminal.note("no hook contains a block of perfblame");
    }
    Ok(ExitCode::SUCCESS)
}

/// What hooks start: our name where it is found by it, or else where we are.
fn program() -> String {
    let name = "perfblame";
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()));
    match std::env::current_exe() {
        Ok(path) if !found => path.display().to_string(),
        _ => name.to_owned(),
    }
}

fn started(hook: &str, git: &Repository, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let home = Home::of(git)?;
    match hook {
        "post-commit" => after_commit(git, &home, terminal).map(|()| ExitCode::SUCCESS),
        "background" => in_background(git, &home).map(|()| ExitCode::SUCCESS),
        "pre-push" => before_push(terminal),
        other => Err(Failure {
            what: format!("unknown hook `{other}`"),
            why: String::new(),
            help: Some("the hooks are post-commit and pre-push".to_owned()),
        }
        .into()),
    }
}

/// Shows what the last background check said, and starts the next.
fn after_commit(git: &Repository, home: &Home, terminal: &Terminal) -> anyhow::Result<()> {
    let unseen = home.last().join("unseen");
    if let Ok(text) = std::fs::read_to_string(&unseen) {
        terminal.note(&format!("last check: {}", text.trim()));
        let _ = std::fs::remove_file(&unseen);
    }
    let head = git.snapshot("HEAD")?;
    hook::set_pending(home, &head.commit)?;
    let log = File::create(home.last().join("background.log"))?;
    let program = std::env::current_exe()?;
    // The lowest priority: whoever sits at the machine comes first. Both sides run under it alike.
    let mut command = if cfg!(unix) {
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).arg(program);
        nice
    } else {
        Command::new(program)
    };
    command.args(["hook", "run", "background"]).current_dir(git.root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()?;
    Ok(())
}

/// Checks the commit that waits. Of several that were made meanwhile, only the newest waits.
fn in_background(git: &Repository, home: &Home) -> anyhow::Result<()> {
    let ask = output::cancel_on_signals();
    while let Some(commit) = {
        let lock = home.lock(git, Busy::Wait, ask.cancel_flag(), &|_| ())?;
        let pending = hook::take_pending(home);
        drop(lock);
        pending
    } {
        let options = CheckOptions {
            base: Some(format!("{commit}~1")),
            head: Some(commit.clone()),
            ..CheckOptions::default()
        };
        let (line, answer) = match perfblame_check::check(Path::new("."), &options, &Unwatched, ask)
        {
            Ok(answer) => {
                let look = perfblame_report::Look { width: 100, unicode: true, colour: false };
                let mut text = Vec::new();
                check_text(&answer, DiffLook { look, limit: 1 }, &mut text)?;
                let text = String::from_utf8_lossy(&text).into_owned();
                (text.lines().next().unwrap_or_default().to_owned(), Some(answer))
            }
            Err(failure) if failure.cancelled => return Ok(()),
            Err(failure) => (failure.what, None),
        };
        if let Some(answer) = &answer {
            remember(Path::new("."), answer);
        }
        let short = commit.get(..9).unwrap_or(&commit);
        let unseen = home.last().join("unseen");
        output::write(&unseen, |out| write!(out, "{short}: {line}"))?;
    }
    Ok(())
}

/// A slowdown stops the push; a check that fails does not.
fn before_push(terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let ask = output::cancel_on_signals();
    let options = CheckOptions { head: Some("HEAD".to_owned()), ..CheckOptions::default() };
    let watching = Watching::new(terminal);
    let answer = perfblame_check::check(Path::new("."), &options, &watching, ask);
    drop(watching);
    match answer {
        Ok(answer) => {
            remember(Path::new("."), &answer);
            let how = DiffLook { look: terminal.look, limit: 5 };
            output::to_stdout(|out| check_text(&answer, how, out))?;
            let regressed = status(&answer, FailOn::Regressed) == ExitCode::from(1);
            if regressed {
                terminal.note("not pushed; `git push --no-verify` pushes anyway");
            }
            Ok(ExitCode::from(u8::from(regressed)))
        }
        Err(failure) if failure.cancelled => Ok(ExitCode::from(output::INTERRUPTED)),
        Err(failure) => {
            terminal.note(&format!("not checked: {}: {}", failure.what, failure.why));
            Ok(ExitCode::SUCCESS)
        }
    }
}
