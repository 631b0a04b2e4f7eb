//! `acpx`, a complete third-party client. `STEWARD_TEST_CONFORMANCE` names the folder that contains
//! it and its Node.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::editor::Ground;
use crate::machine::missing;

struct Acpx<'a> {
    node: PathBuf,
    program: PathBuf,
    ground: &'a Ground,
}

impl<'a> Acpx<'a> {
    fn find(test: &str, ground: &'a Ground) -> Option<Self> {
        let Some(folder) = std::env::var_os("STEWARD_TEST_CONFORMANCE") else {
            missing(test, "the package `acpx` from npm");
            return None;
        };
        let modules = Path::new(&folder).join("node_modules");
        let packages = std::fs::read_dir(&modules).unwrap().map(|entry| entry.unwrap().path());
        let node = packages.map(|package| package.join("bin/node")).find(|node| node.is_file());
        if node.is_none() {
            missing(test, "a Node 22 for this machine, by npm");
        }
        Some(Self { node: node?, program: modules.join("acpx/dist/cli.js"), ground })
    }

    /// Its output, one message per line.
    fn run(&self, arguments: &[&str]) -> Vec<Value> {
        let plain = self.ground.home.steward(&[] as &[&str]);
        let mut command = Command::new(&self.node);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let agent = format!("{} acp --vault {}", env!("CARGO_BIN_EXE_steward"), self.ground.vault);
        command.arg(&self.program).args(["--agent", &agent, "--cwd", &self.ground.vault]);
        let output = command.args(["--format", "json"]).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let wrong = String::from_utf8_lossy(&output.stderr);
        said.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}\n{wrong}")))
            .collect()
    }

    /// Sends a message; returns the update that ends the tool call.
    fn says(&self, policy: &str, text: &str) -> Value {
        let said = self.run(&[policy, "exec", text]);
        let updates = said.iter().filter(|one| one["method"] == "session/update");
        let mut updates = updates.map(|one| &one["params"]["update"]);
        let is_end = |update: &&Value| {
            update["sessionUpdate"] == "tool_call_update"
                && ["completed", "failed"].iter().any(|word| update["status"] == *word)
        };
        updates.rfind(is_end).cloned().unwrap_or_else(|| panic!("{said:#?}"))
    }
}

#[test]
fn another_whole_program_lists_asks_refuses_and_agrees() {
    let test = "another_whole_program_lists_asks_refuses_and_agrees";
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    let Some(acpx) = Acpx::find(test, &ground) else { return };
    let edit = json!({"path": "a", "old_text": "two", "new_text": "three"});
    ground.calls("edit_file", edit.clone());
    let refused = acpx.says("--deny-all", "change it");
    assert_eq!(refused["status"], "failed", "{refused}");
    assert!(refused.to_string().contains("refused it"), "{refused}");
    assert_eq!(ground.read("a.md"), "one\ntwo\n");
    ground.calls("edit_file", edit);
    let done = acpx.says("--approve-all", "change it");
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["content"][0]["type"], "diff", "{done}");
    assert_eq!(ground.read("a.md"), "one\nthree\n");
    let audit = ground.steward(&["audit", "--json"]).expect(0).stdout;
    assert!(audit.contains("acpx (ACP)"), "it may be a robot: {audit}");
    let listed = acpx.run(&["sessions", "list"]);
    assert_eq!(listed[0]["sessions"].as_array().map(Vec::len), Some(2), "{listed:?}");
}
