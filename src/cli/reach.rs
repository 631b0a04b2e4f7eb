//! Calls a tool through the running daemon or, without one, in this process. The answer is the
//! same.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::client::{self, Client, ClientError};
use super::consent;
use super::failure::Failure;
use super::progress::Progress;
use super::server_questions::OnTerminal;
use super::session::Session;
use crate::calls::{Outcome, Request};
use crate::config::folders;
use crate::config::running::Running;
use crate::daemon::{self, tool_servers};
use crate::policy::{Caller, Scope};
use crate::protocol::MethodParams;
use crate::protocol::tools::{CallMeta, CallVaultMeta, Content, ToolsCallParams};
use crate::server::token::Token;
use crate::servers::Servers;
use crate::tools::{Answer, Context, Registry, Tier};
use crate::vault::Cancel;

/// How long a change in this process waits for another process's change.
const PATIENCE: Duration = Duration::from_secs(5);

/// How to call a tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Way {
    /// In this process, even if a daemon is running.
    pub direct: bool,
    /// A person has approved the call.
    pub confirmed: bool,
    /// Only report what the call would do.
    pub dry_run: bool,
}

impl Way {
    /// The default way; `confirmed` if a person has approved.
    pub fn agreed(confirmed: bool) -> Self {
        Self { confirmed, ..Self::default() }
    }
}

/// Calls the existing tool `name`.
pub fn call(
    session: &Session,
    root: &Path,
    name: &str,
    arguments: Map<String, Value>,
    way: Way,
) -> Result<Answer<Value>, Failure> {
    let (mut way, mut agreed) = (way, None);
    let answered = loop {
        match call_once(session, root, name, arguments.clone(), way, agreed) {
            Err(failure) if consent::can_ask(&failure) => {
                if !consent::ask(&failure)? {
                    return Err(Failure::other("denied", "nothing was done", ""));
                }
                // Applies exactly the changes shown; if they differ by now, the person is asked
                // again.
                way.confirmed = true;
                agreed = failure.identity();
            }
            answered => break answered,
        }
    };
    match answered {
        // The hint is for programs, which approve by an argument.
        Err(failure) if failure.code == "approval_needed" => {
            let hint = "`--yes` agrees beforehand; on a terminal you are shown it and asked";
            Err(Failure { hint: Some(hint.to_owned()), ..failure })
        }
        answered => answered,
    }
}

fn call_once(
    session: &Session,
    root: &Path,
    name: &str,
    arguments: Map<String, Value>,
    way: Way,
    agreed: Option<String>,
) -> Result<Answer<Value>, Failure> {
    if let Some((running, state)) = session.running(root).filter(|_| !way.direct)
        && let Some(answer) =
            through_daemon(&running, &state, name, &arguments, way, agreed.clone())?
    {
        return Ok(answer);
    }
    directly(session, root, name, arguments, way, agreed)
}

/// Sends the running daemon a request other than a tool call; `None` without a daemon.
pub fn ask<P: MethodParams>(
    session: &Session,
    root: &Path,
    params: &P,
) -> Result<Option<P::Result>, Failure> {
    ask_within(session, root, params, false)
}

/// Like [`ask`], without a time limit.
pub fn ask_for_long<P: MethodParams>(
    session: &Session,
    root: &Path,
    params: &P,
) -> Result<Option<P::Result>, Failure> {
    ask_within(session, root, params, true)
}

fn ask_within<P: MethodParams>(
    session: &Session,
    root: &Path,
    params: &P,
    is_long: bool,
) -> Result<Option<P::Result>, Failure> {
    match session.running(root) {
        Some((running, state)) => ask_running(&running, &state, params, is_long),
        None => Ok(None),
    }
}

/// Runs `work` on the vault in this process; holds the vault's lock if `changes` is set.
pub fn here<T>(
    session: &Session,
    root: &Path,
    changes: bool,
    work: impl FnOnce(&Context) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = session.config()?;
    let state = session.folders.prepare(root)?;
    // Reading needs no lock; two writers would each rely on a catalogue that the other changes.
    let lock = match changes {
        false => None,
        true => Some(daemon::lock(&session.folders, root, &state, PATIENCE)?),
    };
    let progress = Progress::new();
    let context = daemon::open(root, &state, config, &|n| progress.seen(n))?;
    drop(progress);
    context.vault.protect(&session.folders.settings_and_keys(&session.settings.file));
    if lock.is_some() {
        daemon::recover(&context)?;
    }
    let done = work(&context);
    // Background work of a change finishes before the lock is released.
    context.vault.stop();
    done
}

fn through_daemon(
    running: &Running,
    state: &Path,
    name: &str,
    arguments: &Map<String, Value>,
    way: Way,
    agreed: Option<String>,
) -> Result<Option<Answer<Value>>, Failure> {
    let ours = CallVaultMeta {
        confirmed: way.confirmed,
        agreed,
        dry_run: way.dry_run,
        ..CallVaultMeta::default()
    };
    let vault = (ours != CallVaultMeta::default()).then_some(ours);
    let params = ToolsCallParams {
        name: name.to_owned(),
        arguments: arguments.clone(),
        meta: vault.map(|vault| CallMeta { vault: Some(vault) }),
    };
    let Some(answer) = ask_running(running, state, &params, false)? else { return Ok(None) };
    if answer.is_error {
        return Err(Failure::of_tool(answer.structured_content));
    }
    let text = answer.content.into_iter().map(|Content::Text { text }| text);
    Ok(Some(Answer::new(text.collect::<Vec<_>>().join("\n"), answer.structured_content)))
}

/// One request to the daemon, on a connection of its own; `None` if it has ended, and another process may have its id.
pub(super) fn ask_running<P: MethodParams>(
    running: &Running,
    state: &Path,
    params: &P,
    is_long: bool,
) -> Result<Option<P::Result>, Failure> {
    let token = Token::load_or_create(&folders::token_file(state))?;
    let answer = client::runtime()?.block_on(async {
        let mut client = Client::connect(running, &token).await?;
        let answer = match is_long {
            true => client.call_for_long(params).await,
            false => client.call(params).await,
        };
        client.close().await;
        answer
    });
    match answer {
        Err(ClientError::NobodyThere { .. }) => Ok(None),
        answer => Ok(Some(answer?)),
    }
}

fn directly(
    session: &Session,
    root: &Path,
    name: &str,
    arguments: Map<String, Value>,
    way: Way,
    agreed: Option<String>,
) -> Result<Answer<Value>, Failure> {
    let changes = Registry::built_in().get(name).is_some_and(|tool| tool.tier != Tier::Safe);
    here(session, root, changes, |context| {
        let state = session.folders.prepare(root)?;
        let calls = daemon::calls(context.clone(), &state, session.config()?);
        if Registry::built_in().get(name).is_none() {
            let servers = servers(session, root)?;
            servers.set_ask(Arc::new(OnTerminal { is_agreed: way.confirmed }));
            tool_servers::offer(&servers, &calls);
        }
        let request = Request {
            tool: name.to_owned(),
            arguments: Value::Object(arguments.clone()),
            caller: Caller { scope: Scope::Person, name: client::name() },
            confirmed: way.confirmed,
            agreed: agreed.clone(),
            dry_run: way.dry_run,
            ..Request::default()
        };
        match calls.call(request, &Cancel::default()) {
            Outcome::Answered(answer) => Ok(answer?.read()),
            Outcome::Ask(_) => unreachable!("a person is never asked through others"),
        }
    })
}

/// The servers of the vault's settings, in this process.
pub fn servers(session: &Session, root: &Path) -> Result<Servers, Failure> {
    let state = session.folders.prepare(root)?;
    let (folders, environment) = (&session.folders, &session.environment);
    Ok(tool_servers::servers(root, &state, folders, environment, session.config()?))
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        let (code, hint) = match error {
            ClientError::NobodyThere { .. } => {
                ("not_running", "start it with `steward serve`".to_owned())
            }
            ClientError::Refused { status: 401, .. } => {
                ("refused", "it has another token; restart it, or use `--direct`".to_owned())
            }
            ClientError::Refused { .. } => ("refused", "`steward doctor` may say more".to_owned()),
            ClientError::NotTheDaemon { .. } => (
                "not_the_daemon",
                "nothing was sent to it; stop what uses the port, or use `--direct`".to_owned(),
            ),
            ClientError::Answer(error) => {
                let code = serde_json::to_value(error.data.kind).ok();
                let code = code.as_ref().and_then(Value::as_str).unwrap_or("internal").to_owned();
                let hint = error.data.hint;
                return Self { hint, ..Self::other(&code, message, "") };
            }
            ClientError::Broken(_) => (
                "connection_broken",
                "a change may still have been made; look before trying again".to_owned(),
            ),
        };
        Self::other(code, message, hint)
    }
}
