//! The tools of a server that a person has allowed, with the descriptions that were shown.

#![expect(clippy::disallowed_methods, reason = "our own files in the state folder")]

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::fault::Fault;
use super::offer::{Described, hex};
use super::settings::ServerEntry;
use crate::hooks::program_path::at_home;

/// The allowed tools of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The command line, or the address.
    pub command: Vec<String>,
    /// The SHA-256 of the program.
    pub program: Option<String>,
    /// By their own names.
    pub tools: BTreeMap<String, PinnedTool>,
}

/// A tool as it was shown to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedTool {
    /// The SHA-256 of `tool`.
    pub sha256: String,
    /// In the server's words.
    pub tool: Value,
}

/// How a list differs from what was allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Whether the command line or the program changed, so that no tool is allowed.
    pub is_another: bool,
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub gone: Vec<String>,
}

impl Differences {
    /// Whether nothing has changed.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Pin {
    /// The pin of these tools, as they are now.
    pub fn new(entry: &ServerEntry, tools: &[Described]) -> Self {
        let pinned = tools.iter().map(|one| {
            let tool = PinnedTool { sha256: one.sha256.clone(), tool: one.tool.clone() };
            (one.name.clone(), tool)
        });
        Self { command: entry.line(), program: program(entry), tools: pinned.collect() }
    }

    /// Reads the pin of a server; `None` if there is no usable one.
    pub fn load(place: &Path, server: &str) -> Option<Self> {
        let pin: Self = serde_json::from_slice(&std::fs::read(file(place, server)).ok()?).ok()?;
        let is_whole = |(name, pinned): (&String, &PinnedTool)| {
            Described::read(&pinned.tool)
                .is_some_and(|tool| tool.name == *name && tool.sha256 == pinned.sha256)
        };
        pin.tools.iter().all(is_whole).then_some(pin)
    }

    pub fn store(&self, place: &Path, server: &str) -> Result<(), Fault> {
        let path = file(place, server);
        let write = || -> io::Result<()> {
            std::fs::create_dir_all(place)?;
            let new_file = place.join(format!(".{server}.{}.new", std::process::id()));
            std::fs::write(&new_file, serde_json::to_vec_pretty(self)?)?;
            std::fs::rename(&new_file, &path)
        };
        write().map_err(|source| Fault::Store { path: path.clone(), source })
    }

    /// Removes the pin of a server; returns whether there was one.
    pub fn remove(place: &Path, server: &str) -> bool {
        std::fs::remove_file(file(place, server)).is_ok()
    }

    /// The names under which its tools are offered.
    pub fn offered(&self, server: &str) -> Vec<String> {
        let tools = self.tools.values().filter_map(|pinned| Described::read(&pinned.tool));
        tools.filter_map(|tool| Some(tool.offer(server).ok()?.name)).collect()
    }

    /// Whether it was made for this command line. Reads nothing.
    pub fn is_of(&self, entry: &ServerEntry) -> bool {
        self.command == entry.line()
    }

    /// Whether the program is the one that a person has allowed. Reads the whole file.
    pub fn has_program_of(&self, entry: &ServerEntry) -> bool {
        self.program == program(entry)
    }

    /// How `tools` differ from the allowed ones.
    pub fn differences(&self, entry: &ServerEntry, tools: &[Described]) -> Differences {
        let of = |name: &str| self.tools.get(name);
        let names = |is: &dyn Fn(&Described) -> bool| -> Vec<String> {
            tools.iter().filter(|tool| is(tool)).map(|tool| tool.name.clone()).collect()
        };
        Differences {
            is_another: !self.is_of(entry) || !self.has_program_of(entry),
            added: names(&|tool| of(&tool.name).is_none()),
            changed: names(&|tool| of(&tool.name).is_some_and(|old| old.sha256 != tool.sha256)),
            gone: self
                .tools
                .keys()
                .filter(|name| !tools.iter().any(|tool| tool.name == **name))
                .cloned()
                .collect(),
        }
    }
}

fn file(place: &Path, server: &str) -> PathBuf {
    place.join(format!("{server}.json"))
}

/// The SHA-256 of the program; `None` if it cannot be read, or there is none.
fn program(entry: &ServerEntry) -> Option<String> {
    if entry.url.is_some() {
        return None;
    }
    let mut file = std::fs::File::open(at_home(&entry.command)).ok()?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 256 << 10]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some(hex(&hash.finalize())),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
