//! Which commit deleted a function.
//!
//! A function that is gone has no lines to follow back from the head, so it is followed forward from the base. Lines
//! alone do not tell when it is gone: its last brace can live on as its neighbour's. So wherever a commit touched its
//! lines, the file is parsed, and the function must still be in it by name, or most of its lines under another name.

use hashbrown::HashMap;

use super::{Commit, History};
use crate::git::raw::{Mode, RawChange};
use crate::git::{GitError, lossy};
use crate::{Definition, LineFate, LineMap, source_file};

/// A function in one commit.
#[derive(Clone)]
struct Living {
    name: String,
    signature: Option<String>,
    path: Vec<u8>,
    lines: (u32, u32),
}

/// What became of the function in one commit.
#[derive(Clone)]
enum State {
    /// It is there; with the row of the newest commit that touched it.
    Living(Living, Option<usize>),
    /// It is gone, by the commit of this row.
    Gone(usize),
}

impl History<'_> {
    /// The commit that deleted a function of the base; where none did, the newest that touched it.
    pub fn deleting(&self, function: &Definition) -> Result<Option<Commit>, GitError> {
        let (Some(file), Some(lines)) = (&function.file, function.lines) else { return Ok(None) };
        let start = Living {
            name: function.name.clone(),
            signature: function.signature.clone(),
            path: file.clone().into_bytes(),
            lines,
        };
        let mut states: HashMap<&str, State> = HashMap::new();
        states.insert(&self.base, State::Living(start, None));
        // Parents before children.
        for (row, step) in self.commits.iter().enumerate().rev() {
            let mut after: Option<State> = None;
            for (parent, changes) in &step.parents {
                let Some(before) = states.get(parent.as_str()) else { continue };
                let state = match before {
                    State::Gone(by) => State::Gone(*by),
                    State::Living(living, touched) => match self.step_on(living, changes)? {
                        Some((living, false)) => State::Living(living, *touched),
                        Some((living, true)) => State::Living(living, Some(row)),
                        None => State::Gone(row),
                    },
                };
                after = Some(match after {
                    Some(known) => joined(known, state, row),
                    None => state,
                });
            }
            if let Some(after) = after {
                states.insert(&step.id, after);
            }
        }
        let row = match states.get(self.head.as_str()) {
            Some(State::Gone(row)) => Some(*row),
            Some(State::Living(living, touched)) => {
                if let Some(changes) = &self.uncommitted
                    && self.step_on(living, changes)?.is_none_or(|(_, touched)| touched)
                {
                    return Ok(Some(Commit::uncommitted()));
                }
                *touched
            }
            None => None,
        };
        Ok(row.and_then(|row| self.commits.get(row)).map(|step| step.commit.clone()))
    }

    /// The function after some changes and whether they touched it; none when they deleted it.
    fn step_on(
        &self,
        living: &Living,
        changes: &[RawChange],
    ) -> Result<Option<(Living, bool)>, GitError> {
        let of_path =
            |change: &&RawChange| change.old.as_ref().is_some_and(|old| old.path == living.path);
        // A file that was copied is changed once more; what stays where it was counts.
        let mut candidates = changes.iter().filter(of_path);
        let same =
            |change: &&RawChange| change.new.as_ref().is_some_and(|new| new.path == living.path);
        let change = changes.iter().filter(of_path).find(same).or_else(|| candidates.next());
        let Some(change) = change else { return Ok(Some((living.clone(), false))) };
        let Some(new) = change.new.as_ref().filter(|new| new.mode == Mode::File) else {
            return Ok(None);
        };
        let moved = |lines| Living { path: new.path.clone(), lines, ..living.clone() };
        let Some(map) = self.map(change)? else { return Ok(Some((moved(living.lines), false))) };
        let (lines, touched) = map.stretch(living.lines);
        if !touched {
            return Ok(Some((moved(lines), false)));
        }
        let Some(text) = self.text(new)? else { return Ok(Some((moved(lines), true))) };
        let Some(parsed) = source_file(&lossy(&new.path), &text) else {
            return Ok((lines.0 <= lines.1).then(|| (moved(lines), true)));
        };
        let near = |first: u32| first.abs_diff(lines.0);
        let same = parsed.functions.iter().filter(|function| {
            function.name == living.name && function.signature == living.signature
        });
        if let Some(same) = same.min_by_key(|function| near(function.lines.0)) {
            return Ok(Some((moved(same.lines), true)));
        }
        // Under another name, most of its lines are in one function.
        let kept = lines_kept(&map, living.lines);
        let whole = living.lines.1.saturating_sub(living.lines.0) as usize + 1;
        let inside = |lines: (u32, u32)| {
            kept.iter().filter(|line| (lines.0..=lines.1).contains(line)).count()
        };
        let renamed = parsed.functions.iter().max_by_key(|function| inside(function.lines));
        Ok(renamed.filter(|function| inside(function.lines) * 2 > whole).map(|function| {
            let name = function.name.clone();
            (Living { name, signature: function.signature.clone(), ..moved(function.lines) }, true)
        }))
    }
}

/// What two parents make of a function together: a merge that keeps it in one of them keeps it, and what one parent
/// had deleted was deleted there and not by the merge.
fn joined(one: State, other: State, merge: usize) -> State {
    match (one, other) {
        (State::Living(living, one), State::Living(_, other)) => {
            State::Living(living, one.min(other).or(one).or(other))
        }
        (living @ State::Living(..), State::Gone(_))
        | (State::Gone(_), living @ State::Living(..)) => living,
        (State::Gone(one), State::Gone(other)) if one == merge => State::Gone(other),
        (State::Gone(one), State::Gone(other)) if other == merge => State::Gone(one),
        // Rows count from the newest.
        (State::Gone(one), State::Gone(other)) => State::Gone(one.min(other)),
    }
}

/// Where the lines of a stretch are that did not change.
fn lines_kept(map: &LineMap, lines: (u32, u32)) -> Vec<u32> {
    let fate = |line| match map.after(line) {
        LineFate::Same(line) => Some(line),
        _ => None,
    };
    (lines.0..=lines.1).filter_map(fate).collect()
}
