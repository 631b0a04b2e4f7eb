//! The examples of docs/hooks.md, installed as that page says.

use std::process::Command;

use crate::home::Home;
use crate::machine;

/// A section of docs/hooks.md: its settings and its program.
fn example(title: &str) -> (String, String) {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/hooks.md"));
    let page = page.unwrap();
    let (_, section) = page.split_once(&format!("### {title}\n")).expect("the page has it");
    let section = section.split("\n### ").next().unwrap();
    let block = |language: &str| {
        let (_, rest) = section.split_once(&format!("```{language}\n")).expect("it has a block");
        rest.split_once("```").expect("it ends").0.to_owned()
    };
    (block("toml"), block("python"))
}

/// Where Python is, if this machine has it.
pub fn python(test: &str) -> Option<String> {
    if !machine::has_program("python3", test) {
        return None;
    }
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    Some(String::from_utf8(found.unwrap().stdout).unwrap().trim().to_owned())
}

/// Installs an example as its page says; its settings precede the existing ones.
pub fn set_up(home: &Home, title: &str, name: &str, python: &str) {
    let (settings, program) = example(title);
    let folder = home.path("home/.config/vault-steward/hooks");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), program).unwrap();
    assert!(settings.contains(&format!("hooks/{name}")), "{settings}");
    let before = std::fs::read_to_string(home.config_file()).unwrap_or_default();
    home.write_config(&format!("{}\n{before}", settings.replace("/usr/bin/python3", python)));
}
