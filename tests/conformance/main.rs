//! The conformance suite of the Model Context Protocol, for both eras: of the server over both
//! transports, and of the client for third-party servers over HTTP (`client.mjs`, which runs the
//! program as a person does). This folder contains the npm packages it needs, an adapter
//! (`bridge.mjs`), and the list of expected failures with their reasons. The feature `conformance`
//! and a variable give the program the tools, resources and prompts that the suite requires of a
//! server. `scripts/test` installs the suite, sets `STEWARD_TEST_CONFORMANCE` to its folder, and
//! runs this.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

#[allow(dead_code, reason = "the tests of the protocol use all of it")]
#[path = "../mcp/ground.rs"]
mod ground;
#[allow(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../cli/support.rs"]
mod home;
#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/posted.rs"]
mod posted;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::ground::Ground;
use crate::home::Home;
use crate::machine::missing;

const SETS: [&str; 2] = ["2025-11-25", "2026-07-28"];

struct Suite {
    node: PathBuf,
    program: PathBuf,
}

impl Suite {
    fn find(test: &str) -> Option<Self> {
        let Some(folder) = std::env::var_os("STEWARD_TEST_CONFORMANCE") else {
            missing(test, "the conformance suite of the Model Context Protocol");
            return None;
        };
        let modules = Path::new(&folder).join("node_modules");
        let packages = std::fs::read_dir(&modules).unwrap().map(|entry| entry.unwrap().path());
        let node = packages.map(|package| package.join("bin/node")).find(|node| node.is_file());
        let program = modules.join("@modelcontextprotocol/conformance/dist/index.js");
        if node.is_none() {
            missing(test, "a Node 22 for this machine, by npm");
        }
        Some(Self { node: node?, program })
    }

    /// Runs both sets on the server that the bridge reaches with these arguments.
    fn passes(&self, ground: &Ground, transport: &str, reached: &[&str]) {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
        let plain = ground.home.steward(&[] as &[&str]);
        let surroundings = || plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut bridge = Command::new(&self.node);
        bridge.env_clear().envs(surroundings()).env("TOKEN", &ground.token);
        bridge.arg(data.join("bridge.mjs")).arg(transport).args(reached);
        // It ends when its input ends.
        let bridge = bridge.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut bridge = Ending(bridge);
        let mut port = String::new();
        BufReader::new(bridge.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", port.trim());
        for set in SETS {
            let mut run = Command::new(&self.node);
            run.env_clear().envs(surroundings()).arg(&self.program);
            run.args(["server", "--url", &url, "--requirements", set, "--expected-failures"]);
            run.arg(data.join(format!("{transport}-{set}.yml")));
            run.arg("-o").arg(ground.home.path("checks")).current_dir(ground.home.path("home"));
            let output = run.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let wrong = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{transport}, {set}:\n{said}{wrong}");
            assert!(said.contains("✓ tools-list"), "it ran: {said}");
        }
    }
}

/// A vault in which notes of the folder Templates are prompts.
fn ground() -> Ground {
    let mut home = home::Home::new();
    home.variables.push(("MCP_FIXTURES", "1"));
    let ground = Ground::of(home, "");
    std::fs::create_dir(ground.vault.join("Templates")).unwrap();
    let settings = ground.vault.join(".obsidian/templates.json");
    std::fs::write(settings, r#"{"folder": "Templates"}"#).unwrap();
    ground
}

struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The suite is the server, and runs the program as its client.
#[test]
fn the_conformance_suite_passes_for_the_client_over_http() {
    let test = "the_conformance_suite_passes_for_the_client_over_http";
    let Some(suite) = Suite::find(test) else { return };
    let home = Home::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let client = format!("{} {}", suite.node.display(), data.join("client.mjs").display());
    for (set, passed) in SETS.into_iter().zip(["sse-retry", "http-custom-headers"]) {
        let mut run = Command::new(&suite.node);
        run.env_clear().env("HOME", home.path("home")).env("PATH", "/usr/bin:/bin");
        run.env("STEWARD", env!("CARGO_BIN_EXE_steward")).env("TMPDIR", home.path("elsewhere"));
        run.arg(&suite.program).args(["client", "--command", &client, "--requirements", set]);
        run.arg("--expected-failures").arg(data.join(format!("client-{set}.yml")));
        run.arg("-o").arg(home.path("checks")).current_dir(home.path("home"));
        let output = run.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{set}:\n{said}{wrong}");
        assert!(said.contains(&format!("✓ {passed}")), "it ran: {said}");
    }
}

#[test]
fn the_conformance_suite_passes_over_http() {
    let Some(suite) = Suite::find("the_conformance_suite_passes_over_http") else { return };
    let ground = ground();
    suite.passes(&ground, "http", &[&ground.port.to_string()]);
}

#[test]
fn the_conformance_suite_passes_over_stdin_and_stdout() {
    let test = "the_conformance_suite_passes_over_stdin_and_stdout";
    let Some(suite) = Suite::find(test) else { return };
    let ground = ground();
    let vault = ground.vault.to_str().unwrap();
    let steward = env!("CARGO_BIN_EXE_steward");
    suite.passes(&ground, "stdio", &[steward, "mcp", "--vault", vault]);
}
