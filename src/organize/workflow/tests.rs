//! Invalid workflows, with the position of each error.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{Argument, Does, OnError, ToolFacts, Tools, read};

/// A tool that reads and one that writes.
struct Two;

impl Tools for Two {
    fn find(&self, name: &str) -> Option<ToolFacts> {
        let argument = |name: &str, required| Argument {
            name: name.to_owned(),
            required,
            aliases: Vec::new(),
        };
        match name {
            "read_file" => Some(ToolFacts {
                changes: false,
                arguments: vec![argument("path", true), argument("start_line", false)],
            }),
            "write_file" => Some(ToolFacts {
                changes: true,
                arguments: vec![argument("path", true), argument("content", true)],
            }),
            _ => None,
        }
    }

    fn names(&self) -> Vec<String> {
        vec!["read_file".to_owned(), "write_file".to_owned()]
    }

    fn planner(&self) -> Option<String> {
        None
    }

    fn fits(&self, _: &str, argument: &str, value: &Json) -> Result<(), String> {
        match argument {
            "start_line" if !value.is_number() => Err("it has to be a number".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The faults of a text, each as `line:column message (hint)`.
fn faults(text: &str) -> String {
    let found = read(text, &Two).expect_err(text);
    let one = |fault: &crate::bases::diagnostic::Diagnostic| {
        let hint = fault.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}:{} {}{hint}", fault.line, fault.column, fault.message)
    };
    found.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[test]
fn errors_have_their_place() {
    let text = "\
id: broken
inputs: {folder: Inbox}
steps:
  - id: a
    tool: reed_file
    input: {path: a.md}
  - id: b
    tool: read_file
    input:
      pth: a.md
      start_line: soon
    on_error: ignore
  - id: c
    tool: write_file
    depends_on: [a, nowhere]
    input:
      path: '{{inputs.foldr}}/{{steps.bb.data.path}}'
      content: '{{status}} {{file.name}} {{item}} {{nwo()}}'
    timeout: soon
    when: (1
  - id: a
    ask: 'Go on?'
    tool: read_file
  - when: steps.length > 1
  - ask: Sure?
    timeout: 1m
";
    insta::assert_snapshot!(faults(text), @"
    5:11 there is no tool `reed_file` (did you mean `read_file`?)
    10:7 `read_file` takes no `pth` (did you mean `path`?)
    11:19 `read_file` does not accept this `start_line`: it has to be a number
    12:15 `on_error` is `stop` or `continue`
    15:21 there is no step `nowhere` (the steps are `a`, `b`, `c`, `a`, `step_5`, `step_6`)
    17:23 the workflow has no input `foldr` (did you mean `folder`?)
    17:39 there is no step `bb` (the steps are `a`, `b`, `c`, `a`, `step_5`, `step_6`)
    18:19 a workflow has no `status` (expressions of a workflow read `inputs`, `steps` and `item`; a text needs quotes)
    18:30 a workflow has no `file`: it belongs to no note (expressions of a workflow read `inputs`, `steps` and `item`)
    18:44 there is no `item` here (add `for_each` to the step; `item` is each element of it)
    18:53 there is no function `nwo` (did you mean `now`?)
    19:14 `timeout` has to be a length of time (write `30s`, `5m` or `1h`)
    20:11 this `(` is not closed (write `)` after its content)
    21:9 there are two steps `a` (give each a name of its own)
    23:5 the step `a` does two things (make two steps of it)
    24:5 the step `step_5` does nothing (name what it does: `tool: read_file`, `model: …`, `ask: …` or `rules: …`)
    24:17 there is no step `length` (the steps are `a`, `b`, `c`, `a`, `step_5`, `step_6`)
    26:14 a question waits until it is answered (leave `timeout` out: nothing is held up while it waits)
    ");
}

#[test]
fn a_cycle_is_named() {
    let step = |id: &str, before: &str| {
        format!(
            "  - id: {id}\n    tool: read_file\n    depends_on: {before}\n    input: {{path: a}}\n"
        )
    };
    let text = format!("id: x\nsteps:\n{}{}{}", step("a", "c"), step("b", "a"), step("c", "b"));
    assert_eq!(
        faults(&text),
        "5:17 steps depend on each other: a → c → b → a (remove one of these references)"
    );
    let own =
        "id: x\nsteps:\n  - {id: a, tool: read_file, input: {path: '{{steps.a.data.path}}'}}\n";
    assert_eq!(
        faults(own),
        "3:53 steps depend on each other: a → a (remove one of these references)"
    );
}

#[test]
fn json_is_read_too_and_results_that_are_used_are_dependencies() {
    let text = json!({
        "id": "x",
        "steps": [
            { "id": "write", "tool": "write_file", "input": { "path": "b.md", "content": "{{steps.step_2.text}}" } },
            { "tool": "read_file", "input": { "path": "a.md" }, "timeout": "1m", "on_error": "continue" },
            { "id": "ask", "ask": "{{steps.write.data.path}}?", "input": { "choices": ["yes", "no"] } },
        ],
    });
    let workflow = read(&text.to_string(), &Two).expect("a workflow");
    let needs: Vec<_> = workflow.steps.iter().map(|step| step.depends_on.clone()).collect();
    assert_eq!(needs, [vec![1], vec![], vec![0]]);
    assert_eq!(workflow.steps[1].id, "step_2");
    assert_eq!(workflow.steps[1].timeout.map(|limit| limit.as_secs()), Some(60));
    assert_eq!(workflow.steps[1].on_error, OnError::Continue);
    assert!(matches!(&workflow.steps[2].does, Does::Ask { choices, .. } if choices.len() == 2));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "id: x\n", "steps:\n", "  - ", "tool: read_file\n", "    ", "input: ", "{path: ", "'{{", "}}'", "steps.a",
                ".data", "when: ", "ask: é\n", "for_each: ", "[", "]", "}", "depends_on: a\n", "id: a\n", "\n", "{{item}}", "ü",
            ]),
            0..24,
        )
    ) {
        let _ = read(&parts.concat(), &Two);
    }
}
