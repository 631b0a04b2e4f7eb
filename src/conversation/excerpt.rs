//! What is looked for in what was said, and the part of a text that is shown of it.

use super::title::plain;

/// Terms of one query; more are left out.
const TERMS: usize = 16;

/// The terms of a query: words, and what stands in double quotes as a whole. Nothing else has a
/// meaning, so that every text can be looked for as it is written.
pub fn terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for (part, text) in query.split('"').enumerate() {
        // Between an odd quote and an even one; a last one that is not closed counts as closed.
        let quoted = part % 2 == 1;
        let found: Vec<String> = match quoted {
            true => vec![plain(text)],
            false => text.split_whitespace().map(plain).collect(),
        };
        for term in found {
            if !term.is_empty() && !terms.contains(&term) && terms.len() < TERMS {
                terms.push(term);
            }
        }
    }
    terms
}

/// The part of `text` around the first of the terms that is in it, on one line of at most about
/// `characters`; its beginning where none is.
pub fn excerpt(text: &str, terms: &[String], characters: usize) -> String {
    let line: Vec<char> = plain(text).chars().collect();
    if line.len() <= characters {
        return line.into_iter().collect();
    }
    let lower: Vec<char> = line.iter().map(|c| folded(*c)).collect();
    let found = terms.iter().filter_map(|term| {
        let term: Vec<char> = term.chars().map(folded).collect();
        lower.windows(term.len().max(1)).position(|part| part == term)
    });
    let at = found.min().unwrap_or(0);
    let start = at.saturating_sub(characters / 3).min(line.len() - characters);
    let end = start + characters;
    let shown: String = line[start..end].iter().collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!("{before}{}{after}", shown.trim())
}

/// A character without its case, one for one.
fn folded(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_query_is_words_and_phrases() {
        assert_eq!(terms("a  b a"), ["a", "b"]);
        assert_eq!(terms("\"the big  one\" now"), ["the big one", "now"]);
        assert_eq!(terms("say \"unclosed end"), ["say", "unclosed end"]);
        assert_eq!(terms("NOT foo-bar* C++ (x:y) ^"), ["NOT", "foo-bar*", "C++", "(x:y)", "^"]);
        assert!(terms(" \"\" \" \" ").is_empty());
    }

    #[test]
    fn the_place_of_what_was_found_is_shown() {
        let text = format!("{} The Needle is here {}", "hay ".repeat(100), "straw ".repeat(100));
        let shown = excerpt(&text, &terms("needle"), 60);
        assert!(shown.contains("The Needle is") && shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(excerpt("short\nand whole", &terms("x"), 60), "short and whole");
    }

    proptest! {
        #[test]
        fn an_excerpt_is_bounded(text in ".{0,200}", query in ".{0,20}", most in 1usize..50) {
            let shown = excerpt(&text, &terms(&query), most);
            prop_assert!(shown.chars().count() <= most + 2);
        }
    }
}
