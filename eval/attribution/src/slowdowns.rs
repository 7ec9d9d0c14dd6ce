//! What is put into a function so that it takes longer, in each language.
//!
//! The templates are what people commit by mistake, cut down: work that nobody asked for, a call in a loop, a helper that
//! computes too much, a list that is searched from its start, an allocation per step, a lock per step. `$N` is the size,
//! found by measuring. No compiler may remove them, and none changes what the program prints.

use crate::functions::Function;
use crate::language::Language;

/// A way to be slower.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SlowdownKind {
    /// Extra work in the function's own body.
    OwnWork,
    /// An existing function is called more often.
    ExtraCalls,
    /// A new function is called.
    NewHelper,
    /// A list that grows is searched from its start at every call.
    Quadratic,
    /// Something is allocated in a loop.
    Allocation,
    /// A lock is taken in a loop.
    Lock,
}

impl SlowdownKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::OwnWork,
        Self::ExtraCalls,
        Self::NewHelper,
        Self::Quadratic,
        Self::Allocation,
        Self::Lock,
    ];

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnWork => "own work",
            Self::ExtraCalls => "extra calls",
            Self::NewHelper => "new helper",
            Self::Quadratic => "quadratic search",
            Self::Allocation => "allocation in a loop",
            Self::Lock => "lock in a loop",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Text to put in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet {
    /// At the start of the function's body.
    pub body: &'static str,
    /// Outside of functions; empty when there is nothing.
    pub outside: &'static str,
    /// The function that is new; empty when none is.
    pub helper: &'static str,
}

/// The text of a kind; nothing where the language has no such thing. `$CALL` stands for a call of an existing function.
pub fn snippet(kind: SlowdownKind, language: Language) -> Snippet {
    let (body, outside, helper) = match (language, kind) {
        (Language::JavaScript, SlowdownKind::OwnWork) => (
            "let stateMix = 17;\nfor (let step = 0; step < $N; step++) {\n|stateMix = (stateMix * 31 + step) % 65521;\n}\nif (stateMix < 0) throw new Error('state');",
            "",
            "",
        ),
        (Language::JavaScript, SlowdownKind::ExtraCalls) => (
            "let checkedSteps = 0;\nfor (let step = 0; step < $N; step++) {\n|if ($CALL) checkedSteps++;\n}\nif (checkedSteps < 0) throw new Error('steps');",
            "",
            "",
        ),
        (Language::JavaScript, SlowdownKind::NewHelper) => (
            "if (stateFingerprint($N) === '') throw new Error('fingerprint');",
            "function stateFingerprint(rounds) {\n|let print = 'f';\n|for (let step = 0; step < rounds; step++) {\n||print = String(print.length * 31 + step).padStart(6, '0');\n|}\n|return print;\n}",
            "stateFingerprint",
        ),
        (Language::JavaScript, SlowdownKind::Quadratic) => (
            "for (let step = 0; step < 16 && seenStates.length < $N; step++) seenStates.push(seenStates.length);\nif (seenStates.indexOf(-1) >= 0) throw new Error('seen');",
            "^var seenStates = [];",
            "",
        ),
        (Language::JavaScript, SlowdownKind::Allocation) => (
            "let copiedParts = 0;\nfor (let step = 0; step < $N; step++) {\n|const parts = [step, step + 1, step + 2].map(String);\n|copiedParts += parts.length;\n}\nif (copiedParts < 0) throw new Error('parts');",
            "",
            "",
        ),
        (Language::JavaScript, SlowdownKind::Lock) => (
            "for (let step = 0; step < $N; step++) {\n|while (Atomics.compareExchange(stateLock, 0, 0, 1) !== 0);\n|Atomics.store(stateLock, 0, 0);\n}",
            "^var stateLock = new Int32Array(new SharedArrayBuffer(4));",
            "",
        ),
        (Language::Python, SlowdownKind::OwnWork) => (
            "state_mix = 17\nfor step in range($N):\n|state_mix = (state_mix * 31 + step) % 65521",
            "",
            "",
        ),
        (Language::Python, SlowdownKind::ExtraCalls) => ("for step in range($N):\n|$CALL", "", ""),
        (Language::Python, SlowdownKind::NewHelper) => (
            "_state_fingerprint($N)",
            "def _state_fingerprint(rounds):\n|text = 'f'\n|for step in range(rounds):\n||text = str(len(text) * 31 + step).zfill(6)\n|return text",
            "_state_fingerprint",
        ),
        (Language::Python, SlowdownKind::Quadratic) => (
            "if len(_seen_states) < $N:\n|_seen_states.extend(range(16))\nif -1 in _seen_states:\n|raise ValueError('seen')",
            "_seen_states = []",
            "",
        ),
        (Language::Python, SlowdownKind::Allocation) => {
            ("for step in range($N):\n|parts = [step, step + 1, step + 2] * 8", "", "")
        }
        (Language::Python, SlowdownKind::Lock) => (
            "for step in range($N):\n|with _state_lock:\n||pass",
            "import threading\n_state_lock = threading.Lock()",
            "",
        ),
        (Language::C, SlowdownKind::OwnWork) => (
            "volatile unsigned state_mix = 17;\nfor (unsigned step = 0; step < $N; step++) {\n|state_mix = state_mix * 31 + step;\n}",
            "",
            "",
        ),
        (Language::C, SlowdownKind::ExtraCalls) => (
            "volatile int checked_steps = 0;\nfor (unsigned step = 0; step < $N; step++) {\n|checked_steps += $CALL;\n}",
            "",
            "",
        ),
        (Language::C, SlowdownKind::NewHelper) => (
            "state_fingerprint($N);",
            "static unsigned state_fingerprint(unsigned rounds) {\n|volatile unsigned print = 17;\n|for (unsigned step = 0; step < rounds; step++) {\n||print = (print ^ step) * 16777619u;\n|}\n|return print;\n}",
            "state_fingerprint",
        ),
        (Language::C, SlowdownKind::Quadratic) => (
            "static volatile int seen_states[65536];\nstatic int seen_count;\nif (seen_count < $N && seen_count < 65536) {\n|seen_states[seen_count++] = 1;\n}\nfor (int step = 0; step < seen_count; step++) {\n|if (seen_states[step] == 0) {\n||break;\n|}\n}",
            "",
            "",
        ),
        (Language::C, SlowdownKind::Allocation) => (
            "for (unsigned step = 0; step < $N; step++) {\n|char *volatile copied = (char *)malloc(64 + step % 64);\n|free(copied);\n}",
            "#include <stdlib.h>",
            "",
        ),
        (Language::C, SlowdownKind::Lock) => (
            "static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;\nfor (unsigned step = 0; step < $N; step++) {\n|pthread_mutex_lock(&state_lock);\n|pthread_mutex_unlock(&state_lock);\n}",
            "#include <pthread.h>",
            "",
        ),
        (Language::Java, SlowdownKind::OwnWork) => (
            "int stateMix = 17;\nfor (int step = 0; step < $N; step++) {\n|stateMix = (stateMix * 31 + step) % 65521;\n}\nif (stateMix == Integer.MIN_VALUE) {\n|throw new IllegalStateException();\n}",
            "",
            "",
        ),
        (Language::Java, SlowdownKind::ExtraCalls) => (
            "int checkedSteps = 0;\nfor (int step = 0; step < $N; step++) {\n|if ($CALL) {\n||checkedSteps++;\n|}\n}\nif (checkedSteps < 0) {\n|throw new IllegalStateException();\n}",
            "",
            "",
        ),
        (Language::Java, SlowdownKind::NewHelper) => (
            "if (stateFingerprint($N) == 1) {\n|throw new IllegalStateException();\n}",
            "private static long stateFingerprint(int rounds) {\n|long print = 17;\n|for (int step = 0; step < rounds; step++) {\n||print = (print ^ step) * 16777619L;\n|}\n|return print | 2;\n}",
            "stateFingerprint",
        ),
        (Language::Java, SlowdownKind::Quadratic) => (
            "if (SEEN_STATES.size() < $N) {\n|SEEN_STATES.add(SEEN_STATES.size());\n}\nif (SEEN_STATES.indexOf(-1) >= 0) {\n|throw new IllegalStateException();\n}",
            "private static final java.util.List<Integer> SEEN_STATES = new java.util.ArrayList<>();",
            "",
        ),
        (Language::Java, SlowdownKind::Allocation) => (
            "int copiedParts = 0;\nfor (int step = 0; step < $N; step++) {\n|int[] parts = new int[16 + step % 8];\n|copiedParts += parts.length;\n}\nif (copiedParts < 0) {\n|throw new IllegalStateException();\n}",
            "",
            "",
        ),
        (Language::Java, SlowdownKind::Lock) => (
            "for (int step = 0; step < $N; step++) {\n|synchronized (STATE_LOCK) {\n||STATE_LOCK[0] = step;\n|}\n}",
            "private static final int[] STATE_LOCK = new int[1];",
            "",
        ),
        (Language::Rust, SlowdownKind::OwnWork) => (
            "let mut state_mix = 17u32;\nfor step in 0..$Nu32 {\n|state_mix = core::hint::black_box(state_mix.wrapping_mul(31) ^ step);\n}\nlet _ = state_mix;",
            "",
            "",
        ),
        (Language::Rust, SlowdownKind::ExtraCalls) => {
            ("for step in 0..$Nu32 {\n|core::hint::black_box($CALL);\n}", "", "")
        }
        (Language::Rust, SlowdownKind::NewHelper) => (
            "core::hint::black_box(state_fingerprint($N));",
            "fn state_fingerprint(rounds: u32) -> u32 {\n|let mut print = 17u32;\n|for step in 0..rounds {\n||print = core::hint::black_box((print ^ step).wrapping_mul(16_777_619));\n|}\n|print\n}",
            "state_fingerprint",
        ),
        (Language::Rust, SlowdownKind::Quadratic) => (
            "static SEEN_STATES: std::sync::Mutex<Vec<u32>> = std::sync::Mutex::new(Vec::new());\nif let Ok(mut seen) = SEEN_STATES.lock() {\n|if seen.len() < $N {\n||seen.push(1);\n|}\n|core::hint::black_box(seen.iter().position(|state| *state == 0));\n}",
            "",
            "",
        ),
        (Language::Rust, SlowdownKind::Allocation) => {
            ("for step in 0..$Nu32 {\n|core::hint::black_box(std::vec![step; 16]);\n}", "", "")
        }
        (Language::Rust, SlowdownKind::Lock) => (
            "static STATE_LOCK: std::sync::Mutex<u32> = std::sync::Mutex::new(0);\nfor step in 0..$Nu32 {\n|if let Ok(mut state) = STATE_LOCK.lock() {\n||*state = core::hint::black_box(step);\n|}\n}",
            "",
            "",
        ),
    };
    Snippet { body, outside, helper }
}

/// The size to begin with; what follows is measured.
pub fn first_size(language: Language) -> u64 {
    match language {
        Language::Python => 4,
        _ => 40,
    }
}

/// Lines with the language's indentation; `|` is one step.
pub fn lines(template: &str, indent: &str, language: Language) -> Vec<String> {
    (template.lines())
        .map(|line| {
            let text = line.trim_start_matches('|');
            let depth = line.len() - text.len();
            format!("{indent}{}{text}", language.step().repeat(depth))
        })
        .collect()
}

/// The text with a slowdown in a function. Says on which lines it stands, counted from 1 (its first in the body).
pub fn inject(
    text: &str,
    host: &Function,
    language: Language,
    snippet: &Snippet,
    size: u64,
    call: &str,
) -> String {
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let body_indent = format!("{}{}", host.indent, language.step());
    let filled = snippet.body.replace("$N", &size.to_string()).replace("$CALL", call);
    all.splice(host.body..host.body, lines(&filled, &body_indent, language));
    let (at_top, outside) = match snippet.outside.strip_prefix('^') {
        Some(outside) => (true, outside),
        None => (false, snippet.outside),
    };
    if !outside.is_empty() {
        // In Java, everything is in a class.
        let indent = if language == Language::Java { host.indent.as_str() } else { "" };
        let mut added = lines(outside, indent, language);
        let row = match language {
            _ if at_top => 1,
            // What is used must stand above.
            Language::C if outside.starts_with('#') => {
                all.iter().position(|line| line.starts_with("#include")).unwrap_or(0)
            }
            Language::C | Language::Java => above(&all, host.start),
            _ => all.len(),
        };
        let blank_before = row > 0 && !outside.starts_with('#');
        if blank_before {
            added.insert(0, String::new());
        }
        if row < all.len() && !outside.starts_with('#') && !at_top {
            added.push(String::new());
        }
        all.splice(row..row, added);
    }
    let mut joined = all.join("\n");
    joined.push('\n');
    joined
}

/// The first line of the comments and attributes above a function.
pub fn above(lines: &[String], start: usize) -> usize {
    let belongs = |line: &String| {
        let line = line.trim_start();
        line.starts_with("//")
            || line.starts_with('#')
            || line.starts_with("/*")
            || line.starts_with('*')
            || line.starts_with('@')
    };
    start - lines[..start].iter().rev().take_while(|line| belongs(line)).count()
}
