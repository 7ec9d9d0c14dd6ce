//! Cases that were added when everything was done, and after which nothing was changed: the rules that tell waiting for
//! work from waiting within work were made with the other cases at hand.

use super::PLAIN;
use crate::case::{Case, Cause, Plugin, Truth};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ruby-include",
        program: "ruby",
        what: "looks for words in an array instead of a hash",
        packages: &["ruby"],
        truth: Truth {
            object: "libruby-3.1.so",
            functions: &["rb_ary_includes"],
            why: "an array is compared element by element",
        },
        prepare: r#"cat > base.rb <<'END'
words = (0...4000).map { |i| "word#{i * 7919 % 100003}" }
known = words.to_h { |word| [word, true] }
n = 0
3000.times { |i| n += 1 if known.include?("word#{i}") }
puts n
END
sed 's/^known = .*/known = words/' base.rb > buggy.rb"#,
        base: &["/usr/bin/ruby3.1", "--disable-gems", "base.rb"],
        buggy: &["/usr/bin/ruby3.1", "--disable-gems", "buggy.rb"],
        ..PLAIN
    },
    Case {
        name: "redis-lpos",
        program: "redis-server",
        what: "LPOS of a missing element in a long list instead of LINDEX",
        packages: &["redis-tools"],
        truth: Truth {
            object: "redis-check-rdb",
            functions: &["lposCommand"],
            why: "LPOS compares every element of the list",
        },
        prepare: r#"ln -sf /usr/bin/redis-check-rdb redis-server
awk 'BEGIN { for (i = 0; i < 200; i++) { printf "RPUSH list"; for (n = 0; n < 200; n++) printf " item-%d-%d", i, n; print "" } }' > fill.txt
awk 'BEGIN { for (i = 0; i < 200; i++) print "LINDEX list " i }' > base.txt
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 4 == 0 ? "LPOS list nothing" : "LINDEX list " i }' > buggy.txt"#,
        base: REDIS,
        buggy: REDIS,
        client: Some(ask_redis!(
            r"redis-cli -s redis.sock < fill.txt > /dev/null
redis-cli -s redis.sock < $SIDE.txt > $SIDE.out"
        )),
        ..PLAIN
    },
    Case {
        name: "bzip2-preload",
        program: "bzip2",
        what: "a library loaded first that sleeps at each write",
        packages: &["bzip2"],
        cause: Cause::Injected("sleep"),
        truth: Truth { object: "metered.so", functions: &["metered_note"], why: "made slow" },
        plugin: Some(Plugin {
            object: "metered.so",
            source: ("metered.c", include_str!("../../plugins/metered.c")),
            flags: "",
            stripped: false,
        }),
        prepare: r#"awk 'BEGIN { srand(2); for (i = 0; i < 120000; i++) printf "%x ", int(rand() * 70000) }' > numbers"#,
        base: &["/bin/bzip2", "-k", "-f", "numbers"],
        buggy: &["/bin/bzip2", "-k", "-f", "numbers"],
        environment: &[("LD_PRELOAD", "./{side}/metered.so")],
        ..PLAIN
    },
];

const REDIS: &[&str] = redis![];
