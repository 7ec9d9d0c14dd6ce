//! Delays in plug-ins and libraries that programs of Debian load. The function is known since it was made slow.

use super::PLAIN;
use crate::case::{Case, Cause, Plugin, Truth};

/// The text of a plug-in.
macro_rules! source {
    ($file:literal) => {
        ($file, include_str!(concat!("../../plugins/", $file)))
    };
}

/// What plug-ins include.
pub(crate) const HEADER: (&str, &str) = source!("delay.h");

const MADE_SLOW: &str = "made slow";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "sqlite-extension",
        program: "sqlite3",
        what: "a loaded extension's function, without names",
        packages: &["sqlite3", "libsqlite3-dev"],
        cause: Cause::Injected("busy loop"),
        truth: Truth { object: "slug.so", functions: &["collapse_runs"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "slug.so",
            source: source!("slug.c"),
            flags: "",
            stripped: true,
        }),
        prepare: r#"cat > query.sql <<'END'
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
SELECT count(DISTINCT slug('Title ' || (i % 977) || ' -- of  a page')), sum(length(printf('%08d', i))) FROM n;
END"#,
        base: &["/usr/bin/sqlite3", ":memory:", ".load ./{side}/slug", ".read query.sql"],
        buggy: &["/usr/bin/sqlite3", ":memory:", ".load ./{side}/slug", ".read query.sql"],
        ..PLAIN
    },
    Case {
        name: "lua-journal",
        program: "lua5.4",
        what: "a C module that waits for the disk after each record",
        packages: &["lua5.4", "liblua5.4-dev"],
        cause: Cause::Injected("fsync"),
        truth: Truth { object: "journal.so", functions: &["journal_commit"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "journal.so",
            source: source!("journal.c"),
            flags: "-I/usr/include/lua5.4",
            stripped: false,
        }),
        prepare: r#"cat > write.lua <<'END'
local journal = require "journal"
journal.begin(arg[1])
local seen = {}
for i = 1, 600 do
  local words = {}
  for w = 1, 60 do words[w] = (i * w) % 97 end
  local record = table.concat(words, " ")
  seen[record] = (seen[record] or 0) + 1
  journal.append(record .. "\n", i)
end
END"#,
        base: &["/usr/bin/lua5.4", "write.lua", "{side}.journal"],
        buggy: &["/usr/bin/lua5.4", "write.lua", "{side}.journal"],
        environment: &[("LUA_CPATH", "./{side}/?.so")],
        ..PLAIN
    },
    Case {
        name: "python-extension",
        program: "python3",
        what: "an extension that waits for a condition, with six idle threads",
        packages: &["python3", "python3-dev"],
        cause: Cause::Injected("futex"),
        truth: Truth { object: "tally.so", functions: &["wait_for_slot"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "tally.so",
            source: source!("tally.c"),
            flags: "-I/usr/include/python3.11",
            stripped: false,
        }),
        prepare: r"cat > count.py <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import tally
words = {}
for i in range(300):
    for word in ('a%d b%d c%d' % (i, i % 7, i % 3)).split() * 20:
        words[word] = words.get(word, 0) + 1
    tally.add(len(words))
print(len(words))
END",
        base: &["/usr/bin/python3.11", "-I", "count.py", "{side}"],
        buggy: &["/usr/bin/python3.11", "-I", "count.py", "{side}"],
        ..PLAIN
    },
    Case {
        name: "apache-module",
        program: "apache2",
        what: "a module that sleeps in each request, with idle threads",
        packages: &["apache2-bin", "apache2-dev"],
        cause: Cause::Injected("sleep"),
        truth: Truth { object: "mod_stamp.so", functions: &["stamp_seal"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "mod_stamp.so",
            source: source!("mod_stamp.c"),
            flags: "-I/usr/include/apache2 $(apr-1-config --includes --cppflags)",
            stripped: false,
        }),
        prepare: r#"mkdir -p pages && awk 'BEGIN { for (i = 0; i < 400; i++) print "<p>" i "</p>" }' > pages/index.html
for side in base buggy; do cat > $side.conf <<END
ServerRoot "$PWD"
DefaultRuntimeDir "$PWD"
PidFile "$PWD/apache.pid"
ErrorLog "$PWD/error.log"
ServerName localhost
Listen 127.0.0.1:18742
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule stamp_module $PWD/$side/mod_stamp.so
ThreadsPerChild 8
ServerLimit 1
MaxRequestWorkers 8
DocumentRoot "$PWD/pages"
<Directory "$PWD/pages">
Require all granted
</Directory>
END
done
chmod -R a+rX .
for i in $(seq 0 119); do echo 'url = http://127.0.0.1:18742/index.html'; done > urls"#,
        base: &["/usr/sbin/apache2", "-X", "-f", "{folder}/{side}.conf"],
        buggy: &["/usr/sbin/apache2", "-X", "-f", "{folder}/{side}.conf"],
        client: Some(
            r"for i in $(seq 100); do curl -s http://127.0.0.1:18742/ >/dev/null && break; sleep 0.05; done
curl -s -K urls > $SIDE.out
kill -TERM $(cat apache.pid)",
        ),
        ..PLAIN
    },
    Case {
        name: "redis-module",
        program: "redis-server",
        what: "a loaded module's command",
        packages: &["redis-tools"],
        cause: Cause::Injected("busy loop"),
        truth: Truth { object: "grade.so", functions: &["grade_score"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "grade.so",
            source: source!("grade.c"),
            flags: "",
            stripped: false,
        }),
        prepare: r#"ln -sf /usr/bin/redis-check-rdb redis-server
awk 'BEGIN { for (i = 0; i < 300; i++) { print "SET key:" i " value-of-" i; print "GRADE text-" i } }' > asked.txt"#,
        base: REDIS,
        buggy: REDIS,
        client: Some(ask_redis!(r"redis-cli -s redis.sock < asked.txt > $SIDE.out")),
        ..PLAIN
    },
    Case {
        name: "openssl-provider",
        program: "openssl",
        what: "a provider that reads a file for each block",
        packages: &["openssl", "libssl-dev"],
        cause: Cause::Injected("file"),
        truth: Truth { object: "foldmd.so", functions: &["fold_load_table"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "foldmd.so",
            source: source!("foldmd.c"),
            flags: "",
            stripped: false,
        }),
        prepare: "head -c 262144 /dev/urandom > table\nhead -c 10000000 /dev/urandom > message",
        base: OPENSSL,
        buggy: OPENSSL,
        environment: &[("FOLD_TABLE", "table")],
        ..PLAIN
    },
    Case {
        name: "perl-extension",
        program: "perl",
        what: "an XS function that sleeps",
        packages: &["perl"],
        cause: Cause::Injected("sleep"),
        truth: Truth { object: "Meter.so", functions: &["meter_settle"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "Meter.so",
            source: source!("Meter.c"),
            flags: "$(perl -MExtUtils::Embed -e ccopts)",
            stripped: false,
        }),
        prepare: r#"cat > read.pl <<'END'
use DynaLoader;
my $library = DynaLoader::dl_load_file("./$ARGV[0]/Meter.so", 0) or die DynaLoader::dl_error();
my $boot = DynaLoader::dl_find_symbol($library, "boot_Meter") or die;
DynaLoader::dl_install_xsub("Meter::bootstrap", $boot, "Meter.so");
Meter::bootstrap("Meter");
my %seen;
for my $i (1 .. 300) {
    $seen{join ",", sort map { $_ * $i % 101 } 1 .. 40}++;
    Meter::read($i);
}
print scalar(keys %seen), "\n";
END"#,
        base: &["/usr/bin/perl", "read.pl", "{side}"],
        buggy: &["/usr/bin/perl", "read.pl", "{side}"],
        ..PLAIN
    },
    Case {
        name: "zstd-preload",
        program: "zstd",
        what: "a library loaded first that delays each write, with compressing threads",
        packages: &["zstd"],
        cause: Cause::Injected("poll"),
        truth: Truth { object: "audit.so", functions: &["audit_record"], why: MADE_SLOW },
        plugin: Some(Plugin {
            object: "audit.so",
            source: source!("audit.c"),
            flags: "",
            stripped: false,
        }),
        prepare: r#"awk 'BEGIN { srand(3); for (i = 0; i < 900000; i++) printf "%x ", int(rand() * 70000) }' > numbers"#,
        base: &[
            "/usr/bin/zstd",
            "-q",
            "-f",
            "-T2",
            "-B524288",
            "-3",
            "numbers",
            "-o",
            "{side}.zst",
        ],
        buggy: &[
            "/usr/bin/zstd",
            "-q",
            "-f",
            "-T2",
            "-B524288",
            "-3",
            "numbers",
            "-o",
            "{side}.zst",
        ],
        environment: &[("LD_PRELOAD", "./{side}/audit.so")],
        ..PLAIN
    },
];

const REDIS: &[&str] = redis!["--loadmodule", "./{side}/grade.so"];

const OPENSSL: &[&str] = &[
    "/usr/bin/openssl",
    "dgst",
    "-provider-path",
    "./{side}",
    "-provider",
    "foldmd",
    "-provider",
    "default",
    "-FOLD",
    "message",
];
