//! The programs that are recorded: real ones, one or more for each kind of profiler. Versions are pinned, and nothing is
//! downloaded into the project.

/// A program, something for it to do, and a profiler.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    pub name: &'static str,
    /// What runs, in a few words.
    pub what: &'static str,
    /// What records it, and what the runs hold.
    pub profiler: &'static str,
    pub how: How,
}

/// How it is made ready and recorded.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// By shell scripts in a folder of its own.
    Script {
        /// The source package of Debian that `$SOURCE` is.
        source: Option<&'static str>,
        /// Files to put into the folder: names and texts.
        files: &'static [(&'static str, &'static str)],
        /// Makes the folder ready.
        prepare: &'static str,
        /// Records one run into the folder `$OUT`.
        record: &'static str,
        /// Prints versions.
        version: &'static str,
    },
    /// A visit to a page of `eval/zam`, the release before.
    Page(&'static str),
}

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../programs/", $name)))
    };
}

const MAVEN: &str = r#"copy() { mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=$1 \
    -DoutputDirectory=. -Dmdep.useBaseVersion=true; }"#;

const ECJ: &str = r#"
copy org.eclipse.jdt:ecj:3.36.0
copy commons-cli:commons-cli:1.5.0:jar:sources
copy org.apache.commons:commons-csv:1.10.0:jar:sources
mkdir small large
(cd small; unzip -qo ../commons-cli-1.5.0-sources.jar)
(cd large; unzip -qo ../commons-cli-1.5.0-sources.jar; unzip -qo ../commons-csv-1.10.0-sources.jar)
find small large -name module-info.java -delete"#;

/// Under the name of an interpreter it would be a runtime, whose functions are not blamed.
const LUA: &str = r#"
awk -v lines=3000 -f text.awk > text; mkdir files
echo '#define DEB_HOST_MULTIARCH "any"' > lua5.4-deb-multiarch.h
gcc -O2 -g -w -I. -DLUA_USE_POSIX $(ls $SOURCE/src/*.c | grep -v luac.c) -o words -lm"#;

const ZLIB: &str = r#"
awk -v lines=60000 -f text.awk > text
gcc -O2 -g -w -DHAVE_UNISTD_H -I$SOURCE $SOURCE/*.c $SOURCE/test/minigzip.c -o minigzip
echo zlib $(grep -m1 'define ZLIB_VERSION' $SOURCE/zlib.h | cut -d'"' -f2) > version"#;

const PYTHON: &str =
    "python=$(python3 -c 'import sys; print(sys.executable)'); export PYTHONPATH=lib";

const GOLDMARK: &str = r"
python3 document.py md 60 > document.md
go mod init recorded
go get github.com/yuin/goldmark@v1.7.4
go test -c -o render .";

/// All of them.
pub const PROGRAMS: &[Recorded] = &[
    Recorded {
        name: "perl",
        what: "Debian's Perl counts and rewrites words",
        profiler: "Linux perf (`perfblame record native`)",
        how: How::Script {
            source: None,
            files: &[file!("text.awk"), file!("words.pl")],
            prepare: "awk -v lines=4000 -f text.awk > text",
            record: "$PERFBLAME record native --quiet -o $OUT -- perl words.pl text 6",
            version: "perl -e 'printf \"Perl %vd\", $^V'",
        },
    },
    Recorded {
        name: "lua",
        what: "Lua, built from Debian's source as `words`, counts, sorts and rewrites words",
        profiler: "Linux perf (`perfblame record native`)",
        how: How::Script {
            source: Some("lua5.4"),
            files: &[file!("text.awk"), file!("words.lua")],
            prepare: LUA,
            record: "$PERFBLAME record native --quiet -o $OUT -- ./words words.lua text 10",
            version: "./words -v | cut -d' ' -f1,2",
        },
    },
    Recorded {
        name: "zlib",
        what: "zlib's minigzip, built from Debian's source, compresses words",
        profiler: "Linux perf (`perfblame record native`)",
        how: How::Script {
            source: Some("zlib"),
            files: &[file!("text.awk")],
            prepare: ZLIB,
            record: "$PERFBLAME record native --call-graph dwarf,32768 --quiet -o $OUT -- \
                sh -c 'exec ./minigzip -6 < text > text.gz'",
            version: "cat version",
        },
    },
    Recorded {
        name: "bzip2",
        what: "bzip2, built from Debian's source, compresses words",
        profiler: "Linux perf (`perfblame record native`)",
        how: How::Script {
            source: Some("bzip2"),
            files: &[file!("text.awk")],
            prepare: "awk -v lines=90000 -f text.awk > text
                gcc -O2 -g -w -D_FILE_OFFSET_BITS=64 $(for part in bzip2 blocksort huffman crctable randtable compress \
                decompress bzlib; do echo $SOURCE/$part.c; done) -o bzip2",
            record: "$PERFBLAME record native --quiet -o $OUT -- ./bzip2 -k -f text",
            version: "echo bzip2 $(./bzip2 --version </dev/null 2>&1 | grep -o 'Version [0-9.]*[0-9]' | cut -d' ' -f2)",
        },
    },
    Recorded {
        name: "sqlite",
        what: "SQLite joins, groups, sorts and updates in memory",
        profiler: "Linux perf (`perfblame record native`)",
        how: How::Script {
            source: None,
            files: &[file!("queries.sql"), file!("run-sql.c")],
            prepare: "npm pack --silent --ignore-scripts better-sqlite3@11.8.1; tar xzf better-sqlite3-*.tgz
                cp package/deps/sqlite3/sqlite3.c package/deps/sqlite3/sqlite3.h .
                gcc -O2 -g -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION run-sql.c sqlite3.c -o run-sql -lm",
            record: "$PERFBLAME record native --quiet -o $OUT -- ./run-sql queries.sql 2",
            version: "echo SQLite $(grep -m1 'define SQLITE_VERSION ' sqlite3.h | cut -d'\"' -f2)",
        },
    },
    Recorded {
        name: "lua-files",
        what: "Lua, built from Debian's source as `words`, rewrites words and writes and reads small files",
        profiler: "trace of the operating system (`perfblame record os`), latencies inferred",
        how: How::Script {
            source: Some("lua5.4"),
            files: &[file!("text.awk"), file!("words.lua")],
            prepare: LUA,
            record: "$PERFBLAME record os --quiet -o $OUT -- ./words words.lua text 2 files",
            version: "./words -v | cut -d' ' -f1,2",
        },
    },
    Recorded {
        name: "sqlite-commits",
        what: "SQLite commits transactions to disk",
        profiler: "trace of the operating system (`perfblame record os`), latencies inferred",
        how: How::Script {
            source: None,
            files: &[file!("commits.sql"), file!("run-sql.c")],
            prepare: "npm pack --silent --ignore-scripts better-sqlite3@11.8.1; tar xzf better-sqlite3-*.tgz
                cp package/deps/sqlite3/sqlite3.c package/deps/sqlite3/sqlite3.h .
                gcc -O2 -g -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION run-sql.c sqlite3.c -o run-sql -lm",
            record: "$PERFBLAME record os --quiet -o $OUT -- ./run-sql commits.sql 150 log.db",
            version: "echo SQLite $(grep -m1 'define SQLITE_VERSION ' sqlite3.h | cut -d'\"' -f2)",
        },
    },
    Recorded {
        name: "ecj",
        what: "Eclipse's compiler for Java compiles two libraries",
        profiler: "the JVM's flight recorder (`perfblame record java`)",
        how: How::Script {
            source: None,
            files: &[],
            prepare: ECJ,
            record: "$PERFBLAME record java --quiet -o $OUT -- java -jar ecj-3.36.0.jar -17 -nowarn -proc:none -d none large || true",
            version: "echo ecj 3.36.0; java -version 2>&1 | head -1",
        },
    },
    Recorded {
        name: "ecj-calls",
        what: "Eclipse's compiler for Java compiles a small library",
        profiler: "perfblame's Java agent (`perfblame record java --exact`), every call of the parser",
        how: How::Script {
            source: None,
            files: &[],
            prepare: ECJ,
            record: "$PERFBLAME record java --exact --agent $AGENT --packages org.eclipse.jdt.internal.compiler.parser --quiet -o $OUT -- \
                java -jar ecj-3.36.0.jar -17 -nowarn -proc:none -d none small || true",
            version: "echo ecj 3.36.0; java -version 2>&1 | head -1",
        },
    },
    Recorded {
        name: "tsc",
        what: "the TypeScript compiler checks its own declarations",
        profiler: "V8's sampler (`perfblame record node`)",
        how: How::Script {
            source: None,
            files: &[],
            prepare: "npm install --silent --no-audit --no-fund --prefix . typescript@5.4.5",
            record: "$PERFBLAME record node --quiet -o $OUT -- node node_modules/typescript/lib/tsc.js --noEmit \
                --lib es2022 node_modules/typescript/lib/typescript.d.ts",
            version: "echo typescript 5.4.5; echo Node $(node --version)",
        },
    },
    Recorded {
        name: "terser",
        what: "terser minifies Chart.js",
        profiler: "V8's sampler (`perfblame record node`)",
        how: How::Script {
            source: None,
            files: &[],
            prepare: "npm install --silent --no-audit --no-fund --prefix . terser@5.31.0 chart.js@3.9.1",
            record: "$PERFBLAME record node --quiet -o $OUT -- node node_modules/terser/bin/terser \
                node_modules/chart.js/dist/chart.js --compress --mangle -o minified.js",
            version: "echo terser 5.31.0; echo Node $(node --version)",
        },
    },
    Recorded {
        name: "page-marked",
        what: "a visit to a page with marked",
        profiler: "Chromium (`perfblame record chrome`)",
        how: How::Page("marked"),
    },
    Recorded {
        name: "page-vue",
        what: "a visit to a page with Vue",
        profiler: "Chromium (`perfblame record chrome`)",
        how: How::Page("vue"),
    },
    Recorded {
        name: "sqlparse",
        what: "sqlparse formats statements",
        profiler: "py-spy (`perfblame record python`)",
        how: How::Script {
            source: None,
            files: &[file!("format_sql.py")],
            prepare: "python3 -m pip install --quiet --target lib sqlparse==0.5.1",
            record: "$PERFBLAME record python --quiet -o $OUT -- $python format_sql.py 500",
            version: "echo sqlparse 0.5.1; $python --version; py-spy --version",
        },
    },
    Recorded {
        name: "difflib",
        what: "Python's difflib compares two texts",
        profiler: "Python's cProfile, every call",
        how: How::Script {
            source: None,
            files: &[file!("text.awk"), file!("compare_texts.py")],
            prepare: "awk -v lines=500 -f text.awk > text",
            record: "$python -m cProfile -o $OUT/run.pstats compare_texts.py text 500",
            version: "$python --version",
        },
    },
    Recorded {
        name: "docutils",
        what: "docutils renders a document",
        profiler: "pyinstrument",
        how: How::Script {
            source: None,
            files: &[file!("document.py"), file!("render_rst.py")],
            prepare: "python3 document.py rst 40 > document.rst
                python3 -m pip install --quiet --target lib docutils==0.21.2 pyinstrument==5.1.3",
            record: "$python -m pyinstrument -r json -o $OUT/run.json render_rst.py document.rst 3",
            version: "echo docutils 0.21.2, pyinstrument 5.1.3; $python --version",
        },
    },
    Recorded {
        name: "goldmark",
        what: "goldmark, a Go module, renders a document",
        profiler: "Go's pprof, CPU time",
        how: How::Script {
            source: None,
            files: &[file!("document.py"), file!("render_test.go")],
            prepare: GOLDMARK,
            record: "./render -test.run=NONE -test.bench=. -test.benchtime=350x -test.cpuprofile=$OUT/cpu.pb.gz",
            version: "echo goldmark 1.7.4; go version",
        },
    },
    Recorded {
        name: "goldmark-allocations",
        what: "goldmark, a Go module, renders a document",
        profiler: "Go's pprof, allocated objects and bytes",
        how: How::Script {
            source: None,
            files: &[file!("document.py"), file!("render_test.go")],
            prepare: GOLDMARK,
            record: "./render -test.run=NONE -test.bench=. -test.benchtime=60x -test.memprofilerate=8192 \
                -test.memprofile=$OUT/memory.pb.gz",
            version: "echo goldmark 1.7.4; go version",
        },
    },
    Recorded {
        name: "zlib-instructions",
        what: "zlib's minigzip, built from Debian's source, compresses words",
        profiler: "callgrind, every instruction",
        how: How::Script {
            source: Some("zlib"),
            files: &[file!("text.awk")],
            prepare: ZLIB,
            record: "head -4000 text > few; valgrind -q --tool=callgrind --callgrind-out-file=$OUT/callgrind.out \
                ./minigzip -6 < few > few.gz",
            version: "cat version; valgrind --version",
        },
    },
];

/// What stands before every script: where things are.
pub fn preamble() -> String {
    format!("{MAVEN}\n{PYTHON}\n")
}
