//! A third-party client: `client.py`, with the package that `scripts/test` installs and the Python
//! that `STEWARD_TEST_ACP_PYTHON` names. It validates each message against its own schema.

use std::process::Command;

use serde_json::json;

use crate::editor::Ground;
use crate::machine::missing;

#[test]
fn an_independent_client_validates_all_messages() {
    let test = "an_independent_client_validates_all_messages";
    let Some(python) = std::env::var_os("STEWARD_TEST_ACP_PYTHON") else {
        missing(test, "the package `agent-client-protocol` for Python");
        return;
    };
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    ground.calls("edit_file", json!({"path": "a", "old_text": "two", "new_text": "three"}));
    ground.says(crate::script::says(vault_steward::llm::Wire::Chat, "done"));
    ground.calls("edit_file", json!({"path": "a", "old_text": "three", "new_text": "four"}));
    let plain = ground.home.steward(&[] as &[&str]);
    let mut command = Command::new(python);
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/client.py"));
    command.args([&ground.vault, env!("CARGO_BIN_EXE_steward"), "acp", "--vault", &ground.vault]);
    let output = command.output().unwrap();
    let (said, wrong) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("all went well"), "{said}{wrong}");
    assert_eq!(ground.read("a.md"), "one\nfour\n");
}
