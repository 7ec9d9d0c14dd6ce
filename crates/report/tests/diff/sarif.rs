//! SARIF: one result per suspect, places that are URIs, messages without placeholders.

use expect_test::expect;
use perfblame_analysis::Diff;
use perfblame_report::diff_sarif;
use serde_json::Value;

use crate::answers;

fn sarif(diff: &Diff) -> Value {
    let mut out = Vec::new();
    diff_sarif(diff, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn run(diff: &Diff) -> Value {
    sarif(diff)["runs"][0].clone()
}

#[test]
fn a_slowdown() {
    let run = run(&answers::regressed());
    let first = serde_json::to_string_pretty(&run["results"][0]).unwrap();
    expect![[r#"
        {
          "level": "error",
          "locations": [
            {
              "logicalLocations": [
                {
                  "fullyQualifiedName": "layer.js::utf",
                  "kind": "function",
                  "name": "utf"
                }
              ],
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/layer.js"
                },
                "region": {
                  "endLine": 141,
                  "startLine": 120
                }
              }
            }
          ],
          "message": {
            "text": "utf: +1.92 s (0 s → 1.92 s), 87 % of the slowdown, new; +1.84 s to +2.00 s with 95 % confidence, p = 0.008; in 2 contexts."
          },
          "partialFingerprints": {
            "perfblameContext/v1": "828c7dc9ea2e9963"
          },
          "properties": {
            "after": 1920000000,
            "before": 0,
            "contexts": 2,
            "delta": 1920000000,
            "pValue": 0.008,
            "share": 0.87
          },
          "rank": 87.0,
          "relatedLocations": [
            {
              "id": 0,
              "message": {
                "text": "modified utf in abc123: the function itself, with a new loop"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/layer.js"
                },
                "region": {
                  "endLine": 141,
                  "startLine": 120
                }
              }
            }
          ],
          "ruleId": "perfblame/new",
          "ruleIndex": 2,
          "stacks": [
            {
              "frames": [
                {
                  "location": {
                    "logicalLocations": [
                      {
                        "fullyQualifiedName": "layer.js::utf",
                        "kind": "function",
                        "name": "utf"
                      }
                    ],
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "layer.js"
                      },
                      "region": {
                        "startLine": 120
                      }
                    }
                  },
                  "module": "layer.js"
                },
                {
                  "location": {
                    "logicalLocations": [
                      {
                        "fullyQualifiedName": "layer.js::layer",
                        "kind": "function",
                        "name": "layer"
                      }
                    ],
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "layer.js"
                      },
                      "region": {
                        "startLine": 77
                      }
                    }
                  },
                  "module": "layer.js"
                },
                {
                  "location": {
                    "logicalLocations": [
                      {
                        "fullyQualifiedName": "source.js::query",
                        "kind": "function",
                        "name": "query"
                      }
                    ],
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "source.js"
                      },
                      "region": {
                        "startLine": 9
                      }
                    }
                  },
                  "module": "source.js"
                },
                {
                  "location": {
                    "logicalLocations": [
                      {
                        "fullyQualifiedName": "map.js::rendered",
                        "kind": "function",
                        "name": "rendered"
                      }
                    ],
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "map.js"
                      },
                      "region": {
                        "startLine": 112
                      }
                    }
                  },
                  "module": "map.js"
                },
                {
                  "location": {
                    "logicalLocations": [
                      {
                        "fullyQualifiedName": "map.js::queryRenderedFeatures",
                        "kind": "function",
                        "name": "queryRenderedFeatures"
                      }
                    ],
                    "physicalLocation": {
                      "artifactLocation": {
                        "uri": "map.js"
                      },
                      "region": {
                        "startLine": 41
                      }
                    }
                  },
                  "module": "map.js"
                },
                {
                  "location": {
                    "logicalLocations": [
                      {
                        "fullyQualifiedName": "(root)",
                        "kind": "function",
                        "name": "(root)"
                      }
                    ]
                  }
                }
              ],
              "message": {
                "text": "Call path, innermost first."
              }
            }
          ]
        }"#]].assert_eq(&first);
    assert_eq!(run["results"].as_array().unwrap().len(), 3);
    assert_eq!(run["results"][1]["ruleId"], "perfblame/more-calls");
    for result in run["results"].as_array().unwrap() {
        let rule = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
    }
    let note = &run["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(note["message"]["text"], "three runs on each side are few");
}

#[test]
fn the_verdict_decides_the_level() {
    let level = |diff: &Diff| run(diff)["results"][0]["level"].clone();
    assert_eq!(level(&answers::regressed()), "error");
    assert_eq!(level(&answers::inconclusive()), "warning");
    assert_eq!(level(&answers::unchanged()), Value::Null);
}

#[test]
fn other_methods_have_results_too() {
    let graph = run(&answers::critical_graph());
    let text = |run: &Value, row: usize| run["results"][row]["message"]["text"].clone();
    assert_eq!(text(&graph, 0), "utf: +140 ms (0 s → 140 ms), new.");
    assert_eq!(text(&graph, 1), "tick: +60.0 ms (10.0 ms → 70.0 ms), slower.");
    assert_eq!(graph["results"][0]["stacks"][0]["frames"].as_array().unwrap().len(), 4);
    let mut paths = answers::paths();
    let slowest = "Path 1 by difference: +140 ms; its slowest function is fsync, 130 ms.";
    assert_eq!(text(&run(&paths), 0), slowest);
    paths.paths = vec![paths.paths[0].clone(); 130];
    let many = run(&paths);
    assert_eq!(many["results"].as_array().unwrap().len(), 100);
    let note = &many["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(note["message"]["text"], "30 paths left out; `--format json` shows all");
}

#[test]
fn places_are_uris_and_messages_plain() {
    let mut evil = answers::evil();
    evil.suspects[0].notes.push("core::ops::{{closure}}[0](x)".to_owned());
    let result = &run(&evil)["results"][0];
    let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(*uri, "dir%20with%20space/%3C%C3%BC%3E%7C%25%1B%22%5E.js");
    let text = result["message"]["text"].as_str().unwrap();
    assert!(text.contains("core::ops::{{{{closure}}}}[0\\](x)"), "{text}");
    assert!(!text.contains('\u{1b}'));
}
