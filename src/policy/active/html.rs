//! Active HTML in a note: every tag that a browser could see, whether Markdown takes it for HTML, prose or
//! code.
//!
//! An element passes if it loads and runs nothing and has only attributes of an allow list. The grammar is
//! the browser's (<https://html.spec.whatwg.org/multipage/parsing.html#tokenization>), which accepts more
//! than CommonMark's: a block of HTML reaches the browser unchanged.

use super::{ActiveContent, address, has_word};

/// Elements that load, run, or change how the following text is parsed.
const ACTIVE: &str = "img image picture source iframe frame frameset embed object applet param script noscript style \
    link meta base form input button select textarea video audio track svg math portal webview \
    body html head title bgsound marquee template slot plaintext xmp noembed noframes canvas \
    dialog fencedframe foreignobject animate set use isindex keygen layer";

/// Elements that begin a block of HTML even if their tag is never closed (CommonMark 4.6, condition 6),
/// without those above.
const BLOCKS: &str = "address article aside blockquote caption center col colgroup dd details dir div dl dt fieldset \
    figcaption figure footer h1 h2 h3 h4 h5 h6 header hr legend li main menu menuitem nav ol \
    optgroup option p search section summary table tbody td tr ul";

/// Attributes whose value has no effect.
const PASSIVE: &str = "class id title lang dir align valign width height colspan rowspan span open start value type \
    reversed name target rel color size face border cellpadding cellspacing bgcolor alt abbr scope \
    headers hidden role tabindex datetime label translate aria-label aria-hidden compact";

/// Maximum bytes of a tag that are parsed; a longer one counts as active.
const MAX_TAG: usize = 2_000;

/// The active tags of `text`.
pub(super) fn found(text: &str, line_of: impl Fn(usize) -> usize) -> Vec<ActiveContent> {
    let mut found = Vec::new();
    let mut is_unreadable = false;
    // Limits the work on nested tags.
    let mut left = 4 * text.len() + MAX_TAG;
    for (at, _) in text.match_indices('<') {
        let rest = &text[at + 1..];
        let name_and_rest = rest.strip_prefix('/').unwrap_or(rest);
        if !name_and_rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
            continue;
        }
        let begins_line = text[..at].rsplit('\n').next().is_some_and(is_prefix);
        let mut end = MAX_TAG.min(name_and_rest.len());
        while !name_and_rest.is_char_boundary(end) {
            end -= 1;
        }
        let is_cut = end < name_and_rest.len();
        let judged = judge(&name_and_rest[..end], is_cut, begins_line);
        left = left.saturating_sub(judged.map_or(end, |(tag, _)| tag.len()));
        let (tag, is_active) = match judged {
            Some(judged) if left > 0 => judged,
            // The end of the tag is not known, so its key is the whole text: any change makes it new.
            _ if !is_unreadable => {
                is_unreadable = true;
                found.push(ActiveContent::unreadable(line_of(at), "HTML", text));
                continue;
            }
            _ if left == 0 => break,
            _ => continue,
        };
        if is_active {
            let shown = format!("<{}{tag}", &rest[..rest.len() - name_and_rest.len()]);
            let key = shown.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            found.push(ActiveContent::new(
                line_of(at),
                "html",
                &key,
                format!("the HTML `{shown}`"),
            ));
        }
    }
    found
}

/// Whether there are only marks of quotes and lists.
fn is_prefix(before: &str) -> bool {
    before.chars().all(|c| c.is_whitespace() || c.is_ascii_digit() || ">-+*.)".contains(c))
}

/// Returns a tag, beginning at its name, and whether it is active; `None` if it does not end in
/// `tag` and the text continues (`is_cut`).
fn judge(tag: &str, is_cut: bool, begins_line: bool) -> Option<(&str, bool)> {
    let ends_name = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
    let name_end = tag.find(ends_name).unwrap_or(tag.len());
    let name = tag[..name_end].to_ascii_lowercase();
    let attributes = Attributes::read(&tag[name_end..]);
    let shown = match attributes.end {
        Some(end) => &tag[..name_end + end],
        None => tag.lines().next().unwrap_or_default(),
    };
    if has_word(ACTIVE, &name) {
        return Some((shown, true));
    }
    // A tag that is not closed or contains `<` is prose, except in a block of HTML.
    // `<https://example.com/?a=b>` is a link.
    let is_tag = match attributes.end {
        Some(end) => !tag[name_end..name_end + end].contains('<'),
        None => begins_line && has_word(BLOCKS, &name),
    };
    let is_link = name.ends_with(':') || name.contains("://");
    let is_sure = is_tag && !is_link;
    let mut list = attributes.list.iter();
    let acts = list.any(|(name, value)| {
        let value = value.as_deref();
        !is_passive(name, value) && (is_sure || runs(name) || (name == "href" && value.is_some()))
    });
    let is_active = acts || (is_tag && attributes.is_broken);
    (!is_cut || attributes.end.is_some()).then_some((shown, is_active))
}

fn runs(name: &str) -> bool {
    const RUNS: &str = "src srcset srcdoc style data poster background action formaction is";
    name.starts_with("on") || has_word(RUNS, name)
}

fn is_passive(name: &str, value: Option<&str>) -> bool {
    let Some(value) = value else { return !runs(name) };
    match name {
        "href" | "cite" => {
            let value = address::clean(value);
            let before_path = value.split(['/', '?', '#']).next().unwrap_or_default();
            // A character reference before the path may be the colon of a scheme.
            !before_path.contains('&') && !address::acts(&value)
        }
        "style" => {
            // Without parentheses there is no `url()` and no `image-set()`; without a backslash they
            // have no other spelling.
            let plain = |c: char| c.is_alphanumeric() || " \t#%.,:;!-_".contains(c);
            value.chars().all(plain) && !value.to_ascii_lowercase().contains("url")
        }
        name => has_word(PASSIVE, name),
    }
}

/// The part of a tag after its name.
struct Attributes {
    list: Vec<(String, Option<String>)>,
    /// Where the tag ends; `None` without a `>`.
    end: Option<usize>,
    /// Whether the end of an attribute is ambiguous: its value spans an empty line or contains `<`.
    is_broken: bool,
}

impl Attributes {
    fn read(text: &str) -> Self {
        let mut list = Vec::new();
        let mut is_broken = false;
        let mut at = 0;
        let end = loop {
            let rest = &text[at..];
            let blanks = rest.len()
                - rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/').len();
            at += blanks;
            let rest = &text[at..];
            match rest.chars().next() {
                None => break None,
                Some('>') => break Some(at + 1),
                Some(first) => {
                    // Any first character is part of the name.
                    let behind = &rest[first.len_utf8()..];
                    let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '=');
                    let length = first.len_utf8() + behind.find(ends).unwrap_or(behind.len());
                    let name = rest[..length].to_lowercase();
                    at += length;
                    let (value, used, broken) = value(&text[at..]);
                    at += used;
                    is_broken |= broken;
                    list.push((name, value));
                }
            }
        };
        Self { list, end, is_broken }
    }
}

/// The value after an attribute's name, the bytes up to its end, and whether that end is ambiguous.
fn value(text: &str) -> (Option<String>, usize, bool) {
    let trimmed = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let Some(behind) = trimmed.strip_prefix('=') else { return (None, 0, false) };
    let behind = behind.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let start = text.len() - behind.len();
    if let Some(quote) = behind.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inside = &behind[1..];
        let Some(length) = inside.find(quote) else { return (None, text.len(), true) };
        let value = &inside[..length];
        let over_lines = value.replace('\r', "").contains("\n\n");
        let broken = value.contains('<') || over_lines;
        return (Some(value.to_owned()), start + length + 2, broken);
    }
    let length = behind.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(behind.len());
    (Some(behind[..length].to_owned()), start + length, behind[..length].contains('<'))
}
