//! Addresses: which of them lead out of the vault, and which act once followed.

/// Schemes of links that open something and do nothing else.
const PASSIVE: [&str; 17] = [
    "http", "https", "ftp", "ftps", "sftp", "mailto", "tel", "sms", "geo", "irc", "ircs", "news",
    "xmpp", "doi", "urn", "zotero", "magnet",
];

/// Pictures that are written into the address itself.
const PICTURES: [&str; 6] = ["png", "jpeg", "jpg", "gif", "webp", "avif"];

/// The address as a browser reads it: blanks around it and line breaks in it do not count.
pub(super) fn clean(address: &str) -> String {
    let kept = address.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    kept.collect::<String>().trim_matches(|c: char| c <= ' ' || c.is_whitespace()).to_owned()
}

/// Whether what is loaded from there comes from outside the vault. The address is clean.
pub(super) fn is_outside(address: &str) -> bool {
    let lower = address.to_ascii_lowercase();
    if let Some(kind) = lower.strip_prefix("data:image/") {
        let kind = kind.split([';', ',']).next().unwrap_or_default();
        return !PICTURES.contains(&kind);
    }
    lower.starts_with(['/', '\\']) && lower[1..].starts_with(['/', '\\'])
        || scheme(&lower).is_some()
}

/// Whether following it does more than to open a page or a message. The address is clean.
pub(super) fn acts(address: &str) -> bool {
    scheme(&address.to_ascii_lowercase()).is_some_and(|scheme| !PASSIVE.contains(&scheme))
}

/// Whether a text holds an address anywhere.
pub(super) fn any_in(text: &str) -> bool {
    text.contains("//") || text.contains("\\\\") || text.to_ascii_lowercase().contains("data:")
}

fn scheme(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some(scheme)
}
