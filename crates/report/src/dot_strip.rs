//! Runs as dots on a line: a dot for each run, where its value lies between two ends; equal ones are stacked.
//!
//! A braille character holds two columns of four dots, so that a strip of ten characters tells twenty values apart. In
//! ASCII a character says how many runs there are: one is `.`, two `:`, more their number.

/// What a strip spans; strips of the same scale can be compared by eye.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StripScale {
    low: f64,
    high: f64,
    /// Characters.
    width: usize,
    unicode: bool,
}

/// Dots in a character from the bottom up: left column, right column.
const DOTS: [[u32; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];

impl StripScale {
    /// A scale that all of these fit on.
    pub fn spanning<'a>(
        values: impl IntoIterator<Item = &'a f64>,
        width: usize,
        unicode: bool,
    ) -> Self {
        let finite = values.into_iter().copied().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        Self { low, high, width, unicode }
    }

    /// The strip of some runs.
    pub fn draw(self, runs: &[f64]) -> String {
        let columns = if self.unicode { self.width * 2 } else { self.width };
        let mut stacks = vec![0u32; columns];
        for value in runs.iter().filter(|value| value.is_finite()) {
            if let Some(stack) = stacks.get_mut(self.column(*value, columns)) {
                *stack += 1;
            }
        }
        if !self.unicode {
            return stacks.into_iter().map(ascii).collect();
        }
        let cell = |pair: &[u32]| {
            let mut dots = 0;
            for (column, height) in pair.iter().enumerate() {
                for dot in DOTS[column].iter().take(*height as usize) {
                    dots |= dot;
                }
            }
            // The empty pattern is drawn as circles by some fonts.
            if dots == 0 { ' ' } else { char::from_u32(0x2800 + dots).unwrap_or('.') }
        };
        stacks.chunks(2).map(cell).collect()
    }

    fn column(self, value: f64, columns: usize) -> usize {
        let span = self.high - self.low;
        if span <= 0.0 || !span.is_finite() {
            return columns / 2;
        }
        let place = (value - self.low) / span * columns.saturating_sub(1) as f64;
        place.round().max(0.0) as usize
    }
}

fn ascii(runs: u32) -> char {
    match runs {
        0 => ' ',
        1 => '.',
        2 => ':',
        more => char::from_digit(more, 10).unwrap_or('9'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &[f64], after: &[f64], unicode: bool, expected: [&str; 2]) {
        let scale = StripScale::spanning(before.iter().chain(after), 8, unicode);
        assert_eq!([scale.draw(before), scale.draw(after)], expected);
    }

    #[test]
    fn dots_lie_where_their_values_do() {
        check(&[1.0, 1.1, 1.1], &[2.0, 1.9, 2.0], true, ["⡀⡄      ", "      ⢀⢠"]);
        check(&[1.0, 1.1, 1.1], &[2.0, 1.9, 2.0], false, [".:      ", "      .:"]);
        check(&[5.0; 12], &[5.0], false, ["    9   ", "    .   "]);
        check(&[5.0; 12], &[], true, ["    ⡇   ", "        "]);
        check(&[f64::NAN], &[f64::INFINITY], true, ["        ", "        "]);
    }
}
