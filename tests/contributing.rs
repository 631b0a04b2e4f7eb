//! Follows CONTRIBUTING in a copy of the project: adds a tool, a protocol method and a setting by
//! exactly the steps it names, and runs the required tests there.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files that the copy needs to be built and tested.
const PARTS: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "CONTRIBUTING.md",
    "README.md",
    "benches",
    "data",
    "docs",
    "examples",
    "fixtures",
    "fuzz/corpus",
    "plugin-shim/dist",
    "plugin-shim/src",
    "src",
    "tests",
];

/// An added line: the file, the line before which it goes, the text.
const LINES: &[(&str, &str, &str)] = &[
    // A tool: one file and one line, with its `mod`.
    ("src/tools/mod.rs", "mod create_folder;", "mod count_words;"),
    ("src/tools/mod.rs", "    create_folder::CreateFolder,", "    count_words::CountWords,"),
    (
        "docs/security.md",
        "| tool | `create_folder`",
        "| tool | `count_words` | yes | how many words |",
    ),
    // A protocol method.
    (
        "docs/security.md",
        "| method | `_vault/status`",
        "| method | `_vault/echo` | no | that it may not |",
    ),
    ("src/protocol/mod.rs", "pub mod envelope;", "pub mod echo;"),
    (
        "src/protocol/mod.rs",
        "    /// The available tools, sorted by name.",
        "    /// Says again what it is told.\n    \"_vault/echo\" { echo::EchoParams => echo::EchoResult },",
    ),
    ("src/methods/mod.rs", "pub mod events;", "pub mod echo;"),
    (
        "src/methods/mod.rs",
        "        .on::<StatusParams>",
        "        .on::<crate::protocol::echo::EchoParams>(Person, Read, |_, params, _| Ok(echo::echo(params)))",
    ),
    // A setting.
    (
        "src/agent/settings.rs",
        "    /// How many conversations to store;",
        "    /// What a conversation begins with.\n    pub greeting: String,",
    ),
    ("src/agent/settings.rs", "            kept: 1000,", "            greeting: String::new(),"),
    (
        "src/config/keys.rs",
        "    key(\"conversation.idle_minutes\",",
        "    key(\"conversation.greeting\", Takes::Call, Setter::Person),",
    ),
    (
        "src/config/template.toml",
        "# Minutes of silence after which",
        "# What a conversation begins with.\n#greeting = \"\"\n",
    ),
];

/// New files: what they are copied from, and where they go.
const FILES: &[(&str, &str)] = &[
    ("count_words.rs", "src/tools/count_words.rs"),
    ("echo_params.rs", "src/protocol/echo.rs"),
    ("echo.rs", "src/methods/echo.rs"),
];

#[test]
fn adding_a_tool_method_or_setting_takes_only_the_named_files() {
    let copy = Project::copy();
    for (from, to) in FILES {
        let text = fs::read_to_string(root().join("fixtures/contributing").join(from)).unwrap();
        copy.write(to, &text);
    }
    for (file, before, line) in LINES {
        copy.add(file, before, line);
    }
    let section = fs::read_to_string(root().join("fixtures/contributing/echo.md")).unwrap();
    copy.add("docs/protocol.md", "### `_vault/status`", section.trim_end_matches('\n'));
    // Built together, which keeps all cores busy.
    let named = ["architecture", "protocol", "calls", "cli", "views"].map(|name| ["--test", name]);
    let build = [&["test", "--no-run", "--lib"], named.as_flattened()].concat();
    copy.cargo(&build, &[]);
    copy.cargo(&["test", "--test", "protocol", "types"], &[("UPDATE_GENERATED", "1")]);
    copy.cargo(&["test", "--lib", "--", "tools::", "methods::", "config::", "protocol::"], &[]);
    copy.cargo(&["test", "--test", "architecture", "--test", "protocol"], &[]);
    copy.cargo(&["test", "--test", "calls"], &[]);
    copy.cargo(&["test", "--test", "cli", "--", "doors::"], &[]);
    copy.cargo(&["test", "--test", "views", "--", "table::"], &[]);

    let listed = copy.steward(&["tools"]);
    assert!(listed.contains("count_words"), "{listed}");
    let help = copy.steward(&["call", "count_words", "--help"]);
    assert!(help.contains("Counts the words of a text file"), "{help}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A copy of the project in its own build folder, which reuses the compiled dependencies.
struct Project(PathBuf);

impl Project {
    fn copy() -> Self {
        let program = std::env::current_exe().unwrap();
        let built = program.parent().unwrap().parent().unwrap();
        let place = built.parent().unwrap().join("contributing");
        let _ = fs::remove_dir_all(&place);
        for part in PARTS {
            copy(&root().join(part), &place.join(part), &|_| true, &|from, to| {
                fs::copy(from, to).unwrap();
            });
        }
        // Dependencies are linked from here; our crate has another path and is built again.
        let is_theirs =
            |name: &str| !name.contains("vault_steward") && !name.contains("vault-steward");
        for part in ["deps", "build", ".fingerprint"] {
            let to = place.join("target/debug").join(part);
            copy(&built.join(part), &to, &is_theirs, &|from, to| {
                if fs::hard_link(from, to).is_err() {
                    fs::copy(from, to).unwrap();
                }
            });
        }
        Self(place)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        assert!(!path.exists(), "`{file}` is there already");
        fs::write(path, text).unwrap();
    }

    fn add(&self, file: &str, before: &str, line: &str) {
        let path = self.0.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let at = text.find(&format!("\n{before}")).unwrap_or_else(|| panic!("{file}: {before}"));
        fs::write(path, format!("{}\n{line}{}", &text[..at], &text[at..])).unwrap();
    }

    fn cargo(&self, arguments: &[&str], variables: &[(&str, &str)]) {
        let mut cargo = Command::new(env!("CARGO"));
        // As in `scripts/test`.
        let (what, rest) = arguments.split_first().expect("a subcommand");
        cargo
            .current_dir(&self.0)
            .args([what, "--features", "conformance"])
            .args(rest)
            .envs(variables.iter().copied());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_") && name != "CARGO_HOME" {
                cargo.env_remove(&*name);
            }
        }
        let target = self.0.join("target");
        cargo.env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true");
        // It is built once.
        cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        let done = cargo.output().unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "cargo {arguments:?}\n{out}\n{err}");
        let ran = !out.contains("running") || out.lines().any(|line| line.ends_with("... ok"));
        assert!(ran, "cargo {arguments:?} ran no test\n{out}");
    }

    fn steward(&self, arguments: &[&str]) -> String {
        let program = self.0.join("target/debug/steward");
        let done = Command::new(program).args(arguments).output().unwrap();
        assert!(done.status.success(), "steward {arguments:?}: {done:?}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn copy(from: &Path, to: &Path, takes: &dyn Fn(&str) -> bool, file: &dyn Fn(&Path, &Path)) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        return file(from, to);
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if takes(&entry.file_name().to_string_lossy()) {
            copy(&entry.path(), &to.join(entry.file_name()), takes, file);
        }
    }
}
