//! Desktop notifications made from answers: a title and a short plain text.

/// In characters; systems cut longer ones anywhere.
const MAX_TITLE: usize = 60;
const MAX_BODY: usize = 240;

/// A notification that answers a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// SmartHole's id of the message.
    pub message: String,
    pub title: String,
    pub body: String,
    pub priority: Priority,
}

/// How SmartHole presents a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Normal,
    /// The agent waits for the person.
    High,
}

impl Notification {
    /// From `text`, an answer in Markdown to the message `user_text`; `None` if nothing is left to show.
    pub fn of(message: &str, user_text: &str, text: &str, priority: Priority) -> Option<Self> {
        let body = cut_at_word(&plain(text), MAX_BODY);
        let title = match cut_at_word(&plain(user_text), MAX_TITLE) {
            title if title.is_empty() => "Vault Steward".to_owned(),
            title => title,
        };
        let message = message.to_owned();
        (!body.is_empty()).then_some(Self { message, title, body, priority })
    }
}

/// Removes Markdown syntax and line breaks. Replaces angle brackets, since SmartHole renders HTML.
fn plain(text: &str) -> String {
    let mut words = String::new();
    for line in text.lines() {
        let line = line.trim().trim_start_matches(['#', '>']).trim_start();
        let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
        if line.is_empty() || line.chars().all(|c| c == '-' || c == '`') {
            continue;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(line);
    }
    let mut shown = String::new();
    let mut rest = words.as_str();
    while let Some((before, link)) = rest.split_once("[[") {
        let Some((link, after)) = link.split_once("]]") else { break };
        shown.push_str(before);
        shown.push_str(link.rsplit_once('|').map_or(link, |(_, label)| label));
        rest = after;
    }
    shown.push_str(rest);
    let shown = shown.replace("**", "").replace('`', "");
    let shown = shown.replace('<', "‹").replace('>', "›");
    let shown: String = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `most` characters, cut at the end of a word if one is near.
fn cut_at_word(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let last = text.char_indices().nth(most - 1).map_or(end, |(at, _)| at);
    let head = &text[..last];
    let word = head.rfind(' ').filter(|at| at * 2 > head.len()).unwrap_or(head.len());
    format!("{}…", head[..word].trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(user_text: &str, text: &str) -> Option<(String, String)> {
        let shown = Notification::of("1", user_text, text, Priority::Normal)?;
        Some((shown.title, shown.body))
    }

    #[test]
    fn markdown_becomes_plain_words() {
        let text =
            "## Done\n\n- **Milk** is in [[Lists/Shopping|Shopping]]\n- see `a.md` <b>\n```\n";
        let (title, body) = of("remember to buy milk", text).unwrap();
        assert_eq!(title, "remember to buy milk");
        assert_eq!(body, "Done Milk is in Shopping see a.md ‹b›");
        assert_eq!(of("x", " \n\n"), None);
        assert_eq!(of("x", "[[open"), Some(("x".into(), "[[open".into())));
    }

    #[test]
    fn long_text_is_cut_after_a_word() {
        let (title, body) = of(&"word ".repeat(50), &"longer ".repeat(90)).unwrap();
        assert!(title.ends_with("word…") && title.chars().count() <= MAX_TITLE, "{title}");
        assert!(body.ends_with("longer…") && body.chars().count() <= MAX_BODY, "{body}");
    }

    proptest! {
        #[test]
        fn any_text_is_shown_within_its_limits(user_text in ".*", text in ".*") {
            if let Some((title, body)) = of(&user_text, &text) {
                prop_assert!((1..=MAX_TITLE).contains(&title.chars().count()));
                prop_assert!((1..=MAX_BODY).contains(&body.chars().count()));
                prop_assert!(!body.contains(['<', '>', '\n']));
            }
        }
    }
}
