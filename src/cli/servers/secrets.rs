//! Secrets of a server's entry: in key files, and in the settings by reference.

use std::collections::BTreeMap;

use super::ServerEntry;
use crate::cli::{Result, Session};
use crate::config::vendor_keys;
use crate::llm::key::Key;
use crate::servers::settings::is_secret;

/// The header of a key.
const AUTHORIZATION: &str = "Authorization";

/// Replaces the secrets of an entry by references; returns them with the names of their key files.
pub(super) fn extract(server: &str, entry: &mut ServerEntry) -> Vec<(String, Key)> {
    let mut keys = of_values(server, &mut entry.env, |value| ("", value));
    // The scheme of a header, such as `Bearer`, is not part of the key.
    fn parts(value: &str) -> (&str, &str) {
        value.rfind(' ').map_or(("", value), |at| value.split_at(at + 1))
    }
    keys.append(&mut of_values(server, &mut entry.headers, parts));
    keys
}

/// Sends `key` as a bearer token; returns it with the name of its key file.
pub(super) fn bearer(server: &str, entry: &mut ServerEntry, key: Key) -> (String, Key) {
    let file = format!("{server}.{AUTHORIZATION}");
    entry.headers.insert(AUTHORIZATION.to_owned(), format!("Bearer ${{key:{file}}}"));
    (file, key)
}

/// Takes `key` for the secret of the steward's registration; returns it with the name of its key file.
pub(super) fn of_client(server: &str, entry: &mut ServerEntry, key: Key) -> (String, Key) {
    let file = format!("{server}.client_secret");
    entry.oauth.client_secret = Some(format!("${{key:{file}}}"));
    (file, key)
}

/// Stores keys in their files, and prints where.
pub(super) fn store(session: &Session, keys: &[(String, Key)]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (name, key) in keys {
        let file = vendor_keys::store(&session.folders, name, key)?;
        lines.push(format!("a secret is in {}", file.display()));
    }
    Ok(lines)
}

/// Takes the secrets of these values; `parts` splits one into what stays and the secret.
fn of_values(
    server: &str,
    values: &mut BTreeMap<String, String>,
    parts: fn(&str) -> (&str, &str),
) -> Vec<(String, Key)> {
    let mut keys = Vec::new();
    for (name, value) in values.iter_mut().filter(|(name, _)| is_secret(name)) {
        let (stays, secret) = parts(value);
        let file = format!("{server}.{name}");
        if value.contains("${") || !vendor_keys::is_file_name(&file) {
            continue;
        }
        if let Ok(key) = Key::new(secret) {
            *value = format!("{stays}${{key:{file}}}");
            keys.push((file, key));
        }
    }
    keys
}
