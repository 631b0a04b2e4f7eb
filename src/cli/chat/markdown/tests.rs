use proptest::prelude::*;

use super::*;

fn shown(text: &str, width: usize) -> String {
    let mut markdown = Markdown::new(width);
    let mut out = markdown.push(text);
    out.push_str(&markdown.finish());
    out
}

/// As [`shown`], with `⟨…⟩` around styled text.
fn marked(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in shown(text, 40).split('\u{1b}').enumerate() {
        match part.split_once('m') {
            Some(("[0", rest)) if index > 0 => out.push_str(&format!("⟩{rest}")),
            Some((code, rest)) if index > 0 => out.push_str(&format!("⟨{} {rest}", &code[1..])),
            _ => out.push_str(part),
        }
    }
    out
}

#[test]
fn each_kind_of_thing() {
    for (text, looks) in [
        ("Hello **big** *world*.", "Hello ⟨1 big⟩ ⟨3 world⟩.\n"),
        ("***both*** ~~gone~~ __b__ _i_", "⟨1;3 both⟩ ⟨9 gone⟩ ⟨1 b⟩ ⟨3 i⟩\n"),
        ("**a *b* c**", "⟨1 a⟩ ⟨1;3 b⟩ ⟨1 c⟩\n"),
        ("a `b * c` and ``d`e``", "a ⟨36 b⟩ ⟨36 *⟩ ⟨36 c⟩ and ⟨36 d`e⟩\n"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4\n"),
        ("2*(3+4)*5 and *args, **kwargs", "2*(3+4)*5 and *args, **kwargs\n"),
        ("an open `tick and **bold", "an open `tick and **bold\n"),
        (r"\*not\* \_so\_ C:\dir", "*not* _so_ C:\\dir\n"),
        ("[the sea](https://s.example)", "⟨4 the⟩ ⟨4 sea⟩ ⟨2 (https://s.example)⟩\n"),
        ("![pic](a.png) [x] [a](", "⟨4 pic⟩ ⟨2 (a.png)⟩ [x] [a](\n"),
        ("see [[My Note|it]] and ![[b.png]]", "see ⟨36 [[My⟩ ⟨36 Note|it]]⟩ and ⟨36 ![[b.png]]⟩\n"),
        ("# Big\n## Less", "⟨1;4 Big⟩\n⟨1 Less⟩\n"),
        ("#tag is no heading", "#tag is no heading\n"),
        ("- one\n* two\n  + three\n10. ten\n3) x", "• one\n• two\n  • three\n10. ten\n3) x\n"),
        ("- [ ] do\n- [x] done", "• [ ] do\n• [x] done\n"),
        ("-dash\n1.5 is\n2026 was", "-dash\n1.5 is\n2026 was\n"),
        ("> said\n> > twice", "⟨2 │ ⟩said\n⟨2 │ │ ⟩twice\n"),
        ("a\n\n\n\nb\n\n", "a\n\nb\n"),
        ("---\n***", "⟨2 ────────────────────⟩\n⟨2 ────────────────────⟩\n"),
        (
            "```rust\nlet *a* = 1;\n\n  x\n```\nafter",
            "⟨2 ```rust⟩\n⟨36 let *a* = 1;⟩\n\n⟨36   x⟩\n⟨2 ```⟩\nafter\n",
        ),
        ("~~~\n```\n~~~", "⟨2 ~~~⟩\n⟨36 ```⟩\n⟨2 ~~~⟩\n"),
        ("```\nnever ended", "⟨2 ```⟩\n⟨36 never ended⟩\n"),
        ("```x``` in a line", "⟨36 x⟩ in a line\n"),
        ("| a | *b* |\n|---|---|", "| a | *b* |\n|---|---|\n"),
        ("", ""),
        ("\n\n", ""),
    ] {
        assert_eq!(marked(text), looks, "{text:?}");
    }
}

#[test]
fn words_go_onto_lines_of_the_width() {
    assert_eq!(shown("one two three four", 9), "one two\nthree\nfour\n");
    assert_eq!(shown("- one two three", 9), "• one two\n  three\n");
    assert_eq!(
        shown("> one two three", 8),
        "\u{1b}[2m│ \u{1b}[0mone two\n\u{1b}[2m│ \u{1b}[0mthree\n"
    );
    assert_eq!(shown("abcdefghijklmnopqrst", 10), "abcdefghij\nklmnopqrst\n");
    assert_eq!(shown("漢字仮名交じり文", 8), "漢字仮名\n交じり文\n");
    let code = "```\na very long line of code that is not broken\n```";
    assert!(shown(code, 10).contains("a very long line of code that is not broken"));
}

#[test]
fn a_word_is_shown_when_it_has_ended_and_a_mark_when_its_end_is_there() {
    let mut markdown = Markdown::new(40);
    assert_eq!(markdown.push("Hel"), "");
    assert_eq!(markdown.push("lo wor"), "Hello");
    assert_eq!(markdown.push("ld **bo"), " world");
    assert_eq!(markdown.push("ld** x"), " \u{1b}[1mbold\u{1b}[0m");
    assert_eq!(markdown.finish(), " x\n");
    // The renderer does not wait forever for a closing mark.
    let mut markdown = Markdown::new(40);
    let out = markdown.push(&format!("**{}", "word ".repeat(200)));
    assert!(out.starts_with("**word word"), "{out}");
}

#[test]
fn what_steers_a_terminal_does_not_come_through() {
    let out = shown("a\u{1b}[2J\rb \u{202e}`\u{1b}]0;x\u{7}c`\n```\n\u{1b}[1A\u{9b}5n\n```", 40);
    let codes: Vec<&str> =
        out.split('\u{1b}').skip(1).map(|part| part.split('m').next().unwrap()).collect();
    assert!(codes.iter().all(|code| ["[0", "[2", "[36"].contains(code)), "{out:?}");
    assert!(!out.contains(['\r', '\u{202e}', '\u{9b}', '\u{7}']), "{out:?}");
}

/// Markdown with its marks in any order.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,9}",
        4 => Just(" ".to_owned()),
        3 => Just("\n".to_owned()),
        6 => proptest::sample::select(vec![
            "*", "**", "***", "_", "__", "~~", "`", "``", "```", "[", "]", "](", ")", "[[", "]]",
            "!", "# ", "## ", "- ", "* ", "1. ", "> ", "|", "---", "\\", "  ", "\n\n", "\n```\n",
            "\u{1b}[1m", "漢", "👩\u{200d}🌾", "é", "\r\n", "\t",
        ]).prop_map(str::to_owned),
        1 => "[a-z ]{250,700}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn how_a_text_is_cut_never_changes_what_is_shown(
        text in texts(),
        width in 1usize..60,
        cuts in proptest::collection::vec(0usize..2000, 0..30),
    ) {
        let whole = shown(&text, width);
        let chars: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at % (chars.len() + 1)).collect();
        cuts.sort_unstable();
        for cuts in [cuts, (0..chars.len()).collect()] {
            let (mut markdown, mut out, mut from) = (Markdown::new(width), String::new(), 0);
            for to in cuts.into_iter().chain([chars.len()]) {
                out.push_str(&markdown.push(&chars[from..to].iter().collect::<String>()));
                from = to;
            }
            out.push_str(&markdown.finish());
            prop_assert_eq!(&out, &whole);
        }
    }

    #[test]
    fn letters_stay_and_nothing_steers(text in texts(), width in 1usize..60) {
        let out = shown(&text, width);
        let mut plain = String::new();
        for (index, part) in out.split('\u{1b}').enumerate() {
            let part = if index == 0 { part } else {
                let (code, rest) = part.split_once('m').expect("only our own looks");
                prop_assert!(code.starts_with('['));
                prop_assert!(code[1..].chars().all(|c| c.is_ascii_digit() || c == ';'));
                rest
            };
            plain.push_str(part);
        }
        prop_assert!(plain.chars().all(|c| c == '\n' || !c.is_control()));
        let letters = |text: &str| -> String {
            text.chars().filter(|c| c.is_ascii_lowercase() || *c == '漢' || *c == 'é').collect()
        };
        prop_assert_eq!(letters(&plain), letters(&crate::cli::chat::safe::lines(&text)));
        prop_assert!(out.is_empty() || out.ends_with('\n'));
    }
}
