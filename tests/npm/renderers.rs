//! `policy::active` finds everything that a Markdown renderer would load or run: four independent
//! renderers render known spellings and random texts, and the test compares a browser's treatment
//! of their HTML.
//!
//! `STEWARD_TEST_SEED` and `STEWARD_TEST_TEXTS` set another seed and another number of texts.

use std::io::Write as _;
use std::process::{Command, Stdio};

use vault_steward::policy::active::{Format, added};

use crate::machine;

/// Texts that are generated and compared.
const TEXTS: usize = 4_000;

/// The least number of texts that load or run something.
const SPELLINGS: [&str; 30] = [
    "![x](https://e.example/?d=S)",
    "![a [b](c) d](https://e.example/?d=S)",
    "![a [b][r] d](https://e.example)\n\n[r]: foo.md",
    "![x](https\\://e.example)",
    "![x][r]\n\n[r]: https\\://e.example",
    "- [r]: https://e.example\n\n![x][r]",
    "1. [r]: https://e.example\n\n![x][r]",
    "[a\\]b]: https://e.example\n\n![x][a\\]b]",
    "[a\nb]: https://e.example\n\n![x][a b]",
    "> ![x](\n> https://e.example)",
    "> [r]:\n> https://e.example\n\n![x][r]",
    "[r]: https&#58;//e.example\n\n![x][r]",
    "![x]\n\n[x]: <https://e.example/a b> 'title'",
    "![x][]\n\n[X]: //e.example",
    "![ẞ]\n\n[SS]: https://e.example",
    "<img src=//e.example>",
    "<IMG\nSRC='https://e.example'>",
    "<div>\n<p/onclick=x()>\n</div>",
    "<p title='\n' onclick=x()>",
    "<div>\n<x:/onclick=x()>\n</div>",
    "<a href=' javascript:x()'>a</a>",
    "[x](javascript:x())",
    "[x](<obsidian://a b>)",
    "<obsidian://a>",
    "<script>\nx\n</script>",
    "- a\n  <style>\n  x\n  </style>",
    "| a |\n|---|\n| ![x](https://e.example) |",
    "[^1]: ![x](https://e.example)\n\n[^1]",
    "`a` ![`]`](https://e.example)",
    "**![*x*](https://e.example 'a \\' b')**",
];

/// The pieces of random texts.
const PIECES: [&str; 62] = [
    "![",
    "![",
    "![x]",
    "[",
    "]",
    "](",
    ")",
    "(",
    "[r]",
    "[r]: ",
    "]: ",
    "https://e.example",
    "https://e.example",
    "//e.example",
    "https\\://e.example",
    "https&#58;//e.example",
    "https&colon;//e.example",
    "javascript:x",
    "<https://e.example>",
    "<",
    ">",
    "<img src=",
    "<img ",
    "<p ",
    "<div>",
    "</div>",
    "<a href=",
    "<!--",
    "-->",
    "<?",
    "?>",
    "<![CDATA[",
    "]]>",
    "<script>",
    "</pre>",
    "<pre>",
    "onclick=x",
    "style='a:url(//e.example)'",
    "\"",
    "'",
    "\\",
    "\n",
    "\n",
    "\n\n",
    "> ",
    "- ",
    "1. ",
    "    ",
    "\t",
    "```",
    "~~~",
    "`",
    "``",
    "# ",
    "***",
    "|",
    "[^1]: ",
    "a",
    " ",
    "\u{a0}",
    "&",
    "ẞ",
];

/// A generator of numbers, repeatable by its seed (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % end
    }

    fn piece(&mut self) -> &'static str {
        PIECES[self.below(PIECES.len())]
    }
}

/// A text of random pieces, or a known spelling with pieces inserted, removed and added around it.
fn text(numbers: &mut Numbers) -> String {
    if numbers.below(3) == 0 {
        return (0..=numbers.below(24)).map(|_| numbers.piece()).collect();
    }
    let mut text = SPELLINGS[numbers.below(SPELLINGS.len())].to_owned();
    for _ in 0..numbers.below(4) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[numbers.below(places.len())];
        if numbers.below(2) == 0 {
            text.insert_str(at, numbers.piece());
        } else {
            text.remove(at);
        }
        if text.is_empty() {
            return text;
        }
    }
    match numbers.below(6) {
        0 => format!("> {}", text.replace('\n', "\n> ")),
        1 => format!("- {}", text.replace('\n', "\n  ")),
        2 => format!("1. > {}", text.replace('\n', "\n    ")),
        3 => format!("{text}\n\n{}", SPELLINGS[numbers.below(SPELLINGS.len())]),
        _ => text,
    }
}

fn rendered(modules: &str, texts: &[String]) -> Vec<Vec<(String, String)>> {
    let program = format!("{modules}/render.mjs");
    let mut child = Command::new("node")
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node is there, since scripts/test installed the renderers with it");
    let input = serde_json::to_vec(texts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn what_a_renderer_shows_has_been_found() {
    let Ok(modules) = std::env::var("STEWARD_TEST_NPM") else {
        machine::missing("renderers", "renderers of Markdown, which take npm and Node 20.15");
        return;
    };
    let mut numbers = Numbers(setting("STEWARD_TEST_SEED", 20_261_123) as u64);
    let random = (0..setting("STEWARD_TEST_TEXTS", TEXTS)).map(|_| text(&mut numbers));
    let texts: Vec<String> =
        SPELLINGS.iter().map(|text| (*text).to_owned()).chain(random).collect();
    let mut missed = Vec::new();
    let mut active = 0;
    for (at, (text, shown)) in texts.iter().zip(rendered(&modules, &texts)).enumerate() {
        assert!(at >= SPELLINGS.len() || !shown.is_empty(), "no renderer shows {text:?}");
        active += usize::from(!shown.is_empty());
        if !shown.is_empty() && added(None, (Format::Note, text)).is_empty() {
            missed.push(format!("{text:?}: {shown:?}"));
        }
    }
    assert!(
        active > texts.len() / 4,
        "only {active} of {} texts load or run anything",
        texts.len()
    );
    let first = missed.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(missed.is_empty(), "{} of {} are missed:\n{first}", missed.len(), texts.len());
}
