//! Which characters a name holds, found in one pass: most names hold none of those that something changing would need,
//! and profiles have hundreds of thousands of names.

use super::NameKind;

/// A set of telling characters.
#[derive(Clone, Copy)]
pub(super) struct Marks(u8);

const DOLLAR: u8 = 1;
const DIGIT: u8 = 2;
const AT: u8 = 4;
const DOT: u8 = 8;
const COLON: u8 = 16;
const SLASH: u8 = 32;
const BRACKET: u8 = 64;
const ANGLE: u8 = 128;

const MARK_OF: [u8; 256] = {
    let mut marks = [0; 256];
    marks[b'$' as usize] = DOLLAR;
    marks[b'@' as usize] = AT;
    marks[b'.' as usize] = DOT;
    marks[b':' as usize] = COLON;
    marks[b'/' as usize] = SLASH;
    marks[b'[' as usize] = BRACKET;
    marks[b'<' as usize] = ANGLE;
    let mut digit = b'0';
    while digit <= b'9' {
        marks[digit as usize] = DIGIT;
        digit += 1;
    }
    marks
};

impl Marks {
    pub(super) fn of(name: &str) -> Self {
        Self(name.bytes().fold(0, |marks, byte| marks | MARK_OF[usize::from(byte)]))
    }

    /// False when a name with these marks alone has nothing of this kind in it.
    pub(super) fn allow(self, kind: NameKind) -> bool {
        let has = |mark: u8| self.0 & mark != 0;
        match kind {
            NameKind::Lambdas => has(DOLLAR),
            NameKind::GeneratedClasses => has(DIGIT),
            NameKind::SymbolVersions => has(AT),
            NameKind::CompilerSuffixes => has(DOT),
            NameKind::SymbolHashes => has(COLON) || has(BRACKET),
            NameKind::Urls => has(DOT) || (has(COLON) && has(SLASH)),
            // Go writes them in square brackets.
            NameKind::TemplateArguments => has(ANGLE) || has(BRACKET),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NameKinds, java, native, templates, url};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_marks_exclude_changes_nothing(
            name in r"(\$\$Lambda|\[go.shape|LambdaForm\$|Accessor|[$@.:/\[\]<>?#+ (){}]|0x|::h|blob:|https|cold|llvm|[a-f0-9]{1,17}|[A-Z]|_closure|Script){0,9}",
        ) {
            for kind in NameKind::ALL {
                let changed = match kind {
                    NameKind::Lambdas => java::without_lambda_numbers(&name),
                    NameKind::GeneratedClasses => java::without_class_numbers(&name),
                    NameKind::SymbolHashes => native::without_hashes(&name),
                    NameKind::CompilerSuffixes => native::without_suffixes(&name),
                    NameKind::SymbolVersions => native::without_version(&name),
                    NameKind::Urls => url::without_hashes(&name),
                    NameKind::TemplateArguments => templates::folded(&name),
                };
                let allowed = Marks::of(&name).allow(kind);
                prop_assert!(allowed || changed == name, "{kind:?} of {name}");
                let alone = super::super::normalise_name(&name, NameKinds::none().with(kind));
                prop_assert_eq!(alone, changed);
            }
        }
    }
}
