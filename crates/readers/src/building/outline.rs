//! Trees written as indented lines: each line is called by the nearest line above that is indented less.
//!
//! Reports of macOS, FreeBSD, VTune and GHC look like this. Some give a line's own cost, others what it costs with all
//! lines below it; the difference to the lines below is then its own.

use perfblame_cct::{Cursor, FrameId, ProfileBuilder};

/// The open lines, outermost first.
#[derive(Default)]
pub(crate) struct Outline {
    open: Vec<OutlineLine>,
}

#[derive(Clone, Copy)]
struct OutlineLine {
    indent: usize,
    cursor: Cursor,
    inclusive: i64,
    /// What the lines below have used up.
    inside: i64,
}

impl Outline {
    /// Adds a line with its own cost kept by the caller.
    pub(crate) fn enter(
        &mut self,
        builder: &mut ProfileBuilder,
        indent: usize,
        frame: FrameId,
    ) -> Cursor {
        self.enter_inclusive(builder, indent, frame, 0, |_, _, _| {})
    }

    /// Adds a line that costs `inclusive` with everything below it; `close` gets each finished line's own cost.
    pub(crate) fn enter_inclusive(
        &mut self,
        builder: &mut ProfileBuilder,
        indent: usize,
        frame: FrameId,
        inclusive: i64,
        close: impl FnMut(&mut ProfileBuilder, Cursor, i64),
    ) -> Cursor {
        self.close_to(builder, indent, close);
        let cursor = match self.open.last_mut() {
            Some(above) => {
                above.inside = above.inside.saturating_add(inclusive);
                builder.child(above.cursor, frame)
            }
            None => builder.root(frame),
        };
        self.open.push(OutlineLine { indent, cursor, inclusive, inside: 0 });
        cursor
    }

    /// Finishes all lines that are indented at least this much.
    pub(crate) fn close_to(
        &mut self,
        builder: &mut ProfileBuilder,
        indent: usize,
        mut close: impl FnMut(&mut ProfileBuilder, Cursor, i64),
    ) {
        while let Some(row) = self.open.pop_if(|row| row.indent >= indent) {
            close(builder, row.cursor, row.inclusive.saturating_sub(row.inside).max(0));
        }
    }
}
