//! `steward service`: runs the daemon of one vault as a user service.

#![expect(clippy::disallowed_methods, reason = "the service's own file, which is never in a vault")]

mod launchd;
mod plan;
mod systemd;
mod tasks;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Subcommand;
use serde_json::json;

use crate::cli::{Failure, Output, Result, Session};
use crate::config::folders::{self, same_folder};
use crate::config::running::Running;
use crate::config::{Environment, installed, outside};
use crate::daemon;
use crate::daemon::confine::Bounds;
pub(super) use plan::Plan;
use plan::Service;
pub(super) use systemd::NO_NEW_CODE;

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
    /// Restart the daemon, for example after an update
    Restart,
}

pub fn run(session: &Session, action: &ServiceAction) -> Result<()> {
    // No notice about the daemon's version here, since it may be about to change.
    let root = session.chosen()?;
    let plan = match *action {
        ServiceAction::Install { port, .. } => plan(session, &root, port)?,
        _ => {
            let usual = plan(session, &root, None)?;
            match port_in(&usual.file) {
                Some(port) => plan(session, &root, Some(port))?,
                None => usual,
            }
        }
    };
    match *action {
        ServiceAction::Install { dry_run: true, port } => {
            warn_of_port(session, &root, &plan, port);
            let done = format!("# {}\n{}", plan.file.display(), plan.text);
            dry_run(&plan, &done, &[&plan.install], &session.output)?;
        }
        ServiceAction::Install { dry_run: false, port } => {
            // Writable folders must exist when the service starts.
            session.folders.prepare(&root)?;
            warn_of_port(session, &root, &plan, port);
            daemon::prepare_places(&root, session.live().path());
            install(&plan, &session.output)?;
        }
        ServiceAction::Uninstall { dry_run: true } => {
            let done = format!("# would remove {}\n", plan.file.display());
            dry_run(&plan, &done, &[&plan.stop, &plan.forget], &session.output)?;
        }
        ServiceAction::Uninstall { dry_run: false } => uninstall(&plan, &session.output)?,
        ServiceAction::Status => status(session, &root, &plan)?,
        ServiceAction::Restart => restart(session, &root, &plan)?,
    }
    Ok(())
}

/// Warns if the daemon or the service of another vault has the port of this one.
fn warn_of_port(session: &Session, root: &Path, plan: &Plan, port: Option<u16>) {
    let usual = session.settings.config.server.port;
    let target_port = port.unwrap_or(usual);
    let daemons = Running::all(&session.folders).into_iter().map(|(running, _)| running);
    let mut daemons = daemons.filter(|one| !same_folder(Path::new(&one.vault), root));
    let daemon = daemons.find(|running| running.port == target_port).map(|running| running.vault);
    let service = || {
        let files = std::fs::read_dir(plan.file.parent()?).ok()?.flatten();
        let mut others = files.map(|file| file.path()).filter(|file| {
            let is_ours = file
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("vault-steward"));
            is_ours && *file != plan.file && file.is_file()
        });
        let other = others.find(|file| port_in(file).unwrap_or(usual) == target_port)?;
        Some(other.file_stem()?.to_string_lossy().into_owned())
    };
    let other = match daemon {
        Some(vault) => format!("the daemon of `{vault}`"),
        None => match service() {
            Some(name) => format!("the service `{name}`"),
            None => return,
        },
    };
    session.output.notice(&format!(
        "{other} has port {target_port} already; give this one its own with `--port N`"
    ));
}

/// The port in an installed service, if one is set.
fn port_in(file: &Path) -> Option<u16> {
    let text = read_definition(file)?;
    let (_, after) = text.split_once("--port")?;
    let digits = after.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The folder in which this system keeps the definitions of services.
fn folder(session: &Session) -> Option<PathBuf> {
    let home = session.environment.home();
    if cfg!(target_os = "linux") {
        units(&session.environment)
    } else if cfg!(target_os = "macos") {
        Some(home?.join("Library/LaunchAgents"))
    } else if cfg!(windows) {
        Some(session.folders.config.join("services"))
    } else {
        None
    }
}

fn plan(session: &Session, root: &Path, port: Option<u16>) -> Result<Plan> {
    let service = service(session, root, port)?;
    let plan = folder(session).map(|folder| {
        if cfg!(target_os = "linux") {
            systemd::plan(&service, &folder)
        } else if cfg!(target_os = "macos") {
            launchd::plan(&service, &folder)
        } else {
            let part = |name| session.environment.get(name).map(|it| it.to_string_lossy());
            let name = part("USERNAME").unwrap_or_default();
            let user = part("USERDOMAIN").map(|domain| format!("{domain}\\{name}"));
            tasks::plan(&service, &folder, &user.unwrap_or_else(|| name.into_owned()))
        }
    });
    plan.ok_or_else(|| {
        Failure::other(
            "not_supported",
            "steward cannot install a user's service on this system",
            "have the system run `steward serve` at log-in by its own means",
        )
    })
}

/// The folder of systemd's user units.
fn units(environment: &Environment) -> Option<PathBuf> {
    let set = environment.absolute("XDG_CONFIG_HOME");
    let folder = set.or_else(|| Some(environment.home()?.join(".config")))?;
    Some(folder.join(systemd::FOLDER))
}

/// The file of the vault's systemd unit, whether or not it is installed; `None` on other systems.
pub(super) fn unit_file(environment: &Environment, root: &Path) -> Option<PathBuf> {
    let name = systemd::name(&folders::vault_id(root));
    cfg!(target_os = "linux").then(|| units(environment))?.map(|folder| folder.join(name))
}

/// The services of all vaults of this user.
pub(super) fn installed(session: &Session) -> Vec<Plan> {
    let Some(folder) = folder(session) else { return Vec::new() };
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        files.filter_map(|file| file.file_name().into_string().ok()).collect();
    names.sort();
    let plans = names.iter().filter(|name| name.starts_with("vault-steward")).filter_map(|name| {
        let text = read_definition(&folder.join(name))?;
        if cfg!(target_os = "linux") {
            name.ends_with(".service").then(|| systemd::named(name, &folder, text))
        } else if cfg!(target_os = "macos") {
            Some(launchd::named(name.strip_suffix(".plist")?, &folder, text))
        } else {
            Some(tasks::named(name.strip_suffix(".xml")?, &folder, text))
        }
    });
    plans.collect()
}

fn service(session: &Session, root: &Path, port: Option<u16>) -> Result<Service> {
    let program = installed::stable_path(&std::env::current_exe()?);
    let live = session.live();
    let state = session.folders.of_vault(root);
    let mut command = vec![program, "serve".into(), "--vault".into(), root.to_path_buf()];
    // A Windows task has no environment variables of its own.
    let by_variable = cfg!(windows) && session.environment.get("STEWARD_CONFIG").is_some();
    if session.flags.config.is_some() || by_variable {
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
        .collect::<Result<_>>()?;
    let name = root.file_name().unwrap_or(root.as_os_str());
    Ok(Service {
        id: folders::vault_id(root),
        vault: name.to_string_lossy().into_owned(),
        command,
        environment,
        bounds: Bounds::new(root, &state, live.path(), &session.folders.config, &config),
        runs_others: !outside::programs(&config).is_empty(),
        log: state.join("service.log"),
    })
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().filter(|path| !path.contains(['\n', '\r']));
    text.map(str::to_owned).ok_or_else(|| {
        let message = format!("`{}` cannot be written into a service's file", path.display());
        Failure::other("not_supported", message, "give the folder a name in UTF-8, on one line")
    })
}

fn dry_run(plan: &Plan, done: &str, commands: &[&Vec<Vec<String>>], output: &Output) -> Result<()> {
    let commands: Vec<&Vec<String>> = commands.iter().flat_map(|commands| *commands).collect();
    let value = json!({
        "service": plan.name, "file": plan.file, "text": plan.text, "commands": commands,
    });
    let commands: String =
        commands.iter().map(|command| format!("# would run: {}\n", command.join(" "))).collect();
    output.answer(&value, format!("{done}{commands}"))
}

fn install(plan: &Plan, output: &Output) -> Result<()> {
    if let Some(folder) = plan.file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write(plan)?;
    for command in &plan.install {
        execute(command)?;
    }
    let text = format!("installed {}, described in {}", plan.name, plan.file.display());
    output.answer(&json!({ "service": plan.name, "file": plan.file }), text)
}

/// Writes the definition; the Task Scheduler reads UTF-16.
fn write(plan: &Plan) -> io::Result<()> {
    match plan.file.extension() {
        Some(kind) if kind == "xml" => {
            let text = format!("\u{feff}{}", plan.text);
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            std::fs::write(&plan.file, bytes)
        }
        _ => std::fs::write(&plan.file, &plan.text),
    }
}

/// Reads a definition that `write` wrote.
fn read_definition(file: &Path) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    match bytes.strip_prefix(&[0xff, 0xfe]) {
        Some(wide) => {
            let pairs = wide.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            String::from_utf16(&pairs.collect::<Vec<_>>()).ok()
        }
        None => String::from_utf8(bytes).ok(),
    }
}

/// Stops a service and removes its file; `false` if it was not installed.
pub(super) fn remove(plan: &Plan, output: &Output) -> Result<bool> {
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
    Ok(there)
}

fn restart(session: &Session, root: &Path, plan: &Plan) -> Result<()> {
    if !plan.file.is_file() {
        let hint = match session.running(root) {
            Some((running, _)) => format!(
                "its daemon was started by hand: end it (pid {}), then run `steward serve` again",
                running.pid
            ),
            None => {
                "`steward service install` installs one; `steward serve` runs the daemon".to_owned()
            }
        };
        let message = format!("no service runs the daemon of `{}`", root.display());
        return Err(Failure::other("not_found", message, hint));
    }
    let program = text(&installed::stable_path(&std::env::current_exe()?))?;
    let is_ours = |text: String| {
        let quoted = program.replace('%', "%%").replace('$', "$$");
        [launchd::xml(&program), quoted].iter().any(|program| text.contains(program.as_str()))
    };
    if !read_definition(&plan.file).is_some_and(is_ours) {
        session.output.notice(&format!(
            "it starts another program, `{program}`; `steward service install` changes that"
        ));
    }
    let (last, before) = plan.restart.split_last().expect("a service can be started");
    for command in before {
        if let Err(failure) = execute(command) {
            session.output.notice(&failure.message);
        }
    }
    execute(last)?;
    session.output.answer(&json!({ "service": plan.name }), format!("restarted {}", plan.name))
}

fn uninstall(plan: &Plan, output: &Output) -> Result<()> {
    let there = remove(plan, output)?;
    let value = json!({ "service": plan.name, "removed": there });
    let text = if there {
        format!("removed {}", plan.name)
    } else {
        format!("{} is not installed", plan.name)
    };
    output.answer(&value, &text)
}

fn status(session: &Session, root: &Path, plan: &Plan) -> Result<()> {
    let installed = plan.file.is_file();
    let as_now = read_definition(&plan.file).is_some_and(|text| text == plan.text);
    let running = installed && execute(&plan.running).is_ok();
    // The Task Scheduler reports in the user's language whether a task runs.
    let running = running && (!cfg!(windows) || session.running(root).is_some());
    let value = json!({
        "service": plan.name, "file": plan.file,
        "installed": installed, "current": as_now, "running": running,
    });
    let mut text = match (installed, running) {
        (false, _) => format!("{} is not installed", plan.name),
        (true, true) => format!("{} is installed and runs", plan.name),
        (true, false) => format!("{} is installed and does not run", plan.name),
    };
    if installed && !as_now {
        text.push_str("; `steward service install` would write it differently now");
    }
    session.output.answer(&value, &text)
}

fn execute(command: &[String]) -> Result<()> {
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
    let error = String::from_utf8_lossy(&done.stderr);
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(failed(format!("failed ({}): {error}", done.status)))
}
