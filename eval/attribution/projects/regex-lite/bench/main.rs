//! Compiles and searches with the kinds of expressions that tools have.

use regex_lite::{Regex, RegexBuilder};

const PATTERNS: &[&str] = &[
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})",
    r"\b(?:error|warning|note)(\[[A-Z]\d+\])?:\s+(.*)$",
    r"^\s*(?:pub(?:\([a-z]+\))?\s+)?fn\s+([A-Za-z_]\w*)",
    r"[\w.+-]+@[\w-]+\.[\w.]+",
    r#""(?:[^"\\]|\\.)*""#,
    r"(a|b)*?c{2,5}|[^\x00-\x7F]+",
];

fn main() {
    let mut text = String::new();
    for n in 0..40 {
        text.push_str(&format!(
            "2024-{:02}-{:02} error[E{n:04}]: mail me@host-{n}.example.org or \"say \\\"it\\\"\"\n\
             pub(crate) fn name_{n}(a: u32) -> u32 {{ /* caf\u{e9} */ a + {n} }}\nwarning: abababccc\n",
            n % 12 + 1,
            n % 28 + 1
        ));
    }
    let mut sum = 0usize;
    for _ in 0..60 {
        for pattern in PATTERNS {
            for fold in [false, true] {
                let mut builder = RegexBuilder::new(pattern);
                let regex = builder.case_insensitive(fold).multi_line(true).build().unwrap();
                for found in regex.captures_iter(&text) {
                    sum = sum * 31 % 1_000_003 + found.get(0).map_or(0, |part| part.end());
                }
                sum += regex.find_iter(&text).count();
            }
        }
        let words = Regex::new(r"(\w+)-(\w+)").unwrap();
        sum += words.replace_all(&text, "$2 $1").len();
        for n in 0..400 {
            let pattern = format!("(?i)prefix{n}[a-m&&[^d]]+(?:x|y|z{{1,{}}})$", n % 5 + 1);
            sum += Regex::new(&pattern).map_or(1, |regex| regex.captures_len());
        }
    }
    println!("{sum}");
}
