//! Obsidian templates that rules insert, each read once.

use std::collections::HashMap;

use super::world::World;
use crate::bases::date::Times;
use crate::note::path::VaultPath;
use crate::note::template::{self, Variables};
use crate::note::text::Text;
use crate::vault::Want;

/// The templates read so far, or the reason why one could not be read, by name.
#[derive(Default)]
pub struct NoteTemplates(HashMap<String, Result<String, String>>);

impl NoteTemplates {
    /// The expanded template for the note at this path.
    pub fn filled(
        &mut self,
        world: &World<'_>,
        name: &str,
        path: &VaultPath,
    ) -> Result<String, String> {
        let vault = world.vault;
        let settings = vault.daily_notes().map_err(|error| error.to_string())?;
        if !self.0.contains_key(name) {
            let folder = settings.templates.as_deref().unwrap_or_default().trim_matches('/');
            let found = vault.resolve(name, Want::File).or_else(|error| match folder {
                "" => Err(error),
                folder => vault.resolve(&format!("{folder}/{name}"), Want::File),
            });
            let read = found.map_err(|_| format!("there is no template `{name}`"));
            let read = read.and_then(|found| {
                let content = vault.read(&found.path).map_err(|error| error.to_string())?;
                let text = Text::decode(&content.bytes, found.path.name());
                Ok(text.map_err(|fault| format!("`{}` is {fault}", found.path))?.body().to_owned())
            });
            self.0.insert(name.to_owned(), read);
        }
        let template = self.0.get(name).cloned().unwrap_or_else(|| Ok(String::new()))?;
        let variables = Variables {
            title: path.stem(),
            time: Times::new(world.scope.zone).local(world.scope.now),
            date_format: &settings.date_format,
            time_format: &settings.time_format,
        };
        Ok(template::fill(&template, &variables).text)
    }
}
