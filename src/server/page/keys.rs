//! Codes that open the page once, and the tokens of pages that are open. Both are in memory alone:
//! with the daemon they are gone.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq as _;

use crate::server::lock;
use crate::server::token::{Token, TokenError};

/// How long a code holds, in seconds.
pub const CODE_SECONDS: u32 = 60;

/// Codes that hold at a time; a further one ends the oldest.
const MOST_CODES: usize = 16;

/// Pages that are known at a time; a further one ends the oldest.
const MOST_PAGES: usize = 64;

/// Who may open the page, and who has it open.
#[derive(Debug, Default)]
pub struct Pages(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    codes: Vec<Code>,
    pages: Vec<Page>,
}

/// A code by its hash, so that nothing that reads this memory can use it.
#[derive(Debug)]
struct Code {
    hash: [u8; 32],
    until: Instant,
}

#[derive(Debug)]
struct Page {
    token: Token,
    /// The daemon's token when the page was opened: a rotation ends both.
    main: Token,
}

impl Pages {
    /// A new code, which holds from `now` on for [`CODE_SECONDS`], and once.
    ///
    /// # Errors
    /// [`TokenError::Random`].
    pub fn code(&self, now: Instant) -> Result<String, TokenError> {
        let code = Token::generate()?.reveal();
        let mut state = lock(&self.0);
        state.codes.retain(|code| code.until > now);
        if state.codes.len() >= MOST_CODES {
            state.codes.remove(0);
        }
        let until = now + Duration::from_secs(CODE_SECONDS.into());
        state.codes.push(Code { hash: hash(code.as_bytes()), until });
        Ok(code)
    }

    /// A token for a code that holds at the time `now`; it holds no longer. None for any other.
    /// How long that takes does not depend on what the code is.
    ///
    /// # Errors
    /// [`TokenError::Random`]; the code holds no longer then either.
    pub fn exchange(
        &self,
        code: &[u8],
        main: &Token,
        now: Instant,
    ) -> Result<Option<Token>, TokenError> {
        let shown = hash(code);
        let token = Token::generate()?;
        let mut state = lock(&self.0);
        let mut is_right = false;
        state.codes.retain(|code| {
            let is_this: bool = code.hash.ct_eq(&shown).into();
            is_right |= is_this && code.until > now;
            !is_this && code.until > now
        });
        if !is_right {
            return Ok(None);
        }
        if state.pages.len() >= MOST_PAGES {
            state.pages.remove(0);
        }
        state.pages.push(Page { token: token.clone(), main: main.clone() });
        Ok(Some(token))
    }

    /// The token of a page that shows it, where it is one and the daemon's own is still `main`.
    pub fn knows(&self, shown: &[u8], main: &Token) -> Option<Token> {
        let mut state = lock(&self.0);
        state.pages.retain(|page| page.main == *main);
        // Each is compared, whichever fits, so that the time says nothing.
        let fits = state.pages.iter().filter(|page| page.token.matches(shown));
        fits.fold(None, |first, page| first.or_else(|| Some(page.token.clone())))
    }
}

fn hash(code: &[u8]) -> [u8; 32] {
    *blake3::hash(code).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_holds_once_and_for_a_minute() {
        let (pages, main, start) = (Pages::default(), Token::generate().unwrap(), Instant::now());
        let second = Duration::from_secs(1);
        let exchange = |code: &str, at| pages.exchange(code.as_bytes(), &main, at).unwrap();

        let code = pages.code(start).unwrap();
        assert_eq!(code.len(), 64);
        assert!(exchange("", start).is_none());
        assert!(exchange(&code[..63], start).is_none());
        let token = exchange(&code, start + 59 * second).expect("it holds still");
        assert!(exchange(&code, start + 59 * second).is_none(), "a second time");
        assert_eq!(pages.knows(token.reveal().as_bytes(), &main), Some(token.clone()));
        assert_eq!(pages.knows(code.as_bytes(), &main), None, "a code is no token");

        let late = pages.code(start).unwrap();
        assert!(exchange(&late, start + 60 * second).is_none(), "a minute later");
        assert!(exchange(&late, start).is_none(), "nor by a clock that is put back");

        let other = Token::generate().unwrap();
        assert_eq!(pages.knows(token.reveal().as_bytes(), &other), None, "the token was rotated");
        assert_eq!(pages.knows(token.reveal().as_bytes(), &main), None, "and back is not again");
    }

    #[test]
    fn only_so_many_codes_and_pages_are_kept() {
        let (pages, main, start) = (Pages::default(), Token::generate().unwrap(), Instant::now());
        let codes: Vec<String> = (0..=MOST_CODES).map(|_| pages.code(start).unwrap()).collect();
        assert!(pages.exchange(codes[0].as_bytes(), &main, start).unwrap().is_none());
        assert!(pages.exchange(codes[1].as_bytes(), &main, start).unwrap().is_some());
        let first = pages.exchange(codes[2].as_bytes(), &main, start).unwrap().unwrap();
        for _ in 0..MOST_PAGES {
            let code = pages.code(start).unwrap();
            pages.exchange(code.as_bytes(), &main, start).unwrap().unwrap();
        }
        assert_eq!(pages.knows(first.reveal().as_bytes(), &main), None);
        assert_eq!(lock(&pages.0).pages.len(), MOST_PAGES);
    }

    #[test]
    fn nothing_of_a_code_or_a_token_is_shown() {
        let (pages, main, now) = (Pages::default(), Token::generate().unwrap(), Instant::now());
        let code = pages.code(now).unwrap();
        let token = pages.exchange(code.as_bytes(), &main, now).unwrap().unwrap();
        let shown = format!("{pages:?}");
        assert!(!shown.contains(&token.reveal()[..8]) && !shown.contains(&code[..8]), "{shown}");
    }
}
