//! Invisible characters, in which text for a model can be hidden.

/// Removes invisible characters; also returns which kinds there were. Some stay because scripts and
/// emoji need them: U+200C and U+200D between non-ASCII characters, and a variation selector after
/// one.
pub fn cleared(text: &str) -> (String, Vec<String>) {
    let mut counts = [0_usize; KINDS.len()];
    let mut clear = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = None;
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        let stays = match c {
            '\u{200c}' | '\u{200d}' => {
                before.is_some_and(|before| is_wide(before) || is_selector(before))
                    && next.is_some_and(is_wide)
            }
            // Keycap emoji such as 1️⃣ contain one too.
            c if is_selector(c) => before.is_some_and(is_wide) || next == Some('\u{20e3}'),
            _ => false,
        };
        match KINDS.iter().position(|(_, is)| is(c)).filter(|_| !stays) {
            Some(kind) => counts[kind] += 1,
            None => {
                clear.push(c);
                before = Some(c);
            }
        }
    }
    let hidden = KINDS.iter().zip(counts).filter(|(_, count)| *count > 0);
    (clear, hidden.map(|((name, _), count)| format!("{count} {name}")).collect())
}

type CharacterClass = (&'static str, fn(char) -> bool);

const KINDS: [CharacterClass; 5] = [
    ("zero-width", |c| {
        matches!(c, '\u{ad}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}')
    }),
    ("blank letters", |c| matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')),
    ("of direction", |c| {
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
    }),
    ("tags", |c| matches!(c, '\u{e0000}'..='\u{e0fff}') || is_selector(c)),
    ("control", |c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')),
];

/// Variation selectors: they change how the character before looks.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}')
}

/// A visible non-ASCII character.
fn is_wide(c: char) -> bool {
    !c.is_ascii() && !KINDS.iter().any(|(_, is)| is(c))
}
