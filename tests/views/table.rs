//! The table of `docs/security.md`, compared with the existing outputs.

use std::collections::BTreeSet;
use std::path::Path;

use vault_steward::agent::prompt::{Instructions, Situation};
use vault_steward::protocol::METHODS;
use vault_steward::tools::{Registry, lookups};

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub kind: String,
    pub output: String,
    /// Whether a limited caller gets it.
    pub open: bool,
}

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).unwrap().replace("\r\n", "\n")
}

/// The rows of the page.
pub fn rows() -> Vec<Row> {
    let page = file("docs/security.md");
    let (_, section) = page.split_once("\n## What a limited caller learns\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| "));
    let cells = lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect());
    let cells: Vec<Vec<&str>> = cells.skip(1).collect();
    let row = |cells: &Vec<&str>| {
        let [kind, output, open, learns] = &cells[..] else { panic!("{cells:?}") };
        assert!(learns.len() > 3, "{output}: what does it learn?");
        let open = match *open {
            "yes" => true,
            "no" => false,
            other => panic!("{output}: `{other}` is neither yes nor no"),
        };
        let named = |cell: &str| cell.trim_matches('`').to_owned();
        Row { kind: named(kind), output: named(output), open }
    };
    cells.iter().map(row).collect()
}

/// The names in a block of the generated TypeScript.
pub fn interface(name: &str) -> Vec<String> {
    let page = file("plugin-shim/src/protocol.ts");
    let (_, block) = page.split_once(&format!("export interface {name} {{\n")).unwrap();
    let block = block.split("\n}").next().unwrap();
    let lines = block.lines().filter_map(|line| line.trim().strip_prefix('"'));
    lines.map(|line| line.split('"').next().unwrap().to_owned()).collect()
}

/// The paths that the server answers over HTTP.
pub fn routes() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let texts: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let quoted = |text: &str| text.split('"').nth(1).unwrap().to_owned();
    // A route is written out or a constant.
    let routes = texts.split(".route(").skip(1).map(|rest| {
        let path = rest.split(',').next().unwrap();
        let value = format!("const {path}: &str = ");
        if path.starts_with('"') {
            quoted(path)
        } else {
            quoted(texts.split(&value).nth(1).expect("a constant of the room"))
        }
    });
    let mut found: Vec<String> = routes.collect();
    found.sort();
    found
}

/// The parts of a model's input other than messages and answers. A new part does not compile here
/// until it is named.
fn model() -> Vec<String> {
    let now = chrono::DateTime::UNIX_EPOCH.fixed_offset();
    let Situation { now: _, active_note: _, as_of: _, news: _ } =
        Situation { now, active_note: None, as_of: None, news: Vec::new() };
    let Instructions { settings: _, architecture: _, note: _ } = Instructions::default();
    let parts = ["now", "active note", "news", "instructions", "architecture", "instructions note"];
    // Summaries of other conversations, the outline of the vault, and answers of tools.
    let more = ["earlier conversations", "outline", "answers of tools"];
    parts.into_iter().chain(more).map(str::to_owned).collect()
}

#[test]
fn every_output_has_its_row_and_every_row_its_output() {
    let tools = Registry::built_in().iter().map(|tool| tool.name.clone()).collect();
    let methods = METHODS.iter().map(|name| (*name).to_owned()).collect();
    let lookups = lookups().iter().map(|lookup| lookup.name.clone()).collect();
    let all: [(&str, Vec<String>); 8] = [
        ("tool", tools),
        ("MCP", lookups),
        ("method", methods),
        ("notice to the daemon", interface("ClientNotifications")),
        ("event", interface("ServerNotifications")),
        ("request to a client", interface("ServerRequests")),
        ("HTTP", routes()),
        ("model", model()),
    ];
    let there: BTreeSet<(String, String)> = all
        .into_iter()
        .flat_map(|(kind, names)| names.into_iter().map(move |name| (kind.to_owned(), name)))
        .collect();
    let rows = rows();
    let listed: BTreeSet<(String, String)> =
        rows.iter().map(|row| (row.kind.clone(), row.output.clone())).collect();
    assert_eq!(listed.len(), rows.len(), "an output has two rows");
    let lacking: Vec<_> = there.difference(&listed).collect();
    let beyond: Vec<_> = listed.difference(&there).collect();
    assert!(
        lacking.is_empty() && beyond.is_empty(),
        "`docs/security.md` has no row for {lacking:?}, and one for {beyond:?}, which there are not"
    );
}
