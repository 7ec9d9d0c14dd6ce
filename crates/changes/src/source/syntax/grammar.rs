//! What each grammar calls the things that matter here, as tables.
//!
//! A language is a row: its node kinds are named once and turned into one lookup per kind number, so that the walk
//! over a syntax tree asks a table and never compares names.

use std::sync::OnceLock;

use hashbrown::HashSet;

use crate::Language;

/// What a node kind means for the walk; a kind can mean several things.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Role(u32);

impl Role {
    pub const FUNCTION: Self = Self(1);
    /// A class, module, namespace or package: names what is inside.
    pub const SCOPE: Self = Self(1 << 1);
    pub const COMMENT: Self = Self(1 << 2);
    pub const LOOP: Self = Self(1 << 3);
    pub const CALL: Self = Self(1 << 4);
    pub const ALLOCATION: Self = Self(1 << 5);
    pub const LOCK: Self = Self(1 << 6);
    pub const WAIT: Self = Self(1 << 7);
    /// Its shape is hashed in place of parentheses.
    pub const EXPRESSION: Self = Self(1 << 8);
    /// Its extent is hashed where line ends or indentation delimit.
    pub const STATEMENT: Self = Self(1 << 9);
    pub const PARENTHESES: Self = Self(1 << 10);
    /// Has no effect when the program runs.
    pub const ERASED: Self = Self(1 << 11);
    pub const NAME: Self = Self(1 << 12);
    /// Comes before a function and belongs to it: decorator, attribute.
    pub const PREFIX: Self = Self(1 << 13);
    /// Wraps a function: template, decorated definition.
    pub const WRAPPER: Self = Self(1 << 14);
    /// Does nothing when the program runs, outside of functions: package and import lines.
    pub const IMPORT: Self = Self(1 << 15);
    /// Access to a member, of which `this` may be left out.
    pub const MEMBER_ACCESS: Self = Self(1 << 16);

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A language's row.
struct GrammarRow {
    grammar: fn() -> tree_sitter::Language,
    functions: &'static [&'static str],
    scopes: &'static [&'static str],
    comments: &'static [&'static str],
    loops: &'static [&'static str],
    calls: &'static [&'static str],
    allocations: &'static [&'static str],
    locks: &'static [&'static str],
    waits: &'static [&'static str],
    erased: &'static [&'static str],
    names: &'static [&'static str],
    prefixes: &'static [&'static str],
    wrappers: &'static [&'static str],
    imports: &'static [&'static str],
    member_access: &'static [&'static str],
    /// Kinds with a shape of their own beside `…_expression` and `…_operator`.
    shapes: &'static [&'static str],
    /// Kinds that are statements beside `…_statement`, where layout delimits.
    blocks: &'static [&'static str],
    layout: bool,
    /// Where a name is a new local one: kind of the parent, field of the child or nothing.
    declares: &'static [(&'static str, &'static str)],
    /// Where a name is that of a member or a label and never local.
    members: &'static [(&'static str, &'static str)],
}

const NOTHING: GrammarRow = GrammarRow {
    grammar: || tree_sitter_c::LANGUAGE.into(),
    functions: &[],
    scopes: &[],
    comments: &["comment"],
    loops: &["for_statement", "while_statement", "do_statement"],
    calls: &["call_expression"],
    allocations: &[],
    locks: &[],
    waits: &[],
    erased: &[],
    names: &["identifier"],
    prefixes: &[],
    wrappers: &[],
    imports: &[],
    member_access: &[],
    shapes: &[],
    blocks: &[],
    layout: false,
    declares: &[],
    members: &[],
};

const JAVA: GrammarRow = GrammarRow {
    grammar: || tree_sitter_java::LANGUAGE.into(),
    functions: &[
        "method_declaration",
        "constructor_declaration",
        "compact_constructor_declaration",
        "static_initializer",
        "lambda_expression",
        "field_declaration",
        "constant_declaration",
        "block",
    ],
    scopes: &[
        "package_declaration",
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "class_body",
    ],
    comments: &["line_comment", "block_comment"],
    loops: &["for_statement", "enhanced_for_statement", "while_statement", "do_statement"],
    calls: &["method_invocation", "object_creation_expression"],
    allocations: &["object_creation_expression", "array_creation_expression", "array_initializer"],
    locks: &["synchronized_statement", "synchronized"],
    erased: &["type_arguments", "type_parameters", "final", "public", "private", "protected"],
    imports: &["package_declaration", "import_declaration"],
    member_access: &["field_access", "method_invocation"],
    declares: &[
        ("formal_parameter", "name"),
        ("variable_declarator", "name"),
        ("catch_formal_parameter", "name"),
        ("enhanced_for_statement", "name"),
        ("inferred_parameters", ""),
        ("lambda_expression", "parameters"),
        ("resource", "name"),
        ("instanceof_expression", "name"),
        ("type_pattern", ""),
        ("record_pattern_component", ""),
    ],
    members: &[
        ("field_access", "field"),
        ("method_invocation", "name"),
        ("element_value_pair", "key"),
        ("method_reference", ""),
        ("break_statement", ""),
        ("continue_statement", ""),
        ("labeled_statement", ""),
    ],
    ..NOTHING
};

const JAVASCRIPT: GrammarRow = GrammarRow {
    grammar: || tree_sitter_javascript::LANGUAGE.into(),
    functions: &[
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "arrow_function",
        "method_definition",
        "class_static_block",
    ],
    scopes: &["class_declaration", "class", "abstract_class_declaration", "internal_module"],
    comments: &["comment", "html_comment", "hash_bang_line"],
    loops: &["for_statement", "for_in_statement", "while_statement", "do_statement"],
    calls: &["call_expression", "new_expression"],
    allocations: &["new_expression", "array", "object"],
    waits: &["await_expression"],
    erased: &[
        "type_annotation",
        "type_arguments",
        "type_parameters",
        "accessibility_modifier",
        "readonly",
        "override_modifier",
        ";",
    ],
    prefixes: &["decorator"],
    layout: true,
    blocks: &["lexical_declaration", "variable_declaration"],
    declares: &[
        ("formal_parameters", ""),
        ("required_parameter", "pattern"),
        ("optional_parameter", "pattern"),
        ("variable_declarator", "name"),
        ("arrow_function", "parameter"),
        ("catch_clause", "parameter"),
        ("for_in_statement", "left"),
        ("array_pattern", ""),
        ("rest_pattern", ""),
        ("assignment_pattern", "left"),
        ("pair_pattern", "value"),
    ],
    ..NOTHING
};

const TYPESCRIPT: GrammarRow = GrammarRow {
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    imports: &["interface_declaration", "type_alias_declaration", "ambient_declaration"],
    ..JAVASCRIPT
};

const TSX: GrammarRow =
    GrammarRow { grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(), ..TYPESCRIPT };

const RUST: GrammarRow = GrammarRow {
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    functions: &["function_item", "closure_expression"],
    scopes: &["mod_item", "impl_item", "trait_item"],
    comments: &["line_comment", "block_comment"],
    loops: &["for_expression", "while_expression", "loop_expression"],
    calls: &["call_expression", "macro_invocation"],
    waits: &["await_expression"],
    erased: &["visibility_modifier"],
    prefixes: &["attribute_item"],
    imports: &["use_declaration", "extern_crate_declaration"],
    shapes: &["compound_assignment_expr"],
    declares: &[
        ("parameter", "pattern"),
        ("let_declaration", "pattern"),
        ("let_condition", "pattern"),
        ("closure_parameters", ""),
        ("for_expression", "pattern"),
        ("tuple_pattern", ""),
        ("tuple_struct_pattern", ""),
        ("slice_pattern", ""),
        ("match_pattern", ""),
        ("mut_pattern", ""),
        ("ref_pattern", ""),
        ("reference_pattern", ""),
        ("captured_pattern", ""),
        ("or_pattern", ""),
        ("field_pattern", "pattern"),
    ],
    members: &[
        ("scoped_identifier", "name"),
        ("tuple_struct_pattern", "type"),
        ("macro_invocation", "macro"),
    ],
    ..NOTHING
};

const C: GrammarRow = GrammarRow {
    functions: &["function_definition"],
    erased: &["register"],
    imports: &["preproc_include"],
    declares: &[
        ("init_declarator", "declarator"),
        ("parameter_declaration", "declarator"),
        ("pointer_declarator", "declarator"),
        ("array_declarator", "declarator"),
        ("declaration", "declarator"),
    ],
    ..NOTHING
};

const CPP: GrammarRow = GrammarRow {
    grammar: || tree_sitter_cpp::LANGUAGE.into(),
    functions: &["function_definition", "lambda_expression"],
    scopes: &["namespace_definition", "class_specifier", "struct_specifier", "union_specifier"],
    loops: &["for_statement", "for_range_loop", "while_statement", "do_statement"],
    calls: &["call_expression", "new_expression"],
    allocations: &["new_expression"],
    waits: &["co_await_expression"],
    wrappers: &["template_declaration"],
    imports: &["preproc_include", "using_declaration", "namespace_alias_definition"],
    member_access: &["field_expression"],
    declares: &[
        ("init_declarator", "declarator"),
        ("parameter_declaration", "declarator"),
        ("optional_parameter_declaration", "declarator"),
        ("variadic_declarator", ""),
        ("pointer_declarator", "declarator"),
        ("reference_declarator", ""),
        ("array_declarator", "declarator"),
        ("declaration", "declarator"),
        ("for_range_loop", "declarator"),
        ("structured_binding_declarator", ""),
        ("lambda_capture_initializer", "left"),
    ],
    members: &[("qualified_identifier", "name")],
    ..C
};

const PYTHON: GrammarRow = GrammarRow {
    grammar: || tree_sitter_python::LANGUAGE.into(),
    functions: &["function_definition", "lambda"],
    scopes: &["class_definition"],
    loops: &["for_statement", "while_statement", "for_in_clause"],
    calls: &["call"],
    allocations: &[
        "list",
        "dictionary",
        "set",
        "list_comprehension",
        "dictionary_comprehension",
        "set_comprehension",
    ],
    waits: &["await"],
    erased: &["type", ";"],
    wrappers: &["decorated_definition"],
    shapes: &["await", "tuple", "lambda", "named_expression", "generator_expression"],
    layout: true,
    blocks: &["block"],
    declares: &[
        ("parameters", ""),
        ("lambda_parameters", ""),
        ("default_parameter", "name"),
        ("typed_default_parameter", "name"),
        ("typed_parameter", ""),
        ("list_splat_pattern", ""),
        ("dictionary_splat_pattern", ""),
        ("assignment", "left"),
        ("for_statement", "left"),
        ("for_in_clause", "left"),
        ("pattern_list", ""),
        ("tuple_pattern", ""),
        ("list_pattern", ""),
        ("as_pattern_target", ""),
        ("named_expression", "name"),
    ],
    members: &[
        ("attribute", "attribute"),
        ("keyword_argument", "name"),
        ("dotted_name", ""),
        ("global_statement", ""),
        ("nonlocal_statement", ""),
    ],
    ..NOTHING
};

const GO: GrammarRow = GrammarRow {
    grammar: || tree_sitter_go::LANGUAGE.into(),
    functions: &["function_declaration", "method_declaration", "func_literal"],
    scopes: &["package_clause"],
    loops: &["for_statement"],
    allocations: &["composite_literal"],
    waits: &["select_statement", "send_statement", "receive_statement"],
    erased: &[";"],
    imports: &["package_clause", "import_declaration"],
    layout: true,
    blocks: &[
        "short_var_declaration",
        "var_declaration",
        "const_declaration",
        "communication_case",
    ],
    declares: &[
        ("parameter_declaration", "name"),
        ("variadic_parameter_declaration", "name"),
        ("var_spec", "name"),
        ("const_spec", "name"),
        ("short_var_declaration", "left"),
        ("range_clause", "left"),
        ("type_switch_statement", "alias"),
        ("receive_statement", "left"),
    ],
    ..NOTHING
};

/// A grammar with its row turned into lookups.
pub(super) struct Grammar {
    pub language: Language,
    pub parser: tree_sitter::Language,
    roles: Vec<Role>,
    declares: HashSet<(u16, u16)>,
    members: HashSet<(u16, u16)>,
    /// Kinds of lists through which a declaration reaches: `a, b := f()` in Go.
    list: HashSet<u16>,
}

impl Grammar {
    pub fn role(&self, kind: u16) -> Role {
        self.roles.get(kind as usize).copied().unwrap_or_default()
    }

    pub fn declares(&self, parent: u16, field: u16) -> bool {
        self.declares.contains(&(parent, field))
    }

    pub fn is_member(&self, parent: u16, field: u16) -> bool {
        self.members.contains(&(parent, field))
    }

    /// Whether names in a node of this kind are declared by what holds the node.
    pub fn is_list(&self, kind: u16) -> bool {
        self.list.contains(&kind)
    }

    fn of(row: &GrammarRow, language: Language) -> Self {
        let grammar = (row.grammar)();
        let count = grammar.node_kind_count();
        let mut roles = vec![Role::default(); count];
        // A name can have several numbers, one per alias.
        let kinds: Vec<(u16, &str, bool)> = (0..count)
            .filter_map(|id| {
                let id = id as u16;
                Some((id, grammar.node_kind_for_id(id)?, grammar.node_kind_is_named(id)))
            })
            .collect();
        // Some words are a keyword and, as a node, what it begins.
        let nodes: HashSet<&str> =
            kinds.iter().filter(|(_, _, named)| *named).map(|(_, name, _)| *name).collect();
        let mut mark = |names: &[&str], role: Role| {
            for &(id, name, named) in &kinds {
                if names.contains(&name) && (named || !nodes.contains(name)) {
                    roles[id as usize].add(role);
                }
            }
        };
        mark(row.functions, Role::FUNCTION);
        mark(row.scopes, Role::SCOPE);
        mark(row.comments, Role::COMMENT);
        mark(row.loops, Role::LOOP);
        mark(row.calls, Role::CALL);
        mark(row.allocations, Role::ALLOCATION);
        mark(row.locks, Role::LOCK);
        mark(row.waits, Role::WAIT);
        mark(row.erased, Role::ERASED);
        mark(row.names, Role::NAME);
        mark(row.prefixes, Role::PREFIX);
        mark(row.wrappers, Role::WRAPPER);
        mark(row.imports, Role::IMPORT);
        mark(row.member_access, Role::MEMBER_ACCESS);
        mark(row.shapes, Role::EXPRESSION);
        mark(&["parenthesized_expression"], Role::PARENTHESES);
        if row.layout {
            mark(row.blocks, Role::STATEMENT);
        }
        for &(id, name, named) in &kinds {
            if !named || name == "parenthesized_expression" {
                continue;
            }
            let shape = name.ends_with("_expression") || name.ends_with("_operator");
            // Access to a member binds tightest: without a shape, `this->size` can be `size`.
            if shape && !row.member_access.contains(&name) {
                roles[id as usize].add(Role::EXPRESSION);
            }
            if row.layout && name.ends_with("_statement") {
                roles[id as usize].add(Role::STATEMENT);
            }
        }
        let field =
            |name: &str| grammar.field_id_for_name(name).map_or(0, std::num::NonZero::<u16>::get);
        let pairs = |table: &[(&str, &str)]| {
            let mut found = HashSet::new();
            for &(parent, name) in table {
                let same = kinds.iter().filter(|(_, kind, named)| *kind == parent && *named);
                found.extend(same.map(|(id, ..)| (*id, field(name))));
            }
            found
        };
        let list = kinds.iter().filter(|(_, name, _)| *name == "expression_list");
        let list = match language {
            Language::Go => list.map(|(id, ..)| *id).collect(),
            _ => HashSet::new(),
        };
        Self {
            language,
            declares: pairs(row.declares),
            members: pairs(row.members),
            list,
            roles,
            parser: grammar,
        }
    }
}

/// The grammar of a language; TypeScript has a second one for files with markup in them.
pub(super) fn grammar(language: Language, markup: bool) -> &'static Grammar {
    static GRAMMARS: [OnceLock<Grammar>; 9] = [const { OnceLock::new() }; 9];
    let (slot, row) = match language {
        Language::Java => (0, &JAVA),
        Language::JavaScript => (1, &JAVASCRIPT),
        Language::TypeScript if markup => (2, &TSX),
        Language::TypeScript => (3, &TYPESCRIPT),
        Language::Rust => (4, &RUST),
        Language::C => (5, &C),
        Language::Cpp => (6, &CPP),
        Language::Python => (7, &PYTHON),
        Language::Go => (8, &GO),
    };
    GRAMMARS[slot].get_or_init(|| Grammar::of(row, language))
}

#[cfg(test)]
mod tests {
    use super::{C, CPP, GO, GrammarRow, JAVA, JAVASCRIPT, PYTHON, RUST, TSX, TYPESCRIPT};

    /// A kind that a new version of a grammar renamed would silently match nothing.
    #[test]
    fn every_kind_and_field_of_the_tables_exists() {
        // TypeScript shares a row with JavaScript, whose grammar lacks types.
        let together: [&[&GrammarRow]; 6] = [
            &[&JAVA],
            &[&JAVASCRIPT, &TYPESCRIPT, &TSX],
            &[&RUST],
            &[&C, &CPP],
            &[&PYTHON],
            &[&GO],
        ];
        for rows in together {
            let grammars: Vec<_> = rows.iter().map(|row| (row.grammar)()).collect();
            let known = |name: &str| {
                grammars.iter().any(|grammar| {
                    [true, false].iter().any(|named| grammar.id_for_node_kind(name, *named) != 0)
                })
            };
            for row in rows {
                let tables = [
                    row.functions,
                    row.scopes,
                    row.comments,
                    row.loops,
                    row.calls,
                    row.allocations,
                    row.locks,
                    row.waits,
                    row.erased,
                    row.names,
                    row.prefixes,
                    row.wrappers,
                    row.imports,
                    row.member_access,
                    row.shapes,
                    row.blocks,
                ];
                for name in tables.concat() {
                    assert!(known(name), "no node is called {name}");
                }
                for (parent, field) in [row.declares, row.members].concat() {
                    assert!(known(parent), "no node is called {parent}");
                    let field_known =
                        grammars.iter().any(|grammar| grammar.field_id_for_name(field).is_some());
                    assert!(field.is_empty() || field_known, "no field is called {field}");
                }
            }
        }
    }
}
