//! Reads the properties and tags of a note.

use serde_json::Value as Json;

use super::NotRead;
use crate::index::changes::{Stamp, stamp, unsure_for};
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::note::{markdown, tag};
use crate::vault::{Meta, Vault, VaultError};

/// The most tags of a note.
const MAX_TAGS: usize = 2_000;

#[derive(Debug, Default)]
pub(super) struct Read {
    /// Size and modification time at the time of reading.
    pub stamp: Stamp,
    /// Creation time in milliseconds since 1970; the modification time where the system does not store one.
    pub created: i64,
    /// Whether to read it again: its next change may have the same stamp, or reading failed and may succeed later.
    pub unsure: bool,
    /// In their order.
    pub properties: Vec<(String, Json)>,
    /// Distinct tags of the frontmatter, then of the text, in their first spelling.
    pub tags: Vec<String>,
    pub fault: Option<NotRead>,
}

/// Reads a file of the catalogue; `None` if it is gone. For files other than notes only the metadata is read.
pub(super) fn read(vault: &Vault, path: &VaultPath, file_stamp: Stamp) -> Option<Read> {
    // Read before the content, so that a change during the reading is later than this.
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    let mut read = if path.is_note() {
        of_note(vault, path, file_stamp)?
    } else {
        match vault.stat(path) {
            Ok(meta) => of(&meta),
            Err(error) if error.is_absence() => return None,
            Err(_) => not_read(file_stamp, NotRead::Unreadable),
        }
    };
    read.unsure =
        read.fault == Some(NotRead::Unreadable) || unsure_for(read.stamp.1, now).is_some();
    Some(read)
}

fn of(meta: &Meta) -> Read {
    let created = meta.created.unwrap_or(meta.modified).div_euclid(1_000_000);
    Read { stamp: stamp(meta), created, ..Read::default() }
}

fn not_read(file_stamp: Stamp, fault: NotRead) -> Read {
    let created = file_stamp.1.div_euclid(1_000_000);
    Read { stamp: file_stamp, created, fault: Some(fault), ..Read::default() }
}

fn of_note(vault: &Vault, path: &VaultPath, file_stamp: Stamp) -> Option<Read> {
    let content = match vault.read(path) {
        Ok(content) => content,
        Err(VaultError::TooLarge { .. }) => {
            let known = vault
                .stat(path)
                .map_or_else(|_| not_read(file_stamp, NotRead::TooLarge), |meta| of(&meta));
            return Some(Read { fault: Some(NotRead::TooLarge), ..known });
        }
        Err(_) if vault.stat(path).is_err_and(|error| error.is_absence()) => return None,
        Err(_) => return Some(not_read(file_stamp, NotRead::Unreadable)),
    };
    let mut read = of(&content.meta);
    let Ok(text) = Text::decode(&content.bytes, path.name()) else {
        return Some(Read { fault: Some(NotRead::NotText), ..read });
    };
    let body = text.body();
    let document = markdown::read(body);
    let frontmatter = document.frontmatter.as_ref();
    let own = frontmatter.iter().flat_map(|found| found.tags());
    let inline = document.tags.iter().map(|tag| &body[tag.name.clone()]);
    let mut keys = std::collections::HashSet::new();
    for name in own.chain(inline).take(MAX_TAGS) {
        if keys.insert(tag::key(name)) {
            read.tags.push(name.to_owned());
        }
    }
    match document.frontmatter.map(|found| found.properties) {
        Some(Ok(properties)) => {
            read.properties = properties.into_iter().map(|it| (it.name, it.value)).collect();
        }
        Some(Err(_)) => read.fault = Some(NotRead::NotYaml),
        None => {}
    }
    Some(read)
}
