use super::*;

fn note<'a>(before: &'a str, after: &'a str) -> Vec<Finding> {
    added(Some((Format::Note, before)), (Format::Note, after))
}

fn new(text: &str) -> Vec<Finding> {
    added(None, (Format::Note, text))
}

const OLD: &str = "# Notes\n![old](https://example.com/old.png)\n";

#[test]
fn inactive_content_is_not_found() {
    let fine = [
        "![[image.png]] and ![alt](pictures/a.png) and [link](https://example.com)",
        "https://example.com is an address; `code` too; a < b and b > a; 5: five",
        "| a | b |\n|---|---|\n```rust\nlet x: Vec<String> = HashMap<K, V>::new();\n```",
        "```dataview\nTABLE rating FROM \"Books/New\" WHERE a != \"b\" AND !done AND x < 3\n```",
        "```mermaid\ngraph TD\n  A-->|yes| B\n  class1 <|-- class2\n```",
        "```bash\ncurl https://example.com\n```",
        "```base\nviews:\n  - type: table\n    name: All\n```",
        "[x]: local.md\n![y][x]",
        "[x]: https://example.com\n[y][x] ![z](z.png)",
        "![a](a%20b.png \"title: what\") ![b](data:image/png;base64,AAAA)",
        "<b>bold</b> <span class=\"a\" title='b: c'>x</span> <br/> <details open><summary>y</summary>",
        "<div style=\"color: red; margin: 0 1px\">x</div> <a href=\"https://example.com/?a=b\">x</a>",
        "<https://example.com/?a=b> <me@example.com> <!-- a comment -->",
        "a <b and c == d, if x <y or File: report.pdf, key: value",
        "`= this.file.name` and `= \"a\" + b`",
        "Inline math $a < b$ and \\frac{a}{b}",
    ];
    for text in fine {
        assert_eq!(note(OLD, &format!("{OLD}\n{text}\n")), [], "{text}");
        assert_eq!(note(OLD, &format!("---\nsource: https://example.com\n---\n{OLD}\n{text}")), []);
    }
}

#[test]
fn active_content_is_found_in_every_spelling() {
    let suspicious = [
        "![](https://x.example/?q=secret)",
        "![](http://127.0.0.1:9/?d=1)",
        "![a|100](//x.example/a.png)",
        "![a](\\\\\\\\x.example/a.png)",
        "![a](<https://x.example/a b.png>)",
        "![a](\n  https://x.example/a.png)",
        "![a](h&#116;tps://x.example/a.png)",
        "![a [b] c](HTTPS://x.example)",
        "![](ht\u{200b}tps://x.example)",
        "![](data:image/svg+xml,x)",
        "![x][ref]\n\n[ref]: https://x.example/a.png",
        // The definition may come later, in another block.
        "![a [b](c) d](https://x.example/?d=S)",
        "![a [b][r] d](https://x.example/?d=S)\n\n[r]: foo.md",
        "![x](https\\://x.example)",
        "![x][r]\n\n[r]: https\\://x.example",
        "![x][r]\n\n- [r]: https://x.example",
        "![x][r]\n\n1. [r]: https://x.example",
        "![x][a\\]b]\n\n[a\\]b]: https://x.example",
        "![x][a b]\n\n[a\nb]: https://x.example",
        "> ![x](\n> https://x.example)",
        "> ![x][r]\n\n> [r]:\n> https://x.example",
        "![x][r]\n\n[r]: https&#58;//x.example",
        "![x][ẞ]\n\n[SS]: https://x.example",
        "- a\n\n      ![x](https://x.example)",
        "<div>\n![x](https://x.example)\n</div>",
        "`` ` `` ![x](https://x.example) `",
        "`a` ![`]````](https://x.example)",
        "```\n![x](https://x.example)\n",
        "<img src=x>",
        "<IMG\nSRC='https://x.example'>",
        "> <img\n> src=https://x.example>",
        "<iframe src=\"https://x.example\"></iframe>",
        "<script>alert(1)</script>",
        "<div style=\"background: url(https://x.example)\">",
        "<div style=\"background: \\75rl(https://x.example)\">",
        "<div style=\"background: image-set('https://x.example')\">",
        "<p onclick='x()'>",
        "<p/onclick='x()'>",
        "<p\nclass=a\nonclick='x()'",
        "<x onpointerenter=a()>",
        "<td background=//x.example>",
        "<a href=\"java&#115;cript:x()\">",
        "<a href=' javascript:x()'>",
        "<div>\n[<p/onclick=x()\n</div>",
        "<pre>](> <a href=\njavascript:x",
        "1. > <p <!--title=a onclick=x()>",
        "<pre>\n<p style='a:url(//x.example)'",
        "<a:/onclick=x()>",
        "<p title=\"\n\n\" onclick=x()>",
        "[run](obsidian://advanced-uri?commandid=app%3Areload)",
        "[x](obsidian&#58;//x) ",
        "[x](obsidian\\://x)",
        "<obsidian://x>",
        "[x][r]\n\n[r]: obsidian://x",
        "see obsidian://open?vault=x",
        "[x](javascript:alert(1))",
        "```dataviewjs\ndv.x\n```",
        "~~~ dataviewjs\nx\n~~~",
        "```data&#118;iewjs\nx\n```",
        "```{dataviewjs}\nx\n```",
        "- ```dataviewjs\n  x\n  ```",
        "> [!note]\n> - ```dataviewjs\n>   x\n>   ```",
        "`$= dv.pages()`",
        "`` $= dv.pages() ``",
        "`= \"![](https://x.example)\"`",
        "```dataview\nTABLE \"!\" + \"[](https:\" + \"//x.example)\"\n```",
        "<% tp.system.prompt() %>",
        "```mermaid\nflowchart\nA@{ img: \"https://x.example\" }\n```",
        "```base\nformulas:\n  a: image(\"https://x.example\")\n```",
        "```leaflet\nlat: 1\n```",
        "```tasks\nnot done\nfilter  by Function fetch(1)\n```",
        "```plantuml-ascii\nA -> B\n```",
        "$\\style{background:url(//x.example)}{x}$",
        "![old](https://example.com/old.png) once more",
    ];
    for text in suspicious {
        assert_ne!(note(OLD, &format!("{OLD}\n{text}\n")), [], "{text}");
    }
    for frontmatter in [
        "cover: https://x.example",
        "banner: &a //x.example",
        "banner:\n  src: \"https\\u003a//x.example\"",
        "a: &x https://x.example\ncover: *x",
        "x: '![](https://x.example)'",
        "x: \"`$= a`\"",
        "x: [",
    ] {
        assert_ne!(new(&format!("---\n{frontmatter}\n---\ntext\n")), [], "{frontmatter}");
    }
}

#[test]
fn a_find_has_its_line_and_full_text() {
    let long = format!("https://x.example/?d={}", "s".repeat(3_000));
    let text =
        format!("---\na: b\ncover: https://y.example\n---\n\n> - ![x]({long})\n<img\nsrc=a>\n");
    let found = new(&text);
    let find = |line, text: String| Finding { line, text };
    assert_eq!(
        found,
        [
            find(3, "the property `cover: https://y.example`".to_owned()),
            find(6, format!("the image `{long}`")),
            find(7, "the HTML `<img\nsrc=a>`".to_owned()),
        ]
    );
}

#[test]
fn only_new_content_is_found() {
    assert_eq!(note(OLD, OLD), []);
    let moved = "![another description](https://example.com/old.png)\n\ntext\n";
    assert_eq!(note(OLD, moved), []);
    let twice = format!("{OLD}{moved}");
    assert_eq!(note(OLD, &twice).len(), 1);
    // The edit makes the image resolve.
    let before = "![x][r]\n\n[r]: local.png\n";
    assert_eq!(note(before, &before.replace("local.png", "https://x.example")).len(), 1);
    let long = format!("<b {} onclick=x>text", "a ".repeat(5_000));
    assert_eq!(new(&long).len(), 1);
    assert_eq!(note(&long, &long.replace("onclick=x", "onclick=y")).len(), 1);
    let broken = "---\na: [\n---\n\ntext\n";
    assert_eq!(note(broken, &broken.replace("text", "other")), []);
}

proptest::proptest! {
    #[test]
    fn a_text_adds_nothing_to_itself_and_every_find_has_a_line(
        text in "(!\\[|\\]\\(|\\[r\\]: |https://x|<img |<b |>|`|```|---\n|cover: |[\"'&;\\\\ ]|\n|> |- |\\PC){0,40}",
    ) {
        for format in [Format::Note, Format::Canvas, Format::Base, Format::Code] {
            proptest::prop_assert_eq!(added(Some((format, &text)), (format, &text)), []);
            let lines = text.lines().count().max(1) + 1;
            for find in added(None, (format, &text)) {
                proptest::prop_assert!((1..=lines).contains(&find.line), "{:?}", find);
            }
        }
    }
}

#[test]
fn canvases_bases_and_code_are_parsed_by_their_format() {
    let canvas = |text: &str| added(None, (Format::Canvas, text));
    assert_eq!(canvas(""), []);
    let fine = r#"{"nodes":[{"type":"text","text":"[a](https://x)\n"},{"type":"file","file":"a.md",
        "label":"See: this"}],"edges":[]}"#;
    assert_eq!(canvas(fine), []);
    for text in [
        r#"{"nodes":[{"type":"link","url":"https://x.example"}]}"#,
        r#"{"nodes":[{"type":"link","\u0075rl":"x"}]}"#,
        r#"{"nodes":[{"type":"text","text":"\u0021[x](https:\/\/x.example)"}]}"#,
        r#"{"nodes":[{"type":"group","background":"https://x.example"}]}"#,
        r#"{"nodes":[{"type":"text","text":"a"}"#,
    ] {
        assert_ne!(canvas(text), [], "{text}");
    }
    let base = |text: &str| added(None, (Format::Base, text));
    assert_eq!(base("filters:\n  and:\n    - file.hasTag(\"a\")\nviews:\n  - type: table\n"), []);
    for text in [
        "formulas:\n  a: image (\"https://x.example\")\n",
        "formulas:\n  a: html(x)\n",
        "views:\n  - type: cards\n    image: note.cover\n",
        "views: [",
    ] {
        assert_ne!(base(text), [], "{text}");
    }
    let format = |path: &str| Format::of(&VaultPath::parse(path, None).expect("a path"));
    assert_eq!(format("a/b.JS"), Some(Format::Code));
    assert_eq!(format("a.txt"), None);
    assert_eq!(added(None, (Format::Code, "")), []);
    assert_eq!(added(None, (Format::Code, "a {}")).len(), 1);
    let renamed = added(None, (Format::Note, "![](https://x.example)"));
    assert_eq!(renamed.len(), 1);
}

#[test]
fn parsing_takes_linear_time() {
    // Each would take hours with a parser that restarts at every mark.
    for mark in ["![", "[", "<a ", "<a b=\"", "`", "> ", "- ", "*", "&#", "![x][", "]: ", "<!--"] {
        new(&mark.repeat(100_000 / mark.len()));
    }
}
