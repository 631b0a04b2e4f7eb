//! `steward service`: what would be installed. Nothing here reaches the real service manager.
#![cfg(target_os = "linux")]

use crate::support::{Home, Run, finish, write_program};

/// Runs `steward service` with a `systemctl` that only records its arguments.
fn service(home: &Home, vault: &str, arguments: &[&str]) -> Run {
    let programs = home.path("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let script = "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/said\"\n";
    write_program(&programs.join("systemctl"), script);
    let line = [&["service"], arguments, &["--vault", vault]].concat();
    let mut command = home.steward(&line);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    finish(command)
}

fn said(home: &Home) -> String {
    std::fs::read_to_string(home.path("programs/said")).unwrap_or_default()
}

#[test]
fn a_dry_run_shows_all_and_does_nothing() {
    let home = Home::new();
    let vault = home.vault("My 50% Notes");
    let run = service(&home, vault.to_str().unwrap(), &["install", "--dry-run"]).expect(0);
    let quoted = vault.to_str().unwrap().replace('%', "%%");
    for line in [
        &format!("serve\" \"--vault\" \"{quoted}\"") as &str,
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "MemoryDenyWriteExecute=yes",
        "RestrictAddressFamilies=",
        "# would run: systemctl --user daemon-reload",
        "# would run: systemctl --user enable --now vault-steward-my-50-notes-",
        "RestartPreventExitStatus=2 3 4",
    ] {
        assert!(run.stdout.contains(line), "{line}: {}", run.stdout);
    }
    assert_eq!(said(&home), "");
    for place in ["home/.config/systemd", "home/.local/share/Trash"] {
        assert!(!home.path(place).exists(), "{place}");
    }
    let run = service(&home, vault.to_str().unwrap(), &["uninstall", "--dry-run"]).expect(0);
    assert!(run.stdout.contains("# would remove ") && said(&home).is_empty(), "{run:?}");
}

#[test]
fn it_is_installed_looked_at_and_removed() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = |arguments: &[&str]| service(&home, vault.to_str().unwrap(), arguments).expect(0);
    assert!(run(&["status"]).stdout.contains("is not installed"));
    assert!(run(&["uninstall"]).stdout.contains("is not installed"));
    assert_eq!(said(&home), "");
    run(&["install"]);
    let unit = home.path("home/.config/systemd/user");
    let unit = std::fs::read_dir(unit).unwrap().next().unwrap().unwrap();
    let name = unit.file_name().into_string().unwrap();
    assert_eq!(said(&home), format!("--user daemon-reload\n--user enable --now {name}\n"));
    // Every path that the service may write exists before it starts.
    let text = std::fs::read_to_string(unit.path()).unwrap();
    for place in text.lines().filter_map(|line| line.strip_prefix("ReadWritePaths=\"-")) {
        let place = place.trim_end_matches('"').replace("%%", "%");
        assert!(std::path::Path::new(&place).exists(), "{place}");
    }
    let status = run(&["status", "--json"]).json();
    assert_eq!((&status["installed"], &status["running"]), (&true.into(), &true.into()));
    assert_eq!(status["current"], true);
    run(&["uninstall"]);
    assert!(!unit.path().exists());
    assert!(said(&home).ends_with(&format!("--user disable --now {name}\n--user daemon-reload\n")));
}

#[test]
fn it_is_restarted_where_it_is_installed() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = |arguments: &[&str]| service(&home, vault.to_str().unwrap(), arguments);
    let none = run(&["restart"]).expect(1);
    assert!(none.stderr.contains("no service runs"), "{none:?}");
    assert!(none.stderr.contains("steward service install"), "{none:?}");
    assert_eq!(said(&home), "");
    run(&["install"]).expect(0);
    let before = said(&home);
    let restarted = run(&["restart"]).expect(0);
    assert_eq!(restarted.stderr, "", "it is this program's");
    let log = said(&home);
    let log = log.strip_prefix(&before).unwrap();
    let (reload, restart) = log.trim_end().split_once('\n').unwrap();
    assert_eq!(reload, "--user daemon-reload");
    assert!(restart.starts_with("--user restart vault-steward-notes-"), "{log}");
    // A daemon that was started by hand is not stopped by the service.
    run(&["uninstall"]).expect(0);
    let daemon = home.serve(&vault);
    let by_hand = run(&["restart"]).expect(1);
    assert!(by_hand.stderr.contains(&format!("pid {}", daemon.pid())), "{by_hand:?}");
}

#[test]
fn uninstalling_all_takes_every_service() {
    let home = Home::new();
    for name in ["Notes", "Work"] {
        let vault = home.vault(name);
        service(&home, vault.to_str().unwrap(), &["install"]).expect(0);
    }
    let units = || std::fs::read_dir(home.path("home/.config/systemd/user")).unwrap().count();
    assert_eq!(units(), 2);
    let mut command = home.steward(&["uninstall", "--yes"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path("programs").display()));
    let done = finish(command).expect(0).stdout;
    assert!(done.contains("the service vault-steward-notes-"), "{done}");
    assert_eq!(units(), 0);
    let log = said(&home);
    assert_eq!(log.matches("--user disable --now vault-steward-").count(), 2, "{log}");
}

#[test]
fn a_second_vault_has_a_port_of_its_own() {
    let home = Home::new();
    let vault = home.vault("Work");
    let run = |arguments: &[&str]| service(&home, vault.to_str().unwrap(), arguments);
    let shown = run(&["install", "--port", "27181", "--dry-run"]).expect(0).stdout;
    assert!(shown.contains(r#" "--port" "27181""#), "{shown}");
    run(&["install", "--port", "27181"]).expect(0);
    let status = run(&["status", "--json"]).expect(0).json();
    assert_eq!((&status["installed"], &status["current"]), (&true.into(), &true.into()));
    run(&["install", "--port", "0"]).expect(2);
    // Another vault's service has the port although its daemon is not running.
    let other = home.vault("Garden");
    let other = |arguments: &[&str]| service(&home, other.to_str().unwrap(), arguments).expect(0);
    let warned = other(&["install", "--port", "27181", "--dry-run"]);
    assert!(warned.stderr.contains("has port 27181 already"), "{warned:?}");
    assert_eq!(other(&["install", "--dry-run"]).stderr, "");
    // Without one the settings decide again.
    run(&["install"]).expect(0);
    assert!(!run(&["install", "--dry-run"]).expect(0).stdout.contains("--port"));
    assert_eq!(run(&["status", "--json"]).expect(0).json()["current"], true);
}

#[test]
fn systemd_understands_the_unit() {
    let test = "systemd_understands_the_unit";
    if !crate::machine::has_program("systemd-analyze", test) {
        return;
    }
    let home = Home::new();
    let vault = home.vault("My 50% \"Notes\" $HOME");
    let shown = service(&home, vault.to_str().unwrap(), &["install", "--dry-run", "--json"]);
    let shown = shown.expect(0).json();
    let file = home.path("elsewhere").join(shown["service"].as_str().unwrap());
    std::fs::write(&file, shown["text"].as_str().unwrap()).unwrap();
    let mut verify = std::process::Command::new("systemd-analyze");
    verify.args(["--user", "verify"]).arg(&file);
    verify.env("XDG_RUNTIME_DIR", home.path("elsewhere")).env("HOME", home.path("home"));
    let run = finish(verify);
    assert!(run.code == 0 && !run.stderr.contains(file.to_str().unwrap()), "{run:?}");
}

#[test]
fn a_unit_lets_programs_generate_code_and_doctor_reports_others() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let vault = vault.to_str().unwrap();
    let line = "MemoryDenyWriteExecute=yes";
    service(&home, vault, &["install"]).expect(0);
    let script = home.path("programs/tidy");
    std::fs::write(&script, "#!/usr/bin/env node\n").unwrap();
    let hook = format!(
        "[hooks.commands.tidy]\non = [\"turn_ended\"]\ncommand = [\"{}\"]\n\
         [agents.guest]\ncommand = [\"no-such-agent\"]\n",
        script.display()
    );
    home.write_config(&hook);
    let node = |version: &str| {
        let programs = home.path("programs");
        write_program(&programs.join("node"), &format!("#!/bin/sh\necho {version}\n"));
        let mut doctor = home.steward(&["doctor", "--vault", vault]);
        doctor.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        finish(doctor).stdout
    };
    let said = node("v16.20.0");
    assert!(said.contains("its unit ends programs that generate code"), "{said}");
    assert!(said.contains("`steward service install` writes the unit again"), "{said}");
    assert!(said.contains("the agent `guest`: there is no program `no-such-agent`"), "{said}");
    assert!(
        said.contains("the hook `tidy` needs Node, and") && said.contains("v16.20.0"),
        "{said}"
    );

    assert_eq!(service(&home, vault, &["status", "--json"]).expect(0).json()["current"], false);
    service(&home, vault, &["install"]).expect(0);
    let shown = service(&home, vault, &["install", "--dry-run"]).expect(0).stdout;
    assert!(!shown.contains(line) && shown.contains("SystemCallArchitectures=native"), "{shown}");
    let said = node("v22.12.0");
    assert!(!said.contains("its unit") && said.contains("Node v22.12.0 for the hook"), "{said}");
    home.write_config("");
    assert!(service(&home, vault, &["install", "--dry-run"]).expect(0).stdout.contains(line));
}
