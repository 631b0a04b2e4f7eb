//! The table of rooms in `docs/architecture.md`, and the paths that it and `docs/internals.md` name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The floor of the composition root.
pub const TOP: u8 = 8;

/// The rooms, as the page lists them.
pub struct Page {
    pub rows: Vec<Row>,
    /// Everything in backticks that looks like a path; `a/{b,c}` counts as two.
    pub paths: Vec<String>,
}

pub struct Row {
    pub room: String,
    pub floor: u8,
    pub imports: Imports,
}

/// A room's imports according to the page.
pub enum Imports {
    /// Rooms of any floor below.
    Below,
    /// Exactly these rooms.
    Only(BTreeSet<String>),
}

impl Page {
    /// Reads the rows `| floor | rooms | what they are | imports of ours |` and the paths from the pages in `docs`.
    pub fn read(docs: &Path) -> Self {
        let read = |name: &str| fs::read_to_string(docs.join(name)).expect(name);
        let (text, internals) = (read("architecture.md"), read("internals.md"));
        let rows: Vec<Row> = text.lines().flat_map(row).collect();
        assert!(rows.len() > 10, "docs/architecture.md has a table of rooms");
        let is_path =
            |one: &&str| !one.contains(|c: char| !(c.is_ascii_lowercase() || "_/{},.".contains(c)));
        let lines = text.lines().chain(internals.lines());
        let paths = lines.flat_map(quoted).filter(is_path).flat_map(spread).collect();
        Self { rows, paths }
    }

    pub fn floor(&self, room: &str) -> Option<u8> {
        self.rows.iter().find(|row| row.room == room).map(|row| row.floor)
    }
}

fn row(line: &str) -> Vec<Row> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let ["", floor, rooms, _, imports, ""] = cells[..] else { return Vec::new() };
    let Ok(floor) = floor.parse() else { return Vec::new() };
    quoted(rooms)
        .map(|room| Row {
            room: room.trim_end_matches('/').trim_end_matches(".rs").to_owned(),
            floor,
            imports: match imports {
                "below" => Imports::Below,
                "nothing" => Imports::Only(BTreeSet::new()),
                list => {
                    let rooms: BTreeSet<String> = quoted(list).map(str::to_owned).collect();
                    assert!(!rooms.is_empty(), "`nothing`, `below` or rooms in backticks: {line}");
                    Imports::Only(rooms)
                }
            },
        })
        .collect()
}

fn spread(path: &str) -> Vec<String> {
    match path.split_once('{').and_then(|(to, rest)| Some((to, rest.split_once('}')?))) {
        Some((to, (names, after))) => {
            names.split(',').map(|name| format!("{to}{name}{after}")).collect()
        }
        None => vec![path.to_owned()],
    }
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
