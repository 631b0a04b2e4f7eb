//! `steward servers import`: the servers that other programs have in their settings.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{ServerEntry, add, entry, next_for, secrets, settings};
use crate::cli::{Failure, Result, Session};
use crate::config::foreign::{self, Language};
use crate::note::counted::counted;
use crate::servers::settings::nearest_name;

/// The sections in which programs have their servers: Claude and Cursor, VS Code, Zed, Codex.
const SECTIONS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp_servers"];

/// Adds the servers of the file. Secrets go into key files.
pub(super) fn run(session: &Session, file: &Path, network: bool) -> Result<()> {
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    let language = if is_toml { Language::Toml } else { Language::LooseJson };
    let whole = foreign::value(file, language)?;
    let found =
        SECTIONS.iter().find_map(|section| whole[section].as_object()).ok_or_else(|| {
            let message = format!("there are no servers in `{}`", file.display());
            Failure::other("not_found", message, format!("it has none of {}", SECTIONS.join(", ")))
        })?;
    let (mut entries, mut left_out, mut keys) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (given, foreign_entry) in found {
        let name = nearest_name(given).filter(|name| !entries.contains_key(name));
        let (Some(name), Some(foreign_entry)) = (name, foreign_entry.as_object()) else {
            left_out.push(format!("`{given}`: this is not a valid name for a server"));
            continue;
        };
        if session.config()?.servers.entries.contains_key(&name) {
            left_out.push(format!("`{name}`: there is one already"));
            continue;
        }
        let read = read_entry(session, foreign_entry).and_then(|mut entry| {
            entry.network = network && entry.url.is_none();
            let keys = secrets::extract(&name, &mut entry);
            entry.fault().map_or(Ok((entry, keys)), Err)
        });
        match read {
            Ok((entry, mut its_keys)) => {
                keys.append(&mut its_keys);
                entries.insert(name, entry);
            }
            Err(why) => left_out.push(format!("`{name}`: {why}")),
        }
    }
    // The keys first: an entry without its key would not work.
    let stored = secrets::store(session, &keys)?;
    add(session, &entries)?;
    let mut lines =
        vec![format!("added {} to {}", counted(entries.len(), "server"), settings(session))];
    lines.extend(entries.iter().map(|(name, entry)| next_for(name, entry)));
    lines.extend(stored);
    lines.extend(left_out.iter().map(|why| format!("left out: {why}")));
    let names: Vec<&String> = entries.keys().collect();
    let keys: Vec<&String> = keys.iter().map(|(key, _)| key).collect();
    let value = json!({ "added": names, "keys": keys, "leftOut": left_out });
    session.output.answer(&value, lines.join("\n"))
}

fn read_entry(
    session: &Session,
    foreign_entry: &Map<String, Value>,
) -> Result<ServerEntry, String> {
    // Zed had an object here.
    let (command, foreign_entry) = match foreign_entry.get("command") {
        Some(Value::Object(inner)) => (inner.get("path").or(inner.get("command")), inner),
        command => (command, foreign_entry),
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let Some(command) = command.and_then(text) else {
        return remote(foreign_entry);
    };
    let args = foreign_entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let line: Vec<String> = std::iter::once(command)
        .chain(args.filter_map(text))
        .map(|part| rewritten(&part))
        .collect();
    if let Some(asks) = line.iter().find(|part| part.contains("${")) {
        return Err(format!("`{asks}` has to be filled in; add it by hand"));
    }
    let mut entry = entry(session, &line).map_err(|failure| failure.message)?;
    entry.env = values(foreign_entry.get("env"))?;
    entry.enabled = is_enabled(foreign_entry);
    Ok(entry)
}

/// A server at an address.
fn remote(foreign_entry: &Map<String, Value>) -> Result<ServerEntry, String> {
    // Gemini CLI has two names for it; under `url` it has the older transport.
    let url =
        ["httpUrl", "url", "serverUrl"].iter().find_map(|key| foreign_entry.get(*key)?.as_str());
    let url = url.ok_or("it has neither a command nor an address")?;
    if foreign_entry
        .get("type")
        .or(foreign_entry.get("transport"))
        .is_some_and(|kind| kind == "sse")
    {
        return Err("it uses the transport HTTP+SSE of 2024, which is not supported".to_owned());
    }
    let mut entry = ServerEntry::remote(rewritten(url));
    if url.contains("${") {
        return Err(format!("`{url}` has to be filled in; add it by hand"));
    }
    // Codex names the variable with a token, and headers by two names.
    for key in ["headers", "http_headers"] {
        entry.headers.append(&mut values(foreign_entry.get(key))?);
    }
    for (name, variable) in values(foreign_entry.get("env_http_headers"))? {
        entry.headers.insert(name, format!("${{env:{variable}}}"));
    }
    if let Some(variable) = foreign_entry.get("bearer_token_env_var").and_then(Value::as_str) {
        entry.headers.insert("Authorization".to_owned(), format!("Bearer ${{env:{variable}}}"));
    }
    entry.enabled = is_enabled(foreign_entry);
    Ok(entry)
}

fn is_enabled(foreign_entry: &Map<String, Value>) -> bool {
    foreign_entry.get("disabled") != Some(&Value::Bool(true))
        && foreign_entry.get("enabled") != Some(&Value::Bool(false))
}

/// The values of an object, with references as the steward has them.
fn values(foreign_entry: Option<&Value>) -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    for (name, value) in foreign_entry.and_then(Value::as_object).into_iter().flatten() {
        let value = match value {
            Value::String(value) => rewritten(value),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => continue,
        };
        if value.replace("${env:", "").contains("${") {
            return Err(format!("`{name}` has to be filled in; add it by hand"));
        }
        all.insert(name.clone(), value);
    }
    Ok(all)
}

/// The variables that programs put in: `${env:X}` of Cursor and VS Code, `${X}` of Claude Code, the home folder.
fn rewritten(text: &str) -> String {
    let mut text = text.replace("${userHome}", "~").replace("${HOME}", "~");
    if let Some((before, rest)) = text.split_once("${")
        && let Some(name) = rest.strip_suffix('}')
    {
        let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if !name.is_empty() && name.chars().all(plain) {
            text = format!("{before}${{env:{name}}}");
        }
    }
    text
}
