//! Frontmatter of real notes.

use serde_json::json;

use super::*;

fn read(text: &str) -> Frontmatter {
    find(text, 0).expect("frontmatter")
}

fn values(text: &str) -> Value {
    let found = read(text);
    let properties = found.properties.expect("valid");
    properties.into_iter().map(|property| json!([property.name, property.value])).collect()
}

#[test]
fn where_it_begins_and_ends() {
    for (text, yaml) in [
        ("---\na: 1\n---\nbody", Some("a: 1\n")),
        ("---\r\na: 1\r\n---  \r\nbody", Some("a: 1\r\n")),
        ("---\na: 1", Some("a: 1")),
        ("---\n---\n", Some("")),
        ("---\nprose after a rule\n\n[[x]]", None),
        ("--- \na: 1\n---", None),
        (" ---\na: 1\n---", None),
        ("---", None),
        ("----\na: 1\n----", None),
    ] {
        let found = find(text, 0).map(|found| &text[found.yaml]);
        assert_eq!(found, yaml, "{text:?}");
    }
    let text = "---\na: 1\n--- \t\nbody";
    assert_eq!(&text[read(text).range.end..], "body");
}

#[test]
fn values_of_the_core_schema_in_their_order() {
    let text = "---\nz: text # a comment\na: 12\nb: -1.5\nc: 2019-04-01\nd: yes\ne: true\nf:\n\
                g: \"a: b\"\nh: 'it''s'\ni: [x, 2]\nj:\n  - p\n  - q: r\nk: |\n  two\n  lines\nl: \
                007\nm: 123456789012345678901\nn: 0x1F\n---\n";
    assert_eq!(
        values(text),
        json!([
            ["z", "text"],
            ["a", 12],
            ["b", -1.5],
            ["c", "2019-04-01"],
            ["d", "yes"],
            ["e", true],
            ["f", null],
            ["g", "a: b"],
            ["h", "it's"],
            ["i", ["x", 2]],
            ["j", ["p", {"q": "r"}]],
            ["k", "two\nlines\n"],
            ["l", 7],
            ["m", "123456789012345678901"],
            ["n", 31]
        ])
    );
}

#[test]
fn places_are_the_texts_own() {
    let text = "---\nné: \"größe\"\n# of the list\nlist:\n  - a\n  - ü\nlast: x  # y\n---\n";
    let found = read(text);
    let places: Vec<_> = found
        .properties
        .expect("valid")
        .into_iter()
        .map(|property| (&text[property.key], &text[property.at]))
        .collect();
    let text =
        "---\na: 'it''s' # 'x'\nb: \"\\\"[[L]]\" # \"\nc: [x, 'y]'] # ]\nd: \"[[M]]\" # z\n---\n";
    let found = read(text);
    let links: Vec<_> = found.links.iter().map(|link| link.linkpath(text).into_owned()).collect();
    assert_eq!(links, ["M"], "what trails a value is none of it");
    let properties = found.properties.expect("valid");
    let ends: Vec<_> = properties.iter().map(|property| &text[property.at.clone()]).collect();
    assert_eq!(ends, ["'it''s'", "\"\\\"[[L]]\"", "[x, 'y]']", "\"[[M]]\""]);
    let items: Vec<_> = properties[2].items.iter().map(|item| &text[item.clone()]).collect();
    assert_eq!(items, ["x", "'y]'"]);
    assert_eq!(places, [("né", "\"größe\""), ("list", "- a\n  - ü"), ("last", "x")]);
}

#[test]
fn json_is_yaml() {
    assert_eq!(values("---\n{\"a\": [1, {\"b\": null}]}\n---\n"), json!([["a", [1, {"b": null}]]]));
}

#[test]
fn what_cannot_be_read_says_why() {
    let error = |text: &str| read(text).properties.expect_err("a fault");
    let syntax = error("---\ntitle: a: b\ntags: [x\n---\n");
    assert!(matches!(syntax, FrontmatterError::Syntax { line: 2, .. }), "{syntax}");
    assert_eq!(error("---\n- a\n---\n"), FrontmatterError::NotAMapping);
    assert_eq!(error("---\njust prose\n---\n"), FrontmatterError::NotAMapping);
    let twice = error("---\na: 1\nb: 2\na: 3\n---\n");
    assert_eq!(twice, FrontmatterError::DuplicateKey { line: 4, key: "a".to_owned() });
    let deep = format!("---\na: {}\n---\n", "[".repeat(5000));
    error(&deep);
    let mut bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let item = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [item.as_str(); 10].join(", ")));
    }
    error(&(bomb + "---\n"));
}

#[test]
fn links_are_whole_values_or_items() {
    let text = "---\na: \"[[One]]\"\nb: '[[O''Neill|x]]'\nc: see [[Two]]\nd: \"see [[Three]]\"\ne:\n\
                - \"[[Four#h]]\"\n- '![[five.png]]'\nf: {g: \"[[Six]]\"}\nh: [[Seven]]\ni: \
                \"[t](Eight.md)\"\nj: \"[[N\\u00e9]]\"\n---\n";
    let found = read(text);
    let links: Vec<_> = found.links.iter().map(|link| link.linkpath(text).into_owned()).collect();
    assert_eq!(links, ["One", "O'Neill", "Four", "five.png", "Six", "Eight.md", "Né"]);
    for link in &found.links {
        assert!(text[link.range.clone()].contains('['), "{link:?}");
        assert!(link.frontmatter.is_some());
    }
}

/// The range of each is the part of the text whose change changes the property.
#[test]
fn links_behind_anchors_and_types_and_in_lines_of_their_own_are_links() {
    let text = "---\na: &x \"[[One]]\" # c\nb: *x\nc: !!str '[[Two|é]]'\nd: >-\n  [[Three#h]]\ne: |\n  \
                [[Four]]\nf:\n  - &y !!str \"[[Five]]\"\n  - >\n    [[Six]]\ng: >-\n  see [[Seven]]\nh: \
                |\n  [[Eight]]\n  [[Nine]]\ni: &z\n  \"[[Ten]]\"\n---\n";
    let found = read(text);
    let links: Vec<_> = found.links.iter().map(|link| link.linkpath(text).into_owned()).collect();
    assert_eq!(links, ["One", "Two", "Three", "Four", "Five", "Six", "Ten"]);
    for link in &found.links {
        let written = &text[link.range.clone()];
        assert!(written.starts_with("[[") && written.ends_with("]]"), "{written}");
    }
    let properties = found.properties.expect("valid");
    assert_eq!(&text[properties[0].at.clone()], "&x \"[[One]]\"");
}

#[test]
fn links_are_found_at_any_depth_and_are_no_keys() {
    let text = "---\na:\n- to: \"[[One]]\"\n  by:\n    - - '[[Two]]'\n      - x: {y: [\"[[Three|é]]\"]}\nb:\n  \
                sub: \"[[Four]]\" # c\n  see: \"see [[Five]]\"\n  \"[[Six]]\": x\n  c: >-\n    \
                [[Seven]]\n---\n";
    let found = read(text);
    let links: Vec<_> = found.links.iter().map(|link| &text[link.range.clone()]).collect();
    assert_eq!(links, ["[[One]]", "[[Two]]", "[[Three|é]]", "[[Four]]", "[[Seven]]"]);
}

#[test]
fn tags_of_a_block() {
    assert_eq!(read("---\nTags: [a, 'b c', \"#d\"]\n---\n").tags(), ["a", "d"]);
    assert_eq!(read("---\ntags: garden\n---\n").tags(), ["garden"]);
}
