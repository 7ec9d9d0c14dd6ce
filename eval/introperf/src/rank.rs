//! How well a ranking of paths finds the cause: p_min and f_min of section 5.1.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::case::Truth;

/// A path of a ranking, outermost function first.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranked {
    pub cost: f64,
    pub functions: Vec<RankedFunction>,
}

/// A function on a path.
#[derive(Clone, PartialEq, Debug)]
pub struct RankedFunction {
    pub function: String,
    pub component: String,
    /// Without that of what it calls.
    pub latency: f64,
}

/// What is to be found, also where it has no name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    object: String,
    functions: Vec<String>,
    /// Where they are in their object.
    ranges: Vec<Range<u64>>,
}

impl Wanted {
    /// The truth of a case, and what `nm -S` says of its object before names were taken out.
    pub fn new(truth: &Truth, symbols: &str) -> Self {
        let functions: Vec<String> = truth.functions.iter().map(|&name| name.to_owned()).collect();
        let range = |line: &str| {
            let mut words = line.split_whitespace();
            let start = u64::from_str_radix(words.next()?, 16).ok()?;
            let size = u64::from_str_radix(words.next()?, 16).ok()?;
            let name = words.nth(1)?;
            functions.iter().any(|wanted| wanted == name).then(|| start..start + size)
        };
        let ranges = symbols.lines().filter_map(range).collect();
        Self { object: truth.object.to_owned(), functions, ranges }
    }

    /// True for the function that is wanted.
    pub fn is(&self, function: &str, component: &str) -> bool {
        let component = component.rsplit('/').next().unwrap_or(component);
        if !component.starts_with(&self.object) {
            return false;
        }
        // Names without what compilers and linkers append.
        let plain = function.split(['@', '.']).next().unwrap_or(function);
        let plain = plain.split("+0x").next().unwrap_or(plain);
        if self.functions.iter().any(|wanted| wanted == plain) {
            return true;
        }
        let nameless = function.rsplit_once("+0x").map(|(_, digits)| digits.trim_end_matches(']'));
        let address = nameless.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        address.is_some_and(|address| self.ranges.iter().any(|range| range.contains(&address)))
    }
}

/// Where the cause was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// The first path with the function on it, from 1.
    pub p_min: usize,
    /// Calls between the costliest function of that path and the wanted one.
    pub f_min: usize,
    /// Its place among the functions of that path, by cost, from 0.
    pub place: usize,
}

/// Looks for the cause in a ranking.
pub fn find(paths: &[Ranked], wanted: &Wanted) -> Option<Found> {
    let is = |function: &RankedFunction| wanted.is(&function.function, &function.component);
    let at = paths.iter().position(|path| path.functions.iter().any(is))?;
    let functions = &paths[at].functions;
    let mut order: Vec<usize> = (0..functions.len()).collect();
    order.sort_by(|one, other| functions[*other].latency.total_cmp(&functions[*one].latency));
    let hottest = order[0];
    let here = (0..functions.len()).filter(|place| is(&functions[*place]));
    let f_min = here.clone().map(|place| place.abs_diff(hottest)).min()?;
    let place = order.iter().position(|place| is(&functions[*place]))?;
    Some(Found { p_min: at + 1, f_min, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: Truth = Truth { object: "libslow.so", functions: &["slow"], why: "" };

    fn path(drawn: &str) -> Ranked {
        let function = |part: &str| {
            let (function, latency) = part.split_once(' ').unwrap();
            RankedFunction {
                function: function.to_owned(),
                component: "/usr/lib/libslow.so.1".to_owned(),
                latency: latency.parse().unwrap(),
            }
        };
        Ranked { cost: 0.0, functions: drawn.split(" > ").map(function).collect() }
    }

    #[test]
    fn the_first_path_with_the_function_counts() {
        let wanted = Wanted::new(&TRUTH, "");
        let paths = [path("main 5 > fast 9"), path("main 5 > slow 2 > x 3 > y 7"), path("slow 9")];
        let found = find(&paths, &wanted).unwrap();
        assert_eq!(found, Found { p_min: 2, f_min: 2, place: 3 });
        assert_eq!(find(&paths[..1], &wanted), None);
    }

    #[test]
    fn functions_without_names_are_found_by_their_place() {
        let symbols =
            "0000000000001130 0000000000000040 t slow\n0000000000001170 0000000000000010 T other\n";
        let wanted = Wanted::new(&TRUTH, symbols);
        assert!(wanted.is("[libslow.so.1+0x1150]", "libslow.so.1"));
        assert!(!wanted.is("[libslow.so.1+0x1170]", "libslow.so.1"));
        assert!(!wanted.is("slow", "libfast.so"));
        assert!(wanted.is("slow.part.0", "libslow.so"));
        assert!(wanted.is("slow@@SLOW_1", "libslow.so"));
    }
}
