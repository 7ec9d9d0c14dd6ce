//! Finding the function a user means: by its exact name, else by the end of it, else by a part.

use std::fmt;

use perfblame_cct::{FunctionId, Profile, Total};

/// Names listed when a function is not clear.
const SUGGESTIONS: usize = 8;

/// No function, or too many, for what the user wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FindError {
    /// What the user wrote.
    pub wanted: String,
    /// Names that match, or that come near when none does; the most costly first.
    pub candidates: Vec<String>,
    /// Names that match but are not listed.
    pub more: usize,
    /// True when several match, false when none does.
    pub ambiguous: bool,
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ambiguous {
            let count = self.candidates.len() + self.more;
            write!(f, "{count} functions match `{}`", self.wanted)
        } else {
            write!(f, "no function matches `{}`", self.wanted)
        }
    }
}

impl std::error::Error for FindError {}

/// All functions of the one name that `wanted` stands for. `totals` are those of [`perfblame_cct::function_totals`].
pub fn find_function(
    profile: &Profile,
    totals: &[Total],
    wanted: &str,
) -> Result<Vec<FunctionId>, FindError> {
    let mut in_tree = vec![false; profile.symbols.functions().len()];
    for row in profile.functions_of_rows() {
        in_tree[row as usize] = true;
    }
    let names: Vec<(FunctionId, &str)> = (profile.symbols.functions())
        .map(|(id, _)| (id, crate::function_name(&profile.symbols, id)))
        .filter(|(id, _)| in_tree[id.index()])
        .collect();
    let whole_words =
        |name: &str| name.strip_suffix(wanted).is_some_and(|before| !before.ends_with(is_word));
    let lower = wanted.to_lowercase();
    let tests: [&dyn Fn(&str) -> bool; 4] =
        [&|name| name == wanted, &whole_words, &|name| name.contains(wanted), &|name| {
            name.to_lowercase().contains(&lower)
        }];
    if !wanted.is_empty() {
        for test in tests {
            let found: Vec<_> = names.iter().filter(|(_, name)| test(name)).copied().collect();
            if let Some((_, first)) = found.first() {
                if found.iter().all(|(_, name)| name == first) {
                    return Ok(found.into_iter().map(|(id, _)| id).collect());
                }
                let mut candidates = distinct(found, totals);
                let more = candidates.len().saturating_sub(SUGGESTIONS);
                candidates.truncate(SUGGESTIONS);
                return Err(FindError {
                    wanted: wanted.to_owned(),
                    candidates,
                    more,
                    ambiguous: true,
                });
            }
        }
    }
    let mut near: Vec<_> = names
        .into_iter()
        .filter(|(_, name)| {
            let last = name.rsplit(|c| !is_word(c)).next().unwrap_or(name);
            distance(&last.to_lowercase(), &lower) <= 1 + lower.chars().count() / 4
        })
        .collect();
    near.sort_by_key(|(_, name)| distance(&name.to_lowercase(), &lower));
    let mut candidates = distinct(near, totals);
    candidates.truncate(SUGGESTIONS);
    Err(FindError { wanted: wanted.to_owned(), candidates, more: 0, ambiguous: false })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The names, the most costly first.
fn distinct(mut found: Vec<(FunctionId, &str)>, totals: &[Total]) -> Vec<String> {
    let cost = |id: FunctionId| totals.get(id.index()).map_or(0, |total| total.inclusive);
    found.sort_by(|a, b| cost(b.0).cmp(&cost(a.0)).then_with(|| a.1.cmp(b.1)));
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|(_, name)| seen.insert(*name));
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// Letters to change, add or drop to make one word of the other; long names are not looked at, they are no typos.
fn distance(word: &str, other: &str) -> usize {
    const LONGEST: usize = 64;
    let (word, other): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
    if word.len() > LONGEST || other.len() > LONGEST {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in word.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfblame_cct::{MetricId, function_totals};

    fn check(wanted: &str) -> String {
        let profile = perfblame_fixtures::profile(
            "main       main       main       main        main
             java.A.get java.A.get java.B.get parse_query parse_json",
        );
        let totals = function_totals(&profile, &profile.self_values(MetricId::new(0)));
        match find_function(&profile, &totals, wanted) {
            Ok(found) => profile.symbols.name(found[0]).to_owned(),
            Err(error) => format!("{error}: {}", error.candidates.join(", ")),
        }
    }

    #[test]
    fn functions_are_found_by_name_end_and_part() {
        assert_eq!(check("main"), "main");
        assert_eq!(check("B.get"), "java.B.get");
        assert_eq!(check("query"), "parse_query");
        assert_eq!(check("JSON"), "parse_json");
        assert_eq!(check("get"), "2 functions match `get`: java.A.get, java.B.get");
        assert_eq!(check("parse"), "2 functions match `parse`: parse_json, parse_query");
        assert_eq!(check("mian"), "no function matches `mian`: main");
        assert_eq!(check(""), "no function matches ``: ");
    }
}
