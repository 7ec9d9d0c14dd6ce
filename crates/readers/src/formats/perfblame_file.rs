//! perfblame's own file, which the crate `perfblame-file` reads and writes.

use perfblame_cct::{Profile, RunSet, Times, coarsen, normalise};
use perfblame_file::{FileError, FileErrorKind};

use crate::error::{ReadError, ReadErrorKind};
use crate::format::{Format, ReadOptions};
use crate::input::Input;

/// This format's row in the table.
pub const FORMAT: Format =
    Format { name: "perfblame", producers: "`perfblame convert`", sniff, read, tracer: None };

/// True for perfblame's own files, of any version.
pub fn sniff(input: &Input) -> bool {
    perfblame_file::is_own_file(input.head())
}

/// Reads a file. The runs of a file that keeps several apart are added up; [`read_runs`] keeps them.
pub fn read(input: Input, options: &ReadOptions) -> Result<Profile, ReadError> {
    let profile = perfblame_file::read(&mut input.into_stream()?, options.times)?;
    // A tree stored coarser than it is asked for stays as it is, and says so by its grain.
    let coarse = profile.tree.grain() <= options.grain;
    let profile = if coarse { profile } else { coarsen(&profile, options.grain) };
    Ok(normalise(profile, options.names))
}

/// Reads the runs of a file, one of a file that holds a single profile.
pub fn read_runs(input: Input, times: Times) -> Result<RunSet, ReadError> {
    Ok(perfblame_file::read_runs(&mut input.into_stream()?, times)?)
}

impl From<FileError> for ReadError {
    fn from(error: FileError) -> Self {
        let kind = match error.kind {
            FileErrorKind::Io(error) => ReadErrorKind::Io(error),
            FileErrorKind::Truncated { wanted, left } => ReadErrorKind::Truncated { wanted, left },
            FileErrorKind::Unsupported(what) => ReadErrorKind::Unsupported(what),
            FileErrorKind::Malformed(what) => ReadErrorKind::Malformed(what),
            FileErrorKind::TooLarge { what, size, limit } => {
                ReadErrorKind::TooLarge { what, size, limit }
            }
        };
        Self { format: None, offset: error.offset, kind, help: error.help.map(str::to_owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_fixtures::profile;

    fn reread(profile: &Profile) -> Profile {
        let mut bytes = Vec::new();
        perfblame_file::write(profile, &mut bytes).unwrap();
        crate::read(Input::from_bytes(bytes).unwrap(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn the_format_before_is_kept() {
        let mut first = profile("main");
        first.info.format = "pprof".to_owned();
        assert_eq!(reread(&first).info.format, "pprof");
        assert_eq!(reread(&profile("main")).info.format, "perfblame");
    }

    #[test]
    fn errors_say_what_and_where() {
        let bytes = b"PERFBLAME\0\x07\0\0\0\0\0".to_vec();
        let error =
            crate::read(Input::from_bytes(bytes).unwrap(), &ReadOptions::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "perfblame at byte 10: the file has version 7, but this perfblame reads versions only up to 1"
        );
        assert_eq!(error.help.as_deref(), Some("update perfblame"));
    }
}
