//! What to call a function that may have no name.

use std::borrow::Cow;

use perfblame_cct::{FunctionId, Symbols};

/// What native profilers call a function they found no symbol for.
const UNKNOWN: &str = "[unknown]";

/// The name of a function, `(anonymous)` when it has none.
pub fn function_name(symbols: &Symbols, function: FunctionId) -> &str {
    match symbols.name(function) {
        "" => "(anonymous)",
        name => name,
    }
}

/// The name of a function where nothing but a name is shown: one without a name is called by where it is.
pub fn full_name(symbols: &Symbols, function: FunctionId) -> Cow<'_, str> {
    let name = symbols.name(function);
    let row = symbols.function(function);
    if name == UNKNOWN
        && let Some(component) = row.component
    {
        let component = file_name(symbols.text(component));
        return Cow::Owned(format!("[{}]", component.trim_matches(['[', ']'])));
    }
    if !name.is_empty() {
        return Cow::Borrowed(name);
    }
    match (row.file.or(row.component), row.line) {
        (Some(file), Some(line)) => {
            Cow::Owned(format!("(anonymous {}:{line})", file_name(symbols.text(file))))
        }
        (Some(file), None) => Cow::Owned(format!("(anonymous {})", file_name(symbols.text(file)))),
        (None, _) => Cow::Borrowed("(anonymous)"),
    }
}

fn file_name(path: &str) -> &str {
    match path.rsplit(['/', '\\']).next() {
        Some("") | None => path,
        Some(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::{Function, position};

    #[test]
    fn a_function_without_a_name_is_called_by_its_place() {
        let mut symbols = Symbols::default();
        let (empty, url) = (symbols.string(""), symbols.string("https://a.example/js/app.js"));
        let bare = symbols.intern_function(Function::named(empty));
        let placed = Function { line: position(12), ..Function::named(empty).in_component(url) };
        let placed = symbols.intern_function(placed);
        assert_eq!(full_name(&symbols, bare), "(anonymous)");
        assert_eq!(full_name(&symbols, placed), "(anonymous app.js:12)");
        assert_eq!(function_name(&symbols, placed), "(anonymous)");
    }
}
