//! One pass over a syntax tree, without recursion: machine-made files nest as deep as they like.
//!
//! The pass keeps three stacks: the nodes it is in, the scopes that name what is inside, and the functions whose
//! tokens are being collected. The last one's bottom is no function but all code outside of them.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use hashbrown::HashMap;
use perfblame_words::counted;
use tree_sitter::{Node, ParseOptions, Parser, Point, Tree};

use super::body::{self, Class, Token};
use super::costs;
use super::grammar::{Grammar, Role};
use super::naming::{self, Opened, Scope, ScopeKind};
use super::unchanged::Inside;
use crate::source::hash::{hash_text, mix};
use crate::source::{FunctionKind, MAX_FILE_BYTES, SourceFile, SourceFunction, SourceType};
use crate::{Addition, Language};

/// Scopes in scopes. A name grows with each, and nobody reads the hundredth; what is deeper belongs to its holder.
const MAX_SCOPES: usize = 64;

/// How much work the parser may do beyond what any sane text needs, in units of 100 steps.
const WORK_AT_LEAST: usize = 10_000;
const WORK_PER_BYTE: f64 = 0.5;

const OPEN: u64 = 0x6f70_656e;
const CLOSE: u64 = 0x636c_6f73;
const NESTED_FUNCTION: u64 = 0x6675_6e63;

/// A function whose end is not reached yet.
struct OpenFunction {
    /// Row in the file's functions; none for the code outside of them.
    row: Option<usize>,
    /// How many nodes are above it.
    depth: usize,
    tokens: Vec<Token>,
    declared: Vec<u64>,
    costs: Vec<Addition>,
    /// Bytes of the function's own name, which is no part of the body.
    skip: Range<usize>,
    own_name: u64,
    /// Its number among the bodies that are left out.
    left_out: Option<usize>,
}

/// Attributes and decorators that wait for their function.
struct Prefix {
    depth: usize,
    line: u32,
    /// Where their tokens begin in the function on top.
    token: usize,
}

/// What Java's compiler numbers per class and the walk came across.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Numbered {
    pub lambdas: bool,
    pub anonymous: bool,
    pub local: bool,
}

/// A file of which some bodies were not parsed.
pub(super) struct Parsed {
    pub file: SourceFile,
    /// For each body that was left out the row of the function that it belongs to, if it is one's whole body and
    /// nothing around that function matters to it.
    pub claimed: Vec<Option<usize>>,
    pub numbered: Numbered,
    /// Whether anything is not as the grammar wants it.
    pub errors: bool,
    pub tree: Option<Tree>,
}

pub(super) struct SyntaxWalk<'t> {
    pub text: &'t [u8],
    pub grammar: &'static Grammar,
    pub file: SourceFile,
    pub scopes: Vec<Scope>,
    pub ancestors: Vec<Node<'t>>,
    open: Vec<OpenFunction>,
    /// Names declared in the open functions, with how often.
    declared: HashMap<u64, u32>,
    /// How many of the nodes around have no effect at run time.
    erased: u32,
    /// Where the last leaf ended.
    last_end: usize,
    prefix: Option<Prefix>,
    too_deep: u32,
    pub numbered: Numbered,
    left_out: &'t [Inside],
    claimed: Vec<Option<usize>>,
    /// The member access that was asked about last, by its node, and the answer.
    behind_this: Cell<(usize, bool)>,
}

/// The functions of a whole file.
pub(super) fn parse(grammar: &'static Grammar, module: &str, text: &[u8]) -> SourceFile {
    parse_without(grammar, module, text, &[], None).file
}

/// The same without what some bodies hold; they are given in their order. A tree of the text before that was told of
/// all edits lends its parts.
pub(super) fn parse_without(
    grammar: &'static Grammar,
    module: &str,
    text: &[u8],
    left_out: &[Inside],
    before: Option<&Tree>,
) -> Parsed {
    let mut file = SourceFile { language: grammar.language, ..SourceFile::default() };
    file.lines = line_count(text);
    if text.len() > MAX_FILE_BYTES {
        file.incomplete = Some(format!("its {} MB were not read", text.len() >> 20));
        return Parsed::nothing(file);
    }
    let Some(tree) = tree(grammar, text, left_out, before) else {
        file.incomplete = Some("the parser gave up on it".to_owned());
        return Parsed::nothing(file);
    };
    let mut walk = SyntaxWalk {
        text,
        grammar,
        file,
        scopes: vec![Scope::file(module)],
        ancestors: Vec::new(),
        open: vec![OpenFunction {
            row: None,
            depth: 0,
            tokens: Vec::new(),
            declared: Vec::new(),
            costs: Vec::new(),
            skip: 0..0,
            own_name: 0,
            left_out: None,
        }],
        declared: HashMap::new(),
        erased: 0,
        last_end: 0,
        prefix: None,
        too_deep: 0,
        numbered: Numbered::default(),
        left_out,
        claimed: vec![None; left_out.len()],
        behind_this: Cell::new((0, false)),
    };
    walk.run(&tree);
    let (numbered, claimed) = (walk.numbered, std::mem::take(&mut walk.claimed));
    let (file, errors) = (walk.finish(), tree.root_node().has_error());
    Parsed { file, claimed, numbered, errors, tree: Some(tree) }
}

impl Parsed {
    fn nothing(file: SourceFile) -> Self {
        let numbered = Numbered::default();
        Self { file, claimed: Vec::new(), numbered, errors: true, tree: None }
    }
}

fn line_count(text: &[u8]) -> u32 {
    let ends = text.split(|byte| *byte == b'\n').count() - 1;
    (ends + usize::from(!text.is_empty() && !text.ends_with(b"\n"))) as u32
}

fn tree(
    grammar: &Grammar,
    text: &[u8],
    left_out: &[Inside],
    before: Option<&Tree>,
) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.parser).ok()?;
    if !left_out.is_empty() {
        parser.set_included_ranges(&included(left_out)).ok()?;
    }
    // Counted work, not time: the same text gives the same answer on every machine.
    let mut left = WORK_AT_LEAST + (text.len() as f64 * WORK_PER_BYTE) as usize;
    let mut progress = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    parser.parse_with_options(
        &mut |at, _| text.get(at..).unwrap_or_default(),
        before,
        Some(options),
    )
}

/// What is left of a text, in the parser's terms.
fn included(left_out: &[Inside]) -> Vec<tree_sitter::Range> {
    let mut ranges = Vec::with_capacity(left_out.len() + 1);
    let (mut start_byte, mut start_point) = (0, Point { row: 0, column: 0 });
    for Inside { range, .. } in left_out {
        let (end_byte, end_point) = (range.start_byte, range.start_point);
        ranges.push(tree_sitter::Range { start_byte, end_byte, start_point, end_point });
        (start_byte, start_point) = (range.end_byte, range.end_point);
    }
    // As far as there is text, as the parser itself says it.
    let end = u32::MAX as usize;
    let end_point = Point { row: end, column: end };
    ranges.push(tree_sitter::Range { start_byte, end_byte: end, start_point, end_point });
    ranges
}

impl<'t> SyntaxWalk<'t> {
    fn run(&mut self, tree: &'t Tree) {
        let mut cursor = tree.walk();
        loop {
            let node = cursor.node();
            let field = || cursor.field_id().map_or(0, std::num::NonZero::get);
            if self.enter(node, &field) && cursor.goto_first_child() {
                self.ancestors.push(node);
                continue;
            }
            self.leave(node);
            loop {
                if cursor.goto_next_sibling() {
                    break;
                }
                let Some(node) = self.ancestors.pop() else { return };
                cursor.goto_parent();
                self.leave(node);
            }
        }
    }

    fn finish(mut self) -> SourceFile {
        if let Some(outside) = self.open.pop() {
            self.file.outside = body::digest(&outside.tokens, 0, |_| false).exact;
        }
        if self.too_deep > 0 {
            let functions = counted(self.too_deep.into(), "function", "functions");
            let count = if self.too_deep == 1 { "counts" } else { "count" };
            self.file.incomplete = Some(format!(
                "{functions} nested more than {MAX_SCOPES} deep {count} as part of the enclosing function"
            ));
        }
        self.file
    }

    pub fn text(&self, node: Node) -> &'t [u8] {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub fn parent(&self) -> Option<Node<'t>> {
        self.ancestors.last().copied()
    }

    pub fn role(&self, node: Node) -> Role {
        self.grammar.role(node.kind_id())
    }

    /// Whether some open function declares this name.
    pub fn is_declared(&self, name: &[u8]) -> bool {
        self.declared.contains_key(&hash_text(name))
    }

    /// Whether to go on with the node's children.
    fn enter(&mut self, node: Node<'t>, field: &dyn Fn() -> u16) -> bool {
        let role = self.role(node);
        if role.has(Role::COMMENT) {
            self.gap(node.start_byte());
            self.last_end = node.end_byte();
            return false;
        }
        if (node.is_error() || node.is_missing()) && self.file.first_error.is_none() {
            self.file.first_error = Some(node.start_position().row as u32 + 1);
        }
        let depth = self.ancestors.len();
        if role.has(Role::PREFIX) && self.prefix.is_none() {
            let token = self.open.last().map_or(0, |open| open.tokens.len());
            self.prefix = Some(Prefix { depth, line: first_line(node), token });
        }
        if role.has(Role::SCOPE) {
            self.open_scope(node);
        }
        if role.has(Role::IMPORT) && self.open.len() == 1 {
            self.last_end = node.end_byte();
            return false;
        }
        let opened = role.has(Role::FUNCTION) || role.has(Role::WRAPPER);
        let opened = opened && self.open_function(node, role);
        if !role.has(Role::PREFIX) && self.prefix.as_ref().is_some_and(|it| it.depth == depth) {
            self.prefix = None;
        }
        self.costs(node, role);
        if role.has(Role::ERASED) {
            self.erased += 1;
        }
        if opened && self.open.last().is_some_and(|open| open.left_out.is_some()) {
            return false;
        }
        if !opened {
            self.marker(node, role, OPEN);
        }
        if node.child_count() == 0 {
            self.leaf(node, role, field);
            return false;
        }
        true
    }

    fn leave(&mut self, node: Node<'t>) {
        let role = self.role(node);
        if role.has(Role::COMMENT) {
            return;
        }
        let depth = self.ancestors.len();
        // What stands at the end of a node and belongs to no child.
        if node.child_count() > 0 && self.last_end < node.end_byte() {
            self.gap(node.end_byte());
            self.last_end = node.end_byte();
        }
        let skipped = role.has(Role::IMPORT) && self.open.len() == 1;
        if role.has(Role::ERASED) && !skipped {
            self.erased -= 1;
        }
        let closes = self.open.last().is_some_and(|it| it.row.is_some() && it.depth == depth);
        if closes {
            self.close_function(node);
        } else if !skipped {
            self.marker(node, role, CLOSE);
        }
        while self.scopes.len() > 1 && self.scopes.last().is_some_and(|scope| scope.ends(depth)) {
            self.scopes.pop();
        }
    }

    fn open_scope(&mut self, node: Node<'t>) {
        if self.scopes.len() >= MAX_SCOPES {
            return;
        }
        let Some(mut scope) = naming::scope(self, node) else { return };
        if scope.kind == ScopeKind::Type {
            let lines = (first_line(node), last_line(node));
            self.file.types.push(SourceType { name: scope.name.clone(), lines });
        }
        scope.depth = self.ancestors.len();
        self.scopes.push(scope);
    }

    /// Whether the node is a function.
    fn open_function(&mut self, node: Node<'t>, role: Role) -> bool {
        let definition = if role.has(Role::WRAPPER) {
            let last = node.named_child_count().checked_sub(1);
            last.and_then(|last| node.named_child(last as u32))
                .filter(|it| self.role(*it).has(Role::FUNCTION))
        } else {
            let wrapped = self.parent().is_some_and(|parent| self.role(parent).has(Role::WRAPPER));
            (!wrapped).then_some(node)
        };
        let Some(definition) = definition else { return false };
        let Some(Opened { name, key, own_name, kind, signature, skip, scope }) =
            naming::function(self, definition)
        else {
            return false;
        };
        if self.scopes.len() >= MAX_SCOPES {
            self.too_deep = self.too_deep.saturating_add(1);
            return false;
        }
        let depth = self.ancestors.len();
        self.gap(node.start_byte());
        let holder = self.open.iter().rev().find_map(|open| open.row);
        let row = self.file.functions.len();
        let mut tokens = Vec::new();
        let mut from_line = first_line(node);
        if let (Some(prefix), Some(top)) = (self.prefix.take(), self.open.last_mut())
            && prefix.depth == depth
        {
            tokens = top.tokens.split_off(prefix.token.min(top.tokens.len()));
            from_line = prefix.line;
        }
        if holder.is_some() {
            self.token(NESTED_FUNCTION, Class::Plain);
        }
        self.file.functions.push(SourceFunction {
            key: hash_text(key.as_bytes()),
            simple: hash_text(own_name.as_bytes()),
            name,
            signature,
            lines: (first_line(node), last_line(node)),
            kind,
            holder,
            from_line,
            ..SourceFunction::default()
        });
        let left_out = self.claim(definition, holder, (from_line, last_line(node)));
        if let Some(number) = left_out {
            self.claimed[number] = Some(row);
        }
        self.open.push(OpenFunction {
            row: Some(row),
            depth,
            tokens,
            declared: Vec::new(),
            costs: Vec::new(),
            skip,
            own_name: hash_text(own_name.as_bytes()),
            left_out,
        });
        let mut scope = scope;
        scope.depth = depth;
        self.scopes.push(scope);
        true
    }

    /// The number of the body that was left out of a function, if that is all there is to it. Inside of another
    /// function it is not: which names are local depends on what is around.
    fn claim(&self, function: Node, holder: Option<usize>, lines: (u32, u32)) -> Option<usize> {
        if self.left_out.is_empty() || holder.is_some() {
            return None;
        }
        let body = function.child_by_field_name("body")?;
        let number =
            self.left_out.binary_search_by_key(&body.start_byte(), |it| it.body.start).ok()?;
        let it = &self.left_out[number];
        let same = it.stretch.0 <= lines.0 && lines.1 <= it.stretch.1;
        (same && body.byte_range() == it.body).then_some(number)
    }

    fn close_function(&mut self, node: Node<'t>) {
        let Some(mut open) = self.open.pop() else { return };
        if let (Some(number), Some(row)) = (open.left_out, open.row) {
            if let Some(function) = self.file.functions.get_mut(row) {
                (function.exact, function.loose) = (body::stand_in(number), body::stand_in(number));
            }
            // Where indentation ends a body, what was left out stands behind it.
            let end = self.left_out.get(number).map_or(0, |it| it.range.end_byte);
            self.last_end = node.end_byte().max(end);
            return;
        }
        let declared = &self.declared;
        let digest = body::digest(&open.tokens, open.own_name, |name| declared.contains_key(&name));
        for name in &open.declared {
            if let Some(count) = self.declared.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.declared.remove(name);
                }
            }
        }
        open.costs.sort();
        let Some(function) = open.row.and_then(|row| self.file.functions.get_mut(row)) else {
            return;
        };
        function.exact = digest.exact;
        function.loose = digest.loose;
        function.tokens = digest.tokens;
        function.costs = open.costs;
        if self.grammar.language == Language::Java && function.kind == FunctionKind::Closure {
            self.numbered.lambdas = true;
            // Its number is known only now: the compiler counts inner lambdas first.
            function.name = naming::java_lambda(&mut self.scopes);
        }
        self.last_end = node.end_byte();
    }

    fn token(&mut self, hash: u64, class: Class) {
        let class = match class {
            _ if self.erased == 0 => class,
            Class::LooseOnly => return,
            _ => Class::ExactOnly,
        };
        if let Some(open) = self.open.last_mut() {
            open.tokens.push(Token { hash, class });
        }
    }

    /// The shape of what has no brackets of its own.
    fn marker(&mut self, node: Node, role: Role, side: u64) {
        if role.has(Role::STATEMENT) {
            self.token(mix(side, u64::from(node.kind_id())), Class::Plain);
        } else if role.has(Role::EXPRESSION) && self.open.len() > 1 {
            self.token(mix(side, u64::from(node.kind_id())), Class::LooseOnly);
        }
    }

    /// Some grammars leave text out of their leaves; it counts, too.
    fn gap(&mut self, end: usize) {
        let Some(between) = self.text.get(self.last_end..end) else { return };
        let between = between.trim_ascii();
        if !between.is_empty() {
            self.token(hash_text(between), Class::Plain);
        }
    }

    fn leaf(&mut self, node: Node<'t>, role: Role, field: &dyn Fn() -> u16) {
        let range = node.byte_range();
        self.gap(range.start);
        self.last_end = self.last_end.max(range.end);
        let text = self.text.get(range.clone()).unwrap_or_default().trim_ascii();
        if text.is_empty() {
            return;
        }
        let inside = |skip: &Range<usize>| skip.start <= range.start && range.end <= skip.end;
        if self.open.last().is_some_and(|open| inside(&open.skip)) {
            return;
        }
        let parent = self.parent();
        let in_parentheses = parent.is_some_and(|it| self.role(it).has(Role::PARENTHESES));
        if in_parentheses && (text == b"(" || text == b")") {
            self.token(hash_text(text), Class::ExactOnly);
            return;
        }
        if role.has(Role::NAME) {
            let class = self.name_class(text, field());
            self.token(hash_text(text), class);
            return;
        }
        if let Some(class) = self.own_class(node, text, parent) {
            self.token(hash_text(text), class);
            return;
        }
        if costs::is_lock_type(text) {
            self.cost(Addition::Lock);
        }
        match self.grammar.language {
            // Who may see a function is not what it does.
            Language::JavaScript | Language::TypeScript
                if self.open.len() == 1 && (text == b"export" || text == b"default") => {}
            Language::Python if text == b"->" => self.token(hash_text(text), Class::ExactOnly),
            // What introduces a type goes with it.
            Language::Python
                if text == b":"
                    && parent.is_some_and(|it| {
                        ["typed_parameter", "typed_default_parameter", "assignment"]
                            .contains(&it.kind())
                    }) =>
            {
                self.token(hash_text(text), Class::ExactOnly);
            }
            // Both quotes mean the same.
            Language::JavaScript | Language::TypeScript | Language::Python if text == b"'" => {
                self.token(hash_text(b"'"), Class::ExactOnly);
                self.token(hash_text(b"\""), Class::LooseOnly);
            }
            Language::JavaScript | Language::TypeScript if node.kind() == "jsx_text" => {
                for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
                    self.token(hash_text(word), Class::Plain);
                }
            }
            _ => self.token(hash_text(text), Class::Plain),
        }
    }

    /// What a name is where it stands.
    fn name_class(&mut self, text: &'t [u8], field: u16) -> Class {
        let Some(parent) = self.parent() else { return Class::Plain };
        let kind = parent.kind_id();
        if let Some(class) = self.own_member(text, parent, field) {
            return class;
        }
        if self.grammar.is_member(kind, field) {
            return Class::Plain;
        }
        let mut declares = self.grammar.declares(kind, field);
        if self.grammar.is_list(kind) {
            // Go: the list is what is on the left.
            let above = self.ancestors.len().checked_sub(2).and_then(|row| self.ancestors.get(row));
            declares |= above.is_some_and(|above| {
                let left = above.child_by_field_name("left").or(above.child_by_field_name("alias"));
                left.is_some_and(|left| left.id() == parent.id())
                    && [
                        "short_var_declaration",
                        "range_clause",
                        "type_switch_statement",
                        "receive_statement",
                    ]
                    .contains(&above.kind())
            });
        }
        // In Rust a pattern that begins with a capital letter is a constant or a variant.
        let constant = self.grammar.language == Language::Rust
            && text.first().is_some_and(u8::is_ascii_uppercase);
        if declares && !constant && self.open.len() > 1 {
            let hash = hash_text(text);
            *self.declared.entry(hash).or_insert(0) += 1;
            if let Some(open) = self.open.last_mut() {
                open.declared.push(hash);
            }
        }
        Class::Name
    }

    /// The member in `this.member`.
    fn own_member(&self, text: &[u8], parent: Node, field: u16) -> Option<Class> {
        if !self.grammar.role(parent.kind_id()).has(Role::MEMBER_ACCESS) {
            return None;
        }
        if !self.is_behind_this(parent) {
            return None;
        }
        let member = ["field", "name"].iter().any(|name| {
            let id = self.grammar.parser.field_id_for_name(name);
            id.is_some_and(|id| id.get() == field)
        });
        (member && text != b"this").then_some(Class::OwnMember)
    }

    /// Whether the object of a member access is `this`; asked of all its leaves, one after the other.
    fn is_behind_this(&self, access: Node) -> bool {
        let (known, answer) = self.behind_this.get();
        if known == access.id() {
            return answer;
        }
        let object =
            access.child_by_field_name("object").or(access.child_by_field_name("argument"));
        let answer = object.is_some_and(|object| self.text(object) == b"this");
        self.behind_this.set((access.id(), answer));
        answer
    }

    /// `this`, `.` or `->` of `this.member`, and C++ members, which have a kind of their own.
    fn own_class(&self, node: Node, text: &[u8], parent: Option<Node>) -> Option<Class> {
        let parent = parent?;
        if !self.grammar.role(parent.kind_id()).has(Role::MEMBER_ACCESS) {
            return None;
        }
        if !self.is_behind_this(parent) {
            return None;
        }
        match text {
            b"this" | b"." | b"->" => Some(Class::OwnPrefix),
            _ if node.kind() == "field_identifier" => Some(Class::OwnMember),
            _ => None,
        }
    }

    fn cost(&mut self, cost: Addition) {
        if let Some(open) = self.open.last_mut().filter(|open| open.row.is_some()) {
            open.costs.push(cost);
        }
    }

    fn costs(&mut self, node: Node<'t>, role: Role) {
        if self.open.len() < 2 {
            return;
        }
        if role.has(Role::LOOP) && node.child_count() > 0 {
            self.cost(Addition::Loop);
        }
        if role.has(Role::ALLOCATION) {
            self.cost(Addition::Allocation);
        }
        // The word `synchronized` belongs to a statement, which counts, or is a modifier, which counts.
        let twice = node.child_count() == 0
            && self.parent().is_some_and(|parent| self.role(parent).has(Role::LOCK));
        if role.has(Role::LOCK) && !twice {
            self.cost(Addition::Lock);
        }
        if role.has(Role::WAIT) {
            self.cost(Addition::Wait);
        }
        if role.has(Role::CALL)
            && let Some(name) = naming::callee(self, node)
            && let Some(open) = self.open.last_mut()
        {
            costs::call(name, &mut open.costs);
        }
        // Kinds by their names are slow to ask for.
        match self.grammar.language {
            Language::Python if node.kind() == "with_item" && contains_lock(self.text(node)) => {
                self.cost(Addition::Lock);
            }
            Language::Go
                if self.text.get(node.start_byte()) == Some(&b'<')
                    && node.kind() == "unary_expression"
                    && self.text(node).starts_with(b"<-") =>
            {
                self.cost(Addition::Wait);
            }
            _ => {}
        }
    }
}

fn contains_lock(text: &[u8]) -> bool {
    text.windows(4).any(|word| word.eq_ignore_ascii_case(b"lock"))
}

pub(super) fn first_line(node: Node) -> u32 {
    node.start_position().row as u32 + 1
}

/// A node that ends with its line's end is no part of the next line.
pub(super) fn last_line(node: Node) -> u32 {
    let end = node.end_position();
    let row =
        if end.column == 0 { end.row.max(node.start_position().row + 1) } else { end.row + 1 };
    row as u32
}
