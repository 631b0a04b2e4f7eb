//! A vendor's API key, which only that vendor may see.

use std::fmt;

/// An API key. `Debug` and errors never show it, and it is not serialisable.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// Why a text is not a key. Does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    /// Empty or only whitespace.
    #[error("the key is empty")]
    Empty,
    /// Longer than the key of any vendor.
    #[error("the key is longer than {MAX_BYTES} bytes, which no key is")]
    TooLong,
    /// Contains a character that an HTTP header cannot carry.
    #[error("the key contains blanks, control characters or letters that no key has")]
    Characters,
}

/// The longest key accepted, in bytes.
pub const MAX_BYTES: usize = 4_096;

impl Key {
    /// Trims the text and accepts it as a key.
    pub fn new(text: &str) -> Result<Self, NoKey> {
        let text = text.trim();
        if text.is_empty() {
            Err(NoKey::Empty)
        } else if text.len() > MAX_BYTES {
            Err(NoKey::TooLong)
        } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Err(NoKey::Characters)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The key itself, for the request header and for the file that stores it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_plain_and_shows_nothing() {
        assert_eq!(Key::new(" sk-1\n").unwrap().reveal(), "sk-1");
        assert_eq!(format!("{:?}", Key::new("sk-1")), "Ok(Key(…))");
        assert_eq!(Key::new(" \n"), Err(NoKey::Empty));
        assert_eq!(Key::new("a b"), Err(NoKey::Characters));
        assert_eq!(Key::new("a\r\nx-evil: 1"), Err(NoKey::Characters));
        assert_eq!(Key::new(&"x".repeat(5_000)), Err(NoKey::TooLong));
    }
}
