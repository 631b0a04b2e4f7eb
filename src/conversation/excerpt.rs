//! Parses search queries and cuts excerpts around matches.

use super::title::plain;

/// The most terms of a query; further ones are ignored.
const TERMS: usize = 16;

/// The terms of a query: words, and phrases in double quotes. There is no other syntax, so any text
/// can be searched for literally.
pub fn terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for (part, text) in query.split('"').enumerate() {
        // Odd parts are quoted. A missing closing quote is implied.
        let quoted = part % 2 == 1;
        let found: Vec<String> =
            if quoted { vec![plain(text)] } else { text.split_whitespace().map(plain).collect() };
        for term in found {
            if !term.is_empty() && !terms.contains(&term) && terms.len() < TERMS {
                terms.push(term);
            }
        }
    }
    terms
}

/// About `characters` characters of `text` around the first term found, on one line; the beginning
/// if no term occurs.
pub fn excerpt(text: &str, terms: &[String], characters: usize) -> String {
    let line: Vec<char> = plain(text).chars().collect();
    if line.len() <= characters {
        return line.into_iter().collect();
    }
    let lower: Vec<char> = line.iter().map(|c| fold_char(*c)).collect();
    let found = terms.iter().filter_map(|term| {
        let term: Vec<char> = term.chars().map(fold_char).collect();
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

/// The lower case of a character, always exactly one character.
fn fold_char(c: char) -> char {
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
