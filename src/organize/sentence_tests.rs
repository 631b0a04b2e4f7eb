use super::super::rules_file::read;
use super::*;

#[track_caller]
fn described(rule: &str) -> String {
    let text = format!("rules:\n- name: r\n  {}\n", rule.replace('\n', "\n  "));
    let file = read(&text, &|_| Err("no bases".to_owned()));
    let file = file.unwrap_or_else(|faults| panic!("{}", faults[0].render("rules")));
    sentence(&file.rules[0])
}

/// Each condition with the words for it.
#[test]
fn conditions() {
    for (when, expected) in [
        (
            "file.hasTag('meeting') && !done",
            "When a note has the tag #meeting and `done` is not set",
        ),
        (
            "status == 'x' || status != \"y\"",
            "When, for a file, `status` is \"x\" or `status` is not \"y\"",
        ),
        ("due < today()", "When, for a note, `due` is before today"),
        ("file.mtime < now() - '30d'", "When, for a file, its last change is before 30 days ago"),
        (
            "file.ctime >= today() - '1w'",
            "When, for a file, its creation is no earlier than 7 days ago",
        ),
        ("!(rating > 3)", "When, for a file, it is not so that `rating` is more than 3"),
        ("!(a && b)", "When, for a file, `a` is not set or `b` is not set"),
        (
            "file.inFolder('A') && (x || file.hasTag('a', '#b'))",
            "When a note is in the folder A or below it and (`x` is set or it has one of the tags #a or #b)",
        ),
        (
            "file.ext == 'md' && file.name.startsWith('IMG')",
            "When, for a note, its extension is \"md\" and its name begins with \"IMG\"",
        ),
        ("date < date('2024-01-01')", "When, for a note, `date` is before 2024-01-01"),
        ("file.links.length > 3", "When, for a file, `file.links.length` is more than 3"),
        (
            "topics.containsAny('a', 'b')",
            "When, for a note, `topics` contains any of \"a\" and \"b\"",
        ),
        ("/^\\d+/.matches(file.name)", "When, for a file, its name matches `/^\\d+/`"),
        ("topics.isEmpty()", "When, for a file, `topics` is empty"),
        ("if(a, b, c)", "When, for a file, `if(a, b, c)` holds"),
        ("!file.hasProperty('x')", "When a file does not have the property `x`"),
    ] {
        let described = described(&format!("when: {}\ndo: [move: A]", serde_json::json!(when)));
        assert_eq!(
            described,
            format!("{expected}: move it to A. Runs only when you apply a plan.")
        );
    }
}

#[test]
fn filters_and_folders() {
    let text = described(
        "in: [Inbox, Old]\nwhen: {and: [a, {or: [b, file.hasTag('c')]}, {not: [d, e]}]}\ndo: [move: A]",
    );
    assert_eq!(
        text,
        "When, for a note in Inbox or Old, `a` is set and (`b` is set or it has the tag #c) and none of this is so: \
         (`d` is set or `e` is set): move it to A. Runs only when you apply a plan."
    );
    assert!(
        described("in: Inbox\ndo: [archive: true]")
            .starts_with("For every file in Inbox: move it to the archive.")
    );
    let classic = described(
        "dialect: classic\nwhen: file.ext IN ['png', 'jpg'] AND NOT file.isHidden\ndo: [move: 'Pics/{date}']",
    );
    assert!(
        classic.starts_with(
            "When, for a file, its extension is one of [\"png\", \"jpg\"] and its name does not begin with \".\": move it to Pics/{day of last change}."
        ),
        "{classic}"
    );
}

#[test]
fn actions_and_when_they_run() {
    let text = described(
        "in: Inbox\nwhen: file.hasTag(\"meeting\") && !done\ndo:\n\
         - set: {status: filed, filed: '{{today()}}', people: ['{{author}}', Ada]}\n- tag: archive/meeting\n- untag: [a, b]\n\
         - remove: old\n- move: 'Meetings/{{file.ctime.format(\"YYYY/MM\")}}'\n\
         - rename: '{{file.ctime.format(\"YYYY-MM-DD\")}} {{title}}'\n- create: {path: 'L/{{title}}.md', template: T}\n\
         - append: \"Filed\\non {{file.mtime}}\"\n- template: Person\nrun: {every: 1d, at: '03:00'}\nonce: true\n\
         then: continue\non_conflict: skip",
    );
    assert_eq!(
        text,
        "When a note in Inbox has the tag #meeting and `done` is not set: set `status` to \"filed\", set `filed` to \
         {today}, set `people` to [{author}, \"Ada\"], add the tag #archive/meeting, remove the tags #a and #b, remove \
         `old`, move it to Meetings/{year of creation}/{month of creation}, rename it to {day of creation} {name}, create \
         L/{name}.md from the template T unless it exists, add \"Filed on {day of last change}\" at its end, fill it from \
         the template Person if it has no text. If enabled, runs every day at 03:00. Where the new path is taken, the file \
         stays. Takes each file a single time. Later rules are asked about the file, too."
    );
    assert!(
        described("do: [trash: true]\nrun: change")
            .ends_with("move it to the trash. If enabled, runs once a changed file has been left alone for a while.")
    );
    assert!(
        described("do:\n- set: {a: 1}\n  if_present: keep\n- set: {b: [x]}\n  if_present: merge")
            .contains("set `a` to 1 unless it has one, add [\"x\"] to `b`.")
    );
    assert!(described("do: [move: /]").contains("move it to the top of the vault"));
    assert!(described("when: a").contains(": do nothing."));
}

/// Each rule of the manual, with the sentence or the error that follows it.
#[test]
fn the_manual_says_what_its_rules_do() {
    let manual = include_str!("../../docs/rules.md");
    let mut replayed = 0;
    for block in manual.split("```yaml\n").skip(1) {
        let (text, rest) = block.split_once("\n```\n").expect("a block has an end");
        let rest = rest.trim_start();
        match read(&format!("{text}\n"), &|_| Err("no bases".to_owned())) {
            Ok(file) => {
                let described = rest.strip_prefix("> ").and_then(|rest| rest.lines().next());
                assert_eq!(described, Some(&*sentence(&file.rules[0])), "{text}");
            }
            Err(faults) => {
                let described =
                    rest.strip_prefix("```text\n").and_then(|rest| rest.split("\n```").next());
                assert_eq!(described, Some(&*faults[0].render("rules.yaml")), "{text}");
            }
        }
        replayed += 1;
    }
    assert_eq!(replayed, 4);
}
