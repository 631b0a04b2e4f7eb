//! Words of the commands that the steward prints, quoted for the shell of this system.

/// A word of a command line, quoted for a shell.
pub fn quoted(word: &str) -> String {
    if cfg!(windows) { quoted_for_windows(word) } else { quoted_for_unix(word) }
}

fn is_plain(word: &str, others: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

fn quoted_for_unix(word: &str) -> String {
    if is_plain(word, "/._-+:@") {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// In double quotes, which `cmd` and PowerShell have in common: both take what separates commands for text there. But
/// PowerShell expands `$` and the backtick within them, and curly quotes end them; the backtick before each, which
/// prevents that, is text to `cmd`. `cmd` expands `%NAME%` in any quotes. No file of Windows has a quote in its name, but
/// what somebody typed may; doubled, it is one quote to PowerShell and to the program that `cmd` starts.
fn quoted_for_windows(word: &str) -> String {
    // PowerShell takes `@` for a sign of its own at the start of a word.
    if is_plain(word, r"\/._-+:") {
        return word.to_owned();
    }
    let mut quoted = String::from('"');
    // Programs take `\"` for a quote that is meant, and each of several backslashes before a quote needs another one.
    // PowerShell since 7.3 adds these itself, so that a folder's name ends in two, which names the same folder.
    let mut backslashes = 0;
    for c in word.chars() {
        match c {
            '$' | '`' | '“' | '”' | '„' => quoted.push('`'),
            '"' => {
                quoted.extend(std::iter::repeat_n('\\', backslashes));
                quoted.push('"');
            }
            _ => {}
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        quoted.push(c);
    }
    quoted.extend(std::iter::repeat_n('\\', backslashes));
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
            ("say \"no\" & go", r#""say ""no"" & go""#),
            ("a\\\\\"b c", r#""a\\\\""b c""#),
            ("", r#""""#),
        ];
        for (word, shown) in cases {
            assert_eq!(quoted_for_windows(word), shown);
        }
        assert_eq!(["", "a", "$a & b's"].map(quoted_for_unix), ["''", "a", r"'$a & b'\''s'"]);
    }
}
