//! The link grammar, case by case.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::note::link::{Encoding, LinkKind};

/// Each link as `kind path#sub|display`.
fn links(text: &str) -> Vec<String> {
    read(text)
        .links
        .iter()
        .map(|link| {
            let kind = match link.kind {
                LinkKind::Wikilink => "",
                LinkKind::Embed => "!",
                LinkKind::Markdown => "md ",
                LinkKind::Image => "img ",
            };
            let display = link.display.clone().map(|range| format!("|{}", &text[range]));
            let subpath = link.subpath(text);
            format!("{kind}{}{subpath}{}", link.linkpath(text), display.unwrap_or_default())
        })
        .collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(links(text), expected, "{text:?}");
}

#[test]
fn wikilinks() {
    check("[[a]] and [[b/c d#h#i|x|y]]", &["a", "b/c d#h#i|x|y"]);
    check("![[img.png|100x145]]![[a#^id]]", &["!img.png|100x145", "!a#^id"]);
    check("[[#h]] [[ a ]] [[a|]]", &["#h", "a", "a|"]);
    check("[[]] [[ ]] [[|x]] [[a", &[]);
    check("[[a\nb]]", &[]);
    check("[[a#[^1]]] [[b|see [1]]] [[c|[d] e]]", &["a#[^1", "b|see [1", "c|[d] e"]);
    check("[[x [[a]] y]]", &["a"]);
    check("[[a [b] c]]", &[]);
    check("大[[Größe 🌱|é]]ü", &["Größe 🌱|é"]);
    check("[[a]]\r\n[[b]]\r\n", &["a", "b"]);
    check("[[a%20b]]", &["a%20b"]);
}

#[test]
fn escapes() {
    check(r"\[[a]] \\[[b]] \![[c]] [\[d]]", &["b", "c"]);
    check(r"\`[[a]]\`", &["a"]);
    check(r"[[a\|b]]", &[r"a|b"]);
}

#[test]
fn markdown_links() {
    check("[t](a%20b.md#h%20i \"title\") ![x](<c d.png>)", &["md a b.md#h i|t", "img c d.png|x"]);
    check("[a](b(c).md) [a](b(c.md [d](e\\).md)", &["md b(c).md|a", "md e).md|d"]);
    check("[![alt](i.png)](n.md)", &["md n.md|![alt](i.png)", "img i.png|alt"]);
    check("[a [b](c.md) d](e.md)", &["md c.md|b"]);
    check("[a]() [a] (b) [a](b c)", &[]);
    check("[a](#h)", &["md #h|a"]);
    check("[a\nb](c.md\n'x')", &["md c.md|a\nb"]);
    check("[a](<b\nc>) [x](y 't)", &[]);
    let text = "[t](p.md 'it') [u](<q r.md>)";
    let found = read(text).links;
    assert_eq!(found[0].title.clone().map(|title| &text[title]), Some("it"));
    assert_eq!(found[0].encoding, Encoding::Percent);
    assert_eq!(found[1].encoding, Encoding::Angle);
    assert_eq!(&text[found[1].path.clone()], "q r.md");
    check("[w](https://x.y/z)", &["md https://x.y/z|w"]);
}

#[test]
fn nothing_in_code() {
    check("`[[a]]` ``[[b]]` [[c]]`` [[d]]", &["d"]);
    check("`[[a]]\n[[b]]` [[c]]", &["c"]);
    check("` [[a]]\n\n` [[b]]", &["a", "b"]);
    check("```\n[[a]]\n```\n[[b]]", &["b"]);
    check("~~~~ md\n[[a]]\n~~~\n```\n~~~~\n[[b]]", &["b"]);
    check("```\n[[a]]", &[]);
    check("``` a`b\n[[a]]", &["a"]);
    check("- x\n\n  ```\n  [[a]]\n  ```\n- [[b]]", &["b"]);
    check("- ```\n  [[a]]\n[[b]]", &["b"]);
    check("1. x\n   ~~~\n   [[a]]\n\n   [[b]]\n   ~~~\n   [[c]]", &["c"]);
    check("- item\n```\n[[a]]\n```\n[[b]]", &["b"]);
    check("> ```\n> [[a]]\n[[b]]", &["b"]);
    check("> ```\n> > [[a]]\n> ```\n> [[b]]", &["b"]);
    check("text\n\n    [[a]]\n\n[[b]]", &["b"]);
    check("text\n    [[a]]", &["a"]);
    check("- a\n\n    [[b]]\n\t- [[c]]\n\n          [[d]]", &["b", "c"]);
    check("\t[[a]]\n", &[]);
}

#[test]
fn nothing_in_math() {
    check("$[[a]]$ $$[[b]]$$ [[c]]", &["c"]);
    check("$$\n[[a]]\n\n[[b]]\n$$ [[c]]\n[[d]]", &["c", "d"]);
    check("$$\n[[a]]", &["a"]);
    check("5$ [[a]] 6$ and $7 [[b]] $8", &["a", "b"]);
    check("x $$\n[[a]]\n$$ [[b]]", &["b"]);
}

#[test]
fn nothing_in_html() {
    check("<!-- [[a]] --> [[b]]\n[[c]]", &["c"]);
    check("x <!-- [[a]] --> [[b]]", &["b"]);
    check("<div>\n[[a]]\n\n[[b]]", &["b"]);
    check("x <a href=\"[[a]]\">[[b]]</a> <https://[[c]]>", &["b"]);
    check("<pre>\n\n[[a]]\n</pre>\n[[b]]", &["b"]);
    check("<span>[[a]]</span>", &["a"]);
    check("a < b [[c]] > d", &["c"]);
    check("x <!-- [[a]]", &["a"]);
}

#[test]
fn comments_are_marked() {
    let flags =
        |text: &str| -> Vec<bool> { read(text).links.iter().map(|link| link.in_comment).collect() };
    assert_eq!(flags("[[a]] %%[[b]]%% [[c]]"), [false, true, false]);
    assert_eq!(flags("%%\n\n[[a]]\n\n%%\n[[b]]"), [true, false]);
    assert_eq!(flags("x %% [[a]]\n\n[[b]] %% [[c]]"), [false, false, false]);
    assert_eq!(flags("`%%` [[a]] %%"), [false]);
    assert_eq!(flags("%%\n[[a]]"), [true]);
}

#[test]
fn tables_escape_the_pipe() {
    let text = "| a | b |\n|---|:-:|\n| [[x\\|1]] | [[y]] |\n| [[z|2]] | c |\n\n[[w|3]]";
    check(text, &["x|1", "y", "w|3"]);
    let found = read(text).links;
    assert!(found[0].in_table && found[0].escaped_pipe && found[1].in_table);
    assert!(!found[2].in_table && !found[2].escaped_pipe);
}

#[test]
fn containers_are_no_hindrance() {
    check(
        "> [!tip] [[a]]\n> > [[b]]\n- [ ] [[c]]\n1. [[d]]\n\n# [[e]]",
        &["a", "b", "c", "d", "e"],
    );
    check("a\n===\n[[b]]\n---\n[[c]]", &["b", "c"]);
}

#[test]
fn an_indented_list_below_a_paragraph_is_not_code() {
    check("text\n\t- \n\t- [[a]]", &["a"]);
    check("text\n\t-\n\t- [[a]]", &["a"]);
    check("text\n    - \n    - [[a]]\n    - [[b]]", &["a", "b"]);
    check("text\n    1. \n    2. [[a]]", &["a"]);
    check("text\n\t- # h\n\t- [[a]]", &["a"]);
    check("text:\n    - a\n    - <br>\n    - [[a]]", &["a"]);
    check("text\n\t- ```\n\t  [[no]]\n\t  ```\n\t- [[a]]", &["a"]);
    check("- text\n\t\t- \n\t\t- [[a]]", &["a"]);
    check("> text\n> \t- \n> \t- [[a]]", &["a"]);
    check("text\n\t- \n\n\t- [[no]]", &[]);
    check("text\n\t- \nx\n\n    [[no]]", &[]);
}

#[test]
fn a_footnote_has_paragraphs() {
    check("[^1]: a\n\n    [[a]]", &["a"]);
    check("[^n]: a\n\n\t[[a]]\n\n\t- [[b]]\n\n\t> [[c]]", &["a", "b", "c"]);
    check("[^n]: a\n    b\n\n    [[a]]", &["a"]);
    check("[^n]: a\n\n        [[no]]", &[]);
    check("[^n]: a\n\nb\n\n    [[no]]", &[]);
    check("[^n]: ($)\n[^m]: [[a]] ($)", &["a"]);
    check("> [^1]: a\n>\n>     [[a]]", &["a"]);
}

#[test]
fn a_tab_after_a_mark_goes_to_the_next_stop_of_the_line() {
    check(">\t[[a]]", &["a"]);
    check("> \t[[a]]", &["a"]);
    check(">\t- [[a]]", &["a"]);
    check("> a\n>\n>\t[[a]]", &["a"]);
    check("> a\n>\n>\t\t[[no]]", &[]);
    check("- > a\n  >\n  >\t[[a]]", &["a"]);
    check("-\tx\n\n\t[[a]]", &["a"]);
    check("1.\tx\n\n\t[[a]]", &["a"]);
}

#[test]
fn code_and_math_end_with_their_cell() {
    check("| ($) | [[a]] | ($) |\n|-|-|-|\n| 1 | 2 | 3 |", &["a"]);
    check("|a|b|c|\n|-|-|-|\n| ` | [[a]] | ` |", &["a"]);
    check("|a|b|c|\n|-|-|-|\n| $$ | [[a]] | $$ |", &["a"]);
    check("|a|b|\n|-|-|\n| `[[no]] \\| x` | [[a]] |", &["a"]);
}

#[test]
fn the_text_below_an_unclosed_block_of_properties_has_links() {
    check("---\ntitle: x\n...\n\n# H\n\n[[a]]", &["a"]);
    check("---\nSource: [[a]]\nAuthor: see [[b]]\n", &["a", "b"]);
}

#[test]
fn a_block_ends_with_the_quote_or_item_that_contains_it() {
    // Only the text of a paragraph continues a quote without its mark.
    check("> q\n```sh\n[[no]]\n```\n[[a]]", &["a"]);
    check("> [!tip] q\n~~~\n[[no]]\n~~~\n> [[a]]", &["a"]);
    check("> [!tip] q\n- a\n  ```\n  [[no]]\n  ```\n  [[a]]", &["a"]);
    check("> q\n$$\n[[no]]\n$$\n[[a]]", &["a"]);
    check("> q\n<div>\n[[no]]\n\n[[a]]", &["a"]);
    check("> q\n    ```\n[[a]]", &["a"]);
    check("> `q\n[[no]]`\n[[a]]", &["a"]);
    check("> ```\n> [[no]]\n\n> [[a]]", &["a"]);
    check("> ```\n> [[no]]\n[[a]]", &["a"]);
    check("> <div>\n> [[no]]\n[[a]]", &["a"]);
    check("> <!-- [[no]]\n[[a]]", &["a"]);
    check("- <div>\n  [[no]]\n[[a]]", &["a"]);
    check("- ```\n  [[no]]\n> [[a]]", &["a"]);
    check("<div>\n> [[no]]\n\n[[a]]", &["a"]);
    check("text\n    ```\n[[a]]", &["a"]);
    check("- > ```\n  > [[no]]\n  > ```\n  > [[a]]", &["a"]);
    check("- > ```\n  [[a]]", &["a"]);
    check("- > ```\n> [[a]]", &["a"]);
    check("- > $$\n> [[a]]\n> $$", &["a"]);
    check("- > <div>\n> [[a]]", &["a"]);
    check("> - > ```\n>   > [[no]]\n> > [[a]]", &["a"]);
    check("- >     [[no]]\n\n[[a]]", &["a"]);
    check("- a\n  - > ```\n    > [[no]]\n    > ```\n\n[[a]]", &["a"]);
    check("10. > ```\n    > [[no]]\n[[a]]", &["a"]);
    check("- a\n\t- > ```\n\t  > [[no]]\n[[a]]", &["a"]);
    check("- \n\n  ```\n```\n[[a]]\n```", &["a"]);
    check("- \n  \n  ```\n  [[no]]\n```\n[[a]]", &["a"]);
    check("- > $$\n  > [[no]]\n  > $$\n  > [[a]]", &["a"]);
    check("- x\n  > q\n    ```\n    [[no]]\n    ```\n  [[a]]", &["a"]);
    assert_eq!(read("- x\n  > q\n    - [ ] t\n").block_ranges.len(), 3);
    assert_eq!(read("1. x\n   > q\n    # h\n").headings.len(), 1);
    assert_eq!(read("> q\n===\n").headings.len(), 0);
    assert_eq!(read("> q\n# h\n").headings.len(), 1);
    assert_eq!(read("> q\n- [ ] t\n").block_ranges.len(), 2);
}

#[test]
fn the_outline() {
    let text = "# One #\n\ntext ^a-1\n\n- item ^b\n\nTwo\n---\n####### no\n## Drei ü\n#no\n```\n# \
                code\n```\n^c\n";
    let found = read(text);
    let headings: Vec<_> =
        found.headings.iter().map(|h| (h.level, &text[h.text.clone()], h.line)).collect();
    assert_eq!(headings, [(1, "One", 1), (2, "Two", 7), (2, "Drei ü", 10)]);
    let blocks: Vec<_> = found.blocks.iter().map(|b| (&text[b.id.clone()], b.line)).collect();
    assert_eq!(blocks, [("a-1", 3), ("b", 5), ("c", 15)]);
}

#[test]
fn tags_in_text() {
    let text = "#a b#c (#d) #1 #2x, `#e` [[f#g]] http://x/#h\n# #i/j\n#ü-🌱";
    let tags: Vec<_> = read(text).tags.into_iter().map(|tag| (&text[tag.name], tag.line)).collect();
    assert_eq!(tags, [("a", 1), ("2x", 1), ("i/j", 2), ("ü-🌱", 3)]);
}

#[test]
fn a_mark_and_frontmatter_come_before_the_body() {
    let text = "\u{feff}---\na: \"[[p]]\"\n---\n[[b]]";
    check(text, &["p", "b"]);
    assert_eq!(&text[read(text).body..], "[[b]]");
    assert_eq!(read(text).links.iter().map(|link| link.line).collect::<Vec<_>>(), [2, 4]);
}

/// Quadratic cost would make this take minutes.
#[test]
fn cost_is_linear() {
    for piece in [
        "[[", "[", "[a](", "`", "`` ` ", "$1 ", "$$ ", "<!-- ", "<a b='", "<a b=\"", "- ", "> ",
        "%% ", "![", "[[a|", "](a(", "[](<", "[](a '", "[](a (", "<", "<a", "| ", "```\n", "  - ",
        "a: [", "\\",
    ] {
        read(&piece.repeat(200_000 / piece.len()));
        read(&format!("---\n{}", piece.repeat(60_000 / piece.len())));
    }
}

/// Beginnings and ends of syntax elements.
const MARKS: [&str; 64] = [
    "[",
    "![",
    "[[",
    "![[",
    "]",
    "]]",
    "[a](",
    "](",
    "[](a ",
    "[](a (",
    "[](a \"",
    "[](a '",
    "[](<",
    "(",
    ")",
    "((",
    "<",
    ">",
    "<a ",
    "<a b=\"",
    "<a b='",
    "</",
    "<!--",
    "-->",
    "<!--->",
    "<?",
    "<div>\n",
    "<https://",
    "a@b",
    "`",
    "``",
    "```\n",
    "~~~\n",
    "$",
    "$$",
    "$$\n",
    "%%",
    "\n%%",
    "#",
    "# ",
    "#a/",
    "|",
    "|-|\n",
    "\n\n",
    "\n",
    "\n> ",
    ">",
    "- ",
    "\n- ",
    "\n\t- ",
    "1. ",
    "    ",
    "\t",
    "\\",
    "&",
    "[^1]: ",
    "[^",
    "^a",
    "---\n",
    "\n===\n",
    "\r\n",
    "a",
    "1",
    "ü",
];

/// Look-ahead steps per byte of a text.
fn steps_a_byte(text: &str) -> usize {
    ahead::steps();
    read(text);
    ahead::steps() / text.len().max(1)
}

/// Parentheses in a destination are looked at again from 32 further out, and nothing more often.
const MAX_STEPS: usize = 64;

#[test]
fn what_no_opener_ends_is_not_looked_at_again_from_each() {
    for mark in MARKS {
        for (before, after) in [("", ""), ("", ")"), ("x", ") x"), ("", "\""), ("", "'"), ("", ">")]
        {
            let text = format!("{before}{}{after}", mark.repeat(20_000 / mark.len()));
            let steps = steps_a_byte(&text);
            assert!(steps <= MAX_STEPS, "{mark:?}, then {after:?}: {steps}");
        }
    }
}

/// Items in items up to the maximum depth, and then lines that continue the innermost.
#[test]
fn lines_below_deep_lists_do_not_look_at_each_item() {
    let mut text = String::new();
    for level in 0..100 {
        text += &format!("{}{}a\n", "\t".repeat(8 * level), "+ ".repeat(16));
    }
    let deep = text.len();
    text += &"a\n".repeat(deep);
    let steps = steps_a_byte(&text);
    assert!(steps <= MAX_STEPS, "{steps}");
}

proptest! {
    #[test]
    fn no_scan_is_repeated_from_each_opener(
        before in proptest::collection::vec(select(&MARKS[..]), 0..4),
        repeated in proptest::collection::vec(select(&MARKS[..]), 1..6),
        after in proptest::collection::vec(select(&MARKS[..]), 0..4),
    ) {
        let repeated = repeated.concat();
        let text =
            [before.concat(), repeated.repeat(10_000 / repeated.len()), after.concat()].concat();
        let steps = steps_a_byte(&text);
        prop_assert!(steps <= MAX_STEPS, "{} steps a byte", steps);
    }
}
