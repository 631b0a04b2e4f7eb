//! Each function of Obsidian's manual, page Functions, with its example; and cases that the manual does not define.

use serde_json::json;

use super::{all, sample};

#[test]
fn global() {
    all(&[
        (r#"escapeHTML("<a href='x'>&\"")"#, json!("&lt;a href=&#39;x&#39;&gt;&amp;&quot;")),
        (r#"date("2026-05-27 12:00:00")"#, json!("2026-05-27T12:00:00")),
        (r#"date(date("2026-05-27"))"#, json!("2026-05-27")),
        ("date(missing)", json!(null)),
        (r#"date("soon")"#, json!("error")),
        ("date(5)", json!("error")),
        (r#"now() + (duration("1d") * 2)"#, json!("2026-11-26T12:00:00")),
        (r#"duration("nope")"#, json!("error")),
        (r#"file(link("[[Other]]")).path"#, json!("Other.md")),
        (r#"file("Other")"#, json!("Other.md")),
        (r#"file("Nothing")"#, json!(null)),
        (r#"html("<b>x</b>")"#, json!("<b>x</b>")),
        (r#"if(done, "Modified", "Unmodified")"#, json!("Unmodified")),
        (r#"if(price > 1, "a")"#, json!("a")),
        (r#"if(done, "a")"#, json!(null)),
        (r#"if(number("x"), 1, 2)"#, json!(2)),
        (r#"if(true, 1, number("x"))"#, json!(1)),
        (r#"image("https://a.b/c.svg")"#, json!("![](https://a.b/c.svg)")),
        (r#"icon("arrow-right")"#, json!("arrow-right")),
        (r#"link("Some Note", "Shown")"#, json!("[[Some Note|Shown]]")),
        (r#"link("https://obsidian.md")"#, json!("https://obsidian.md")),
        (r#"link("filename", icon("plus"))"#, json!("[[filename|plus]]")),
        (r#"link(file.mtime.date().toString())"#, json!("[[1970-01-01]]")),
        (r#"list("value")"#, json!(["value"])),
        ("list([1])", json!([1])),
        ("max(1, 3, 2)", json!(3)),
        ("min(1, 3, 2)", json!(1)),
        (r#"max(1, "2")"#, json!("error")),
        ("now()", json!("2026-11-24T12:00:00")),
        ("today()", json!("2026-11-24")),
        (r#"number("3.4")"#, json!(3.4)),
        (r#"number("")"#, json!("error")),
        ("number(true) + number(false)", json!(1)),
        (r#"number(date("1970-01-02"))"#, json!(86_400_000)),
        ("random() >= 0 && random() < 1", json!(true)),
        ("random() == random()", json!(false)),
        ("nothing()", json!("error")),
        ("date()", json!("error")),
    ]);
}

#[test]
fn any() {
    all(&[
        ("(1).isTruthy()", json!(true)),
        (r#""example".isType("string") && true.isType("boolean")"#, json!(true)),
        (r#"other.isType("link") && file.isType("file") && [1].isType("list")"#, json!(true)),
        (r#"missing.isType("null") && Due.isType("date") && (1).isType("number")"#, json!(true)),
        (
            r#"nested.isType("object") && /a/.isType("regexp") && duration("1d").isType("duration")"#,
            json!(true),
        ),
        ("(123).toString()", json!("123")),
        ("missing.toString()", json!("")),
        ("missing.isTruthy()", json!(false)),
        ("missing.isEmpty()", json!(true)),
        ("missing.lower()", json!(null)),
        ("missing.a.b[0].c", json!(null)),
        (r#"!tags.contains("x") && !missing.contains("x")"#, json!(true)),
        ("[1, 2].toString()", json!("1, 2")),
        ("/a/g.toString()", json!("/a/g")),
        ("(0.1 + 0.2).toString()", json!("0.30000000000000004")),
    ]);
}

#[test]
fn dates() {
    all(&[
        (r#"date("2026-11-24 10:30:15").year"#, json!(2026)),
        (r#"date("2026-11-24 10:30:15").month"#, json!(11)),
        ("at.day", json!(24)),
        ("at.hour", json!(10)),
        ("at.minute", json!(30)),
        (r#"date("2026-11-24 10:30:15").second"#, json!(15)),
        (r#"date("2026-11-24T10:30:15.250").millisecond"#, json!(250)),
        (r#"now().date().format("YYYY-MM-DD HH:mm:ss")"#, json!("2026-11-24 00:00:00")),
        (r#"Due.format("dddd D MMMM YYYY")"#, json!("Tuesday 1 December 2026")),
        ("now().time()", json!("12:00:00")),
        (r#"(now() - "3d").relative()"#, json!("3 days ago")),
        ("Due.isEmpty()", json!(false)),
        ("Due.week", json!("error")),
        (r#"(date("2026-06-11") - date("2026-06-10")).days"#, json!(1)),
        (r#"duration("90m").hours"#, json!(1.5)),
        (r#"duration("1d").milliseconds"#, json!(86_400_000)),
        (r#"duration("1y").months"#, json!(12)),
        (r#"duration("2w").weeks + duration("2w").days"#, json!(16)),
        (r#"duration("2m").seconds + duration("2h").minutes + duration("1y").years"#, json!(241)),
    ]);
}

#[test]
fn texts() {
    all(&[
        (r#""hello".length"#, json!(5)),
        (r#""🌱é".length"#, json!(2)),
        (r#""hello".contains("ell")"#, json!(true)),
        (r#""hello".contains(1)"#, json!("error")),
        (r#""hello".containsAll("h", "e")"#, json!(true)),
        (r#""hello".containsAny("x", "y", "e")"#, json!(true)),
        (r#""hello".endsWith("lo") && "hello".startsWith("he")"#, json!(true)),
        (r#""".isEmpty() && !"Hello world".isEmpty()"#, json!(true)),
        (r#""HÉLLO".lower()"#, json!("héllo")),
        (r#""a:b:c:d".replace(/:/, "-")"#, json!("a-b:c:d")),
        (r#""a:b:c:d".replace(/:/g, "-")"#, json!("a-b-c-d")),
        (r#""a:b:c".replace(":", "-")"#, json!("a-b-c")),
        (r#""John Smith".replace(/(\w+) (\w+)/, "$2, $1")"#, json!("Smith, John")),
        (r#""ab".replace(/b/, "[$&][$$][$`][$3]")"#, json!("a[b][$][a][$3]")),
        (r#""ab".replace(/(?<x>a)/, "<$<x>>")"#, json!("<a>b")),
        (r#""123".repeat(2)"#, json!("123123")),
        (r#""a".repeat(-1)"#, json!("error")),
        (r#""hello".reverse()"#, json!("olleh")),
        (r#""hello".slice(1, 4)"#, json!("ell")),
        (r#""hello".slice(-3)"#, json!("llo")),
        (r#""hello".slice(3, 1)"#, json!("")),
        (r#""héllo".slice(1, -1)"#, json!("éll")),
        (r#""a,b,c,d".split(",", 3)"#, json!(["a", "b", "c"])),
        (r#""a,b,c,d".split(/,/, 3)"#, json!(["a", "b", "c"])),
        (r#""abc".split("")"#, json!(["a", "b", "c"])),
        (r#""abc".split(/x*/)"#, json!(["a", "b", "c"])),
        (r#""a1b2".split(/(\d)/)"#, json!(["a", "1", "b", "2", ""])),
        (r#""hello wORLD it's".title()"#, json!("Hello World It's")),
        (r#""  hi  ".trim()"#, json!("hi")),
        (r#""asdf".asdfasdf"#, json!("error")),
        (r#""asdf".asdfasdf()"#, json!("error")),
        (r#""asdf".length()"#, json!("error")),
    ]);
}

#[test]
fn numbers() {
    all(&[
        ("(-5).abs()", json!(5)),
        ("(2.1).ceil()", json!(3)),
        ("(2.9).floor()", json!(2)),
        ("(5).isEmpty()", json!(false)),
        ("(2.5).round()", json!(3)),
        ("(-2.5).round()", json!(-2)),
        ("(2.3333).round(2)", json!(2.33)),
        ("(1234).round(-2)", json!(1200)),
        ("(3.14159).toFixed(2)", json!("3.14")),
        ("(2.5).toFixed(0)", json!("3")),
        ("(1).toFixed(101)", json!("error")),
    ]);
}

#[test]
fn lists() {
    all(&[
        ("[1,2,3].length", json!(3)),
        ("[1,2,3].contains(2)", json!(true)),
        ("[1,2,3].containsAll(2,3)", json!(true)),
        ("[1,2,3].containsAny(3,4)", json!(true)),
        ("[1,2,3,4].filter(value > 2)", json!([3, 4])),
        ("[1,[2,3]].flat()", json!([1, 2, 3])),
        ("[1,2,3].isEmpty()", json!(false)),
        (r#"[1,2,3].join(",")"#, json!("1,2,3")),
        ("[1,2,3,4].map(value + 1)", json!([2, 3, 4, 5])),
        ("[[1, 2], [3]].map(value.map(value + index))", json!([[1, 3], [3]])),
        ("[1,2,3].reduce(acc + value, 0)", json!(6)),
        (
            r#"[3, "a", 7].filter(value.isType("number")).reduce(if(acc == null || value > acc, value, acc), null)"#,
            json!(7),
        ),
        ("[1,2,3].reverse()", json!([3, 2, 1])),
        ("[1,2,3,4].slice(1,3)", json!([2, 3])),
        ("[1,2,3,4].slice(-1)", json!([4])),
        ("[3, 1, 2].sort()", json!([1, 2, 3])),
        (r#"["c", "a", "b"].sort()"#, json!(["a", "b", "c"])),
        (
            r#"["Note 10", "note 2", 5, null, "B"].sort()"#,
            json!([5, "B", "note 2", "Note 10", null]),
        ),
        ("[1,2,2,3].unique()", json!([1, 2, 3])),
        (r#"[link("Other"), link("Other.md"), link("Other")].unique().length"#, json!(2)),
        ("[1, 2, 3].sum() + [1, 2, 3].mean()", json!(8)),
        ("[10,20,30][1]", json!(20)),
        ("[10][5]", json!(null)),
        ("[10][-1]", json!(null)),
        ("[1].size", json!("error")),
    ]);
}

#[test]
fn links_files_objects_patterns() {
    all(&[
        ("other", json!("[[Other|Shown]]")),
        ("other.asFile().path", json!("Other.md")),
        (r#"link("Missing").asFile()"#, json!(null)),
        ("other.linksTo(file)", json!(true)),
        (r#"other.startsWith("Oth") && other.lower() == "other""#, json!(true)),
        (r#"link("Some Note").path"#, json!("error")),
        ("file.name", json!("Row")),
        (r#"file("Pictures/a.png").name"#, json!("a.png")),
        ("file.basename", json!("Row")),
        ("file.path", json!("Folder/Row.md")),
        ("file.folder", json!("Folder")),
        (r#"file("Other").folder"#, json!("/")),
        ("file.ext", json!("md")),
        ("file.size > 2 * 1000 && file.size == 2KB", json!(true)),
        ("file.properties.status", json!("open")),
        ("file.tags", json!(["work", "project/a"])),
        (
            "file.links",
            json!([
                "[[Other|Other]]",
                "[[Missing#Part|Missing > Part]]",
                "[[Pictures/a.png|Pictures/a.png]]"
            ]),
        ),
        ("file.embeds.length", json!(1)),
        ("file.backlinks", json!(["[[Other.md|Other]]"])),
        ("file.file.path", json!("Folder/Row.md")),
        ("file.ctime", json!("1970-01-01T00:00:00")),
        ("file.mtime < now()", json!(true)),
        ("file.asLink()", json!("[[Folder/Row.md]]")),
        (r#"file.asLink("Shown")"#, json!("[[Folder/Row.md|Shown]]")),
        (
            r#"file.hasLink("Other") && file.hasLink("other.md#x") && file.hasLink("Missing")"#,
            json!(true),
        ),
        (r#"file.hasLink("Row")"#, json!(false)),
        ("file.hasLink(missing)", json!(false)),
        (
            r#"file.hasProperty("status") && file.hasProperty("empty") && !file.hasProperty("x")"#,
            json!(true),
        ),
        (
            r##"file.hasTag("x", "#Project") && file.hasTag("WORK") && !file.hasTag("proj")"##,
            json!(true),
        ),
        (r#"file.inFolder("Folder") && file.inFolder("/") && !file.inFolder("Fold")"#, json!(true)),
        ("file.words", json!(7)),
        ("file.headings", json!(["First", "Second"])),
        (r#"file.text.contains("Some words")"#, json!(true)),
        (r#"file.similarity("x")"#, json!("error")),
        ("file.nothing", json!("error")),
        ("nested.keys()", json!(["Key", "list"])),
        ("nested.values()", json!([1, [1, 2]])),
        ("nested.isEmpty()", json!(false)),
        (r#"nested.key + nested["list"][1]"#, json!(3)),
        ("nested.nothing", json!(null)),
        (
            r#"/abc/.matches("abcde") && !/abc/.matches("ABC") && /abc/i.matches("ABC")"#,
            json!(true),
        ),
    ]);
}

/// The help of each function is shown to people: none of them may be missing its code.
#[test]
fn every_function_can_be_found_by_its_receiver() {
    for function in super::super::functions::all() {
        let found = super::super::functions::find(function.of, function.name, function.is_call());
        assert!(found.is_some(), "{}", function.name);
    }
    drop(sample());
}
