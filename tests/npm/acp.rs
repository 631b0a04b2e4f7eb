//! The SDK of the Agent Client Protocol's own authors as a client: `acp.mjs`.

use std::process::Command;

use serde_json::json;

use crate::editor::Ground;
use crate::machine;

#[test]
fn the_protocols_own_sdk_agrees_is_shown_the_diff_and_loads_it_again() {
    let test = "the_protocols_own_sdk_agrees_is_shown_the_diff_and_loads_it_again";
    let Some(modules) = std::env::var_os("STEWARD_TEST_NPM") else {
        machine::missing(test, "the packages of tests/npm");
        return;
    };
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    ground.calls("edit_file", json!({"path": "a", "old_text": "two", "new_text": "three"}));
    let plain = ground.home.steward(&[] as &[&str]);
    let mut command = Command::new("node");
    let kept = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(kept).current_dir(&modules).arg("acp.mjs");
    command.args([&ground.vault, env!("CARGO_BIN_EXE_steward"), "acp", "--vault", &ground.vault]);
    let output = command.output().unwrap();
    let (said, wrong) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("all went well"), "{said}{wrong}");
    assert_eq!(ground.read("a.md"), "one\nthree\n");
}
