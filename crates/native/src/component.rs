//! Whose code a binary holds, judged by its name alone: recordings are read on machines that do not have the binary.

use perfblame_cct::Layer;

/// Interpreters, virtual machines and browser engines: file names without version, suffix and `lib`.
const RUNTIMES: &[&str] = &[
    "chrome", "chromium", "clrjit", "coreclr", "corerun", "dotnet", "firefox", "java", "jscript9",
    "jvm", "lua", "luajit", "mono", "monosgen", "mozjs", "node", "nodejs", "perl", "php", "python",
    "ruby", "v8", "xul",
];

/// The layer of a binary: a path, a base name or one of the names in brackets that `perf` makes up.
pub fn layer_of(component: &str) -> Layer {
    let name = component.strip_suffix(" (deleted)").unwrap_or(component);
    if let Some(inner) = name.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
        return match inner {
            // Code of the kernel's that runs in the program, as a library does.
            "vdso" | "vdso32" | "vdsox32" | "vsyscall" | "vectors" | "uprobes" => Layer::Library,
            "unknown" | "heap" | "stack" | "anon" | "JIT" => Layer::Application,
            // `[kernel.kallsyms]`, `[kernel]`, `[guest.kernel.kallsyms.7]`, and modules such as `[xfs]`.
            _ => Layer::Kernel,
        };
    }
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let lower = base.to_ascii_lowercase();
    if is_kernel(&lower) {
        return Layer::Kernel;
    }
    // Code made at run time is the program's own, whoever made it.
    if (lower.starts_with("perf-") && ends_with(&lower, "map"))
        || lower.starts_with("jitted-")
        || lower.starts_with("jit-")
    {
        return Layer::Application;
    }
    let stem = stem(&lower);
    if RUNTIMES.contains(&stem) || stem == "ld" || lower.starts_with("ld-linux") {
        return Layer::Runtime;
    }
    if is_shared_object(&lower) { Layer::Library } else { Layer::Application }
}

fn is_kernel(lower: &str) -> bool {
    let unpacked = [".xz", ".gz", ".zst"].iter().find_map(|end| lower.strip_suffix(end));
    let module = unpacked.unwrap_or(lower);
    ends_with(module, "ko")
        || lower == "vmlinux"
        || lower.starts_with("vmlinux-")
        || lower == "vmlinuz"
        || lower == "kallsyms"
        || lower.starts_with("ntoskrnl")
        || ends_with(lower, "sys")
}

fn is_shared_object(lower: &str) -> bool {
    ["so", "dll", "dylib", "node"].iter().any(|end| ends_with(lower, end))
        || lower.contains(".so.")
        // Before symbol versions were the fashion: `libc-2.31.so` ends alright, `libfoo.so-1` does not.
        || lower.contains(".so-")
}

fn ends_with(name: &str, extension: &str) -> bool {
    name.strip_suffix(extension).is_some_and(|rest| rest.ends_with('.'))
}

/// `libpython3.11.so.1.0` and `python3` are both `python`, `ld-2.31.so` is `ld`.
fn stem(lower: &str) -> &str {
    let name = if is_shared_object(lower) {
        lower.strip_prefix("lib").unwrap_or(lower)
    } else {
        lower.strip_suffix(".exe").unwrap_or(lower)
    };
    let digits = name.find(".so").or_else(|| name.find(".dll")).unwrap_or(name.len());
    let name = name.get(..digits).unwrap_or(name);
    // `v8` is no version of `v`.
    if name == "v8" || name == "jscript9" {
        return name;
    }
    let version = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    name.get(..version).unwrap_or(name).trim_end_matches(['-', '_', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_s_name_tells_whose_code_it_is() {
        for (component, layer) in [
            ("[kernel.kallsyms]", Layer::Kernel),
            ("[kernel.kallsyms]_text", Layer::Kernel),
            ("[guest.kernel.kallsyms.12]", Layer::Kernel),
            ("[xfs]", Layer::Kernel),
            ("/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko.xz", Layer::Kernel),
            ("/usr/lib/debug/boot/vmlinux-6.1.0-18-amd64", Layer::Kernel),
            ("C:\\windows\\system32\\drivers\\ntfs.sys", Layer::Kernel),
            ("[vdso]", Layer::Library),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", Layer::Library),
            ("libc-2.31.so", Layer::Library),
            ("/usr/lib/libstdc++.so.6.0.30 (deleted)", Layer::Library),
            ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", Layer::Runtime),
            ("ld-2.31.so", Layer::Runtime),
            ("/usr/lib/jvm/java-17/lib/server/libjvm.so", Layer::Runtime),
            ("libpython3.11.so.1.0", Layer::Runtime),
            ("/usr/bin/python3.11", Layer::Runtime),
            ("node", Layer::Runtime),
            ("addon.node", Layer::Library),
            ("/tmp/perf-1234.map", Layer::Application),
            ("jitted-1234-7.so", Layer::Application),
            ("[unknown]", Layer::Application),
            ("[JIT] tid 12", Layer::Application),
            ("/usr/bin/sqlite3", Layer::Application),
            ("/home/me/ladder", Layer::Application),
            ("", Layer::Application),
        ] {
            assert_eq!(layer_of(component), layer, "{component}");
        }
    }
}
