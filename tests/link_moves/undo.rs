//! Random changes in random vaults with many notes of one name, all taken back: every byte is as it
//! was, at each step on the way.

use serde_json::{Value, json};

use super::harness::{TestVault, random_vaults};
use super::random::{FOLDERS, NAMES, generate};
use super::{Random, spread};

/// Vaults, and changes in each.
const VAULTS: u64 = 12;
const CHANGES: usize = 25;

type Snapshot = Vec<(String, Vec<u8>)>;

/// The files of the vault, without its trash.
fn snapshot(vault: &TestVault) -> Snapshot {
    let all = vault.snapshot().into_iter();
    all.filter(|(name, _)| !name.starts_with(".trash")).collect()
}

/// Any change: of a note, of a folder, of a file in the trash.
fn change(random: &mut Random, vault: &TestVault) -> (&'static str, Value) {
    let files: Vec<String> = snapshot(vault).into_iter().map(|(name, _)| name).collect();
    let files: Vec<&String> =
        files.iter().filter(|name| !name.ends_with('/') && !name.starts_with('.')).collect();
    let file = files.get(random.below(files.len())).map_or("none.md", |name| name.as_str());
    let folder = file.rsplit_once('/').map_or("a", |(folder, _)| folder);
    let other = format!("{}{}", random.of(&FOLDERS), random.of(&NAMES));
    match random.below(8) {
        0 | 1 => ("move", json!({"source": file, "destination": other})),
        2 => {
            ("move", json!({"source": folder, "destination": format!("{}f", random.of(&FOLDERS))}))
        }
        3 | 4 => ("delete", json!({"path": file})),
        5 => ("delete", json!({"path": folder})),
        6 => {
            let to = NAMES[random.below(NAMES.len())].trim_end_matches(".md");
            ("write_file", json!({"path": other, "content": format!("[[{to}]] and [[n]]")}))
        }
        _ => {
            let trash = vault.ok("list_trash", json!({}));
            let mut items = trash["items"].as_array().cloned().unwrap_or_default();
            // If its name is taken it is restored under another, which is not tested here.
            items.retain(|item| item["was"].as_str().is_some_and(|was| !vault.exists(was)));
            let item = items.get(random.below(items.len())).map(|item| item["item"].clone());
            ("restore", json!({"item": item.unwrap_or("none".into())}))
        }
    }
}

fn check(seed: u64) -> [u64; 1] {
    let mut random = Random::new(seed);
    let generated = generate(&mut random);
    let borrowed: Vec<(&str, &str)> =
        generated.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let vault = TestVault::new(&borrowed, |_| ());
    vault.let_time_pass();
    let mut done: Vec<(String, u64, Snapshot)> = Vec::new();
    for _ in 0..CHANGES {
        let before = snapshot(&vault);
        let (tool, arguments) = change(&mut random, &vault);
        if let Ok(answer) = vault.call(tool, &arguments)
            && let Some(set) = answer.data["change_set"].as_u64()
        {
            done.push((format!("{tool} {arguments}"), set, before));
        }
    }
    let changes = done.len() as u64;
    for (what, set, before) in done.into_iter().rev() {
        vault.ok("undo", json!({"change_set": set}));
        let after = snapshot(&vault);
        let differ = |one: &Snapshot, other: &Snapshot| -> Vec<(String, String)> {
            let only = one.iter().filter(|file| !other.contains(file));
            only.map(|(name, text)| (name.clone(), String::from_utf8_lossy(text).into_owned()))
                .collect()
        };
        let (was, is) = (differ(&before, &after), differ(&after, &before));
        assert!(was.is_empty() && is.is_empty(), "vault {seed}, {what}: {was:#?} is {is:#?}");
    }
    [changes]
}

#[test]
fn every_undo_restores_every_byte() {
    let vaults = random_vaults(VAULTS);
    let [changes] = spread(vaults, check);
    println!("{changes} changes undone");
    assert!(changes > 8 * vaults, "{changes} changes undone");
}
