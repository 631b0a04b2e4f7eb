//! `steward servers`: the MCP servers whose tools the agent may call.

#![expect(clippy::disallowed_methods, reason = "logs of servers, in the state folder")]

mod import;
mod login;
mod secrets;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::maintenance::agreed;
use super::{key, policy};
use crate::cli::{Failure, Result, Session};
use crate::config::foreign::{ForeignFile, Language};
use crate::config::{change, file};
use crate::daemon::tool_servers;
use crate::hooks::program_path::find;
use crate::llm::key::Key;
use crate::note::path::visible_lines;
use crate::servers::oauth::SignedIn;
use crate::servers::offer::{Described, Offer, offers, shown};
use crate::servers::pin::{Differences, Pin};
use crate::servers::settings::{ServerEntry, is_name};
use crate::servers::{Fault, Servers};

/// Bytes at the end of a log that are shown.
const SHOWN_LOG: usize = 64 << 10;

const SECTION: &str = "servers";

#[derive(Debug, Args)]
pub struct ServersArguments {
    #[command(subcommand)]
    pub action: ServersAction,
}

#[derive(Debug, Subcommand)]
pub enum ServersAction {
    /// List the servers in the settings
    List,
    /// Start or reach a server, and show its tools and what is new about them
    Show {
        /// The server
        name: String,
    },
    /// Show a server's tools, and offer them to the agent as they are now
    Allow {
        /// The server
        name: String,
        /// Skip confirmation prompts
        #[arg(long)]
        yes: bool,
    },
    /// Add a server to the settings
    Add {
        /// Its name, which stands before the names of its tools
        name: String,
        /// An environment variable for it: NAME=VALUE
        #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
        env: Vec<String>,
        /// Let it open network connections
        #[arg(long, conflicts_with = "url")]
        network: bool,
        /// The address of a server that runs elsewhere
        #[arg(long)]
        url: Option<String>,
        /// A header of each request to it; a secret goes into a key file
        #[arg(long, value_name = "NAME: VALUE", requires = "url")]
        header: Vec<String>,
        /// Read a key from a prompt or from stdin, to be sent as `Authorization: Bearer`
        #[arg(long, requires = "url")]
        key: bool,
        /// As what the steward was registered at its authorisation server, or the address of a document about it
        #[arg(long, value_name = "ID", requires = "url")]
        client_id: Option<String>,
        /// Read the secret of that registration from a prompt or from stdin
        #[arg(long, requires = "client_id", conflicts_with = "key")]
        client_secret: bool,
        /// The program and its arguments
        #[arg(
            last = true,
            required_unless_present = "url",
            conflicts_with = "url",
            value_name = "COMMAND"
        )]
        command: Vec<String>,
    },
    /// Sign in at a server in the browser
    Login {
        /// The server
        name: String,
        /// Print the address and open no browser
        #[arg(long)]
        no_browser: bool,
        /// Wait this long for the browser to come back
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        timeout: u32,
    },
    /// Sign out of a server, and forget its tokens
    Logout {
        /// The server
        name: String,
    },
    /// Add the servers of another program's settings file
    Import {
        /// The file: of Claude, Cursor, VS Code, Zed or Codex
        file: PathBuf,
        /// Let them open network connections
        #[arg(long)]
        network: bool,
    },
    /// Remove a server from the settings, and what was allowed
    Remove {
        /// The server
        name: String,
    },
    /// Print what a server wrote to its standard error
    Log {
        /// The server
        name: String,
    },
}

pub fn run(session: &Session, arguments: &ServersArguments) -> Result<ExitCode> {
    match &arguments.action {
        ServersAction::List => list(session)?,
        ServersAction::Show { name } => show(session, name)?,
        ServersAction::Allow { name, yes } => allow(session, name, *yes)?,
        ServersAction::Add { name, env, network, url: None, command, .. } => {
            let mut entry = entry(session, command)?;
            entry.network = *network;
            entry.env = env.iter().map(|one| variable(one)).collect::<Result<_, _>>()?;
            add_server(session, name, entry, &[])?;
        }
        ServersAction::Add {
            name, url: Some(url), header, key, client_id, client_secret, ..
        } => {
            let mut entry = ServerEntry::remote(url);
            entry.oauth.client_id = client_id.clone();
            entry.headers = header.iter().map(|one| header_of(one)).collect::<Result<_, _>>()?;
            let mut keys = secrets::extract(name, &mut entry);
            if *key {
                keys.push(secrets::bearer(name, &mut entry, key::read(name)?));
            }
            if *client_secret {
                keys.push(secrets::of_client(name, &mut entry, key::read(name)?));
            }
            add_server(session, name, entry, &keys)?;
        }
        ServersAction::Login { name, no_browser, timeout } => {
            let servers = session.servers()?;
            let opens = !no_browser && !session.output.json() && std::io::stderr().is_terminal();
            let signed_in =
                login::run(&servers, name, opens, u64::from(*timeout), &session.output)?;
            let mut text = login::words(&signed_in);
            if Pin::load(servers.place(), name).is_none() {
                text.push_str(&format!("\n{}", next_step(name)));
            }
            session.output.answer(&login::value(Some(&signed_in)), text)?;
        }
        ServersAction::Logout { name } => {
            let was_signed_in = session.servers()?.logout(name)?;
            let text = if was_signed_in {
                format!("signed out of `{name}`; its tokens are gone")
            } else {
                format!("nobody was signed in at `{name}`")
            };
            session
                .output
                .answer(&json!({ "server": name, "wasSignedIn": was_signed_in }), text)?;
        }
        ServersAction::Import { file, network } => import::run(session, file, *network)?,
        ServersAction::Remove { name } => remove(session, name)?,
        ServersAction::Log { name } => {
            let servers = session.servers()?;
            if configured(&servers, name)?.url.is_some() {
                return Err(Failure::other(
                    "not_found",
                    format!("the server `{name}` runs elsewhere and has no log here"),
                    "`steward audit` shows its calls, with the reasons of failures",
                ));
            }
            let log = std::fs::read(servers.log(name)).unwrap_or_default();
            let end = &log[log.len().saturating_sub(SHOWN_LOG)..];
            let text = String::from_utf8_lossy(end).into_owned();
            session.output.answer(&json!({ "server": name, "log": text }), &text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn configured(servers: &Servers, name: &str) -> Result<ServerEntry> {
    let entry = servers.settings().entries.get(name).cloned();
    Ok(entry.ok_or_else(|| Fault::Unknown(name.to_owned()))?)
}

fn list(session: &Session) -> Result<()> {
    let servers = session.servers()?;
    let mut rows = vec![["SERVER", "TOOLS", "COMMAND OR ADDRESS"].map(str::to_owned).to_vec()];
    let mut values = Vec::new();
    for (name, entry) in &servers.settings().entries {
        let pin = Pin::load(servers.place(), name);
        let allowed = pin.as_ref().filter(|pin| pin.is_of(entry)).map_or(0, |pin| pin.tools.len());
        let state = match &pin {
            _ if !entry.enabled => "switched off".to_owned(),
            None => format!("none allowed: run `steward servers allow {name}`"),
            Some(pin) if !pin.is_of(entry) => {
                format!("another command or address: run `steward servers allow {name}`")
            }
            Some(_) => format!("{allowed} allowed"),
        };
        let line = entry.line().join(" ");
        values.push(json!({
            "name": name, "enabled": entry.enabled, "allowed": allowed, "command": entry.line(),
            "url": entry.url, "network": entry.network, "withoutAsking": entry.allow,
            "state": state,
        }));
        rows.push(vec![name.clone(), state, line]);
    }
    let text = if values.is_empty() {
        "there are no servers; `steward servers add` adds one".to_owned()
    } else {
        session.output.table(&rows)
    };
    session.output.answer(&json!({ "servers": values }), text)
}

/// The current state of a server, and its differences from the allowed one.
struct ServerReview {
    entry: ServerEntry,
    signed_in: Option<SignedIn>,
    tools: Vec<Described>,
    offers: Vec<(Described, Offer)>,
    left_out: Vec<String>,
    pin: Option<Pin>,
    differences: Option<Differences>,
}

fn review_of(servers: &Servers, name: &str) -> Result<ServerReview> {
    let entry = configured(servers, name)?;
    let tools = servers.list(name)?;
    let signed_in = servers.signed_in(name)?;
    let (offers, left_out) = offers(name, &tools);
    let pin = Pin::load(servers.place(), name);
    let differences = pin.as_ref().map(|pin| pin.differences(&entry, &tools));
    Ok(ServerReview { entry, signed_in, tools, offers, left_out, pin, differences })
}

fn show(session: &Session, name: &str) -> Result<()> {
    let servers = session.servers()?;
    let review = review_of(&servers, name)?;
    let (value, mut text) = (review.value(), review.text());
    if review.pin.is_none() || review.differences.as_ref().is_some_and(|it| !it.is_none()) {
        text.push_str(&format!("\n`steward servers allow {name}` offers them as they are now"));
    }
    session.output.answer(&value, text)
}

fn allow(session: &Session, name: &str, yes: bool) -> Result<()> {
    let servers = session.servers()?;
    let review = review_of(&servers, name)?;
    if !session.output.json() {
        session.output.text(&review.text())?;
    }
    if !agreed(yes, &|| format!("offer these tools of `{name}` to the agent?"))? {
        session.output.notice("nothing was changed");
        return Ok(());
    }
    // A permanent approval is valid only for the tool as it was approved.
    policy::revoke_tools(session, &review.changed_tools(name))?;
    Pin::new(&review.entry, &review.tools).store(servers.place(), name)?;
    let text = format!(
        "the agent has them from its next turn on, and asks before each call; name a tool under `allow` in \
         `[servers.{name}]` to let it call that one without asking"
    );
    session.output.answer(&review.value(), text)
}

impl ServerReview {
    /// The allowed tools that are others now, by the names under which they are offered.
    fn changed_tools(&self, server: &str) -> Vec<String> {
        let Some(pin) = &self.pin else { return Vec::new() };
        let is_same = |name: &String| {
            let is_another = self.differences.as_ref().is_some_and(|it| it.is_another);
            let now = self.offers.iter().find(|(_, offer)| offer.name == *name);
            let is_as_before = |tool: &Described| {
                pin.tools.get(&tool.name).is_some_and(|before| before.sha256 == tool.sha256)
            };
            !is_another && now.is_some_and(|(tool, _)| is_as_before(tool))
        };
        pin.offered(server).into_iter().filter(|name| !is_same(name)).collect()
    }

    fn value(&self) -> Value {
        let tools = self.offers.iter().map(|(tool, offer)| {
            json!({
                "name": offer.name, "own": tool.name, "title": offer.title,
                "description": offer.description, "inputSchema": offer.schema, "sha256": tool.sha256,
            })
        });
        let differences = self.differences.as_ref().map(|it| {
            json!({
                "isAnother": it.is_another, "added": it.added, "changed": it.changed, "gone": it.gone,
            })
        });
        json!({
            "command": self.entry.line(), "url": self.entry.url, "network": self.entry.network,
            "confined": tool_servers::is_possible() && self.entry.url.is_none(), "tools": tools.collect::<Vec<_>>(),
            "leftOut": self.left_out, "allowed": self.pin.is_some(), "differences": differences,
            "signedIn": login::value(self.signed_in.as_ref()),
        })
    }

    fn text(&self) -> String {
        let what = if self.entry.url.is_some() { "address" } else { "command" };
        let mut lines = vec![format!("{what}: {}", shown(&self.entry.line().join(" ")))];
        lines.push(match (tool_servers::is_possible(), self.entry.network) {
            _ if self.entry.url.is_some() => {
                "elsewhere: nothing of it runs here; the content of a call leaves this machine"
                    .to_owned()
            }
            (true, false) => {
                "confined: no vault, no TCP connections, writes in its own folder".to_owned()
            }
            (true, true) => {
                "confined: no vault, writes in its own folder; may open connections".to_owned()
            }
            (false, _) => {
                "not confined: this system cannot; it can read and write whatever you can"
                    .to_owned()
            }
        });
        lines.extend(self.signed_in.as_ref().map(login::words));
        for (tool, offer) in &self.offers {
            lines.push(format!("\n{}  {}", offer.name, offer.title));
            let text = visible_lines(&offer.description);
            lines.extend(text.lines().map(|line| format!("    {line}")));
            let arguments =
                offer.schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
            let arguments: Vec<String> = arguments.map(|name| shown(name)).collect();
            if !arguments.is_empty() {
                lines.push(format!("    arguments: {}", arguments.join(", ")));
            }
            if let Some(news) = self.news(tool) {
                lines.push(news);
            }
        }
        lines.push(String::new());
        lines.extend(self.left_out.iter().map(|why| format!("left out: {why}")));
        match &self.differences {
            None => lines.push("nobody has allowed these tools yet".to_owned()),
            Some(it) if it.is_none() => lines.push("all as you allowed them".to_owned()),
            Some(it) => {
                if it.is_another {
                    lines.push(
                        "the command, the program or the address differs from the one that you allowed"
                            .to_owned(),
                    );
                }
                lines.extend(it.gone.iter().map(|name| format!("gone: {}", shown(name))));
            }
        }
        lines.join("\n")
    }

    /// How a tool differs from the allowed one.
    fn news(&self, tool: &Described) -> Option<String> {
        let pin = self.pin.as_ref()?;
        let Some(before) = pin.tools.get(&tool.name) else {
            return Some("    NEW: withheld until you allow it".to_owned());
        };
        if before.sha256 == tool.sha256 {
            return None;
        }
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
        let (old, new) = (pretty(&before.tool), pretty(&tool.tool));
        let diff = crate::note::diff::unified(old.as_bytes(), new.as_bytes(), "tool");
        let lines = diff.lines().skip(2).map(|line| format!("    {}", visible_lines(line)));
        Some(format!(
            "    CHANGED: withheld until you allow it\n{}",
            lines.collect::<Vec<_>>().join("\n")
        ))
    }
}

fn remove(session: &Session, name: &str) -> Result<()> {
    let servers = session.servers()?;
    configured(&servers, name)?;
    let was_signed_in = servers.logout(name)?;
    let path = &session.settings.file;
    let removed = change::set(path, &format!("{SECTION}.{name}"), &Value::Null);
    if removed.is_err() {
        // Its own section.
        let file = ForeignFile::read(path, Language::Toml)?;
        file.save(&file.without(SECTION, name)?)?;
    }
    let pin = Pin::load(servers.place(), name);
    let tools: Vec<String> = pin.iter().flat_map(|pin| pin.offered(name)).collect();
    policy::revoke_tools(session, &tools)?;
    let was_allowed = Pin::remove(servers.place(), name);
    let _ = std::fs::remove_file(servers.log(name));
    let own = servers.place().join(name);
    let text = if own.is_dir() {
        format!("removed `{name}`; what it wrote stays in {}", own.display())
    } else {
        format!("removed `{name}`")
    };
    let value = json!({ "removed": name, "wasAllowed": was_allowed, "wasSignedIn": was_signed_in });
    session.output.answer(&value, text)
}

/// Adds one server, its keys first: an entry without its key would not work.
fn add_server(
    session: &Session,
    name: &str,
    entry: ServerEntry,
    keys: &[(String, Key)],
) -> Result<()> {
    let added = BTreeMap::from([(name.to_owned(), entry)]);
    checked(session, &added)?;
    let mut lines = secrets::store(session, keys)?;
    add(session, &added)?;
    lines.insert(0, format!("added `{name}` to {}", settings(session)));
    lines.extend(added.iter().map(|(name, entry)| next_for(name, entry)));
    let keys: Vec<&String> = keys.iter().map(|(key, _)| key).collect();
    session.output.answer(&json!({ "added": [name], "keys": keys }), lines.join("\n"))
}

/// Refuses names that cannot be, or are taken.
fn checked(session: &Session, entries: &BTreeMap<String, ServerEntry>) -> Result<()> {
    for name in entries.keys() {
        if !is_name(name) {
            let message = format!("a server cannot be called `{name}`");
            return Err(Failure::usage(message, "use a-z, 0-9, `-` and single `_`"));
        }
        if session.config()?.servers.entries.contains_key(name) {
            return Err(Failure::other(
                "already_exists",
                format!("there is a server `{name}` already"),
                format!("remove it first: `steward servers remove {name}`"),
            ));
        }
    }
    Ok(())
}

/// Writes entries into the settings file.
fn add(session: &Session, entries: &BTreeMap<String, ServerEntry>) -> Result<()> {
    let path = &session.settings.file;
    checked(session, entries)?;
    for (name, entry) in entries {
        let mut value = serde_json::to_value(entry).unwrap_or_default();
        let defaults = serde_json::to_value(ServerEntry::new("", Vec::new())).unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            members.retain(|key, value| key == "command" || defaults.get(key) != Some(value));
        }
        let file = ForeignFile::read(path, Language::Toml)?;
        let text = file.with(SECTION, name, &value)?;
        file::parse(text.as_bytes(), path)?;
        file.save(&text)?;
    }
    Ok(())
}

/// The entry of a command, with the full path of its program.
fn entry(session: &Session, command: &[String]) -> Result<ServerEntry> {
    let (program, args) = command.split_first().ok_or_else(|| {
        let hint = "give it after `--`: `steward servers add NAME -- COMMAND`";
        Failure::usage("there is no command", hint)
    })?;
    let found = program_at(session, program).ok_or_else(|| {
        let message = format!("there is no program `{program}`");
        Failure::other("not_found", message, "give its whole path")
    })?;
    Ok(ServerEntry::new(found, args.to_vec()))
}

/// The full path of a program: as given, or where the shell finds it.
fn program_at(session: &Session, program: &str) -> Option<String> {
    let path = Path::new(program);
    if path.is_absolute() || program.starts_with("~/") {
        return Some(program.to_owned());
    }
    let text = |path: PathBuf| Some(path.to_str()?.to_owned());
    if path.components().count() > 1 {
        let here = session.environment.working_folder()?.join(path);
        return text(here).filter(|here| Path::new(here).is_file());
    }
    text(find(program, session.environment.get("PATH")?)?)
}

fn variable(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format!("`{text}` is not NAME=VALUE"), "as in `--env TOKEN=x`")),
    }
}

fn header_of(text: &str) -> Result<(String, String)> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(Failure::usage(
            format!("`{}` is not NAME: VALUE", shown(text)),
            "as in `--header 'X-Region: eu'`",
        )),
    }
}

fn settings(session: &Session) -> String {
    session.settings.file.display().to_string()
}

/// Programs that download what they run.
const DOWNLOADERS: [&str; 4] = ["npx", "uvx", "pipx", "bunx"];

fn next_step(name: &str) -> String {
    format!("`steward servers allow {name}` shows its tools and offers them to the agent")
}

/// [`next_step`] for an added server, after the steps needed before it can start.
fn next_for(name: &str, entry: &ServerEntry) -> String {
    let program = Path::new(&entry.command).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if DOWNLOADERS.contains(&program) && !entry.network {
        format!(
            "`{program}` downloads what it runs: set `network = true` in `[servers.{name}]`, or install the program; \
             then {}",
            next_step(name)
        )
    } else {
        next_step(name)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::SignIn { .. } => "sign_in_needed",
            _ => "server_failed",
        };
        Self::other(code, fault.to_string(), fault.hint())
    }
}
