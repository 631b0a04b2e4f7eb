//! A third-party client: `client.py`, with the package that `scripts/test` installs and the Python
//! that `STEWARD_TEST_MCP_PYTHON` names.
#![cfg(unix)]

use std::process::Command;

use crate::ground::Ground;
use crate::machine::missing;

fn client(ground: &Ground, test: &str) -> Option<Command> {
    let Some(python) = std::env::var_os("STEWARD_TEST_MCP_PYTHON") else {
        missing(test, "the package `mcp` for Python");
        return None;
    };
    let plain = ground.home.steward(&[] as &[&str]);
    let mut command = Command::new(python);
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.py"));
    Some(command)
}

fn works(mut client: Command) {
    let output = client.output().unwrap();
    let (said, wrong) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{wrong}");
    assert!(said.contains("auto 2026-07-28") && said.contains("legacy 2025-11-25"), "{said}");
}

#[test]
fn another_programs_client_works_over_http() {
    let ground = Ground::new("");
    let Some(mut client) = client(&ground, "another_programs_client_works_over_http") else {
        return;
    };
    client.arg(format!("http://127.0.0.1:{}/mcp", ground.port));
    client.env("STEWARD_TOKEN", &ground.token);
    works(client);
}

#[test]
fn another_programs_client_works_over_stdin_and_stdout() {
    let ground = Ground::new("");
    let test = "another_programs_client_works_over_stdin_and_stdout";
    let Some(mut client) = client(&ground, test) else { return };
    client.args([env!("CARGO_BIN_EXE_steward"), "mcp", "--vault"]).arg(&ground.vault);
    works(client);
}
