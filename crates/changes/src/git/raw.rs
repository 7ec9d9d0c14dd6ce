//! The records in which git says which files differ.

use super::GitError;

/// A file that differs, as git says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RawChange {
    pub old: Option<Entry>,
    pub new: Option<Entry>,
}

/// A file on one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Any bytes: git does not care what they mean.
    pub path: Vec<u8>,
    pub mode: Mode,
    /// The contents' id; none when they are in the working tree.
    pub id: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    File,
    Link,
    Submodule,
}

impl Mode {
    pub fn of(text: &[u8]) -> Option<Self> {
        match text {
            b"100644" | b"100755" | b"100664" => Some(Self::File),
            b"120000" => Some(Self::Link),
            b"160000" => Some(Self::Submodule),
            _ => None,
        }
    }
}

impl RawChange {
    /// The same seen from the other side.
    pub fn reversed(self) -> Self {
        Self { old: self.new, new: self.old }
    }
}

/// Reads one record whose first part is `head`; its paths follow.
pub(super) fn record<'a>(
    head: &[u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<RawChange, GitError> {
    let bad = || GitError::Unexpected(String::from_utf8_lossy(head).into_owned());
    let fields: Vec<&[u8]> =
        head.strip_prefix(b":").ok_or_else(bad)?.split(|byte| *byte == b' ').collect();
    let &[old_mode, new_mode, old_id, new_id, status] = fields.as_slice() else {
        return Err(bad());
    };
    let path = rest.next().ok_or_else(bad)?;
    let two = matches!(status.first(), Some(b'R' | b'C'));
    let new_path = if two { rest.next().ok_or_else(bad)? } else { path };
    let entry = |mode: &[u8], id: &[u8], path: &[u8]| {
        let mode = Mode::of(mode)?;
        let known = id.iter().any(|digit| *digit != b'0');
        let id = known.then(|| String::from_utf8_lossy(id).into_owned());
        Some(Entry { path: path.to_vec(), mode, id })
    };
    // A copy leaves what it was made from where it is.
    let old = if status.first() == Some(&b'C') { None } else { entry(old_mode, old_id, path) };
    Ok(RawChange { old, new: entry(new_mode, new_id, new_path) })
}

/// Reads records until there are no more.
pub(super) fn records(output: &[u8]) -> Result<Vec<RawChange>, GitError> {
    let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let mut found = Vec::new();
    while let Some(head) = parts.next() {
        found.push(record(head, &mut parts)?);
    }
    Ok(found)
}
