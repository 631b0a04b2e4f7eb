use proptest::prelude::*;
use serde_json::json;

use super::super::tests::memory::{Memory, Note};
use super::super::tests::scope;
use super::super::value::FileId;
use super::*;

/// 2026-11-24 12:00 in UTC.
const CREATED: i64 = 1_795_521_600_000;

fn vault() -> Memory {
    let mut memory = Memory::default();
    memory.add(Note {
        properties: json!({
            "title": "A/B: c", "project": "[[Other|Shown]]", "gone": "[[Notes/Missing#TemplatePart]]", "due": "2026-12-01",
            "people": ["Ada", "Bob"], "empty": "", "dots": "..", "long": "word ".repeat(60), "n": 2.5, "done": false,
            "hidden": ".secret", "emoji": "👩\u{200d}💻",
        }),
        created: CREATED,
        ..Note::at("Inbox/Old/Call with Ada.md")
    });
    memory.add(Note::at("Work/Other.md"));
    memory.add(Note::at("plain"));
    memory
}

fn with<T>(row: u32, fill: impl FnOnce(&Memory, &mut Evaluator<'_>) -> T) -> T {
    let memory = vault();
    let mut evaluator = Evaluator::new(scope(&memory));
    evaluator.begin(Some(FileId(row)));
    fill(&memory, &mut evaluator)
}

fn parsed(source: &str, purpose: Purpose) -> Template {
    Template::parse(source, purpose).unwrap_or_else(|error| panic!("{}", error.render(source)))
}

fn text(source: &str) -> Result<String, String> {
    let template = parsed(source, Purpose::Text);
    with(0, |memory, evaluator| template.prepare(memory).text(evaluator))
        .map_err(|nothing| nothing.to_string())
}

fn named(source: &str, purpose: Purpose) -> Result<Named, String> {
    let template = parsed(source, purpose);
    with(0, |memory, evaluator| template.prepare(memory).named(evaluator))
        .map_err(|nothing| nothing.to_string())
}

/// The name, and whether a value was changed for it.
#[track_caller]
fn check(source: &str, purpose: Purpose, name: &str, is_changed: bool) {
    let named = named(source, purpose).unwrap_or_else(|nothing| panic!("{source}: {nothing}"));
    assert_eq!((&*named.text, named.is_changed), (name, is_changed), "{source}");
}

#[test]
fn expressions_are_filled_in() {
    for (source, expected) in [
        ("", ""),
        ("no braces } { }}", "no braces } { }}"),
        ("{{title}} on {{ file.ctime }}", "Call with Ada on 2026-11-24"),
        ("{{note.title}}", "A/B: c"),
        ("{{\"{{\"}} and {{'}}'}}", "{{ and }}"),
        ("{{/a{2}}/.matches(\"aa}\")}}", "true"),
        ("{{project}} {{gone}} {{file}}", "Other Missing Call with Ada"),
        ("{{due}} {{n}} {{done}} {{empty}}", "2026-12-01 2.5 false "),
    ] {
        assert_eq!(text(source), Ok(expected.to_owned()), "{source}");
    }
}

#[test]
fn an_empty_value_is_reported_with_its_expression() {
    for (source, expected) in [
        ("a {{missing}}", "`missing` gives null"),
        ("{{ people }}", "`people` gives a list"),
        ("{{note}}", "`note` gives an object"),
        ("{{0 / 0}}", "`0 / 0` gives no number"),
        ("{{nope()}}", "`nope()` gives Cannot find function \"nope\""),
    ] {
        assert_eq!(text(source), Err(expected.to_owned()), "{source}");
    }
    assert_eq!(named("{{empty}}", Purpose::Name), Err("`{{empty}}` gives no name".to_owned()));
    assert_eq!(
        named("A/{{empty}}/B", Purpose::Path),
        Err("`A/{{empty}}/B` gives no name".to_owned())
    );
    assert_eq!(named("A/{{dots}}", Purpose::Path), Err("`A/{{dots}}` gives no name".to_owned()));
}

#[test]
fn a_single_expression_keeps_its_type() {
    for (source, expected) in [
        ("{{n}}", json!(2.5)),
        ("{{people}}", json!(["Ada", "Bob"])),
        ("{{due}}", json!("2026-12-01")),
        ("{{file.ctime}}", json!("2026-11-24T12:00:00")),
        ("{{project}}", json!("[[Other|Shown]]")),
        ("{{n}} ", json!("2.5 ")),
    ] {
        let template = parsed(source, Purpose::Text);
        let value = with(0, |memory, evaluator| template.prepare(memory).value(evaluator));
        assert_eq!(value, Ok(expected), "{source}");
    }
    let template = parsed("{{missing}}", Purpose::Text);
    let value = with(0, |memory, evaluator| template.prepare(memory).value(evaluator));
    assert_eq!(
        value.map_err(|nothing| nothing.to_string()),
        Err("`missing` gives null".to_owned())
    );
}

#[test]
fn names_hold_what_every_system_holds() {
    check("{{title}} x", Purpose::Name, "Call with Ada x", false);
    check("{{note.title}}", Purpose::Name, "A-B- c", true);
    check("{{hidden}}", Purpose::Name, "secret", true);
    check("{{\"con\"}}", Purpose::Name, "con_", true);
    check("Dr.{{emoji}}.", Purpose::Name, "Dr.👩\u{200d}💻.", false);
    check(" {{title}} ", Purpose::Name, "Call with Ada", false);
    let long = named("{{long}}", Purpose::Name).expect("a name");
    assert!(long.is_shortened && !long.is_changed);
    assert_eq!((long.text.len(), &long.text[190..]), (199, "word word"));
    let long = named(&format!("{{{{\"{}\"}}}}", "語".repeat(90)), Purpose::Name).expect("a name");
    assert_eq!(long.text, "語".repeat(66));
}

#[test]
fn only_what_the_rule_writes_makes_folders() {
    check("Meetings/{{file.ctime.format(\"YYYY/MM\")}}/", Purpose::Path, "Meetings/2026/11", false);
    check("Archive/{{file.folder}}", Purpose::Path, "Archive/Inbox/Old", false);
    check("{{if(done, \"a/b\", file.folder + \"/c\")}}", Purpose::Path, "Inbox/Old/c", false);
    check("By/{{note.title}}", Purpose::Path, "By/A-B- c", true);
    check("By/{{\"x/\" + note.title}}", Purpose::Path, "By/x-A-B- c", true);
    check("/", Purpose::Path, "", false);
    check("A/{{\"v1.\"}}", Purpose::Path, "A/v1", true);
}

#[test]
fn what_a_template_may_not_say_itself() {
    use Purpose::{Name, Path, Text};
    for (source, purpose, kind, column, hint) in [
        ("a {{b", Text, Kind::InvalidExpression, 3, "write `}}` after the expression"),
        ("a {{}}", Text, Kind::InvalidExpression, 5, ""),
        ("a {{x = 1}}", Text, Kind::InvalidExpression, 7, "write `==`"),
        ("{{\"open}}", Text, Kind::InvalidExpression, 3, "write `\"` at its end"),
        ("{{'/?*'}} what?", Name, Kind::InvalidPath, 15, "leave it out"),
        ("a/b", Name, Kind::InvalidPath, 2, "name the folder with `move`"),
        ("what?", Name, Kind::InvalidPath, 5, "call it `what`"),
        ("", Name, Kind::InvalidPath, 1, "write one"),
        ("../x", Path, Kind::OutsideVault, 1, "write the path from the vault's top"),
        ("a/../{{title}}", Path, Kind::OutsideVault, 3, "write the path from the vault's top"),
        (
            "/abs",
            Path,
            Kind::OutsideVault,
            1,
            "write the path from the vault's top, without a `/` before it",
        ),
        ("C:\\x", Path, Kind::InvalidPath, 2, "call it `C--x`"),
        (".obsidian/x", Path, Kind::ProtectedPath, 1, "choose another folder"),
        ("a/.{{title}}", Path, Kind::ProtectedPath, 3, "choose another folder"),
        ("{{file.ctime.format(\"YYYY/MM\")}}/a#b", Path, Kind::InvalidPath, 35, "call it `ab`"),
        ("con", Path, Kind::InvalidPath, 1, "call it `con_`"),
    ] {
        let error = Template::parse(source, purpose).expect_err(source);
        assert_eq!((error.kind, error.column), (kind, column), "{}", error.render(source));
        assert_eq!(error.hint.as_deref().unwrap_or_default(), hint, "{}", error.render(source));
    }
    let long = "x".repeat(MAX_BYTES + 1);
    assert_eq!(Template::parse(&long, Text).expect_err("too long").kind, Kind::TooLarge);
}

#[test]
fn the_classic_dialect_has_three_words() {
    let classic = |row, source: &str, purpose| {
        let template = Template::parse_classic(source, purpose).expect(source);
        let named = with(row, |memory, evaluator| template.prepare(memory).named(evaluator));
        named.map(|named| named.text).map_err(|nothing| nothing.to_string())
    };
    assert_eq!(
        classic(0, "{name}-{date}.{ext}", Purpose::Name),
        Ok("Call with Ada-1970-01-01".to_owned())
    );
    assert_eq!(
        classic(0, "By type/{ext}/x.{ext} y", Purpose::Path),
        Ok("By type/md/x.md y".to_owned())
    );
    assert_eq!(classic(2, "By type/x.{ext} y", Purpose::Path), Ok("By type/x y".to_owned()));
    assert_eq!(classic(2, "A/{ext}", Purpose::Path), Err("`A/{ext}` gives no name".to_owned()));
    let error = Template::parse_classic("a{nam}", Purpose::Name).expect_err("no such word");
    assert_eq!((error.column, error.hint.as_deref()), (2, Some("did you mean `{name}`?")));
}

proptest! {
    #[test]
    fn a_name_is_one_that_every_system_holds(source in "([a-c /.]|\\{\\{(title|note.title|due|long|hidden|emoji|dots|file.folder|file.ctime.format\\(\"YYYY/MM\"\\))\\}\\}){1,6}") {
        for purpose in [Purpose::Name, Purpose::Path] {
            let Ok(template) = Template::parse(&source, purpose) else { continue };
            let Ok(named) = with(0, |memory, evaluator| template.prepare(memory).named(evaluator)) else { continue };
            for name in named.text.split('/').filter(|_| !named.text.is_empty()) {
                let whole = if purpose == Purpose::Name { format!("{name}.md") } else { name.to_owned() };
                prop_assert_eq!(check_new_name(&whole), Ok(()), "{:?}", source);
            }
        }
    }

    #[test]
    fn a_template_is_its_parts(source in "[a-z{}\" .()']{0,40}") {
        if let Ok(template) = Template::parse(&source, Purpose::Text) {
            let mut written = String::new();
            for part in &template.parts {
                match part {
                    TemplatePart::Text(text) => written.push_str(text),
                    TemplatePart::Expression { expression, at } => {
                        prop_assert!(source[*at as usize..].starts_with(&*expression.source));
                        written.extend(["{{", &expression.source, "}}"]);
                    }
                }
            }
            prop_assert_eq!(written, source);
        }
    }
}
