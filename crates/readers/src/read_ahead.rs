//! Reading and unpacking on a thread of its own, while the reader works on what came before.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes handed over at once.
const PIECE: usize = 1 << 20;

/// Things that are made or under way.
const AHEAD: usize = 4;

/// Things that another thread makes ahead of whoever takes them. Dropping this ends the thread at its next one.
pub struct Ahead<T> {
    ready: Receiver<T>,
    /// Buffers on their way back.
    used: SyncSender<Vec<u8>>,
}

impl<T: Send + 'static> Ahead<T> {
    /// Starts making. `make` gets a buffer to use again, or an empty one, and ends the thread with none.
    pub fn start(mut make: impl FnMut(Vec<u8>) -> Option<T> + Send + 'static) -> io::Result<Self> {
        let (give, ready) = sync_channel(AHEAD);
        let (used, take_back) = sync_channel(AHEAD + 1);
        thread::Builder::new().name("read ahead".to_owned()).spawn(move || {
            while let Some(made) = make(take_back.try_recv().unwrap_or_default()) {
                if give.send(made).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { ready, used })
    }

    /// The next thing, in exchange for a buffer that is done with; none at the end.
    pub fn next(&self, used: Vec<u8>) -> Option<T> {
        // The other side may be gone already, with all it made waiting here.
        if used.capacity() > 0 {
            let _ = self.used.try_send(used);
        }
        self.ready.recv().ok()
    }
}

/// A reader whose source is read ahead.
pub struct ReadAhead {
    /// None where no thread could be started, once that was said.
    pieces: Option<Ahead<io::Result<Vec<u8>>>>,
    refused: Option<io::Error>,
    piece: Vec<u8>,
    at: usize,
    ended: bool,
}

impl ReadAhead {
    /// Starts reading. Where no thread can be started, an error comes out of the first read.
    pub fn new(mut source: Box<dyn Read + Send>) -> Self {
        let mut fault = None;
        let pieces = Ahead::start(move |mut piece| {
            if let Some(error) = fault.take() {
                return Some(Err(error));
            }
            piece.clear();
            // What could be read before a fault counts.
            fault = source.by_ref().take(PIECE as u64).read_to_end(&mut piece).err();
            if piece.is_empty() { fault.take().map(Err) } else { Some(Ok(piece)) }
        });
        let (pieces, refused) = match pieces {
            Ok(pieces) => (Some(pieces), None),
            Err(error) => (None, Some(error)),
        };
        Self { pieces, refused, piece: Vec::new(), at: 0, ended: false }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            if self.ended {
                return Ok(0);
            }
            if let Some(error) = self.refused.take() {
                self.ended = true;
                return Err(error);
            }
            self.at = 0;
            let used = std::mem::take(&mut self.piece);
            match self.pieces.as_ref().and_then(|pieces| pieces.next(used)) {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => {
                    self.ended = true;
                    return Err(error);
                }
                None => self.ended = true,
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
