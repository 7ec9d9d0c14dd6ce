//! Names that change from run to run or build to build, made equal again.
//!
//! Runtimes number the classes they generate, linkers add hashes, compilers append what they did to a copy, bundlers put
//! content hashes into file names. None of that says which function it is, and each keeps two profiles from matching.
//! Readers leave names as they are; whoever compares asks for this step, and for which kinds of it.

mod java;
mod marks;
mod native;
mod templates;
mod url;

use std::borrow::Cow;

use self::marks::Marks;
use crate::relabel::map_labels;
use crate::{Frame, FrameId, Function, FunctionId, Profile, StringId, Symbols};

/// What can be made equal, each on its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameKind {
    /// Classes of Java lambdas and method handles: `Deep$$Lambda$14/0x0000000800c03000` is `Deep$$Lambda`.
    Lambdas,
    /// Other classes generated at run time: accessors, proxies, enhancers, mocks, closures.
    GeneratedClasses,
    /// Hashes in symbols: Rust's `::h0123456789abcdef`.
    SymbolHashes,
    /// What compilers append to copies of a function: `.llvm.123`, `.constprop.0`, `.cold`.
    CompilerSuffixes,
    /// Versions of symbols in shared objects: `@@GLIBC_2.2.5`.
    SymbolVersions,
    /// Content hashes, cache busters and random parts of urls.
    Urls,
    /// Arguments of templates and generics: `std::vector<int>` is `std::vector<…>`. Only on demand, as it makes
    /// functions equal that are not the same code.
    TemplateArguments,
}

impl NameKind {
    /// Every kind, in the order they are applied.
    pub const ALL: [Self; 7] = [
        Self::Lambdas,
        Self::GeneratedClasses,
        Self::SymbolVersions,
        Self::CompilerSuffixes,
        Self::SymbolHashes,
        Self::Urls,
        Self::TemplateArguments,
    ];

    /// The word users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lambdas => "lambdas",
            Self::GeneratedClasses => "generated-classes",
            Self::SymbolHashes => "symbol-hashes",
            Self::CompilerSuffixes => "compiler-suffixes",
            Self::SymbolVersions => "symbol-versions",
            Self::Urls => "urls",
            Self::TemplateArguments => "template-arguments",
        }
    }

    /// The inverse of [`NameKind::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A set of kinds; all but template arguments unless told otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameKinds(u8);

impl Default for NameKinds {
    fn default() -> Self {
        Self::all().without(NameKind::TemplateArguments)
    }
}

impl NameKinds {
    /// Names stay as they are.
    pub const fn none() -> Self {
        Self(0)
    }

    /// Every kind.
    pub fn all() -> Self {
        NameKind::ALL.into_iter().fold(Self::none(), Self::with)
    }

    /// These and `kind`.
    pub fn with(self, kind: NameKind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// These but `kind`.
    pub fn without(self, kind: NameKind) -> Self {
        Self(self.0 & !(1 << kind as u8))
    }

    /// True when `kind` is one of them.
    pub fn contains(self, kind: NameKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }
}

/// The name of a function, a class, a file or a url without what changes from run to run.
pub fn normalise_name(name: &str, kinds: NameKinds) -> Cow<'_, str> {
    // What is left of a name holds no mark that the whole did not.
    let marks = Marks::of(name);
    let mut name = Cow::Borrowed(name);
    let worth = |kind: &NameKind| kinds.contains(*kind) && marks.allow(*kind);
    for kind in NameKind::ALL.into_iter().filter(worth) {
        let changed = match kind {
            NameKind::Lambdas => java::without_lambda_numbers(&name),
            NameKind::GeneratedClasses => java::without_class_numbers(&name),
            NameKind::SymbolHashes => native::without_hashes(&name),
            NameKind::CompilerSuffixes => native::without_suffixes(&name),
            NameKind::SymbolVersions => native::without_version(&name),
            NameKind::Urls => url::without_hashes(&name),
            NameKind::TemplateArguments => templates::folded(&name),
        };
        if let Cow::Owned(changed) = changed {
            name = Cow::Owned(changed);
        }
    }
    name
}

/// The same profile with normalised names; functions that become equal are merged.
pub fn normalise(profile: Profile, kinds: NameKinds) -> Profile {
    if kinds == NameKinds::none() {
        return profile;
    }
    rename(profile, |text| normalise_name(text, kinds))
}

/// The same profile with every name, component and file changed; functions that become equal are merged.
pub fn rename(profile: Profile, change: impl Fn(&str) -> Cow<'_, str>) -> Profile {
    let mut renamed = Renamed::default();
    map_labels(profile, |symbols, label| renamed.frame(symbols, label, &change))
}

/// Strings that have been changed already.
#[derive(Debug, Default)]
pub(crate) struct Renamed {
    known: Vec<Option<StringId>>,
}

impl Renamed {
    /// The frame with every text of it and of its function changed.
    pub(crate) fn frame(
        &mut self,
        symbols: &mut Symbols,
        frame: FrameId,
        change: &impl Fn(&str) -> Cow<'_, str>,
    ) -> FrameId {
        let known = *symbols.frame(frame);
        let function = self.function(symbols, known.function, change);
        let file = known.file.map(|id| self.text(symbols, id, change));
        if function == known.function && file == known.file {
            return frame;
        }
        symbols.intern_frame(Frame { function, file, ..known })
    }

    /// The function with every text of it changed.
    pub(crate) fn function(
        &mut self,
        symbols: &mut Symbols,
        id: FunctionId,
        change: &impl Fn(&str) -> Cow<'_, str>,
    ) -> FunctionId {
        let known = *symbols.function(id);
        let function = Function {
            name: self.text(symbols, known.name, change),
            component: known.component.map(|id| self.text(symbols, id, change)),
            signature: known.signature.map(|id| self.text(symbols, id, change)),
            file: known.file.map(|id| self.text(symbols, id, change)),
            ..known
        };
        if function == known {
            return id;
        }
        if let (Some(was), Some(is)) = (known.component, function.component) {
            symbols.set_build(is, symbols.build(was));
            if let Some(shapes) = symbols.shapes(was).cloned() {
                symbols.set_shapes(is, shapes);
            }
        }
        symbols.intern_function(function)
    }

    fn text(
        &mut self,
        symbols: &mut Symbols,
        id: StringId,
        change: &impl Fn(&str) -> Cow<'_, str>,
    ) -> StringId {
        if let Some(Some(known)) = self.known.get(id.index()) {
            return *known;
        }
        let text = match change(symbols.text(id)) {
            Cow::Borrowed(same) if same == symbols.text(id) => id,
            changed => {
                let changed = changed.into_owned();
                symbols.string(&changed)
            }
        };
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, None);
        }
        self.known[id.index()] = Some(text);
        text
    }
}
