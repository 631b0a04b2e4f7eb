//! Reads the TOML file and validates every key; each error has its position.

#![expect(clippy::disallowed_methods, reason = "the settings file, which is never in a vault")]

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::config::{log, security, updates};
use crate::index::{knowledge, search};
use crate::{
    agent, hooks, journal, llm, mcp, organize, policy, server, servers, smarthole, tools, vault,
};

/// The largest settings file in bytes; a larger file is a wrong path.
const MAX_BYTES: u64 = 1 << 20;

/// All settings. Each section belongs to the room that uses it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The vault from the file (`vault = "…"` or `[vault] path`), made absolute; `None` leaves the
    /// choice to [`crate::config::vaults`].
    pub path: Option<PathBuf>,
    /// The rest of `[vault]`.
    pub vault: vault::Settings,
    pub server: server::Settings,
    pub acp: server::AcpSettings,
    pub search: search::Settings,
    pub knowledge: knowledge::Settings,
    pub journal: journal::Settings,
    pub organize: organize::Settings,
    pub policy: policy::Settings,
    pub hooks: hooks::Settings,
    pub agent: agent::TurnSettings,
    pub agents: agent::Agents,
    pub conversation: agent::ConversationSettings,
    pub models: llm::Settings,
    pub mcp: mcp::Settings,
    pub servers: servers::Settings,
    pub smarthole: smarthole::Settings,
    pub log: log::Settings,
    pub security: security::Settings,
    pub update: updates::Settings,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("could not read the settings in `{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The file contains something invalid.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Fault {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        message: String,
        /// What to write instead.
        hint: Option<String>,
    },
    #[error("the environment variable `{name}` cannot be `{value}`: {reason}")]
    Variable { name: &'static str, value: String, reason: String },
}

impl ConfigError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } => Some(
                "`steward config path` says which file is read; `steward config init` writes one"
                    .to_owned(),
            ),
            Self::Fault { hint, .. } => hint.clone(),
            Self::Variable { name, .. } => Some(format!("correct or unset `{name}`")),
        }
    }
}

/// The result of reading a file.
#[derive(Debug, Default)]
pub struct Loaded {
    pub config: Config,
    /// The settings that the file sets, such as `server.port`.
    pub set_keys: Vec<String>,
    /// Hints for the user that are not errors.
    pub notices: Vec<String>,
}

/// Whether there is a settings file at `path`.
pub fn exists(path: &Path) -> bool {
    path.is_file()
}

/// Reads the settings in `path`.
///
/// # Errors
/// [`ConfigError::Unreadable`] if the file is missing, too large or not readable;
/// [`ConfigError::Fault`] with line and column for everything else.
pub fn read(path: &Path) -> Result<Loaded, ConfigError> {
    parse(&bytes(path)?, path)
}

pub fn bytes(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_path_buf(), source };
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    if meta.len() > MAX_BYTES {
        return Err(unreadable(io::Error::other("it is over 1 MiB, so it cannot be settings")));
    }
    std::fs::read(path).map_err(unreadable)
}

/// Parses a file's bytes. `path` is for messages and resolves relative vault paths.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Loaded, ConfigError> {
    // Windows editors prepend a byte order mark.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut loaded = Loaded::default();
    if bytes.is_empty() {
        // An interrupted save or a full disk leaves an empty file. The user should know, but the
        // defaults are safe.
        loaded.notices.push(format!("`{}` is empty; using defaults", path.display()));
        return Ok(loaded);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Source { text: &before, path }.fault(
            before.len()..before.len(),
            "the file is not UTF-8 text".to_owned(),
            Some("save it again as UTF-8".to_owned()),
        )
    })?;
    let source = Source { text, path };
    let table = DeTable::parse(text).map_err(|error| {
        let message = one_line(error.message());
        source.fault(
            error.span().unwrap_or(text.len()..text.len()),
            format!("this is not TOML: {message}"),
            Some(
                "if the file was cut off while it was saved, restore it; \
                 `steward config init` with another `--config` writes a fresh one"
                    .to_owned(),
            ),
        )
    })?;
    for (key, value) in table.into_inner() {
        let key_span = key.span();
        loaded.set_keys.extend(set_keys(key.get_ref(), value.get_ref()));
        match key.into_inner().as_ref() {
            "vault" => source.vault(value, &mut loaded.config)?,
            "acp" => loaded.config.acp = source.section("acp", value)?,
            "server" => loaded.config.server = source.section("server", value)?,
            "search" => loaded.config.search = source.section("search", value)?,
            "knowledge" => loaded.config.knowledge = source.section("knowledge", value)?,
            "journal" => loaded.config.journal = source.section("journal", value)?,
            "policy" => loaded.config.policy = source.section("policy", value)?,
            "organize" => loaded.config.organize = source.section("organize", value)?,
            "hooks" => loaded.config.hooks = source.hooks(value)?,
            "agent" => loaded.config.agent = source.section("agent", value)?,
            "agents" => loaded.config.agents = source.agents(value)?,
            "conversation" => {
                loaded.config.conversation = source.section("conversation", value)?;
            }
            "models" => loaded.config.models = source.section("models", value)?,
            "mcp" => loaded.config.mcp = source.section("mcp", value)?,
            "servers" => loaded.config.servers = source.section("servers", value)?,
            "smarthole" => loaded.config.smarthole = source.section("smarthole", value)?,
            "log" => loaded.config.log = source.section("log", value)?,
            "security" => loaded.config.security = source.section("security", value)?,
            "update" => loaded.config.update = source.section("update", value)?,
            unknown => {
                let (sections, _): (Vec<_>, Vec<_>) = known_keys().into_iter().unzip();
                return Err(source.unknown_key(key_span, unknown, None, &sections));
            }
        }
    }
    Ok(loaded)
}

/// Finds the vault in a file that [`parse`] rejects; ignores everything else. `None` if the vault
/// cannot be determined, since the invalid part may be what names it.
pub fn read_vault_only(bytes: &[u8], path: &Path) -> Option<Loaded> {
    let text = std::str::from_utf8(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).ok()?;
    let (readable, rest) = match DeTable::parse(text) {
        Ok(_) => (text, ""),
        Err(error) => {
            let before = text.get(..error.span()?.start)?;
            text.split_at(before.rfind('\n').map_or(0, |end| end + 1))
        }
    };
    let table = DeTable::parse(readable).ok()?.into_inner();
    let named = table.get("vault").and_then(|vault| match vault.get_ref() {
        DeValue::Table(section) => section.get("path"),
        _ => Some(vault),
    });
    let mut loaded = Loaded::default();
    match named {
        Some(named) => {
            let DeValue::String(name) = named.get_ref() else { return None };
            let source = Source { text: readable, path };
            loaded.config.path = Some(source.named(name, named.span()).ok()?);
            loaded.set_keys.push("vault.path".to_owned());
        }
        None if rest.contains("vault") || rest.contains("path") => return None,
        None => {}
    }
    Some(loaded)
}

/// The names of the settings that `section` sets.
fn set_keys(section: &str, value: &DeValue<'_>) -> Vec<String> {
    match value {
        DeValue::Table(table) => {
            table.keys().map(|key| format!("{section}.{}", key.get_ref())).collect()
        }
        // The short form.
        _ => vec![format!("{section}.path")],
    }
}

/// Every section with its keys, for suggestions.
fn known_keys() -> Vec<(String, Vec<String>)> {
    let Ok(Value::Object(sections)) = serde_json::to_value(Config::default()) else {
        return Vec::new();
    };
    let keys = |(section, keys): (String, Value)| {
        let Value::Object(keys) = keys else { return None };
        let path = (section == "vault").then(|| "path".to_owned());
        let keys = keys.into_iter().map(|(key, _)| key).chain(path).collect();
        Some((section, keys))
    };
    sections.into_iter().filter_map(keys).collect()
}

/// The text and its path, to convert byte ranges to positions.
struct Source<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Source<'_> {
    fn section<T: DeserializeOwned>(
        &self,
        name: &str,
        value: Spanned<DeValue<'_>>,
    ) -> Result<T, ConfigError> {
        let span = value.span();
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            let found = kind(value.get_ref());
            let message = format!("`{name}` is a section, not {found}");
            return Err(self.fault(span, message, Some(format!("write `[{name}]` on a line"))));
        }
        T::deserialize(ValueDeserializer::from(value)).map_err(|error| {
            let at = error.span().unwrap_or(span);
            match unknown_field(error.message()) {
                Some((key, known)) => self.unknown_key(at, key, Some(name), &known),
                // The full text of the error also names the key.
                None => self.fault(
                    at,
                    format!("in [{name}]: {}", plain(&one_line(&error.to_string()))),
                    None,
                ),
            }
        })
    }

    /// `[hooks]`. Every tool named must exist, since a misspelt one would guard nothing.
    fn hooks(&self, value: Spanned<DeValue<'_>>) -> Result<hooks::Settings, ConfigError> {
        let span = value.span();
        let settings: hooks::Settings = self.section("hooks", value)?;
        for (name, hook) in &settings.commands {
            let tools = hook.tools.iter().map(String::as_str);
            self.check_tools(&span, &format!("in [hooks]: the hook `{name}`"), tools)?;
        }
        Ok(settings)
    }

    /// `[agents]`. Every tool named must exist, except those of servers, which are not known here.
    fn agents(&self, value: Spanned<DeValue<'_>>) -> Result<agent::Agents, ConfigError> {
        let span = value.span();
        let agents: agent::Agents = self.section("agents", value)?;
        for (name, agent) in &agents.0 {
            let tools = agent.exact_tools().filter(|tool| !tool.contains("__"));
            self.check_tools(&span, &format!("in [agents]: the agent `{name}`"), tools)?;
        }
        Ok(agents)
    }

    fn check_tools<'t>(
        &self,
        span: &Range<usize>,
        whose: &str,
        mut tools: impl Iterator<Item = &'t str>,
    ) -> Result<(), ConfigError> {
        let known: Vec<&str> = tools::Registry::built_in().iter().map(|tool| &*tool.name).collect();
        // A server's tools are known only once it has listed them.
        let is_known = |tool: &&str| known.contains(tool) || tool.contains("__");
        let Some(wrong) = tools.find(|tool| !is_known(tool)) else { return Ok(()) };
        let message = format!("{whose}: there is no tool `{wrong}`");
        let hint = nearest(wrong, &known).map_or_else(
            || "`steward tools` lists them".to_owned(),
            |right| format!("did you mean `{right}`?"),
        );
        Err(self.fault(span.clone(), message, Some(hint)))
    }

    /// `vault = "path"`, or a `[vault]` section with `path` and the vault's own settings.
    fn vault(&self, value: Spanned<DeValue<'_>>, config: &mut Config) -> Result<(), ConfigError> {
        let span = value.span();
        match value.into_inner() {
            DeValue::String(path) => config.path = Some(self.named(&path, span)?),
            DeValue::Table(mut table) => {
                if let Some(path) = table.remove("path") {
                    let at = path.span();
                    let DeValue::String(path) = path.into_inner() else {
                        let message = "in [vault]: `path` must be a text in quotes".to_owned();
                        return Err(self.fault(at, message, None));
                    };
                    config.path = Some(self.named(&path, at)?);
                }
                let rest = Spanned::new(span, DeValue::Table(table));
                config.vault = self.section("vault", rest)?;
            }
            other => {
                let found = kind(&other);
                let message = format!("`vault` is a path in quotes or a section, not {found}");
                return Err(self.fault(span, message, None));
            }
        }
        Ok(())
    }

    /// A path from the file. A relative path is relative to the file's folder, because the working
    /// folder of a service means nothing to the user.
    fn named(&self, path: &str, span: Range<usize>) -> Result<PathBuf, ConfigError> {
        if path.trim().is_empty() {
            let hint = Some("leave the key out to have the vault found automatically".to_owned());
            return Err(self.fault(span, "the vault's path is empty".to_owned(), hint));
        }
        let path = Path::new(path);
        if path.starts_with("~") {
            return Ok(path.to_path_buf());
        }
        Ok(self.path.parent().unwrap_or(Path::new("")).join(path))
    }

    fn unknown_key(
        &self,
        span: Range<usize>,
        key: &str,
        section: Option<&str>,
        known: &[impl AsRef<str>],
    ) -> ConfigError {
        let place = section.map(|name| format!(" in [{name}]")).unwrap_or_default();
        let message = format!("unknown key `{key}`{place}");
        let elsewhere = known_keys().into_iter().find(|(name, keys)| {
            Some(name.as_str()) != section && keys.iter().any(|other| other == key)
        });
        let hint = match (nearest(key, known), elsewhere) {
            (_, Some((name, _))) => format!("`{key}` belongs under `[{name}]`"),
            (Some(right), None) => format!("did you mean `{right}`?"),
            (None, None) => {
                let known: Vec<_> = known.iter().map(|k| format!("`{}`", k.as_ref())).collect();
                format!("known here: {}", known.join(", "))
            }
        };
        self.fault(span, message, Some(hint))
    }

    fn fault(&self, span: Range<usize>, message: String, hint: Option<String>) -> ConfigError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        ConfigError::Fault { path: self.path.to_path_buf(), line, column, message, hint }
    }
}

/// Extracts the key and the known keys from serde's message, whose format
/// `serde::de::Error::unknown_field` defines; a test checks it.
fn unknown_field(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, rest) = rest.split_once('`')?;
    let known = rest.split('`').skip(1).step_by(2).collect();
    Some((key, known))
}

/// The known word closest to `word`, if any is close enough.
pub fn nearest<'a>(word: &str, known: &'a [impl AsRef<str>]) -> Option<&'a str> {
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(word, known.as_ref()), known.as_ref()))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

/// Rewrites the message without Rust type names.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 5] = [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number from 0 on"),
        ("usize", "a whole number from 0 on"),
    ];
    // The text before it is the given value, which may contain anything.
    let Some((before, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let (kind, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    match WORDS.iter().find(|(word, _)| *word == kind) {
        Some((_, words)) => format!("{before}, expected {words} {rest}").trim_end().to_owned(),
        None => message.to_owned(),
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (usize, usize, String, String) {
        match parse(text.as_bytes(), Path::new("/c/config.toml")) {
            Err(ConfigError::Fault { line, column, message, hint, .. }) => {
                (line, column, message, hint.unwrap_or_default())
            }
            other => panic!("expected a fault, not {other:?}"),
        }
    }

    #[test]
    fn both_spellings_of_the_vault_mean_the_same() {
        let path = Path::new("/c/config.toml");
        let short = parse(b"vault = \"notes\"", path).unwrap().config;
        let long = parse(b"\xEF\xBB\xBF[vault]\r\npath = \"notes\"\r\n", path).unwrap().config;
        assert_eq!(short, long);
        assert_eq!(short.path.as_deref(), Some(Path::new("/c/notes")));
    }

    #[test]
    fn an_empty_file_means_defaults_and_says_so() {
        let loaded = parse(b"", Path::new("c.toml")).unwrap();
        assert_eq!(loaded.config, Config::default());
        assert_eq!(loaded.notices.len(), 1);
    }

    #[test]
    fn faults_carry_place_and_the_nearest_key() {
        let (line, column, message, hint) = fault("# x\n[server]\n  prot = 1\n");
        assert_eq!((line, column), (3, 3));
        assert_eq!(message, "unknown key `prot` in [server]");
        assert_eq!(hint, "did you mean `port`?");

        let (line, column, message, hint) = fault("[sever]\nport = 1\n");
        assert_eq!((line, column, message.as_str()), (1, 2, "unknown key `sever`"));
        assert_eq!(hint, "did you mean `server`?");

        let (.., hint) = fault("port = 1\n");
        assert_eq!(hint, "`port` belongs under `[server]`");
    }

    #[test]
    fn wrong_types_carry_their_place() {
        let (line, column, message, _) = fault("[server]\nport = \"x\"\n");
        assert_eq!((line, column), (2, 8));
        assert!(message.starts_with("in [server]: invalid type"), "{message}");
        assert_eq!(fault("vault = 3").2, "`vault` is a path in quotes or a section, not a number");
        assert_eq!(fault("server = 3").2, "`server` is a section, not a number");
        assert_eq!(fault("[vault]\npath = 3").0, 2);
        assert_eq!(fault("[log]\nlevel = \"loud\"").0, 2);
    }

    #[test]
    fn a_half_written_file_is_an_error_with_its_line() {
        let (line, _, message, _) = fault("[server]\nport = 27180\n[lo");
        assert_eq!(line, 3);
        assert!(message.starts_with("this is not TOML"), "{message}");
        let cut = parse(b"[server]\nport = 1\n\xFF", Path::new("c"));
        assert!(matches!(cut, Err(ConfigError::Fault { line: 3, column: 1, .. })), "{cut:?}");
    }
}
