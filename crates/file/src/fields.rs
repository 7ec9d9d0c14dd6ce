//! The sections and the numbers of their columns, as `docs/perfblame-file.md` lists them. Numbers are never used again
//! for something else.

use crate::sections::Tag;

/// What a run says about itself.
pub const INFO: Tag = *b"INFO";
/// All texts.
pub const STRINGS: Tag = *b"STRS";
/// Functions.
pub const FUNCTIONS: Tag = *b"FUNC";
/// Frames.
pub const FRAMES: Tag = *b"FRAM";
/// Threads.
pub const THREADS: Tag = *b"THRD";
/// Metrics.
pub const METRICS: Tag = *b"METR";
/// The tree.
pub const TREE: Tag = *b"TREE";
/// Self values of a run.
pub const CELLS: Tag = *b"CELL";
/// What functions of scripts look like.
pub const SHAPES: Tag = *b"SHAP";
/// Samples and calls of a run by time.
pub const TIMELINE: Tag = *b"TIME";

/// Columns of [`INFO`].
pub mod info {
    pub const SAMPLES: u64 = 1;
    pub const FORMAT: u64 = 2;
    pub const PRODUCER: u64 = 3;
    pub const COMMAND: u64 = 4;
    pub const DURATION: u64 = 5;
    pub const STARTED: u64 = 6;
    pub const LABEL_KEYS: [u64; 2] = [7, 8];
    pub const LABEL_VALUES: [u64; 2] = [9, 10];
    pub const WARNING_CODES: [u64; 2] = [11, 12];
    pub const WARNING_MESSAGES: [u64; 2] = [13, 14];
    pub const WARNING_COUNTS: u64 = 15;
    /// 1 where this run's period of a metric is known; not there where the metrics' own periods hold.
    pub const HAS_PERIOD: u64 = 16;
    pub const PERIOD: u64 = 17;
}

/// Columns of [`STRINGS`].
pub mod strings {
    pub const TEXTS: [u64; 2] = [1, 2];
}

/// Columns of [`FUNCTIONS`].
pub mod functions {
    pub const NAME: u64 = 1;
    pub const COMPONENT: u64 = 2;
    pub const SIGNATURE: u64 = 3;
    pub const FILE: u64 = 4;
    pub const LINE: u64 = 5;
    pub const COLUMN: u64 = 6;
    pub const LAYER: u64 = 7;
    pub const PACKAGE: u64 = 8;
    pub const BUILD_ID: u64 = 9;
}

/// Columns of [`FRAMES`].
pub mod frames {
    pub const FUNCTION: u64 = 1;
    pub const FILE: u64 = 2;
    pub const LINE: u64 = 3;
    pub const COLUMN: u64 = 4;
    pub const BYTECODE: u64 = 5;
    pub const ADDRESS: u64 = 6;
    pub const INLINED: u64 = 7;
    pub const SITE_KIND: u64 = 8;
    pub const SITE: u64 = 9;
    pub const SITE_COLUMN: u64 = 10;

    pub const NO_SITE: u64 = 0;
    pub const SITE_LINE: u64 = 1;
    pub const SITE_BYTECODE: u64 = 2;
    pub const SITE_ADDRESS: u64 = 3;
}

/// Columns of [`THREADS`].
pub mod threads {
    pub const NAME: u64 = 1;
    pub const PROCESS: u64 = 2;
    pub const GROUP: u64 = 3;
    /// Bit 0: the process id is known; bit 1: the thread id is.
    pub const KNOWN: u64 = 4;
    pub const PID: u64 = 5;
    pub const TID: u64 = 6;

    pub const PID_KNOWN: u64 = 1;
    pub const TID_KNOWN: u64 = 2;
}

/// Columns of [`METRICS`].
pub mod metrics {
    pub const NAMES: [u64; 2] = [1, 2];
    pub const UNITS: [u64; 2] = [3, 4];
    pub const EXACT: u64 = 5;
    /// 1 where the period is known.
    pub const HAS_PERIOD: u64 = 6;
    pub const PERIOD: u64 = 7;
    pub const DECIMALS: u64 = 8;
}

/// Columns of [`TREE`].
pub mod tree {
    pub const GRAIN: u64 = 1;
    /// How many nodes end before this row's begins: 0 for a first child, 1 for a next sibling of a leaf.
    pub const CLOSED: u64 = 2;
    pub const FRAME: u64 = 3;
}

/// Columns of [`CELLS`].
pub mod cells {
    pub const NODE: u64 = 1;
    pub const THREAD: u64 = 2;
    /// The first metric's column; the next metric's is one more.
    pub const VALUES: u64 = 16;
}

/// Columns of [`SHAPES`].
pub mod shapes {
    /// The script's address.
    pub const SCRIPT: u64 = 1;
    /// How many functions it has.
    pub const FUNCTIONS: u64 = 2;
    pub const LINE: u64 = 3;
    pub const COLUMN: u64 = 4;
    /// How many rows before this one the function around it is; 0 for none.
    pub const OUTWARDS: u64 = 5;
    pub const HASH: u64 = 6;
    pub const SIZE: u64 = 7;
    /// How many marks it has.
    pub const MARKS: u64 = 8;
    pub const MARK: u64 = 9;
}

/// Columns of [`TIMELINE`].
pub mod timeline {
    pub const SAMPLE_TIME: u64 = 1;
    pub const SAMPLE_THREAD: u64 = 2;
    pub const SAMPLE_NODE: u64 = 3;
    pub const SAMPLE_METRIC: u64 = 4;
    pub const SAMPLE_VALUE: u64 = 5;
    pub const CALL_START: u64 = 6;
    pub const CALL_DURATION: u64 = 7;
    pub const CALL_THREAD: u64 = 8;
    pub const CALL_NODE: u64 = 9;
}
