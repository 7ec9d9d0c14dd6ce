//! How steady the machine is: the same work, done again and again between the runs.
//!
//! Runs that scatter may do so because the page does, or because the machine does. Work that never changes tells the two
//! apart, and it says so in numbers that anybody understands: how much longer it took at its slowest.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds of the work; about ten milliseconds on a machine of today.
const ROUNDS: u64 = 8_000_000;

/// What the same work took, each time it was done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MachineNoise {
    took: Vec<Duration>,
}

impl MachineNoise {
    /// Does the work once.
    pub fn measure(&mut self) {
        let started = Instant::now();
        let mut state = black_box(1u64);
        for _ in 0..ROUNDS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        black_box(state);
        self.took.push(started.elapsed());
    }

    /// How much longer the work took than at its fastest: half of the time, and at worst.
    pub fn slowdown(&self) -> Option<(f64, f64)> {
        let mut seconds: Vec<f64> = self.took.iter().map(Duration::as_secs_f64).collect();
        seconds.sort_by(f64::total_cmp);
        let fastest = seconds.first().copied().filter(|fastest| *fastest > 0.0)?;
        let more = |at: usize| seconds.get(at).map(|took| took / fastest - 1.0);
        Some((more(seconds.len() / 2)?, more(seconds.len() - 1)?))
    }

    /// A sentence about it, once there is something to compare.
    pub fn sentence(&self) -> Option<String> {
        let (half, worst) = self.slowdown().filter(|_| self.took.len() >= 4)?;
        let word = match half {
            half if half < 0.03 && worst < 0.1 => "quiet",
            half if half < 0.1 => "fairly quiet",
            half if half < 0.3 => "noisy",
            _ => "very noisy",
        };
        Some(format!(
            "the machine is {word}: the slowest repetition of a fixed task took {:.0} % longer than the fastest, the median {:.0} %",
            worst * 100.0,
            half * 100.0
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: &[u64]) -> MachineNoise {
        MachineNoise { took: millis.iter().map(|time| Duration::from_millis(*time)).collect() }
    }

    #[test]
    fn a_machine_is_as_steady_as_its_times() {
        assert!(of(&[100, 101, 102, 101]).sentence().unwrap().contains("is quiet"));
        assert!(
            of(&[100, 120, 150, 115])
                .sentence()
                .unwrap()
                .contains("is noisy: the slowest repetition of a fixed task took 50 % longer")
        );
        assert!(of(&[100, 180, 150, 250]).sentence().unwrap().contains("very noisy"));
    }

    #[test]
    fn a_few_times_say_nothing() {
        assert_eq!(of(&[]).sentence(), None);
        assert_eq!(of(&[1, 2, 3]).sentence(), None);
        let mut noise = MachineNoise::default();
        noise.measure();
        assert!(noise.slowdown().is_some());
    }
}
