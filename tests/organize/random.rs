//! Random vaults and random items: the result equals the plan, byte for byte; no file is lost, and every link keeps its
//! target.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use vault_steward::note::fold::fold_key;

use super::checker::{Names, Seen};
use super::harness::{TestVault, random_vaults, renames_case};
use super::{apply, files, foreseen, plan};

const VAULTS: u64 = 120;
const FOLDERS: [&str; 5] = ["", "a/", "b/", "A c/", "b/a/"];
const NAMES: [&str; 8] =
    ["Note.md", "n.md", "N2.md", "x_1.md", "x.md", "大根.md", "ΣΑΣ.md", "p.png"];

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The linkpaths of a text, and the text without them.
fn scan(text: &str) -> (Vec<Seen>, String) {
    let (mut links, mut rest) = (Vec::new(), String::new());
    for (number, part) in text.split("[[").enumerate() {
        match (number, part.split_once("]]")) {
            (0, _) | (_, None) => rest.push_str(part),
            (_, Some((inside, after))) => {
                let path = inside.split(['#', '|']).next().unwrap_or_default();
                links.push(Seen { path: path.to_owned(), whole: false });
                rest.push_str("[[]]");
                rest.push_str(after);
            }
        }
    }
    (links, rest)
}

fn generate(random: &mut Random) -> Vec<(String, String)> {
    let mut paths: Vec<String> = Vec::new();
    for _ in 0..12 {
        let path = format!("{}{}", random.of(&FOLDERS), random.of(&NAMES));
        if !paths.iter().any(|known| fold_key(known) == fold_key(&path)) {
            paths.push(path);
        }
    }
    let text = |random: &mut Random, path: &String| {
        let mut text = match random.below(3) {
            0 if path.ends_with(".md") => "---\nk: 1\ntags: [t]\n---\n".to_owned(),
            _ => String::new(),
        };
        for _ in 0..random.below(5) {
            let target = &paths[random.below(paths.len())];
            let bare = target.strip_suffix(".md").unwrap_or(target);
            let name = bare.rsplit('/').next().unwrap_or_default();
            text += &match random.below(4) {
                0 => format!("[[{bare}]] "),
                1 => format!("[[{name}#h|shown]]\r\n"),
                2 => "[[nowhere at all]] ".to_owned(),
                _ => format!("[[{name}]] "),
            };
        }
        text
    };
    let texts: Vec<String> = paths
        .iter()
        .map(|path| if path.ends_with(".md") { text(random, path) } else { "x".to_owned() })
        .collect();
    paths.into_iter().zip(texts).collect()
}

fn items(random: &mut Random, paths: &[&String]) -> Vec<Value> {
    let mut chosen: Vec<&String> = paths.iter().copied().filter(|_| random.below(3) > 0).collect();
    if chosen.is_empty() {
        chosen.extend(paths.first());
    }
    let mut items = Vec::new();
    let renames_case = renames_case();
    for path in chosen {
        let target = match random.below(5) {
            // The path of another file: chains, swaps and cycles.
            0 | 1 => paths[random.below(paths.len())].clone(),
            2 => path.to_uppercase().replace(".MD", ".md").replace(".PNG", ".png"),
            _ => format!("{}{}", random.of(&FOLDERS), random.of(&NAMES)),
        };
        let is_possible = renames_case || path.to_lowercase() != target.to_lowercase();
        let target = if is_possible { &target } else { path };
        let mut item = json!({"path": path, "to": target});
        if path.ends_with(".md") && random.below(3) == 0 {
            item["set"] = json!({"k": random.below(3), "status": "done"});
            item["tag"] = json!(["new"]);
        }
        if path.ends_with(".md") && random.below(4) == 0 {
            item["append"] = json!("added");
        }
        match random.below(12) {
            0 => item["trash"] = json!(true),
            1 => items.push(
                json!({"path": format!("new/{}.md", items.len()), "create": true, "append": "new"}),
            ),
            _ => {}
        }
        items.push(item);
    }
    items
}

fn check(seed: u64) -> usize {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let generated = generate(&mut random);
    let borrowed: Vec<(&str, &str)> =
        generated.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let format = random.of(&["shortest", "relative", "absolute"]);
    let vault = TestVault::new(&borrowed, |place| {
        let app = format!(r#"{{"trashOption":"local","newLinkFormat":"{format}"}}"#);
        std::fs::write(place.join(".obsidian/app.json"), app).expect("written");
    });
    let before = files(&vault);
    let paths: Vec<&String> = before.keys().collect();
    let mut items = items(&mut random, &paths);
    let made = plan(&vault, &items);
    let what = format!("vault {seed}, {format}: {before:#?}\n{made:#?}");
    // In any order.
    for at in (1..items.len()).rev() {
        items.swap(at, random.below(at + 1));
    }
    assert_eq!(plan(&vault, &items).identity(), made.identity(), "{what}");
    let foreseen = foreseen(&vault, &made);
    apply(&vault, &made);
    let after = files(&vault);
    assert_eq!(after, foreseen, "{what}");
    let keys: BTreeSet<String> = after.keys().map(|path| fold_key(path)).collect();
    assert_eq!(keys.len(), after.len(), "{what}: two names that are one to a person");
    let applied: Vec<_> = made.applicable().collect();
    let gone = applied.iter().filter(|item| item.trash).count();
    let new = applied.iter().filter(|item| item.create).count();
    assert_eq!(after.len(), before.len() - gone + new, "{what}: a file is lost");
    let moved: BTreeMap<&str, &str> = applied
        .iter()
        .filter(|item| item.moves())
        .filter_map(|item| Some((&*item.path, item.to.as_deref()?)))
        .collect();
    let trashed: BTreeSet<&str> =
        applied.iter().filter(|item| item.trash).map(|item| &*item.path).collect();
    let at = |path: &str| moved.get(path).copied().unwrap_or(path).to_owned();
    let (old, now) = (Names::new(before.keys()), Names::new(after.keys()));
    for (path, text) in before.iter().filter(|(path, _)| !trashed.contains(path.as_str())) {
        let (links, _) = scan(text);
        let (links_now, _) = scan(&after[&at(path)]);
        assert_eq!(links.len(), links_now.len(), "{what}: `{path}`");
        for (link, link_now) in links.iter().zip(&links_now) {
            match old.resolve(path, link).filter(|target| !trashed.contains(target.as_str())) {
                Some(target) => assert_eq!(
                    now.resolve(&at(path), link_now),
                    Some(at(&target)),
                    "{what}: {link:?}, now {link_now:?}, in `{path}`"
                ),
                None => assert_eq!(link, link_now, "{what}: `{path}`"),
            }
        }
    }
    moved.len()
}

#[test]
fn the_plan_shown_is_the_plan_applied() {
    let vaults = random_vaults(VAULTS);
    let moved: usize = std::thread::scope(|scope| {
        let part =
            |number| (1..=vaults).filter(|seed| seed % 4 == number).map(check).sum::<usize>();
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || part(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("as it was shown")).sum()
    });
    assert!(2 * moved as u64 > 5 * vaults, "{moved} files moved");
}
