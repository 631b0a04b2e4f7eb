//! What a text holds that Obsidian would load or run by itself when the note is shown.
//!
//! Looked for generously: what is found is only shown to a person, and something in a code block
//! that is asked about in vain costs less than an image that carries a diary to a stranger. Not
//! looked for: links, which do nothing until somebody follows them; those to `obsidian:` and the
//! like excepted, since they act in the vault.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

/// Characters of a find that are shown.
const SHOWN: usize = 120;

/// The first thing of that kind that is in `new` more often than in `old`.
pub fn added(old: &str, new: &str) -> Option<String> {
    let mut known: HashMap<String, usize> = HashMap::new();
    for one in found(old) {
        *known.entry(one).or_default() += 1;
    }
    found(new).into_iter().find_map(|one| match known.get_mut(&one) {
        Some(left) if *left > 0 => {
            *left -= 1;
            None
        }
        _ => Some(one.chars().take(SHOWN).flat_map(crate::note::path::show).collect()),
    })
}

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // An image whose target is an address: with a scheme, of another host, or disguised by
        // character references. The target may stand in angle brackets or on the next line.
        r#"(?s)!\[(?:[^\]\\]|\\.|\][^(\[])*\]\(\s*<?\s*(?:[a-z][a-z0-9+.\-]{0,20}:|//|\\\\|[^)\s]{0,20}&(?:#|[a-z]))[^)\s>]*"#,
        // The target of an image, or of a link, by reference.
        r"(?m)^[ \t>]{0,20}\[[^\]^\n][^\]\n]*\]:\s*<?\s*(?:[a-z][a-z0-9+.\-]{0,20}:|//)\S*",
        // Elements that load or run.
        r"(?s)<\s*/?(?:img|image|picture|source|iframe|frame|embed|object|applet|script|style|link|meta|base|form|input|button|video|audio|track|svg|math|portal|webview)\b[^>]*>?",
        // Attributes that do, in any element.
        r"(?s)<[a-z][^>]*[\s/'\x22](?:on[a-z]{3,30}|style|background|poster|srcset|srcdoc|src|data|action|formaction)\s*=\s*[^>]*",
        // Addresses that act by themselves once followed.
        r"(?:obsidian|javascript|vbscript|file|shell|x-callback-url)\s*:\s*/{0,3}[^\s)>\]]+",
        r"data\s*:\s*(?:text/html|image/svg)[^\s)>\]]*",
        // Code that plugins run when the note is shown: dataviewjs, inline scripts, templates.
        r"(?m)^[ \t>]{0,20}(?:`{3,}|~{3,})[ \t]*(?:dataviewjs|js-engine|datacorejs|datacorejsx|datacorets|datacoretsx|templater|run-[a-z]+|execute-code|jsx?:|react|custom-frames|html|meta-bind-js-view|meta-bind-button|button)[^\n]*",
        r"`\$=[^`]+",
        r"<%[^%]*",
        // A card of a canvas that shows a page.
        r#""url"\s*:\s*"[^"]+"#,
    ]
    .into_iter()
    .map(|pattern| {
        let built = regex::RegexBuilder::new(pattern).case_insensitive(true).build();
        built.expect("the patterns are regular expressions")
    })
    .collect()
});

/// Words without one of which nothing can be found: most texts are done after one look.
static ANY: LazyLock<Regex> = LazyLock::new(|| {
    let built = Regex::new(r#"[<]|!\[|`|~~~|:|&"#);
    built.expect("the pattern is a regular expression")
});

fn found(text: &str) -> Vec<String> {
    if !ANY.is_match(text) {
        return Vec::new();
    }
    // What cannot be seen must not keep a word from being recognised.
    let plain: String =
        text.chars().filter(|c| !crate::note::path::is_invisible(*c) || *c == '\n').collect();
    let mut found: Vec<(usize, String)> = Vec::new();
    for pattern in PATTERNS.iter() {
        found.extend(
            pattern.find_iter(&plain).map(|one| (one.start(), one.as_str().to_lowercase())),
        );
    }
    found.sort();
    found.into_iter().map(|(_, text)| text).collect()
}
