use proptest::prelude::*;

use super::*;
use crate::bases::query::Filter;
use crate::organize::rule::{Assigned, IfPresent};

const EXAMPLE: &str = r#"version: 1
rules:
  - name: File meeting notes            # unique in the file
    in: [Inbox]                         # where it looks; default: everywhere
    when: file.hasTag("meeting") && !done   # text, filter object, or {base: X.base, view: Y}
    do:
      - set: {status: filed, filed: '{{today()}}'}
      - tag: [archive/meeting]
      - move: 'Meetings/{{file.ctime.format("YYYY")}}'
      - rename: '{{file.ctime.format("YYYY-MM-DD")}} {{title}}'
    priority: 10                        # higher first; equal: order of the file
    then: stop                          # or continue: later rules see the note as it will be
    on_conflict: number                 # skip, ask, fail
    run: change                         # manual (default); {every: 1d, at: "03:00"}
"#;

const BASE: &str = "filters: 'formula.age > 7'\nformulas: {age: '(now() - file.ctime).days'}\n\
                    views:\n  - {type: table, name: Late, filters: 'status != \"done\"'}\n";

fn find_base(requested: &str) -> Result<(VaultPath, String), String> {
    let path = VaultPath::from_disk(requested).ok_or("no path")?;
    match requested {
        "Projects.base" => Ok((path, BASE.to_owned())),
        "Broken.base" => Ok((path, "filters: 'a = b'".to_owned())),
        _ => Err(format!("there is no base `{requested}`")),
    }
}

#[track_caller]
fn rules(text: &str) -> RuleFile {
    read(text, &find_base).unwrap_or_else(|faults| {
        let faults: Vec<_> = faults.iter().map(|fault| fault.render("rules")).collect();
        panic!("{}", faults.join("\n"))
    })
}

/// The rule of a file with a single rule.
#[track_caller]
fn rule(text: &str) -> Rule {
    let text = format!("rules:\n- name: r\n  {}\n", text.replace('\n', "\n  "));
    rules(&text).rules.remove(0)
}

#[track_caller]
fn faults(text: &str) -> Vec<Diagnostic> {
    read(text, &find_base).expect_err(text)
}

#[test]
fn the_manuals_example_is_read() {
    let file = rules(EXAMPLE);
    assert_eq!(file.warnings, []);
    let [rule] = &file.rules[..] else { panic!("one rule") };
    assert_eq!((&*rule.name, rule.priority, rule.continues), ("File meeting notes", 10, false));
    assert_eq!(rule.within, [VaultPath::from_disk("Inbox").expect("a path")]);
    assert_eq!((rule.trigger, rule.on_conflict), (Trigger::Change, Some(OnConflict::Number)));
    let [
        Action::Set { values, if_present },
        Action::Tag(tags),
        Action::Move(to),
        Action::Rename(name),
    ] = &rule.actions[..]
    else {
        panic!("{:?}", rule.actions)
    };
    assert_eq!(*if_present, IfPresent::Replace);
    assert!(
        matches!(&values[0], (name, Assigned::Value(value)) if name == "status" && value == "filed")
    );
    assert!(
        matches!(&values[1], (name, Assigned::Template(own)) if name == "filed" && own.is_value())
    );
    assert_eq!(tags[0].literal(), Some("archive/meeting"));
    assert_eq!((to.parts.len(), name.parts.len()), (2, 3));
}

#[test]
fn every_action_is_read() {
    let actions = |text: &str| rule(text).actions;
    assert!(matches!(&actions("do: {archive: true}")[..], [Action::Archive]));
    assert!(matches!(&actions("do: {trash: true}")[..], [Action::Trash]));
    assert!(matches!(&actions("do: [remove: x, untag: '#a']")[..],
        [Action::Remove(names), Action::Untag(tags)] if names == &["x"] && tags == &["a"]));
    assert!(
        matches!(&actions("do:\n- set: {a: [1, '{{title}}'], b: {c: 1}}\n  if_present: merge")[..],
        [Action::Set { values, if_present: IfPresent::Merge }]
            if matches!(&values[0].1, Assigned::List(items) if items.len() == 2))
    );
    assert!(matches!(
        &actions("once: true\ndo: [append: a, prepend: '{{title}}']")[..],
        [Action::Append(_), Action::Prepend(_)]
    ));
    assert!(matches!(
        &actions("do: [template: Templates/Person, create: '{{title}} log.md']")[..],
        [Action::Fill(_), Action::Create { template: None, .. }]
    ));
    assert!(matches!(
        &actions("do: [create: {path: a.md, template: T.md}]")[..],
        [Action::Create { template: Some(_), .. }]
    ));
    assert!(matches!(
        &actions("do: [move: A, rename: b]")[..],
        [Action::Move(_), Action::Rename(_)]
    ));
    let nightly = rule("run: {every: 1d, at: '03:00'}\ndo: [move: A]").trigger;
    assert_eq!(nightly, Trigger::Every { seconds: 86_400, at: NaiveTime::from_hms_opt(3, 0, 0) });
    assert_eq!(
        rule("run: {every: 90m}\ndo: [move: A]").trigger,
        Trigger::Every { seconds: 5_400, at: None }
    );
}

#[test]
fn a_condition_is_a_text_a_filter_or_a_view() {
    assert!(rule("do: [move: A]").when.is_none());
    assert!(matches!(rule("when: status == 'x'\ndo: [move: A]").when, Some(Filter::Is(_))));
    let both = rule("when: {and: [a, {not: [b, c]}]}\ndo: [move: A]").when;
    assert!(matches!(both, Some(Filter::And(parts)) if parts.len() == 2));
    let late = rule("when: {base: Projects.base, view: late}\ndo: [move: A]");
    assert!(matches!(&late.when, Some(Filter::And(parts)) if parts.len() == 2));
    assert_eq!(
        (late.formulas.len(), late.this.map(|path| path.to_string())),
        (1, Some("Projects.base".to_owned()))
    );
}

#[test]
fn the_classic_form_is_read() {
    let file = rules(
        r#"{"rules": [{"name": "Screenshots by date",
            "if": "file.name.startsWith(\"Screenshot\") AND file.ext IN [\"png\", \"jpg\"]",
            "thenMoveTo": "Screenshots/{date}", "thenRenameTo": "screenshot-{date}.{ext}", "priority": 3}]}"#,
    );
    let rule = &file.rules[0];
    assert_eq!(rule.priority, 3);
    let [Action::Move(to), Action::Rename(name)] = &rule.actions[..] else { panic!("{rule:?}") };
    assert_eq!((to.parts.len(), name.parts.len()), (2, 2));
    let file = rules(
        "dialect: classic\nrules:\n- name: a\n  when: file.size > 10MB\n  do: [move: 'Big/{ext}']\n",
    );
    assert!(matches!(&file.rules[0].actions[..], [Action::Move(to)] if to.parts.len() == 2));
    assert_eq!(
        faults("rules: [{name: a, thenMoveTo: B}]")[0].message,
        "the rule has no condition `if`"
    );
    assert_eq!(
        faults("rules: [{name: a, if: 'file.ext == \"x\"', do: []}]")[0].message,
        "`do` is not a key here"
    );
}

#[test]
fn json_is_read_with_all_of_its_escapes() {
    let file =
        rules("{\"rules\": [{\"name\": \"\\ud83d\\ude00\\/x\",\n\t\"do\": [{\"move\": \"A\"}]}]}");
    assert_eq!(file.rules[0].name, "😀/x");
    assert_eq!(rules("[{\"name\": \"a\", \"do\": [{\"move\": \"A\"}]}]").rules.len(), 1);
}

#[test]
fn rules_stand_in_blocks_of_a_note() {
    let note = "# Mine\n\n```rules\nrules:\n- name: a\n  do: [move: A]\n```\ntext\n```rules\nrules:\n- name: b\n  do: [move: B]\n```\n";
    assert_eq!(read_note(note, &find_base).expect("rules").rules.len(), 2);
    let again =
        read_note(&note.replace("name: b", "name: a"), &find_base).expect_err("two of one name");
    assert_eq!((again[0].line, again[0].column), (11, 9));
    assert_eq!(read_note("text", &find_base).expect_err("none")[0].kind, Kind::InvalidRule);
}

/// Each input with the kind, line, column, message and hint of its first error.
#[test]
fn errors_have_their_place() {
    let r = "rules:\n- name: r\n  ";
    let mut wrong = Vec::new();
    for (text, kind, line, column, message, hint) in [
        ("", Kind::InvalidRule, 1, 1, "there are no rules", "write a list"),
        ("rules: []", Kind::InvalidRule, 1, 1, "there are no rules", "write a list"),
        (
            "name: a\ndo: []",
            Kind::InvalidRule,
            1,
            1,
            "a rule is outside of a list",
            "write `rules:`",
        ),
        (
            "version: 2\nrules: [{name: a}]",
            Kind::InvalidRule,
            1,
            10,
            "there is no such version",
            "write `version: 1`",
        ),
        ("rules: [{do: []}]", Kind::InvalidRule, 1, 9, "a rule has no `name`", "give it one"),
        (
            "rules:\n- name: a\n- name: a",
            Kind::InvalidRule,
            3,
            9,
            "another rule is named `a` too",
            "give it a name",
        ),
        (
            "rulse: []",
            Kind::InvalidRule,
            1,
            1,
            "`rulse` is not a key here",
            "did you mean `rules`?",
        ),
        (
            "rules: [{name: a, wen: b}]",
            Kind::InvalidRule,
            1,
            19,
            "`wen` is not a key here",
            "did you mean `when`?",
        ),
        (
            "{r}when: price = 1",
            Kind::InvalidExpression,
            3,
            15,
            "`=` is not an operator",
            "write `==`",
        ),
        ("{r}when: status ==", Kind::InvalidExpression, 3, 18, "a value is missing here", ""),
        (
            "{r}when: a b",
            Kind::InvalidExpression,
            3,
            11,
            "an operator is missing before this",
            "join values",
        ),
        ("{r}when: (a", Kind::InvalidExpression, 3, 9, "this `(` is not closed", "write `)`"),
        (
            "{r}when: !done",
            Kind::InvalidRule,
            3,
            9,
            "YAML reads `!done` as a type",
            "write it in quotes: `'!done'`",
        ),
        ("{r}when: /(?=a)/.matches(x)", Kind::InvalidPattern, 3, 10, "", ""),
        (
            "{r}when: {and: [a], or: [b]}",
            Kind::InvalidFilter,
            3,
            9,
            "`when` has `and` and `or`",
            "a filter has exactly one",
        ),
        (
            "{r}when: {and: [a, {andd: b}]}",
            Kind::InvalidFilter,
            3,
            20,
            "`when.and[1]` has `andd`",
            "did you mean `and`?",
        ),
        (
            "{r}when: {base: No.base}",
            Kind::InvalidRule,
            3,
            16,
            "there is no base `No.base`",
            "name a `.base` file",
        ),
        (
            "{r}when: {base: Broken.base}",
            Kind::InvalidRule,
            3,
            16,
            "the base cannot be used: `=` is not an operator",
            "correct",
        ),
        (
            "{r}when: {base: Projects.base, view: Early}",
            Kind::InvalidRule,
            3,
            37,
            "`Projects.base` has no view",
            "its views are `Late`",
        ),
        (
            "{r}do: [move: ../x]",
            Kind::OutsideVault,
            3,
            14,
            "rule `r`: `../x` leads out of the vault",
            "",
        ),
        (
            "{r}do: [move: /abs]",
            Kind::OutsideVault,
            3,
            14,
            "rule `r`: `/abs` leads out of the vault",
            "",
        ),
        (
            "{r}do: [move: .obsidian/x]",
            Kind::ProtectedPath,
            3,
            14,
            "rule `r`: `.obsidian` is hidden",
            "choose another",
        ),
        (
            "{r}do: [rename: a/b]",
            Kind::InvalidPath,
            3,
            17,
            "rule `r`: a name has no `/`",
            "name the folder with `move`",
        ),
        (
            "{r}do: [rename: 'what?']",
            Kind::InvalidPath,
            3,
            21,
            "rule `r`: `what?.md` cannot",
            "call it `what`",
        ),
        ("{r}in: ../x", Kind::OutsideVault, 3, 7, "rule `r`: `../x` leads out of the vault", ""),
        (
            "{r}do: [moev: A]",
            Kind::InvalidRule,
            3,
            8,
            "`moev` is not a key here",
            "did you mean `move`?",
        ),
        ("{r}do: move", Kind::InvalidRule, 3, 7, "`do` has to be a list", ""),
        (
            "{r}do: [move: A, move: B]",
            Kind::InvalidRule,
            3,
            17,
            "the rule says twice where the note goes",
            "",
        ),
        (
            "{r}do: [trash: true, move: B]",
            Kind::InvalidRule,
            3,
            21,
            "a note cannot go to the trash and",
            "",
        ),
        (
            "{r}do: [archive: false]",
            Kind::InvalidRule,
            3,
            17,
            "`archive: false` does nothing",
            "leave it out",
        ),
        ("{r}do: [set: {a: {{title}}}]", Kind::InvalidRule, 3, 0, "", "between"),
        (
            "{r}do: [if_present: keep]",
            Kind::InvalidRule,
            3,
            8,
            "`if_present` belongs to a `set`",
            "write it below `set`",
        ),
        (
            "{r}do: [tag: 'no tag']",
            Kind::InvalidRule,
            3,
            13,
            "`no tag` is not a tag",
            "a tag has letters",
        ),
        (
            "{r}do: [append: x]",
            Kind::InvalidRule,
            3,
            7,
            "the rule would add its text each time",
            "write `once: true`",
        ),
        (
            "{r}do: [create: {template: T}]",
            Kind::InvalidRule,
            3,
            16,
            "`create` does not say where",
            "write `create:",
        ),
        ("{r}do: [move: 'A/{{x +}}']", Kind::InvalidExpression, 3, 22, "a value is missing", ""),
        (
            "{r}do: [move: 'A/{{x']",
            Kind::InvalidExpression,
            3,
            17,
            "this `{{` is not closed",
            "write `}}`",
        ),
        ("{r}priority: high", Kind::InvalidRule, 3, 13, "`priority` has to be a whole number", ""),
        (
            "{r}then: stopp",
            Kind::InvalidRule,
            3,
            9,
            "`then` cannot be `stopp`",
            "did you mean `stop`?",
        ),
        (
            "{r}on_conflict: overwrite",
            Kind::InvalidRule,
            3,
            16,
            "`on_conflict` cannot be `overwrite`",
            "write `number` or",
        ),
        ("{r}once: yes", Kind::InvalidRule, 3, 9, "`once` has to be `true` or `false`", ""),
        (
            "{r}run: {every: 1M}",
            Kind::InvalidRule,
            3,
            16,
            "`1M` is not a time between",
            "write it as",
        ),
        (
            "{r}run: {every: 5s}",
            Kind::InvalidRule,
            3,
            16,
            "`5s` is not a time between",
            "write it as",
        ),
        (
            "{r}run: {every: 12h, at: '03:00'}",
            Kind::InvalidRule,
            3,
            25,
            "`at` needs whole days, and `12 hours` are none",
            "",
        ),
        (
            "{r}run: {every: 1d, at: noon}",
            Kind::InvalidRule,
            3,
            24,
            "`noon` is not a time of day",
            "",
        ),
        ("rules: [", Kind::InvalidRule, 1, 0, "", ""),
    ] {
        let text = text.replace("{r}", r);
        let found = faults(&text);
        let first = &found[0];
        let is_right = (first.kind, first.line) == (kind, line)
            && (column == 0 || first.column == column)
            && first.message.starts_with(message)
            && first.hint.as_deref().unwrap_or_default().contains(hint);
        if !is_right {
            wrong.push(format!("{} {column} {}", kind.as_str(), first.render("rules")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let deep = format!("{r}when: {}a", "(".repeat(20_000));
    assert_eq!((faults(&deep)[0].kind, faults(&deep)[0].column), (Kind::TooDeep, 209));
    let large = format!("rules: [] #{}", "x".repeat(MAX_BYTES));
    assert_eq!(faults(&large)[0].kind, Kind::TooLarge);
}

#[test]
fn all_errors_are_reported_in_order() {
    let text =
        "rules:\n- {name: a, wen: x, when: 'b c'}\n- {name: b, do: [move: ../x, rename: 'a?']}\n";
    let found: Vec<_> = faults(text).iter().map(|fault| (fault.line, fault.kind)).collect();
    use Kind::{InvalidExpression, InvalidPath, InvalidRule, OutsideVault};
    assert_eq!(
        found,
        [(2, InvalidRule), (2, InvalidExpression), (3, OutsideVault), (3, InvalidPath)]
    );
}

#[test]
fn a_rule_without_actions_is_reported() {
    let file = rules("rules:\n- name: idle\n  when: done\n");
    assert_eq!(
        (file.warnings[0].line, &*file.warnings[0].message),
        (2, "rule `idle` does nothing")
    );
}

#[test]
fn the_hash_is_that_of_the_meaning() {
    let hash = |text: &str| rules(text).rules.remove(0).hash;
    let first = hash(EXAMPLE);
    let compact = "rules: [{run: change, when: '(file.hasTag(\"meeting\"))&&!done', do: [{set: {filed: \"{{ today() }}\", \
        status: 'filed'}}, tag: '#archive/meeting', move: \"Meetings/{{file.ctime.format('YYYY')}}\", rename: \
        '{{file.ctime.format(\"YYYY-MM-DD\")}} {{file.basename}}'], name: File meeting notes, in: Inbox/, priority: 10, \
        on_conflict: number}]";
    assert_eq!(hash(compact), first);
    for (from, to) in [
        ("File meeting", "file meeting"),
        ("[Inbox]", "[Inbox, A]"),
        ("!done", "done"),
        ("status: filed", "status: Filed"),
        ("archive/meeting", "archive"),
        ("\"YYYY\")", "\"YY\")"),
        ("{{title}}", "{{note.title}}"),
        ("priority: 10", "priority: 9"),
        ("then: stop", "then: continue"),
        ("on_conflict: number", "on_conflict: skip"),
        ("run: change", "run: {every: 1d}"),
        ("run: change", "once: true"),
    ] {
        assert!(EXAMPLE.contains(from), "{from}");
        assert_ne!(hash(&EXAMPLE.replace(from, to)), first, "{from}");
    }
    let same = "when: 'file.name == \"A\"'\n  do: [move: B]";
    let text = format!("rules:\n- name: a\n  {same}");
    assert_ne!(hash(&text), hash(&format!("dialect: classic\n{text}")));
}

#[test]
fn text_is_added_once_where_the_rule_ends_its_own_condition() {
    for text in [
        "once: true\ndo: [append: x]",
        "when: '!logged'\ndo: [append: x, set: {logged: true}]",
        "in: Inbox\ndo: [append: x, move: Done]",
        "when: file.hasTag('a')\ndo: [prepend: x, untag: a]",
        "when: '!file.text.contains(\"x\")'\ndo: [append: x]",
    ] {
        rule(text);
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_places_are_in_the_text(text in "(rules:|- name: a|\\n  |when: |do: |\\[|\\]|\\{|\\}|move: |set: |'|\"|!a|é|\\{\\{title\\}\\}|x ==|, |: ){0,20}") {
        if let Err(faults) = read(&text, &find_base) {
            prop_assert!(!faults.is_empty());
            for fault in faults {
                prop_assert!(fault.at.end as usize <= text.len(), "{}", fault.render(&text));
            }
        }
    }
}
