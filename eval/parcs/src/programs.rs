//! What is run: the programs with their releases, arguments and inputs. Versions are pinned; nothing here is downloaded
//! into the project.

use perfblame_cct::Sides;

/// A Java program with two close releases.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub name: &'static str,
    /// In a few words.
    pub what: &'static str,
    /// Its row in the paper, where it, or what it grew out of, has one.
    pub in_paper: Option<&'static str>,
    /// Maven's group and artifact.
    pub artifact: &'static str,
    /// Before and after.
    pub releases: Sides<&'static str>,
    /// Packages whose calls are counted: the program's own, as in section 3.1.
    pub packages: &'static [&'static str],
    /// How the names of its own jars begin; the others are libraries.
    pub jars: &'static [&'static str],
    /// Options of the JVM.
    pub jvm: &'static [&'static str],
    pub main: &'static str,
    /// `{input}` is the input's path, `{list}` a file that lists its source files, `{out}` a folder for output.
    pub arguments: &'static [&'static str],
    /// Exit codes that mean it did its work: checkers tell with it how much they found.
    pub exit_codes: &'static [i32],
    pub inputs: [Input; 5],
}

/// What a program is given.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    pub name: &'static str,
    pub from: From,
}

/// Where an input comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// The sources that belong to an artifact, `group:artifact:version`, unpacked.
    Sources(&'static str),
    /// The artifact itself.
    Jar(&'static str),
    /// A file in the artifact.
    Entry(&'static str, &'static str),
    /// A file of `eval/parcs/inputs`: its name and text.
    Ours(&'static str, &'static str),
}

const fn sources(name: &'static str, artifact: &'static str) -> Input {
    Input { name, from: From::Sources(artifact) }
}

const fn jar(name: &'static str, artifact: &'static str) -> Input {
    Input { name, from: From::Jar(artifact) }
}

const fn entry(name: &'static str, artifact: &'static str, path: &'static str) -> Input {
    Input { name, from: From::Entry(artifact, path) }
}

macro_rules! ours {
    ($name:literal, $file:literal) => {
        Input { name: $name, from: From::Ours($file, include_str!(concat!("../inputs/", $file))) }
    };
}

const CLI: &str = "commons-cli:commons-cli:1.5.0";
const CSV: &str = "org.apache.commons:commons-csv:1.10.0";
const JOPT: &str = "net.sf.jopt-simple:jopt-simple:5.0.4";
const GSON: &str = "com.google.code.gson:gson:2.10.1";
const CODEC: &str = "commons-codec:commons-codec:1.15";

const JAVA_SOURCES: [Input; 5] = [
    sources("commons-cli", CLI),
    sources("commons-csv", CSV),
    sources("jopt-simple", JOPT),
    sources("gson", GSON),
    sources("commons-codec", CODEC),
];

/// All programs.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "checkstyle",
        what: "code style checker for Java",
        in_paper: Some("checkstyle"),
        artifact: "com.puppycrawl.tools:checkstyle",
        releases: Sides::new("10.12.4", "10.12.5"),
        packages: &["com.puppycrawl.tools.checkstyle"],
        jars: &["checkstyle-"],
        jvm: &[],
        main: "com.puppycrawl.tools.checkstyle.Main",
        arguments: &["-c", "/sun_checks.xml", "{input}"],
        // The number of errors, as far as a byte holds it.
        exit_codes: &[],
        inputs: JAVA_SOURCES,
    },
    Program {
        name: "closure-compiler",
        what: "JavaScript compiler",
        in_paper: None,
        artifact: "com.google.javascript:closure-compiler",
        releases: Sides::new("v20231112", "v20240317"),
        packages: &["com.google.javascript"],
        jars: &["closure-compiler-"],
        jvm: &[],
        main: "com.google.javascript.jscomp.CommandLineRunner",
        arguments: &["--js", "{input}", "--js_output_file", "{out}/compiled.js"],
        exit_codes: &[0],
        inputs: [
            entry(
                "mustache",
                "org.webjars.npm:mustache:4.2.0",
                "META-INF/resources/webjars/mustache/4.2.0/mustache.js",
            ),
            entry(
                "dayjs",
                "org.webjars.npm:dayjs:1.11.10",
                "META-INF/resources/webjars/dayjs/1.11.10/dayjs.min.js",
            ),
            entry(
                "underscore",
                "org.webjars.npm:underscore:1.13.6",
                "META-INF/resources/webjars/underscore/1.13.6/underscore-umd.js",
            ),
            entry(
                "moment",
                "org.webjars.npm:moment:2.29.4",
                "META-INF/resources/webjars/moment/2.29.4/moment.js",
            ),
            entry(
                "moment-ru",
                "org.webjars.npm:moment:2.29.4",
                "META-INF/resources/webjars/moment/2.29.4/locale/ru.js",
            ),
        ],
    },
    Program {
        name: "ecj",
        what: "Eclipse's compiler for Java",
        in_paper: None,
        artifact: "org.eclipse.jdt:ecj",
        releases: Sides::new("3.35.0", "3.36.0"),
        packages: &["org.eclipse.jdt"],
        jars: &["ecj-"],
        jvm: &[],
        main: "org.eclipse.jdt.internal.compiler.batch.Main",
        arguments: &["-11", "-nowarn", "-proc:none", "-proceedOnError", "-d", "{out}", "{input}"],
        exit_codes: &[0, 255],
        inputs: JAVA_SOURCES,
    },
    Program {
        name: "google-java-format",
        what: "formatter for Java",
        in_paper: None,
        artifact: "com.google.googlejavaformat:google-java-format",
        releases: Sides::new("1.18.1", "1.19.0"),
        packages: &["com.google.googlejavaformat"],
        jars: &["google-java-format-"],
        jvm: &[
            "--add-exports=jdk.compiler/com.sun.tools.javac.api=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.code=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.parser=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.tree=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.util=ALL-UNNAMED",
        ],
        main: "com.google.googlejavaformat.java.Main",
        arguments: &["@{list}"],
        exit_codes: &[0],
        inputs: JAVA_SOURCES,
    },
    Program {
        name: "h2",
        what: "database",
        in_paper: None,
        artifact: "com.h2database:h2",
        releases: Sides::new("2.2.222", "2.2.224"),
        packages: &["org.h2"],
        jars: &["h2-"],
        jvm: &[],
        main: "org.h2.tools.RunScript",
        arguments: &["-url", "jdbc:h2:mem:", "-script", "{input}", "-showResults"],
        exit_codes: &[0],
        inputs: [
            ours!("groups", "groups.sql"),
            ours!("joins", "joins.sql"),
            ours!("updates", "updates.sql"),
            ours!("windows", "windows.sql"),
            ours!("texts", "texts.sql"),
        ],
    },
    Program {
        name: "jruby",
        what: "Ruby in Java",
        in_paper: Some("jruby"),
        artifact: "org.jruby:jruby-complete",
        releases: Sides::new("9.4.5.0", "9.4.6.0"),
        packages: &["org.jruby"],
        jars: &["jruby-complete-"],
        jvm: &[],
        main: "org.jruby.Main",
        // Interpreted: classes made at run time are none of the releases'.
        arguments: &["--disable-gems", "-X-C", "{input}"],
        exit_codes: &[0],
        inputs: [
            ours!("binarytrees", "binarytrees.rb"),
            ours!("fannkuch", "fannkuch.rb"),
            ours!("mandelbrot", "mandelbrot.rb"),
            ours!("nsieve", "nsieve.rb"),
            ours!("nsievebits", "nsievebits.rb"),
        ],
    },
    Program {
        name: "jython",
        what: "Python in Java",
        in_paper: Some("jython"),
        artifact: "org.python:jython-standalone",
        releases: Sides::new("2.7.2", "2.7.3"),
        // Not `org.python.pycode`, which is made at run time.
        packages: &[
            "org.python.antlr",
            "org.python.compiler",
            "org.python.core",
            "org.python.expose",
            "org.python.indexer",
            "org.python.modules",
            "org.python.util",
        ],
        jars: &["jython-standalone-"],
        jvm: &[],
        main: "org.python.util.jython",
        arguments: &["-S", "{input}"],
        exit_codes: &[0],
        inputs: [
            ours!("binarytrees", "binarytrees.py"),
            ours!("fannkuch", "fannkuch.py"),
            ours!("mandelbrot", "mandelbrot.py"),
            ours!("nsieve", "nsieve.py"),
            ours!("nsievebits", "nsievebits.py"),
        ],
    },
    Program {
        name: "pmd",
        what: "code checker for Java",
        in_paper: Some("pmd"),
        artifact: "net.sourceforge.pmd:pmd-java",
        releases: Sides::new("6.54.0", "6.55.0"),
        packages: &["net.sourceforge.pmd"],
        jars: &["pmd-"],
        jvm: &[],
        main: "net.sourceforge.pmd.PMD",
        arguments: &[
            "-d",
            "{input}",
            "-R",
            "rulesets/java/quickstart.xml",
            "-f",
            "text",
            "--no-cache",
            "-t",
            "0",
        ],
        // 4: it found something.
        exit_codes: &[0, 4],
        inputs: JAVA_SOURCES,
    },
    Program {
        name: "spotbugs",
        what: "bug detector for Java, FindBugs' successor",
        in_paper: Some("findbugs"),
        artifact: "com.github.spotbugs:spotbugs",
        releases: Sides::new("4.8.2", "4.8.3"),
        packages: &["edu.umd.cs.findbugs"],
        jars: &["spotbugs-"],
        jvm: &[],
        main: "edu.umd.cs.findbugs.FindBugs2",
        arguments: &["-effort:min", "{input}"],
        exit_codes: &[0],
        inputs: [
            jar("commons-cli", CLI),
            jar("commons-csv", CSV),
            jar("jopt-simple", JOPT),
            jar("gson", GSON),
            jar("commons-codec", CODEC),
        ],
    },
];
