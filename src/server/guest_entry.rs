//! The tokens of guests' sessions.

use super::SharedServer;
use super::token::{Entry, Token};
use crate::policy::Scope;

/// The entry of a guest's session whose token is wanted, as long as the session lasts.
pub(super) fn guest_of(shared: &SharedServer, is_wanted: impl Fn(&Token) -> bool) -> Option<Entry> {
    let secrets = shared.guests.get()?.secrets();
    let mut tokens = secrets.iter().filter_map(|secret| Token::parse(secret));
    let token = tokens.find(is_wanted)?;
    Some(Entry { scope: Scope::Mcp, token, is_guest: true })
}
