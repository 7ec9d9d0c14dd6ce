//! Zip files that hold one profile, as PerfView and issue trackers make them: the one member is what is read.

use std::io::{Read, Seek};

use perfblame_archive::{Archive, Member, ZipError, ZipErrorKind};

use crate::error::ReadError;

pub use perfblame_archive::MAGIC;

/// Names shown when there are several members.
const SHOWN: usize = 8;

/// The unpacked bytes of the one member of a zip file.
pub fn open<S: Read + Seek + Send + 'static>(source: S) -> Result<Box<dyn Read + Send>, ReadError> {
    let archive = Archive::of_stream(source).map_err(wrong)?;
    let is_content = |member: &Member| {
        !member.name.ends_with('/')
            && !member.name.starts_with("__MACOSX/")
            && !member.name.ends_with(".DS_Store")
    };
    let mut members = archive.members.iter().enumerate().filter(|(_, it)| is_content(it));
    match (members.next(), members.next()) {
        (None, _) => Err(ReadError::unsupported("the zip file is empty")),
        (Some((index, _)), None) => archive.stream(index).map_err(wrong),
        _ => {
            let members: Vec<&Member> =
                archive.members.iter().filter(|member| is_content(member)).collect();
            Err(several(&members))
        }
    }
}

fn wrong(error: ZipError) -> ReadError {
    match error.kind {
        ZipErrorKind::NoList => {
            ReadError::malformed(error.offset, error.kind.to_string()).help("it looks cut off")
        }
        ZipErrorKind::Encrypted => {
            ReadError::unsupported("the zip file is encrypted").help("unzip it first")
        }
        ZipErrorKind::Method(method) => {
            let message = format!("the zip file uses the unsupported compression method {method}");
            ReadError::unsupported(message).help("unzip it first")
        }
        kind => ReadError::malformed(error.offset, format!("the zip file: {kind}")),
    }
}

fn several(members: &[&Member]) -> ReadError {
    let mut names: Vec<&str> =
        members.iter().take(SHOWN).map(|member| member.name.as_str()).collect();
    let more = format!("and {} more", members.len().saturating_sub(SHOWN));
    if members.len() > SHOWN {
        names.push(&more);
    }
    if members.iter().all(|member| member.name.contains(".trace/")) {
        return ReadError::unsupported("a zipped Instruments trace, which only Instruments can read")
            .help("unzip it, export its time-profile table with `xcrun xctrace export --input X.trace --xpath …`, and read that");
    }
    let message = format!("the zip file contains {} files: {}", members.len(), names.join(", "));
    ReadError::unsupported(message).help("unzip it and give the file to read")
}

#[cfg(test)]
mod tests {
    use crate::Input;
    use expect_test::expect;
    use std::io::Write as _;

    /// A zip file of these members, deflated or stored.
    fn zip(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
        let (mut out, mut list) = (Vec::new(), Vec::new());
        for (name, bytes, is_deflated) in members {
            let mut encoder =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            let packed = if *is_deflated { encoder.finish().unwrap() } else { bytes.to_vec() };
            let mut crc = flate2::Crc::new();
            crc.update(bytes);
            let mut common = vec![20, 0, 0, 0, if *is_deflated { 8 } else { 0 }, 0];
            common.extend([0; 4]);
            common.extend(crc.sum().to_le_bytes());
            common.extend((packed.len() as u32).to_le_bytes());
            common.extend((bytes.len() as u32).to_le_bytes());
            common.extend((name.len() as u16).to_le_bytes());
            common.extend([0; 2]);
            let start = out.len() as u32;
            out.extend(b"PK\x03\x04");
            out.extend(&common);
            out.extend(name.bytes());
            out.extend(packed);
            list.extend(b"PK\x01\x02\x14\0");
            list.extend(&common);
            list.extend([0; 10]);
            list.extend(start.to_le_bytes());
            list.extend(name.bytes());
        }
        let start = out.len() as u32;
        out.extend(&list);
        out.extend(b"PK\x05\x06");
        out.extend([0; 8]);
        out.extend((list.len() as u32).to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend([0; 2]);
        out
    }

    #[test]
    fn one_member_is_what_is_read() {
        for is_deflated in [true, false] {
            let bytes = zip(&[
                ("folder/", b"", false),
                ("a.folded", b"main;f 1\n", is_deflated),
                ("__MACOSX/x", b"", false),
            ]);
            let input = Input::from_bytes(bytes.clone()).unwrap();
            assert_eq!(input.read_all().unwrap(), b"main;f 1\n");
            let input = Input::from_stream(Box::new(std::io::Cursor::new(bytes))).unwrap();
            assert_eq!(input.read_all().unwrap(), b"main;f 1\n");
        }
    }

    #[test]
    fn several_members_are_named() {
        let error = Input::from_bytes(zip(&[("a", b"1", true), ("b", b"2", true)])).err().unwrap();
        expect!["the zip file contains 2 files: a, b"].assert_eq(&error.to_string());
        let mut cut = zip(&[("a", b"1", true)]);
        cut.truncate(cut.len() - 10);
        let error = Input::from_bytes(cut).err().unwrap();
        expect!["at byte 81: the zip file has no central directory"].assert_eq(&error.to_string());
    }

    #[test]
    fn zip_never_panics() {
        let bytes = zip(&[("folder/", b"", false), ("a.folded", b"main;f 1\n", true)]);
        let outcome = perfblame_fixtures::read_damaged(&bytes, 0..1_000, |bytes| {
            Input::from_bytes(bytes)?.read_all()
        });
        assert!(outcome.refused > 0);
    }
}
