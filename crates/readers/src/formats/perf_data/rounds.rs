//! Records in the order of their times.
//!
//! Each processor writes its own buffer, and perf empties them in rounds: what a round brings can only be older than
//! what the round *before* the last brought. So two rounds are held, and never more than a bound.

use std::ops::Range;
use std::rc::Rc;

use super::chunks::Chunk;
use super::stream::Record;

/// What is held at most; beyond it the older half is let go, in order as far as known.
const LARGEST: usize = 256 << 20;

/// Records waiting for their turn.
#[derive(Debug, Default)]
pub struct Rounds {
    waiting: Vec<WaitingRecord>,
    /// Bytes of the records that wait.
    held: usize,
    latest: u64,
    /// The latest time of the round before.
    safe: u64,
}

#[derive(Debug)]
struct WaitingRecord {
    time: u64,
    kind: u32,
    misc: u16,
    body: WaitingBody,
}

/// Where the bytes of a waiting record are.
#[derive(Debug)]
enum WaitingBody {
    Shared(Rc<Chunk>, Range<usize>),
    Own(Box<[u8]>),
}

impl WaitingBody {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Shared(chunk, range) => chunk.bytes().get(range.clone()).unwrap_or_default(),
            Self::Own(bytes) => bytes,
        }
    }
}

impl Rounds {
    /// Holds a record; true when there are too many and [`Rounds::overflow`] is due.
    pub fn push(&mut self, time: u64, record: Record<'_>) -> bool {
        let body = match record.held {
            Some((chunk, at)) => WaitingBody::Shared(chunk.clone(), at..at + record.body.len()),
            None => WaitingBody::Own(record.body.into()),
        };
        self.held += record.body.len();
        self.waiting.push(WaitingRecord { time, kind: record.kind, misc: record.misc, body });
        self.latest = self.latest.max(time);
        self.held > LARGEST
    }

    /// A round has ended: what nothing to come can precede is handed out.
    pub fn finish_round(&mut self, take: impl FnMut(u64, Record<'_>)) {
        let safe = self.safe;
        self.safe = self.latest;
        self.release(safe, take);
    }

    /// Hands out the older half.
    pub fn overflow(&mut self, take: impl FnMut(u64, Record<'_>)) {
        let mut times: Vec<u64> = self.waiting.iter().map(|waiting| waiting.time).collect();
        let middle = times.len() / 2;
        let limit = *times.select_nth_unstable(middle).1;
        self.release(limit, take);
    }

    /// Hands out everything.
    pub fn finish(&mut self, take: impl FnMut(u64, Record<'_>)) {
        self.release(u64::MAX, take);
    }

    fn release(&mut self, limit: u64, mut take: impl FnMut(u64, Record<'_>)) {
        // Records of one time keep the order of the file.
        self.waiting.sort_by_key(|waiting| waiting.time);
        let due = self.waiting.partition_point(|waiting| waiting.time <= limit);
        for WaitingRecord { time, kind, misc, body } in self.waiting.drain(..due) {
            let body = body.bytes();
            self.held -= body.len().min(self.held);
            take(time, Record::new(kind, misc, body));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_may_overlap_the_one_before_it() {
        let mut rounds = Rounds::default();
        let mut out = Vec::new();
        let record = |kind| Record::new(kind, 0, &[]);
        for (round, times) in [[10, 30, 20], [25, 50, 40], [45, 70, 60]].iter().enumerate() {
            for time in times {
                assert!(!rounds.push(*time, record(round as u32)));
            }
            rounds.finish_round(|time, record| out.push((time, record.kind)));
        }
        assert_eq!(out, [(10, 0), (20, 0), (25, 1), (30, 0), (40, 1), (45, 2), (50, 1)]);
        rounds.finish(|time, record| out.push((time, record.kind)));
        assert_eq!(out.len(), 9);
        assert!(out.is_sorted_by_key(|row| row.0));
    }

    #[test]
    fn bodies_stay_with_their_records() {
        let mut rounds = Rounds::default();
        let mut out = Vec::new();
        for time in [5u8, 3, 9, 1, 7] {
            let body = [time; 3];
            rounds.push(time.into(), Record::new(0, 0, &body));
        }
        rounds.overflow(|_, record| out.push(record.body[2]));
        assert_eq!(out, [1, 3, 5]);
        rounds.finish(|_, record| out.push(record.body[0]));
        assert_eq!(out, [1, 3, 5, 7, 9]);
    }
}
