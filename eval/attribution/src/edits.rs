//! Edits that change a function and not what it costs: what reviews see all day.

use perfblame_fixtures::Random;
use regex::Regex;

use crate::functions::{Function, functions};
use crate::language::Language;
use crate::slowdowns::above;

/// An edit that costs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edit {
    /// A comment is added within the body.
    Comment,
    /// A statement that does nothing worth measuring.
    Statement,
    /// A local variable has another name.
    Rename,
    /// What is returned goes through a small helper.
    Extract,
    /// The function changes places with the next one.
    Move,
    /// A function that only its own file knows has another name.
    RenameFunction,
    /// Work that is never done: the condition before it does not hold.
    Guarded,
}

impl Edit {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Comment,
        Self::Statement,
        Self::Rename,
        Self::Extract,
        Self::Move,
        Self::RenameFunction,
        Self::Guarded,
    ];

    /// Those that change the text and not what it does.
    pub const REFACTORINGS: [Self; 4] =
        [Self::Rename, Self::Extract, Self::Move, Self::RenameFunction];

    /// Those that no program minds.
    pub const SAFEST: [Self; 4] = [Self::Comment, Self::Statement, Self::Move, Self::Guarded];

    /// What the truth calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Statement => "statement",
            Self::Rename => "local renamed",
            Self::Extract => "helper extracted",
            Self::Move => "moved",
            Self::RenameFunction => "function renamed",
            Self::Guarded => "work that is never done",
        }
    }
}

const COMMENTS: &[&str] = &[
    "Callers rely on the order of these steps.",
    "Nothing here may depend on the locale.",
    "See the tests for the corner cases.",
    "Kept simple on purpose.",
];

/// The text with one edit in a function; nothing where the function has no place for it.
pub fn edit(
    text: &str,
    function: &Function,
    language: Language,
    edit: Edit,
    random: &mut Random,
) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let indent = format!("{}{}", function.indent, language.step());
    match edit {
        Edit::Comment => {
            let row = (random.unit() * COMMENTS.len() as f64) as usize;
            let comment = format!("{indent}{} {}", language.comment(), COMMENTS[row]);
            lines.insert(function.body, comment);
        }
        Edit::Statement => {
            let statement = match language {
                Language::C => "int is_traced = 0;\n(void)is_traced;",
                Language::Java => "boolean isTraced = false;",
                Language::JavaScript => "const isTraced = false;\nvoid isTraced;",
                Language::Python => "is_traced = False",
                Language::Rust => "let _is_traced = false;",
            };
            let added = statement.lines().map(|line| format!("{indent}{line}"));
            lines.splice(function.body..function.body, added);
        }
        Edit::Rename => {
            let inside = lines[function.start..=function.end].join("\n");
            let name = local(&inside, language)?;
            let renamed = match language {
                Language::Java | Language::JavaScript => format!("{name}Now"),
                _ => format!("{name}_now"),
            };
            let word = Regex::new(&format!(r"\b{name}\b")).ok()?;
            for line in &mut lines[function.start..=function.end] {
                *line = word.replace_all(line, renamed.as_str()).into_owned();
            }
        }
        Edit::Extract => extract(&mut lines, function, language)?,
        Edit::Move => swap(&mut lines, text, function, language)?,
        Edit::RenameFunction => {
            let name = &function.name;
            let own = match language {
                Language::C => lines[function.start].starts_with("static "),
                Language::Java => lines[function.start].contains("private "),
                Language::JavaScript => {
                    let exported =
                        format!(r#"exports\b.*\b{name}\b|[.'"`]{name}\b|\b{name}\s*[:,}}]"#);
                    let exported = Regex::new(&exported).ok()?;
                    lines[function.start].trim_start().starts_with("function ")
                        && !exported.is_match(text)
                }
                Language::Python => name.starts_with('_') && !name.starts_with("__"),
                Language::Rust => lines[function.start].trim_start().starts_with("fn "),
            };
            if !own || name.len() < 5 {
                return None;
            }
            let renamed = match language {
                Language::Java | Language::JavaScript => format!("{name}Again"),
                _ => format!("{name}_again"),
            };
            let word = Regex::new(&format!(r"\b{name}\b")).ok()?;
            for line in &mut lines {
                *line = word.replace_all(line, renamed.as_str()).into_owned();
            }
        }
        Edit::Guarded => {
            let statement = match language {
                Language::C => {
                    "static const int checks_all = 0;\nfor (unsigned step = 0; checks_all && step < 100000; step++) {\n|abort();\n}"
                }
                Language::Java => {
                    "final int checkedSteps = 0;\nfor (int step = 0; step < checkedSteps; step++) {\n|System.err.println(step);\n}"
                }
                Language::JavaScript => {
                    "const checkedSteps = 0;\nfor (let step = 0; step < checkedSteps; step++) {\n|console.error(step);\n}"
                }
                Language::Python => {
                    "checks_all = False\nif checks_all:\n|for step in range(100000):\n||print(step)"
                }
                Language::Rust => {
                    "let checked_steps = 0u32;\nfor step in 0..checked_steps {\n|core::hint::black_box(step);\n}"
                }
            };
            let added = crate::slowdowns::lines(statement, &indent, language);
            lines.splice(function.body..function.body, added);
            if language == Language::C && !text.contains("#include <stdlib.h>") {
                lines.insert(0, "#include <stdlib.h>".to_owned());
            }
        }
    }
    let mut joined = lines.join("\n");
    joined.push('\n');
    Some(joined)
}

/// A local variable that can be renamed by its word: it is no field, no key and in no text.
fn local(inside: &str, language: Language) -> Option<String> {
    let declared = match language {
        Language::C => {
            r"(?m)^\s+(?:int|bufsize_t|size_t|bool|char|unsigned char|cmark_node|cmark_chunk)\s\*?(\w{3,})(?: =|;)"
        }
        Language::Java => {
            r"(?m)^\s+(?:final )?(?:[A-Z]\w*(?:<[\w<>, ]*>)?|int|char|boolean) (\w{3,})(?: =|;)"
        }
        Language::JavaScript => r"(?m)^\s+(?:const|let|var) (\w{3,})(?: =|;|,)",
        Language::Python => r"(?m)^\s+(\w{3,}) = ",
        Language::Rust => r"(?m)^\s+let (?:mut )?(\w{3,})(?: =|;|:)",
    };
    let declared = Regex::new(declared).ok()?;
    declared.captures_iter(inside).map(|found| found[1].to_owned()).find(|name| {
        let unsafe_use = match language {
            Language::JavaScript => {
                format!(r#"[.'"`]{name}\b|\b{name}\s*:|[{{,]\s*{name}\s*[,}}]|\$\{{"#)
            }
            Language::Python => format!(r#"[.'"]{name}\b|\b{name}=[^=]|\{{{name}"#),
            Language::Java => format!(r#"[.'"]{name}\b|\b{name}\("#),
            Language::C => format!(r#"(?:\.|->|")\s*{name}\b|\b{name}\("#),
            Language::Rust => {
                format!(r#"[.'"{{]{name}\b|\b{name}[!(]|[{{,]\s*{name}\s*[,}}]|\b{name}:"#)
            }
        };
        Regex::new(&unsafe_use).is_ok_and(|pattern| !pattern.is_match(inside))
    })
}

fn extract(lines: &mut Vec<String>, function: &Function, language: Language) -> Option<()> {
    let returns = match language {
        Language::Python => r"^(\s+)return (\w+)$",
        _ => r"^(\s+)return (\w+);$",
    };
    let returns = Regex::new(returns).ok()?;
    let row = (function.body..=function.end).find(|row| returns.is_match(&lines[*row]))?;
    let found = returns.captures(&lines[row])?;
    let (indent, value) = (found[1].to_owned(), found[2].to_owned());
    let bare = function.name.trim_start_matches('_');
    let (name, helper) = match language {
        Language::JavaScript => {
            let name = format!("{bare}Result");
            let helper = format!("function {name}(value) {{\n  return value;\n}}");
            (name, helper)
        }
        Language::Python => {
            let name = format!("_{bare}_result");
            let helper = format!("\ndef {name}(value):\n    return value");
            (name, helper)
        }
        Language::C => {
            // Only where the header says what is returned.
            let header = &lines[function.start];
            let kind = Regex::new(r"^(?:static )?(int|bool|bufsize_t) \w+\(").ok()?;
            let kind = kind.captures(header)?[1].to_owned();
            let name = format!("{bare}_result");
            let helper = format!("static {kind} {name}({kind} value) {{\n  return value;\n}}");
            (name, helper)
        }
        Language::Java => {
            let kind =
                Regex::new(&format!(r"([\w.]+(?:<[\w<>, ?]*>)?(?:\[\])?) {}\(", function.name));
            let kind = kind.ok()?.captures(&lines[function.start])?[1].to_owned();
            let name = format!("{bare}Result");
            let indent = &function.indent;
            let helper = format!(
                "{indent}private static {kind} {name}({kind} value) {{\n{indent}    return value;\n{indent}}}"
            );
            (name, helper)
        }
        Language::Rust => {
            let name = format!("{bare}_result");
            let helper = format!("fn {name}<T>(value: T) -> T {{\n    value\n}}");
            (name, helper)
        }
    };
    let end = if language == Language::Python { "" } else { ";" };
    lines[row] = format!("{indent}return {name}({value}){end}");
    let place = match language {
        Language::C | Language::Java => above(lines, function.start),
        _ => lines.len(),
    };
    let mut added: Vec<String> = helper.lines().map(str::to_owned).collect();
    match language {
        Language::C | Language::Java => added.push(String::new()),
        _ => added.insert(0, String::new()),
    }
    lines.splice(place..place, added);
    Some(())
}

/// Lets a function change places with the next one beside it, when that one does not need it above.
fn swap(
    lines: &mut Vec<String>,
    text: &str,
    function: &Function,
    language: Language,
) -> Option<()> {
    let all = functions(text, language);
    let next =
        all.iter().find(|other| other.start > function.end && other.indent == function.indent)?;
    let (first, second) = (above(lines, function.start), above(lines, next.start));
    let between = &lines[function.end + 1..second];
    if between.iter().any(|line| !line.trim().is_empty()) {
        return None;
    }
    let moved = lines[second..=next.end].to_vec();
    if moved.iter().any(|line| line.contains(&function.name)) {
        return None;
    }
    let mut swapped = moved;
    swapped.extend(between.iter().cloned());
    swapped.extend(lines[first..=function.end].iter().cloned());
    lines.splice(first..=next.end, swapped);
    Some(())
}
