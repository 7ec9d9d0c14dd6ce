//! The bytes of a recording in large pieces.
//!
//! Recordings with stacks are gigabytes of which little is looked at, so nothing is copied: records stay in their piece
//! until their turn comes, and a piece is filled again when its last record is done. The thread that walks the stacks
//! reads them too: they are still in its processor's cache then.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// Bytes read at once.
const PIECE: usize = 512 << 10;

/// Room in front of a piece for the end of the one before, so that no record is torn: two of the largest records.
pub const HEADROOM: usize = 2 << 16;

/// Pieces that wait to be filled again; more are let go.
const PIECES: usize = 16;

type Pool = Rc<RefCell<Vec<Vec<u8>>>>;

/// A piece of the input, with some of the one before it in front.
#[derive(Debug)]
pub struct Chunk {
    bytes: Vec<u8>,
    home: Pool,
}

impl Chunk {
    /// The bytes, of which a stretch in front and one behind mean nothing.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if let Ok(mut pool) = self.home.try_borrow_mut()
            && pool.len() < PIECES
        {
            pool.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// The pieces of an input.
pub struct Chunks {
    input: Box<dyn Read>,
    pool: Pool,
    /// What stopped the reading, to be said after the bytes that came before it.
    fault: Option<io::Error>,
    ended: bool,
}

impl Chunks {
    /// Nothing read yet.
    pub fn new(input: impl Read + 'static) -> Self {
        Self { input: Box::new(input), pool: Pool::default(), fault: None, ended: false }
    }

    /// The next piece with `before` put in front of it, and where its bytes start; none at the end.
    pub fn next(&mut self, before: &[u8]) -> io::Result<Option<(Rc<Chunk>, usize)>> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.ended {
            return Ok(None);
        }
        let mut bytes = self.pool.borrow_mut().pop().unwrap_or_default();
        bytes.resize(HEADROOM + PIECE, 0);
        let (end, fault) = fill(&mut self.input, &mut bytes);
        bytes.truncate(end);
        self.ended = end < HEADROOM + PIECE;
        if end == HEADROOM {
            return fault.map_or(Ok(None), Err);
        }
        self.fault = fault;
        let start = HEADROOM.saturating_sub(before.len());
        if let Some(room) = bytes.get_mut(start..HEADROOM)
            && room.len() == before.len()
        {
            room.copy_from_slice(before);
        }
        Ok(Some((Rc::new(Chunk { bytes, home: self.pool.clone() }), start)))
    }
}

/// Fills the part behind the headroom. Returns where it ends and what stopped it, if not the end of the input.
fn fill(input: &mut impl Read, piece: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut end = HEADROOM;
    while let Some(free) = piece.get_mut(end..).filter(|free| !free.is_empty()) {
        match input.read(free) {
            Ok(0) => break,
            Ok(read) => end += read.min(free.len()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (end, Some(error)),
        }
    }
    (end, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_carry_the_end_of_the_one_before() {
        let input: Vec<u8> = (0..3 * PIECE as u32).map(|n| n as u8).collect();
        let mut chunks = Chunks::new(io::Cursor::new(input.clone()));
        let mut before = Vec::new();
        let mut whole = Vec::new();
        while let Some((chunk, start)) = chunks.next(&before).unwrap() {
            whole.truncate(whole.len() - before.len());
            whole.extend_from_slice(&chunk.bytes()[start..]);
            before = whole[whole.len() - 1000..].to_vec();
        }
        assert_eq!(whole, input);
    }

    #[test]
    fn what_came_before_a_fault_counts() {
        struct Faulty(usize);
        impl Read for Faulty {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let count = into.len().min(self.0);
                self.0 -= count;
                if count == 0 { Err(io::Error::other("broken")) } else { Ok(count) }
            }
        }
        let mut chunks = Chunks::new(Faulty(PIECE + 7));
        let sizes: Vec<usize> = (0..2)
            .map(|_| chunks.next(&[]).unwrap().unwrap())
            .map(|(chunk, start)| chunk.bytes().len() - start)
            .collect();
        assert_eq!(sizes, [PIECE, 7]);
        assert!(chunks.next(&[]).is_err());
        assert!(chunks.next(&[]).unwrap().is_none());
    }
}
