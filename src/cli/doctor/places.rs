//! Checks of the steward's own files, the running daemon and the port.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checks::Checks;
use crate::cli::status;
use crate::config::folders::{self, Folders};
use crate::config::installed::Installation;
use crate::config::keyring::Keyring;
use crate::config::models::beside_the_chain;
use crate::config::running::Running;
use crate::config::{Config, Environment, vendor_keys};
use crate::daemon::confine;
use crate::index::knowledge::Model;
use crate::index::knowledge::minilm::{self, ModelState};
use crate::llm::endpoint::Address;
use crate::llm::settings::KeyNeed;
use crate::llm::setup;
use crate::protocol::status::{ConfinementState, StatusResult};
use crate::server::private;
use crate::server::token::{Token, TokenError};
use crate::store::is_full;

/// The time limit for a local server to accept a connection.
const LOOK: Duration = Duration::from_millis(500);

/// Checks the state folder and its token; returns the folder if it is usable.
pub(super) fn state(folders: &Folders, root: &Path, checks: &mut Checks) -> Option<PathBuf> {
    let state = match folders.prepare(root) {
        Ok(state) => state,
        Err(error) => {
            checks.fail("state", error.to_string(), error.hint());
            return None;
        }
    };
    match private::check_folder(&state) {
        Ok(()) => checks.ok("state", format!("`{}`, readable only by you", state.display())),
        Err(reason) => checks.fail(
            "state",
            format!("`{}` is not yours alone: {reason}", state.display()),
            "take it into your possession with mode 700",
        ),
    }
    if folders::probe(&state).is_err_and(|error| is_full(&error)) {
        checks.warn("state", "its disk is full, so changes are refused", "free some space");
    }
    match Token::load(&folders::token_file(&state)) {
        Ok(_) => checks.ok("token", "readable only by you"),
        Err(TokenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            checks.ok("token", "none yet; the first `steward serve` makes one");
        }
        Err(error) => checks.fail(
            "token",
            error.to_string(),
            error.hint().unwrap_or_else(|| "`steward token --rotate` makes one".to_owned()),
        ),
    }
    Some(state)
}

/// Says how this program was installed, and so how it is updated.
pub(super) fn program(environment: &Environment, checks: &mut Checks) {
    let Installation { program, by, update, .. } = Installation::of_process(environment);
    let (version, program) = (env!("CARGO_PKG_VERSION"), program.display());
    checks.ok(
        "program",
        format!("`{program}`, version {version}, installed {by}; to update: {update}"),
    );
}

/// Checks the running daemon of the vault, by its status, and the port.
pub(super) fn daemon(
    folders: &Folders,
    root: &Path,
    config: &Config,
    checks: &mut Checks,
) -> Option<StatusResult> {
    let Some((running, state)) = Running::find(folders, root) else {
        checks.ok("daemon", "not running; `steward serve` starts it");
        port(config, None, checks);
        return None;
    };
    port(config, Some(&running), checks);
    match status::ask(&running, &state) {
        Ok(Some(status)) => {
            let (pid, version) = (running.pid, &status.version);
            checks.ok("daemon", format!("pid {pid}, version {version}, answers"));
            if *version != env!("CARGO_PKG_VERSION") {
                checks.warn(
                    "daemon",
                    format!("it is version {version}, this is {}", env!("CARGO_PKG_VERSION")),
                    "`steward service restart`, or end it and run `steward serve` again",
                );
            }
            Some(status)
        }
        Ok(None) => {
            checks.warn(
                "daemon",
                format!(
                    "pid {} should serve port {}, but does not answer",
                    running.pid, running.port
                ),
                "it may be starting or stopping; if not, stop that process and start again",
            );
            None
        }
        Err(failure) => {
            let hint = failure.hint.unwrap_or_else(|| "restart it".to_owned());
            checks.fail("daemon", failure.message, hint);
            None
        }
    }
}

pub(super) fn confinement(config: &Config, served: Option<&StatusResult>, checks: &mut Checks) {
    let confinement = match served {
        Some(status) => status.confinement.clone(),
        None if !config.security.landlock => confine::off(),
        None => confine::possible(),
    };
    let says = status::confined(&confinement);
    match confinement.state {
        ConfinementState::Full | ConfinementState::NotPossible => checks.ok("confined", says),
        ConfinementState::Partial => {
            checks.warn("confined", says, "a newer kernel holds more back; everything works");
        }
        ConfinementState::Off => {
            checks.warn("confined", says, "`steward config set security.landlock true`");
        }
    }
}

/// Checks that the keyring answers, if it is used.
pub(super) fn keyring(config: &Config, environment: &Environment, checks: &mut Checks) {
    if !config.models.keyring {
        return;
    }
    let keyring = Keyring::new(environment, None);
    let names = setup::configured(&config.models);
    // Any name shows whether it answers.
    let name = names.first().map_or("anthropic", String::as_str);
    match keyring.get(name) {
        Ok(Some(_)) => checks.ok("keyring", format!("answers, and has a key of {name}")),
        Ok(None) => checks.ok("keyring", format!("answers, and has no key of {name}")),
        Err(error) => checks.warn("keyring", error.to_string(), error.hint()),
    }
}

/// Checks each configured model: its key exists, and a local server listens. Sends nothing over the
/// network; `steward models` does that.
pub(super) fn models(
    config: &Config,
    environment: &Environment,
    folders: &Folders,
    checks: &mut Checks,
) {
    let mut settings = config.models.clone();
    settings.chain.extend(beside_the_chain(config));
    let settings = &settings;
    for (model, fault) in setup::faults(settings) {
        checks.warn("models", format!("`{model}` is not asked: {fault}"), fault.hint());
    }
    let keyring = settings.keyring.then(|| Keyring::new(environment, None));
    for name in setup::configured(settings) {
        let Ok(known) = setup::provider(settings, &name) else { continue };
        let found = vendor_keys::find_anywhere(&known, environment, folders, keyring.as_ref());
        match found {
            Ok(None) if known.need == KeyNeed::Required => {
                let hint = format!("`steward key set {name}` asks for it and stores it");
                checks.warn("models", format!("`{name}` has no key"), hint);
            }
            Err(error) => checks.warn("models", error.to_string(), error.hint()),
            Ok(_) if known.address.is_local() && !listens(&known.address) => {
                let says = format!("`{name}`: nothing listens at {}", known.address.as_str());
                checks.warn("models", says, "start it; `steward models` says what it offers");
            }
            Ok(_) => {}
        }
    }
}

/// Checks the model that finds notes by their meaning, and says how far it has read them.
pub(super) fn meaning(
    config: &Config,
    folders: &Folders,
    served: Option<&StatusResult>,
    checks: &mut Checks,
) {
    let what = "meaning";
    let add = "`steward models add minilm` installs";
    match config.knowledge.meaning {
        Model::Off => return checks.ok(what, "off; notes are found by their words"),
        Model::BuiltIn => {
            return checks
                .ok(what, format!("by the built-in model; {add} one that reads sentences"));
        }
        Model::Minilm => {}
    }
    let name = minilm::MODEL;
    let instead = "so the built-in model is used";
    match minilm::load(&folders.models()) {
        ModelState::Ready => {
            let knowledge = served.and_then(|status| status.knowledge.as_ref());
            let better = knowledge.and_then(|state| state.better.as_ref());
            let reads = match better {
                Some(better) => status::better(better),
                None => format!("{name} is installed; `steward serve` reads notes with it"),
            };
            checks.ok(what, format!("{reads}; its checksum is right"));
        }
        ModelState::Missing => {
            checks.warn(what, format!("{name} is not installed, {instead}"), format!("{add} it"));
        }
        ModelState::Damaged => checks.warn(
            what,
            format!("the checksum of {name} is wrong, {instead}"),
            format!("{add} it again"),
        ),
    }
}

/// Whether a local server listens at the address.
fn listens(address: &Address) -> bool {
    let port = address.port().unwrap_or_default();
    let homes: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    homes.iter().any(|home| TcpStream::connect_timeout(&(*home, port).into(), LOOK).is_ok())
}

/// Checks the settings file as the daemon reports it.
pub(super) fn settings(served: &StatusResult, checks: &mut Checks) {
    if let Some(problem) = &served.settings.problem {
        let says = format!("the daemon goes on as before: {}", status::settings_problem(problem));
        checks.warn("settings", says, problem.hint.clone().unwrap_or("correct it".to_owned()));
    }
    let waiting = &served.settings.needs_restart;
    if !waiting.is_empty() {
        let says = format!("not in force yet: {}", waiting.join(", "));
        checks.warn("settings", says, "restart the daemon");
    }
}

/// Checks that the port is free, or used by our daemon.
pub(super) fn port(config: &Config, running: Option<&Running>, checks: &mut Checks) {
    let port = config.server.port;
    if let Some(running) = running {
        return checks.ok("port", format!("{}, in use by the daemon of this vault", running.port));
    }
    if port == 0 {
        return checks.ok("port", "any free one");
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => checks.ok("port", format!("{port} on 127.0.0.1 is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => checks.fail(
            "port",
            format!("{port} on 127.0.0.1 is in use by another program"),
            "`steward serve --port 0` takes any free one; `[server] port` names another",
        ),
        Err(error) => checks.fail(
            "port",
            format!("{port} on 127.0.0.1 cannot be used: {error}"),
            "ports below 1024 are for administrators; `[server] port` names another",
        ),
    }
}
