//! A systemd user unit.
//!
//! It repeats the daemon's own confinement, for kernels without Landlock and as a second layer.
//! systemd mounts each writable folder separately, and files cannot be renamed across mounts. So if
//! the vault and the desktop's trash are on one disk, their nearest common folder is writable, and
//! Landlock restricts the rest.

use std::path::{Path, PathBuf};

use super::plan::{Plan, Service, words};

/// The line of a unit that forbids memory that is both written and executed. V8 aborts under it.
pub const NO_NEW_CODE: &str = "MemoryDenyWriteExecute=yes";

/// The folder for units, below the user's folder for settings.
pub const FOLDER: &str = "systemd/user";

/// The name of a vault's unit, by the vault's id.
pub fn name(id: &str) -> String {
    format!("vault-steward-{id}.service")
}

pub(super) fn plan(service: &Service, folder: &Path) -> Plan {
    named(&name(&service.id), folder, unit(service))
}

pub(super) fn named(name: &str, folder: &Path, text: String) -> Plan {
    let control = |arguments: &[&str]| words(&[&["systemctl", "--user"], arguments].concat());
    Plan {
        file: folder.join(name),
        text,
        install: vec![control(&["daemon-reload"]), control(&["enable", "--now", name])],
        restart: vec![control(&["daemon-reload"]), control(&["restart", name])],
        stop: vec![control(&["disable", "--now", name])],
        forget: vec![control(&["daemon-reload"])],
        running: control(&["is-active", "--quiet", name]),
        name: name.to_owned(),
    }
}

fn unit(service: &Service) -> String {
    let command: Vec<String> =
        service.command.iter().map(|part| quote_for_systemd(part, true)).collect();
    let environment: String = service
        .environment
        .iter()
        .map(|(name, value)| {
            format!("Environment={}\n", quote_for_systemd(&format!("{name}={value}"), false))
        })
        .collect();
    let writable: String = writable(&service.bounds.writable)
        .iter()
        .map(|place| {
            let place = quote_for_systemd(&place.to_string_lossy(), false);
            // The `-` lets the unit start if the folder is missing.
            format!("ReadWritePaths={}\n", place.replacen('"', "\"-", 1))
        })
        .collect();
    let vault = service.vault.replace('%', "%%");
    let code = if service.runs_others { String::new() } else { format!("{NO_NEW_CODE}\n") };
    format!(
        "\
# Written by `steward service install`; `steward service uninstall` removes it.
[Unit]
Description=Vault Steward for {vault}

[Service]
Type=exec
ExecStart={}
{environment}# Wrong settings, a vault that is served already or is not there: trying again will not mend it.
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 3 4
TimeoutStopSec=15

# What the daemon does not need, it cannot do.
NoNewPrivileges=yes
ProtectSystem=strict
{writable}PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
{code}SystemCallArchitectures=native

[Install]
WantedBy=default.target
",
        command.join(" ")
    )
}

/// The writable folders: those of the bounds; if the vault and the trash are on one disk, their nearest
/// common folder instead of the two.
fn writable(bounds: &[PathBuf]) -> Vec<PathBuf> {
    let (Some(vault), trash) = (bounds.first(), bounds.iter().find(|it| it.ends_with("Trash")))
    else {
        return Vec::new();
    };
    let above = trash.and_then(|trash| {
        trash.ancestors().find(|above| vault.starts_with(above)).filter(|it| it.parent().is_some())
    });
    let mut places: Vec<PathBuf> = above.map(Path::to_path_buf).into_iter().collect();
    for place in bounds.iter().filter(|place| !place.starts_with("/dev")) {
        if !places.iter().any(|known| place.starts_with(known)) {
            places.push(place.clone());
        }
    }
    places
}

/// A word quoted for systemd: escaped, with `%` doubled, and in commands `$` doubled.
fn quote_for_systemd(word: &str, command: bool) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '%' => text.push_str("%%"),
            '$' if command => text.push_str("$$"),
            '\t' => text.push_str("\\t"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_their_quotes() {
        assert_eq!(
            quote_for_systemd("/a b/50% \"x\" $HOME\\", true),
            r#""/a b/50%% \"x\" $$HOME\\""#
        );
        assert_eq!(quote_for_systemd("A=$B", false), "\"A=$B\"");
    }

    #[test]
    fn vault_and_trash_stay_on_one_mount_and_the_whole_system_is_never_writable() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let state = "/home/me/.local/state/vault-steward/x";
        let trash = "/home/me/.local/share/Trash";
        let bounds = paths(&["/home/me/Notes", state, "/etc/steward", trash, "/dev/null"]);
        assert_eq!(writable(&bounds), paths(&["/home/me", "/etc/steward"]));
        let bounds = paths(&["/data/Notes", state, trash]);
        assert_eq!(writable(&bounds), bounds);
        assert_eq!(writable(&paths(&["/data/Notes", state])), paths(&["/data/Notes", state]));
    }
}
