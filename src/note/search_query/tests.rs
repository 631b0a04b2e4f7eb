use proptest::prelude::*;

use super::*;
use crate::note::path::VaultPath;

fn holds(query: &str, path: &str, text: &str) -> bool {
    let path = VaultPath::from_disk(path).expect("a path");
    parse(query).filter.holds(&SearchedFile::new(&path, text))
}

/// Checks which of these files each query finds.
#[track_caller]
fn finds(files: &[(&str, &str)], queries: &[(&str, &[&str])]) {
    for (query, expected) in queries {
        let found = files.iter().filter(|(path, text)| holds(query, path, text));
        let found: Vec<_> = found.map(|(path, _)| *path).collect();
        assert_eq!(found, *expected, "{query}: {}", parse(query).understood);
    }
}

/// The examples of Obsidian's manual, "Search terms".
#[test]
fn words_phrases_and_groups() {
    let files = [
        ("m.md", "The meeting is at noon."),
        ("mw.md", "A MEETING for work."),
        ("muw.md", "A meeting, a meetup and work."),
        ("up.md", "A personal meetup."),
        ("mwp.md", "Meeting at work (personal), they said \"hello\" to each other"),
        ("Star wars/x.jpg", ""),
    ];
    finds(
        &files,
        &[
            ("meeting work", &["mw.md", "muw.md", "mwp.md"]),
            ("meeting OR work", &["m.md", "mw.md", "muw.md", "mwp.md"]),
            ("meeting work OR meetup personal", &["mw.md", "muw.md", "up.md", "mwp.md"]),
            ("meeting (work OR meetup) personal", &["mwp.md"]),
            ("meeting -work", &["m.md"]),
            ("meeting -work -meetup", &["m.md"]),
            ("meeting -(work meetup)", &["m.md", "mw.md", "mwp.md"]),
            ("\"star wars\"", &["Star wars/x.jpg"]),
            (r#""they said \"hello\" to each other""#, &["mwp.md"]),
            ("\"a meeting\"", &["mw.md", "muw.md"]),
            ("“a meeting”", &["mw.md", "muw.md"]),
            ("file:.jpg", &["Star wars/x.jpg"]),
            ("file:star", &[]),
            ("path:\"Star wars/x\"", &["Star wars/x.jpg"]),
            ("content:star", &[]),
            ("match-case:MEETING", &["mw.md"]),
            ("match-case:(Meeting ignore-case:WORK)", &["mwp.md"]),
            ("-(m OR \"personal\")", &["Star wars/x.jpg"]),
            ("file:(m -u -p)", &["m.md", "mw.md"]),
            (r"/\bat \w+\./", &["m.md"]),
            ("path:/^m.\\.md$/", &["mw.md"]),
            ("", &["m.md", "mw.md", "muw.md", "up.md", "mwp.md", "Star wars/x.jpg"]),
        ],
    );
}

#[test]
fn case_and_form_do_not_count() {
    assert!(holds("CAFÉ", "a.md", "the cafe\u{301} ΟΔΟΣ"));
    assert!(holds("line:(cafe\u{301} οδος)", "a.md", "x\nthe café ΟΔΟΣ"));
    assert!(!holds("match-case:CAFÉ", "a.md", "café"));
    assert!(holds("match-case:café", "a.md", "cafe\u{301}"));
}

#[test]
fn tags() {
    let files = [
        ("a.md", "x #work/urgent"),
        ("b.md", "---\ntags: [Work]\n---\n"),
        ("c.md", "#myjob/work #worker"),
        ("d.md", "`#work`\n```\n#work\n```"),
        ("e.canvas", "#work"),
    ];
    finds(
        &files,
        &[
            ("tag:#work", &["a.md", "b.md"]),
            ("tag:work", &["a.md", "b.md"]),
            ("tag:#work/urgent", &["a.md"]),
            ("-tag:#work", &["c.md", "d.md", "e.canvas"]),
            ("tag:(#worker #myjob)", &["c.md"]),
            ("tag:/^#work.$/", &[]),
            ("#work", &["a.md", "c.md", "d.md", "e.canvas"]),
            ("line:(x tag:#work)", &["a.md"]),
        ],
    );
}

#[test]
fn lines_blocks_and_sections() {
    let text = "---\nsource: oven\n---\nmix\nflour\n\n# One\ndog\n\n- cat\n  goes on\n- bird\n\n\
                ```\nfish\n\nshark\n```\nSetext\n======\n| owl |\n|-----|\n| bat |\n\r\nlast\r\n";
    for (query, expected) in [
        ("line:(mix flour)", false),
        ("block:(mix flour)", true),
        ("-line:(mix flour)", true),
        ("line:(mix -flour)", true),
        ("block:(dog cat)", false),
        ("section:(dog cat)", true),
        ("section:(dog flour)", false),
        ("section:(source mix)", true),
        ("section:(one shark)", true),
        ("section:(shark owl)", false),
        ("section:(setext bat)", true),
        ("block:(cat \"goes on\")", true),
        ("block:(cat bird)", false),
        ("block:(fish shark)", true),
        ("block:(shark setext)", false),
        ("block:(setext owl)", false),
        ("block:(owl bat)", true),
        ("block:(source oven)", true),
        ("section:(block:(owl bat) line:last)", true),
        ("section:(block:(owl bat) line:dog)", false),
        ("line:/^last$/", true),
        ("line:\"\"", true),
    ] {
        assert_eq!(holds(query, "a.md", text), expected, "{query}");
    }
}

#[test]
fn tasks() {
    let text = "- [ ] call Ann\n  tomorrow\n    - [x] email Bob\n1. [-] visit\n- no [ ] task\n\
                > - [ ] quoted\n\n    - [ ] sub\n\n`- [ ] code`\n\n```\n- [ ] fenced\n```\n";
    for (query, expected) in [
        ("task:call", true),
        ("task:(call OR email)", true),
        ("task:(call tomorrow)", true),
        ("task:(call email)", false),
        ("task-todo:call", true),
        ("task-done:call", false),
        ("task-done:email", true),
        ("task-todo:email", false),
        ("task-done:visit", true),
        ("task:\"no \"", false),
        ("task-todo:quoted", true),
        ("task:code", false),
        ("task:fenced", false),
        ("-task:call", false),
    ] {
        assert_eq!(holds(query, "a.md", text), expected, "{query}");
    }
    assert!(holds("task:\"\"", "a.md", "- [ ] x") && !holds("task:\"\"", "a.md", "x"));
}

#[test]
fn properties() {
    let files = [
        ("a.md", "---\naliases: [Name, \"Other one\"]\nstatus: Draft\nduration: 4\n---\n"),
        (
            "b.md",
            "---\naliases:\nStatus: Published\nduration: 5\ndue date: 2026-11-25T08:00\n---\n",
        ),
        ("c.md", "---\naliases: \"\"\nstatus: [Old draft, Done]\nduration: 6.5\n---\n"),
        ("d.md", "---\naliases: []\ndone: true\ndue date: 2026-12-01\n---\nstatus: Draft"),
        ("e.canvas", "---\nstatus: Draft\n---\n"),
    ];
    finds(
        &files,
        &[
            ("[aliases]", &["a.md", "b.md", "c.md", "d.md"]),
            ("[aliases:Name]", &["a.md"]),
            ("[aliases:Other one]", &["a.md"]),
            ("[aliases:\"other\"]", &[]),
            ("[aliases:null]", &["b.md"]),
            ("[alias]", &[]),
            ("[status:Draft OR Published]", &["a.md", "b.md", "c.md"]),
            ("[status:\"draft\" OR (publ ished)]", &["a.md", "b.md"]),
            ("[status:-draft]", &["b.md"]),
            ("-[status:draft]", &["b.md", "d.md", "e.canvas"]),
            ("[status:/^d.*t$/]", &["a.md"]),
            ("[/^dur/:4]", &["a.md"]),
            ("[duration:<5]", &["a.md"]),
            ("[duration:>5]", &["c.md"]),
            ("[duration:>=5]", &["b.md", "c.md"]),
            ("[duration:< 5 OR > 6]", &["a.md", "c.md"]),
            ("[duration:5]", &["b.md"]),
            ("[due date:>2026-11-25]", &["d.md"]),
            ("[due date:<=2026-11-25]", &["b.md"]),
            ("[due date:<2026-12]", &["b.md"]),
            ("[done:true]", &["d.md"]),
            ("draft [duration]", &["a.md", "c.md"]),
            ("[status:[[x]] OR draft]", &["a.md", "c.md"]),
        ],
    );
}

/// Unreadable syntax is searched as text, with a warning.
#[test]
fn nothing_is_an_error() {
    for (query, words, ignored) in [
        ("foo-bar C++ what's 2024-01-01", &["foo-bar", "C++", "what's", "2024-01-01"][..], ""),
        (
            "AND a:b * NEAR(x) - --force f()",
            &["AND", "a:b", "*", "NEAR(x)", "-", "--force", "f()"],
            "",
        ),
        ("OR", &["OR"], ""),
        ("Portland OR", &["Portland", "OR"], ""),
        ("a OR OR", &["a", "OR"], ""),
        ("/usr/bin //", &["/usr/bin", "//"], ""),
        (":) a)", &[":)", "a)"], ""),
        ("\"", &["\""], ""),
        ("\"star wars", &["star", "wars"], "`\"` was left out: no second one closes the phrase"),
        ("(", &["("], "`(` holds nothing: it is searched for as text"),
        ("(a b", &["a", "b"], "`(a b` has no `)`: it was read to the end"),
        ("[", &["["], "`[` begins no property"),
        (
            "[[My note]]",
            &["[[My", "note]]"],
            "`[[My note]]` is not a property: it is searched for as text",
        ),
        ("[ ] x", &["[", "]", "x"], "`[ ]` is not a property: it is searched for as text"),
        ("[:x] \"]", &["[:x]", "]"], "`[` begins no property"),
        ("tag:", &["tag:"], "`tag:` is followed by nothing: it is searched for as text"),
        ("line:(", &[], "`(` holds nothing: it is searched for as text"),
        (
            "/(/",
            &["/(/"],
            "`/(/` is not a pattern that can be used (unclosed group): it is searched for as text",
        ),
        (
            "/(?<=a)b/",
            &["/(?<=a)b/"],
            "`/(?<=a)b/` is not a pattern that can be used (look-around, including look-ahead and look-behind, \
             is not supported): it is searched for as text",
        ),
        ("file:(line:x)", &[], "`line:` is not an operator here"),
        ("[a:<b]", &[], "`<b` compares with no number or date"),
    ] {
        let read = parse(query);
        assert_eq!(read.words, words, "{query}");
        assert_eq!(read.ignored.first().map_or("", |first| first), ignored, "{query}");
    }
    assert!(holds("/(/", "a.md", "see /(/ there") && !holds("/(/", "a.md", "see ( there"));
}

#[test]
fn limits() {
    let many = parse(&"w ".repeat(50_000));
    assert_eq!(many.words.len(), MAX_TERMS);
    assert!(many.ignored[0].ends_with("…` was left out: 256 words are read"), "{:?}", many.ignored);
    assert_eq!(parse("a OR ".repeat(50_000).trim_end_matches("OR ")).words.len(), MAX_TERMS);
    for piece in
        ["(", "-(", "line:(", "line:-", "[", "[[", "\"", "[a:(", "/", "/(", "task:", "([", "[a:b]"]
    {
        let read = parse(&piece.repeat(20_000));
        assert!(!read.understood.is_empty(), "{piece}");
    }
    let patterns = parse(&"/a/ ".repeat(MAX_PATTERNS + 1));
    assert_eq!(
        patterns.ignored,
        ["`/a/` is one pattern too many (16 are read): it is searched for as text"]
    );
    assert_eq!(parse(&format!("/{}/", r"\w{99}".repeat(99))).ignored.len(), 1);
}

#[test]
fn what_ranks_and_what_filters() {
    for (query, words, left) in [
        ("meeting work", &["meeting", "work"][..], "anything"),
        ("a (b OR c) -d", &["a", "b", "c"], "not \"d\""),
        ("a \"b c\" tag:#t", &["a", "b", "c"], "\"b c\" and the tag \"#t\""),
        ("(a file:f) b", &["a", "b"], "\"f\" in the file name"),
        ("a OR file:f", &["a"], "\"a\" or \"f\" in the file name"),
        ("-a", &[], "not \"a\""),
    ] {
        let read = parse(query);
        assert_eq!(read.words, words, "{query}");
        assert_eq!(read.filter.without_words().to_string(), left, "{query}");
        let is_ranked = ["meeting", "a ", "(a file:f)"].iter().any(|it| query.starts_with(it));
        assert_eq!(read.filter.has_bare_words(), is_ranked && !query.contains("OR f"), "{query}");
    }
}

#[test]
fn understood() {
    for (query, english) in [
        ("", "all files"),
        ("meeting work OR meetup", "files with (\"meeting\" and \"work\") or \"meetup\""),
        ("-(work meetup)", "files without (\"work\" and \"meetup\")"),
        ("meeting -work", "files with \"meeting\" and not \"work\""),
        ("line:(mix flour)", "files with a line with (\"mix\" and \"flour\")"),
        ("task-todo:call", "files with an open task with \"call\""),
        ("match-case:HappyCat", "files with \"HappyCat\" in this case"),
        ("[duration:<5]", "files with the property \"duration\" with a value less than 5"),
        ("[aliases:null]", "files with the property \"aliases\" with no value"),
        (r"path:/\d{4}/", r"files with a match of /\d{4}/ in the path"),
    ] {
        assert_eq!(parse(query).understood, english, "{query}");
    }
}

/// A query as a tree, which is written, read and compared with a scan.
#[derive(Debug, Clone)]
enum Tree {
    Word(usize),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Not(Box<Tree>),
    Line(Box<Tree>),
}

const WORDS: [&str; 4] = ["ant", "bee", "\"cow dog\"", "/e[ \\n]*l/"];
const MET: [&str; 4] = ["ant", "bee", "cow dog", "el"];

impl Tree {
    fn written(&self) -> String {
        let group = |parts: &[Tree], between: &str| {
            let parts: Vec<_> = parts.iter().map(Tree::written).collect();
            format!("({})", parts.join(between))
        };
        match self {
            Self::Word(at) => WORDS[*at].to_owned(),
            Self::All(parts) => group(parts, " "),
            Self::Any(parts) => group(parts, " OR "),
            Self::Not(part) if matches!(**part, Self::Not(_)) => format!("-({})", part.written()),
            Self::Not(part) => format!("-{}", part.written()),
            Self::Line(part) => format!("line:{}", part.written()),
        }
    }

    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Word(at) => text.contains(MET[*at]),
            Self::All(parts) => parts.iter().all(|part| part.holds(text)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(text)),
            Self::Not(part) => !part.holds(text),
            Self::Line(part) => text.split('\n').any(|line| part.holds(line)),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    (0..WORDS.len()).prop_map(Tree::Word).prop_recursive(4, 16, 2, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            some().prop_map(Tree::All),
            some().prop_map(Tree::Any),
            inner.clone().prop_map(|part| Tree::Not(Box::new(part))),
            inner.clone().prop_map(|part| Tree::Line(Box::new(part))),
        ]
    })
}

proptest! {
    #[test]
    fn a_query_finds_what_a_scan_finds(
        tree in tree(),
        pieces in prop::collection::vec(prop::sample::select(vec!["ant", "bee", "cow", "dog", "el", " ", "\n"]), 0..12),
    ) {
        let text = pieces.concat();
        let query = tree.written();
        let read = parse(&query);
        prop_assert!(read.ignored.is_empty(), "{:?}", read.ignored);
        prop_assert_eq!(holds(&query, "x", &text), tree.holds(&text), "{}", read.understood);
        prop_assert_eq!(holds(&format!("-({query})"), "x", &text), !tree.holds(&text));
    }
}
