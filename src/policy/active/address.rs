//! URLs: which of them lead out of the vault, and which do something when they are followed.

use super::has_word;

/// Schemes of links that only open something.
const PASSIVE: &str =
    "http https ftp ftps sftp mailto tel sms geo irc ircs news xmpp doi urn zotero magnet";

/// Image types of data URLs that cannot contain scripts.
const IMAGES: [&str; 6] = ["png", "jpeg", "jpg", "gif", "webp", "avif"];

/// The URL as a browser parses it: without surrounding spaces, tabs and line breaks.
pub(super) fn clean(address: &str) -> String {
    let kept = address.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    kept.collect::<String>().trim_matches(|c: char| c <= ' ' || c.is_whitespace()).to_owned()
}

/// Whether the URL leads out of the vault. It must be clean.
pub(super) fn is_outside(address: &str) -> bool {
    let lower = address.to_ascii_lowercase();
    if let Some(kind) = lower.strip_prefix("data:image/") {
        let kind = kind.split([';', ',']).next().unwrap_or_default();
        return !IMAGES.contains(&kind);
    }
    lower.starts_with(['/', '\\']) && lower[1..].starts_with(['/', '\\'])
        || scheme(&lower).is_some()
}

/// Whether following the URL does more than open a page or a message. It must be clean.
pub(super) fn acts(address: &str) -> bool {
    scheme(&address.to_ascii_lowercase()).is_some_and(|scheme| !has_word(PASSIVE, scheme))
}

/// Whether a text contains a URL.
pub(super) fn any_in(text: &str) -> bool {
    text.contains("//") || text.contains("\\\\") || text.to_ascii_lowercase().contains("data:")
}

fn scheme(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some(scheme)
}
