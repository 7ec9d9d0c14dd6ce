//! JavaScript as tokens, with every bracket's mate.
//!
//! TypeScript and JSX pass too: nothing here knows grammar but two things. Whether a slash begins a regular expression
//! follows from the token before it, and for `)` and `}` from what their mates stand behind. Where a string, a template
//! or an expression does not end, it ends with its line or the text, and brackets without a mate are mates of nobody.

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    /// A name or a word of the language.
    Word,
    Number,
    /// A string, or a piece of a template.
    Text,
    Regex,
    Open,
    Close,
    /// `=>`
    Arrow,
    /// Any other sign.
    Sign,
}

/// A token. Offsets are 32 bits: longer texts are not looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub start: u32,
    pub end: u32,
    pub kind: TokenKind,
    /// A line ended between the token before and this one.
    pub on_new_line: bool,
    /// For brackets, the row of the other one; [`NONE`] where there is none.
    pub mate: u32,
}

/// Stands for no row.
pub(crate) const NONE: u32 = u32::MAX;

/// Texts that are longer are not taken apart.
pub(crate) const LONGEST: usize = 256 << 20;

/// The tokens of a text, in order.
pub(crate) struct Tokens<'a> {
    pub text: &'a str,
    pub all: Vec<Token>,
}

impl<'a> Tokens<'a> {
    pub fn of(text: &'a str) -> Self {
        let text = if text.len() > LONGEST { "" } else { text };
        let mut lexer = Lexer {
            text: text.as_bytes(),
            at: 0,
            all: Vec::with_capacity(text.len() / 3),
            open: Vec::new(),
            new_line: false,
        };
        lexer.run();
        Self { text, all: lexer.all }
    }

    pub fn get(&self, row: usize) -> Option<&Token> {
        self.all.get(row)
    }

    /// What a token says; nothing beyond the end.
    pub fn bytes(&self, row: usize) -> &'a [u8] {
        self.all
            .get(row)
            .map_or(&[], |token| &self.text.as_bytes()[token.start as usize..token.end as usize])
    }

    pub fn kind(&self, row: usize) -> Option<TokenKind> {
        self.all.get(row).map(|token| token.kind)
    }

    /// True when the token is this sign, bracket or word of the language.
    pub fn is(&self, row: usize, text: &[u8]) -> bool {
        self.bytes(row) == text
            && !matches!(self.kind(row), None | Some(TokenKind::Text | TokenKind::Regex))
    }

    /// The row of a bracket's mate.
    pub fn mate(&self, row: usize) -> Option<usize> {
        let mate = self.all.get(row)?.mate;
        (mate != NONE).then_some(mate as usize)
    }
}

/// Signs of several characters, longest first.
const SIGNS: [&[u8]; 31] = [
    b">>>=", b"===", b"!==", b"**=", b"<<=", b">>=", b">>>", b"&&=", b"||=", b"??=", b"...", b"==",
    b"!=", b"<=", b">=", b"&&", b"||", b"??", b"?.", b"++", b"--", b"+=", b"-=", b"*=", b"/=",
    b"%=", b"&=", b"|=", b"^=", b"<<", b"**",
];

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    all: Vec<Token>,
    /// Rows of brackets that are open; those of `${` too.
    open: Vec<u32>,
    new_line: bool,
}

impl Lexer<'_> {
    fn run(&mut self) {
        if self.text.starts_with(b"#!") {
            self.skip_line();
        }
        while let Some(byte) = self.text.get(self.at).copied() {
            match byte {
                b'\n' | b'\r' => {
                    self.new_line = true;
                    self.at += 1;
                }
                b' ' | b'\t' | 0x0b | 0x0c => self.at += 1,
                // The byte order mark and spaces beyond ASCII that stand alone are rare enough to be words.
                b'/' => self.slash(),
                b'"' | b'\'' => self.string(byte),
                b'`' => {
                    self.at += 1;
                    self.template();
                }
                b'0'..=b'9' => self.number(),
                b'.' if self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) => self.number(),
                b'(' | b'[' | b'{' => {
                    self.open.push(self.all.len() as u32);
                    self.push(TokenKind::Open, self.at + 1);
                }
                b')' | b']' | b'}' => self.close(byte),
                _ if is_word(byte) => {
                    let rest = &self.text[self.at + 1..];
                    let length = rest.iter().take_while(|byte| is_word(**byte)).count();
                    self.push(TokenKind::Word, self.at + 1 + length);
                }
                _ => self.sign(),
            }
        }
    }

    fn push(&mut self, kind: TokenKind, end: usize) {
        self.all.push(Token {
            start: self.at as u32,
            end: end as u32,
            kind,
            on_new_line: std::mem::take(&mut self.new_line),
            mate: NONE,
        });
        self.at = end;
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
    }

    fn sign(&mut self) {
        let rest = &self.text[self.at..];
        if rest.starts_with(b"=>") {
            return self.push(TokenKind::Arrow, self.at + 2);
        }
        let found = SIGNS.iter().find(|sign| rest.starts_with(sign));
        let length = match found {
            // A condition before a number such as `.5`.
            Some(&b"?.") if rest.get(2).is_some_and(u8::is_ascii_digit) => 1,
            Some(sign) => sign.len(),
            None => 1,
        };
        self.push(TokenKind::Sign, self.at + length);
    }

    fn close(&mut self, byte: u8) {
        let mate = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        let is_mate = |row: &u32| self.text[self.all[*row as usize].end as usize - 1] == mate;
        // Nearly always the last one; else whatever was opened in between has no end.
        let found = match self.open.last() {
            Some(row) if is_mate(row) => Some(self.open.len() - 1),
            _ => {
                self.open.iter().rev().take(64).position(is_mate).map(|up| self.open.len() - 1 - up)
            }
        };
        let row = self.all.len() as u32;
        let opened = found.map(|at| {
            let opened = self.open[at];
            self.open.truncate(at);
            self.all[opened as usize].mate = row;
            opened
        });
        self.push(TokenKind::Close, self.at + 1);
        if let (Some(opened), Some(token)) = (opened, self.all.last_mut()) {
            token.mate = opened;
            // The end of an expression inside a template: its text goes on.
            let opening = self.all[opened as usize];
            if opening.end - opening.start == 2 {
                self.template();
            }
        }
    }

    /// Reads on in a template, up to its end or to an expression in it.
    fn template(&mut self) {
        let start = self.at;
        let mut at = start;
        loop {
            match self.text.get(at) {
                None => break,
                Some(b'`') => break,
                Some(b'\\') => at += 2,
                Some(b'$') if self.text.get(at + 1) == Some(&b'{') => break,
                Some(_) => at += 1,
            }
        }
        let end = at.min(self.text.len());
        self.push(TokenKind::Text, end);
        match self.text.get(end) {
            Some(b'`') => self.at = end + 1,
            Some(b'$') => {
                self.open.push(self.all.len() as u32);
                self.push(TokenKind::Open, end + 2);
            }
            _ => {}
        }
    }

    fn string(&mut self, quote: u8) {
        let mut at = self.at + 1;
        loop {
            match self.text.get(at) {
                None => break,
                Some(b'\\') => at += 2,
                // Text between tags can hold a lone apostrophe.
                Some(b'\n') => break,
                Some(byte) if *byte == quote => {
                    at += 1;
                    break;
                }
                Some(_) => at += 1,
            }
        }
        self.push(TokenKind::Text, at.min(self.text.len()));
    }

    fn number(&mut self) {
        let is_hex = matches!(self.text.get(self.at + 1), Some(b'x' | b'X'));
        let mut at = self.at + 1;
        while let Some(byte) = self.text.get(at) {
            let is_sign =
                matches!(byte, b'+' | b'-') && !is_hex && matches!(self.text[at - 1], b'e' | b'E');
            if !(is_sign || byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')) {
                break;
            }
            at += 1;
        }
        self.push(TokenKind::Number, at);
    }

    fn slash(&mut self) {
        match self.text.get(self.at + 1) {
            Some(b'/') => self.skip_line(),
            Some(b'*') => {
                let rest = &self.text[self.at + 2..];
                let length = find_end_of_comment(rest);
                self.new_line |= rest[..length].contains(&b'\n');
                self.at = (self.at + 2 + length + 2).min(self.text.len());
            }
            _ if self.is_regex_allowed() => self.regex(),
            _ => self.sign(),
        }
    }

    fn regex(&mut self) {
        let (mut at, mut in_class) = (self.at + 1, false);
        loop {
            match self.text.get(at) {
                // No line ends inside a regular expression: it was a division after all.
                None | Some(b'\n' | b'\r') => return self.sign(),
                Some(b'\\') => at += 1,
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(b'/') if !in_class => break,
                Some(_) => {}
            }
            at += 1;
        }
        at += 1;
        while self.text.get(at).is_some_and(u8::is_ascii_alphabetic) {
            at += 1;
        }
        self.push(TokenKind::Regex, at.min(self.text.len()));
    }

    /// Whether an expression can begin here.
    fn is_regex_allowed(&self) -> bool {
        let Some(last) = self.all.last() else { return true };
        let said = &self.text[last.start as usize..last.end as usize];
        match last.kind {
            TokenKind::Number | TokenKind::Text | TokenKind::Regex => false,
            TokenKind::Open | TokenKind::Arrow => true,
            TokenKind::Word => is_before_expression(said) && !self.is_property(self.all.len() - 1),
            // `<` is before the end of a tag, whatever else could be compared with an expression.
            TokenKind::Sign => !matches!(said, b"++" | b"--" | b"<"),
            TokenKind::Close => match (said, last.mate) {
                (b"]", _) | (_, NONE) => false,
                (b")", opened) => (opened as usize).checked_sub(1).is_some_and(|before| {
                    self.all[before].kind == TokenKind::Word
                        && matches!(self.said(before), b"if" | b"while" | b"for" | b"with")
                        && !self.is_property(before)
                }),
                // The end of a tag: `<A b={c} />`.
                (_, _) if self.text.get(self.at + 1) == Some(&b'>') => false,
                (_, opened) => self.is_block(opened as usize),
            },
        }
    }

    fn said(&self, row: usize) -> &[u8] {
        let token = self.all[row];
        &self.text[token.start as usize..token.end as usize]
    }

    fn is_property(&self, row: usize) -> bool {
        row.checked_sub(1).is_some_and(|before| matches!(self.said(before), b"." | b"?."))
    }

    /// True when the brace begins statements, and no object.
    fn is_block(&self, row: usize) -> bool {
        let Some(before) = row.checked_sub(1) else { return true };
        let said = self.said(before);
        match self.all[before].kind {
            TokenKind::Close | TokenKind::Arrow => true,
            TokenKind::Word => !is_before_expression(said) || matches!(said, b"else" | b"do"),
            TokenKind::Sign => said == b";",
            TokenKind::Open => said == b"{",
            TokenKind::Number | TokenKind::Text | TokenKind::Regex => true,
        }
    }
}

fn find_end_of_comment(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(star) = rest[at..].iter().position(|byte| *byte == b'*') {
        if rest.get(at + star + 1) == Some(&b'/') {
            return at + star;
        }
        at += star + 1;
    }
    rest.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'\\') || byte >= 0x80
}

/// Words that an expression follows.
fn is_before_expression(word: &[u8]) -> bool {
    matches!(
        word,
        b"return"
            | b"typeof"
            | b"case"
            | b"in"
            | b"of"
            | b"delete"
            | b"void"
            | b"throw"
            | b"new"
            | b"else"
            | b"do"
            | b"instanceof"
            | b"yield"
            | b"await"
            | b"default"
            | b"extends"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str) -> Vec<String> {
        let tokens = Tokens::of(text);
        let shown = (0..tokens.all.len()).map(|row| {
            let said = String::from_utf8_lossy(tokens.bytes(row)).into_owned();
            match tokens.all[row].kind {
                TokenKind::Regex => format!("regex {said}"),
                TokenKind::Text => format!("text {said}"),
                _ => said,
            }
        });
        shown.collect()
    }

    #[test]
    fn slashes_are_divisions_or_expressions() {
        for (text, expected) in [
            ("a/b/c", vec!["a", "/", "b", "/", "c"]),
            ("a=/b[/]c/g", vec!["a", "=", "regex /b[/]c/g"]),
            (
                "if(a)/b/.test(c)",
                vec!["if", "(", "a", ")", "regex /b/", ".", "test", "(", "c", ")"],
            ),
            ("(a)/b/c", vec!["(", "a", ")", "/", "b", "/", "c"]),
            ("i++/2", vec!["i", "++", "/", "2"]),
            ("return/x/", vec!["return", "regex /x/"]),
            ("a.return/x/y", vec!["a", ".", "return", "/", "x", "/", "y"]),
            ("{}/x/", vec!["{", "}", "regex /x/"]),
            ("x={}/y/z", vec!["x", "=", "{", "}", "/", "y", "/", "z"]),
            ("<b>{x}</b>", vec!["<", "b", ">", "{", "x", "}", "<", "/", "b", ">"]),
            ("f(/>/g)", vec!["f", "(", "regex />/g", ")"]),
            ("a//b\n/*c*/d", vec!["a", "d"]),
            ("a?.5:b", vec!["a", "?", ".5", ":", "b"]),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn templates_hold_expressions() {
        let expected = ["text a", "${", "b", "(", "text c", ")", "}", "text d", "+", "e"];
        assert_eq!(tokens("`a${b(`c`)}d`+e"), expected);
    }

    proptest! {
        #[test]
        fn any_text_is_tokens_in_order(text in "[a-z(){}\\[\\]`'\"/$*\\\\ \n=>.;é]{0,60}") {
            let tokens = Tokens::of(&text);
            let mut last = 0;
            for (row, token) in tokens.all.iter().enumerate() {
                prop_assert!(token.start >= last && token.end >= token.start);
                prop_assert!(token.end as usize <= text.len());
                last = token.end;
                if token.mate != NONE {
                    prop_assert_eq!(tokens.all[token.mate as usize].mate as usize, row);
                }
            }
        }
    }
}
