//! Random vaults: few names in few folders, so that they clash, and every way of writing a link.
//! Links are found by plain search, since the texts here hold no code.

use std::collections::BTreeMap;

use serde_json::json;

use super::checker::{Names, Seen, balanced, decode};
use super::harness::TestVault;
use super::{Random, spread};

/// Vaults, and moves in each.
const VAULTS: u64 = 50;
const MOVES: usize = 50;

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

/// The links of a text, and the text with their paths and texts taken out.
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
                text = format!("---\nup: '[[{up}]]' # kept\n---\n");
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

/// Moves in one vault: how many, the links rewritten for them, the links checked.
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

#[test]
fn every_link_leads_where_it_led() {
    let [moved, rewritten, checked] = spread(VAULTS, check);
    println!("{moved} moves, {rewritten} links rewritten, {checked} links checked");
    assert!(moved > 1_500 && rewritten > 500, "{moved} moves, {rewritten} links rewritten");
}
