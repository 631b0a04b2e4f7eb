//! Words of the commands that the steward prints, quoted for the shell of this system.

/// A word of a command line, quoted for a shell.
pub fn quoted(word: &str) -> String {
    if cfg!(windows) { quoted_for_windows(word) } else { quoted_for_unix(word) }
}

fn is_plain(word: &str, others: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

fn quoted_for_unix(word: &str) -> String {
    match is_plain(word, "/._-+:@") {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// In double quotes, which `cmd` and PowerShell have in common: both take what separates commands for text there. But
/// PowerShell expands `$` and the backtick within them, and curly quotes end them; the backtick before each, which
/// prevents that, is text to `cmd`. `cmd` expands `%NAME%` in any quotes.
fn quoted_for_windows(word: &str) -> String {
    // PowerShell takes `@` for a sign of its own at the start of a word.
    if is_plain(word, r"\/._-+:") {
        return word.to_owned();
    }
    let mut quoted = String::from('"');
    for c in word.chars() {
        if matches!(c, '$' | '`' | '“' | '”' | '„') {
            quoted.push('`');
        }
        quoted.push(c);
    }
    // Programs take `\"` for a quote that is meant, and each of several backslashes before a quote needs another one.
    // PowerShell since 7.3 adds these itself, so that a folder's name ends in two, which names the same folder.
    let before_quote = word.len() - word.trim_end_matches('\\').len();
    quoted.extend(std::iter::repeat_n('\\', before_quote));
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_as_the_shells_of_windows_take_it() {
        let cases = [
            (r"C:\My Vault", r#""C:\My Vault""#),
            (r"C:\It’s 100%", r#""C:\It’s 100%""#),
            (r"C:\$home & x", r#""C:\`$home & x""#),
            (r"C:\a`b's", r#""C:\a``b's""#),
            ("C:\\“It’s”", "\"C:\\`“It’s`”\""),
            (r"C:\notes\", r"C:\notes\"),
            (r"C:\My Vault\", r#""C:\My Vault\\""#),
            (r"C:\%NAME%", r#""C:\%NAME%""#),
            ("@home", r#""@home""#),
            ("", r#""""#),
        ];
        for (word, shown) in cases {
            assert_eq!(quoted_for_windows(word), shown);
        }
        assert_eq!(["", "a", "$a & b's"].map(quoted_for_unix), ["''", "a", r"'$a & b'\''s'"]);
    }
}
