//! `steward models add` and `remove`: models of meaning, which are installed on this machine.

#![expect(clippy::disallowed_methods, reason = "files of the person's, outside of the vault")]

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::maintenance::agreed;
use super::settings::{self, SettingsSource};
use super::{Failure, Output, Result, Session, models};
use crate::index::knowledge::Model;
use crate::index::knowledge::minilm::source::{self, HOME, NotInstalled, ORIGINALS, Original};
use crate::llm::Address;
use crate::llm::download::download;

/// The setting that names the model.
const SETTING: &str = "knowledge.meaning";

/// The most bytes of an archive with the model.
const MAX_ARCHIVE: u64 = 256 << 20;

#[derive(Debug, Args)]
pub struct ModelsArguments {
    #[command(subcommand)]
    pub action: Option<ModelsAction>,
}

#[derive(Debug, Subcommand)]
pub enum ModelsAction {
    /// List language models: configured and available
    List,
    /// Install a model that finds notes by their meaning, and use it
    Add {
        /// The model
        model: Installable,
        /// A folder with its files, an archive with them, or the address of one, instead of its home
        #[arg(long, value_name = "FILE")]
        from: Option<String>,
        /// Skip the question
        #[arg(long, short)]
        yes: bool,
    },
    /// Remove an installed model, and use the one that the program carries
    Remove {
        /// The model
        model: Installable,
    },
}

/// A model that can be installed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Installable {
    /// all-MiniLM-L6-v2: English
    Minilm,
}

/// Lists language models, or installs or removes a model of meaning.
///
/// # Errors
/// The model cannot be downloaded, has another checksum, or cannot be written.
pub fn run(session: &Session, arguments: &ModelsArguments) -> Result<()> {
    match &arguments.action {
        None | Some(ModelsAction::List) => return models::run(session),
        Some(ModelsAction::Add { model: Installable::Minilm, from, yes }) => {
            add(session, from.as_deref(), *yes)?;
        }
        Some(ModelsAction::Remove { model: Installable::Minilm }) => remove(session)?,
    }
    Ok(())
}

fn folder(session: &Session) -> PathBuf {
    session.folders.models()
}

fn add(session: &Session, from: Option<&str>, yes: bool) -> Result<()> {
    let bytes: u64 = ORIGINALS.iter().map(|original| original.bytes).sum();
    let folder = folder(session);
    let question = || {
        let source = from
            .map_or(format!("download {} MB from {HOME}", bytes / 1_000_000), |from| {
                format!("read them from {from}")
            });
        format!(
            "all-MiniLM-L6-v2 finds notes by the meaning of sentences (English, Apache-2.0).\n\
             Its files are checked by their sums; 23 MB are written to {}.\n\
             Notes are read with it on this machine, some 40 ms a passage, and are sent nowhere.\n\
             Install it: {source}?",
            folder.display()
        )
    };
    if !agreed(yes, &question)? {
        return Err(Failure::other("declined", "nothing is installed", "answer `y` to install it"));
    }
    let originals = match from {
        None => originals(|original| {
            fetched(&format!("{HOME}/{}", original.name), original.bytes, &session.output)
        })?,
        Some(from) if from.starts_with("https://") || from.starts_with("http://") => {
            source::unpacked(&fetched(from, MAX_ARCHIVE, &session.output)?)
                .map_err(not_installed)?
        }
        Some(from) => read_originals(Path::new(from))?,
    };
    source::install(&folder, originals.each_ref().map(Vec::as_slice)).map_err(not_installed)?;
    settings::set(&SettingsSource::of(session), SETTING, Some("minilm"), &session.output)?;
    session.output.notice(
        "notes are read with it from the next search on; `steward status` says how far it is",
    );
    Ok(())
}

fn originals(get: impl Fn(Original) -> Result<Vec<u8>>) -> Result<[Vec<u8>; 2], Failure> {
    let [weights, vocabulary] = ORIGINALS.map(get);
    Ok([weights?, vocabulary?])
}

/// The files in a folder, or in an archive.
fn read_originals(from: &Path) -> Result<[Vec<u8>; 2], Failure> {
    let file = |path: &Path| {
        let read = || {
            let mut content = Vec::new();
            std::fs::File::open(path)?.take(MAX_ARCHIVE).read_to_end(&mut content)?;
            io::Result::Ok(content)
        };
        read().map_err(|error| {
            let hint =
                "name a folder with `model.safetensors` and `vocab.txt`, or an archive of them";
            let message = format!("could not read `{}`: {error}", path.display());
            Failure::other("io_error", message, hint)
        })
    };
    if from.is_dir() {
        originals(|original| file(&from.join(original.name)))
    } else {
        source::unpacked(&file(from)?).map_err(not_installed)
    }
}

/// Downloads a file, and shows the progress.
fn fetched(address: &str, most: u64, output: &Output) -> Result<Vec<u8>> {
    let parsed = Address::new(address).map_err(|error| {
        Failure::usage(format!("`{address}` {error}"), "name a file, a folder or an https address")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut terminal = std::io::stderr();
    let is_shown = terminal.is_terminal() && !output.json();
    let mut shown = 0;
    let fetched = runtime.block_on(download(&parsed, most, |bytes| {
        if is_shown && bytes / 1_000_000 > shown {
            shown = bytes / 1_000_000;
            let _ = write!(terminal, "\r{shown} MB");
        }
    }));
    if shown > 0 {
        let _ = writeln!(terminal);
    }
    fetched.map_err(|error| {
        let hint = "get its files in another way, and name them with `--from`";
        Failure::other("not_downloaded", format!("could not download {address}: {error}"), hint)
    })
}

fn not_installed(error: NotInstalled) -> Failure {
    let hint = match &error {
        NotInstalled::Io(_) => "make the folder writable",
        _ => "name the original files of sentence-transformers/all-MiniLM-L6-v2 with `--from`",
    };
    Failure::other("not_installed", error.to_string(), hint)
}

fn remove(session: &Session) -> Result<()> {
    let is_removed = source::remove(&folder(session)).map_err(|error| {
        let message = format!("could not remove it: {error}");
        Failure::other("io_error", message, "make its folder writable")
    })?;
    let text = if is_removed { "it is removed" } else { "it was not installed" };
    // Meaning may be switched off.
    match session.settings.config.knowledge.meaning {
        Model::Minilm => {
            session.output.notice(text);
            settings::set(&SettingsSource::of(session), SETTING, None, &session.output)
        }
        Model::BuiltIn | Model::Off => {
            session.output.answer(&json!({ "removed": is_removed }), text)
        }
    }
}
