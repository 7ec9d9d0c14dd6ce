//! Tasks: which nodes they cover, by prefix, by expression and by hand.

use expect_test::{Expect, expect};
use perfblame_cct::{Grain, Profile, TaskDefinition, TaskError, content_ids, tasks};
use perfblame_fixtures::{any_samples, profile, profile_of};
use proptest::prelude::*;
use std::fmt::Write as _;

fn services() -> Profile {
    profile(
        "main                                     main                                     main
         com.mycompany.service.UserRegister.serve com.mycompany.service.Search.serve       com.mycompany.Other
         com.mycompany.Email.check                com.mycompany.service.UserRegister.known com.mycompany.Email.check
         regex                                    .                                        .",
    )
}

fn check_tasks(profile: &Profile, definitions: &[TaskDefinition], expected: &Expect) {
    let tasks = tasks(profile, definitions);
    let depths = profile.tree.depths();
    let mut out = String::new();
    for node in profile.tree.nodes() {
        let depth = depths[node.index()] as usize * 2;
        let labels: Vec<_> = tasks.of(node).collect();
        let _ = writeln!(out, "{:depth$}{} {labels:?}", "", profile.name_of(node));
    }
    expected.assert_eq(&out);
}

/// `[insitu]`, listing 3.4.
#[test]
fn listing_3_4_by_prefix() {
    let definition = TaskDefinition::prefix(
        "UserRegisterTask",
        "com.mycompany.service.UserRegister",
        "user-register",
    );
    check_tasks(
        &services(),
        &[definition],
        &expect![[r#"
            main []
              com.mycompany.service.UserRegister.serve ["user-register"]
                com.mycompany.Email.check ["user-register"]
                  regex ["user-register"]
              com.mycompany.service.Search.serve []
                com.mycompany.service.UserRegister.known ["user-register"]
              com.mycompany.Other []
                com.mycompany.Email.check []
        "#]],
    );
}

/// `[insitu]`, listing 3.5, with its group name that has a dash.
#[test]
fn listing_3_5_by_regular_expression() {
    let definition = TaskDefinition::pattern(
        "ServiceTask",
        r"^com.mycompany.service.(?<service-name>[^\.]+)",
        "service-${service-name}",
    );
    check_tasks(
        &services(),
        &[definition.unwrap()],
        &expect![[r#"
            main []
              com.mycompany.service.UserRegister.serve ["service-UserRegister"]
                com.mycompany.Email.check ["service-UserRegister"]
                  regex ["service-UserRegister"]
              com.mycompany.service.Search.serve ["service-Search"]
                com.mycompany.service.UserRegister.known ["service-Search", "service-UserRegister"]
              com.mycompany.Other []
                com.mycompany.Email.check []
        "#]],
    );
}

#[test]
fn by_a_node_marked_in_this_or_another_profile() {
    let profile = services();
    let node = profile.tree.nodes().nth(6).unwrap();
    let context = content_ids(&profile)[node.index()];
    let expected = expect![[r#"
        main []
          com.mycompany.service.UserRegister.serve []
            com.mycompany.Email.check []
              regex []
          com.mycompany.service.Search.serve []
            com.mycompany.service.UserRegister.known []
          com.mycompany.Other ["marked"]
            com.mycompany.Email.check ["marked"]
    "#]];
    check_tasks(&profile, &[TaskDefinition::node("Marked", node, "marked")], &expected);
    check_tasks(&profile, &[TaskDefinition::context("Marked", context, "marked")], &expected);
}

#[test]
fn definitions_as_people_type_them() {
    let profile = services();
    for (text, expected) in [
        ("com.mycompany.service.UserRegister as user-register", vec!["user-register"]),
        ("prefix:com.mycompany.Email", vec!["com.mycompany.Email"]),
        (
            "regex:^com.mycompany.service.(?<service-name>[^.]+) as ${service-name}!",
            vec!["Search!", "UserRegister!"],
        ),
        ("regex:service.(Search|Find)", vec!["service.Search"]),
        (r"regex:(?P<a_1>[(?<]|\(?<x>|mycompany)[.]O as ${a_1}-${1}", vec!["mycompany-mycompany"]),
    ] {
        let definition = TaskDefinition::parse(text).unwrap();
        assert_eq!(tasks(&profile, &[definition]).names(), expected, "{text}");
    }
}

#[test]
fn definitions_that_make_no_sense_say_why() {
    let error = |pattern, name| TaskDefinition::pattern("Task", pattern, name).unwrap_err();
    assert_eq!(error("(?<a-b>x)", "${a-c}"), TaskError::UnknownGroup("a-c".to_owned()));
    assert_eq!(error("(?<a-b>x)", "${a-b"), TaskError::OpenGroup);
    assert!(matches!(error("(?<a-b>x", "a"), TaskError::Pattern(_)));
    assert_eq!(
        error("x", "${1}").to_string(),
        "the task's name uses ${1}, but the expression has no such group"
    );
}

proptest! {
    #[test]
    fn children_inherit_and_roots_are_highest(samples in any_samples()) {
        let profile = profile_of(&samples, Grain::Functions);
        let definitions = ["b", "c"].map(|name| TaskDefinition::prefix(name, name, name));
        let tasks = tasks(&profile, &definitions);
        for node in profile.tree.nodes() {
            let expected: std::collections::BTreeSet<_> = profile.tree.ancestors(node)
                .map(|above| profile.name_of(above))
                .filter(|name| ["b", "c"].contains(name))
                .collect();
            prop_assert_eq!(tasks.of(node).collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
        let scope = tasks.scope(&["b", "c"]);
        let roots = scope.roots(&profile);
        for node in profile.tree.nodes() {
            let above = roots.iter().filter(|root| profile.tree.contains(**root, node)).count();
            prop_assert_eq!(above, usize::from(scope.contains(node)));
        }
    }
}
