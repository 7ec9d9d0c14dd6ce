//! One pass over the tokens of a script that finds its functions.

use super::holder::{Bracket, class_name, holder_of};
use super::{Holder, Language, Outline, ScriptFunction};
use crate::place::Places;
use crate::shape::{Growing, Shape, hash_of};
use crate::tokens::{TokenKind, Tokens};

/// Tokens of a type or a class's head that are stepped over at most.
const FAR: usize = 96;

/// A function whose end has not come.
struct Open {
    row: u32,
    end: End,
    shape: Growing,
}

#[derive(Clone, Copy)]
enum End {
    /// Before this token.
    At(usize),
    /// With the expression that it is, at this depth of brackets; so many conditions are open in it.
    Expression { depth: usize, conditions: u32 },
}

/// A function that begins.
struct Begin {
    /// The token where V8 has it start.
    start: usize,
    end: End,
    holder: Holder,
    /// Its arrow; [`usize::MAX`] when it has none.
    arrow: usize,
}

impl Begin {
    fn new(start: usize, end: End, holder: Holder) -> Self {
        Self { start, end, holder, arrow: usize::MAX }
    }
}

struct Scan<'t, 'a> {
    tokens: &'t Tokens<'a>,
    language: Language,
    brackets: Vec<Bracket>,
    /// Bodies of classes that are open: the row of the brace, and the class's name.
    classes: Vec<(u32, Holder)>,
    open: Vec<Open>,
    /// The token where the last function that was found starts: it is not found again there.
    last_start: usize,
    /// Its arrow, if it has one: a type before that is no parameter.
    last_arrow: usize,
    found: Vec<Found>,
}

/// A function in offsets; places come at the end.
struct Found {
    start: u32,
    from: u32,
    end: u32,
    parent: Option<u32>,
    holder: Holder,
    shape: Shape,
}

pub(super) fn scan(tokens: &Tokens<'_>, language: Language) -> Outline {
    let mut scan = Scan {
        tokens,
        language,
        brackets: Vec::new(),
        classes: Vec::new(),
        open: Vec::new(),
        last_start: usize::MAX,
        last_arrow: usize::MAX,
        found: Vec::new(),
    };
    let count = tokens.all.len();
    scan.open_function(0, Begin::new(0, End::At(usize::MAX), Holder::TopLevel));
    // The script begins with its first byte, whatever stands there.
    if let Some(script) = scan.found.first_mut() {
        (script.start, script.from) = (0, 0);
    }
    for row in 0..count {
        scan.close_before(row);
        if tokens.is(row, b"class") {
            scan.class(row);
        }
        if let Some(begin) = scan.begin(row) {
            (scan.last_start, scan.last_arrow) = (begin.start, begin.arrow);
            scan.open_function(row, begin);
        }
        scan.count(row);
        scan.bracket(row);
    }
    while !scan.open.is_empty() {
        scan.close(tokens.text.len() as u32);
    }
    placed(scan.found, tokens)
}

impl Scan<'_, '_> {
    fn open_function(&mut self, row: usize, begin: Begin) {
        let at = |row: usize| self.tokens.get(row).map_or(0, |token| token.start);
        let parent = self.open.last().map(|open| open.row);
        let number = self.found.len() as u32;
        self.found.push(Found {
            start: at(begin.start),
            from: at(row),
            end: 0,
            parent,
            holder: begin.holder,
            shape: Shape::default(),
        });
        self.open.push(Open { row: number, end: begin.end, shape: Growing::default() });
    }

    /// Closes what ends before this token.
    fn close_before(&mut self, row: usize) {
        while let Some(open) = self.open.last_mut() {
            let is_over = match &mut open.end {
                End::At(end) => *end <= row,
                End::Expression { depth, conditions } => {
                    *depth > self.brackets.len()
                        || *depth == self.brackets.len()
                            && ends_expression(self.tokens, row, conditions)
                }
            };
            if !is_over {
                return;
            }
            let last = row.checked_sub(1).and_then(|last| self.tokens.get(last));
            self.close(last.map_or(0, |token| token.end));
        }
    }

    fn close(&mut self, end: u32) {
        let Some(open) = self.open.pop() else { return };
        let found = &mut self.found[open.row as usize];
        found.end = end;
        found.shape = open.shape.finish();
        let hash = found.shape.hash;
        if let Some(outer) = self.open.last_mut() {
            outer.shape.add_inner(hash);
        }
    }

    /// A class: its name goes to its constructor, and it is a function itself, which V8 makes up where it has none.
    fn class(&mut self, row: usize) {
        let tokens = self.tokens;
        let is_property = row > 0 && (tokens.is(row - 1, b".") || tokens.is(row - 1, b"?."));
        if is_property || tokens.is(row + 1, b":") || tokens.is(row + 1, b"(") {
            return;
        }
        let mut at = row + 1;
        for _ in 0..FAR {
            if tokens.is(at, b"{") && !tokens.is(at - 1, b"extends") {
                break;
            }
            at = match tokens.kind(at) {
                Some(TokenKind::Open) => tokens.mate(at).map_or(at, |mate| mate) + 1,
                Some(TokenKind::Close) | None => return,
                Some(_) => at + 1,
            };
        }
        if !tokens.is(at, b"{") {
            return;
        }
        let name = class_name(tokens, row, self.brackets.last());
        self.classes.push((at as u32, name.clone()));
        self.open_function(row, Begin::new(row, End::At(row + 1), name));
    }

    fn begin(&self, row: usize) -> Option<Begin> {
        let tokens = self.tokens;
        match tokens.kind(row)? {
            TokenKind::Word if tokens.is(row, b"function") => self.function(row),
            TokenKind::Word if tokens.kind(row + 1) == Some(TokenKind::Arrow) => {
                self.arrow(row, row + 1)
            }
            TokenKind::Word if tokens.is(row, b"async") => self.async_arrow(row),
            TokenKind::Open if tokens.is(row, b"(") && self.last_start != row => {
                // The parameters of `async` belong to the function that began there.
                let is_taken = row > 0 && self.last_start == row - 1;
                let arrow = self.arrow_after(tokens.mate(row)? + 1).filter(|_| !is_taken)?;
                self.arrow(row, arrow)
            }
            _ => None,
        }
        .or_else(|| self.method(row))
    }

    fn function(&self, row: usize) -> Option<Begin> {
        let tokens = self.tokens;
        if row > 0 && (tokens.is(row - 1, b".") || tokens.is(row - 1, b"?.")) {
            return None;
        }
        let mut at = row + 1;
        at += usize::from(tokens.is(at, b"*"));
        let name = (tokens.kind(at) == Some(TokenKind::Word)).then_some(at);
        at += usize::from(name.is_some());
        at = self.after_generics(at);
        let end = self.end_of_body(at)?;
        let holder = if let Some(name) = name.and_then(|name| tokens.get(name)) {
            Holder::Declared(name.start..name.end)
        } else {
            let is_async = row > 0 && tokens.is(row - 1, b"async");
            let from = row - usize::from(is_async);
            holder_of(tokens, from, Some(end), self.brackets.last())
        };
        Some(Begin::new(at, End::At(end), holder))
    }

    fn async_arrow(&self, row: usize) -> Option<Begin> {
        let tokens = self.tokens;
        let next = row + 1;
        let arrow = match tokens.kind(next)? {
            TokenKind::Word if !tokens.get(next)?.on_new_line => {
                (tokens.kind(next + 1)? == TokenKind::Arrow).then_some(next + 1)?
            }
            TokenKind::Open if tokens.is(next, b"(") => self.arrow_after(tokens.mate(next)? + 1)?,
            _ => return None,
        };
        self.arrow(row, arrow)
    }

    /// An arrow function that starts at `row`.
    fn arrow(&self, row: usize, arrow: usize) -> Option<Begin> {
        let tokens = self.tokens;
        // `async x =>` began a token earlier.
        let is_async = row > 0 && self.last_start == row - 1 && tokens.is(row - 1, b"async");
        if is_async || self.last_arrow == arrow {
            return None;
        }
        let (end, after) = if tokens.is(arrow + 1, b"{") {
            let end = tokens.mate(arrow + 1).map_or(tokens.all.len(), |mate| mate + 1);
            (End::At(end), Some(end))
        } else {
            let depth = self.brackets.len();
            (End::Expression { depth, conditions: 0 }, None)
        };
        let holder = holder_of(tokens, row, after, self.brackets.last());
        Some(Begin { arrow, ..Begin::new(row, end, holder) })
    }

    /// The arrow at `row`, or behind the type there.
    fn arrow_after(&self, row: usize) -> Option<usize> {
        let tokens = self.tokens;
        if tokens.kind(row)? == TokenKind::Arrow {
            return Some(row);
        }
        if self.language != Language::TypeScript || !tokens.is(row, b":") {
            return None;
        }
        let mut at = row + 1;
        for _ in 0..FAR {
            at = match tokens.kind(at)? {
                TokenKind::Arrow => return Some(at),
                TokenKind::Open => tokens.mate(at)? + 1,
                TokenKind::Close => return None,
                TokenKind::Sign if matches!(tokens.bytes(at), b";" | b"," | b"=" | b"?" | b":") => {
                    return None;
                }
                _ => at + 1,
            };
        }
        None
    }

    /// A method: a name, parameters, and a body. Nothing else of the language looks like it but statements that begin
    /// with a word of their own.
    fn method(&self, row: usize) -> Option<Begin> {
        let tokens = self.tokens;
        let token = tokens.get(row)?;
        let open = match token.kind {
            TokenKind::Word | TokenKind::Text | TokenKind::Number => self.after_generics(row + 1),
            TokenKind::Close if tokens.is(row, b"]") => row + 1,
            _ => return None,
        };
        let class = self
            .classes
            .last()
            .filter(|(body, _)| self.brackets.last().is_some_and(|around| around.row == *body));
        // In a class, any word is a name.
        let is_statement = class.is_none() && is_statement(tokens.bytes(row));
        if !tokens.is(open, b"(") || self.last_start == open || is_statement {
            return None;
        }
        let first = if token.kind == TokenKind::Close { tokens.mate(row)? } else { row };
        // In statements that begin with a name there is a call, and no body follows it.
        let before = first.checked_sub(1)?;
        let is_place = match tokens.kind(before)? {
            TokenKind::Word => {
                matches!(
                    tokens.bytes(before),
                    b"get"
                        | b"set"
                        | b"async"
                        | b"static"
                        | b"public"
                        | b"private"
                        | b"protected"
                        | b"readonly"
                        | b"override"
                        | b"abstract"
                ) || token.on_new_line && token.kind != TokenKind::Close
            }
            TokenKind::Open => tokens.is(before, b"{"),
            TokenKind::Close => {
                tokens.is(before, b"}") || token.on_new_line || tokens.is(before, b")")
            }
            TokenKind::Sign => matches!(tokens.bytes(before), b"," | b";" | b"*"),
            TokenKind::Number | TokenKind::Text | TokenKind::Regex => token.on_new_line,
            TokenKind::Arrow => false,
        };
        // The bracket of a computed name is still open here.
        let inside = usize::from(token.kind == TokenKind::Close);
        let around = self.brackets.iter().rev().nth(inside);
        let is_call = tokens.is(before, b",")
            && around.is_some_and(|around| !tokens.is(around.row as usize, b"{"));
        if !is_place || is_call {
            return None;
        }
        let end = self.end_of_body(open)?;
        let holder = match class {
            Some((_, name)) if tokens.is(row, b"constructor") => name.clone(),
            _ => Holder::Key(tokens.get(first)?.start..token.end),
        };
        Some(Begin::new(open, End::At(end), holder))
    }

    /// Behind the parameters of types that begin here, where there are any.
    fn after_generics(&self, row: usize) -> usize {
        let tokens = self.tokens;
        if self.language != Language::TypeScript || !tokens.is(row, b"<") {
            return row;
        }
        let (mut at, mut depth) = (row, 0);
        for _ in 0..FAR {
            match tokens.bytes(at) {
                b"<" => depth += 1,
                b">" => depth -= 1,
                b"" | b";" => return row,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return at;
            }
        }
        row
    }

    /// One past the body of the function whose parameters begin at `open`; none where there is no body.
    fn end_of_body(&self, open: usize) -> Option<usize> {
        let tokens = self.tokens;
        if !tokens.is(open, b"(") {
            return None;
        }
        let mut at = tokens.mate(open)? + 1;
        if self.language == Language::TypeScript && tokens.is(at, b":") {
            at += 1;
            for _ in 0..FAR {
                // A brace behind a sign is part of the type.
                let is_type = tokens.kind(at)? == TokenKind::Open
                    && (!tokens.is(at, b"{")
                        || matches!(tokens.kind(at - 1)?, TokenKind::Sign | TokenKind::Arrow)
                            && !tokens.is(at - 1, b">"));
                at = match tokens.kind(at)? {
                    TokenKind::Open if is_type => tokens.mate(at)? + 1,
                    TokenKind::Open => break,
                    TokenKind::Close => return None,
                    TokenKind::Sign if matches!(tokens.bytes(at), b";" | b"," | b"=") => {
                        return None;
                    }
                    _ => at + 1,
                };
            }
        }
        if !tokens.is(at, b"{") {
            return None;
        }
        Some(tokens.mate(at).map_or(tokens.all.len(), |mate| mate + 1))
    }

    /// Counts a token in the shape of the function around it.
    fn count(&mut self, row: usize) {
        let tokens = self.tokens;
        let (Some(kind), Some(open)) = (tokens.kind(row), self.open.last_mut()) else { return };
        let said = tokens.bytes(row);
        let hash = || hash_of(said);
        match kind {
            TokenKind::Word => {
                let before = row.checked_sub(1).map_or(&b""[..], |before| tokens.bytes(before));
                let is_property = matches!(before, b"." | b"?.")
                    || matches!(before, b"{" | b",") && tokens.is(row + 1, b":")
                    || said.starts_with(b"#");
                if is_property {
                    open.shape.mark(hash());
                    open.shape.add(hash());
                } else if is_word_of_language(said) {
                    open.shape.add(hash());
                } else {
                    // Globals and what no minifier touched.
                    if said.len() >= 4 {
                        open.shape.mark(hash());
                    }
                    open.shape.add(1);
                }
            }
            TokenKind::Text | TokenKind::Regex => {
                // Quotes are the minifier's choice.
                let inner = match (kind, said) {
                    (TokenKind::Text, [b'"' | b'\'', inner @ .., _]) => inner,
                    _ => said,
                };
                let hash = hash_of(inner);
                open.shape.mark(hash);
                open.shape.add(hash);
            }
            TokenKind::Number => {
                if said.len() > 1 {
                    open.shape.mark(hash());
                }
                open.shape.add(hash());
            }
            // Whether there is one before a brace is chance.
            TokenKind::Sign if said == b";" => {}
            TokenKind::Open | TokenKind::Close | TokenKind::Arrow | TokenKind::Sign => {
                open.shape.add(hash());
            }
        }
    }

    fn bracket(&mut self, row: usize) {
        match self.tokens.kind(row) {
            Some(TokenKind::Open) if self.tokens.mate(row).is_some() => {
                self.brackets.push(Bracket { row: row as u32, commas: 0 });
            }
            Some(TokenKind::Close) => {
                if let Some(mate) = self.tokens.mate(row) {
                    while self.brackets.last().is_some_and(|open| open.row as usize >= mate) {
                        self.brackets.pop();
                    }
                    while self.classes.last().is_some_and(|(body, _)| *body as usize >= mate) {
                        self.classes.pop();
                    }
                }
            }
            Some(TokenKind::Sign) if self.tokens.is(row, b",") => {
                if let Some(open) = self.brackets.last_mut() {
                    open.commas += 1;
                }
            }
            _ => {}
        }
    }
}

/// True when an expression cannot go on with this token, which stands in no bracket of it.
fn ends_expression(tokens: &Tokens<'_>, row: usize, conditions: &mut u32) -> bool {
    let Some(token) = tokens.get(row) else { return true };
    match token.kind {
        TokenKind::Close => true,
        TokenKind::Sign => match tokens.bytes(row) {
            b"," | b";" => true,
            b"?" => {
                *conditions += 1;
                false
            }
            b":" if *conditions == 0 => true,
            b":" => {
                *conditions -= 1;
                false
            }
            _ => false,
        },
        // A statement on the next line, after one that could end there.
        TokenKind::Word if token.on_new_line && row > 0 => {
            let said = tokens.bytes(row);
            let is_complete = match tokens.kind(row - 1) {
                Some(TokenKind::Word) => !is_word_of_language(tokens.bytes(row - 1)),
                Some(TokenKind::Number | TokenKind::Text | TokenKind::Regex | TokenKind::Close) => {
                    true
                }
                _ => false,
            };
            is_complete && !matches!(said, b"in" | b"instanceof" | b"as" | b"satisfies")
        }
        _ => false,
    }
}

/// Words after which a bracket and a brace make a statement.
fn is_statement(word: &[u8]) -> bool {
    matches!(
        word,
        b"if"
            | b"for"
            | b"while"
            | b"switch"
            | b"catch"
            | b"with"
            | b"function"
            | b"await"
            | b"return"
    )
}

/// Words of the language that stand for themselves. Names of variables are none of them.
fn is_word_of_language(word: &[u8]) -> bool {
    matches!(
        word,
        b"var"
            | b"let"
            | b"const"
            | b"function"
            | b"class"
            | b"extends"
            | b"return"
            | b"if"
            | b"else"
            | b"for"
            | b"while"
            | b"do"
            | b"switch"
            | b"case"
            | b"default"
            | b"break"
            | b"continue"
            | b"new"
            | b"this"
            | b"super"
            | b"typeof"
            | b"void"
            | b"delete"
            | b"in"
            | b"instanceof"
            | b"throw"
            | b"try"
            | b"catch"
            | b"finally"
            | b"async"
            | b"await"
            | b"yield"
            | b"null"
            | b"true"
            | b"false"
            | b"import"
            | b"export"
            | b"with"
            | b"debugger"
    )
}

/// Offsets as places. Rows are in the order of `from`; the other offsets are sorted first, since places are found in
/// one walk.
fn placed(found: Vec<Found>, tokens: &Tokens<'_>) -> Outline {
    let name_at = |holder: &Holder| match holder {
        Holder::Declared(name) | Holder::Assigned(name) | Holder::Key(name) => {
            // Of a name with owners, the first word is somebody else's.
            let said = tokens.text.get(name.start as usize..name.end as usize)?;
            (!said.contains(['.', '['])).then_some(name.start)
        }
        _ => None,
    };
    let mut offsets: Vec<u32> = Vec::with_capacity(found.len() * 3);
    for function in &found {
        offsets.extend([function.from, function.start, function.end]);
        offsets.extend(name_at(&function.holder));
    }
    offsets.sort_unstable();
    offsets.dedup();
    let mut places = Places::new(tokens.text);
    let places: Vec<_> = offsets.iter().map(|offset| places.of(*offset as usize)).collect();
    let place = |offset: u32| {
        offsets
            .binary_search(&offset)
            .map_or_else(|_| crate::ScriptPlace::default(), |row| places[row])
    };
    let functions = found.into_iter().map(|function| ScriptFunction {
        start: place(function.start),
        from: place(function.from),
        end: place(function.end),
        name_at: name_at(&function.holder).map(place),
        parent: function.parent,
        holder: function.holder,
        shape: function.shape,
    });
    Outline { functions: functions.collect() }
}
