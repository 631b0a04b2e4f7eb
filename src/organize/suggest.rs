//! Suggests names for a file from its metadata and its folder's conventions.

use chrono::{NaiveDate, NaiveTime};

use super::shapes::parts::{Kind, cut, is_untitled};
use super::shapes::pattern::{Pattern, Slot};
use super::shapes::style::{Style, Vocabulary};
use crate::note::names::check_new_name;

/// The longest suggested name in bytes, without its extension.
const MAX_BYTES: usize = 200;

/// The most suggestions for a file.
const MAX_SUGGESTIONS: usize = 5;

/// Metadata of a file.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// Its name without the extension.
    pub name: &'a str,
    pub title: Option<String>,
    pub heading: Option<String>,
    /// Proposed words for its name, and who proposed them. They replace its name, title and
    /// heading.
    pub proposed: Option<(String, String)>,
    /// Dates of its properties, most specific first: property, day, and time if given.
    pub dates: Vec<(String, NaiveDate, Option<NaiveTime>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// Without the extension.
    pub name: String,
    pub pattern: Pattern,
    /// The sources of the name: `property title, date from property created`.
    pub reason: String,
}

/// Whether a name says nothing about the file's content, so that a title or heading should replace it.
pub fn is_empty_name(name: &str) -> bool {
    is_untitled(name) || !cut(name).iter().any(|part| part.kind == Kind::Word)
}

/// Whether the pattern leaves a file's name unchanged.
pub fn makes_the_same(name: &str, pattern: &Pattern, vocabulary: &Vocabulary) -> bool {
    pattern.fill(&pattern.material(name), vocabulary).as_deref() == Some(name)
}

/// Distinct names for a file by these patterns, best first, without its current name.
pub fn suggestions(
    about: &About<'_>,
    patterns: &[Pattern],
    vocabulary: &Vocabulary,
) -> Vec<Suggestion> {
    let mut found: Vec<Suggestion> = Vec::new();
    for pattern in patterns {
        for (words, source) in sources(about, pattern) {
            let made = by(about, pattern, words.as_deref(), &source, vocabulary);
            if let Some(made) = made
                && made.name != about.name
                && found.iter().all(|other| other.name != made.name)
            {
                found.push(made);
            }
        }
    }
    found.truncate(MAX_SUGGESTIONS);
    found
}

/// Sources of the words of a new name, best first; for a file with a meaningful name, that name.
fn sources(about: &About<'_>, pattern: &Pattern) -> Vec<(Option<String>, String)> {
    if let Some((words, source)) = about.proposed.clone() {
        return if pattern.has_words() { vec![(Some(words), source)] } else { Vec::new() };
    }
    let title = about.title.clone().map(|title| (Some(title), "property `title`".to_owned()));
    let heading = about.heading.clone().map(|heading| (Some(heading), "first heading".to_owned()));
    let name = (None, "its present name".to_owned());
    let titles: Vec<(Option<String>, String)> = title.into_iter().chain(heading).collect();
    if !pattern.has_words() {
        return vec![name];
    }
    if is_empty_name(about.name) { titles } else { std::iter::once(name).chain(titles).collect() }
}

fn by(
    about: &About<'_>,
    pattern: &Pattern,
    words: Option<&str>,
    source: &str,
    vocabulary: &Vocabulary,
) -> Option<Suggestion> {
    let mut material = pattern.material(about.name);
    let mut reasons = Vec::new();
    if let Some(words) = words {
        // The title may also contain the date.
        let other = pattern.material(&plain(words));
        material.words = other.words;
        material.date = material.date.or(other.date);
        material.time = material.time.or(other.time);
    }
    if pattern.has_words() {
        reasons.push(source.to_owned());
    }
    let wants_date = pattern.slots.iter().any(|slot| matches!(slot, Slot::Date(_) | Slot::Id(_)));
    let wants_time = pattern.slots.iter().any(|slot| matches!(slot, Slot::Time(_) | Slot::Id(_)));
    if wants_date && material.date.is_none() {
        let dated = about.dates.iter().find(|(_, _, time)| !wants_time || time.is_some());
        let (property, day, time) = dated?;
        (material.date, material.time) = (Some(*day), *time);
        reasons.push(format!("date from property `{property}`"));
    }
    let name = shorten_name(&pattern.fill(&material, vocabulary)?);
    let name = match check_new_name(&name) {
        Ok(()) => name,
        Err(fault) if fault.suggestion == "Untitled" => return None,
        Err(fault) => fault.suggestion,
    };
    Some(Suggestion { name, pattern: pattern.clone(), reason: reasons.join(", ") })
}

/// Removes Markdown syntax from a title: `**`, `` ` ``, brackets of links.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("[[") {
        plain.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let Some(end) = inside.find("]]") else {
            rest = inside;
            continue;
        };
        let (link, after) = (&inside[..end], &inside[end + 2..]);
        let shown = link.rsplit_once('|').map_or(link, |(_, shown)| shown);
        plain.push_str(shown.rsplit('/').next().unwrap_or(shown));
        rest = after;
    }
    plain.push_str(rest);
    let plain = plain.replace("**", "").replace("==", "").replace('`', "");
    match check_new_name(plain.trim()) {
        Err(fault) if fault.suggestion != "Untitled" => fault.suggestion,
        _ => plain.trim().to_owned(),
    }
}

/// Shortens a name at the last word that fits.
fn shorten_name(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    let end = (0..=MAX_BYTES).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
    let cut = &name[..end];
    let at_word = cut.rfind([' ', '-', '_']).filter(|at| *at > MAX_BYTES / 2).unwrap_or(end);
    cut[..at_word].trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// The pattern of a style by its name or placeholder in any spelling: `kebab`, `Title Case`, `snake_case`.
pub fn style_named(text: &str) -> Option<Pattern> {
    let key = |text: &str| -> String {
        let letters: String =
            text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        letters.trim_end_matches("case").trim_end_matches("words").to_owned()
    };
    // `@Title+Words` is a pattern id with more than a style.
    if !text.chars().all(|c| c.is_alphabetic() || " -_+{}".contains(c)) {
        return None;
    }
    let text_key = key(text);
    let is_it = |style: &Style| {
        !text_key.is_empty()
            && (key(style.name()) == text_key || key(style.placeholder()) == text_key)
    };
    Style::ALL.into_iter().find(is_it).map(|style| Pattern { slots: vec![Slot::Words], style })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(about: &About<'_>, pattern: &str) -> Option<(String, String)> {
        let pattern = Pattern::parse(pattern).expect("a pattern");
        let found = suggestions(about, &[pattern], &Vocabulary::default());
        found.into_iter().next().map(|found| (found.name, found.reason))
    }

    #[test]
    fn a_name_is_made_of_what_the_file_says() {
        let day = NaiveDate::from_ymd_opt(2026, 11, 21).expect("a day");
        let dated = vec![("created".to_owned(), day, None)];
        let about = |name, title: Option<&str>, heading: Option<&str>| About {
            name,
            title: title.map(str::to_owned),
            heading: heading.map(str::to_owned),
            proposed: None,
            dates: dated.clone(),
        };
        for (about, pattern, name, reason) in [
            (
                about("my plan", None, None),
                "{YYYY-MM-DD} {Title Words}",
                "2026-11-21 My Plan",
                "its present name, date from property `created`",
            ),
            (
                about("Untitled 3", Some("Late frost: what now?"), None),
                "{Sentence words}",
                "Late frost - what now",
                "property `title`",
            ),
            (
                about("Untitled", None, Some("The [[People/Ada|Ada]] **plan**")),
                "{kebab-words}",
                "the-ada-plan",
                "first heading",
            ),
            (
                about("20261120 call", None, None),
                "{YYYY-MM-DD}-{kebab-words}",
                "2026-11-20-call",
                "its present name",
            ),
            (about("IMG 7", None, None), "{Title Words} {3 digits}", "IMG 007", "its present name"),
        ] {
            assert_eq!(
                first(&about, pattern),
                Some((name.to_owned(), reason.to_owned())),
                "{pattern}"
            );
        }
    }

    #[test]
    fn what_fits_or_cannot_be_made_is_not_suggested() {
        let about = |name| About { name, ..About::default() };
        assert_eq!(first(&about("My Plan"), "{Title Words}"), None);
        assert_eq!(first(&about("my plan"), "{YYYY-MM-DD} {Title Words}"), None);
        assert_eq!(first(&about("Untitled"), "{Title Words}"), None);
    }

    #[test]
    fn a_long_title_ends_at_a_word() {
        let title = "word ".repeat(100);
        let about = About { name: "Untitled", title: Some(title), ..About::default() };
        let (name, _) = first(&about, "{Title Words}").expect("a name");
        assert!(name.len() <= MAX_BYTES && name.ends_with("Word"), "{name}");
    }

    #[test]
    fn styles_have_names() {
        for (text, pattern) in [
            ("kebab", "{kebab-words}"),
            ("Kebab-Case", "{kebab-words}"),
            ("title case", "{Title Words}"),
            ("snake_case", "{snake_words}"),
            ("{Sentence words}", "{Sentence words}"),
        ] {
            assert_eq!(
                style_named(text).map(|found| found.to_string()).as_deref(),
                Some(pattern),
                "{text}"
            );
        }
        assert_eq!(style_named("case"), None);
        assert_eq!(style_named("@Title+Words"), None);
    }
}
