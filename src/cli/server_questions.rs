//! Questions of servers to the person at this terminal.

use std::io::Write as _;

use super::consent;
use crate::servers::elicitation::{Ask, PersonAnswer, PersonQuestion};

/// Asks on the terminal.
pub(super) struct OnTerminal {
    /// Every question was answered with a yes in advance.
    pub is_agreed: bool,
}

impl Ask for OnTerminal {
    fn ask(&self, question: &PersonQuestion, _: &dyn Fn() -> bool) -> PersonAnswer {
        if self.is_agreed && question.is_yes_enough {
            return PersonAnswer::Yes(String::new());
        }
        if !consent::has_terminal() {
            return PersonAnswer::Nothing("nobody is at the terminal of this call".to_owned());
        }
        ask(question)
            .unwrap_or_else(|error| PersonAnswer::Nothing(format!("the terminal failed: {error}")))
    }
}

fn ask(question: &PersonQuestion) -> std::io::Result<PersonAnswer> {
    let mut terminal = std::io::stderr().lock();
    writeln!(terminal, "{}", question.title)?;
    for reason in &question.reasons {
        writeln!(terminal, "  {reason}")?;
    }
    write!(terminal, "Answer it? [y, or y and the answer; N] ")?;
    terminal.flush()?;
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed)?;
    Ok(match yes(&typed) {
        Some(words) => PersonAnswer::Yes(words.to_owned()),
        None => PersonAnswer::No,
    })
}

/// The words after a yes; `None` for any other answer.
pub(super) fn yes(typed: &str) -> Option<&str> {
    let typed = typed.trim();
    let end = typed.find([' ', ':', ',']).unwrap_or(typed.len());
    let (word, rest) = typed.split_at(end);
    let is_yes = ["y", "yes"].iter().any(|yes| word.eq_ignore_ascii_case(yes));
    is_yes.then(|| rest.trim_start_matches([':', ',']).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_may_have_words_and_nothing_else_is_one() {
        for (typed, words) in [
            ("y\n", Some("")),
            ("Yes", Some("")),
            ("y octocat", Some("octocat")),
            ("yes: name: Ada; age: 36", Some("name: Ada; age: 36")),
            ("y, {\"a\": 1}", Some("{\"a\": 1}")),
            ("", None),
            ("no", None),
            ("yellow", None),
            ("octocat", None),
        ] {
            assert_eq!(yes(typed), words, "{typed:?}");
        }
    }
}
