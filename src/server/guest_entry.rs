//! The tokens of guests' sessions.

use super::SharedServer;
use super::token::{Entry, Token};
use crate::policy::Scope;

/// The entry of the running guest session whose token satisfies `is_wanted`.
pub(super) fn guest_of(shared: &SharedServer, is_wanted: impl Fn(&Token) -> bool) -> Option<Entry> {
    let secrets = shared.guests.get()?.secrets();
    let mut tokens = secrets.iter().filter_map(|secret| Token::parse(secret));
    let token = tokens.find(is_wanted)?;
    Some(Entry { scope: Scope::Mcp, token, is_guest: true })
}
