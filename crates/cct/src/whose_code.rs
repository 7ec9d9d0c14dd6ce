//! Whose code a function is, by its name and the file or class that holds it.
//!
//! Readers know layers that their formats tell: kernels, shared objects, pseudo-functions. What is left is taken for
//! the program's own. But compilers link standard libraries into the program, and interpreters load them from source,
//! so they are told by their names: this is the one place that knows them. Readers may ask; whatever they call the
//! program's own is looked at once more when a profile is finished.

use crate::Layer;

/// Packages of Java and of languages that run beside it.
const CLASSES: &[&str] =
    &["java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala."];

/// Crates that come with a Rust compiler, and the namespaces of the C++ library.
const NAMESPACES: &[&str] =
    &["std::", "core::", "alloc::", "hashbrown::", "__gnu_cxx::", "__cxxabiv1::"];

/// Types of Rust that no crate has to bring.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16",
    "u32", "u64", "u128", "usize",
];

/// Parts of paths below which others' sources are.
const FOLDERS: &[&str] = &[
    "/site-packages/",
    "/dist-packages/",
    "/go/src/",
    "/pkg/mod/",
    "/.cargo/registry/",
    "/rustlib/src/",
];

/// Files of Python's library, as profilers write them that leave out where it is. Names that a program may well use for
/// a file of its own are not among them.
const PYTHON: &[&str] = &[
    "asyncio/",
    "concurrent/futures/",
    "importlib/",
    "json/decoder.py",
    "json/encoder.py",
    "logging/__init__.py",
    "multiprocessing/",
    "runpy.py",
    "selectors.py",
    "socketserver.py",
    "subprocess.py",
    "threading.py",
    "unittest/",
    "urllib/",
];

/// The first elements of the import paths of Go's library; `runtime` stands apart.
const GO: &[&str] = &[
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "slices",
    "sort",
    "strconv",
    "strings",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unique",
    "vendor",
    "weak",
];

/// Ends of files in languages whose names may look like Go's.
const NOT_GO: &[&str] =
    &[".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".py", ".rb", ".php", ".lua", ".html", ".pl"];

/// Functions of C's library that programs spend their time in. Folded stacks do not say which object a function is from.
const C: &[&str] = &[
    "bcmp",
    "bsearch",
    "calloc",
    "cfree",
    "fclose",
    "fflush",
    "fgets",
    "fopen",
    "fprintf",
    "fputs",
    "fread",
    "free",
    "fscanf",
    "fwrite",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "posix_memalign",
    "printf",
    "pthread_cond_wait",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "puts",
    "qsort",
    "realloc",
    "snprintf",
    "sprintf",
    "sscanf",
    "stpcpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strcmp",
    "strcpy",
    "strdup",
    "strlen",
    "strncasecmp",
    "strncmp",
    "strncpy",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "strtod",
    "strtok",
    "strtol",
    "strtoul",
    "vfprintf",
    "vsnprintf",
    "_int_free",
    "_int_malloc",
    "_int_realloc",
    "malloc_consolidate",
    "unlink_chunk",
];

/// The layer of a function that its reader takes for the program's own, where its name, its class or its file tell
/// otherwise.
pub fn layer_by_name(name: &str, component: Option<&str>, file: Option<&str>) -> Option<Layer> {
    let places = || component.into_iter().chain(file);
    if places().any(is_library_file) || places().any(is_library_class) || is_library_class(name) {
        return Some(Layer::Library);
    }
    let is_script =
        |place: &str| place.contains("://") || NOT_GO.iter().any(|end| place.ends_with(end));
    if !places().any(is_script)
        && let Some(layer) = layer_of_go(name)
    {
        return Some(layer);
    }
    let of_c = places().next().is_none() && is_library_of_c(name);
    (of_c || is_library_namespace(name)).then_some(Layer::Library)
}

/// `strcmp`, `__strcmp_avx2` and `__libc_malloc`.
fn is_library_of_c(name: &str) -> bool {
    if C.contains(&name) {
        return true;
    }
    // The library's own names for its functions and their variants for processors.
    let Some(inner) = name.strip_prefix("__libc_").or_else(|| name.strip_prefix("__")) else {
        return false;
    };
    let function = inner.split('_').next().unwrap_or(inner);
    C.contains(&inner) || (function.len() < inner.len() && C.contains(&function))
}

/// True for classes that come with Java, Kotlin or Scala, by their names with dots.
pub fn is_library_class(class: &str) -> bool {
    CLASSES.iter().any(|package| class.starts_with(package))
}

/// True for files that come with a language, or that its package manager has fetched.
pub fn is_library_file(file: &str) -> bool {
    let python = |folder: &str| {
        let after = file.split_once(folder).map(|(_, rest)| rest.as_bytes());
        after.is_some_and(|rest| {
            rest.first().is_some_and(u8::is_ascii_digit) && rest.contains(&b'/')
        })
    };
    let is_python = file.rsplit_once('.').is_some_and(|(_, extension)| extension == "py");
    FOLDERS.iter().any(|folder| file.contains(folder))
        || file.starts_with("site-packages/")
        || file.starts_with("dist-packages/")
        || (file.starts_with("/rustc/") && file.contains("/library/"))
        || (file.contains("\\Lib\\") && is_python)
        || ((python("/lib/python") || python("/lib64/python")) && !file.contains(".so"))
        || PYTHON.iter().any(|known| {
            if known.ends_with('/') { is_python && file.starts_with(known) } else { file == *known }
        })
}

/// `encoding/json.(*decodeState).object` and `strings.Index`, but neither `main.run` nor `github.com/x/y.Run`.
fn layer_of_go(name: &str) -> Option<Layer> {
    // Go's own names have no `::`, and types in brackets come behind the package.
    let end = name.find(['(', '[', ' ', ':', '<']).unwrap_or(name.len());
    let path = name.get(..end)?;
    let package_end = path.rfind('/').map_or(0, |slash| slash + 1);
    let dot = path.get(package_end..)?.find('.')? + package_end;
    let package = path.get(..dot)?;
    let first = package.split('/').next().unwrap_or(package);
    match first {
        _ if name.contains("::") => None,
        "runtime" => Some(Layer::Runtime),
        _ => GO.contains(&first).then_some(Layer::Library),
    }
}

/// True for functions of Rust's and C++'s libraries: `core::fmt::write`, `<alloc::vec::Vec<T> as Drop>::drop`, and
/// `void std::__sort<int*>(int*, int*)`.
fn is_library_namespace(name: &str) -> bool {
    let owned = |path: &str| NAMESPACES.iter().any(|start| path.starts_with(start));
    if let Some(of_type) = name.strip_prefix('<') {
        return owned_by_type(of_type, &owned);
    }
    owned(last_word(name))
}

/// Whose a method is in `Type as Trait>::method` or `Type>::method`. The type's; where that is any type, the trait's.
fn owned_by_type(text: &str, owned: &dyn Fn(&str) -> bool) -> bool {
    let mut of_type = text.trim_start_matches(['&', '*', '[', '(', '<']);
    for qualifier in ["mut ", "const ", "dyn "] {
        of_type = of_type.strip_prefix(qualifier).unwrap_or(of_type);
    }
    let end = of_type.find([' ', '>', '<', ',', ';']).unwrap_or(of_type.len());
    let path = of_type.get(..end).unwrap_or(of_type);
    if path.contains("::") {
        return owned(path);
    }
    match text.split_once(" as ") {
        Some((_, of_trait)) => owned(of_trait),
        // Types without a path come with the language.
        None => PRIMITIVES.contains(&path),
    }
}

/// The name without the result type that C++ writes before templates.
fn last_word(name: &str) -> &str {
    let (mut start, mut depth) = (0, 0u32);
    for (at, letter) in name.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && at > start => break,
            ' ' if depth == 0 => start = at + 1,
            'o' if depth == 0
                && name.get(at..).is_some_and(|rest| rest.starts_with("operator")) =>
            {
                break;
            }
            _ => {}
        }
    }
    name.get(start..).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionId, Grain, ProfileBuilder, Times};

    #[track_caller]
    fn check(cases: &[(&str, Option<Layer>)]) {
        for (name, expected) in cases {
            assert_eq!(layer_by_name(name, Some("/home/me/app"), None), *expected, "{name}");
        }
    }

    const LIBRARY: Option<Layer> = Some(Layer::Library);

    /// Names of the corpus, as are those below: pprof, perf script and collapsed stacks.
    #[test]
    fn packages_of_go_are_a_library() {
        check(&[
            ("fmt.Fprintf", LIBRARY),
            ("encoding/json.(*decodeState).object", LIBRARY),
            ("strings.(*Builder).grow", LIBRARY),
            ("hash/crc32.update", LIBRARY),
            ("sync.(*Mutex).lockSlow", LIBRARY),
            ("net/http.(*conn).serve", LIBRARY),
            ("internal/runtime/syscall.Syscall6", LIBRARY),
            ("slices.SortFunc[go.shape.[]int,go.shape.int]", LIBRARY),
            ("runtime.mallocgc", Some(Layer::Runtime)),
            ("runtime/pprof.profileWriter", Some(Layer::Runtime)),
            ("go/build.(*Context).Import", LIBRARY),
            ("cmd/go/internal/load.LoadImport", None),
            ("main.main", None),
            ("main.(*server).time.Sleep", None),
            ("myapp/strings.Index", None),
            ("github.com/golang/snappy.Encode", None),
            ("golang.org/x/net/http2.(*Framer).ReadFrame", None),
            ("timer.run", None),
            ("fmt", None),
        ]);
        assert_eq!(layer_by_name("path.join", Some("https://example.org/app.js"), None), None);
        assert_eq!(layer_by_name("time.sleep", Some("jobs.py"), None), None);
    }

    #[test]
    fn crates_of_rust_and_namespaces_of_c_plus_plus_are_a_library() {
        check(&[
            ("core::fmt::write", LIBRARY),
            ("std::rt::lang_start::{{closure}}", LIBRARY),
            ("<alloc::vec::Vec<app::Row> as core::ops::drop::Drop>::drop", LIBRARY),
            ("<alloc::string::String as core::fmt::Write>::write_str", LIBRARY),
            ("<&mut core::iter::Map<I, F> as core::iter::Iterator>::next", LIBRARY),
            ("<T as core::convert::Into<U>>::into", LIBRARY),
            ("<[T] as core::fmt::Debug>::fmt", LIBRARY),
            ("hashbrown::raw::RawTable<T>::reserve_rehash", LIBRARY),
            ("<usize>::unchecked_add::precondition_check", LIBRARY),
            ("<F as alloc::boxed::FnBox<A>>::call_box", LIBRARY),
            ("<&'a mut T as core::ops::Deref>::deref", LIBRARY),
            ("<rg::search::SearchWorker<W>>::search_impl", None),
            ("<encoding_rs_io::DecodeReaderBytes<R, B> as std::io::Read>::read", None),
            ("<Row>::len", None),
            ("<app::Row as core::fmt::Debug>::fmt", None),
            ("<F as app::Handler>::call", None),
            ("app::core::run", None),
            ("std::vector<int, std::allocator<int> >::push_back(int const&)", LIBRARY),
            ("void std::__introsort_loop<int*, long>(int*, int*, long)", LIBRARY),
            ("__gnu_cxx::new_allocator<char>::allocate", LIBRARY),
            ("std::vector<int> app::rows<int>(int)", None),
            ("bool app::less(std::string const&, std::string const&)", None),
            ("app::Row::operator std::string() const", None),
            ("(anonymous namespace)::run(std::string)", None),
            ("stdlib_sort", None),
        ]);
    }

    #[test]
    fn functions_of_c_are_a_library_where_no_object_is_known() {
        let names = ["strcmp", "__strcmp_avx2", "__memmove_avx_unaligned_erms", "__libc_malloc"];
        for name in names {
            assert_eq!(layer_by_name(name, None, None), Some(Layer::Library), "{name}");
            assert_eq!(layer_by_name(name, Some("game.js"), None), None, "{name}");
        }
        for name in ["compare", "__parse", "free_list"] {
            assert_eq!(layer_by_name(name, None, None), None, "{name}");
        }
    }

    #[test]
    fn classes_of_the_jdk_are_a_library() {
        check(&[
            ("java.util.HashMap.get", LIBRARY),
            ("jdk.internal.misc.Unsafe.park", LIBRARY),
            ("kotlin.collections.ArrayDeque.add", LIBRARY),
            ("scala.collection.immutable.List.foreach", LIBRARY),
            ("javassist.Loader.run", None),
            ("com.sunrise.Main.run", None),
        ]);
        assert_eq!(layer_by_name("get", Some("java.util.HashMap"), None), LIBRARY);
    }

    #[test]
    fn sources_of_libraries_are_told_by_their_folders() {
        for (file, expected) in [
            ("/usr/lib/python3.11/json/decoder.py", true),
            ("/home/me/.pyenv/versions/3.12.1/lib/python3.12/threading.py", true),
            ("/srv/venv/lib/python3.9/site-packages/flask/app.py", true),
            ("site-packages/flask/app.py", true),
            ("C:\\Python311\\Lib\\json\\decoder.py", true),
            ("asyncio/base_events.py", true),
            ("threading.py", true),
            ("/usr/local/go/src/net/http/server.go", true),
            ("/home/me/go/pkg/mod/github.com/golang/snappy@v0.0.4/encode.go", true),
            ("/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/fmt/mod.rs", true),
            ("/home/me/.cargo/registry/src/index.crates.io-1/serde-1.0.2/src/lib.rs", true),
            ("/home/me/app/server.py", false),
            ("/home/me/lib/python/server.py", false),
            ("/home/me/asyncio/run.py", false),
            ("queue.py", false),
            ("/home/me/go/server.go", false),
            ("/usr/lib/python3", false),
        ] {
            assert_eq!(is_library_file(file), expected, "{file}");
        }
    }

    #[test]
    fn a_finished_profile_knows_libraries_and_finds_them_again() {
        let mut builder = ProfileBuilder::new(Grain::Functions, Times::Drop);
        let rows = [("app::main", Layer::Application), ("core::fmt::write", Layer::Application)];
        for (name, layer) in rows.into_iter().chain([("core::fmt::write", Layer::Library)]) {
            let frame = builder.named_frame(name, layer);
            builder.root(frame);
        }
        let mut symbols = builder.finish().symbols;
        let layers: Vec<Layer> = symbols.functions().map(|(_, function)| function.layer).collect();
        assert_eq!(layers, [Layer::Application, Layer::Library, Layer::Library]);
        for (id, function) in [(0, 0), (1, 1), (1, 2)] {
            let function = *symbols.function(FunctionId::new(function));
            assert_eq!(symbols.intern_function(function), FunctionId::new(id));
        }
    }
}
