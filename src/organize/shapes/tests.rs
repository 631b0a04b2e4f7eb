//! Readings of names, and names made by patterns.

use proptest::prelude::*;

use super::parts::*;
use super::pattern::*;
use super::style::*;

fn first(name: &str) -> String {
    let reading = readings(name, &Vocabulary::default()).into_iter().next();
    let Some(reading) = reading else { return String::new() };
    Pattern { slots: reading.slots, style: Style::Any }.to_string()
}

fn styles(name: &str) -> Vec<&'static str> {
    let readings = readings(name, &Vocabulary::default());
    let found = readings.first().map(|reading| reading.styles).unwrap_or_default();
    let special = |style: &Style| !matches!(style, Style::Any | Style::Spaced);
    found.iter().filter(special).map(Style::name).collect()
}

#[test]
fn names_are_cut_into_their_parts() {
    for (name, pattern) in [
        ("2026-11-21", "{YYYY-MM-DD}"),
        ("2026-11-21 Meeting with Ada", "{YYYY-MM-DD} {words}"),
        ("20261121_notes", "{YYYYMMDD}_{words}"),
        ("21.11.2026 Brief", "{DD.MM.YYYY} {words}"),
        ("2026.11.21", "{YYYY.MM.DD}"),
        ("2026-11", "{YYYY-MM}"),
        ("2026-W47", "{YYYY-[W]ww}"),
        ("2026-Q4", "{YYYY-[Q]Q}"),
        ("2026", "{YYYY}"),
        ("2026-13-40", "{YYYY}-{2 digits}-{2 digits}"),
        ("2026-11-21T1030", "{YYYY-MM-DD}T{HHmm}"),
        ("2026-11-21 10.30.05", "{YYYY-MM-DD} {HH.mm.ss}"),
        ("Screenshot 2026-11-21 at 10.30.05", "{words} {YYYY-MM-DD} at {HH.mm.ss}"),
        ("202611211030 Idea", "{id of 12 digits} {words}"),
        ("20261121103005", "{id of 14 digits}"),
        ("Release v1.2", "{words} {version}"),
        ("3.1 Aims", "{version} {words}"),
        ("IMG_0042", "{words}_{4 digits}"),
        ("U41 Roses", "{code} {words}"),
        ("SRD-0042", "{code}"),
        ("🌱 Seeds", "{emoji} {words}"),
        ("Seeds 🌱 and more", "{words}"),
        ("@Ada Lovelace", "@{words}"),
        ("Blade Runner (1982)", "{words} ({YYYY})"),
        ("Log 2026 (draft)", "{words} {YYYY} ({words})"),
        ("Jazz - Bass on Top", "{words} - {words}"),
        ("What's up, Doc?", "{words}"),
        ("3D printing", "{words}"),
        ("H2O", "{words}"),
        ("日本語のノート", "{words}"),
        ("", ""),
        ("---", ""),
    ] {
        assert_eq!(first(name), pattern, "{name}");
    }
}

#[test]
fn a_name_that_fits_several_styles_counts_for_each() {
    for (name, expected) in [
        (
            "Garden",
            vec!["Title Case", "Sentence case", "Train-Case", "Title_Snake_Case", "PascalCase"],
        ),
        ("garden", vec!["lower case", "kebab-case", "snake_case", "camelCase"]),
        ("Bass on Top", vec!["Title Case"]),
        ("Brown butter tart", vec!["Sentence case"]),
        ("Import from the cloud", vec!["Sentence case"]),
        ("notes of today", vec!["lower case"]),
        ("READ ME FIRST", vec!["UPPER CASE"]),
        ("my-first-note", vec!["kebab-case"]),
        ("My-First-Note", vec!["Train-Case"]),
        ("my_note", vec!["snake_case"]),
        ("MY_NOTE", vec!["UPPER_SNAKE_CASE"]),
        ("myNote", vec!["camelCase"]),
        ("MyNote", vec!["Title Case", "Sentence case", "PascalCase"]),
        ("Sci-fi", vec!["Title Case", "Sentence case"]),
        ("日本語", vec!["words without capitals"]),
        ("2026-11-21 roses", vec!["lower case", "kebab-case", "snake_case", "camelCase"]),
    ] {
        assert_eq!(styles(name), expected, "{name}");
    }
}

#[test]
fn names_that_are_always_capital_are_no_title() {
    let mut vocabulary = Vocabulary::default();
    let is_sentence = |name: &str, vocabulary: &Vocabulary| {
        readings(name, vocabulary)[0].styles.has(Style::Sentence)
    };
    assert!(!is_sentence("Headless Sync", &vocabulary));
    vocabulary.learn("Set up Obsidian Sync");
    assert!(is_sentence("Headless Sync", &vocabulary));
    vocabulary.learn("How to sync notes");
    assert!(!is_sentence("Headless Sync", &vocabulary));
}

#[test]
fn words_are_written_in_a_style() {
    let mut vocabulary = Vocabulary::default();
    vocabulary.learn("All about roses and the garden");
    for (words, style, expected) in [
        ("my first note", Style::Title, "My First Note"),
        ("the book of tea", Style::Title, "The Book of Tea"),
        ("my-first-note", Style::Title, "My First Note"),
        ("myFirstNote", Style::Title, "My First Note"),
        ("Roses In The Garden", Style::Sentence, "Roses in the garden"),
        ("Letters To Ada", Style::Sentence, "Letters to Ada"),
        ("READ ME FIRST", Style::Title, "Read Me First"),
        ("What's up, iPhone?", Style::Kebab, "whats-up-iphone"),
        ("What's up", Style::Snake, "whats_up"),
        ("MyPlan (", Style::Train, "My-Plan"),
        ("Ab'Cd", Style::TitleSnake, "Ab_Cd"),
        ("new iPhone", Style::Title, "New iPhone"),
        ("my first note", Style::Pascal, "MyFirstNote"),
        ("My first note", Style::Camel, "myFirstNote"),
        ("日本語", Style::Title, "日本語"),
    ] {
        assert_eq!(written(words, style, &vocabulary), expected, "{words}");
    }
}

#[test]
fn a_pattern_takes_what_it_has_a_place_for() {
    let vocabulary = Vocabulary::default();
    for (pattern, name, expected) in [
        ("{YYYY-MM-DD} {Title Words}", "20261121 my plan", Some("2026-11-21 My Plan")),
        ("{YYYY-MM-DD} {Title Words}", "my plan", None),
        ("{kebab-words}", "My Plan (draft)", Some("my-plan-draft")),
        ("{kebab-words}", "2026-11-21 My Plan", Some("2026-11-21-my-plan")),
        ("{Title Words} Template", "book", Some("Book Template")),
        ("{Title Words} Template", "Book Template", Some("Book Template")),
        ("{3 digits} {Title Words}", "7 swans", Some("007 Swans")),
        ("{number} {lower words}", "07 Swans", Some("07 swans")),
        ("{id of 12 digits} {words}", "20261121103005 idea", Some("202611211030 idea")),
        ("{YYYY-MM-DD}", "Journal 2026-11-21", None),
        ("{emoji} {Title Words}", "🌱 seeds", Some("🌱 Seeds")),
        ("{YYYY} {Title Words}", "2026-11-21 trip", Some("2026 Trip")),
    ] {
        let pattern = Pattern::parse(pattern).expect("a pattern");
        let name = pattern.fill(&pattern.material(name), &vocabulary);
        assert_eq!(name.as_deref(), expected, "{pattern}");
    }
}

#[test]
fn patterns_are_read_and_refused() {
    for wrong in ["", "words", "{words", "}", "{wrods}", "{Title Words} {kebab-words}"] {
        assert!(Pattern::parse(wrong).is_err(), "{wrong}");
    }
    let pattern = Pattern::parse("{{x}} {Title Words}").expect("a pattern");
    assert_eq!(pattern.slots, [Slot::Text("{x} ".to_owned()), Slot::Words]);
    assert_eq!(pattern.to_string(), "{{x}} {Title Words}");
    let pattern = Pattern::parse("{YYYY-MM-DD} {Title Words}").expect("a pattern");
    assert_eq!(pattern.id(), "YYYY-MM-DD+Title+Words");
    assert_eq!(pattern.title(), "date, Title Case");
    assert_eq!(pattern.description(), "a date as YYYY-MM-DD, a blank, words in Title Case");
}

#[test]
fn digits_count_and_do_not_matter() {
    assert_eq!(numbered("IMG_0042").as_deref(), Some("IMG_{4 digits}"));
    assert_eq!(numbered("2026-11-21"), None);
    assert_eq!(numbered("Roses"), None);
    assert_eq!(numbered("Part 1 of 12").as_deref(), Some("Part {1 digit} of {2 digits}"));
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,16}", plain_names()]
}

/// Letters with a capital, or without case.
fn plain_names() -> impl Strategy<Value = String> {
    "(20[0-9]{2}[-._]?[01][0-9][-._]?[0-3][0-9])?[ _-]{0,2}[A-Za-zé日🌱]{0,6}[ _-]{0,3}[A-Za-z0-9.']{0,8}[ ()@v]{0,2}[0-9]{0,14}"
}

proptest! {
    #[test]
    fn parts_follow_each_other_without_a_gap(name in names()) {
        let mut end = 0;
        for part in cut(&name) {
            prop_assert_eq!(part.range.start, end);
            prop_assert!(part.range.end > end);
            end = part.range.end;
            prop_assert!(name.is_char_boundary(end));
        }
        prop_assert_eq!(end, name.len());
    }

    #[test]
    fn a_name_fits_all_that_it_is_read_as(name in names()) {
        let vocabulary = Vocabulary::default();
        for reading in readings(&name, &vocabulary) {
            for style in reading.styles.iter() {
                let pattern = Pattern { slots: reading.slots.clone(), style };
                prop_assert!(pattern.fits(&name, &vocabulary), "{} {:?}", pattern, name);
                let again = Pattern::parse(&pattern.to_string());
                if pattern.has_words() {
                    prop_assert_eq!(again, Ok(pattern));
                }
            }
        }
    }

    #[test]
    fn what_is_made_of_a_name_is_made_once(name in plain_names(), style in 0..Style::ALL.len()) {
        let vocabulary = Vocabulary::default();
        // If only capitals separate words, the result for `A1 b` cannot be split again.
        if matches!(Style::ALL[style], Style::Camel | Style::Pascal) {
            return Ok(());
        }
        let pattern = Pattern { slots: vec![Slot::Words], style: Style::ALL[style] };
        if let Some(made) = pattern.fill(&pattern.material(&name), &vocabulary) {
            let again = pattern.fill(&pattern.material(&made), &vocabulary);
            prop_assert_eq!(again.as_deref(), Some(&*made), "{:?}", name);
        }
    }
}
