//! Detects whether an answer ends with a question.

/// Question marks of all scripts.
const MARKS: [char; 5] = ['?', '？', '؟', '⁇', '⁉'];

/// The last paragraph, if the text ends with a question. Emphasis, brackets, quotation marks and
/// emoji may follow the question mark. Questions in code or in a quoted line do not count.
pub fn at_end(text: &str) -> Option<&str> {
    let text = text.trim();
    let end = text.trim_end_matches(|c: char| {
        !c.is_alphanumeric() && !MARKS.contains(&c) && !['.', ',', ';', ':', '…', '`'].contains(&c)
    });
    let last_line = text.lines().next_back()?;
    if !end.ends_with(MARKS) || last_line.trim_start().starts_with('>') {
        return None;
    }
    let paragraph = text.rfind("\n\n").map_or(text, |at| &text[at..]);
    Some(paragraph.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_ends_with_a_question_asks_its_last_paragraph() {
        for (text, question) in [
            ("Which one?", "Which one?"),
            ("I moved it.\n\nDelete the folder, too?\n", "Delete the folder, too?"),
            ("There are two:\n\n- A\n- B\n\n**Which of them?**", "**Which of them?**"),
            ("Soll ich »Garten« löschen? 🌱", "Soll ich »Garten« löschen? 🌱"),
            ("Really?!", "Really?!"),
            ("どのノートですか？", "どのノートですか？"),
            ("أي ملاحظة؟", "أي ملاحظة؟"),
        ] {
            assert_eq!(at_end(text), Some(question), "{text}");
        }
    }

    #[test]
    fn only_a_final_question_counts() {
        for text in [
            "",
            "Done.",
            "You asked: why? Because of the frost.",
            "She wrote \"who?\".",
            "The pattern is `a?`",
            "```\nSELECT ?\n```",
            "The note says:\n\n> What now?",
        ] {
            assert_eq!(at_end(text), None, "{text}");
        }
    }
}
