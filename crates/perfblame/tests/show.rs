//! What `perfblame show` prints and draws: text at any width, JSON, flame graphs, hostile names.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod run;

use expect_test::{Expect, expect};
use run::{Folder, samples};
use serde_json::Value;

const SERVER: &str = "\
main;serve;accept;sys_accept 12
main;serve;handle;parse_request;read_line 31
main;serve;handle;parse_request 9
main;serve;handle;render;alloc::vec::Vec<T>::extend_from_slice 118
main;serve;handle;render 22
main;serve;log;write 8
";

fn check(arguments: &[&str], columns: &str, expected: &Expect) {
    let folder = Folder::new();
    folder.file("server.folded", SERVER);
    let output = folder.perfblame(arguments).env("COLUMNS", columns).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    expected.assert_eq(&String::from_utf8(output.stdout).unwrap());
}

#[test]
fn a_limit_of_0_shows_all() {
    let folder = Folder::new();
    folder.file("server.folded", SERVER);
    for table in ["--functions", "--tree"] {
        let shown = |rows: &str| folder.ok(&["show", "server.folded", table, "--limit", rows]);
        assert_eq!(shown("0"), shown("1000"), "{table}");
        assert!(shown("0").contains("sys_accept"), "{table}");
    }
}

#[test]
fn show_at_80_columns() {
    check(
        &["show", "server.folded"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 11 functions in 11 contexts
              metric    samples 200
              layers    library 59.0%, application 41.0%

            `alloc::vec::Vec<T>::extend_from_slice` has the highest self cost: 59.0%, 118
            samples. Among the application's own functions, it is `read_line` with 15.5%.

            Hot path
             share  total  self  call path
            100.0%    200        main
            100.0%    200        serve
             90.0%    180        ├─ handle
             70.0%    140    22  │  ├─ render
             59.0%    118   118  │  │  alloc::vec::Vec<T>::extend_from_slice
             20.0%     40     9  │  └─ parse_request
             15.5%     31    31  │     read_line
              6.0%     12        ├─ accept
              6.0%     12    12  │  sys_accept
              4.0%      8        └─ log
              4.0%      8     8     write

            Functions
              self          total         function
             59.0%    118   59.0%    118  alloc::vec::Vec<T>::extend_from_slice
             15.5%     31   15.5%     31  read_line
             11.0%     22   70.0%    140  render
              6.0%     12    6.0%     12  sys_accept
              4.5%      9   20.0%     40  parse_request
              4.0%      8    4.0%      8  write
                           100.0%    200  main
                           100.0%    200  serve
                            90.0%    180  handle
                             6.0%     12  accept
        "#]],
    );
}

#[test]
fn show_at_200_columns() {
    check(
        &["show", "server.folded"],
        "200",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 11 functions in 11 contexts
              metric    samples 200
              layers    library 59.0%, application 41.0%

            `alloc::vec::Vec<T>::extend_from_slice` has the highest self cost: 59.0%, 118 samples. Among the
            application's own functions, it is `read_line` with 15.5%.

            Hot path
             share  total  self                call path
            100.0%    200        ████████████  main
            100.0%    200        ████████████  serve
             90.0%    180        ██████████▊   ├─ handle
             70.0%    140    22  ████████▍     │  ├─ render
             59.0%    118   118  ███████▏      │  │  alloc::vec::Vec<T>::extend_from_slice
             20.0%     40     9  ██▍           │  └─ parse_request
             15.5%     31    31  █▉            │     read_line
              6.0%     12        ▊             ├─ accept
              6.0%     12    12  ▊             │  sys_accept
              4.0%      8        ▌             └─ log
              4.0%      8     8  ▌                write

            Functions
              self                        total         function
             59.0%    118  ███████▏       59.0%    118  alloc::vec::Vec<T>::extend_from_slice
             15.5%     31  █▉             15.5%     31  read_line
             11.0%     22  █▍             70.0%    140  render
              6.0%     12  ▊               6.0%     12  sys_accept
              4.5%      9  ▌              20.0%     40  parse_request
              4.0%      8  ▌               4.0%      8  write
                                         100.0%    200  main
                                         100.0%    200  serve
                                          90.0%    180  handle
                                           6.0%     12  accept
        "#]],
    );
}

#[test]
fn functions_tree_callers_callees_root_and_task() {
    check(
        &["show", "server.folded", "--functions", "--top", "3"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 11 functions in 11 contexts
              metric    samples 200
              layers    library 59.0%, application 41.0%

            Functions
              self          total         function
             59.0%    118   59.0%    118  alloc::vec::Vec<T>::extend_from_slice
             15.5%     31   15.5%     31  read_line
             11.0%     22   70.0%    140  render
        "#]],
    );
    check(
        &["show", "server.folded", "--tree", "--min", "10"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 11 functions in 11 contexts
              metric    samples 200
              layers    library 59.0%, application 41.0%

            Call tree
             share  total  self  call path
            100.0%    200        main
            100.0%    200        serve
             90.0%    180        handle
             70.0%    140    22  ├─ render
             59.0%    118   118  │  alloc::vec::Vec<T>::extend_from_slice
             20.0%     40     9  └─ parse_request
             15.5%     31    31     read_line
                                 4 call paths below 15.5% of the total each are left out
        "#]],
    );
    check(
        &["show", "server.folded", "--callers", "alloc"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 11 functions in 11 contexts
              metric    samples 200
              layers    library 59.0%, application 41.0%

            Callers of alloc::vec::Vec<T>::extend_from_slice
            59.0% of the total (118), 59.0% self (118)
             59.0%    118  render

            Call paths to it
             share  total  self  call path
             59.0%    118        alloc::vec::Vec<T>::extend_from_slice
             59.0%    118        render
             59.0%    118        handle
             59.0%    118        serve
             59.0%    118   118  main
        "#]],
    );
    check(
        &["show", "server.folded", "--callees", "handle"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 11 functions in 11 contexts
              metric    samples 200
              layers    library 59.0%, application 41.0%

            Callees of handle
            90.0% of the total (180), 0.0% self (0)
             70.0%    140  render
             20.0%     40  parse_request

            Call paths from it
             share  total  self  call path
             90.0%    180        handle
             70.0%    140    22  ├─ render
             59.0%    118   118  │  alloc::vec::Vec<T>::extend_from_slice
             20.0%     40     9  └─ parse_request
             15.5%     31    31     read_line
        "#]],
    );
    check(
        &["show", "server.folded", "--root", "parse_request"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 2 functions in 2 contexts
              metric    samples 200
              root      parse_request, 20.0% of the total: 40

            `read_line` has the highest self cost: 77.5%, 31 samples.

            Hot path
             share  total  self  call path
            100.0%     40     9  parse_request
             77.5%     31    31  read_line

            Functions
              self          total         function
             77.5%     31   77.5%     31  read_line
             22.5%      9  100.0%     40  parse_request
        "#]],
    );
    let task = "regex:^(?<what>parse|render) as ${what}";
    check(
        &["show", "server.folded", "--task", task, "--tree"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 4 functions in 4 contexts
              metric    samples 200
              layers    library 65.6%, application 34.4%

            Tasks
             share   cost  task
             70.0%    140  render
             20.0%     40  parse

            Call tree
             share  total  self  call path
             77.8%    140    22  ├─ render
             65.6%    118   118  │  alloc::vec::Vec<T>::extend_from_slice
             22.2%     40     9  └─ parse_request
             17.2%     31    31     read_line
        "#]],
    );
    check(
        &["show", "server.folded", "--threads"],
        "80",
        &expect![[r#"
            server.folded  folded profile
              holds     200 samples, 11 functions in 11 contexts
              metric    samples 200
              layers    library 59.0%, application 41.0%

            This profile does not distinguish threads.
        "#]],
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let folder = Folder::new();
    for sample in samples() {
        for columns in ["80", "120", "200"] {
            let path = sample.to_str().unwrap();
            let mut command = folder.perfblame(&["show", path]);
            let output = command.env("COLUMNS", columns).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= columns.parse().unwrap(), "{path} at {columns}: {widest}\n{text}");
        }
    }
}

#[test]
fn json_keeps_its_contract() {
    let folder = Folder::new();
    folder.file("server.folded", SERVER);
    let show = |extra: &[&str]| -> Value {
        let arguments = [&["show", "server.folded", "--format", "json"], extra].concat();
        serde_json::from_str(&folder.ok(&arguments)).unwrap()
    };
    let json = show(&[]);
    assert_eq!(json["schema"], "perfblame.profile/1");
    assert_eq!(json["format"], "folded");
    assert_eq!((&json["runs"], &json["samples"]), (&1.into(), &200.into()));
    assert_eq!((&json["nodes"], &json["functions"]), (&11.into(), &11.into()));
    assert_eq!(json["threads"], serde_json::json!([]));
    assert_eq!(json["metrics"][0]["name"], "samples");
    assert_eq!(json["metrics"][0]["unit"], "count");
    assert_eq!(json["metrics"][0]["total"], 200);
    let hot: Vec<_> = json["hot"].as_array().unwrap().iter().map(|row| &row["function"]).collect();
    assert_eq!(hot, ["main", "serve", "handle", "render", "alloc::vec::Vec<T>::extend_from_slice"]);
    assert_eq!(json["hot"][4]["self"], 118);
    assert_eq!(json["hot"][3]["inclusive"], 140);
    assert_eq!(json["hot"][3]["share"], 0.7);
    assert_eq!(json["top"][0]["self"], 118);
    assert_eq!(json["warnings"], serde_json::json!([]));
    assert_eq!(json["tree"], Value::Null);

    let json = show(&["--tree", "--callers", "alloc", "--callees", "handle"]);
    assert_eq!(json["tree"].as_array().unwrap().len(), 11);
    assert_eq!(json["callers"]["direct"][0]["function"], "render");
    assert_eq!(json["callees"]["direct"][0]["cost"], 140);
    assert_eq!(json["callees"]["inclusive"], 180);

    let json = show(&["--root", "handle"]);
    assert_eq!((&json["total"], &json["root"]["share"]), (&180.into(), &0.9.into()));
    assert_eq!(json["hot"][0]["share"], 1.0);
}

#[test]
fn keys_come_in_one_order() {
    let folder = Folder::new();
    folder.file("server.folded", SERVER);
    let json = folder.ok(&["show", "server.folded", "--format", "json"]);
    let keys: Vec<_> = (json.lines())
        .filter_map(|line| line.strip_prefix("  \"")?.split_once('"'))
        .map(|(key, _)| key)
        .collect();
    expect!["schema format runs inputs samples nodes functions metric total metrics layers runtime hot top threads roles warnings"].assert_eq(&keys.join(" "));
}

#[test]
fn colours_only_where_they_are_wanted() {
    let folder = Folder::new();
    folder.file("server.folded", SERVER);
    assert!(!folder.ok(&["show", "server.folded"]).contains('\u{1b}'));
    assert!(folder.ok(&["show", "server.folded", "--color", "always"]).contains('\u{1b}'));
    folder.ok(&["show", "server.folded", "--color", "always", "-o", "out.txt"]);
    let text = std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert!(!text.contains('\u{1b}'));
    let forced = folder.perfblame(&["show", "server.folded"]).env("CLICOLOR_FORCE", "1").output();
    assert!(forced.unwrap().stdout.contains(&0x1b));
}

#[test]
fn a_plain_locale_gets_plain_letters() {
    let folder = Folder::new();
    folder.file("server.folded", SERVER);
    let mut command = folder.perfblame(&["show", "server.folded"]);
    let output = command.env("LANG", "C").env("COLUMNS", "200").output().unwrap();
    assert!(output.stdout.is_ascii(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn names_cannot_move_the_cursor() {
    let folder = Folder::new();
    let profile = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json",
        "shared":{"frames":[{"name":"\u001b[2J\u0007evil"}]},"profiles":[{"type":"sampled",
        "name":"main","unit":"none","startValue":0,"endValue":3,"samples":[[0]],"weights":[3]}]}"#;
    folder.file("bad.json", profile);
    let text = folder.ok(&["show", "bad.json"]);
    assert!(!text.contains('\u{1b}') && text.contains("[2J evil"), "{text}");
}

/// A page that waits most of the time: 60 samples of idle, 25 of the browser, 10 of a function, 5 of the collector.
fn waiting_page() -> String {
    let node = |id: u32, name: &str, url: &str, children: &str| {
        format!(
            r#"{{"id":{id},"callFrame":{{"functionName":"{name}","scriptId":"1","url":"{url}","lineNumber":0,"columnNumber":0}},"children":[{children}]}}"#
        )
    };
    let nodes = [
        node(1, "(root)", "", "2,3,4,5"),
        node(2, "(idle)", "", ""),
        node(3, "(program)", "", ""),
        node(4, "(garbage collector)", "", ""),
        node(5, "start", "app.js", "6"),
        node(6, "draw", "app.js", ""),
    ];
    let samples: Vec<&str> = [("2", 60), ("3", 25), ("6", 10), ("4", 5)]
        .iter()
        .flat_map(|(node, count)| std::iter::repeat_n(*node, *count))
        .collect();
    let deltas = ["1000"; 100].join(",");
    format!(
        r#"{{"nodes":[{}],"startTime":0,"endTime":101000,"samples":[{}],"timeDeltas":[{deltas}]}}"#,
        nodes.join(","),
        samples.join(",")
    )
}

#[test]
fn the_hot_path_is_code_even_on_a_page_that_waits() {
    let folder = Folder::new();
    folder.file("page.cpuprofile", waiting_page());
    let text = folder.ok(&["show", "page.cpuprofile"]);
    let told = text.split("\nFunctions").next().unwrap();
    expect![[r#"
        page.cpuprofile  cpuprofile profile by V8
          recorded  101 ms
          holds     100 samples, 5 functions in 5 contexts
          metrics   wall 100 ms (shown), samples 100
          layers    idle 60.0%, runtime 35.0%, garbage collection 5.0%

        60.0% of the time is idle, 25.0% is (program) and 5.0% is garbage collection.
        `draw` has the highest self cost: 10.0%, 10.0 ms.

        Hot path
         share    total     self  call path
         10.0%  10.0 ms           start  app.js:1
         10.0%  10.0 ms  10.0 ms  draw  app.js:1
    "#]]
    .assert_eq(told);
    let json: Value =
        serde_json::from_str(&folder.ok(&["show", "page.cpuprofile", "--format", "json"])).unwrap();
    let names = |list: &str| -> Vec<String> {
        let rows = json[list].as_array().unwrap().iter();
        rows.map(|row| row["function"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("hot"), ["start", "draw"]);
    assert_eq!(names("runtime"), ["(idle)", "(program)", "(garbage collector)"]);
    // Where there is nothing else, what there is is shown.
    folder.file(
        "idle.cpuprofile",
        waiting_page().replace("6,6,6,6,6,6,6,6,6,6", "3,3,3,3,3,3,3,3,3,3"),
    );
    let text = folder.ok(&["show", "idle.cpuprofile"]);
    assert!(text.contains("`(program)` has the highest self cost: 35.0%"), "{text}");
}

#[test]
fn every_sample_shows() {
    let folder = Folder::new();
    for sample in samples() {
        let path = sample.to_str().unwrap();
        let text = folder.ok(&["show", path]);
        assert!(text.contains(" profile"), "{path}: {text}");
        let json: Value =
            serde_json::from_str(&folder.ok(&["show", path, "--format", "json"])).unwrap();
        assert!(json["nodes"].as_u64().unwrap() > 0, "{path}");
        assert!(!json["metrics"].as_array().unwrap().is_empty(), "{path}");
    }
}

#[test]
fn flame_graphs_hold_any_name() {
    let folder = Folder::new();
    let evil = "</script><img src=x onerror=alert(1)>";
    folder.file("evil.folded", format!("main;{evil} 3\nmain;a&b \"c\" 4\n"));
    folder.ok(&["show", "-q", "evil.folded", "--flame", "f.html", "--flame", "f.svg"]);
    let html = std::fs::read_to_string(folder.path().join("f.html")).unwrap();
    assert!(!html.contains("<img"), "a name must not become markup");
    assert!(html.contains("\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e"));
    assert_eq!(html.matches("</script>").count(), 2);
    assert!(!html.contains("http://") && !html.contains("https://"), "the page needs no network");
    let svg = std::fs::read_to_string(folder.path().join("f.svg")).unwrap();
    assert!(!svg.contains("<img") && svg.contains("&lt;img"));
}
