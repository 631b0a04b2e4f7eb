//! Checks of the steward's own files, the running daemon and the port.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checks::Doctor;
use crate::cli::status;
use crate::config::installed::Installation;
use crate::config::keyring::Keyring;
use crate::config::models::outside_chain;
use crate::config::running::Running;
use crate::config::{folders, vendor_keys};
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
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// Checks the state folder and its token; returns the folder if it is usable.
pub(super) fn state(doctor: &Doctor<'_>, root: &Path) -> Option<PathBuf> {
    let state = match doctor.folders.prepare(root) {
        Ok(state) => state,
        Err(error) => {
            doctor.fail("state", error.to_string(), error.hint());
            return None;
        }
    };
    match private::check_folder(&state) {
        Ok(()) => doctor.ok("state", format!("`{}`, readable only by you", state.display())),
        Err(reason) => doctor.fail(
            "state",
            format!("`{}` is accessible to others: {reason}", state.display()),
            "make it your own, with mode 700",
        ),
    }
    if folders::probe(&state).is_err_and(|error| is_full(&error)) {
        doctor.warn("state", "its disk is full, so changes are refused", "free some space");
    }
    match Token::load(&folders::token_file(&state)) {
        Ok(_) => doctor.ok("token", "readable only by you"),
        Err(TokenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            doctor.ok("token", "none yet; the first `steward serve` makes one");
        }
        Err(error) => doctor.fail(
            "token",
            error.to_string(),
            error.hint().unwrap_or_else(|| "`steward token --rotate` makes one".to_owned()),
        ),
    }
    Some(state)
}

/// Says how this program was installed, and so how it is updated.
pub(super) fn program(doctor: &Doctor<'_>) {
    let Installation { program, by, update, .. } = Installation::of_process(doctor.environment);
    let (version, program) = (env!("CARGO_PKG_VERSION"), program.display());
    doctor.ok(
        "program",
        format!("`{program}`, version {version}, installed {by}; to update: {update}"),
    );
}

/// Checks the running daemon of the vault, by its status, and the port.
pub(super) fn daemon(doctor: &Doctor<'_>, root: &Path) -> Option<StatusResult> {
    let Some((running, state)) = Running::find(doctor.folders, root) else {
        doctor.ok("daemon", "not running; `steward serve` starts it");
        port(doctor, None);
        return None;
    };
    port(doctor, Some(&running));
    match status::ask(&running, &state) {
        Ok(Some(status)) => {
            let (pid, version) = (running.pid, &status.version);
            doctor.ok("daemon", format!("pid {pid}, version {version}, answers"));
            if *version != env!("CARGO_PKG_VERSION") {
                doctor.warn(
                    "daemon",
                    format!("it is version {version}, this is {}", env!("CARGO_PKG_VERSION")),
                    "`steward service restart`, or end it and run `steward serve` again",
                );
            }
            Some(status)
        }
        Ok(None) => {
            doctor.warn(
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
            doctor.fail("daemon", failure.message, hint);
            None
        }
    }
}

pub(super) fn confinement(doctor: &Doctor<'_>, served: Option<&StatusResult>) {
    let confinement = match served {
        Some(status) => status.confinement.clone(),
        None if !doctor.config.security.landlock => confine::off(),
        None => confine::possible(),
    };
    let says = status::confined(&confinement);
    match confinement.state {
        ConfinementState::Full | ConfinementState::NotPossible => doctor.ok("confined", says),
        ConfinementState::Partial => {
            doctor.warn("confined", says, "a newer kernel restricts more; everything works");
        }
        ConfinementState::Off => {
            doctor.warn("confined", says, "`steward config set security.landlock true`");
        }
    }
}

/// Checks that the keyring answers, if it is used.
pub(super) fn keyring(doctor: &Doctor<'_>) {
    if !doctor.config.models.keyring {
        return;
    }
    let keyring = Keyring::new(doctor.environment, None);
    let names = setup::configured(&doctor.config.models);
    // Any name shows whether it answers.
    let name = names.first().map_or("anthropic", String::as_str);
    match keyring.get(name) {
        Ok(Some(_)) => doctor.ok("keyring", format!("answers, and has a key of {name}")),
        Ok(None) => doctor.ok("keyring", format!("answers, and has no key of {name}")),
        Err(error) => doctor.warn("keyring", error.to_string(), error.hint()),
    }
}

/// Checks each configured model: its key exists, and a local server listens. Sends nothing over the
/// network; `steward models` does that.
pub(super) fn models(doctor: &Doctor<'_>) {
    let mut settings = doctor.config.models.clone();
    settings.chain.extend(outside_chain(&doctor.config));
    let settings = &settings;
    for (model, fault) in setup::faults(settings) {
        doctor.warn("models", format!("`{model}` is not used: {fault}"), fault.hint());
    }
    let keyring = settings.keyring.then(|| Keyring::new(doctor.environment, None));
    for name in setup::configured(settings) {
        let Ok(known) = setup::provider(settings, &name) else { continue };
        let found = vendor_keys::find_anywhere(
            &known,
            doctor.environment,
            doctor.folders,
            keyring.as_ref(),
        );
        match found {
            Ok(None) if known.need == KeyNeed::Required => {
                let hint = format!("`steward key set {name}` asks for it and stores it");
                doctor.warn("models", format!("`{name}` has no key"), hint);
            }
            Err(error) => doctor.warn("models", error.to_string(), error.hint()),
            Ok(_) if known.address.is_local() && !listens(&known.address) => {
                let says = format!("`{name}`: nothing listens at {}", known.address.as_str());
                doctor.warn("models", says, "start it; `steward models` says what it offers");
            }
            Ok(_) => {}
        }
    }
}

/// Checks the model that finds notes by their meaning, and says how far it has read them.
pub(super) fn meaning(doctor: &Doctor<'_>, served: Option<&StatusResult>) {
    let what = "meaning";
    let add = "`steward models add minilm` installs";
    match doctor.config.knowledge.meaning {
        Model::Off => return doctor.ok(what, "off; notes are found by their words"),
        Model::BuiltIn => {
            return doctor
                .ok(what, format!("by the built-in model; {add} one that reads sentences"));
        }
        Model::Minilm => {}
    }
    let name = minilm::MODEL;
    let instead = "so the built-in model is used";
    match minilm::load(&doctor.folders.models()) {
        ModelState::Ready => {
            let knowledge = served.and_then(|status| status.knowledge.as_ref());
            let better = knowledge.and_then(|state| state.better.as_ref());
            let reads = match better {
                Some(better) => status::better(better),
                None => format!("{name} is installed; `steward serve` reads notes with it"),
            };
            doctor.ok(what, format!("{reads}; its checksum is right"));
        }
        ModelState::Missing => {
            doctor.warn(what, format!("{name} is not installed, {instead}"), format!("{add} it"));
        }
        ModelState::Damaged => doctor.warn(
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
    homes
        .iter()
        .any(|home| TcpStream::connect_timeout(&(*home, port).into(), CONNECT_TIMEOUT).is_ok())
}

/// Checks the settings file as the daemon reports it.
pub(super) fn settings(doctor: &Doctor<'_>, served: &StatusResult) {
    if let Some(problem) = &served.settings.problem {
        let says = format!(
            "the daemon keeps the previous settings: {}",
            status::settings_problem(problem)
        );
        doctor.warn("settings", says, problem.hint.clone().unwrap_or("correct it".to_owned()));
    }
    let waiting = &served.settings.needs_restart;
    if !waiting.is_empty() {
        let says = format!("not in effect yet: {}", waiting.join(", "));
        doctor.warn("settings", says, "restart the daemon");
    }
}

/// Checks that the port is free, or used by our daemon.
pub(super) fn port(doctor: &Doctor<'_>, running: Option<&Running>) {
    let port = doctor.config.server.port;
    if let Some(running) = running {
        return doctor.ok("port", format!("{}, in use by the daemon of this vault", running.port));
    }
    if port == 0 {
        return doctor.ok("port", "any free one");
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => doctor.ok("port", format!("{port} on 127.0.0.1 is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => doctor.fail(
            "port",
            format!("{port} on 127.0.0.1 is in use by another program"),
            "`steward serve --port 0` takes any free one; `[server] port` names another",
        ),
        Err(error) => doctor.fail(
            "port",
            format!("{port} on 127.0.0.1 cannot be used: {error}"),
            "ports below 1024 are for administrators; `[server] port` names another",
        ),
    }
}
