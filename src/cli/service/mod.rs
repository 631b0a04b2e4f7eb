//! `steward service`: runs the daemon of one vault as a user service.

#![expect(clippy::disallowed_methods, reason = "the service's own file, which is never in a vault")]

mod launchd;
mod plan;
mod systemd;

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::Failure;
use super::output::Output;
use super::session::Session;
use crate::config::folders::{self, same_folder};
use crate::config::running::Running;
use crate::daemon;
use crate::daemon::confine::Bounds;
use plan::{Plan, Service};

/// The arguments of `service`.
#[derive(Debug, Args)]
pub struct ServiceArguments {
    /// The action.
    #[command(subcommand)]
    pub action: ServiceAction,
}

/// Actions on the service.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ServiceAction {
    /// Start the daemon now and at every log-in
    Install {
        /// The port on 127.0.0.1: each vault's service needs its own [default: as in the settings]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        port: Option<u16>,
        /// Print what would be written and run, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Stop the daemon and remove the service
    Uninstall {
        /// Print what would be removed and run, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show whether the service is installed and runs
    Status,
}

/// Installs, removes or shows the service of the vault.
///
/// # Errors
/// No vault, a system without user services, or the system's error.
pub fn run(
    session: &Session,
    arguments: &ServiceArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    let plan = match arguments.action {
        ServiceAction::Install { port, .. } => plan(session, &root, port)?,
        _ => {
            let usual = plan(session, &root, None)?;
            match port_in(&usual.file) {
                Some(port) => plan(session, &root, Some(port))?,
                None => usual,
            }
        }
    };
    match arguments.action {
        ServiceAction::Install { dry_run: true, port } => {
            warn_of_port(session, &root, &plan, port, output);
            let done = format!("# {}\n{}", plan.file.display(), plan.text);
            dry_run(&plan, &done, &[&plan.install], output)?;
        }
        ServiceAction::Install { dry_run: false, port } => {
            // Writable folders must exist when the service starts.
            session.folders.prepare(&root)?;
            warn_of_port(session, &root, &plan, port, output);
            daemon::prepare_places(&root, session.live().path());
            install(&plan, output)?;
        }
        ServiceAction::Uninstall { dry_run: true } => {
            let done = format!("# would remove {}\n", plan.file.display());
            dry_run(&plan, &done, &[&plan.stop, &plan.forget], output)?;
        }
        ServiceAction::Uninstall { dry_run: false } => uninstall(&plan, output)?,
        ServiceAction::Status => status(&plan, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Warns if the daemon or the service of another vault has the port of this one.
fn warn_of_port(session: &Session, root: &Path, plan: &Plan, port: Option<u16>, output: &Output) {
    let usual = session.settings.config.server.port;
    let wanted = port.unwrap_or(usual);
    let daemons = Running::all(&session.folders).into_iter().map(|(running, _)| running);
    let mut daemons = daemons.filter(|one| !same_folder(Path::new(&one.vault), root));
    let daemon = daemons.find(|running| running.port == wanted).map(|running| running.vault);
    let service = || {
        let files = std::fs::read_dir(plan.file.parent()?).ok()?.flatten();
        let mut others = files.map(|file| file.path()).filter(|file| {
            let is_ours = file
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("vault-steward"));
            is_ours && *file != plan.file && file.is_file()
        });
        let other = others.find(|file| port_in(file).unwrap_or(usual) == wanted)?;
        Some(other.file_stem()?.to_string_lossy().into_owned())
    };
    let other = match daemon {
        Some(vault) => format!("the daemon of `{vault}`"),
        None => match service() {
            Some(name) => format!("the service `{name}`"),
            None => return,
        },
    };
    output.notice(&format!(
        "{other} has port {wanted} already; give this one its own with `--port N`"
    ));
}

/// The port in an installed service, if one is set.
fn port_in(file: &Path) -> Option<u16> {
    let text = std::fs::read_to_string(file).ok()?;
    let (_, after) = text.split_once("--port")?;
    let digits = after.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn plan(session: &Session, root: &Path, port: Option<u16>) -> Result<Plan, Failure> {
    let service = service(session, root, port)?;
    let folder = |variable: &str, usual: &str| {
        let set = session.environment.absolute(variable);
        set.or_else(|| Some(session.environment.home()?.join(usual)))
    };
    let plan = if cfg!(target_os = "linux") {
        let folder = folder("XDG_CONFIG_HOME", ".config");
        folder.map(|folder| systemd::plan(&service, &folder.join("systemd/user")))
    } else if cfg!(target_os = "macos") {
        let home = session.environment.home();
        home.map(|home| launchd::plan(&service, &home.join("Library/LaunchAgents")))
    } else {
        None
    };
    plan.ok_or_else(|| {
        Failure::other(
            "not_supported",
            "there are no services of a user's own that steward could install here",
            "on Windows let the Task Scheduler run `steward serve` at log-on",
        )
    })
}

fn service(session: &Session, root: &Path, port: Option<u16>) -> Result<Service, Failure> {
    let program = std::env::current_exe()?;
    let live = session.live();
    let state = session.folders.of_vault(root);
    let mut command = vec![program, "serve".into(), "--vault".into(), root.to_path_buf()];
    if session.flags.config.is_some() {
        command.extend(["--config".into(), live.path().to_path_buf()]);
    }
    let mut command = command.iter().map(|part| text(part)).collect::<Result<Vec<_>, _>>()?;
    let mut config = session.settings.config.clone();
    if let Some(port) = port {
        command.extend(["--port".to_owned(), port.to_string()]);
        config.server.port = port;
    }
    let places = ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "STEWARD_CONFIG"];
    let set = |name: &&str| session.environment.get(name).map(|value| ((*name).to_owned(), value));
    let environment = places.iter().filter_map(set);
    let environment = environment
        .map(|(name, value)| Ok((name, text(Path::new(value))?)))
        .collect::<Result<_, Failure>>()?;
    let name = root.file_name().unwrap_or(root.as_os_str());
    Ok(Service {
        id: folders::vault_id(root),
        vault: name.to_string_lossy().into_owned(),
        command,
        environment,
        bounds: Bounds::new(root, &state, live.path(), &session.folders.config, &config),
        log: state.join("service.log"),
    })
}

fn text(path: &Path) -> Result<String, Failure> {
    let said = path.to_str().filter(|path| !path.contains(['\n', '\r']));
    said.map(str::to_owned).ok_or_else(|| {
        let message = format!("`{}` cannot be written into a service's file", path.display());
        Failure::other("not_supported", message, "give the folder a name in UTF-8, on one line")
    })
}

fn dry_run(
    plan: &Plan,
    done: &str,
    commands: &[&Vec<Vec<String>>],
    output: &Output,
) -> Result<(), Failure> {
    let commands: Vec<&Vec<String>> = commands.iter().flat_map(|commands| *commands).collect();
    if output.json() {
        return Ok(output.json_value(&json!({
            "service": plan.name, "file": plan.file, "text": plan.text, "commands": commands,
        }))?);
    }
    let commands: String =
        commands.iter().map(|command| format!("# would run: {}\n", command.join(" "))).collect();
    Ok(output.text(&format!("{done}{commands}"))?)
}

fn install(plan: &Plan, output: &Output) -> Result<(), Failure> {
    if let Some(folder) = plan.file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&plan.file, &plan.text)?;
    for command in &plan.install {
        execute(command)?;
    }
    let text = format!("installed {}, described in {}", plan.name, plan.file.display());
    Ok(output.answer(&json!({ "service": plan.name, "file": plan.file }), text)?)
}

fn uninstall(plan: &Plan, output: &Output) -> Result<(), Failure> {
    let there = plan.file.is_file();
    if there {
        for command in &plan.stop {
            if let Err(failure) = execute(command) {
                output.notice(&failure.message);
            }
        }
        std::fs::remove_file(&plan.file)?;
        for command in &plan.forget {
            execute(command)?;
        }
    }
    if output.json() {
        return Ok(output.json_value(&json!({ "service": plan.name, "removed": there }))?);
    }
    let said = match there {
        true => format!("removed {}", plan.name),
        false => format!("{} is not installed", plan.name),
    };
    Ok(output.text(&said)?)
}

fn status(plan: &Plan, output: &Output) -> Result<(), Failure> {
    let installed = plan.file.is_file();
    let as_now = std::fs::read_to_string(&plan.file).is_ok_and(|text| text == plan.text);
    let running = installed && execute(&plan.running).is_ok();
    if output.json() {
        return Ok(output.json_value(&json!({
            "service": plan.name, "file": plan.file,
            "installed": installed, "current": as_now, "running": running,
        }))?);
    }
    let mut said = match (installed, running) {
        (false, _) => format!("{} is not installed", plan.name),
        (true, true) => format!("{} is installed and runs", plan.name),
        (true, false) => format!("{} is installed and does not run", plan.name),
    };
    if installed && !as_now {
        said.push_str("; `steward service install` would describe it in another way now");
    }
    Ok(output.text(&said)?)
}

fn execute(command: &[String]) -> Result<(), Failure> {
    let spelt = command.join(" ");
    let (program, arguments) = command.split_first().expect("a command has a program");
    let failed = |why: String| {
        let hint = "`--dry-run` shows all that would be done, to do it by hand";
        Failure::other("service", format!("`{spelt}` {why}"), hint)
    };
    let done = Command::new(program).args(arguments).output();
    let done = done.map_err(|error: io::Error| failed(format!("could not be run: {error}")))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(failed(format!("failed ({}): {said}", done.status)))
}
