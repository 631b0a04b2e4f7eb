//! Parses a title and summary from text, and rejects text that is neither.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Titled {
    /// At most eight words, on one line.
    pub title: String,
    /// At most three sentences, on one line.
    pub summary: String,
}

const TITLE_WORDS: usize = 8;
/// The most characters of a title, for scripts without spaces.
const TITLE_CHARACTERS: usize = 80;
/// The most sentences of a summary.
const SENTENCES: usize = 3;
const SUMMARY_CHARACTERS: usize = 600;
/// A longer line is not a title, but an answer to something else.
const LONGEST_LINE: usize = 200;

/// Parses a model's answer: an object with `title` and `summary`, two labelled parts, or a first
/// line and the rest. `None` if a part is missing or not sensible.
pub fn parse(answer: &str) -> Option<Titled> {
    let answer = without_fence(answer.trim());
    let (title, summary) = as_object(answer).or_else(|| as_lines(answer))?;
    Some(Titled { title: title_of(&title)?, summary: summary_of(&summary)? })
}

/// Cleans up a title: no markup, quotes or full stop, at most eight words. `None` if it is empty or
/// far too long.
pub fn title_of(line: &str) -> Option<String> {
    let line = plain(line);
    if line.chars().count() > LONGEST_LINE {
        return None;
    }
    let bare = bare(&line);
    let title = first_words(bare, TITLE_WORDS, TITLE_CHARACTERS);
    let title = title.trim_end_matches(is_loose_end).to_owned();
    let letters = title.chars().filter(|c| c.is_alphanumeric()).count();
    (letters >= 2).then_some(title)
}

/// Cleans up a summary: at most three sentences on one line. `None` if it has fewer than three
/// words.
pub fn summary_of(text: &str) -> Option<String> {
    let text = plain(text);
    let text = bare_start(&text);
    let kept = first_sentences(text, SENTENCES);
    let summary = shortened(kept, SUMMARY_CHARACTERS);
    let letters = summary.chars().filter(|c| c.is_alphanumeric()).count();
    let says_something = summary.split(' ').count() >= 3 || letters >= 10 && !is_one_word(&summary);
    says_something.then_some(summary)
}

/// A single ASCII word is not a sentence.
fn is_one_word(text: &str) -> bool {
    !text.contains(' ') && text.is_ascii()
}

/// One line, with single spaces and without hidden characters.
pub fn plain(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            if !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
        } else if !is_hidden(c) {
            line.push(c);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Whether a character is invisible but affects how others are displayed: control, directional,
/// zero-width and tag characters.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The first words of a line, at most `characters` characters. Cuts a word only if it is the first.
pub(super) fn first_words(line: &str, words: usize, characters: usize) -> String {
    let mut taken = String::new();
    for word in line.split(' ').take(words) {
        let length = taken.chars().count() + word.chars().count() + usize::from(!taken.is_empty());
        if length > characters {
            if taken.is_empty() {
                taken.extend(word.chars().take(characters));
            }
            break;
        }
        if !taken.is_empty() {
            taken.push(' ');
        }
        taken.push_str(word);
    }
    taken
}

/// The first sentences of a line. In scripts with spaces, a full stop ends a sentence only before a
/// space.
pub(super) fn first_sentences(line: &str, most: usize) -> &str {
    let mut found = 0;
    let mut characters = line.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let blank_follows = characters.peek().is_none_or(|(_, next)| *next == ' ');
        let ends = match c {
            '。' | '！' | '？' | '｡' => true,
            '.' | '!' | '?' | '…' => blank_follows,
            _ => false,
        };
        if ends {
            found += 1;
            if found == most {
                return &line[..at + c.len_utf8()];
            }
        }
    }
    line
}

/// At most `characters` characters, cut at a nearby word boundary, with an ellipsis.
pub(super) fn shortened(line: &str, characters: usize) -> String {
    let Some((cut, _)) = line.char_indices().nth(characters) else { return line.to_owned() };
    let end = line.char_indices().nth(characters.saturating_sub(1)).map_or(cut, |(at, _)| at);
    let whole = line[..end].rfind(' ').filter(|at| *at > end / 2).unwrap_or(end);
    format!("{}…", line[..whole].trim_end())
}

fn without_fence(answer: &str) -> &str {
    let Some(inside) = answer.strip_prefix("```") else { return answer };
    let inside = inside.split_once('\n').map_or("", |(_, rest)| rest);
    inside.trim_end().strip_suffix("```").unwrap_or(inside).trim()
}

fn as_object(answer: &str) -> Option<(String, String)> {
    let (from, to) = (answer.find('{')?, answer.rfind('}')?);
    let object: serde_json::Value = serde_json::from_str(answer.get(from..=to)?).ok()?;
    let text = |name: &str| object.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    Some((text("title")?, text("summary")?))
}

fn as_lines(answer: &str) -> Option<(String, String)> {
    // A truncated object is not a pair of lines.
    if answer.starts_with(['{', '[', '<']) {
        return None;
    }
    let (first, rest) = answer.split_once('\n')?;
    let title = without_label(first, "title");
    let summary = without_label(rest.trim_start(), "summary");
    Some((title.to_owned(), summary.to_owned()))
}

/// Removes a label and its markup from the beginning of a line.
fn without_label<'a>(line: &'a str, label: &str) -> &'a str {
    let bare = bare_start(line.trim_start());
    match bare.get(..label.len()) {
        Some(start) if start.eq_ignore_ascii_case(label) => {
            let rest = bare[label.len()..].trim_start_matches(['*', '_', ' ']);
            match rest.strip_prefix([':', '：', '-']) {
                Some(rest) => rest.trim_start_matches(['*', '_', ' ']),
                None => bare,
            }
        }
        _ => bare,
    }
}

/// Removes list and heading marks from the beginning of a line.
fn bare_start(line: &str) -> &str {
    line.trim_start_matches(['#', '*', '_', '-', '>', ' '])
}

fn bare(line: &str) -> &str {
    let is_wrap = |c: char| {
        matches!(
            c,
            '"' | '\''
                | '`'
                | '*'
                | '_'
                | '#'
                | '“'
                | '”'
                | '„'
                | '«'
                | '»'
                | '‘'
                | '’'
                | '「'
                | '」'
                | '>'
                | ' '
        )
    };
    bare_start(line).trim_matches(is_wrap)
}

fn is_loose_end(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '-' | '–' | '。' | '、' | ' ' | '*' | '_' | '`' | '"')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(answer: &str) -> Option<(String, String)> {
        parse(answer).map(|made| (made.title, made.summary))
    }

    #[test]
    fn an_answer_is_read_in_every_form_that_models_give_it() {
        let wanted = Some(("Meeting notes sorted".to_owned(), "It moved six notes.".to_owned()));
        for answer in [
            "{\"title\": \"Meeting notes sorted\", \"summary\": \"It moved six notes.\"}",
            "```json\n{\"title\":\"Meeting notes sorted.\",\"summary\":\"It moved six notes.\"}\n```",
            "Here you go: {\"title\":\"Meeting notes sorted\",\"summary\":\"It moved six notes.\"}",
            "Title: Meeting notes sorted\nSummary: It moved six notes.",
            "**Title:** \"Meeting notes sorted\"\n\n**Summary:** It moved six notes.",
            "# Meeting notes sorted\n\nIt moved\nsix notes.",
        ] {
            assert_eq!(parsed(answer), wanted, "{answer}");
        }
    }

    #[test]
    fn nonsense_is_no_title() {
        for answer in [
            "",
            "   ",
            "{}",
            "{\"title\": \"\", \"summary\": \"\"}",
            "{\"title\": 3, \"summary\": \"a b c\"}",
            "{\"title\": \"Half an obj",
            "...\n...",
            "<html>\n<body>Bad gateway, try again</body>",
            "only one line",
            "??\nIt was about nothing at all.",
        ] {
            assert_eq!(parsed(answer), None, "{answer}");
        }
        let long = format!("{}\nIt was long.", "word ".repeat(100));
        assert_eq!(parsed(&long), None);
    }

    #[test]
    fn too_much_is_cut_to_eight_words_and_three_sentences() {
        let made = parse(
            "One two three four five six seven eight nine ten\n\
             First. Second e.g. this one! Third? Fourth. Fifth.",
        )
        .unwrap();
        assert_eq!(made.title, "One two three four five six seven eight");
        assert_eq!(made.summary, "First. Second e.g. this one!");
        let chinese =
            parse("整理会议笔记\n移动了六个笔记。更新了链接。完成了。还有更多。").unwrap();
        assert_eq!(chinese.title, "整理会议笔记");
        assert_eq!(chinese.summary, "移动了六个笔记。更新了链接。完成了。");
    }

    #[test]
    fn what_cannot_be_seen_is_gone() {
        let made =
            parse("A\u{202e} quiet\u{200b} title\u{e0041}\nIt\tdid one thing\u{7}.").unwrap();
        assert_eq!((&*made.title, &*made.summary), ("A quiet title", "It did one thing."));
    }

    proptest! {
        /// For any answer the result is one bounded line that parses to itself.
        #[test]
        fn what_is_made_is_bounded_and_settled(answer in "\\PC*|(.|\n){0,300}|[A-Za-z .*#\"{}:\n]{0,200}") {
            if let Some(made) = parse(&answer) {
                prop_assert!(made.title.split(' ').count() <= TITLE_WORDS);
                prop_assert!(made.title.chars().count() <= TITLE_CHARACTERS);
                prop_assert!(made.summary.chars().count() <= SUMMARY_CHARACTERS);
                prop_assert!(!made.title.contains('\n') && !made.summary.contains('\n'));
                prop_assert!(!made.title.chars().chain(made.summary.chars()).any(is_hidden));
            }
        }

        #[test]
        fn a_plain_line_stays_as_it_is(text in ".{0,80}") {
            let once = plain(&text);
            prop_assert_eq!(plain(&once), once);
        }
    }
}
