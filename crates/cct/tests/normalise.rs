//! Real names, and what is left of them.

use expect_test::expect;
use perfblame_cct::{
    Frame, FrameId, Function, Grain, NameKind, NameKinds, Symbols, dump, map_labels, normalise,
    normalise_name, relabel,
};
use perfblame_fixtures::{any_samples, draw, profile, profile_of};
use proptest::prelude::*;

/// Names that one kind changes, and what it makes of them; names that it must leave alone have no second column.
fn check(kind: NameKind, table: &[(&str, &str)]) {
    for (name, expected) in table {
        let expected = if expected.is_empty() { name } else { expected };
        let only = NameKinds::none().with(kind);
        assert_eq!(normalise_name(name, only), *expected, "{kind:?} of {name}");
        assert_eq!(normalise_name(name, NameKinds::none()), *name);
        // Once is enough.
        assert_eq!(normalise_name(expected, only), *expected, "{kind:?} of {expected}");
    }
}

#[test]
fn lambdas() {
    check(
        NameKind::Lambdas,
        &[
            ("Deep$$Lambda$87+0x00007f4118008a08/182259421", "Deep$$Lambda"),
            ("Deep$$Lambda$87+0x00007f4118008a08/182259421.run", "Deep$$Lambda.run"),
            ("Deep$$Lambda/0x000000000c142a10", "Deep$$Lambda"),
            ("Deep$$Lambda/0x000000000c142a10.run", "Deep$$Lambda.run"),
            ("Deep$$Lambda$14/0x0000000800c03000.apply", "Deep$$Lambda.apply"),
            ("com/acme/Deep$$Lambda$14/1831932724.run", "com/acme/Deep$$Lambda.run"),
            ("Deep$$Lambda.0x00007f3c8c000a00.run", "Deep$$Lambda.run"),
            ("Deep$$Lambda$14.0x0000000800066840.run", "Deep$$Lambda.run"),
            (
                "java.lang.invoke.LambdaForm$MH.0x00000008010c9000.invoke",
                "java.lang.invoke.LambdaForm$MH.invoke",
            ),
            (
                "java.lang.invoke.LambdaForm$DMH/0x0000000800c00c00.invokeStatic",
                "java.lang.invoke.LambdaForm$DMH.invokeStatic",
            ),
            (
                "java.lang.invoke.LambdaForm$MH/1702146597.linkToTargetMethod",
                "java.lang.invoke.LambdaForm$MH.linkToTargetMethod",
            ),
            ("Deep.lambda$main$0", ""),
            ("Deep$Inner.run", ""),
            ("AWS::Lambda::Handler", ""),
        ],
    );
}

#[test]
fn generated_classes() {
    check(
        NameKind::GeneratedClasses,
        &[
            (
                "jdk.internal.reflect.GeneratedMethodAccessor123.invoke",
                "jdk.internal.reflect.GeneratedMethodAccessor.invoke",
            ),
            (
                "sun/reflect/GeneratedConstructorAccessor7.newInstance",
                "sun/reflect/GeneratedConstructorAccessor.newInstance",
            ),
            (
                "sun.reflect.GeneratedSerializationConstructorAccessor12",
                "sun.reflect.GeneratedSerializationConstructorAccessor",
            ),
            ("com.sun.proxy.$Proxy42.find", "com.sun.proxy.$Proxy.find"),
            ("jdk.proxy2.$Proxy15.hashCode", "jdk.proxy.$Proxy.hashCode"),
            (
                "com.acme.Repo$$EnhancerBySpringCGLIB$$1a2b3c.save",
                "com.acme.Repo$$EnhancerBySpringCGLIB.save",
            ),
            (
                "com.acme.Repo$$FastClassBySpringCGLIB$$9e8d7c6b.invoke",
                "com.acme.Repo$$FastClassBySpringCGLIB.invoke",
            ),
            ("com.acme.Repo$$SpringCGLIB$$0.save", "com.acme.Repo$$SpringCGLIB.save"),
            (
                "com.acme.Svc$$EnhancerByGuice$$185934261.CGLIB$run$0",
                "com.acme.Svc$$EnhancerByGuice.CGLIB$run$0",
            ),
            ("com.acme.User$ByteBuddy$qZ8xVb2T.name", "com.acme.User$ByteBuddy.name"),
            ("com.acme.User$MockitoMock$1374677625.name", "com.acme.User$MockitoMock.name"),
            (
                "com.acme.User$HibernateProxy$HfT0aLxe.getName",
                "com.acme.User$HibernateProxy.getName",
            ),
            ("com.acme.User_$$_jvst5e3_0.getName", "com.acme.User_$$_jvst.getName"),
            ("com.acme.User_$$_javassist_12.getName", "com.acme.User_$$_javassist.getName"),
            ("Build$_run_closure12.doCall", "Build$_run_closure.doCall"),
            ("Build$_run_closure1_closure2.doCall", "Build$_run_closure_closure.doCall"),
            ("Build$_closure3$_closure4.doCall", "Build$_closure$_closure.doCall"),
            ("Script1700000000000.run", "Script.run"),
            ("user$eval1234$fn__1235.invoke", "user$eval$fn__.invoke"),
            ("com.acme.Hidden/0x0000000800c03000.run", "com.acme.Hidden.run"),
            ("com.acme.Hidden+0x00007f4118008a08/182259421.run", "com.acme.Hidden.run"),
            ("jdk.internal.reflect.DirectMethodHandleAccessor.invoke", ""),
            ("net/bytebuddy/AgentBuilder$Transformer$ByteBuddy$ModuleSupport1.transform", ""),
            ("Deep$$Lambda$87+0x00007f4118008a08/182259421.run", ""),
            ("java.lang.invoke.LambdaForm$MH/0x0000000800c00c00.invoke", ""),
            ("com.acme.Outer$1.run", ""),
            ("com.acme.Script2.run", ""),
            ("Deep.lambda$main$0", ""),
            ("scala.collection.immutable.List.$anonfun$map$1", ""),
            ("do_syscall_64+0x1b", ""),
        ],
    );
}

#[test]
fn symbol_hashes() {
    check(
        NameKind::SymbolHashes,
        &[
            ("core::ptr::drop_in_place::h0123456789abcdef", "core::ptr::drop_in_place"),
            (
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop::hdeadbeefdeadbeef",
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            ),
            ("core[f3a1b2c3d4e5f607]::fmt::write", "core::fmt::write"),
            ("app::hash", ""),
            ("app::h0123", ""),
            ("core::slice::<impl [T]>::iter", ""),
            ("a[0]", ""),
        ],
    );
}

#[test]
fn compiler_suffixes() {
    check(
        NameKind::CompilerSuffixes,
        &[
            ("parse.llvm.9473861244526109781", "parse"),
            ("parse.constprop.0", "parse"),
            ("parse.isra.0", "parse"),
            ("parse.part.0.isra.0.cold", "parse"),
            ("parse.cold.12", "parse"),
            ("parse.lto_priv.0", "parse"),
            ("parse.__uniq.312345.llvm.99", "parse"),
            ("Foo::bar(int) [clone .cold]", "Foo::bar(int)"),
            ("Foo::bar(int) [clone .isra.0] [clone .part.1]", "Foo::bar(int)"),
            ("Foo::bar(int) (.llvm.123456)", "Foo::bar(int)"),
            ("Foo::bar(int) (.cold.1)", "Foo::bar(int)"),
            ("main.main.func1", ""),
            ("os.(*File).Read", ""),
            ("parse.cold", "parse"),
            ("parse.localalias", "parse"),
            ("java.lang.Object.clone", ""),
            ("java.lang.String.split", ""),
            ("com.acme.Weather.cold", ""),
            ("com.acme.Parser.part", ""),
            ("Foo::bar(std::function<void (int)>)", ""),
            ("core::slice::<impl [T]>", ""),
            ("memcpy.avx2", ""),
            (".cold", ""),
            ("app.1.js", ""),
        ],
    );
}

#[test]
fn symbol_versions() {
    check(
        NameKind::SymbolVersions,
        &[
            ("malloc@@GLIBC_2.2.5", "malloc"),
            ("pthread_create@GLIBC_2.34", "pthread_create"),
            ("SSL_read@@OPENSSL_3.0.0", "SSL_read"),
            ("malloc@plt", ""),
            ("@@iterator", ""),
            ("user@Example", ""),
        ],
    );
}

#[test]
fn urls() {
    check(
        NameKind::Urls,
        &[
            ("https://example.com/static/main.3f2a9c.js", "https://example.com/static/main.js"),
            (
                "https://example.com/static/vendors~main.8a7b6c5d4e3f.chunk.js",
                "https://example.com/static/vendors~main.chunk.js",
            ),
            ("https://example.com/assets/index-BdXk3f9A.js", "https://example.com/assets/index.js"),
            ("https://example.com/assets/app-3f2a9c1b.css", "https://example.com/assets/app.css"),
            ("https://example.com/app.js?v=20240101", "https://example.com/app.js"),
            (
                "https://example.com/app.js?lang=de&_=1699999999999",
                "https://example.com/app.js?lang=de",
            ),
            ("https://example.com/app.js?lang=de&page=2", ""),
            ("https://example.com/3f2a9c1b5d6e7f8091a2b3c4/app.js", "https://example.com/#/app.js"),
            (
                "blob:https://example.com/9115d58c-bcda-ff47-86e5-083e9a215304",
                "blob:https://example.com/#",
            ),
            // Ports that the system hands out differ from run to run; those that people choose do not.
            ("http://127.0.0.1:43211/lib/a.js", "http://127.0.0.1/lib/a.js"),
            ("http://localhost:51000/main.3f2a9c.js", "http://localhost/main.js"),
            ("http://[::1]:60999/", "http://[::1]/"),
            (
                "blob:http://127.0.0.1:43211/9115d58c-bcda-ff47-86e5-083e9a215304",
                "blob:http://127.0.0.1/#",
            ),
            ("http://localhost:3000/a.js", ""),
            ("http://example.com:43211/a.js", ""),
            ("static/js/2.8f1e5d3c.chunk.js", "static/js/2.chunk.js"),
            ("https://example.com/3f2a9c1b.js", "https://example.com/#.js"),
            ("https://cdn.example.com/jquery-3.6.0.min.js", ""),
            ("https://cdn.example.com/three@0.150.0/build/three.module.js", ""),
            ("https://example.com/decade.js", ""),
            ("https://example.com/DateTimePicker2.js", ""),
            ("node:internal/modules/cjs/loader", ""),
            ("java.util.HashMap", ""),
            ("/usr/lib/libc.so.6", ""),
        ],
    );
}

#[test]
fn template_arguments() {
    check(
        NameKind::TemplateArguments,
        &[
            (
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
                "std::vector<…>::push_back(int const&)",
            ),
            (
                "std::map<int, std::vector<int>>::operator[](int const&)",
                "std::map<…>::operator[](int const&)",
            ),
            (
                "bool operator< <int>(pair<int> const&, pair<int> const&)",
                "bool operator< <…>(pair<…> const&, pair<…> const&)",
            ),
            (
                "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)",
                "std::ostream& std::operator<< <…>(std::ostream&, char)",
            ),
            ("Ptr<Node>::operator->() const", "Ptr<…>::operator->() const"),
            ("Big::operator<(Big const&) const", ""),
            ("Big::operator<=>(Big const&) const", ""),
            ("Big::operator>>(int)", ""),
            ("myoperator<int>()", "myoperator<…>()"),
            (
                "<alloc::vec::Vec<T> as core::iter::traits::collect::FromIterator<T>>::from_iter",
                "<alloc::vec::Vec<…> as core::iter::traits::collect::FromIterator<…>>::from_iter",
            ),
            ("<T as app::Trait>::f", ""),
            ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec<…>::push"),
            ("alloc::vec::Vec::<u8>::push", "alloc::vec::Vec::<…>::push"),
            ("core::ptr::const_ptr::<impl *const T>::add", ""),
            (
                "core::ops::function::FnOnce<fn(i32) -> i32>::call_once",
                "core::ops::function::FnOnce<…>::call_once",
            ),
            ("slices.SortFunc[go.shape.[]uint8,go.shape.int]", "slices.SortFunc[…]"),
            ("main::<lambda(int)>::operator()(int) const", ""),
            ("java.util.HashMap.<init>", ""),
            ("<lambda>", ""),
            ("<module>", ""),
            ("Foo+<Bar>d__5.MoveNext", ""),
            ("a < b", ""),
            ("broken<int", ""),
        ],
    );
}

#[test]
fn functions_that_become_equal_are_merged() {
    let before = profile(
        "main           main           main
         A$$Lambda/0x1a A$$Lambda/0x2b A$$Lambda/0x2b
         f.cold         f              vector<int>",
    );
    expect![[r"
        main 3 0
          A$$Lambda 3 0
            f 2 2
            vector<int> 1 1
    "]]
    .assert_eq(&draw(&normalise(before.clone(), NameKinds::default())));
    assert_eq!(draw(&normalise(before.clone(), NameKinds::none())), draw(&before));
}

#[test]
fn kinds_have_names() {
    for kind in NameKind::ALL {
        assert_eq!(NameKind::from_name(kind.name()), Some(kind));
    }
}

#[test]
fn long_names_are_no_trap() {
    for piece in [
        "<",
        "a<",
        "[",
        ".cold",
        " [clone .cold]",
        "::h",
        "$",
        "operator<",
        "/",
        "?",
        "0x",
        "@",
        "$$Lambda",
    ] {
        let name = format!("f{}", piece.repeat(50_000));
        assert!(normalise_name(&name, NameKinds::all()).len() <= name.len() + 3);
    }
}

proptest! {
    #[test]
    fn no_name_panics_and_once_is_enough(name in r"([a-zA-Z<>:\[\]().@$/?&=#ä -]|[0-9]|operator|\.cold|\$\$Lambda|0x|-> ){0,24}") {
        for kind in NameKind::ALL {
            let only = NameKinds::none().with(kind);
            let once = normalise_name(&name, only).into_owned();
            prop_assert_eq!(&*normalise_name(&once, only), &*once, "{:?}", kind);
        }
    }
}

proptest! {
    /// Labels that stay apart keep the tree's shape, others merge siblings: both ways give what relabelling node by
    /// node gives.
    #[test]
    fn labels_are_mapped_as_nodes_are(samples in any_samples(), letters in 1u8..26) {
        let profile = profile_of(&samples, Grain::Functions);
        let map = |symbols: &mut Symbols, label: FrameId| {
            let frame = *symbols.frame(label);
            let first = symbols.name(frame.function).bytes().next().unwrap_or(b'a');
            let name = symbols.string(&char::from(b'a' + (first - b'a' + 1) % letters).to_string());
            let function = symbols.intern_function(Function::named(name));
            symbols.intern_frame(Frame { function, ..frame })
        };
        let by_node = relabel(&profile, Grain::Functions, |symbols, node| map(symbols, profile.tree.frame(node)));
        let by_label = map_labels(profile, map);
        prop_assert_eq!(dump(&by_label), dump(&by_node));
    }
}
