//! Frames of the JVM: a class and a method.
//!
//! Compilers make methods and classes that are in no source, and number those without a name. Numbered ones are named
//! here as the compiler does; the rest belongs to a class or method that is in the source.

use super::{FrameQuery, FunctionKind, FunctionRow, Location, SourceIndex, Why, innermost};
use crate::{Definition, Language};

/// Class and method of a frame, if it has them.
pub(super) fn class_and_method<'a>(frame: &FrameQuery<'a>) -> Option<(&'a str, &'a str)> {
    let name = frame.function.split('(').next().unwrap_or(frame.function);
    let java_name = |text: &str| {
        !text.is_empty() && !text.contains("::") && !text.contains(['/', ' ', '(', '{'])
            || text.contains("$$Lambda")
    };
    if let Some((class, method)) = name.rsplit_once('.') {
        let plain = java_name(class) && !class.contains(".<locals>");
        return (plain && !method.is_empty()).then_some((class, method));
    }
    let class = frame.component.filter(|it| java_name(it) && !super::path::is_source(it))?;
    let archive = [".jar", ".so", ".dll", ".exe", ".dylib"].iter().any(|end| class.ends_with(end));
    (!archive && !name.is_empty()).then_some((class, name))
}

impl SourceIndex {
    pub(super) fn in_class(&self, class: &str, method: &str, frame: &FrameQuery) -> Vec<Location> {
        let slashes = class.replace('/', ".");
        // The runtime's own class for a lambda stands for the class that the lambda is in.
        let made = slashes.find("$$").filter(|at| *at > 0);
        let class = made.map_or(slashes.as_str(), |at| &slashes[..at]);
        let Some(types) = self.types.get(class) else { return Vec::new() };
        let types: Vec<(usize, usize)> = types
            .iter()
            .copied()
            .filter(|(file, _)| self.files[*file].source.language == Language::Java)
            .collect();
        if types.is_empty() {
            return Vec::new();
        }
        let full = format!("{class}.{method}");
        let mut rows = self.named(&full, &types);
        if rows.is_empty() {
            return self.made_by_compiler(class, method, &types, frame);
        }
        let several_parts = rows
            .iter()
            .all(|row| self.function(*row).is_some_and(|it| it.kind == FunctionKind::Initialiser));
        if let Some(line) = frame.line {
            let around: Vec<FunctionRow> =
                rows.iter().copied().filter(|row| self.holds(*row, line)).collect();
            if !around.is_empty() {
                return self.locations(&around, 0.99, Why::FileLineAndName);
            }
        }
        if rows.len() > 1 && !several_parts {
            rows = self.overloads(rows, frame, class);
        }
        // A number is as sure as the order of the text; parts of one initialiser are all meant.
        let numbered = method.starts_with("lambda$")
            || class.split('$').any(|part| part.starts_with(|it: char| it.is_ascii_digit()));
        let certainty = if numbered { 0.8 } else { 0.97 };
        if several_parts {
            let parts = rows.iter().filter_map(|row| self.location(*row, certainty, Why::FullName));
            return parts.collect();
        }
        self.locations(&rows, certainty, Why::FullName)
    }

    fn named(&self, full: &str, types: &[(usize, usize)]) -> Vec<FunctionRow> {
        let mut files: Vec<usize> = types.iter().map(|(file, _)| *file).collect();
        files.dedup();
        let mut rows = Vec::new();
        for file in files {
            let functions = self.files[file].source.functions.iter().enumerate();
            let same = functions.filter(|(_, it)| it.name == full);
            rows.extend(same.map(|(function, _)| FunctionRow { file, function }));
        }
        rows
    }

    fn holds(&self, row: FunctionRow, line: u32) -> bool {
        self.function(row).is_some_and(|it| it.from_line <= line && line <= it.lines.1)
    }

    /// A method that is in no source: what it was made for.
    fn made_by_compiler(
        &self,
        class: &str,
        method: &str,
        types: &[(usize, usize)],
        frame: &FrameQuery,
    ) -> Vec<Location> {
        // The line is in the source whatever the method is called.
        if let Some(line) = frame.line {
            let mut found = Vec::new();
            for (file, row) in types {
                let indexed = &self.files[*file];
                let (first, last) = indexed.source.types[*row].lines;
                if line < first || last < line {
                    continue;
                }
                let function = innermost(&indexed.source.functions, line);
                let row = function.map(|function| FunctionRow { file: *file, function });
                found.extend(row.and_then(|row| self.location(row, 0.85, Why::FileAndLine)));
            }
            if !found.is_empty() {
                return found;
            }
        }
        // `lambda$main$7` of a text that has fewer lambdas is still one of `main`.
        if let Some(holder) = method.strip_prefix("lambda$").and_then(|it| it.rsplit_once('$')) {
            let holder = match holder.0 {
                "new" => "<init>",
                "static" => "<clinit>",
                name => name,
            };
            let rows = self.named(&format!("{class}.{holder}"), types);
            if !rows.is_empty() {
                return self.locations(&rows, 0.6, Why::Holder);
            }
        }
        let made = ["<init>", "<clinit>", "$values", "values", "valueOf", "$deserializeLambda$"];
        let record = ["equals", "hashCode", "toString"];
        let certainty = match method {
            _ if made.contains(&method) => 0.8,
            _ if method.starts_with("access$") || method.contains('$') => 0.5,
            _ if record.contains(&method) => 0.3,
            _ => return Vec::new(),
        };
        let each = certainty / types.len() as f64;
        let location = |(file, row): &(usize, usize)| {
            let indexed = &self.files[*file];
            let held = &indexed.source.types[*row];
            let definition = Definition {
                name: held.name.clone(),
                signature: None,
                file: Some(indexed.path.clone()),
                lines: Some(held.lines),
                language: Language::Java,
            };
            Location { definition, certainty: each, why: Why::MadeForType }
        };
        types.iter().map(location).collect()
    }

    /// The overloads that agree best with the parameters.
    fn overloads(
        &self,
        rows: Vec<FunctionRow>,
        frame: &FrameQuery,
        class: &str,
    ) -> Vec<FunctionRow> {
        let Some(asked) = frame.signature.and_then(parameters) else { return rows };
        let outer = class.rsplit_once('$').map(|(outer, _)| simple(outer).to_owned());
        let score = |row: &FunctionRow| -> Option<usize> {
            let own = self.function(*row)?.signature.as_deref()?;
            let own: Vec<&str> = own.trim_matches(['(', ')']).split(',').collect();
            let own = if own == [""] { &[][..] } else { &own[..] };
            // The constructor of an inner class is given the outer object, that of an enum its name and number.
            let hidden = match asked.len().checked_sub(own.len())? {
                0 => 0,
                1 if outer.as_deref() == asked.first().map(String::as_str) => 1,
                2 if asked[0] == "String" && asked[1] == "int" => 2,
                _ => return None,
            };
            let equal = own.iter().zip(&asked[hidden..]).filter(|(own, asked)| own == asked);
            Some(2 * equal.count() + usize::from(hidden == 0))
        };
        let best = rows.iter().filter_map(score).max();
        let Some(best) = best else { return rows };
        rows.into_iter().filter(|row| score(row) == Some(best)).collect()
    }
}

fn simple(name: &str) -> &str {
    name.rsplit(['.', '/', '$']).next().unwrap_or(name)
}

/// Parameter types of a descriptor, `(I[Ljava/lang/String;)V`, or of a list, `(int, java.lang.String[])`; simple names.
fn parameters(signature: &str) -> Option<Vec<String>> {
    let (_, inside) = signature.split_once('(')?;
    let (inside, result) = inside.rsplit_once(')')?;
    // A descriptor names its result.
    if result.is_empty() || inside.contains(',') {
        let types = inside.split(',').map(str::trim).filter(|it| !it.is_empty());
        return Some(
            types.map(|it| simple(&crate::source::without_generics(it)).to_owned()).collect(),
        );
    }
    let mut types = Vec::new();
    let mut rest = inside;
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let arrays = "[]".repeat((rest.len() - element.len()).min(255));
        let (name, left) = match element.split_at_checked(1)? {
            ("L", after) => {
                let (name, left) = after.split_once(';')?;
                (simple(name), left)
            }
            (letter, left) => {
                let name = match letter {
                    "B" => "byte",
                    "C" => "char",
                    "D" => "double",
                    "F" => "float",
                    "I" => "int",
                    "J" => "long",
                    "S" => "short",
                    "Z" => "boolean",
                    _ => return None,
                };
                (name, left)
            }
        };
        types.push(format!("{name}{arrays}"));
        rest = left;
    }
    Some(types)
}
