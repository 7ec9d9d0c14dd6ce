//! JSON: the contract's fields, whole numbers, names as they are.

use expect_test::expect;
use perfblame_analysis::Diff;
use perfblame_report::diff_json;
use serde_json::Value;

use crate::answers;

pub fn json(diff: &Diff) -> Value {
    serde_json::from_str(&text(diff)).unwrap()
}

fn text(diff: &Diff) -> String {
    let mut out = Vec::new();
    diff_json(diff, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_slowdown_as_json() {
    expect![[r#"
        {
          "schema": "perfblame.diff/1",
          "method": "suspects",
          "metric": {
            "name": "wall",
            "unit": "ns"
          },
          "verdict": "regressed",
          "before": {
            "runs": 3,
            "total": {
              "median": 4100000000,
              "low": 4080000000,
              "high": 4190000000
            },
            "totals": [
              4080000000,
              4100000000,
              4190000000
            ],
            "inputs": [
              "old/run-1.json",
              "old/run-2.json",
              "old/run-3.json"
            ]
          },
          "after": {
            "runs": 3,
            "total": {
              "median": 6300000000,
              "low": 6290000000,
              "high": 6310000000
            },
            "totals": [
              6310000000,
              6290000000,
              6300000000
            ],
            "inputs": [
              "new/run-1.json",
              "new/run-2.json",
              "new/run-3.json"
            ]
          },
          "change": {
            "median": 2200000000,
            "low": 2070000000,
            "high": 2330000000
          },
          "p_value": 0.0042,
          "threshold": 40000000,
          "suspects": [
            {
              "rank": 1,
              "function": "utf",
              "component": "layer.js",
              "layer": "application",
              "line": 120,
              "kind": "new",
              "path": [
                {
                  "function": "(root)",
                  "component": null,
                  "layer": "application",
                  "line": null
                },
                {
                  "function": "queryRenderedFeatures",
                  "component": "map.js",
                  "layer": "application",
                  "line": 41
                },
                {
                  "function": "rendered",
                  "component": "map.js",
                  "layer": "application",
                  "line": 112
                },
                {
                  "function": "query",
                  "component": "source.js",
                  "layer": "application",
                  "line": 9
                },
                {
                  "function": "layer",
                  "component": "layer.js",
                  "layer": "application",
                  "line": 77
                },
                {
                  "function": "utf",
                  "component": "layer.js",
                  "layer": "application",
                  "line": 120
                }
              ],
              "contexts": 2,
              "before": 0,
              "after": 1920000000,
              "delta": 1920000000,
              "interval": [
                1843200000,
                1996800000
              ],
              "p_value": 0.008,
              "share": 0.87,
              "runs": {
                "before": [
                  0,
                  0,
                  0
                ],
                "after": [
                  1881600000,
                  1920000000,
                  1977600000
                ]
              },
              "changes": [
                {
                  "kind": "modified",
                  "function": "utf",
                  "file": "src/layer.js",
                  "lines": [
                    120,
                    141
                  ],
                  "commit": "abc123",
                  "hunks": [
                    "@@ -110,0 +120,22 @@"
                  ],
                  "title": "Read names as UTF-8",
                  "why": "the function itself, with a new loop",
                  "score": 1.0
                }
              ]
            },
            {
              "rank": 2,
              "function": "(anonymous)",
              "component": "loop.js",
              "layer": "application",
              "line": 19,
              "kind": "more-calls",
              "path": [
                {
                  "function": "(root)",
                  "component": null,
                  "layer": "application",
                  "line": null
                },
                {
                  "function": "tick",
                  "component": "loop.js",
                  "layer": "application",
                  "line": 5
                },
                {
                  "function": "(anonymous)",
                  "component": "loop.js",
                  "layer": "application",
                  "line": 19
                }
              ],
              "contexts": 1,
              "before": 110000000,
              "after": 310000000,
              "delta": 200000000,
              "interval": [
                192000000,
                208000000
              ],
              "p_value": 0.008,
              "share": 0.09,
              "runs": {
                "before": [
                  107800000,
                  110000000,
                  113300000
                ],
                "after": [
                  303800000,
                  310000000,
                  319300000
                ]
              },
              "calls": {
                "before": 12.0,
                "after": 31.0
              },
              "changes": []
            },
            {
              "rank": 3,
              "function": "parse",
              "component": "lib/parse.js",
              "layer": "application",
              "line": 3,
              "kind": "slower",
              "path": [
                {
                  "function": "(root)",
                  "component": null,
                  "layer": "application",
                  "line": null
                },
                {
                  "function": "load",
                  "component": "io.js",
                  "layer": "application",
                  "line": 1
                },
                {
                  "function": "parse",
                  "component": "lib/parse.js",
                  "layer": "application",
                  "line": 3
                }
              ],
              "contexts": 1,
              "before": 400000000,
              "after": 466000000,
              "delta": 66000000,
              "interval": [
                63360000,
                68640000
              ],
              "p_value": null,
              "share": 0.03,
              "runs": {
                "before": [
                  392000000,
                  400000000,
                  412000000
                ],
                "after": [
                  456680000,
                  466000000,
                  479980000
                ]
              },
              "was": {
                "function": "parseHeader",
                "component": "lib/parse.js",
                "layer": "application",
                "line": 3
              },
              "notes": [
                "matched by its callees, 80 % sure"
              ],
              "changes": []
            }
          ],
          "improvements": [
            {
              "rank": 1,
              "function": "poll",
              "component": "loop.js",
              "layer": "application",
              "line": 44,
              "kind": "gone",
              "path": [
                {
                  "function": "(root)",
                  "component": null,
                  "layer": "application",
                  "line": null
                },
                {
                  "function": "tick",
                  "component": "loop.js",
                  "layer": "application",
                  "line": 5
                },
                {
                  "function": "poll",
                  "component": "loop.js",
                  "layer": "application",
                  "line": 44
                }
              ],
              "contexts": 1,
              "before": 44000000,
              "after": 0,
              "delta": -44000000,
              "interval": [
                -45760000,
                -42240000
              ],
              "p_value": 0.008,
              "share": 0.02,
              "runs": {
                "before": [
                  43120000,
                  44000000,
                  45320000
                ],
                "after": [
                  0,
                  0,
                  0
                ]
              },
              "changes": []
            }
          ],
          "moved": [
            {
              "rank": 1,
              "function": "read",
              "component": "io.js",
              "layer": "application",
              "line": 30,
              "kind": "moved",
              "path": [
                {
                  "function": "(root)",
                  "component": null,
                  "layer": "application",
                  "line": null
                },
                {
                  "function": "load",
                  "component": "io.js",
                  "layer": "application",
                  "line": 1
                },
                {
                  "function": "read",
                  "component": "io.js",
                  "layer": "application",
                  "line": 30
                }
              ],
              "contexts": 1,
              "before": 5000000,
              "after": 61000000,
              "delta": 56000000,
              "interval": [
                53760000,
                58240000
              ],
              "p_value": 0.008,
              "share": 0.0,
              "runs": {
                "before": [
                  4900000,
                  5000000,
                  5150000
                ],
                "after": [
                  59780000,
                  61000000,
                  62830000
                ]
              },
              "changes": []
            }
          ],
          "minor": {
            "functions": 4,
            "delta": 7000000
          },
          "runtime": [
            {
              "function": "(garbage collector)",
              "component": null,
              "layer": "garbage collection",
              "line": null,
              "before": 210000000,
              "after": 231000000,
              "delta": 21000000
            },
            {
              "function": "(idle)",
              "component": null,
              "layer": "idle",
              "line": null,
              "before": 900000000,
              "after": 880000000,
              "delta": -20000000
            }
          ],
          "unexplained": 3000000,
          "noticed": 0.031,
          "functions": [
            {
              "function": "utf",
              "component": "layer.js",
              "layer": "application",
              "line": 120,
              "before": 0,
              "after": 1920000000,
              "delta": 1920000000
            },
            {
              "function": "(anonymous)",
              "component": "loop.js",
              "layer": "application",
              "line": 19,
              "before": 110000000,
              "after": 310000000,
              "delta": 200000000
            },
            {
              "function": "(garbage collector)",
              "component": null,
              "layer": "garbage collection",
              "line": null,
              "before": 210000000,
              "after": 231000000,
              "delta": 21000000
            },
            {
              "function": "poll",
              "component": "loop.js",
              "layer": "application",
              "line": 44,
              "before": 44000000,
              "after": 0,
              "delta": -44000000
            }
          ],
          "functions_left": {
            "functions": 31,
            "delta": 12000000
          },
          "warnings": [
            {
              "code": "few-runs",
              "message": "three runs on each side are few",
              "count": 1
            }
          ]
        }
    "#]]
    .assert_eq(&text(&answers::regressed()));
}

#[test]
fn a_critical_graph_as_json() {
    expect![[r#"{"nodes":[{"after":560000000,"before":400000000,"cause":false,"component":null,"delta":160000000,"function":"(root)","id":0,"layer":"application","line":null,"new":false,"parent":null},{"after":250000000,"before":100000000,"cause":false,"component":"map.js","delta":150000000,"function":"queryRenderedFeatures","id":1,"layer":"application","line":41,"new":false,"parent":0},{"after":205000000,"before":60000000,"cause":false,"component":"layer.js","delta":145000000,"function":"layer","id":2,"layer":"application","line":77,"new":false,"parent":1},{"after":140000000,"before":0,"cause":true,"component":"layer.js","delta":140000000,"function":"utf","id":3,"layer":"application","line":120,"new":true,"parent":2},{"after":70000000,"before":10000000,"cause":true,"component":"loop.js","delta":60000000,"function":"tick","id":4,"layer":"application","line":5,"new":false,"parent":0}],"pruned":3,"threshold":50000000}"#]].assert_eq(&json(&answers::critical_graph())["graph"].to_string());
}

#[test]
fn ranked_paths_as_json() {
    expect![[r#"{"cost":20000000,"functions":[{"component":"app","delta":0,"function":"main","latency":500000,"layer":"application","line":null,"rank":2},{"component":"libc.so.6","delta":20000000,"function":"read","latency":30000000,"layer":"application","line":null,"rank":1}],"new":false,"rank":2}"#]].assert_eq(&json(&answers::paths())["paths"][1].to_string());
}

#[test]
fn names_and_fractions_survive() {
    let answer = answers::evil();
    let json = json(&answer);
    assert_eq!(json["suspects"][0]["function"], *answer.suspects[0].function.name);
    assert_eq!(json["suspects"][0]["path"].as_array().unwrap().len(), 300);
    assert_eq!(json["before"]["total"]["median"], 20.0);
    assert_eq!(json["change"]["low"], Value::Null, "an interval without an end");
}

#[test]
fn parts_of_other_methods_are_left_out() {
    let suspects = json(&answers::regressed());
    assert!(suspects.get("graph").is_none() && suspects.get("paths").is_none());
    assert!(json(&answers::critical_graph()).get("paths").is_none());
    let mut nothing = answers::paths();
    nothing.paths.clear();
    assert_eq!(json(&nothing)["paths"], Value::Array(Vec::new()));
}

#[test]
fn the_delta_is_the_difference_of_what_is_printed() {
    let mut answer = answers::regressed();
    (answer.suspects[0].before, answer.suspects[0].after) = (10.5, 21.4);
    answer.suspects[0].delta = answers::estimate(10.9, 1.0);
    let first = &json(&answer)["suspects"][0];
    assert_eq!([&first["before"], &first["after"], &first["delta"]], [11, 21, 10]);
}

#[test]
fn stages_are_as_the_contract_says() {
    let found = json(&answers::stages());
    for list in ["added", "deleted", "modified", "side_effects"] {
        for row in found["stages"][list].as_array().unwrap() {
            for field in ["path", "nodes", "cost", "reason", "candidates"] {
                assert!(row.get(field).is_some(), "{list}.{field}");
            }
        }
    }
    assert_eq!(found["overlap"], serde_json::json!({ "calls": 0.99, "mean": 0.95, "total": 0.9 }));
    assert_eq!(found["common_tree"]["nodes"], 90);
    assert_eq!(found["score"], 57.1);
    assert_eq!(found["weights"][0]["delta"], 30_000_000);
    assert!(json(&answers::paths()).get("stages").is_none());
}
