//! Derives a title and a summary from a conversation without a model.

use super::title::{Titled, first_sentences, first_words, plain, shortened, title_of};

/// The parts of a conversation that a title and summary need.
#[derive(Debug, Clone, Default)]
pub struct Digest {
    /// The person's messages, in order.
    pub user_messages: Vec<String>,
    /// The tool calls, in order.
    pub actions: Vec<Action>,
    /// The last message to the person.
    pub outcome: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub tool: String,
    /// The path it was about, if any.
    pub path: Option<String>,
}

/// The most words of a title.
const WORDS: usize = 8;
/// A message with fewer words counts as a greeting, not a topic.
const TOPIC_WORDS: usize = 3;
/// The most characters quoted from the question and from the outcome.
const QUOTED: usize = 160;
/// The most tools and paths named.
const NAMED: usize = 3;

impl Digest {
    /// Derives title and summary. Both are never empty.
    pub fn titled(&self) -> Titled {
        let user_messages: Vec<String> =
            self.user_messages.iter().map(|text| plain(text)).collect();
        let topic = topic(&user_messages);
        let title = topic
            .and_then(|topic| title_of(&first_words(topic, WORDS, 80)))
            .or_else(|| self.actions.first().map(|action| format!("Use of {}", action.tool)))
            .unwrap_or_else(|| "Conversation without words".to_owned());
        let mut sentences = vec![match topic {
            Some(topic) => {
                let more = match user_messages.len() - 1 {
                    0 => String::new(),
                    1 => ", and one more message".to_owned(),
                    more => format!(", and {more} more messages"),
                };
                format!("Asked: “{}”{more}.", shortened(topic, QUOTED))
            }
            None => "Nothing was asked in words.".to_owned(),
        }];
        sentences.extend(self.done());
        let outcome = self.outcome.as_deref().map(plain).filter(|text| !text.is_empty());
        if let Some(outcome) = outcome {
            let last = shortened(first_sentences(&outcome, 1), QUOTED);
            sentences.push(format!("Ended with: “{last}”."));
        } else if sentences.len() == 1 {
            sentences.push("There was no answer.".to_owned());
        }
        Titled { title, summary: sentences.join(" ") }
    }

    /// A sentence about the tools used and their paths.
    fn done(&self) -> Option<String> {
        let mut tools: Vec<(&str, usize)> = Vec::new();
        let mut paths: Vec<&str> = Vec::new();
        for action in &self.actions {
            match tools.iter_mut().find(|(tool, _)| *tool == action.tool) {
                Some((_, times)) => *times += 1,
                None => tools.push((&action.tool, 1)),
            }
            if let Some(path) = action.path.as_deref().filter(|path| !paths.contains(path)) {
                paths.push(path);
            }
        }
        if tools.is_empty() {
            return None;
        }
        let called = tools.iter().map(|(tool, times)| match times {
            1 => (*tool).to_owned(),
            times => format!("{tool} ({times} times)"),
        });
        let mut sentence = format!("Used {}", names_in_words(called.collect()));
        if !paths.is_empty() {
            let paths = paths.iter().map(|path| format!("`{}`", shortened(&plain(path), 60)));
            sentence.push_str(&format!(" on {}", names_in_words(paths.collect())));
        }
        sentence.push('.');
        Some(sentence)
    }
}

/// The first message that is more than a greeting, otherwise the first.
fn topic(user_messages: &[String]) -> Option<&str> {
    let says = |text: &&String| text.chars().any(char::is_alphanumeric);
    let long = |text: &&String| {
        // In scripts without spaces, one "word" can be a sentence.
        text.split(' ').count() >= TOPIC_WORDS || text.chars().count() >= 4 && !text.is_ascii()
    };
    let mut with_words = user_messages.iter().filter(says);
    let first = with_words.clone().next()?;
    Some(with_words.find(long).unwrap_or(first))
}

fn names_in_words(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn action(tool: &str, path: &str) -> Action {
        let path = (!path.is_empty()).then(|| path.to_owned());
        Action { tool: tool.to_owned(), path }
    }

    #[test]
    fn a_summary_has_question_actions_and_outcome() {
        let digest = Digest {
            user_messages: vec![
                "hi".into(),
                "please sort my meeting notes by\nyear and project".into(),
            ],
            actions: vec![
                action("read_file", "A.md"),
                action("move", "A.md"),
                action("move", "B.md"),
            ],
            outcome: Some("Six notes are sorted. Anything else?".into()),
        };
        let made = digest.titled();
        assert_eq!(made.title, "please sort my meeting notes by year and");
        assert_eq!(
            made.summary,
            "Asked: “please sort my meeting notes by year and project”, and one more message. \
             Used read_file, move (2 times) on `A.md`, `B.md`. Ended with: “Six notes are sorted.”."
        );
    }

    #[test]
    fn there_is_a_title_whatever_was_said() {
        let of = |user_messages: &[&str]| {
            let user_messages = user_messages.iter().map(|text| (*text).to_owned()).collect();
            Digest { user_messages, ..Digest::default() }.titled()
        };
        assert_eq!(of(&[]).title, "Conversation without words");
        assert_eq!(of(&["", "?!", "👍"]).title, "Conversation without words");
        assert_eq!(of(&["hi"]).title, "hi");
        assert_eq!(of(&["整理会议笔记"]).title, "整理会议笔记");
        let acted = Digest { actions: vec![action("undo", "")], ..Digest::default() }.titled();
        assert_eq!(acted.title, "Use of undo");
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line(user_messages in prop::collection::vec(".{0,60}", 0..4), end: Option<String>) {
            let made = Digest { user_messages, actions: vec![action("move", "x")], outcome: end }.titled();
            prop_assert!(!made.title.trim().is_empty() && !made.title.contains('\n'));
            prop_assert!(made.title.split(' ').count() <= 8);
            prop_assert!(made.title.chars().count() <= 80 && made.summary.chars().count() < 900);
        }
    }
}
