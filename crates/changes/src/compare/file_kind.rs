//! What a file is for, by its name.

use crate::{FileKind, Language};

const DEPENDENCY: &[&str] = &[
    "bower.json",
    "build.sbt",
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "composer.json",
    "composer.lock",
    "conan.lock",
    "conanfile.py",
    "conanfile.txt",
    "deno.lock",
    "deps.edn",
    "environment.yml",
    "flake.lock",
    "gemfile",
    "gemfile.lock",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "gradle.lockfile",
    "ivy.xml",
    "libs.versions.toml",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "package.swift",
    "pdm.lock",
    "pipfile",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pom.xml",
    "project.clj",
    "pylock.toml",
    "uv.lock",
    "vcpkg.json",
    "verification-metadata.xml",
    "yarn.lock",
];

const BUILD: &[&str] = &[
    ".babelrc",
    ".bazelrc",
    ".browserslistrc",
    ".java-version",
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".sdkmanrc",
    ".swcrc",
    ".tool-versions",
    "build",
    "build.bazel",
    "build.gradle",
    "build.gradle.kts",
    "build.rs",
    "build.xml",
    "cargo.toml",
    "cmakelists.txt",
    "cmakepresets.json",
    "configure",
    "configure.ac",
    "containerfile",
    "dockerfile",
    "flake.nix",
    "gnumakefile",
    "gradle-wrapper.properties",
    "gradle.properties",
    "gradlew",
    "justfile",
    "makefile",
    "makefile.am",
    "makefile.in",
    "maven-wrapper.properties",
    "meson.build",
    "meson_options.txt",
    "module.bazel",
    "mvnw",
    "pyproject.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "sconstruct",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "setup.py",
    "taskfile.yml",
    "tox.ini",
    "webpack.config.js",
    "workspace",
];

/// Ends of names, the rest being chosen freely.
const BUILD_ENDS: &[&str] = &[
    ".bazel",
    ".bzl",
    ".cmake",
    ".csproj",
    ".dockerfile",
    ".gradle",
    ".gradle.kts",
    ".mk",
    ".ninja",
    ".nix",
    ".vcxproj",
];

const CONFIG_ENDS: &[&str] = &[
    ".cfg",
    ".cnf",
    ".conf",
    ".config",
    ".editorconfig",
    ".env",
    ".hocon",
    ".ini",
    ".json",
    ".json5",
    ".plist",
    ".properties",
    ".rules",
    ".sql",
    ".tf",
    ".toml",
    ".xml",
    ".yaml",
    ".yml",
];

/// What a file is for: what its name says, without a look inside.
pub fn file_kind(path: &str) -> FileKind {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit(['/', '\\']).next().unwrap_or(&path);
    let ends = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
    let known = |list: &[&str]| list.binary_search(&name).is_ok();
    let requirements = name.starts_with("requirements") || name.starts_with("constraints");
    if known(DEPENDENCY) || (requirements && ends(&[".txt", ".in"])) {
        return FileKind::Dependency;
    }
    let tool =
        ["tsconfig", "jsconfig", "babel.config.", "vite.config.", "webpack.", "rollup.config."]
            .iter()
            .chain(&["esbuild.", "dockerfile.", "makefile."])
            .any(|start| name.starts_with(start));
    let in_tools =
        path.starts_with(".cargo/") || path.contains("/.cargo/") || path.starts_with(".mvn/");
    let in_ci = path.starts_with(".github/") || name == ".gitlab-ci.yml" || name == "jenkinsfile";
    if in_ci {
        return FileKind::Other;
    }
    if known(BUILD) || ends(BUILD_ENDS) || tool || in_tools {
        return FileKind::Build;
    }
    if Language::of_path(&path).is_some() {
        return FileKind::Code;
    }
    if ends(CONFIG_ENDS) || name.starts_with(".env") {
        return FileKind::Config;
    }
    FileKind::Other
}

#[cfg(test)]
mod tests {
    use super::{BUILD, DEPENDENCY, FileKind, file_kind};

    #[test]
    fn files_are_known_by_their_names() {
        assert!(DEPENDENCY.is_sorted() && BUILD.is_sorted());
        let kinds = [
            ("Cargo.lock", FileKind::Dependency),
            ("web/package.json", FileKind::Dependency),
            ("requirements-dev.txt", FileKind::Dependency),
            ("pom.xml", FileKind::Dependency),
            ("Cargo.toml", FileKind::Build),
            ("sub/Makefile", FileKind::Build),
            ("tsconfig.base.json", FileKind::Build),
            (".cargo/config.toml", FileKind::Build),
            ("cmake/find.cmake", FileKind::Build),
            ("src/main.rs", FileKind::Code),
            ("conf/app.yaml", FileKind::Config),
            ("README.md", FileKind::Other),
            (".github/workflows/ci.yml", FileKind::Other),
            ("logo.png", FileKind::Other),
        ];
        for (path, kind) in kinds {
            assert_eq!(file_kind(path), kind, "{path}");
        }
    }
}
