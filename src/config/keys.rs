//! The table of all settings: when a new value takes effect, and who may change it.
//!
//! A test fails for a setting without a row, so that each one is decided on. The descriptions come
//! from the commented file that `steward config init` writes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Config;
use super::init::TEMPLATE;
use crate::llm::setup;

/// When a new value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// At the next call.
    Call,
    /// At the next connection: a client keeps the limits that it received.
    Connection,
    /// At the next start.
    Restart,
}

/// Who may change a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setter {
    /// The person's own programs, such as the settings of the chat view.
    Person,
    /// Only someone who can write the file. For settings that weaken security or choose the vault,
    /// so that a program that merely talks to the daemon cannot change them.
    File,
}

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Section and key, such as `server.port`.
    pub name: &'static str,
    /// When a new value takes effect.
    pub takes: Takes,
    /// Who may change it.
    pub setter: Setter,
}

const fn key(name: &'static str, takes: Takes, setter: Setter) -> Key {
    Key { name, takes, setter }
}

pub const KEYS: &[Key] = &[
    key("vault.path", Takes::Restart, Setter::File),
    key("vault.rescan_minutes", Takes::Call, Setter::Person),
    key("vault.poll_seconds", Takes::Call, Setter::Person),
    key("vault.max_file_bytes", Takes::Call, Setter::Person),
    key("server.port", Takes::Restart, Setter::Person),
    key("server.allowed_origins", Takes::Connection, Setter::File),
    key("server.max_connections", Takes::Connection, Setter::Person),
    key("server.max_pending_handshakes", Takes::Connection, Setter::Person),
    key("server.max_message_bytes", Takes::Connection, Setter::Person),
    key("server.max_frame_bytes", Takes::Connection, Setter::Person),
    key("server.max_reply_bytes", Takes::Connection, Setter::Person),
    key("server.max_queued_messages", Takes::Connection, Setter::Person),
    key("server.max_queued_bytes", Takes::Connection, Setter::Person),
    key("server.max_in_flight", Takes::Connection, Setter::Person),
    key("server.messages_per_second", Takes::Connection, Setter::Person),
    key("server.message_burst", Takes::Connection, Setter::Person),
    key("server.request_seconds", Takes::Connection, Setter::Person),
    key("server.ping_seconds", Takes::Connection, Setter::Person),
    // Only the person decides who may answer for them.
    key("acp.may_approve", Takes::Connection, Setter::File),
    key("search.deadline_milliseconds", Takes::Call, Setter::Person),
    key("search.resident_megabytes", Takes::Call, Setter::Person),
    key("search.read_links_at_start", Takes::Restart, Setter::Person),
    key("knowledge.meaning", Takes::Call, Setter::Person),
    key("knowledge.pdf", Takes::Call, Setter::Person),
    // How much may be deleted before a person is asked, and how long it can be undone.
    key("journal.max_deleted", Takes::Call, Setter::File),
    key("journal.max_moved", Takes::Call, Setter::File),
    key("journal.max_percent", Takes::Call, Setter::File),
    key("journal.versions", Takes::Call, Setter::Person),
    key("journal.days", Takes::Call, Setter::Person),
    key("organize.max_items", Takes::Call, Setter::Person),
    key("organize.atomic_items", Takes::Call, Setter::Person),
    key("organize.on_conflict", Takes::Call, Setter::Person),
    key("organize.suffix", Takes::Call, Setter::Person),
    key("organize.archive_folder", Takes::Call, Setter::Person),
    key("organize.remove_empty_folders", Takes::Call, Setter::Person),
    key("organize.keep_plans_days", Takes::Call, Setter::Person),
    key("organize.keep_jobs", Takes::Call, Setter::Person),
    key("organize.automatic", Takes::Call, Setter::Person),
    key("organize.quiet_seconds", Takes::Call, Setter::Person),
    key("organize.auto_items", Takes::Call, Setter::Person),
    key("organize.auto_per_hour", Takes::Call, Setter::Person),
    key("organize.rules", Takes::Call, Setter::Person),
    // Only the person decides what callers may do; `steward mode` switches the mode live.
    key("policy.mode", Takes::Call, Setter::File),
    key("policy.off", Takes::Call, Setter::File),
    key("policy.client", Takes::Call, Setter::File),
    key("policy.acp", Takes::Call, Setter::File),
    key("policy.mcp", Takes::Call, Setter::File),
    key("policy.voice", Takes::Call, Setter::File),
    key("policy.rule", Takes::Call, Setter::File),
    key("policy.read", Takes::Call, Setter::File),
    key("policy.write", Takes::Call, Setter::File),
    key("policy.reads_per_minute", Takes::Call, Setter::File),
    key("policy.changes_per_minute", Takes::Call, Setter::File),
    key("policy.bulk_files", Takes::Call, Setter::File),
    key("policy.bulk_bytes", Takes::Call, Setter::File),
    key("policy.turn_bytes", Takes::Call, Setter::File),
    key("policy.hour_files", Takes::Call, Setter::File),
    key("policy.pending_seconds", Takes::Call, Setter::File),
    key("policy.call_seconds", Takes::Call, Setter::File),
    key("policy.audit_days", Takes::Call, Setter::File),
    key("policy.audit_calls", Takes::Call, Setter::File),
    // Permissions of programs that do not represent a person.
    key("mcp.tools", Takes::Call, Setter::File),
    key("mcp.conversations", Takes::Call, Setter::File),
    key("mcp.ask_in_client", Takes::Call, Setter::File),
    // Commands that the steward runs.
    key("hooks.commands", Takes::Call, Setter::File),
    key("conversation.idle_minutes", Takes::Call, Setter::Person),
    // A smaller value deletes conversations.
    key("conversation.kept", Takes::Call, Setter::Person),
    key("conversation.waiting_minutes", Takes::Call, Setter::Person),
    // Prompts of the models.
    key("conversation.titles_by_model", Takes::Call, Setter::Person),
    key("conversation.retrospection", Takes::Call, Setter::File),
    key("conversation.retrospection_prompt", Takes::Call, Setter::File),
    // Only the person decides on instructions to every conversation on their behalf.
    key("agent.instructions", Takes::Call, Setter::Person),
    key("agent.information_architecture", Takes::Call, Setter::Person),
    key("agent.instructions_note", Takes::Call, Setter::File),
    key("agent.prompts_folder", Takes::Call, Setter::Person),
    key("agent.rounds", Takes::Call, Setter::Person),
    key("agent.calls", Takes::Call, Setter::Person),
    key("agent.tokens", Takes::Call, Setter::Person),
    key("agent.minutes", Takes::Call, Setter::Person),
    key("agent.max_output_tokens", Takes::Call, Setter::Person),
    key("agent.effort", Takes::Call, Setter::Person),
    // These models can read the notes.
    key("agent.fast_model", Takes::Call, Setter::File),
    key("agent.summary_model", Takes::Call, Setter::File),
    key("agent.max_context_tokens", Takes::Call, Setter::Person),
    // Decides who can read the notes, and where keys are sent. A new provider may use a port that
    // the sandboxed daemon cannot connect to.
    key("models.chain", Takes::Call, Setter::File),
    key("models.providers", Takes::Restart, Setter::File),
    key("models.retries", Takes::Call, Setter::Person),
    key("models.max_wait_seconds", Takes::Call, Setter::Person),
    key("models.retry_budget_seconds", Takes::Call, Setter::Person),
    key("models.breaker_failures", Takes::Call, Setter::Person),
    key("models.breaker_seconds", Takes::Call, Setter::Person),
    key("models.connect_seconds", Takes::Call, Setter::Person),
    key("models.first_byte_seconds", Takes::Call, Setter::Person),
    key("models.stall_seconds", Takes::Call, Setter::Person),
    key("models.max_answer_bytes", Takes::Call, Setter::Person),
    // This runs a program.
    key("models.keyring", Takes::Call, Setter::File),
    key("models.facts", Takes::Call, Setter::Person),
    // Decides who can speak for the person. The sandboxed daemon can connect to no other port.
    key("smarthole.enabled", Takes::Call, Setter::Person),
    key("smarthole.port", Takes::Restart, Setter::File),
    key("smarthole.name", Takes::Call, Setter::Person),
    key("smarthole.description", Takes::Call, Setter::Person),
    key("smarthole.retry_seconds", Takes::Call, Setter::Person),
    key("log.level", Takes::Call, Setter::Person),
    key("log.format", Takes::Restart, Setter::Person),
    key("security.landlock", Takes::Restart, Setter::File),
    // Decides who learns that this program runs here.
    key("update.url", Takes::Call, Setter::File),
];

/// The sections with names chosen by the user, such as `agents.NAME`.
const NAMED: &[Key] = &[
    // Instructions on behalf of the person, and who can read the notes.
    key("agents", Takes::Call, Setter::File),
    // Programs that the steward starts.
    key("servers", Takes::Call, Setter::File),
];

/// Whether the setting's name was chosen by the user and may contain anything.
pub fn is_named(name: &str) -> bool {
    NAMED.iter().any(|key| name.split_once('.').is_some_and(|(section, _)| section == key.name))
}

pub fn find(name: &str) -> Option<&'static Key> {
    let named = || {
        let (section, own) = name.split_once('.')?;
        NAMED.iter().find(|key| key.name == section && !own.contains('.'))
    };
    KEYS.iter().find(|key| key.name == name).or_else(named)
}

/// When a new value of `name` takes effect; unknown settings at the next start.
pub fn takes(name: &str) -> Takes {
    find(name).map_or(Takes::Restart, |key| key.takes)
}

/// All settings by name, as JSON. `vault.path` is `config.path`.
pub fn values(config: &Config) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    let path = config.path.as_ref().map(|path| path.to_string_lossy().into_owned());
    values.insert("vault.path".to_owned(), path.into());
    // The path is excluded because it may not be valid UTF-8.
    let config = Config { path: None, ..config.clone() };
    let Ok(Value::Object(sections)) = serde_json::to_value(&config) else { return values };
    for (section, settings) in sections {
        if let Value::Object(settings) = settings {
            values.extend(
                settings.into_iter().map(|(key, value)| (format!("{section}.{key}"), value)),
            );
        }
    }
    values
}

/// The names of the settings that differ.
pub fn differences(one: &Config, other: &Config) -> Vec<String> {
    let (ones, others) = (values(one), values(other));
    // Either may have settings that the other lacks.
    let names: BTreeSet<&String> = ones.keys().chain(others.keys()).collect();
    names.into_iter().filter(|name| ones.get(*name) != others.get(*name)).cloned().collect()
}

/// `configured`, but with the values of `running` for all settings that need a restart, and also for a
/// chain with a model whose provider needs one.
pub fn hold_back(configured: &Config, running: &Config) -> Config {
    let mut effective = configured.clone();
    effective.path = running.path.clone();
    let was = values(running);
    let part = |config: &Config| serde_json::to_value(Config { path: None, ..config.clone() });
    let Ok(mut sections) = part(configured) else { return effective };
    for (name, value) in was.iter().filter(|(name, _)| takes(name) == Takes::Restart) {
        if let Some((section, key)) = name.split_once('.')
            && let Some(slot) = sections.get_mut(section).and_then(|section| section.get_mut(key))
        {
            *slot = value.clone();
        }
    }
    let mut effective = match serde_json::from_value::<Config>(sections) {
        // Agents take effect at once, and their JSON has only fingerprints of their variables'
        // values.
        Ok(mut config) => {
            // Not a setting, so not in the JSON.
            config.models.ollama = effective.models.ollama;
            Config { path: effective.path, agents: effective.agents, ..config }
        }
        Err(_) => effective,
    };
    // A model whose provider needs a restart is not usable before it.
    let there = setup::faults(&configured.models);
    let waits = |(model, _): &(&str, _)| there.iter().all(|(faulty, _)| faulty != model);
    if setup::faults(&effective.models).iter().any(waits) {
        effective.models.chain.clone_from(&running.models.chain);
    }
    effective
}

/// The description of each setting: the prose above it in the commented file.
pub fn docs() -> BTreeMap<String, String> {
    let mut docs = BTreeMap::new();
    let (mut section, mut prose, mut used) = (String::new(), String::new(), false);
    for line in TEMPLATE.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
            prose.clear();
        } else if let Some(key) = commented_key(line) {
            docs.insert(format!("{section}.{key}"), prose.clone());
            used = true;
        } else if let Some(words) = line.strip_prefix("# ") {
            // Several settings can share one paragraph; the next paragraph starts a new
            // description.
            if std::mem::take(&mut used) {
                prose.clear();
            }
            if !prose.is_empty() {
                prose.push(' ');
            }
            prose.push_str(words);
        } else {
            prose.clear();
            used = false;
        }
    }
    docs
}

/// The key of a commented setting: `#port = 1`, or `# path = …` for one without a default.
pub fn commented_key(line: &str) -> Option<&str> {
    let (key, _) = line.trim_start().strip_prefix('#')?.trim_start().split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_decided_on_and_explained() {
        let names: Vec<String> = values(&Config::default()).into_keys().collect();
        let docs = docs();
        for name in &names {
            assert!(find(name).is_some(), "`{name}` has no row in KEYS");
            assert!(docs[name].len() > 10, "`{name}` has no words in template.toml");
        }
        for key in KEYS {
            assert!(names.iter().any(|name| name == key.name), "`{}` is not a setting", key.name);
        }
        assert!(docs["server.max_pending_handshakes"].starts_with("The most connections"));
        assert!(docs["vault.path"].starts_with("The vault to serve."));
    }

    #[test]
    fn what_needs_a_restart_is_held_back_and_nothing_else() {
        let running = Config { path: Some("/a".into()), ..Config::default() };
        let mut configured = Config { path: Some("/b".into()), ..Config::default() };
        configured.server.port = 1;
        configured.server.max_in_flight = 7;
        configured.search.deadline_milliseconds = 9;
        configured.security.landlock = false;
        let effective = hold_back(&configured, &running);
        let changed = differences(&effective, &running);
        assert_eq!(changed, ["search.deadline_milliseconds", "server.max_in_flight"]);
        let waiting = differences(&configured, &effective);
        assert_eq!(waiting, ["security.landlock", "server.port", "vault.path"]);
    }

    #[test]
    fn a_setting_that_the_user_named_may_come_and_go() {
        let parsed = |text: &str| {
            super::super::file::parse(text.as_bytes(), std::path::Path::new("c")).unwrap().config
        };
        let (one, none) = (parsed("[agents.reader]\ntools = [\"read_file\"]\n"), parsed("# \n"));
        assert_eq!(differences(&one, &none), ["agents.reader"]);
        assert_eq!(differences(&none, &one), ["agents.reader"]);
        assert_eq!(hold_back(&one, &none), one, "it takes effect at once");
        let guest = parsed("[agents.guest]\ncommand = [\"x\"]\nenv = { KEY = \"sk-1\" }\n");
        assert_eq!(hold_back(&guest, &none), guest, "with the values of its variables");
        assert_eq!(hold_back(&guest, &guest), guest);
        assert_eq!(takes("agents.reader"), Takes::Call);
        assert!(is_named("agents.reader") && !is_named("agent.rounds"));
        assert!(find("agents").is_none() && find("agents.reader.mode").is_none());
    }

    #[test]
    fn a_chain_waits_for_a_restart_with_its_provider() {
        let parsed = |text: &str| {
            super::super::file::parse(text.as_bytes(), std::path::Path::new("c")).unwrap().config
        };
        let running = parsed("[models]\nchain = [\"ollama/a\"]\n");
        let second =
            "[models.providers.second]\nwire = \"chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
        let configured =
            parsed(&format!("[models]\nchain = [\"second/m\", \"ollama/a\"]\n{second}"));
        let effective = hold_back(&configured, &running);
        assert_eq!(effective.models.chain, ["ollama/a"]);
        assert_eq!(differences(&configured, &effective), ["models.chain", "models.providers"]);
        // If a restart would not help either, the model reports the error.
        let configured = parsed(&format!("[models]\nchain = [\"third/m\"]\n{second}"));
        assert_eq!(hold_back(&configured, &running).models.chain, ["third/m"]);
        // Another provider does not delay an available one.
        let configured = parsed(&format!("[models]\nchain = [\"vllm/b\"]\n{second}"));
        assert_eq!(hold_back(&configured, &running).models.chain, ["vllm/b"]);
    }
}
