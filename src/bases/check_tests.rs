//! The checker's diagnostics, with a small vault and without one.

use super::super::parse::{self, Options};
use super::super::value::FileId;
use super::*;

/// Files with their tags, and properties with their number of notes.
struct Vault {
    files: Vec<(&'static str, &'static [&'static str])>,
    properties: Vec<(&'static str, usize)>,
}

impl Source for Vault {
    fn files(&self) -> Box<dyn Iterator<Item = FileId> + '_> {
        Box::new((0..self.files.len()).map(|file| FileId(file as u32)))
    }

    fn path(&self, file: FileId) -> Text {
        self.files[file.0 as usize].0.into()
    }

    fn property_counts(&self) -> Vec<(Text, usize)> {
        self.properties.iter().map(|(name, count)| ((*name).into(), *count)).collect()
    }

    fn tags(&self, file: FileId) -> Vec<Text> {
        self.files[file.0 as usize].1.iter().map(|tag| (*tag).into()).collect()
    }

    fn has_tag(&self, file: FileId, tag: &str) -> bool {
        self.tags(file).iter().any(|own| **own == *tag.trim_start_matches('#'))
    }
}

fn vault() -> Vault {
    Vault {
        files: vec![("Inbox/Call.md", &["call"]), ("Projects/Old/Boat.md", &["project", "boat"])],
        properties: vec![
            ("status", 412),
            ("due-date", 40),
            ("due date", 3),
            ("Price", 12),
            ("cost", 2),
            ("x", 1),
            ("tags", 9),
        ],
    }
}

/// Each warning as `column message → hint`.
fn messages_of(checker: &Checker<'_>, text: &str) -> Vec<String> {
    let options = Options { allows_extensions: true, ..Options::default() };
    let expression =
        parse::parse(text, options).unwrap_or_else(|error| panic!("{}", error.render(text)));
    let found = checker.check(&expression);
    let line = |it: &Diagnostic| match &it.hint {
        Some(hint) => format!("{} {} → {hint}", it.column, it.message),
        None => format!("{} {}", it.column, it.message),
    };
    found.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let vault = vault();
    assert_eq!(messages_of(&Checker::new(Some(&vault)), text), expected, "{text}");
}

#[test]
fn valid_expressions_get_no_warning() {
    for text in [
        "file.hasTag(\"call\") && status != \"done\" || price > 5",
        "file.mtime > now() - \"1 week\"",
        "(now() - file.ctime).days.floor()",
        "list(status).filter(value.contains(\"a\")).unique().length",
        "file.links.map(value.asFile().properties.icon)",
        "if(cost, cost.toFixed(2) + \" dollars\")",
        "file.inFolder(\"Projects\") && file.inFolder(\"/\") && file.inFolder(\"Projects/Old/\")",
        "list(x).contains(this) && this.hasLink(file) && file.hasLink(this.file)",
        "link(\"a\").contains(\"b\") && link(\"a\").asFile() == file",
        "price-cost > 3",
        "[1].map(value-index)",
        "file.words > 5 && file.similarity(\"x\") > 0.5",
        "note.keys().length + file.properties.nothing.at",
        "date(\"2024-01-01\") + \"1M\" + \"4h\"",
        "x.y.z.isEmpty()",
        "(2).round(1) + (-x).abs()",
    ] {
        check(text, &[]);
    }
}

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    check("staus == 1", &["1 no note has `staus`; 412 have `status` → did you mean `status`?"]);
    check(
        "duedate",
        &["1 no note has `duedate`; 40 have `due-date` → did you mean `note[\"due-date\"]`?"],
    );
    check("nothing_like_it", &["1 no note has `nothing_like_it`"]);
    check("file.hastag(\"call\")", &["6 a file has no method `hastag` → did you mean `hasTag()`?"]);
    check("file.nme", &["6 a file has no field `nme` → did you mean `name`?"]);
    check("file.name()", &["6 a file has no method `name` → it is a field: write `name`"]);
    check("\"a\".lower", &["5 a text has no field `lower` → it is a method: write `lower()`"]);
    check("x.contain(1)", &["3 nothing has a method `contain` → did you mean `contains`?"]);
    check("toda()", &["1 there is no function `toda` → did you mean `today`?"]);
    check(
        "formula.x",
        &[
            "1 there is no formula `x` outside of a base → name a base that has it, or write what it computes",
        ],
    );
    check("file.hasTag(\"cal\")", &["13 nothing has the tag `cal` → did you mean `call`?"]);
    check(
        "file.inFolder(\"Projets\")",
        &["15 no file is in a folder `Projets` → did you mean `Projects`?"],
    );
    check(
        "file.hasProperty(\"staus\")",
        &["18 no note has `staus`; 412 have `status` → did you mean `status`?"],
    );
}

#[test]
fn misleading_expressions_are_reported() {
    check(
        "due-date < now()",
        &[
            "1 `due-date` subtracts one property from another → write `note[\"due-date\"]` for the property of that name",
        ],
    );
    check(
        "is-long-done",
        &[
            "1 `is-long-done` subtracts one property from another → write `note[\"is-long-done\"]` for the property of that name",
        ],
    );
    check("not(empty(x))", &["1 `not(…)` is how early versions wrote it → write `!x.isEmpty()`"]);
    check(
        "contains(status, \"a\")",
        &["1 `contains(…)` is how early versions wrote it → write `status.contains(\"a\")`"],
    );
    check(
        "and(x, or(x, cost))",
        &["1 `and(…)` is how early versions wrote it → write `x && or(x, cost)`"],
    );
}

#[test]
fn arguments_are_counted_and_their_types_compared() {
    check(
        "\"a\".contains(1)",
        &["14 `contains` takes a text, and this is a number → it is `.contains(value)`"],
    );
    check("file.inFolder()", &["6 `inFolder` needs its `folder` → it is `.inFolder(folder)`"]);
    check("today(1)", &["7 `today` takes no arguments → it is `today()`"]);
}

#[test]
fn without_a_vault_only_the_language_is_checked() {
    let checker = Checker::new(None);
    assert_eq!(messages_of(&checker, "staus && file.hasTag(\"nothing\")"), [""; 0]);
    assert_eq!(messages_of(&checker, "due-date").len(), 1);
    assert_eq!(messages_of(&checker, "file.hastag(\"x\")").len(), 1);
}

#[test]
fn a_base_knows_its_formulas_and_no_extensions() {
    let checker = Checker::new(None).in_base(vec!["total".into()]);
    assert_eq!(messages_of(&checker, "formula.total"), [""; 0]);
    assert_eq!(
        messages_of(&checker, "formula.totl"),
        ["1 the base has no formula `totl` → did you mean `formula.total`?"]
    );
    let messages = messages_of(&checker, "file.words > 1");
    assert_eq!(
        messages,
        [
            "6 Obsidian does not know `file.words` → it can be used in rules and queries, not in a base"
        ]
    );
    let messages = messages_of(&checker, "this.file.similarity(\"x\")");
    assert_eq!(messages.len(), 1, "{messages:?}");
}
