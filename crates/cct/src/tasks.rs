//! Tasks: labels on subtrees, for questions about one thing that a large program does (`[insitu]`, section 3.3.3).
//!
//! A definition says which nodes start a task and how the task is called; all below inherit it. The thesis stores
//! tasks in the tree, and a new definition took it hours. Here nothing is stored: one walk answers at question time.
//! Whether a function matches is asked once per function, and the sets of tasks that nodes have are interned, so a
//! node costs one look-up.

use hashbrown::HashMap;
use regex::Regex;

use crate::method_metrics::Scope;
use crate::{ContentId, NodeId, Profile, content_ids};

/// Which nodes start a task, and what the task is called.
#[derive(Clone, Debug)]
pub struct TaskDefinition {
    /// The definition's own name.
    pub name: String,
    /// Which nodes, which task.
    pub specification: Specification,
}

/// Which nodes start a task.
#[derive(Clone, Debug)]
pub enum Specification {
    /// Functions whose name or component starts with a text (listing 3.4).
    Prefix {
        /// What the name starts with.
        value: String,
        /// What the task is called.
        task_name: String,
    },
    /// Functions whose name or component matches a regular expression (listing 3.5): as many tasks as there are
    /// different values of the groups its template names.
    Pattern(Pattern),
    /// One node, marked by hand.
    Node {
        /// The node.
        node: NodeId,
        /// What the task is called.
        task_name: String,
    },
    /// One context, marked by hand in this or another profile.
    Context {
        /// The context's id, of the tree's own grain.
        context: ContentId,
        /// What the task is called.
        task_name: String,
    },
}

/// Why a definition makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// The regular expression cannot be read; with the reason.
    Pattern(String),
    /// The task's name uses a group that the expression does not have.
    UnknownGroup(String),
    /// `${` without its `}`.
    OpenGroup,
}

impl std::fmt::Display for TaskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pattern(reason) => write!(f, "invalid regular expression: {reason}"),
            Self::UnknownGroup(name) => {
                write!(f, "the task's name uses ${{{name}}}, but the expression has no such group")
            }
            Self::OpenGroup => write!(f, "the task's name has a ${{ without its }}"),
        }
    }
}

impl std::error::Error for TaskError {}

impl TaskDefinition {
    /// A task of all functions whose name or component starts with `value`.
    pub fn prefix(name: &str, value: &str, task_name: &str) -> Self {
        let (value, task_name) = (value.to_owned(), task_name.to_owned());
        Self { name: name.to_owned(), specification: Specification::Prefix { value, task_name } }
    }

    /// Tasks of all functions whose name or component matches `pattern`; `${group}` in the task's name stands for what
    /// the group matched.
    pub fn pattern(name: &str, pattern: &str, task_name: &str) -> Result<Self, TaskError> {
        let pattern = Pattern::new(pattern, task_name)?;
        Ok(Self { name: name.to_owned(), specification: Specification::Pattern(pattern) })
    }

    /// A definition as people type it: `com.mycompany.service.UserRegister as user-register`,
    /// `regex:^com.mycompany.service.(?<service-name>[^.]+) as service-${service-name}`. Without `regex:` the text is
    /// a prefix. Without a name the task is called by the prefix, or by what the expression matched.
    pub fn parse(text: &str) -> Result<Self, TaskError> {
        let (value, task_name) = match text.rsplit_once(" as ") {
            Some((value, name)) => (value.trim(), Some(name.trim())),
            None => (text.trim(), None),
        };
        if let Some(pattern) = value.strip_prefix("regex:") {
            return Self::pattern(text, pattern, task_name.unwrap_or("${0}"));
        }
        let value = value.strip_prefix("prefix:").unwrap_or(value);
        Ok(Self::prefix(text, value, task_name.unwrap_or(value)))
    }

    /// A task that starts at one node.
    pub fn node(name: &str, node: NodeId, task_name: &str) -> Self {
        let task_name = task_name.to_owned();
        Self { name: name.to_owned(), specification: Specification::Node { node, task_name } }
    }

    /// A task that starts at one context.
    pub fn context(name: &str, context: ContentId, task_name: &str) -> Self {
        let task_name = task_name.to_owned();
        Self { name: name.to_owned(), specification: Specification::Context { context, task_name } }
    }
}

/// A regular expression with the template of its tasks' names.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    template: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// Number of a group.
    Group(usize),
}

impl Pattern {
    /// Reads an expression and the template of its tasks' names.
    pub fn new(pattern: &str, template: &str) -> Result<Self, TaskError> {
        let (pattern, names) = plain_group_names(pattern);
        let regex = Regex::new(&pattern).map_err(|error| TaskError::Pattern(error.to_string()))?;
        let group = |name: &str| {
            let plain = names.iter().position(|known| known == name).map(plain_name);
            let known = regex
                .capture_names()
                .position(|known| known.is_some() && known == plain.as_deref());
            let number = || name.parse().ok().filter(|number| *number < regex.captures_len());
            known.or_else(number).ok_or_else(|| TaskError::UnknownGroup(name.to_owned()))
        };
        let mut pieces = Vec::new();
        let mut rest = template;
        while let Some((text, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or(TaskError::OpenGroup)?;
            pieces.push(Piece::Text(text.to_owned()));
            pieces.push(Piece::Group(group(name)?));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self { regex, template: pieces })
    }

    /// The name of the task that `text` starts.
    fn task_name(&self, text: &str) -> Option<String> {
        let groups = self.regex.captures(text)?;
        Some(self.template.iter().fold(String::new(), |mut name, piece| {
            match piece {
                Piece::Text(text) => name.push_str(text),
                Piece::Group(group) => {
                    name.push_str(groups.get(*group).map_or("", |group| group.as_str()));
                }
            }
            name
        }))
    }
}

/// The group names of Java (`(?<service-name>…)`) and others, replaced by names that every engine takes. Returns the
/// expression and the names in the order of their groups.
fn plain_group_names(pattern: &str) -> (String, Vec<String>) {
    let mut out = String::with_capacity(pattern.len());
    let mut names: Vec<String> = Vec::new();
    let mut rest = pattern;
    let mut in_class = 0usize;
    while let Some(next) = rest.chars().next() {
        let opening = ["(?<", "(?P<"].into_iter().find_map(|opening| rest.strip_prefix(opening));
        if let Some(after) = opening
            && in_class == 0
            && !after.starts_with(['=', '!'])
            && let Some((name, after)) = after.split_once('>')
        {
            out.push_str("(?P<");
            out.push_str(&plain_name(names.len()));
            out.push('>');
            names.push(name.to_owned());
            rest = after;
            continue;
        }
        let mut taken = next.len_utf8();
        match next {
            // An escape takes its character with it.
            '\\' => taken += rest[taken..].chars().next().map_or(0, char::len_utf8),
            '[' => in_class += 1,
            ']' => in_class = in_class.saturating_sub(1),
            _ => {}
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    (out, names)
}

fn plain_name(number: usize) -> String {
    format!("group{number}")
}

/// The tasks of every node.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// Names of the tasks that have nodes, sorted.
    names: Vec<String>,
    /// Chain of each node, by row.
    of_node: Vec<u32>,
    /// What nodes inherit and start; the first is empty, and what is inherited stands before.
    chains: Vec<Chain>,
    /// Rows of `names`, sorted; the first set is empty.
    sets: Vec<Vec<u32>>,
}

/// The tasks of a node: those of a node above, and those it starts. Sets are never spelt out per node, so that a
/// definition that labels half the program with a hundred tasks costs no more than one that labels a corner of it.
#[derive(Clone, Copy, Debug)]
struct Chain {
    above: u32,
    started: u32,
}

/// Evaluates definitions: each node has the tasks it starts and those of its parent.
pub fn tasks(profile: &Profile, definitions: &[TaskDefinition]) -> Tasks {
    let mut sets = TaskSets::default();
    let of_function = started_by_functions(profile, definitions, &mut sets);
    let of_marked = started_by_marks(profile, definitions, &mut sets);
    let mut chains = Chains::default();
    let mut of_node: Vec<u32> = Vec::with_capacity(profile.tree.len());
    for node in profile.tree.nodes() {
        let inherited = profile.tree.parent(node).map_or(0, |parent| of_node[parent.index()]);
        let mut chain = chains.extend(inherited, of_function[profile.function_of(node).index()]);
        if !of_marked.is_empty()
            && let Some(marked) = of_marked.get(&node)
        {
            chain = chains.extend(chain, *marked);
        }
        of_node.push(chain);
    }
    sets.finish(of_node, chains.rows)
}

/// The set of tasks that each function starts.
fn started_by_functions(
    profile: &Profile,
    definitions: &[TaskDefinition],
    sets: &mut TaskSets,
) -> Vec<u32> {
    let symbols = &profile.symbols;
    (symbols.functions())
        .map(|(function, _)| {
            let name = symbols.name(function);
            let component = symbols.component(function).unwrap_or("");
            let started =
                definitions.iter().filter_map(|definition| match &definition.specification {
                    Specification::Prefix { value, task_name } => {
                        let starts = name.starts_with(value) || component.starts_with(value);
                        starts.then(|| task_name.clone())
                    }
                    Specification::Pattern(pattern) => {
                        pattern.task_name(name).or_else(|| pattern.task_name(component))
                    }
                    Specification::Node { .. } | Specification::Context { .. } => None,
                });
            sets.of_tasks(started)
        })
        .collect()
}

/// The set of tasks that start at nodes marked by hand.
fn started_by_marks(
    profile: &Profile,
    definitions: &[TaskDefinition],
    sets: &mut TaskSets,
) -> HashMap<NodeId, u32> {
    let mut marks: HashMap<NodeId, u32> = HashMap::new();
    let mut contexts: HashMap<ContentId, u32> = HashMap::new();
    for definition in definitions {
        match &definition.specification {
            Specification::Node { node, task_name } => {
                let set = sets.of_tasks([task_name.clone()]);
                let known = marks.entry(*node).or_default();
                *known = sets.union(*known, set);
            }
            Specification::Context { context, task_name } => {
                let set = sets.of_tasks([task_name.clone()]);
                let known = contexts.entry(*context).or_default();
                *known = sets.union(*known, set);
            }
            Specification::Prefix { .. } | Specification::Pattern(_) => {}
        }
    }
    if !contexts.is_empty() {
        for (node, id) in profile.tree.nodes().zip(content_ids(profile)) {
            if let Some(set) = contexts.get(&id) {
                let known = marks.entry(node).or_default();
                *known = sets.union(*known, *set);
            }
        }
    }
    marks
}

impl Tasks {
    /// The tasks that were found, sorted by name.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The tasks of a node, sorted by name.
    pub fn of(&self, node: NodeId) -> impl Iterator<Item = &str> {
        let mut rows = Vec::new();
        let mut chain = self.of_node.get(node.index()).copied().unwrap_or(0);
        while chain != 0 {
            let Chain { above, started } = self.chains[chain as usize];
            rows.extend_from_slice(&self.sets[started as usize]);
            chain = above;
        }
        rows.sort_unstable();
        rows.dedup();
        rows.into_iter().map(|row| self.names[row as usize].as_str())
    }

    /// The nodes whose tasks include one of `selected`: *n*.tasks ∩ *T* ≠ ∅ (3.23).
    pub fn scope(&self, selected: &[&str]) -> Scope {
        let chosen: Vec<bool> =
            self.names.iter().map(|name| selected.contains(&name.as_str())).collect();
        let in_set: Vec<bool> =
            self.sets.iter().map(|set| set.iter().any(|row| chosen[*row as usize])).collect();
        let mut in_chain: Vec<bool> = Vec::with_capacity(self.chains.len());
        for Chain { above, started } in &self.chains {
            let inherited = in_chain.get(*above as usize) == Some(&true);
            in_chain.push(inherited || in_set[*started as usize]);
        }
        Scope::Nodes(self.of_node.iter().map(|chain| in_chain[*chain as usize]).collect())
    }
}

/// Interned chains.
struct Chains {
    rows: Vec<Chain>,
    index: HashMap<(u32, u32), u32>,
}

impl Default for Chains {
    fn default() -> Self {
        Self { rows: vec![Chain { above: 0, started: 0 }], index: HashMap::new() }
    }
}

impl Chains {
    /// The chain of a node that inherits `above` and starts the set `started`.
    fn extend(&mut self, above: u32, started: u32) -> u32 {
        if started == 0 || self.rows[above as usize].started == started {
            return above;
        }
        let rows = &mut self.rows;
        *self.index.entry((above, started)).or_insert_with(|| {
            rows.push(Chain { above, started });
            rows.len() as u32 - 1
        })
    }
}

/// Interned sets of the tasks that functions and marks start.
struct TaskSets {
    names: Vec<String>,
    name_index: HashMap<String, u32>,
    members: Vec<Vec<u32>>,
    set_index: HashMap<Vec<u32>, u32>,
}

impl Default for TaskSets {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            name_index: HashMap::new(),
            members: vec![Vec::new()],
            set_index: HashMap::from_iter([(Vec::new(), 0)]),
        }
    }
}

impl TaskSets {
    fn of_tasks(&mut self, tasks: impl IntoIterator<Item = String>) -> u32 {
        let mut set = Vec::new();
        for name in tasks {
            let names = &mut self.names;
            set.push(*self.name_index.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                names.len() as u32 - 1
            }));
        }
        self.intern(set)
    }

    fn intern(&mut self, mut set: Vec<u32>) -> u32 {
        set.sort_unstable();
        set.dedup();
        if let Some(known) = self.set_index.get(&set) {
            return *known;
        }
        let id = self.members.len() as u32;
        self.members.push(set.clone());
        self.set_index.insert(set, id);
        id
    }

    fn union(&mut self, first: u32, second: u32) -> u32 {
        if second == 0 || first == second {
            return first;
        }
        if first == 0 {
            return second;
        }
        let both = [&*self.members[first as usize], &*self.members[second as usize]].concat();
        self.intern(both)
    }

    /// Sorts the names of the tasks that nodes have.
    fn finish(self, of_node: Vec<u32>, chains: Vec<Chain>) -> Tasks {
        let mut used = vec![false; self.names.len()];
        let mut seen = vec![false; self.members.len()];
        for chain in &chains {
            seen[chain.started as usize] = true;
        }
        for (set, _) in self.members.iter().zip(&seen).filter(|(_, seen)| **seen) {
            for row in set {
                used[*row as usize] = true;
            }
        }
        let mut order: Vec<usize> = (0..self.names.len()).filter(|row| used[*row]).collect();
        order.sort_by(|a, b| self.names[*a].cmp(&self.names[*b]));
        let mut place: Vec<Option<u32>> = vec![None; self.names.len()];
        for (row, before) in order.iter().enumerate() {
            place[*before] = Some(row as u32);
        }
        let sets = (self.members.iter())
            .map(|set| {
                let mut set: Vec<u32> = set.iter().filter_map(|row| place[*row as usize]).collect();
                set.sort_unstable();
                set
            })
            .collect();
        let names = order.into_iter().map(|row| self.names[row].clone()).collect();
        Tasks { names, of_node, chains, sets }
    }
}
