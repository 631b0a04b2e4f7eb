//! The results of 281 expressions in a running Obsidian; `fixtures/bases/` names the source of the recording.

use std::collections::HashMap;

use chrono::DateTime;
use serde_json::{Value as Json, json};

use super::super::date::Zone;
use super::super::eval::{Evaluator, Prepared, Scope};
use super::super::parse::{Options, parse};
use super::super::value::FileId;
use super::memory::{Memory, Note};
use std::sync::Arc;

const RECORDED: &str = include_str!("../../../fixtures/bases/oracle.compact.json");

/// The differences from Obsidian, each with its reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("random range", "a random number"),
    ("unary plus", "an error here, which a recording of the result alone shows as null"),
    ("object keys", "as above: object literals are refused"),
    ("object values", "as above"),
    ("object isEmpty", "as above"),
    ("any isTruthy number direct literal", "as above: a method right behind a number is refused"),
    ("any isTruthy zero direct literal", "as above"),
    ("any toString number direct literal", "as above"),
    ("number isEmpty false direct literal", "as above"),
];

/// Australia/Melbourne, in winter as in the recording: ten hours; eleven from October to April.
struct Melbourne;

impl Zone for Melbourne {
    fn offset(&self, seconds: i64) -> i32 {
        let month =
            chrono::Datelike::month(&DateTime::from_timestamp(seconds, 0).unwrap_or_default());
        // One date of the recording is in 1970, when there was no summer time.
        if (4..10).contains(&month) || seconds < 50_000_000 { 36_000 } else { 39_600 }
    }
}

fn vault(context: &Json) -> Memory {
    let mut memory = Memory::default();
    for file in context["files"].as_array().expect("files") {
        let links = |of: &str| -> Vec<String> {
            let links = file[of].as_array().cloned().unwrap_or_default();
            let link = |link: &Json| {
                format!(
                    "{}|{}",
                    link["path"].as_str().unwrap_or_default(),
                    link["display"].as_str().unwrap_or_default()
                )
            };
            links.iter().map(link).collect()
        };
        let (links, embeds) = (links("links"), links("embeds"));
        let (links, embeds): (Vec<&str>, Vec<&str>) = (
            links.iter().map(String::as_str).collect(),
            embeds.iter().map(String::as_str).collect(),
        );
        let tags: Vec<&str> = file["tags"]
            .as_array()
            .map(|tags| tags.iter().filter_map(Json::as_str).collect())
            .unwrap_or_default();
        memory.add(Note {
            properties: written(&file["properties"]),
            tags: &tags,
            links: &links,
            embeds: &embeds,
            size: file["size"].as_u64().unwrap_or_default(),
            created: millis(&file["ctime"]),
            ..Note::at(file["path"].as_str().expect("a path"))
        });
    }
    let at: HashMap<String, FileId> = {
        use super::super::Source;
        memory.files().map(|file| (memory.path(file).to_string(), file)).collect()
    };
    for (path, leads_to) in context["linkResolutions"].as_object().expect("resolutions") {
        let leads_to = leads_to.as_str().and_then(|path| at.get(path).copied());
        memory.resolutions.insert(path.clone(), leads_to);
    }
    memory
}

fn millis(time: &Json) -> i64 {
    let time = DateTime::parse_from_rfc3339(time.as_str().expect("a time"));
    time.expect("a time").timestamp_millis()
}

/// Properties in a note's form: the recording has links as objects.
fn written(properties: &Json) -> Json {
    match properties {
        Json::Object(object) if object.get("type").is_some_and(|of| of == "Link") => {
            let path = object["value"]["path"].as_str().unwrap_or_default();
            match object["value"]["display"]["value"].as_str() {
                Some(display) => json!(format!("[[{path}|{display}]]")),
                None => json!(format!("[[{path}]]")),
            }
        }
        Json::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), written(value))).collect()
        }
        Json::Array(list) => list.iter().map(written).collect(),
        other => other.clone(),
    }
}

#[test]
fn as_a_running_obsidian() {
    let recorded: Json = serde_json::from_str(RECORDED).expect("JSON");
    let context = &recorded["context"];
    let memory = vault(context);
    let formulas: Vec<_> = context["formulas"]
        .as_object()
        .expect("formulas")
        .iter()
        .map(|(name, text)| (name.as_str().into(), super::parsed(text.as_str().expect("a text"))))
        .collect();
    let now = millis(&context["now"]);
    let scope = Scope {
        source: &memory,
        now,
        zone: &Melbourne,
        this: Some(FileId(0)),
        seed: 1,
        formulas: &formulas,
    };
    let mut evaluator = Evaluator::new(scope);
    let mut wrong = Vec::new();
    let mut different = Vec::new();
    let cases = recorded["cases"].as_array().expect("cases");
    for case in cases {
        let (name, text) =
            (case["name"].as_str().expect("a name"), case["expression"].as_str().expect("a text"));
        let given = match parse(text, Options::default()) {
            Ok(expression) => {
                evaluator.begin(Some(FileId(0)));
                let value = evaluator.value(&Prepared::new(&Arc::new(expression), &memory));
                let given = evaluator.compare().json(&value);
                // The recording has a link without text as its path.
                match value {
                    super::super::value::Value::Link(link) => json!(&*link.target),
                    _ => given,
                }
            }
            Err(fault) => json!({"refused": format!("{fault:?}")}),
        };
        let is_same = match (given.as_f64(), case["expected"].as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => given == case["expected"],
        };
        if DIFFERENT.iter().any(|(known, _)| *known == name) {
            different.push(name);
            assert!(!is_same, "{name} is no difference any more");
        } else if !is_same {
            wrong.push(format!("{name}: {text}\n   gives {given}\n   not   {}", case["expected"]));
        }
    }
    assert_eq!(different.len(), DIFFERENT.len());
    assert_eq!(cases.len(), 281);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
