//! git starts checks: after a commit in the background, before a push in front.
//!
//! Hooks belong to the user. Ours is a marked block inside of them, written where git looks (`core.hooksPath` included)
//! and taken out again without touching a byte around it.

use std::path::{Path, PathBuf};

use crate::home::Home;
use crate::{Failure, Repository};

const BEGIN: &str = "# >>> perfblame >>>";
const END: &str = "# <<< perfblame <<<";

/// The hooks we have a block in.
const HOOKS: [&str; 2] = ["post-commit", "pre-push"];

/// What happened to a hook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Changed {
    /// A file was written that was not there.
    Created(PathBuf),
    /// The block was put into a file, or renewed.
    Added(PathBuf),
    /// The block was taken out.
    Removed(PathBuf),
    /// The file held nothing else, and is gone.
    Deleted(PathBuf),
}

/// Puts our block into the hooks. `program` is what they start.
pub fn install(git: &Repository, program: &str) -> Result<Vec<Changed>, Failure> {
    let folder = folder(git)?;
    let mut changed = Vec::new();
    // All are looked at before any is written.
    let mut texts = Vec::new();
    for hook in HOOKS {
        let path = folder.join(hook);
        let text = read(&path)?;
        if let Some(text) = &text {
            is_shell(&path, text)?;
        }
        texts.push((hook, path, text));
    }
    std::fs::create_dir_all(&folder).map_err(|error| Failure::io("make", &folder, &error))?;
    for (hook, path, text) in texts {
        let block = block(hook, program);
        let new = match &text {
            None => format!("#!/bin/sh\n{block}"),
            Some(text) => with_block(&without_block(text), &block),
        };
        write(&path, &new)?;
        changed.push(match text {
            None => Changed::Created(path),
            Some(_) => Changed::Added(path),
        });
    }
    Ok(changed)
}

/// Takes our block out of the hooks, and away hooks that held nothing else.
pub fn uninstall(git: &Repository) -> Result<Vec<Changed>, Failure> {
    let folder = folder(git)?;
    let mut changed = Vec::new();
    for hook in HOOKS {
        let path = folder.join(hook);
        let Some(text) = read(&path)?.filter(|text| text.contains(BEGIN)) else { continue };
        let rest = without_block(&text);
        if rest.trim().is_empty() || rest.trim() == "#!/bin/sh" {
            std::fs::remove_file(&path).map_err(|error| Failure::io("remove", &path, &error))?;
            changed.push(Changed::Deleted(path));
        } else {
            write(&path, &rest)?;
            changed.push(Changed::Removed(path));
        }
    }
    Ok(changed)
}

/// The commit that waits for a background check; only the newest does.
pub fn set_pending(home: &Home, commit: &str) -> Result<(), Failure> {
    let path = home.last().join("pending");
    perfblame_disk::write_bytes(&path, commit.as_bytes())
        .map_err(|error| Failure::io("write", &path, &error))
}

/// Takes the commit that waits, if one does.
pub fn take_pending(home: &Home) -> Option<String> {
    let path = home.last().join("pending");
    let commit = std::fs::read_to_string(&path).ok()?;
    std::fs::remove_file(&path).ok()?;
    Some(commit.trim().to_owned()).filter(|commit| !commit.is_empty())
}

fn folder(git: &Repository) -> Result<PathBuf, Failure> {
    git.hooks()?.ok_or_else(|| Failure::new("git does not report where its hooks are", ""))
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::io("read", path, &error)),
    }
}

/// A hook that is no shell script cannot take our block.
fn is_shell(path: &Path, text: &str) -> Result<(), Failure> {
    let first = text.lines().next().unwrap_or_default();
    let shell = first.starts_with("#!")
        && ["sh", "bash", "dash", "zsh"]
            .iter()
            .any(|name| first.split(['/', ' ']).any(|word| word == *name));
    if shell || text.trim().is_empty() {
        return Ok(());
    }
    let what = format!("{} is not a shell script", path.display());
    Err(Failure::new(what, format!("it begins with `{first}`")).help(
        "let it run `perfblame hook run post-commit` or `perfblame hook run pre-push` itself",
    ))
}

fn block(hook: &str, program: &str) -> String {
    let quoted = format!("'{}'", program.replace('\'', r"'\''"));
    let (what, ending) = match hook {
        "pre-push" => ("Checks the pushed commits; `git push --no-verify` skips this.", "exit 1"),
        _ => ("Checks the commit in the background.", "true"),
    };
    format!(
        "{BEGIN}\n# {what} `perfblame hook uninstall` removes this block.\n\
         if command -v {quoted} >/dev/null 2>&1; then\n  {quoted} hook run {hook} </dev/null || {ending}\nfi\n{END}\n"
    )
}

/// A script with our block: at its end, or at its start where it would not come to its end.
fn with_block(text: &str, block: &str) -> String {
    let leaves = |line: &str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        matches!(word, "exit" | "exec")
    };
    if text.lines().any(leaves) {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        return format!("{first}\n{block}{rest}");
    }
    let joint = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{joint}{block}")
}

/// A script without our block.
fn without_block(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        match line.trim_end() {
            BEGIN => inside = true,
            END if inside => inside = false,
            _ if !inside => rest.push_str(line),
            _ => {}
        }
    }
    rest
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::io("write", path, &error);
    std::fs::write(path, text).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut rights = path.metadata().map_err(failed)?.permissions();
        rights.set_mode(rights.mode() | 0o111);
        std::fs::set_permissions(path, rights).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_comes_and_goes_without_a_trace() {
        let block = block("post-commit", "perfblame");
        for script in [
            "#!/bin/sh\necho mine\n",
            "#!/bin/sh\necho mine\nexit 0\n",
            "#!/bin/bash\nexec other\n",
        ] {
            let with = with_block(script, &block);
            assert!(with.contains("hook run post-commit"), "{with}");
            assert!(with.starts_with("#!"), "{with}");
            assert_eq!(without_block(&with), script);
            assert_eq!(with_block(&without_block(&with), &block), with);
        }
    }

    #[test]
    fn a_script_that_leaves_early_still_comes_to_the_block() {
        let with = with_block("#!/bin/sh\nexit 0\n", &block("pre-push", "/a b/perfblame"));
        assert!(with.find("hook run").unwrap() < with.find("exit 0").unwrap());
        assert!(with.contains("'/a b/perfblame' hook run pre-push"));
    }

    #[test]
    fn only_shell_scripts_take_the_block() {
        let shell = |text: &str| is_shell(Path::new("hook"), text).is_ok();
        assert!(shell("#!/usr/bin/env bash\n") && shell("#!/bin/sh -e\n") && shell(""));
        assert!(!shell("#!/usr/bin/env python3\n") && !shell("\u{7f}ELF"));
    }
}
