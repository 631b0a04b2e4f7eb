//! How the program was installed, and how it is updated and removed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Home, Run, finish};

/// The program as a package manager installed it at `path` in this test's home.
fn program_at(home: &Home, path: &str) -> PathBuf {
    let program = home.path(path).with_extension(std::env::consts::EXE_EXTENSION);
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let built = env!("CARGO_BIN_EXE_steward");
    if std::fs::hard_link(built, &program).is_err() {
        // Another process writes it, for the reason that `support::write_program` gives.
        assert!(Command::new("cp").arg(built).arg(&program).status().unwrap().success());
    }
    program
}

fn run_as(home: &Home, program: &Path, arguments: &[&str]) -> Run {
    let plain = home.steward(arguments);
    let mut command = Command::new(program);
    command.args(plain.get_args()).current_dir(home.path("elsewhere")).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    finish(command)
}

#[test]
fn doctor_names_the_way_of_installation_and_its_command() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let vault = vault.to_str().unwrap();
    let marker = |prefix: &str, kind: &str| {
        let folder = home.path(prefix).join("share/vault-steward");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("package"), kind).unwrap();
    };
    marker("usr", "deb\n");
    marker("venv", "pypi\n");
    std::fs::create_dir_all(home.path("home/.cargo")).unwrap();
    let list =
        "[v1]\n\"vault-steward 0.1.0 (registry+https://example.org/index)\" = [\"steward\"]\n";
    std::fs::write(home.path("home/.cargo/.crates.toml"), list).unwrap();
    for (path, kind, command) in [
        ("usr/bin/steward", "deb", "sudo apt install ./FILE.deb"),
        ("venv/bin/steward", "pypi", "pip install --upgrade vault-steward"),
        ("home/.cargo/bin/steward", "cargo", "cargo install --locked vault-steward"),
        ("brew/Cellar/vault-steward/0.1.0/bin/steward", "homebrew", "brew upgrade vault-steward"),
        ("node_modules/vault-steward-linux-x64/steward", "npm", "npm install --global"),
        ("opt/steward/steward", "file", "put the newer program at"),
    ] {
        let program = program_at(&home, path);
        let doctor = run_as(&home, &program, &["doctor", "--vault", vault]).stdout;
        let line = doctor.lines().find(|line| line.contains("  program  ")).unwrap().to_owned();
        assert!(line.starts_with("ok") && line.contains(command), "{line}");
        let update = run_as(&home, &program, &["update", "--json"]).expect(0).json();
        assert_eq!(update["installed"]["kind"], kind, "{update}");
        assert!(update["newest"].is_null() && update["isCurrent"].is_null(), "{update}");
    }
    let own = home.run(&["update"]).expect(0).stdout;
    assert!(own.contains("cargo build") && own.contains("steward service restart"), "{own}");
}

/// Answers each request with the same body; returns its port and the request counter.
fn answering(body: &'static str) -> (u16, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let length = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    (port, count)
}

#[test]
fn a_newer_version_is_asked_for_only_by_update_check() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let none = home.run(&["update", "--check"]).expect(1);
    assert!(none.stderr.contains("has no address"), "{none:?}");
    assert!(none.stderr.contains("[update] url"), "{none:?}");

    let (port, asked) = answering(r#"{"version": "99.1.0"}"#);
    home.write_config(&format!("[update]\nurl = \"http://127.0.0.1:{port}/newest\"\n"));
    let daemon = home.serve(&vault);
    for arguments in
        [&["status"] as &[&str], &["doctor"], &["update"], &["list"], &["service", "status"]]
    {
        home.run_in(&vault, arguments);
    }
    drop(daemon);
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 0, "nobody asked for it");
    let newer = home.run(&["update", "--check"]).expect(0).stdout;
    assert!(
        newer.contains("version 99.1.0 is available") && newer.contains("to update: "),
        "{newer}"
    );
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    let json = home.run(&["update", "--check", "--json"]).expect(0).json();
    assert_eq!((&json["newest"], &json["isCurrent"]), (&"99.1.0".into(), &false.into()));

    // A release as a source hosting service describes it; one older than this; and one that is not
    // a version.
    let (port, _) = answering(r#"{"tag_name": "v0.0.1"}"#);
    home.write_config(&format!("[update]\nurl = \"http://127.0.0.1:{port}\"\n"));
    assert!(home.run(&["update", "--check"]).expect(0).stdout.contains("is the newest"));
    let (port, _) = answering("<html>");
    home.write_config(&format!("[update]\nurl = \"http://127.0.0.1:{port}\"\n"));
    let wrong = home.run(&["update", "--check"]).expect(1);
    assert!(wrong.stderr.contains("is not JSON"), "{wrong:?}");
    home.write_config("[update]\nurl = \"http://example.org/newest\"\n");
    let open = home.run(&["update", "--check"]).expect(1);
    assert!(open.stderr.contains("is not encrypted"), "{open:?}");
}

#[test]
fn an_older_daemon_is_noticed_by_every_command() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let _daemon = home.serve(&vault);
    let record = home.state().join("daemon.json");
    let pretend = |version: &str| {
        let text = std::fs::read_to_string(&record).unwrap();
        let mut running: serde_json::Value = serde_json::from_str(&text).unwrap();
        running["version"] = version.into();
        std::fs::write(&record, running.to_string()).unwrap();
    };
    assert_eq!(home.run_in(&vault, &["status"]).expect(0).stderr, "");
    pretend("0.0.9");
    for arguments in
        [&["status"] as &[&str], &["list"], &["search", "budget"], &["status", "--json"]]
    {
        let run = home.run_in(&vault, arguments).expect(0);
        let notices: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(notices.len(), 1, "{run:?}");
        assert!(
            notices[0].contains("0.0.9, older") && notices[0].contains("steward service restart"),
            "{run:?}"
        );
    }
    pretend("99.0.0");
    let newer = home.run_in(&vault, &["list"]).expect(0);
    assert!(newer.stderr.contains("older than the daemon, 99.0.0"), "{newer:?}");
}

#[test]
fn uninstalling_says_what_stays_and_never_takes_a_vault() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.run_in(&vault, &["new", "Inbox/Shed", "hinges"]).expect(0);
    home.run_in(&vault, &["plugin", "install"]).expect(0);
    home.write_config("[search]\ndeadline_milliseconds = 3000\n");
    let completions = home.path("home/.zfunc/_steward");
    std::fs::create_dir_all(completions.parent().unwrap()).unwrap();
    std::fs::write(&completions, home.run(&["completions", "zsh"]).expect(0).stdout).unwrap();
    let theirs = home.path("home/.config/fish/completions/steward.fish");
    std::fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    std::fs::write(&theirs, "# of another program\n").unwrap();
    let (state, plugin) = (home.state(), vault.join(".obsidian/plugins/vault-steward"));

    let shown = home.run(&["uninstall", "--dry-run"]).expect(0).stdout;
    let (removed, rest) = shown.split_once("Asked about:").unwrap();
    let (asked, stays) = rest.split_once("Stays:").unwrap();
    assert!(removed.contains("_steward") && !removed.contains("steward.fish"), "{shown}");
    assert!(asked.contains("the plugin in ") && stays.contains("your vault"), "{shown}");
    assert!(
        stays.contains("history and conversations") && stays.contains("settings and keys"),
        "{shown}"
    );
    let shown = home.run(&["uninstall", "--plugin", "--dry-run"]).expect(0).stdout;
    let (removed, _) = shown.split_once("Stays:").unwrap();
    assert!(removed.contains("the plugin in ") && !shown.contains("Asked about:"), "{shown}");
    let refused = home.run(&["uninstall"]).expect(2);
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert!(completions.exists());

    let done = home.run(&["uninstall", "--yes"]).expect(0);
    assert!(done.stdout.contains("to remove the program itself: "), "{done:?}");
    assert!(done.stderr.contains("the plugin stays"), "{done:?}");
    assert!(!completions.exists() && theirs.exists() && plugin.exists() && state.exists());
    home.run_in(&vault, &["undo"]).expect(0);

    // A daemon would create the deleted files again.
    let daemon = home.serve(&vault);
    let running = home.run(&["uninstall", "--purge", "--yes"]).expect(1);
    assert!(running.stderr.contains("a daemon still serves"), "{running:?}");
    assert!(state.exists());
    drop(daemon);
    let all = home.run(&["uninstall", "--purge", "--plugin", "--yes", "--json"]).expect(0).json();
    assert_eq!((&all["removed"], &all["purge"]), (&true.into(), &true.into()));
    assert!(!state.exists() && !plugin.exists() && !home.config_file().exists());
    assert!(vault.join("Projects/My Note.md").exists(), "the vault stays");
    let nothing = home.run(&["uninstall", "--dry-run"]).expect(0).stdout;
    assert!(nothing.contains("To remove:\n  nothing"), "{nothing}");
}

#[test]
fn a_vault_in_a_folder_of_the_steward_is_not_deleted_with_it() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.run_in(&vault, &["new", "a", "b"]).expect(0);
    let state = home.state();
    // A vault in the folder where histories are.
    let inside = state.parent().unwrap().join("Notes");
    std::fs::create_dir_all(inside.join(".obsidian")).unwrap();
    home.run_in(&inside, &["new", "a", "b"]).expect(0);
    let refused = home.run(&["uninstall", "--purge", "--yes"]).expect(1);
    assert!(refused.stderr.contains("is a vault inside"), "{refused:?}");
    assert!(inside.join("a.md").exists() && state.exists());
}
