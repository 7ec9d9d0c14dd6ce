//! Names of functions, taken apart.

/// What follows the last separator.
pub(crate) fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':', '>']).next().unwrap_or(name)
}

/// `Foo<T>::bar` as `Foo::bar`.
pub(crate) fn without_generics(name: &str) -> String {
    if !name.contains('<') || name.contains("operator") {
        return name.to_owned();
    }
    let mut depth = 0_u32;
    let mut plain = String::with_capacity(name.len());
    let mut previous = ' ';
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' if previous != '-' && previous != '=' && depth > 0 => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
        previous = letter;
    }
    // The turbofish leaves its colons.
    plain.replace("::::", "::").trim_end_matches(':').to_owned()
}
