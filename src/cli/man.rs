//! `steward man`: writes the help as man pages.

#![expect(clippy::disallowed_methods, reason = "a folder of the user's, outside every vault")]

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;

use super::{Failure, Output, Result, help};

#[derive(Debug, Args)]
pub struct ManArguments {
    /// The folder for the pages, such as ~/.local/share/man/man1 [default: print the first one]
    pub folder: Option<PathBuf>,
}

/// Writes a page for each subcommand of `command` into a folder, which is made if it is missing, or prints the main page.
pub fn run(arguments: &ManArguments, command: Command, output: &Output) -> Result<()> {
    let command = help::explained(command);
    match &arguments.folder {
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            output.raw(&page)?;
        }
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder))
                .map_err(|error| {
                    let message = format!("cannot write into `{}`: {error}", folder.display());
                    Failure::other("io_error", message, "name a folder that you can write to")
                })?;
            let text =
                format!("wrote the pages into {}; `man steward` shows the first", folder.display());
            output.answer(&serde_json::json!({ "folder": folder }), text)?;
        }
    }
    Ok(())
}
