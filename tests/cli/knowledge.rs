//! Search by meaning over the life of a daemon.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::door::Client;
use crate::support::{Daemon, Home};

fn client(home: &Home, vault: &Path, daemon: &Daemon) -> Client {
    let token = home.run_in(vault, &["token"]).expect(0).stdout;
    let port = u16::try_from(daemon.ready["port"].as_u64().unwrap()).unwrap();
    let mut client = Client::connect(port, token.trim_end()).unwrap();
    client.initialize();
    client
}

fn find(home: &Home, vault: &Path) -> Value {
    home.run_in(vault, &["find", "broken vehicle", "--json"]).expect(0).json()
}

/// The line of `steward doctor` about the model of meaning.
fn checked(home: &Home, vault: &Path) -> String {
    let doctor = home.run_in(vault, &["doctor"]).stdout;
    let line = doctor.lines().find(|line| line.contains("  meaning "));
    line.unwrap_or(&doctor).split_whitespace().collect::<Vec<_>>().join(" ").replacen(
        " meaning ",
        " ",
        1,
    )
}

/// Repeats the search until meaning counts in the answer.
fn meant(home: &Home, vault: &Path) -> Value {
    for _ in 0..200 {
        let found = find(home, vault);
        if found["meaning"] == "used" {
            assert_eq!(found["notes"][0]["path"], "Garage.md", "{found}");
            return found;
        }
        assert_eq!(found["meaning"], "not_ready", "{found}");
    }
    panic!("what the notes mean is never read");
}

#[test]
fn meaning_is_saved_and_can_be_switched_off_while_a_daemon_runs() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join("Garage.md"), "The engine of the car does not start.\n").unwrap();
    let mut daemon = home.serve(&vault);
    let status = || home.run_in(&vault, &["status"]).expect(0).stdout;
    assert!(status().contains("\nknowledge read at the first search\n"), "{}", status());
    meant(&home, &vault);
    assert!(status().contains(" chunks by potion-base-8M\n"), "{}", status());
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait(Duration::from_secs(60)), Some(0));
    let saved = home.state().join("meaning/table");
    let whole = std::fs::read(&saved).unwrap();
    // Without a daemon it is used too; a damaged file counts as none.
    let found = find(&home, &vault);
    assert_eq!(
        (&found["meaning"], &found["notes"][0]["path"]),
        (&json!("used"), &json!("Garage.md"))
    );
    std::fs::write(&saved, &whole[..whole.len() / 2]).unwrap();
    let daemon = home.serve(&vault);
    meant(&home, &vault);
    let mut client = client(&home, &vault, &daemon);
    let mut set = |value: &str| {
        client.call("_vault/settings/set", json!({"key": "knowledge.meaning", "value": value}))
    };
    assert_eq!(set("cloud")["error"]["data"]["kind"], "invalid_setting");
    assert_eq!(set("off")["result"]["changed"], json!(["knowledge.meaning"]));
    let found = find(&home, &vault);
    assert_eq!((&found["meaning"], &found["total"]), (&json!("off"), &json!(0)), "{found}");
    assert!(status().contains("; meaning off\n"), "{}", status());
    assert!(!saved.exists());
    assert_eq!(set("built-in")["result"]["changed"], json!(["knowledge.meaning"]));
    meant(&home, &vault);
}

#[test]
fn a_model_is_installed_only_if_it_is_the_right_one() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join("Garage.md"), "The engine of the car does not start.\n").unwrap();
    let from = home.path("files");
    std::fs::create_dir(&from).unwrap();
    std::fs::write(from.join("model.safetensors"), "other weights").unwrap();
    std::fs::write(from.join("vocab.txt"), "words").unwrap();
    let add = |from: &Path, yes: &[&str]| {
        let from = from.to_str().unwrap();
        home.run_in(&vault, &[&["models", "add", "minilm", "--from", from], yes].concat())
    };
    let asked = add(&from, &[]).expect(2).stderr;
    assert!(asked.contains("23 MB") && asked.contains("add `--yes`"), "{asked}");
    let wrong = add(&from, &["--yes"]).expect(1).stderr;
    assert!(wrong.contains("`model.safetensors` has the SHA-256 "), "{wrong}");
    let archive = home.path("model.zip");
    std::fs::write(&archive, "no archive").unwrap();
    let wrong = add(&archive, &["--yes"]).expect(1).stderr;
    assert!(wrong.contains("the archive is damaged"), "{wrong}");
    // A model that is missing or damaged changes no answer, and is reported.
    home.run_in(&vault, &["config", "set", "knowledge.meaning", "minilm"]).expect(0);
    let daemon = home.serve(&vault);
    meant(&home, &vault);
    let status = || home.run_in(&vault, &["status"]).expect(0).stdout;
    assert!(status().contains("all-MiniLM-L6-v2 is not installed"), "{}", status());
    assert_eq!(
        checked(&home, &vault),
        "warn all-MiniLM-L6-v2 is not installed, so the built-in model is used; `steward models add minilm` installs it"
    );
    let models = home.state().with_file_name("models");
    std::fs::create_dir(&models).unwrap();
    std::fs::write(models.join("minilm"), "steward minilm 1\ncut").unwrap();
    meant(&home, &vault);
    assert!(status().contains("all-MiniLM-L6-v2 is damaged"), "{}", status());
    assert_eq!(
        checked(&home, &vault),
        "warn the checksum of all-MiniLM-L6-v2 is wrong, so the built-in model is used; `steward models add minilm` installs it again"
    );
    home.run_in(&vault, &["models", "remove", "minilm"]).expect(0);
    assert!(!models.join("minilm").exists());
    assert!(!status().contains("MiniLM"), "{}", status());
    meant(&home, &vault);
    assert_eq!(
        checked(&home, &vault),
        "ok by the built-in model; `steward models add minilm` installs one that reads sentences"
    );
    drop(daemon);
    home.run_in(&vault, &["config", "set", "knowledge.meaning", "off"]).expect(0);
    assert_eq!(checked(&home, &vault), "ok off; notes are found by their words");
}

/// Needs the model: `STEWARD_MINILM` names an archive with its files (`fixtures/README.md`).
#[test]
fn an_installed_model_reads_the_notes_and_outlives_restarts_and_damage() {
    let Ok(archive) = std::env::var("STEWARD_MINILM") else { return };
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join("Garage.md"), "The engine of the car does not start.\n").unwrap();
    std::fs::write(vault.join("Tea.md"), "Boil water, wait four minutes.\n").unwrap();
    let add = ["models", "add", "minilm", "--from", &archive, "--yes"];
    home.run_in(&vault, &add).expect(0);
    let status = || home.run_in(&vault, &["status"]).expect(0).stdout;
    let until_read = |notes: usize| {
        let wanted = format!("; all-MiniLM-L6-v2 has read all {notes} notes\n");
        for _ in 0..600 {
            meant(&home, &vault);
            if status().contains(&wanted) {
                return;
            }
        }
        panic!("{}", status());
    };
    assert_eq!(
        checked(&home, &vault),
        "ok all-MiniLM-L6-v2 is installed; `steward serve` reads notes with it; its checksum is right"
    );
    let mut daemon = home.serve(&vault);
    let (saved, model) =
        (home.state().join("minilm/table"), home.state().with_file_name("models").join("minilm"));
    until_read(3);
    assert_eq!(
        checked(&home, &vault),
        "ok all-MiniLM-L6-v2 has read all 3 notes; its checksum is right"
    );
    // A changed note is read again, a new one too.
    std::fs::write(vault.join("Tea.md"), "Plant tomatoes after the last frost.\n").unwrap();
    std::fs::write(vault.join("Bees.md"), "Smoke calms them.\n").unwrap();
    until_read(4);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait(Duration::from_secs(60)), Some(0));
    let whole = std::fs::read(&saved).unwrap();
    // It is used without a daemon too.
    assert_eq!(find(&home, &vault)["notes"][0]["path"], "Garage.md");
    for at in [0, 20, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&saved, damaged).unwrap();
        let mut daemon = home.serve(&vault);
        until_read(4);
        daemon.signal(Signal::TERM);
        assert_eq!(daemon.wait(Duration::from_secs(60)), Some(0));
        assert_eq!(std::fs::read(&saved).unwrap().len(), whole.len(), "it is made again");
    }
    let _daemon = home.serve(&vault);
    until_read(4);
    let sound = std::fs::read(&model).unwrap();
    for at in [0, 100, 1_000_000, sound.len() - 1] {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        std::fs::write(&model, damaged).unwrap();
        meant(&home, &vault);
        assert!(status().contains("all-MiniLM-L6-v2 is damaged"), "{at}: {}", status());
    }
    std::fs::remove_file(&model).unwrap();
    meant(&home, &vault);
    assert!(status().contains("all-MiniLM-L6-v2 is not installed"), "{}", status());
    home.run_in(&vault, &add).expect(0);
    until_read(4);
    home.run_in(&vault, &["models", "remove", "minilm"]).expect(0);
    meant(&home, &vault);
    assert!(!model.exists() && !saved.exists() && !status().contains("MiniLM"), "{}", status());
}
