//! Programs of Debian built from source with every function's entry and exit told, for exact traces.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::machine::shell;
use perfblame_eval_steps::{Work, key};

/// A program and something for it to do.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub name: &'static str,
    /// The source package.
    pub source: &'static str,
    /// A shell script that builds `./program` with `$FLAGS`; `$SOURCE` is the unpacked package.
    pub build: &'static str,
    /// A shell script that makes inputs.
    pub prepare: &'static str,
    /// What the program is started with; `files/*` are all files in that folder.
    pub arguments: &'static [&'static str],
}

/// Functions keep their names and their place on the stack: stacks and calls must speak of the same functions.
const FLAGS: &str = "-O2 -g -w -fno-inline -fno-optimize-sibling-calls -fno-ipa-cp -fno-ipa-sra \
                     -fno-partial-inlining -finstrument-functions";

/// Some hundred thousand calls each, and a system call for every hundred or thousand of them, as in the paper.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "lua",
        source: "lua5.4",
        build: "cd $SOURCE/src; gcc $FLAGS -DLUA_USE_POSIX $(ls *.c | grep -v luac.c) -o $OLDPWD/program -lm",
        prepare: r#"cat > words.lua <<'END'
local words = {}
for i = 1, 300 do words[#words + 1] = string.format("%d-%s", i, string.rep("x", i % 7)) end
table.sort(words)
local n = 0
for i, w in ipairs(words) do
  local name = "word." .. i % 9
  local out = io.open(name, "w")
  out:write(table.concat(words, " ", 1, i % 50 + 1), "\n")
  out:close()
  for line in io.lines(name) do n = n + #line:gsub("%d", "n") end
  if i % 3 == 0 then os.rename(name, name .. "x") end
end
print(n)
END"#,
        arguments: &["words.lua"],
    },
    Program {
        name: "bzip2",
        source: "bzip2",
        build: "cd $SOURCE; gcc $FLAGS -D_FILE_OFFSET_BITS=64 bzip2.c blocksort.c huffman.c crctable.c randtable.c \
                compress.c decompress.c bzlib.c -o $OLDPWD/program",
        prepare: r#"mkdir files; for n in $(seq 120); do
awk -v seed=$n 'BEGIN { srand(seed); for (i = 0; i < 60; i++) printf "%s%c", int(rand() * 900), 97 + i % 23 }' > files/$n
done"#,
        arguments: &["-k", "-f", "-1", "files/*"],
    },
    Program {
        name: "gzip",
        source: "gzip",
        build: "cp -r $SOURCE built; cd built; ./configure -q CFLAGS=\"$FLAGS\" >/dev/null; make -s -C lib >/dev/null; \
                make -s version.h gzip >/dev/null; cp gzip ../program",
        prepare: r#"mkdir files; for n in $(seq 120); do
awk -v seed=$n 'BEGIN { srand(seed); for (i = 0; i < 400; i++) printf "%s%c", int(rand() * 900), 97 + i % 23 }' > files/$n
done"#,
        arguments: &["-k", "-f", "-6", "files/*"],
    },
    Program {
        name: "mawk",
        source: "mawk",
        build: "cp -r $SOURCE built; cd built; ./configure -q CFLAGS=\"$FLAGS\" >/dev/null; make -s >/dev/null; \
                cp mawk ../program",
        prepare: r#"awk 'BEGIN { srand(9); for (i = 0; i < 700; i++) print i, int(rand() * 500), "word" (i % 91) }' > table
cat > sums.awk <<'END'
{ sum[$3] += $2; seen[$2 % 17]++; gsub(/[0-9]+/, "n", $1); text = text substr($0, 1, 3) }
{ name = "sums." NR % 7; print NR, text > name; close(name); getline back < name; close(name) }
NR % 40 == 0 { text = "" }
END { for (name in sum) print name, sum[name] > "sums.out" }
END"#,
        arguments: &["-f", "sums.awk", "table"],
    },
    // By these two nothing was set: they were added when the estimate was done.
    Program {
        name: "tree",
        source: "tree",
        build: "cd $SOURCE; gcc $FLAGS -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 *.c -o $OLDPWD/program",
        prepare: r#"mkdir files; for n in $(seq 40); do mkdir files/$n; for m in $(seq 40); do
echo $n $m > files/$n/name-$m; done; done"#,
        arguments: &["-p", "-s", "-D", "-u", "-o", "listing", "files"],
    },
    Program {
        name: "dash",
        source: "dash",
        build: "cp -r $SOURCE built; cd built; ./configure -q CFLAGS=\"$FLAGS\" >/dev/null; make -s >/dev/null; \
                cp src/dash ../program",
        prepare: r#"cat > loop.sh <<'END'
n=0
while [ $n -lt 300 ]; do
  n=$((n + 1))
  for word in alpha beta gamma delta; do
    case $word$n in *7*) text="$text${word#a}";; *) text="${text%a*}$n";; esac
  done
  echo "$n $text" > line.$((n % 9))
  read -r back < line.$((n % 9))
  [ ${#text} -gt 200 ] && text=
done
echo "$n $back"
END"#,
        arguments: &["loop.sh"],
    },
    // And by this one nothing after time was divided by code.
    Program {
        name: "sed",
        source: "sed",
        build: "cp -r $SOURCE built; cd built; ./configure -q CFLAGS=\"$FLAGS\" >/dev/null; make -s -k >/dev/null 2>&1 || true; \
                cp sed/sed ../program",
        prepare: r#"mkdir files; for n in $(seq 120); do
awk -v seed=$n 'BEGIN { srand(seed); for (i = 0; i < 40; i++) print i, int(rand() * 900), "word" i % 7 }' > files/$n
done"#,
        arguments: &[
            "-i",
            "-e",
            "s/[0-9]*7/n/g",
            "-e",
            "/word3/{h;d}",
            "-e",
            "/word5/G",
            "files/*",
        ],
    },
];

/// Fetches and builds a program, unless it is there; the folder has `program` and its inputs.
pub fn build(work: &Work, program: &Program) -> Result<PathBuf> {
    let made_from =
        key(&[program.build, program.prepare, program.source, FLAGS].map(str::as_bytes));
    work.folder(&["programs", &format!("{}-{made_from}", program.name)], |folder| {
        let source = fetch(work, program.source)?;
        let script = format!(
            "export FLAGS='{FLAGS}' SOURCE='{}'; {{ {}; }}; cd '{}'; {}",
            source.display(),
            program.build,
            folder.display(),
            program.prepare
        );
        shell(&script, folder).map(|_| ())
    })
}

/// The unpacked source of a package.
pub fn fetch(work: &Work, package: &str) -> Result<PathBuf> {
    let folder = work.folder(&["source-packages", package], |folder| {
        let list = "Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n\
                    Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n";
        fs::write(folder.join("here.sources"), list)?;
        // Lists and sources of its own: what the machine installs from stays as it is.
        let script = format!(
            "mkdir -p lists/partial
             apt() {{ apt-get -qq -o Dir::Etc::SourceList=$PWD/here.sources -o Dir::Etc::SourceParts=/dev/null \
                -o Dir::State::Lists=$PWD/lists \"$@\"; }}
             apt update; apt source --only-source {package}; rm -r lists"
        );
        shell(&script, folder).map(|_| ())
    })?;
    let unpacked = |path: &Path| path.is_dir();
    let mut found: Vec<PathBuf> =
        fs::read_dir(&folder)?.filter_map(Result::ok).map(|entry| entry.path()).collect();
    found.retain(|path| unpacked(path));
    found.pop().with_context(|| format!("{package}: nothing was unpacked"))
}
