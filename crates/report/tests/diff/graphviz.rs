//! Every answer through the real Graphviz.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::answers;
use crate::dot::dot;

/// What Graphviz draws; it must have nothing to say about the input.
fn drawn(text: &str) -> String {
    let mut graphviz = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`cargo xtask setup` installs Graphviz");
    let mut stdin = graphviz.stdin.take().unwrap();
    let text = text.to_owned();
    let feed = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = graphviz.wait_with_output().unwrap();
    feed.join().unwrap().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn graphviz_draws_every_answer() {
    for (name, diff) in answers::all() {
        let text = dot(&diff);
        let svg = drawn(&text);
        let boxes =
            text.lines().filter(|line| line.starts_with("  n") && line.contains(" [label="));
        let arrows = text.lines().filter(|line| line.contains(" -> n")).count();
        assert_eq!(svg.matches("class=\"node\"").count(), boxes.count(), "{name}");
        assert_eq!(svg.matches("class=\"edge\"").count(), arrows, "{name}");
    }
}

#[test]
fn names_come_out_as_they_are() {
    let mut diff = answers::critical_graph();
    let graph = diff.graph.as_mut().unwrap();
    graph.nodes[1].function.name = r#"a\N"b" &lt;c> {d|e} \"#.to_owned();
    let svg = drawn(&dot(&diff));
    assert!(svg.contains(r#">a\N&quot;b&quot; &amp;lt;c&gt; {d|e} \</text>"#), "{svg}");
    assert_eq!(svg.matches("fill=\"lightgrey\"").count(), 2, "two causes are filled");
}
