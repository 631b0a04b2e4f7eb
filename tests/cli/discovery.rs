//! How the vault is chosen.

use crate::support::{Home, Run, finish};

/// The vault that `vaults --json` would choose, and why.
fn chosen(run: Run) -> String {
    let value = run.expect(0).json();
    let chosen = &value["chosen"];
    if chosen.is_null() {
        return "none".to_owned();
    }
    let path = chosen["path"].as_str().unwrap();
    let name = path.rsplit(['/', '\\']).next().unwrap();
    format!("{name} {}", chosen["because"].as_str().unwrap())
}

#[test]
fn each_way_of_naming_beats_those_below_it() {
    let home = Home::new();
    let [flag, env, file, up, open] =
        ["Flag", "Env", "File", "Up", "Open"].map(|name| home.vault(name));
    let list = ["vaults", "--json"];
    let run = |with_env: bool, arguments: &[&str], folder: &std::path::Path| {
        let mut command = home.steward(arguments);
        command.current_dir(folder);
        if with_env {
            command.env("STEWARD_VAULT", &env);
        }
        chosen(finish(command))
    };
    let elsewhere = home.path("elsewhere");
    let deep = up.join("Projects");
    assert_eq!(run(false, &list, &elsewhere), "none");
    home.write_obsidian_list(&[(&open, true), (&flag, false)]);
    assert_eq!(run(false, &list, &elsewhere), "Open obsidian");
    assert_eq!(run(false, &list, &deep), "Up folder");
    home.write_config(&format!("vault = '{}'\n", file.display()));
    assert_eq!(run(false, &list, &deep), "File config");
    assert_eq!(run(true, &list, &deep), "Env environment");
    let named = ["vaults", "--json", "--vault", flag.to_str().unwrap()];
    assert_eq!(run(true, &named, &deep), "Flag flag");
}

#[test]
fn none_or_several_is_an_error_that_lists_what_there_is() {
    let home = Home::new();
    let run = home.run(&["status"]).expect(4);
    assert!(run.stderr.starts_with("error: no vault found\n"), "{run:?}");
    assert!(
        run.stderr.contains("\nhint: run this inside a vault or pass `--vault PATH`\n"),
        "{run:?}"
    );

    let [one, two] = ["One", "Two"].map(|name| home.vault(name));
    let gone = home.path("vaults/Gone");
    home.write_obsidian_list(&[(&one, true), (&two, true), (&gone, false)]);
    let run = home.run(&["status"]).expect(4);
    assert!(run.stderr.contains("2 vaults are open in Obsidian"), "{run:?}");
    assert!(run.stderr.contains(&format!("{}  (open)", one.display())), "{run:?}");
    assert!(run.stderr.contains(&format!("{}  (missing)", gone.display())), "{run:?}");
    let failed = home.run(&["status", "--json"]).expect(4).json();
    assert_eq!(failed["code"], "no_vault");
    assert_eq!(failed["data"]["vaults"].as_array().unwrap().len(), 3);

    // A known vault that is not open is not chosen; nor is one that is gone.
    home.write_obsidian_list(&[(&one, false)]);
    home.run(&["status"]).expect(4);
    home.write_obsidian_list(&[(&gone, true)]);
    let run = home.run(&["status"]).expect(4);
    assert!(run.stderr.contains("(open, missing)"), "{run:?}");
}

#[test]
fn the_root_and_the_home_folder_are_not_taken_by_chance() {
    let home = Home::new();
    let house = home.path("home");
    std::fs::create_dir_all(house.join(".obsidian")).unwrap();
    std::fs::create_dir_all(house.join("Documents")).unwrap();
    home.run_in(&house.join("Documents"), &["status"]).expect(4);
    home.write_obsidian_list(&[(&house, true)]);
    home.run(&["status"]).expect(4);
    // If it is named explicitly, the user wants the home folder; but our state would be inside it.
    let named = ["vaults", "--json", "--vault", house.to_str().unwrap()];
    assert_eq!(chosen(home.run(&named)), "home flag");

    let run = home.run(&["status", "--vault", if cfg!(windows) { r"C:\" } else { "/" }]).expect(4);
    assert!(run.stderr.contains("is the whole file system"), "{run:?}");
}

#[test]
fn a_named_folder_need_not_be_a_vault_yet_but_must_be_a_folder() {
    let home = Home::new();
    let plain = home.path("vaults/plain");
    std::fs::create_dir_all(&plain).unwrap();
    let run = home.run(&["status", "--vault", plain.to_str().unwrap()]).expect(0);
    assert!(run.stderr.contains("note: ") && run.stderr.contains(".obsidian"), "{run:?}");
    let run = home.run_in(&home.path("vaults"), &["status", "--vault", "plain"]).expect(0);
    assert!(run.stdout.contains("no daemon serves"), "{run:?}");

    std::fs::write(home.path("vaults/file"), "").unwrap();
    for (path, reason) in [("vaults/file", "is not a folder"), ("vaults/gone", "does not exist")] {
        let run = home.run(&["status", "--vault", home.path(path).to_str().unwrap()]).expect(4);
        assert!(run.stderr.contains(reason), "{run:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn every_place_of_obsidians_list_is_read_and_broken_ones_stop_nothing() {
    let home = Home::new();
    let [flatpak, snap] = ["Flatpak", "Snap"].map(|name| home.vault(name));
    let place = |below: &str| home.path("home").join(below);
    home.write_list_in(
        &place(".var/app/md.obsidian.Obsidian/config/obsidian"),
        &[(&flatpak, true)],
    );
    home.write_list_in(&place("snap/obsidian/current/.config/obsidian"), &[(&snap, false)]);
    for broken in ["", "{", "[1]", "{\"vaults\": 3}", "\u{feff}{\"vaults\":{}}"] {
        std::fs::create_dir_all(place(".config/obsidian")).unwrap();
        std::fs::write(place(".config/obsidian/obsidian.json"), broken).unwrap();
        let run = home.run(&["vaults", "--json"]).expect(0);
        assert_eq!(run.json()["vaults"].as_array().unwrap().len(), 2, "{broken:?}");
        assert_eq!(chosen(run), "Flatpak obsidian");
    }
}

#[test]
fn a_state_folder_inside_the_vault_is_refused() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let inside = vault.join("state");
    let mut command = home.steward(&["token", "--vault", vault.to_str().unwrap()]);
    for name in ["XDG_STATE_HOME", "LOCALAPPDATA", "HOME"] {
        command.env(name, &inside);
    }
    let run = finish(command).expect(2);
    assert!(run.stderr.contains("lies inside the vault"), "{run:?}");
    assert!(!inside.exists(), "nothing was made in the vault");
}

#[test]
fn a_vault_is_named_by_its_name() {
    let home = Home::new();
    let [garden, other] = ["Garden", "Work log"].map(|name| home.vault(name));
    home.write_obsidian_list(&[(&garden, false)]);
    let chosen = |arguments: &[&str]| {
        let run = home.run(&[&["vaults", "--json", "--vault"], arguments].concat()).expect(0);
        run.json()["chosen"]["path"].as_str().map(std::path::PathBuf::from)
    };
    assert_eq!(chosen(&["garden"]), Some(garden.clone()));
    assert_eq!(chosen(&["work log"]), None, "nobody knows it yet");
    drop(home.serve(&other));
    assert_eq!(chosen(&["work log"]), Some(other.clone()), "it was served");
    // The possible names are listed, by the command and when a name is wrong.
    let listed = home.run(&["vaults"]).expect(0).stdout;
    assert!(listed.contains("Garden") && listed.contains("Work log"), "{listed}");
    let gone = home.run(&["status", "--vault", "gardn"]).expect(4);
    assert!(gone.stderr.contains("`gardn`") && gone.stderr.contains("Garden"), "{gone:?}");
    assert!(gone.stderr.contains("Work log"), "{gone:?}");
    // Two vaults with one name are distinguished only by their paths.
    let second = home.path("elsewhere/deeper/Garden");
    std::fs::create_dir_all(second.join(".obsidian")).unwrap();
    home.write_obsidian_list(&[(&garden, false), (&second, true)]);
    let both = home.run(&["status", "--vault", "garden"]).expect(4);
    assert!(both.stderr.starts_with("error: 2 vaults are called `garden`"), "{both:?}");
    // If a folder exists at the path, that is what is meant.
    let here = home.path("elsewhere/garden");
    std::fs::create_dir_all(&here).unwrap();
    if !cfg!(any(windows, target_os = "macos")) {
        assert_eq!(chosen(&["garden"]), Some(here));
    }
}

#[test]
fn more_than_a_vault_is_not_served_unasked() {
    let home = Home::new();
    if cfg!(unix) {
        let run = home.run(&["serve", "--port", "0", "--vault", "/etc"]).expect(4);
        assert!(run.stderr.starts_with("error: `/etc` is not a vault"), "{run:?}");
        assert!(run.stderr.contains("--yes"), "{run:?}");
    }
    // Any other folder is served: a service cannot ask anyone.
    let plain = home.path("vaults/plain");
    std::fs::create_dir_all(&plain).unwrap();
    drop(home.serve(&plain));
}

#[test]
fn all_daemons_are_listed() {
    let home = Home::new();
    let none = home.run(&["status", "--all"]).expect(0);
    assert_eq!(none.stdout, "no daemon runs; `steward serve` starts one\n");
    let [one, two] = ["One", "Two"].map(|name| home.vault(name));
    let (first, _second) = (home.serve(&one), home.serve(&two));
    let all = home.run(&["status", "--all"]).expect(0).stdout;
    assert!(all.contains(&one.display().to_string()), "{all}");
    assert!(all.contains(&two.display().to_string()), "{all}");
    let all = home.run(&["status", "--all", "--json"]).expect(0).json();
    let daemons = all["daemons"].as_array().unwrap();
    assert_eq!(daemons.len(), 2);
    assert!(daemons.iter().any(|one| one["port"] == first.ready["port"]), "{all}");
    let vaults = home.run(&["vaults"]).expect(0).stdout;
    assert_eq!(vaults.matches("served by pid").count(), 2, "{vaults}");
    let vaults = home.run(&["vaults", "--json"]).expect(0).json();
    let ports = vaults["vaults"].as_array().unwrap().iter().map(|it| &it["daemon"]["port"]);
    assert_eq!(ports.filter(|port| port.is_u64()).count(), 2, "{vaults}");
}
