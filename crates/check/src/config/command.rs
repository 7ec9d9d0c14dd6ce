//! A command line as words, or for a shell where it needs one.
//!
//! Profilers see broken stacks in programs that are started through a shell or a wrapper, so a plain command is started
//! directly, and a shell only where the command has pipes, variables or patterns.

/// A command from the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// A program and its arguments.
    Words(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
}

/// A command that cannot be understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandError {
    /// There is nothing in it.
    #[error("the command is empty")]
    Empty,
    /// A quote is never closed.
    #[error("a quote is not closed")]
    Unclosed,
}

/// What stands for an input.
const INPUT: &str = "{input}";

impl Command {
    /// Understands a line.
    pub fn parse(line: &str) -> Result<Self, CommandError> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut letters = line.chars();
        let mut shell = false;
        while let Some(letter) = letters.next() {
            match letter {
                ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
                '\'' | '"' => {
                    let word = word.get_or_insert_default();
                    loop {
                        match letters.next() {
                            None => return Err(CommandError::Unclosed),
                            Some(end) if end == letter => break,
                            Some('\\') if letter == '"' => word.extend(letters.next()),
                            Some(inner) => {
                                shell |= letter == '"' && matches!(inner, '$' | '`');
                                word.push(inner);
                            }
                        }
                    }
                }
                '\\' => word.get_or_insert_default().extend(letters.next()),
                '|' | '&' | ';' | '<' | '>' | '$' | '`' | '*' | '?' | '[' | '(' | ')' | '~'
                | '#' => {
                    shell = true;
                    word.get_or_insert_default().push(letter);
                }
                letter => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        // `A=1 program` sets a variable.
        shell |= words.first().is_some_and(|first| first.contains('='));
        match words.first().map(String::as_str) {
            None | Some("") => Err(CommandError::Empty),
            _ if shell => Ok(Self::Shell(line.trim().to_owned())),
            _ => Ok(Self::Words(words)),
        }
    }

    /// Program and arguments for one input.
    pub fn with_input(&self, input: &str) -> Vec<String> {
        match self {
            Self::Words(words) => words.iter().map(|word| word.replace(INPUT, input)).collect(),
            Self::Shell(line) => {
                let quoted = format!("'{}'", input.replace('\'', r"'\''"));
                vec!["sh".to_owned(), "-c".to_owned(), line.replace(INPUT, &quoted)]
            }
        }
    }

    /// Whether it has a place for an input.
    pub fn takes_input(&self) -> bool {
        match self {
            Self::Words(words) => words.iter().any(|word| word.contains(INPUT)),
            Self::Shell(line) => line.contains(INPUT),
        }
    }

    /// As it is written, for people.
    pub fn shown(&self) -> String {
        match self {
            Self::Words(words) => words.join(" "),
            Self::Shell(line) => line.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_need_no_shell() {
        let words = |line: &str, input: &str| Command::parse(line).map(|it| it.with_input(input));
        assert_eq!(
            words(r#"./app --in "{input}" 'a b' c\ d"#, "x y").unwrap(),
            ["./app", "--in", "x y", "a b", "c d"]
        );
        assert_eq!(words("./app < {input}", "it's").unwrap(), ["sh", "-c", r"./app < 'it'\''s'"]);
        assert_eq!(words("A=1 ./app", "").unwrap()[0], "sh");
        assert_eq!(words("  ", ""), Err(CommandError::Empty));
        assert_eq!(words("a 'b", ""), Err(CommandError::Unclosed));
    }
}
