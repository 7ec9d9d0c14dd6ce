//! Which language a file is written in, and what its path says about its functions' names.

use crate::Language;

const EXTENSIONS: &[(&str, Language)] = &[
    ("java", Language::Java),
    ("js", Language::JavaScript),
    ("mjs", Language::JavaScript),
    ("cjs", Language::JavaScript),
    ("jsx", Language::JavaScript),
    ("ts", Language::TypeScript),
    ("mts", Language::TypeScript),
    ("cts", Language::TypeScript),
    ("tsx", Language::TypeScript),
    ("rs", Language::Rust),
    ("c", Language::C),
    ("h", Language::C),
    ("cc", Language::Cpp),
    ("cpp", Language::Cpp),
    ("cxx", Language::Cpp),
    ("c++", Language::Cpp),
    ("hh", Language::Cpp),
    ("hpp", Language::Cpp),
    ("hxx", Language::Cpp),
    ("h++", Language::Cpp),
    ("inl", Language::Cpp),
    ("ipp", Language::Cpp),
    ("tcc", Language::Cpp),
    ("cu", Language::Cpp),
    ("cuh", Language::Cpp),
    ("py", Language::Python),
    ("pyw", Language::Python),
    ("go", Language::Go),
];

impl Language {
    /// What a file of this name is written in.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next()?;
        let (_, extension) = name.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
    }

    /// The same; a header whose text has classes, templates or namespaces is C++.
    pub fn of_file(path: &str, text: &[u8]) -> Option<Self> {
        let language = Self::of_path(path)?;
        let header = language == Self::C && path.to_ascii_lowercase().ends_with(".h");
        Some(if header && looks_like_cpp(text) { Self::Cpp } else { language })
    }

    /// Its name as people write it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Java => "Java",
            Self::JavaScript => "JavaScript",
            Self::TypeScript => "TypeScript",
            Self::Rust => "Rust",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Python => "Python",
            Self::Go => "Go",
        }
    }
}

fn looks_like_cpp(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii_start();
        [&b"class "[..], b"namespace ", b"template", b"public:", b"private:", b"using "]
            .iter()
            .any(|word| line.starts_with(word))
    })
}

/// `src/reader/json.rs` is `reader::json`; what the crate is called stands in another file.
#[cfg(feature = "syntax-trees")]
pub(super) fn rust_module(path: &str) -> String {
    let path = path.replace('\\', "/");
    let inside = match path.rfind("/src/") {
        Some(at) => &path[at + 5..],
        None => path.strip_prefix("src/").unwrap_or(path.rsplit('/').next().unwrap_or("")),
    };
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    // Programs beside the library are crates of their own.
    let inside = inside
        .strip_prefix("bin/")
        .map_or(inside, |program| program.split_once('/').map_or("main", |(_, module)| module));
    match inside {
        "lib" | "main" | "mod" => String::new(),
        _ => inside.replace('/', "::"),
    }
}
