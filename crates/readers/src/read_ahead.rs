//! Reading and unpacking on a thread of its own, while the reader works on what came before.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes handed over at once.
const PIECE: usize = 1 << 20;

/// Pieces under way.
const PIECES: usize = 4;

/// A reader whose source is read ahead by another thread. Dropping it ends the thread at its next piece.
pub struct ReadAhead {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// Buffers on their way back.
    used: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    ended: bool,
}

impl ReadAhead {
    /// Starts reading. Where no thread can be started, an error comes out of the first read.
    pub fn new(mut source: Box<dyn Read + Send>) -> Self {
        let (give, pieces) = sync_channel(PIECES);
        let (used, take_back) = sync_channel::<Vec<u8>>(PIECES + 1);
        let refused = give.clone();
        let thread = thread::Builder::new().name("read ahead".to_owned()).spawn(move || {
            loop {
                let mut piece = take_back.try_recv().unwrap_or_default();
                piece.clear();
                let result = source.by_ref().take(PIECE as u64).read_to_end(&mut piece);
                // What could be read before a fault counts.
                let ended = piece.is_empty() || result.is_err();
                if !piece.is_empty() && give.send(Ok(piece)).is_err() {
                    return;
                }
                if let Err(error) = result {
                    let _ = give.send(Err(error));
                }
                if ended {
                    return;
                }
            }
        });
        if let Err(error) = thread {
            let _ = refused.try_send(Err(error));
        }
        Self { pieces, used, piece: Vec::new(), at: 0, ended: false }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            if self.ended {
                return Ok(0);
            }
            let used = std::mem::take(&mut self.piece);
            if used.capacity() > 0 {
                let _ = self.used.try_send(used);
            }
            self.at = 0;
            match self.pieces.recv() {
                Ok(Ok(piece)) => self.piece = piece,
                Ok(Err(error)) => {
                    self.ended = true;
                    return Err(error);
                }
                Err(_) => self.ended = true,
            }
        }
        let count = into.len().min(self.piece.len() - self.at);
        into[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_arrives_and_faults_last() {
        struct Faulty(usize);
        impl Read for Faulty {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let count = into.len().min(self.0).min(70_000);
                if count == 0 {
                    return Err(io::Error::other("broken"));
                }
                into[..count].fill(7);
                self.0 -= count;
                Ok(count)
            }
        }
        let mut out = Vec::new();
        let source = Box::new(Faulty(3 * PIECE + 5));
        let error = ReadAhead::new(source).read_to_end(&mut out).unwrap_err();
        assert_eq!((out.len(), error.to_string().as_str()), (3 * PIECE + 5, "broken"));
        let mut out = Vec::new();
        ReadAhead::new(Box::new(io::repeat(1).take(2_500_000))).read_to_end(&mut out).unwrap();
        assert_eq!(out.len(), 2_500_000);
        drop(ReadAhead::new(Box::new(io::repeat(1))));
    }
}
