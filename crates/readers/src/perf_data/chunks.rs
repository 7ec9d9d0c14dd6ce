//! The bytes of a recording in large pieces, read ahead by a thread of its own.
//!
//! Recordings with stacks are gigabytes of which little is looked at, so nothing is copied: records stay in their piece
//! until their turn comes, and a piece goes back to the reading thread when its last record is done.

use std::io::{self, Read};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes read at once.
const PIECE: usize = 1 << 20;

/// Room in front of a piece for the end of the one before, so that no record is torn: two of the largest records.
pub const HEADROOM: usize = 2 << 16;

/// Pieces under way.
const PIECES: usize = 4;

/// A piece of the input, with some of the one before it in front.
#[derive(Debug)]
pub struct Chunk {
    bytes: Vec<u8>,
    home: SyncSender<Vec<u8>>,
}

impl Chunk {
    /// The bytes, of which a stretch in front and one behind mean nothing.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // A full channel means that there are enough.
        let _ = self.home.try_send(std::mem::take(&mut self.bytes));
    }
}

/// The pieces of an input.
pub struct Chunks {
    pieces: Receiver<io::Result<Vec<u8>>>,
    home: SyncSender<Vec<u8>>,
}

impl Chunks {
    /// Starts reading. Where no thread can be started, an error comes instead of the first piece.
    pub fn new(mut input: impl Read + Send + 'static) -> Self {
        let (give, pieces) = sync_channel(PIECES);
        let (home, returned) = sync_channel::<Vec<u8>>(4 * PIECES);
        let refused = give.clone();
        let thread = thread::Builder::new().name("perf.data".to_owned()).spawn(move || {
            loop {
                let mut piece = returned.try_recv().unwrap_or_default();
                piece.resize(HEADROOM + PIECE, 0);
                let (end, fault) = fill(&mut input, &mut piece);
                piece.truncate(end);
                let ended = end < HEADROOM + PIECE;
                if end > HEADROOM && give.send(Ok(piece)).is_err() {
                    return;
                }
                if let Some(fault) = fault {
                    let _ = give.send(Err(fault));
                }
                if ended {
                    return;
                }
            }
        });
        if let Err(error) = thread {
            let _ = refused.try_send(Err(error));
        }
        Self { pieces, home }
    }

    /// The next piece with `before` put in front of it, and where its bytes start; none at the end.
    pub fn next(&mut self, before: &[u8]) -> io::Result<Option<(Rc<Chunk>, usize)>> {
        let Ok(piece) = self.pieces.recv() else { return Ok(None) };
        let mut bytes = piece?;
        let start = HEADROOM.saturating_sub(before.len());
        if let Some(room) = bytes.get_mut(start..HEADROOM)
            && room.len() == before.len()
        {
            room.copy_from_slice(before);
        }
        Ok(Some((Rc::new(Chunk { bytes, home: self.home.clone() }), start)))
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
