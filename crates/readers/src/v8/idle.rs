//! When a thread had nothing to do.
//!
//! A wait beside work delays nobody; how much of one its thread had nothing else to do in tells. Gaps are kept as long
//! as the recording is read, since what was waited for is known at its end only. Those between two samples are many
//! and short, and what is left out of them is in proportion: a millisecond's least.

/// Shorter gaps, in nanoseconds, are between two tasks rather than waits.
const LEAST: i64 = 1_000_000;

/// The gaps in what a thread did.
#[derive(Default, Debug)]
pub struct Idle {
    /// From, to; apart from each other and in order once closed.
    gaps: Vec<(i64, i64)>,
    /// Idle time before each gap.
    before: Vec<i64>,
    /// The gap that may go on.
    open: Option<(i64, i64)>,
}

impl Idle {
    /// Adds a time without work; mostly in order.
    pub fn add(&mut self, from: i64, to: i64) {
        match &mut self.open {
            Some(open) if (open.0..=open.1).contains(&from) => open.1 = open.1.max(to),
            open => {
                let last = open.replace((from, to));
                self.keep(last);
            }
        }
    }

    fn keep(&mut self, gap: Option<(i64, i64)>) {
        self.gaps.extend(gap.filter(|(from, to)| to.saturating_sub(*from) >= LEAST));
    }

    /// All have come.
    pub fn close(&mut self) {
        let last = self.open.take();
        self.keep(last);
        self.gaps.sort_unstable();
        let mut sum = 0i64;
        let mut reached = i64::MIN;
        self.before.clear();
        for gap in &mut self.gaps {
            // Samples that came far too late may lie in an earlier gap.
            gap.0 = gap.0.max(reached);
            gap.1 = gap.1.max(gap.0);
            reached = gap.1;
            self.before.push(sum);
            sum = sum.saturating_add(gap.1.saturating_sub(gap.0));
        }
    }

    /// How much of a time there was nothing to do in.
    pub fn within(&self, from: i64, to: i64) -> i64 {
        self.until(to).saturating_sub(self.until(from))
    }

    /// Idle time up to a moment.
    fn until(&self, moment: i64) -> i64 {
        let row = self.gaps.partition_point(|(from, _)| *from <= moment);
        let Some(row) = row.checked_sub(1) else { return 0 };
        let (from, to) = self.gaps[row];
        self.before[row].saturating_add(moment.min(to).saturating_sub(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_parts_of_times() {
        const MS: i64 = 1_000_000;
        let mut idle = Idle::default();
        for (from, to) in [(10, 12), (12, 15), (20, 23), (4, 6), (30, 30), (5, 7)] {
            idle.add(from * MS, to * MS);
        }
        idle.close();
        for (from, to, expected) in
            [(0, 4, 0), (0, 100, 11), (5, 6, 1), (6, 11, 2), (15, 20, 0), (14, 21, 2), (23, 99, 0)]
        {
            assert_eq!(idle.within(from * MS, to * MS), expected * MS, "{from} to {to}");
        }
        assert_eq!(Idle::default().within(0, MS), 0);
        let mut wild = Idle::default();
        wild.add(i64::MIN, i64::MAX);
        wild.add(i64::MAX, i64::MIN);
        wild.close();
        assert_eq!(wild.within(0, MS), 0, "no overflow");
    }
}
