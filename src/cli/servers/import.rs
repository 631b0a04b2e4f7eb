//! `steward servers import`: the servers that other programs have in their settings.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{ServerEntry, add, entry, next, settings};
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::config::foreign::{self, Language};
use crate::config::vendor_keys;
use crate::llm::key::Key;
use crate::servers::settings::nearest_name;

/// The sections in which programs have their servers: Claude and Cursor, VS Code, Zed, Codex.
const SECTIONS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp_servers"];

/// Words in the names of variables whose values are secrets.
const SECRET: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "PAT"];

/// Adds the servers of the file. Secrets go into key files.
pub(super) fn run(
    session: &Session,
    file: &Path,
    network: bool,
    output: &Output,
) -> Result<(), Failure> {
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    let language = if is_toml { Language::Toml } else { Language::LooseJson };
    let whole = foreign::value(file, language)?;
    let found =
        SECTIONS.iter().find_map(|section| whole[section].as_object()).ok_or_else(|| {
            let message = format!("there are no servers in `{}`", file.display());
            Failure::other("not_found", message, format!("it has none of {}", SECTIONS.join(", ")))
        })?;
    let (mut entries, mut left_out, mut keys) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (given, theirs) in found {
        let name = nearest_name(given).filter(|name| !entries.contains_key(name));
        let (Some(name), Some(theirs)) = (name, theirs.as_object()) else {
            left_out.push(format!("`{given}`: no server can be called so"));
            continue;
        };
        if session.config()?.servers.entries.contains_key(&name) {
            left_out.push(format!("`{name}`: there is one already"));
            continue;
        }
        match read(session, theirs) {
            Ok(mut entry) => {
                entry.network = network;
                keys.append(&mut secrets(&name, &mut entry));
                entries.insert(name, entry);
            }
            Err(why) => left_out.push(format!("`{name}`: {why}")),
        }
    }
    // The keys first: an entry without its key would not work.
    for (key, value) in &keys {
        vendor_keys::store(&session.folders, key, value)?;
    }
    add(session, &entries)?;
    let mut lines = vec![format!("added {} servers to {}", entries.len(), settings(session))];
    lines.extend(entries.keys().map(|name| next(name)));
    lines.extend(keys.iter().map(|(key, _)| {
        format!("a secret is in {}", vendor_keys::file(&session.folders, key).display())
    }));
    lines.extend(left_out.iter().map(|why| format!("left out: {why}")));
    let names: Vec<&String> = entries.keys().collect();
    let keys: Vec<&String> = keys.iter().map(|(key, _)| key).collect();
    let value = json!({ "added": names, "keys": keys, "leftOut": left_out });
    Ok(output.answer(&value, lines.join("\n"))?)
}

fn read(session: &Session, theirs: &Map<String, Value>) -> Result<ServerEntry, String> {
    // Zed had an object here.
    let (command, theirs) = match theirs.get("command") {
        Some(Value::Object(inner)) => (inner.get("path").or(inner.get("command")), inner),
        command => (command, theirs),
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let Some(command) = command.and_then(text) else {
        return Err("it is no program of this machine".to_owned());
    };
    let args = theirs.get("args").and_then(Value::as_array).into_iter().flatten();
    let line: Vec<String> = std::iter::once(command)
        .chain(args.filter_map(text))
        .map(|part| rewritten(&part))
        .collect();
    if let Some(asks) = line.iter().find(|part| part.contains("${")) {
        return Err(format!("`{asks}` has to be filled in; add it by hand"));
    }
    let mut entry = entry(session, &line).map_err(|failure| failure.message)?;
    let env = theirs.get("env").and_then(Value::as_object).into_iter().flatten();
    for (name, value) in env {
        let value = match value {
            Value::String(value) => rewritten(value),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => continue,
        };
        if value.replace("${env:", "").contains("${") {
            return Err(format!("`{name}` has to be filled in; add it by hand"));
        }
        entry.env.insert(name.clone(), value);
    }
    entry.enabled = theirs.get("disabled") != Some(&Value::Bool(true))
        && theirs.get("enabled") != Some(&Value::Bool(false));
    Ok(entry)
}

/// The variables that programs put in: `${env:X}` of Cursor and VS Code, `${X}` of Claude Code, the home folder.
fn rewritten(text: &str) -> String {
    let mut text = text.replace("${userHome}", "~").replace("${HOME}", "~");
    if let Some(name) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if !name.is_empty() && name.chars().all(plain) {
            text = format!("${{env:{name}}}");
        }
    }
    text
}

/// Replaces the secrets of an entry by references; returns them with the names of their key files.
fn secrets(server: &str, entry: &mut ServerEntry) -> Vec<(String, Key)> {
    let mut keys = Vec::new();
    for (name, value) in &mut entry.env {
        let is_secret = SECRET.iter().any(|word| name.to_ascii_uppercase().contains(word));
        if !is_secret || value.starts_with("${") {
            continue;
        }
        let file = format!("{server}.{name}");
        if let (Ok(key), true) = (Key::new(value), vendor_keys::is_file_name(&file)) {
            *value = format!("${{key:{file}}}");
            keys.push((file, key));
        }
    }
    keys
}
