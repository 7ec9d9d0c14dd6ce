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
}

impl Edit {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Comment, Self::Statement, Self::Rename, Self::Extract, Self::Move];

    /// What the truth calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Statement => "statement",
            Self::Rename => "local renamed",
            Self::Extract => "helper extracted",
            Self::Move => "moved",
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
                Language::JavaScript => format!("{name}Now"),
                _ => format!("{name}_now"),
            };
            let word = Regex::new(&format!(r"\b{name}\b")).ok()?;
            for line in &mut lines[function.start..=function.end] {
                *line = word.replace_all(line, renamed.as_str()).into_owned();
            }
        }
        Edit::Extract => extract(&mut lines, function, language)?,
        Edit::Move => swap(&mut lines, text, function, language)?,
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
        Language::Rust => {
            let name = format!("{bare}_result");
            let helper = format!("fn {name}<T>(value: T) -> T {{\n    value\n}}");
            (name, helper)
        }
    };
    let end = if language == Language::Python { "" } else { ";" };
    lines[row] = format!("{indent}return {name}({value}){end}");
    let place = match language {
        Language::C => above(lines, function.start),
        _ => lines.len(),
    };
    let mut added: Vec<String> = helper.lines().map(str::to_owned).collect();
    match language {
        Language::C => added.push(String::new()),
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
