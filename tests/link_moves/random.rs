//! Random vaults: few names in few folders, so that they collide, and every way of writing a link.
//! Links are found by plain search, since the texts here contain no code.

use std::collections::BTreeMap;

use serde_json::json;

use super::checker::{Names, Seen, balanced, decode};
use super::harness::{TestVault, random_vaults, renames_case};
use super::{Random, spread};

/// Vaults, and moves in each.
const VAULTS: u64 = 50;
const MOVES: usize = 50;

/// Moves in each that are undone after someone has edited the notes.
const UNDONE: usize = 15;

pub(super) const FOLDERS: [&str; 6] = ["", "a/", "a/b/", "b/", "A c/", "b/a/"];
pub(super) const NAMES: [&str; 12] = [
    "Note.md",
    "n.md",
    "N2.md",
    "v1.2.md",
    "大根.md",
    "It's (a).md",
    "p.png",
    "n.png",
    "100%.md",
    "İl ẞŉǰ.md",
    "ΣΑΣ Ꭰꭰ.md",
    "ſᲀ ϴ.md",
];

/// The links of a text, and the text without their paths and display texts.
fn scan(name: &str, text: &str) -> (Vec<Seen>, String) {
    let (mut links, mut rest) = (Vec::new(), String::new());
    let mut at = 0;
    while at < text.len() {
        let here = &text[at..];
        if name.to_lowercase().ends_with(".canvas")
            && let Some(value) = here.strip_prefix("\"file\":\"")
        {
            let end = value.find('"').expect("it closes");
            links.push(Seen { path: value[..end].to_owned(), whole: true });
            rest.push_str("\"file\":");
            at += 8 + end;
        } else if let Some(inside) = here.strip_prefix("[[") {
            let end = inside.find("]]").expect("it closes");
            let path_end = inside[..end].find(['#', '|', '\\']).unwrap_or(end);
            // In single quotes of YAML.
            let path = inside[..path_end].replace("''", "'");
            links.push(Seen { path, whole: false });
            rest.push_str("[[");
            rest.push_str(inside[path_end..end].split('|').next().unwrap_or_default());
            at += 2 + end;
        } else if let Some(inside) = here.strip_prefix("](") {
            let (inside, angle) = match inside.strip_prefix('<') {
                Some(inside) => (inside, true),
                None => (inside, false),
            };
            let close = if angle { inside.find('>') } else { balanced(inside) };
            let end = close.expect("it closes");
            let path = inside[..end].split('#').next().unwrap_or_default();
            links.push(Seen { path: decode(path), whole: false });
            rest.push_str(if angle { "](<" } else { "](" });
            rest.push_str(inside[..end].split_once('#').map_or("", |(_, sub)| sub));
            at += 2 + usize::from(angle) + end;
        } else {
            let c = here.chars().next().expect("not the end");
            rest.push(c);
            at += c.len_utf8();
        }
    }
    (links, rest)
}

/// The vault's files with their texts; folders left out.
fn files(vault: &TestVault) -> BTreeMap<String, String> {
    let all = vault.snapshot().into_iter();
    let seen = all.filter(|(name, _)| !name.ends_with('/') && !name.starts_with('.'));
    seen.map(|(name, bytes)| (name, String::from_utf8(bytes).expect("text"))).collect()
}

fn link(random: &mut Random, targets: &[String]) -> String {
    let target = &targets[random.below(targets.len())];
    let bare = target.strip_suffix(".md").unwrap_or(target);
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let path = match random.below(6) {
        0 => bare.to_owned(),
        1 => target.clone(),
        2 => format!("../{}", name(bare)),
        3 => format!("./{}", name(bare)),
        _ => name(bare),
    };
    let encoded = path.replace('%', "%25").replace(' ', "%20");
    match random.below(8) {
        0 => format!("![[{path}#h]]"),
        1 => format!("[[{path}|shown]]"),
        2 => format!("[t]({encoded}#sub)"),
        3 => format!("![i](<{}>)", path.replace('%', "%25")),
        4 => "[[nothing like it]] [[#here]]".to_owned(),
        5 => format!("\n\n|a|b|\n|-|-|\n|[[{path}\\|x]]|y|\n\n"),
        _ => format!("[[{path}]]"),
    }
}

pub(super) fn generate(random: &mut Random) -> Vec<(String, String)> {
    let mut paths: Vec<String> = Vec::new();
    for _ in 0..14 {
        let path = format!("{}{}", random.of(&FOLDERS), random.of(&NAMES));
        if !paths.iter().any(|known| known.to_lowercase() == path.to_lowercase()) {
            paths.push(path);
        }
    }
    let mut files = Vec::new();
    for path in &paths {
        let mut text = String::new();
        if path.ends_with(".md") {
            if random.below(3) == 0 {
                let up = paths[random.below(paths.len())].replace('\'', "''");
                text = match random.below(3) {
                    0 => format!("---\nup: '[[{up}]]' # kept\n---\n"),
                    1 => {
                        format!("---\nup:\n- to: '[[{up}]]'\n  see: {{by: ['[[{up}|x]]']}}\n---\n")
                    }
                    _ => format!("---\nup:\n  to:\n    - - '[[{up}]]' # kept\n---\n"),
                };
            }
            for _ in 0..random.below(7) {
                text += &link(random, &paths);
                text += random.of(&[" ", "\r\n", " and ü "]);
            }
        }
        files.push((path.clone(), text));
    }
    let node = |path: &String| format!("{{\"type\":\"file\",\"file\":\"{path}\"}}");
    let card = link(random, &paths).replace('\\', "").replace('\n', " ");
    let canvas = format!(
        "{{ \"nodes\":[{},{{\"type\":\"text\",\"text\":\"{card}\"}}] }}",
        node(&paths[random.below(paths.len())])
    );
    files.push(("b/m.canvas".to_owned(), canvas));
    files
}

/// Moves in one vault; returns their number, the links rewritten for them, and the links checked.
fn check(seed: u64) -> [u64; 3] {
    let [mut moved, mut rewritten, mut checked] = [0; 3];
    let mut random = Random::new(seed);
    let generated = generate(&mut random);
    let borrowed: Vec<(&str, &str)> =
        generated.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let format = random.of(&["shortest", "relative", "absolute"]);
    let vault = TestVault::new(&borrowed, |place| {
        let app = format!(r#"{{"trashOption":"local","newLinkFormat":"{format}"}}"#);
        std::fs::write(place.join(".obsidian/app.json"), app).expect("written");
    });
    let mut before = files(&vault);
    let renames_case = renames_case();
    for step in 0..MOVES {
        let paths: Vec<&String> = before.keys().collect();
        let file = paths[random.below(paths.len())].clone();
        let folder = file.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let name = file.rsplit('/').next().unwrap_or_default().to_owned();
        let (from, to) = match (random.below(6), folder) {
            (0, Some(folder)) => (folder, format!("{}f{}", random.of(&FOLDERS), random.below(4))),
            (1, Some(folder)) => (folder.clone(), folder.to_uppercase()),
            (2, _) => {
                (file.clone(), file.replace(&name, &name.to_uppercase().replace(".MD", ".md")))
            }
            (3, _) => {
                let (_, extension) = name.rsplit_once('.').expect("every name has one");
                let stem = random.of(&["Note", "new one", "v1", "n", "x 'y' (z", "50%"]);
                (file.clone(), format!("{}{stem}.{extension}", random.of(&FOLDERS)))
            }
            _ => (file.clone(), format!("{}{name}", random.of(&FOLDERS))),
        };
        if !renames_case && from.to_lowercase() == to.to_lowercase() {
            continue;
        }
        let Ok(answer) = vault.call("move", &json!({"source": from, "destination": to})) else {
            continue;
        };
        let what = format!("vault {seed}, step {step}, {format}: `{from}` to `{to}`");
        assert_eq!(answer.data["links"]["total_not_rewritten"], 0, "{what}");
        moved += 1;
        rewritten += answer.data["links"]["links"].as_u64().unwrap_or(0);
        let to = answer.data["destination"].as_str().expect("a path").to_owned();
        let at = |path: &str| match path.strip_prefix(&*from) {
            Some("") => to.clone(),
            Some(below) if below.starts_with('/') => format!("{to}{below}"),
            _ => path.to_owned(),
        };
        let after = files(&vault);
        let (old, new) = (Names::new(before.keys()), Names::new(after.keys()));
        for (path, text) in &before {
            let now = &after[&at(path)];
            let ((links, rest), (links_now, rest_now)) = (scan(path, text), scan(path, now));
            assert_eq!(rest, rest_now, "{what}: only links change in `{path}`");
            assert_eq!(links.len(), links_now.len(), "{what}: `{path}`");
            for (link, link_now) in links.iter().zip(&links_now) {
                checked += 1;
                match old.resolve(path, link) {
                    None => assert_eq!(link, link_now, "{what}: `{path}` leads nowhere"),
                    Some(target) => assert_eq!(
                        new.resolve(&at(path), link_now),
                        Some(at(&target)),
                        "{what}: {link:?}, now {link_now:?}, in `{path}`"
                    ),
                }
            }
        }
        before = after;
    }
    [moved, rewritten, checked]
}

/// Inserts a line into some notes, or some words into an existing line, half of them with a link.
fn write(random: &mut Random, vault: &TestVault, files: &BTreeMap<String, String>, mark: &str) {
    // A bare destination cannot contain an unclosed parenthesis.
    let targets: Vec<String> = files.keys().filter(|path| !path.contains("(z")).cloned().collect();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".md")) {
        if random.below(2) == 0 {
            continue;
        }
        let own = match random.below(2) {
            0 => format!("{mark} {}", link(random, &targets)),
            _ => mark.to_owned(),
        };
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let end = lines.iter().skip(1).position(|line| line == "---\n").map_or(0, |end| end + 2);
        let body = if text.starts_with("---\n") { end } else { 0 };
        let at = body + random.below(lines.len() + 1 - body);
        // A table continues until a blank line, and links in its cells have another syntax.
        let paragraph = lines[..at].iter().rev().take_while(|line| !line.trim().is_empty());
        let line = lines.get(at).map_or("", String::as_str);
        if paragraph.chain([&line.to_owned()]).any(|line| line.starts_with('|')) {
            continue;
        }
        match lines.get_mut(at) {
            // After the line's words.
            Some(line) if random.below(3) == 0 => {
                let end = line.trim_end_matches(['\r', '\n']).len();
                line.insert_str(end, &format!(" {own}"));
            }
            _ => {
                let before = if at > 0 && !lines[at - 1].ends_with('\n') { "\n" } else { "" };
                lines.insert(at, format!("{before}{own}\n"));
            }
        }
        vault.put(path, &lines.concat());
    }
}

/// Moves in one vault that are undone after its notes were edited; returns their number, the links
/// checked, and the edited texts.
fn undo(seed: u64) -> [u64; 3] {
    let [mut undone, mut checked, mut kept] = [0; 3];
    let mut random = Random::new(seed.wrapping_add(1_000));
    let generated = generate(&mut random);
    let borrowed: Vec<(&str, &str)> =
        generated.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let format = random.of(&["shortest", "relative", "absolute"]);
    let vault = TestVault::new(&borrowed, |place| {
        let app = format!(r#"{{"trashOption":"local","newLinkFormat":"{format}"}}"#);
        std::fs::write(place.join(".obsidian/app.json"), app).expect("written");
    });
    for step in 0..UNDONE {
        let before = files(&vault);
        let paths: Vec<&String> = before.keys().collect();
        let file = paths[random.below(paths.len())].clone();
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
        let (from, to) = match random.below(3) {
            0 if !folder.is_empty() => {
                (folder.to_owned(), format!("{}f{}", random.of(&FOLDERS), random.below(4)))
            }
            1 => {
                let (_, extension) = name.rsplit_once('.').expect("every name has one");
                let stem = random.of(&["Note", "new one", "v1", "n", "x 'y' (z", "50%"]);
                (file.clone(), format!("{}{stem}.{extension}", random.of(&FOLDERS)))
            }
            _ => (file.clone(), format!("{}{name}", random.of(&FOLDERS))),
        };
        if from == to {
            continue;
        }
        let Ok(answer) = vault.call("move", &json!({"source": from, "destination": to})) else {
            continue;
        };
        let what = format!("vault {seed}, step {step}, {format}: `{from}` to `{to}`");
        let to = answer.data["destination"].as_str().expect("a path").to_owned();
        let mark = format!("written{step}");
        write(&mut random, &vault, &files(&vault), &mark);
        vault.context.vault.rescan().expect("scanned");
        let written = files(&vault);
        let set = answer.data["change_set"].clone();
        let answer = vault
            .call("undo", &json!({"change_set": set}))
            .unwrap_or_else(|error| panic!("{what}: {}\n{written:#?}", error.text()));
        assert_eq!(answer.data["links"]["total_not_rewritten"], 0, "{what}");
        undone += 1;
        let at = |path: &str| match path.strip_prefix(&*to) {
            Some("") => from.clone(),
            Some(below) if below.starts_with('/') => format!("{from}{below}"),
            _ => path.to_owned(),
        };
        let after = files(&vault);
        let (old, new) = (Names::new(written.keys()), Names::new(after.keys()));
        for (path, text) in &written {
            let now = &after[&at(path)];
            kept += u64::from(text.contains(&mark));
            let ((links, rest), (links_now, rest_now)) = (scan(path, text), scan(path, now));
            assert_eq!(rest, rest_now, "{what}: only links change in `{path}`");
            assert_eq!(links.len(), links_now.len(), "{what}: `{path}`");
            // A link that was broken before the move is broken again, even if its name was taken in
            // the meantime.
            let (first, _) = scan(&at(path), &before[&at(path)]);
            for (link, link_now) in links.iter().zip(&links_now) {
                let target = old.resolve(path, link);
                let wanted = target.as_ref().map(|target| at(target));
                let found = new.resolve(&at(path), link_now);
                if found.is_none() && first.contains(link_now) {
                    continue;
                }
                checked += 1;
                assert!(
                    found == wanted && (wanted.is_some() || link == link_now),
                    "{what}: {link:?} to {wanted:?}, now {link_now:?} to {found:?}, in `{path}`\n\
                     before: {}\nwritten: {text}\nnow: {now}",
                    before[&at(path)]
                );
            }
        }
        // Redone, everything is as it was before; then the next move starts from there, or from
        // here.
        let listed = vault.ok("list_changes", json!({"limit": 1}));
        vault.ok("undo", json!({"change_set": listed["change_sets"][0]["id"]}));
        assert_eq!(files(&vault), written, "{what}: done again");
    }
    [undone, checked, kept]
}

#[test]
fn edits_after_a_move_survive_its_undo() {
    let vaults = random_vaults(VAULTS);
    let [undone, checked, kept] = spread(vaults, undo);
    println!("{undone} moves undone, {checked} links checked, {kept} texts kept");
    assert!(undone > 8 * vaults && kept > 20 * vaults, "{undone} moves undone, {kept} texts kept");
}

#[test]
fn every_link_leads_where_it_led() {
    let vaults = random_vaults(VAULTS);
    let [moved, rewritten, checked] = spread(vaults, check);
    println!("{moved} moves, {rewritten} links rewritten, {checked} links checked");
    let enough = moved > 30 * vaults && rewritten > 10 * vaults;
    assert!(enough, "{moved} moves, {rewritten} links rewritten");
}
