//! Classes that a JVM or a framework makes at run time, and numbers in the order of making.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A pattern that is known to be right.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Lambda classes as JDK 8 (`$$Lambda$14/1234`), 11 (`$$Lambda$14/0x…`), 17 (`$$Lambda$14+0x…/1234`), 21 and later
/// (`$$Lambda/0x…`) and async-profiler (`$$Lambda.0x…`) print them, and the forms of method handles likewise. The
/// methods `lambda$main$0` are numbered by the compiler and stay.
static LAMBDA: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?x)
        ( \$\$Lambda | \bLambdaForm\$[A-Za-z]+ )
        (?: \$ [0-9]+ )?
        (?: [/+.] 0x [0-9a-fA-F]+ )?
        (?: / [0-9]+ )?
        ",
    )
});

pub(super) fn without_lambda_numbers(name: &str) -> Cow<'_, str> {
    match &*LAMBDA {
        Some(pattern) if name.contains("Lambda") => pattern.replace_all(name, "$1"),
        _ => Cow::Borrowed(name),
    }
}

/// What is kept of each generated class; what follows it is a number or a hash.
static CLASS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?x)
        # Reflection before JDK 18.
        (?<accessor> \bGenerated (?:Method|Constructor|SerializationConstructor) Accessor ) [0-9]+
        # Dynamic proxies; since JDK 9 their packages are numbered too.
        | (?<package> \bjdk[./]proxy ) [0-9]+ (?<member> [./]\$Proxy ) [0-9]+
        | (?<proxy> \$Proxy ) [0-9]+
        # CGLIB, of Spring, Guice and by itself.
        | (?<cglib> \$\$ (?: (?:Enhancer|FastClass|KeyFactory|BulkBean|MethodWrapper) By [A-Za-z]+ | SpringCGLIB ) )
          \$\$ [0-9a-fA-F]+
        # Byte Buddy, and Mockito and Hibernate on it: eight random characters, or a number.
        | (?<buddy> \$ (?: ByteBuddy | HibernateProxy | HibernateInstantiator | HibernateAccessOptimizer
                         | HibernateBasicProxy ) ) \$ [0-9A-Za-z]{8} \b
        | (?<mock> \$MockitoMock ) \$ [0-9]+
        # Javassist.
        | (?<javassist> _\$\$_ (?: jvst | javassist ) ) [0-9a-f]* (?: _ [0-9a-f]+ )*
        # Groovy closures and scripts.
        | (?<groovy> \$_ (?: [A-Za-z0-9]+ _ )? closure ) [0-9]+
        | (?<nested> _closure ) [0-9]+
        | (?<script> \bScript ) [0-9]{6,}
        # Clojure's functions.
        | (?<clojure> \$ (?: (?: fn | reify | iter ) __ | eval ) ) [0-9]{2,}
        # Any other hidden class.
        | (?<hidden> [A-Za-z0-9_$] ) [/+] 0x [0-9a-fA-F]{6,} (?: / [0-9]+ )?
        ",
    )
});

/// What each of these has that has no dollar sign. Names of other languages mostly have none, and are searched for all
/// at once.
static WORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"Accessor|_closure|Script|/0x|\+0x"));

pub(super) fn without_class_numbers(name: &str) -> Cow<'_, str> {
    let worth = name.contains('$') || WORD.as_ref().is_some_and(|word| word.is_match(name));
    match &*CLASS {
        Some(pattern) if worth => pattern.replace_all(name, |found: &Captures<'_>| {
            if found.name("hidden").is_some_and(|kept| is_lambda(&name[..kept.end()])) {
                return found[0].to_owned();
            }
            // All groups that took part are kept; what stands between and after them is not.
            let groups = found.iter().skip(1).flatten();
            groups.map(|group| group.as_str()).collect()
        }),
        _ => Cow::Borrowed(name),
    }
}

/// True for a text that ends in the class of a lambda, which is another kind's business.
fn is_lambda(before: &str) -> bool {
    let class = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '$');
    class.ends_with("$$Lambda")
        || class.rsplit_once("LambdaForm$").is_some_and(|(_, form)| !form.contains(['.', '/']))
}
