//! Finds functions in well-formatted text by their first line and their indentation.
//!
//! That is all an injector needs, and it shares no code and no idea with the syntax trees that perfblame uses: a mistake
//! there cannot hide behind the same mistake here.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::language::Language;

/// A function in a file. Lines count from 0.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Function {
    /// Its own name.
    pub name: String,
    /// The white space before it.
    pub indent: String,
    /// Its first line.
    pub start: usize,
    /// The first line of its body, behind a doc string.
    pub body: usize,
    /// Its last line.
    pub end: usize,
}

impl Function {
    /// True when one lies in the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// The functions of a text, in its order. Those with a body of one line are left out.
pub fn functions(text: &str, language: Language) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    // Tests come last in Rust files, and are no part of the program.
    let last =
        lines.iter().position(|line| line.starts_with("#[cfg(test)]")).unwrap_or(lines.len());
    (0..last).filter_map(|row| function_at(&lines, row, language)).collect()
}

fn header(language: Language) -> &'static Regex {
    #[expect(clippy::unwrap_used, reason = "the patterns are constants, and a test compiles them")]
    fn compiled(pattern: &str) -> Regex {
        Regex::new(pattern).unwrap()
    }
    static C: LazyLock<Regex> = LazyLock::new(|| {
        compiled(r"^()[A-Za-z][\w *]*?\b(\w+)\([^;={}]*$|^()[A-Za-z][\w *]*?\b(\w+)\([^;=]*\{$")
    });
    static JAVA: LazyLock<Regex> =
        LazyLock::new(|| compiled(r"^(\s+)[\w.<>\[\]?, &]*[\w>\]] (\w+)\([^;={}]*\{?$"));
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        compiled(
            r"^(\s*)(?:function |(?:const |let |var |(?:\w+\.)+))(\w+)(?: = (?:\(.*\)|\w+) =>|\(.*\)) \{$",
        )
    });
    static PYTHON: LazyLock<Regex> = LazyLock::new(|| compiled(r"^(\s*)def (\w+)\("));
    static RUST: LazyLock<Regex> =
        LazyLock::new(|| compiled(r"^(\s*)(?:pub(?:\([a-z]+\))? )?fn (\w+)(?:<[^(]*>)?\("));
    match language {
        Language::C => &C,
        Language::Java => &JAVA,
        Language::JavaScript => &SCRIPT,
        Language::Python => &PYTHON,
        Language::Rust => &RUST,
    }
}

fn function_at(lines: &[&str], start: usize, language: Language) -> Option<Function> {
    let found = header(language).captures(lines[start])?;
    let indent = found.get(1).or(found.get(3))?.as_str().to_owned();
    let name = found.get(2).or(found.get(4))?.as_str().to_owned();
    if language == Language::Java && !has_type(lines[start], &name) {
        return None;
    }
    let opener = if language == Language::Python { ':' } else { '{' };
    // A header may take some lines; one that ends otherwise is a declaration.
    let opened = (start..lines.len().min(start + 12)).find(|row| {
        let line = lines[*row].trim_end();
        line.ends_with(opener) || line.ends_with(';') || line.is_empty()
    })?;
    if !lines[opened].trim_end().ends_with(opener) {
        return None;
    }
    let mut body = opened + 1;
    let end = if language == Language::Python {
        let deeper = |line: &&str| line.trim().is_empty() || indentation(line) > indent.len();
        let length = lines[body..].iter().take_while(|line| deeper(line)).count();
        (body..body + length).rev().find(|row| !lines[*row].trim().is_empty())?
    } else {
        let closing = format!("{indent}}}");
        (body..lines.len()).find(|row| lines[*row].trim_end_matches([';', ',']) == closing)?
    };
    if let Some(rest) = lines.get(body).and_then(|line| line.trim().strip_prefix("\"\"\"")) {
        if !rest.contains("\"\"\"") {
            body = (body + 1..end).find(|row| lines[*row].contains("\"\"\""))?;
        }
        body += 1;
    }
    (end > body).then_some(Function { name, indent, start, body, end })
}

/// True when what stands before a name is a type: a method of Java, no constructor and no call.
fn has_type(line: &str, name: &str) -> bool {
    const OTHERS: [&str; 9] =
        ["public", "protected", "private", "new", "return", "throw", "else", "case", "assert"];
    let before = line.split(&format!("{name}(")).next().unwrap_or_default();
    before.split_whitespace().next_back().is_some_and(|word| !OTHERS.contains(&word))
}

/// How far a line is indented.
pub fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The function of this name, when there is exactly one.
pub fn only(text: &str, language: Language, name: &str) -> Option<Function> {
    let mut all = functions(text, language).into_iter().filter(|function| function.name == name);
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(language: Language, text: &str, expected: &Expect) {
        let found: Vec<String> = (functions(text, language).iter())
            .map(|f| format!("{} {}..{}..{}\n", f.name, f.start, f.body, f.end))
            .collect();
        expected.assert_eq(&found.concat());
    }

    #[test]
    fn c() {
        check(
            Language::C,
            "static int next(int);\n\nint *add(struct x *a,\n         int b) {\n  if (a) {\n    return 1;\n  }\n  return 0;\n}\nstruct s {\n  int a;\n};\n",
            &expect![[r"
                add 2..4..8
            "]],
        );
    }

    #[test]
    fn java() {
        check(
            Language::Java,
            "class A {\n    public A(int a) {\n        this.a = a;\n        b();\n    }\n\n    @Override\n    public List<Map<K, V>> first(int a,\n            int b) {\n        for (int i = 0; i < a; i++) {\n            next(i);\n        }\n        return new Thing(a) {\n            int more() {\n                a();\n                b();\n            }\n        };\n    }\n}\n",
            &expect![[r"
                first 7..9..18
                more 13..14..16
            "]],
        );
    }

    #[test]
    fn scripts() {
        check(
            Language::JavaScript,
            "function outer(a, b) {\n  const inner = x => {\n    f(x);\n    g(x);\n  };\n  return inner;\n}\nconst one = () => {\n  1;\n  2;\n};\n",
            &expect![[r"
                outer 0..1..6
                inner 1..2..4
                one 7..8..10
            "]],
        );
    }

    #[test]
    fn python() {
        check(
            Language::Python,
            "class A:\n    def first(self,\n              b):\n        \"\"\"What\n        it does.\"\"\"\n        a = 1\n\n        return a\n\n    def short(self): return 1\n",
            &expect![[r"
                first 1..5..7
            "]],
        );
    }

    #[test]
    fn rust() {
        check(
            Language::Rust,
            "impl A {\n    pub(crate) fn first<T>(\n        &self,\n    ) -> u32 {\n        let a = 1;\n        a\n    }\n}\n#[cfg(test)]\nmod tests {\n    fn not() {\n        1;\n        2;\n    }\n}\n",
            &expect![[r"
                first 1..4..6
            "]],
        );
    }
}
