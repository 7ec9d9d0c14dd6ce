//! Whole archives, damaged ones, and ones made to burst.

use std::io::{Cursor, Read as _, Write as _};

use rawzip::{CompressionMethod, ZipArchiveWriter};

use super::{Archive, Bytes, ZipErrorKind};

/// A zip file of these members, deflated or stored.
fn zip(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    for (name, bytes, is_deflated) in members {
        let method =
            if *is_deflated { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
        let (mut entry, config) =
            archive.new_file(name).compression_method(method).start().unwrap();
        let descriptor = if *is_deflated {
            let level = flate2::Compression::fast();
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, level);
            let mut writer = config.wrap(encoder);
            writer.write_all(bytes).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            descriptor
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap().1
        };
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    out
}

fn open(bytes: Vec<u8>) -> Archive<Bytes> {
    Archive::of_bytes(Bytes::from(bytes)).unwrap()
}

#[test]
fn members_are_read_from_memory_and_as_streams() {
    let inner = zip(&[("deep.txt", b"deep down", true)]);
    let members: [(&str, &[u8], bool); 3] =
        [("a.txt", b"first", true), ("b.txt", b"second", false), ("c.jar", &inner, false)];
    let bytes = zip(&members);
    let archive = open(bytes.clone());
    let streamed = Archive::of_stream(Cursor::new(bytes)).unwrap();
    for (index, (name, content, _)) in members.iter().enumerate() {
        assert_eq!(archive.members[index].name, *name);
        assert_eq!(archive.members[index].size, content.len() as u64);
        assert_eq!(archive.read(index, 1 << 20, b"").unwrap(), *content);
        let mut read = Vec::new();
        streamed.stream(index).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, *content);
    }
    assert_eq!(archive.nested(2, 1 << 20).unwrap().read(0, 99, b"deep").unwrap(), b"deep down");
}

#[test]
fn an_archive_behind_a_script_is_found() {
    let bytes = [b"#!/bin/sh\nexec java -jar $0\n", &*zip(&[("a", b"1", true)])].concat();
    assert_eq!(open(bytes).read(0, 9, b"").unwrap(), b"1");
}

/// The same archive with an end for 64-bit sizes, which carries so many bytes of another program.
fn with_large_end(mut bytes: Vec<u8>, extra: usize) -> Vec<u8> {
    let end = bytes.split_off(bytes.len() - 22);
    assert!(end.starts_with(b"PK\x05\x06"));
    let large_end = bytes.len() as u64;
    let count = u64::from(u16::from_le_bytes([end[8], end[9]]));
    let word = |at: usize| u64::from(u32::from_le_bytes(*end[at..].first_chunk().unwrap()));
    bytes.extend(b"PK\x06\x06");
    bytes.extend((44 + extra as u64).to_le_bytes());
    bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [count, count, word(12), word(16)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(vec![7; extra]);
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(large_end.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    // Numbers that stand for those above.
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([0xff; 12]);
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn an_archive_with_64_bit_sizes_is_found_behind_a_script() {
    let members: [(&str, &[u8], bool); 2] = [("a", b"first", true), ("b", b"second", false)];
    for extra in [0, 100] {
        let large = with_large_end(zip(&members), extra);
        for script in [&b""[..], b"#!/bin/sh\nexec java -jar $0\n"] {
            let bytes = [script, &large].concat();
            let archive = open(bytes.clone());
            let streamed = Archive::of_stream(Cursor::new(bytes.clone())).unwrap();
            for (index, (name, content, _)) in members.iter().enumerate() {
                assert_eq!(archive.members[index].name, *name);
                assert_eq!(archive.read(index, 99, b"").unwrap(), *content);
                let mut read = Vec::new();
                streamed.stream(index).unwrap().read_to_end(&mut read).unwrap();
                assert_eq!(read, *content);
            }
            // Places are those of the whole file.
            let at = bytes.windows(6).position(|window| window == b"second").unwrap();
            let header = bytes.windows(4).rposition(|window| window == b"PK\x03\x04").unwrap();
            let mut changed = bytes;
            changed[at] = b'x';
            let error = open(changed).read(1, 99, b"").unwrap_err();
            assert_eq!((error.kind, error.offset), (ZipErrorKind::Checksum, header as u64));
        }
    }
}

#[test]
fn a_large_end_that_is_nowhere_is_refused() {
    let mut bytes = [b"#!/bin/sh\n", &*with_large_end(zip(&[("a", b"1", true)]), 0)].concat();
    let large_end = bytes.windows(4).rposition(|window| window == b"PK\x06\x06").unwrap();
    bytes[large_end] = b'x';
    assert!(Archive::of_bytes(Bytes::from(bytes)).is_err());
}

#[test]
fn what_is_wrong_has_a_place() {
    let bytes = zip(&[("a.txt", b"aaaaaaaaaaaaaaaa", false), ("b.txt", b"b", true)]);
    let cut = bytes[..bytes.len() - 10].to_vec();
    let error = Archive::of_bytes(Bytes::from(cut)).err().unwrap();
    assert_eq!(error.kind, ZipErrorKind::NoList);
    assert_eq!(error.offset, bytes.len() as u64 - 22, "where the list would be found");

    let at = bytes.windows(4).position(|window| window == b"aaaa").unwrap();
    let mut changed = bytes.clone();
    changed[at] = b'x';
    let error = open(changed.clone()).read(0, 99, b"").unwrap_err();
    assert_eq!((error.kind, error.offset), (ZipErrorKind::Checksum, 0));
    let mut read = Vec::new();
    let stream = Archive::of_stream(Cursor::new(changed)).unwrap().stream(0);
    assert!(stream.unwrap().read_to_end(&mut read).is_err());

    let mut moved = bytes.clone();
    moved[0] = b'x';
    assert_eq!(open(moved).read(0, 99, b"").unwrap_err().kind, ZipErrorKind::Outside);

    let list = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    let mut encrypted = bytes.clone();
    encrypted[list + 8] |= 1;
    assert_eq!(open(encrypted).read(1, 99, b"").unwrap_err().kind, ZipErrorKind::Encrypted);
    let mut listed = bytes;
    listed[list] = b'x';
    let error = Archive::of_bytes(Bytes::from(listed)).err().unwrap();
    assert_eq!(error.kind, ZipErrorKind::List);
}

#[test]
fn bombs_are_not_unpacked() {
    let zeros = vec![0; 8 << 20];
    let archive = open(zip(&[("bomb", &zeros, true)]));
    assert_eq!(archive.read(0, 1 << 20, b"").unwrap_err().kind, ZipErrorKind::TooLarge);
    assert_eq!(archive.read(0, 1 << 30, b"\xca\xfe").unwrap_err().kind, ZipErrorKind::Start);
    // It claims to be small.
    let mut bytes = zip(&[("bomb", &zeros, true)]);
    let list = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    bytes[list + 24..list + 28].copy_from_slice(&9u32.to_le_bytes());
    assert_eq!(open(bytes).read(0, 99, b"").unwrap_err().kind, ZipErrorKind::Checksum);
}

#[test]
fn damaged_archives_never_panic() {
    let inner = zip(&[("deep.txt", b"deep down", true)]);
    let bytes = zip(&[("a.txt", b"first of all", true), ("c.jar", &inner, false)]);
    let large = [b"#!/bin/sh\n", &*with_large_end(bytes.clone(), 0)].concat();
    let (mut opened, mut read) = (0, 0);
    for seed in 0..2_000 {
        let whole = if seed % 2 == 0 { &bytes } else { &large };
        let damaged = perfblame_fixtures::damaged(whole, seed);
        let Ok(archive) = Archive::of_bytes(Bytes::from(damaged.clone())) else { continue };
        opened += 1;
        for index in 0..archive.members.len() {
            read += u32::from(archive.read(index, 1 << 20, b"").is_ok());
            let _ = archive.nested(index, 1 << 20);
        }
        let streamed = Archive::of_stream(Cursor::new(damaged)).unwrap();
        for index in 0..streamed.members.len() {
            let mut bytes = Vec::new();
            let _ = streamed.stream(index).and_then(|mut stream| {
                stream.read_to_end(&mut bytes).map_err(|error| super::ZipError::read(0, &error))
            });
        }
    }
    assert!(opened > 100 && read > 100, "{opened} were opened, {read} members were read");
}
