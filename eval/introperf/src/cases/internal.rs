//! Causes within programs, triggered by what they are asked to do. All programs are as Debian ships them: stripped,
//! with names only for what they export.

use super::PLAIN;
use crate::case::{Case, Truth};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "jq-indices",
        program: "jq",
        what: "looks for a long array in a longer one",
        packages: &["jq"],
        truth: Truth {
            object: "libjq.so",
            functions: &["jv_array_indexes"],
            why: "compares every element of the one at every place of the other, also after the first difference",
        },
        base: &[
            "/usr/bin/jq",
            "-n",
            "-c",
            "[range(6000) % 7] as $a | [range(4) % 7] as $b | ($a | indices($b) | length), $a[0:300][]",
        ],
        buggy: &[
            "/usr/bin/jq",
            "-n",
            "-c",
            "[range(6000) % 7] as $a | [range(700) % 7] as $b | ($a | indices($b) | length), $a[0:300][]",
        ],
        ..PLAIN
    },
    Case {
        name: "python-digits",
        program: "python3",
        what: "reads one number of 400,000 digits instead of many short ones",
        packages: &["python3"],
        truth: Truth {
            object: "python3",
            functions: &["PyLong_FromString"],
            why: "the time to read a number grows with the square of its digits, within this function alone",
        },
        prepare: r"cat > base.py <<'END'
import sys
sys.set_int_max_str_digits(0)
text = '7' * 400000
print(sum(int(text[at:at + 400]) for at in range(0, len(text), 400)) % 1000003)
END
sed 's/at + 400/at + len(text)/; s/len(text), 400/len(text), len(text)/' base.py > buggy.py",
        base: &["/usr/bin/python3.11", "-I", "base.py"],
        buggy: &["/usr/bin/python3.11", "-I", "buggy.py"],
        ..PLAIN
    },
    Case {
        name: "perl-backtrack",
        program: "perl",
        what: "a regular expression that backtracks",
        packages: &["perl-base"],
        truth: Truth {
            object: "perl",
            functions: &["Perl_regexec_flags"],
            why: "\\w*\\w*\\w*\\w*$ is tried in all ways on a line whose end does not match, \\w[\\w\\s]*$ in few",
        },
        prepare: r#"awk 'BEGIN { for (i = 0; i < 3000; i++) print "line " i " of a log that ends well" }' > lines
awk 'BEGIN { for (i = 0; i < 8; i++) { for (n = 0; n < 220; n++) printf "a"; print "!" } }' >> lines"#,
        base: &[
            "/usr/bin/perl",
            "-ne",
            "$n++ if /^\\w[\\w\\s]*$/; END { print \"$n\\n\" }",
            "lines",
        ],
        buggy: &[
            "/usr/bin/perl",
            "-ne",
            "$n++ if /^\\w*\\w*\\w*\\w*$/; END { print \"$n\\n\" }",
            "lines",
        ],
        ..PLAIN
    },
    Case {
        name: "bash-array",
        program: "bash",
        what: "elements of an array out of order",
        packages: &["bash"],
        truth: Truth {
            object: "bash",
            functions: &["array_reference"],
            why: "arrays are linked lists: the next element is found at once, any other by walking there",
        },
        prepare: r"cat > base.sh <<'END'
declare -a a
for ((i = 0; i < 40000; i++)); do a[i]=$i; done
n=0
for ((i = 0; i < 30000; i++)); do ((n += a[i])); done
echo $n
END
sed 's/a\[i\]))/a[(i * 7919 + 13007) % 40000]))/' base.sh > buggy.sh",
        base: &["/bin/bash", "base.sh"],
        buggy: &["/bin/bash", "buggy.sh"],
        ..PLAIN
    },
    Case {
        name: "redis-keys",
        program: "redis-server",
        what: "KEYS with a pattern instead of GET",
        packages: &["redis-tools"],
        truth: Truth {
            object: "redis-check-rdb",
            functions: &["keysCommand"],
            why: "KEYS walks all keys and matches each; its threads for background work have nothing to do",
        },
        prepare: r#"ln -sf /usr/bin/redis-check-rdb redis-server
awk 'BEGIN { for (i = 0; i < 300; i++) print "GET key:" i }' > base.txt
awk 'BEGIN { for (i = 0; i < 300; i++) print i % 15 == 0 ? "KEYS key:*99?7*1" : "GET key:" i }' > buggy.txt"#,
        base: REDIS,
        buggy: REDIS,
        client: Some(ask_redis!(
            r"redis-cli -s redis.sock debug populate 60000 key 8 >/dev/null
redis-cli -s redis.sock < $SIDE.txt > $SIDE.out"
        )),
        ..PLAIN
    },
    Case {
        name: "nginx-map",
        program: "nginx",
        what: "a map of 6,000 regular expressions instead of 6,000 names",
        packages: &["nginx"],
        truth: Truth {
            object: "nginx",
            functions: &["ngx_http_map_find"],
            why: "a map tries its regular expressions one by one, and looks names up in a hash table",
        },
        prepare: r#"mkdir -p logs
for side in base buggy; do
awk -v side=$side -v dir="$PWD" 'BEGIN {
  print "daemon off; master_process off; pid " dir "/nginx.pid; error_log " dir "/error.log;"
  print "events { worker_connections 64; }"
  print "http { access_log off; map_hash_max_size 16384; map_hash_bucket_size 128;"
  print "map $uri $target { default none;"
  for (i = 0; i < 6000; i++) if (side == "base") print "/old/" i " new" i ";"; else print "~^/old/.*" i "$ new" i ";"
  print "} server { listen 127.0.0.1:18741; location / { return 200 \"$target\\n\"; } } }" }' > $side.conf
done
for i in $(seq 0 239); do echo "url = http://127.0.0.1:18741/old/page$i.html"; done > urls"#,
        base: &["/usr/sbin/nginx", "-p", ".", "-c", "{side}.conf"],
        buggy: &["/usr/sbin/nginx", "-p", ".", "-c", "{side}.conf"],
        client: Some(
            r"for i in $(seq 100); do curl -s http://127.0.0.1:18741/ >/dev/null && break; sleep 0.05; done
curl -s -K urls > $SIDE.out
kill -QUIT $(cat nginx.pid)",
        ),
        ..PLAIN
    },
    Case {
        name: "xmllint-axis",
        program: "xmllint",
        what: "an XPath that looks at everything that follows",
        packages: &["libxml2-utils"],
        truth: Truth {
            object: "libxml2.so",
            functions: &["xmlXPathNextFollowing"],
            why: "following:: walks to the end of the document for each element, following-sibling::*[1] one step",
        },
        prepare: r#"awk 'BEGIN { print "<r>"; for (i = 0; i < 6000; i++) print "<i n=\"" i "\"><t>" i "</t></i>"; print "</r>" }' > list.xml"#,
        base: &["/usr/bin/xmllint", "--xpath", "count(//i[following-sibling::*[1]])", "list.xml"],
        buggy: &["/usr/bin/xmllint", "--xpath", "count(//i[following::none])", "list.xml"],
        ..PLAIN
    },
    Case {
        name: "bzip2-repeats",
        program: "bzip2",
        what: "compresses data that repeats itself",
        packages: &["bzip2"],
        truth: Truth {
            object: "libbz2.so",
            functions: &["BZ2_blockSort"],
            why: "sorting all rotations of a block takes longest when they hardly differ",
        },
        prepare: r#"awk 'BEGIN { srand(7); for (i = 0; i < 60000; i++) printf "%s%c", int(rand() * 1000000), 97 + i % 23 }' | head -c 400000 > base.txt
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "abcdefghij" }' | head -c 400000 > part
cat part part part part part part part part part > buggy.txt"#,
        base: &["/bin/bzip2", "-k", "-f", "-9", "base.txt"],
        buggy: &["/bin/bzip2", "-k", "-f", "-9", "buggy.txt"],
        ..PLAIN
    },
    Case {
        name: "magick-median",
        program: "convert",
        what: "a median of 13 × 13 points instead of 3 × 3, in three threads",
        packages: &["imagemagick-6.q16"],
        truth: Truth {
            object: "libMagickCore",
            functions: &["StatisticImageChannel"],
            why: "the work grows with the points around each point, all of it in this function and its parallel part",
        },
        base: &[
            "/usr/bin/convert-im6.q16",
            "-size",
            "180x180",
            "plasma:fractal",
            "-statistic",
            "Median",
            "3x3",
            "base.png",
        ],
        buggy: &[
            "/usr/bin/convert-im6.q16",
            "-size",
            "180x180",
            "plasma:fractal",
            "-statistic",
            "Median",
            "13x13",
            "buggy.png",
        ],
        environment: &[("OMP_NUM_THREADS", "3"), ("MAGICK_THREAD_LIMIT", "3")],
        ..PLAIN
    },
];

const REDIS: &[&str] = redis!["--enable-debug-command", "yes"];
