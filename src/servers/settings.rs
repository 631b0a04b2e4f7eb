//! The `[servers.NAME]` sections of the configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use reqwest::Url;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::Reference;
use crate::hooks::MIN_MEMORY;
use crate::llm::endpoint::Address;

/// The longest time limit of a call, in seconds.
pub const MAX_SECONDS: u32 = 600;

/// The longest name of a server, in characters.
const MAX_NAME: usize = 32;

/// Words in the names of variables and headers whose values are secrets.
const SECRET: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE"];

/// Headers that belong to the protocol.
const PROTOCOLS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "transfer-encoding",
    "upgrade",
];

/// The servers by name, read from the user's settings file alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings {
    /// By name.
    #[serde(deserialize_with = "checked")]
    pub entries: BTreeMap<String, ServerEntry>,
}

/// An MCP server that the steward starts, or reaches over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerEntry {
    /// The program, an absolute path or one that begins with `~/`; empty for a server at a `url`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The address of a server that runs elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of each request to it; `${env:X}` and `${key:X}` are replaced by values kept
    /// elsewhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Details of the sign-in; most servers publish all of them.
    #[serde(default, skip_serializing_if = "OAuth::is_usual")]
    pub oauth: OAuth,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Further environment variables; `${env:X}` and `${key:X}` are replaced by values kept
    /// elsewhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether it may open network connections.
    #[serde(default)]
    pub network: bool,
    /// Its tools that may be called without a question, by their own names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The time limit of a call.
    #[serde(default = "usual_seconds")]
    pub timeout_seconds: u32,
    /// The memory limit for it and everything that it starts, in MB.
    #[serde(default = "usual_memory")]
    pub memory_mb: u32,
    /// Whether its tools are offered.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// A person's settings for a sign-in at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OAuth {
    /// The registered client id, or the address of a client metadata document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The client secret, kept elsewhere: `${key:X}` or `${env:X}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The only authorisation server that may sign in for it; it may be within the user's network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The port of the redirect address, if a fixed one was registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
}

impl OAuth {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The address of the authorisation server.
    pub(super) fn issuer(&self) -> Option<Url> {
        Url::parse(self.issuer.as_deref()?.trim()).ok()
    }

    fn fault(&self) -> Option<String> {
        if let Some(Err(why)) = self.issuer.as_deref().map(Address::new) {
            return Some(format!("`oauth.issuer` {why}"));
        }
        let is_reference =
            |value: &str| value.starts_with("${") && value.find('}') == Some(value.len() - 1);
        match &self.client_secret {
            Some(_) if self.client_id.is_none() => {
                Some("`oauth.client_secret` takes an `oauth.client_id`".to_owned())
            }
            Some(value) if !is_reference(value) => Some(
                "`oauth.client_secret` contains a secret: write `${key:X}` or `${env:X}` in its place"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

fn usual_seconds() -> u32 {
    60
}

fn usual_memory() -> u32 {
    1_024
}

fn yes() -> bool {
    true
}

impl ServerEntry {
    /// A server with this command, and every other setting at its default.
    pub fn new(command: impl Into<String>, args: Vec<String>) -> Self {
        Self {
            command: command.into(),
            url: None,
            headers: BTreeMap::new(),
            oauth: OAuth::default(),
            args,
            env: BTreeMap::new(),
            network: false,
            allow: Vec::new(),
            timeout_seconds: usual_seconds(),
            memory_mb: usual_memory(),
            enabled: yes(),
        }
    }

    /// A server at this address, and every other setting at its default.
    pub fn remote(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::new("", Vec::new()) }
    }

    /// The program and its arguments, or the address: what a person has allowed.
    pub fn line(&self) -> Vec<String> {
        match &self.url {
            Some(url) => vec![url.clone()],
            None => std::iter::once(&self.command).chain(&self.args).cloned().collect(),
        }
    }

    /// Whether it can send the content of a call off this machine.
    pub fn reaches_out(&self) -> bool {
        self.network || self.url.is_some()
    }

    /// The values of `env` and `headers` that are kept elsewhere.
    pub fn references(&self) -> Vec<Reference<'_>> {
        let values = self.env.values().chain(self.headers.values());
        let values = values.chain(&self.oauth.client_secret);
        let parts = values.flat_map(|value| value.split("${").skip(1));
        let names = parts.filter_map(|part| Some(part.split_once('}')?.0));
        names.filter_map(Reference::read).collect()
    }

    /// The TCP port of its address.
    pub fn port(&self) -> Option<u16> {
        Address::new(self.url.as_ref()?).ok()?.port()
    }

    /// What is wrong with it, for people.
    pub fn fault(&self) -> Option<String> {
        if !(1..=MAX_SECONDS).contains(&self.timeout_seconds) {
            return Some(format!("`timeout_seconds` must be from 1 to {MAX_SECONDS}"));
        }
        if self.memory_mb < MIN_MEMORY {
            return Some(format!("`memory_mb` must be at least {MIN_MEMORY}"));
        }
        match &self.url {
            Some(url) => self.fault_at(url),
            None => self.fault_of_command(),
        }
    }

    fn fault_of_command(&self) -> Option<String> {
        if self.command.is_empty() {
            return Some("it needs a `command` or a `url`".to_owned());
        }
        if !self.headers.is_empty() || !self.oauth.is_usual() {
            return Some("`headers` and `oauth` are for a server at a `url`".to_owned());
        }
        if !Path::new(&self.command).is_absolute() && !self.command.starts_with("~/") {
            let rule = "must be an absolute path, or begin with `~/`: `PATH` is not searched";
            return Some(format!("the program `{}` {rule}", self.command));
        }
        if self.line().iter().chain(self.env.values()).any(|part| part.contains('\0')) {
            return Some("its command or `env` holds a NUL".to_owned());
        }
        let is_wrong = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        let wrong = self.env.keys().find(is_wrong);
        wrong.map(|name| format!("`{name}` is not the name of an environment variable"))
    }

    fn fault_at(&self, url: &str) -> Option<String> {
        if !self.command.is_empty() || !self.args.is_empty() || !self.env.is_empty() || self.network
        {
            return Some(
                "`command`, `args`, `env` and `network` are for programs, not for a `url`"
                    .to_owned(),
            );
        }
        if let Err(why) = Address::new(url) {
            return Some(format!("`url` {why}"));
        }
        if let Some(fault) = self.oauth.fault() {
            return Some(fault);
        }
        for (name, value) in &self.headers {
            let lower = name.to_ascii_lowercase();
            if !is_token(name) {
                return Some(format!("`{}` is not the name of a header", name.escape_debug()));
            }
            if PROTOCOLS.contains(&&*lower) || lower.starts_with("mcp-") {
                return Some(format!("the header `{name}` belongs to the protocol"));
            }
            if value.chars().any(char::is_control) {
                return Some(format!("the header `{name}` holds a control character"));
            }
            if is_secret(name) && !value.contains("${") {
                return Some(format!(
                    "the header `{name}` contains a secret: write `${{key:X}}` or `${{env:X}}` in its place"
                ));
            }
        }
        None
    }
}

/// Whether a variable or a header of this name holds a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // "PAT" is GitHub's word for a token, and a part of "path".
    SECRET.iter().any(|word| name.contains(word))
        || name.split(['_', '-']).any(|part| part == "PAT")
}

/// Whether it is an HTTP token, such as the name of a header.
pub(super) fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(plain)
}

/// Whether a server can have this name. It precedes `__` in the names of tools.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    let is_whole = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(plain) && is_whole
}

/// A valid name as near to `name` as possible; `None` if none of it can be used.
pub fn nearest_name(name: &str) -> Option<String> {
    let mut near = String::new();
    for c in name.to_ascii_lowercase().chars() {
        match c {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() => near.push(c),
            _ if near.is_empty() || near.ends_with(['-', '_']) => {}
            '_' => near.push('_'),
            _ => near.push('-'),
        }
        if near.len() == MAX_NAME {
            break;
        }
    }
    let near = near.trim_matches(['-', '_']).to_owned();
    is_name(&near).then_some(near)
}

fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ServerEntry>, D::Error> {
    let entries = BTreeMap::<String, ServerEntry>::deserialize(deserializer)?;
    for (name, entry) in &entries {
        if !is_name(name) {
            return Err(de::Error::custom(format!(
                "the server's name `{name}` may only hold a-z, 0-9, `-` and single `_`, at most {MAX_NAME}"
            )));
        }
        if let Some(fault) = entry.fault() {
            return Err(de::Error::custom(format!("the server `{name}`: {fault}")));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let entry = |lines: &str| read(&format!("[s]\n{lines}\n"));
        let good = entry(
            "url = \"https://example.com/mcp/\"\nheaders = { Authorization = \"Bearer ${key:s}\", X = \"1\" }",
        );
        let good = good.expect("a good one").entries["s"].clone();
        assert_eq!(
            (good.port(), good.line()),
            (Some(443), vec!["https://example.com/mcp/".to_owned()])
        );
        assert!(good.reaches_out());
        assert!(entry("url = \"http://127.0.0.1:9000/mcp\"").is_ok());
        for (lines, why) in [
            ("", "needs a `command` or a `url`"),
            ("url = \"http://example.com/mcp\"", "not encrypted"),
            ("url = \"https://me:pass@example.com/mcp\"", "contains a user name, a key"),
            ("url = \"ftp://example.com\"", "not a web address"),
            ("url = \"https://example.com\"\ncommand = \"/bin/cat\"", "are for programs"),
            (
                "url = \"https://example.com\"\nheaders = { Host = \"a\" }",
                "belongs to the protocol",
            ),
            (
                "url = \"https://example.com\"\nheaders = { Mcp-Name = \"a\" }",
                "belongs to the protocol",
            ),
            (
                "url = \"https://example.com\"\nheaders = { \"a b\" = \"a\" }",
                "not the name of a header",
            ),
            (
                "url = \"https://example.com\"\nheaders = { X-Api-Key = \"sk-1\" }",
                "contains a secret",
            ),
            ("command = \"/bin/cat\"\nheaders = { X = \"1\" }", "for a server at a `url`"),
            ("command = \"/bin/cat\"\noauth = { client_id = \"a\" }", "for a server at a `url`"),
            (
                "url = \"https://example.com\"\noauth = { issuer = \"http://a.example\" }",
                "not encrypted",
            ),
            (
                "url = \"https://example.com\"\noauth = { client_secret = \"${key:a}\" }",
                "takes an `oauth.client_id`",
            ),
            (
                "url = \"https://example.com\"\noauth = { client_id = \"a\", client_secret = \"sk-1\" }",
                "contains a secret",
            ),
            (
                "url = \"https://example.com\"\noauth = { client_id = \"a\", client_secret = \"${key:a}sk-1\" }",
                "contains a secret",
            ),
        ] {
            let error = entry(lines).expect_err(lines);
            assert!(error.contains(why), "{lines}: {error}");
            assert!(!error.contains("sk-1"), "{error}");
        }
    }
}
