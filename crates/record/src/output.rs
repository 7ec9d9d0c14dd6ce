//! What a JVM says about options it was given through the environment, taken out of its complaints again.
//!
//! `Picked up JAVA_TOOL_OPTIONS: …` cannot be turned off. A program's output has to be the same with and without a
//! profiler, so that line is dropped, or put back to what it would have been where the user had set the variable too.
//! Everything else passes byte for byte and at once: only a line that still may become that line is held back.

use std::io::{self, Read, Write};

const MARK: &[u8] = b"Picked up JAVA_TOOL_OPTIONS: ";

/// Copies what comes, without the lines about our options.
pub struct Filter {
    /// The line to take out.
    ours: Vec<u8>,
    /// What it would have been without us; empty when there would have been none.
    theirs: Vec<u8>,
    /// A line that may become ours.
    held: Vec<u8>,
    /// Within a line that is not ours.
    passing: bool,
}

impl Filter {
    /// Knows the value we set and the one that was there before.
    pub fn new(value: &[u8], before: Option<&[u8]>) -> Self {
        let line = |value: &[u8]| [MARK, value].concat();
        Self {
            ours: line(value),
            theirs: before.map(line).unwrap_or_default(),
            held: Vec::new(),
            passing: false,
        }
    }

    /// Takes some bytes and hands on what is sure to stay.
    pub fn pass(&mut self, mut bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        while !bytes.is_empty() {
            let end = memchr::memchr(b'\n', bytes);
            let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            bytes = rest;
            if self.passing {
                out.write_all(piece)?;
            } else {
                self.held.extend_from_slice(piece);
                let line = self.held.strip_suffix(b"\n").unwrap_or(&self.held);
                if end.is_some() && line == self.ours {
                    if !self.theirs.is_empty() {
                        out.write_all(&self.theirs)?;
                        out.write_all(b"\n")?;
                    }
                    self.held.clear();
                } else if end.is_some() || !self.ours.starts_with(line) {
                    self.flush(out)?;
                    self.passing = true;
                }
            }
            if end.is_some() {
                self.passing = false;
            }
        }
        Ok(())
    }

    /// Hands on what was held back.
    pub fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }

    /// Copies everything.
    pub fn copy(mut self, from: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    self.pass(buffer.get(..count).unwrap_or_default(), to)?;
                    to.flush()?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.flush(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are cut into pieces.
    fn check(input: &[u8], before: Option<&[u8]>, wanted: &[u8]) {
        for size in 1..=input.len() {
            let mut filter = Filter::new(b"-XX:a -Xb", before);
            let mut out = Vec::new();
            for piece in input.chunks(size) {
                filter.pass(piece, &mut out).unwrap();
            }
            filter.flush(&mut out).unwrap();
            assert_eq!(
                String::from_utf8_lossy(&out),
                String::from_utf8_lossy(wanted),
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn our_line_goes() {
        let input = b"one\nPicked up JAVA_TOOL_OPTIONS: -XX:a -Xb\n\ntwo\xff";
        check(input, None, b"one\n\ntwo\xff");
    }

    #[test]
    fn the_users_line_comes_back() {
        let input = b"Picked up JAVA_TOOL_OPTIONS: -XX:a -Xb\nPicked up";
        check(input, Some(b"-Xb"), b"Picked up JAVA_TOOL_OPTIONS: -Xb\nPicked up");
    }

    #[test]
    fn other_lines_stay() {
        let input =
            b"Picked up JAVA_TOOL_OPTIONS: -XX:other\n Picked up JAVA_TOOL_OPTIONS: -XX:a -Xb\n";
        check(input, None, input);
    }
}
