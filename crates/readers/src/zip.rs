//! Zip files that hold one profile, as PerfView and issue trackers make them: the one member is what is read.
//!
//! Only the list at the end of the file is believed; what stands before each member may lack the sizes.

use std::io::{Read, Seek, SeekFrom, Take};

use crate::error::ReadError;

/// The start of a zip file with at least one member.
pub const MAGIC: &[u8] = b"PK\x03\x04";

/// Bytes of the list of members that are read: a zip with more of them is no profile.
const MAX_LIST: u64 = 4 << 20;

/// The record at the end, without the comment behind it.
const END_BYTES: usize = 22;

/// The longest comment behind that record.
const MAX_COMMENT: usize = 0xffff;

/// Names shown when there are several members.
const SHOWN: usize = 8;

#[derive(Debug)]
struct Member {
    name: String,
    method: u16,
    is_encrypted: bool,
    packed: u64,
    header: u64,
}

/// The unpacked bytes of the one member of a zip file.
pub fn open<S: Read + Seek + Send + 'static>(
    mut source: S,
) -> Result<Box<dyn Read + Send>, ReadError> {
    let mut members = members(&mut source)?;
    members.retain(|member| {
        !member.name.ends_with('/')
            && !member.name.starts_with("__MACOSX/")
            && !member.name.ends_with(".DS_Store")
    });
    let member = match members.pop() {
        None => return Err(ReadError::unsupported("the zip file is empty")),
        Some(member) if members.is_empty() => member,
        Some(last) => {
            members.push(last);
            return Err(several(&members));
        }
    };
    if member.is_encrypted {
        return Err(ReadError::unsupported("the zip file is encrypted").help("unzip it first"));
    }
    let packed = member_bytes(source, &member)?;
    match member.method {
        0 => Ok(Box::new(packed)),
        8 => Ok(Box::new(flate2::read::DeflateDecoder::new(packed))),
        93 => Ok(Box::new(zstd::Decoder::new(packed)?)),
        method => {
            let message = format!("the zip file is packed with method {method}");
            Err(ReadError::unsupported(message).help("unzip it first"))
        }
    }
}

fn several(members: &[Member]) -> ReadError {
    let mut names: Vec<&str> =
        members.iter().take(SHOWN).map(|member| member.name.as_str()).collect();
    let more = format!("and {} more", members.len().saturating_sub(SHOWN));
    if members.len() > SHOWN {
        names.push(&more);
    }
    if members.iter().all(|member| member.name.contains(".trace/")) {
        return ReadError::unsupported("a packed Instruments trace, which only Instruments can read")
            .help("unzip it, `xcrun xctrace export --input X.trace --xpath …` its time-profile table, and read that");
    }
    let message = format!("the zip file holds {} files: {}", members.len(), names.join(", "));
    ReadError::unsupported(message).help("unzip it and name the file to read")
}

fn members<S: Read + Seek>(source: &mut S) -> Result<Vec<Member>, ReadError> {
    let length = source.seek(SeekFrom::End(0))?;
    let tail = length.min((END_BYTES + MAX_COMMENT) as u64);
    let end = read_at(source, length - tail, tail)?;
    let last = end.len().checked_sub(END_BYTES);
    let cut_off = || {
        ReadError::malformed(length, "the zip file has no list of its members")
            .help("it looks cut off")
    };
    let at = last
        .and_then(|last| (0..=last).rev().find(|at| end[*at..].starts_with(b"PK\x05\x06")))
        .ok_or_else(cut_off)?;
    let list_bytes = u64::from(u32_at(&end, at + 12));
    let list_start = u64::from(u32_at(&end, at + 16));
    if list_start == u64::from(u32::MAX) || list_bytes == u64::from(u32::MAX) {
        return Err(ReadError::unsupported("zip files beyond 4 GB are not unpacked here")
            .help("unzip it first"));
    }
    let list = read_at(source, list_start, list_bytes.min(MAX_LIST))?;
    let mut members = Vec::new();
    let mut rest = &list[..];
    while rest.len() >= 46 && rest.starts_with(b"PK\x01\x02") {
        let lengths = [28, 30, 32].map(|at| usize::from(u16_at(rest, at)));
        let name = rest.get(46..46 + lengths[0]).ok_or_else(cut_off)?;
        members.push(Member {
            name: String::from_utf8_lossy(name).into_owned(),
            method: u16_at(rest, 10),
            is_encrypted: u16_at(rest, 8) & 1 != 0,
            packed: u64::from(u32_at(rest, 20)),
            header: u64::from(u32_at(rest, 42)),
        });
        rest = rest.get(46 + lengths.iter().sum::<usize>()..).unwrap_or(&[]);
    }
    Ok(members)
}

fn member_bytes<S: Read + Seek>(mut source: S, member: &Member) -> Result<Take<S>, ReadError> {
    let header = read_at(&mut source, member.header, 30)?;
    if header.len() < 30 || !header.starts_with(MAGIC) {
        return Err(ReadError::malformed(member.header, "the zip file's list points to no member"));
    }
    let skipped = 30 + u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
    source.seek(SeekFrom::Start(member.header + skipped))?;
    Ok(source.take(member.packed))
}

fn read_at<S: Read + Seek>(source: &mut S, start: u64, length: u64) -> Result<Vec<u8>, ReadError> {
    source.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    source.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
    found.map_or(0, u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    found.map_or(0, u32::from_le_bytes)
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
            let mut common = vec![20, 0, 0, 0, if *is_deflated { 8 } else { 0 }, 0];
            common.extend([0; 8]);
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
        expect!["the zip file holds 2 files: a, b"].assert_eq(&error.to_string());
        let mut cut = zip(&[("a", b"1", true)]);
        cut.truncate(cut.len() - 10);
        let error = Input::from_bytes(cut).err().unwrap();
        expect!["at byte 93: the zip file has no list of its members"]
            .assert_eq(&error.to_string());
    }

    #[test]
    fn zip_never_panics() {
        let bytes = zip(&[("folder/", b"", false), ("a.folded", b"main;f 1\n", true)]);
        for seed in 0..1_000 {
            if let Ok(input) = Input::from_bytes(perfblame_fixtures::damaged(&bytes, seed)) {
                let _ = input.read_all();
            }
        }
    }
}
