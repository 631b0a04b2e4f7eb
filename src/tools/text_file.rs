//! Shared by tools on text files: reading a file whole as text, and printing sizes and times.

use chrono::{DateTime, Local, SecondsFormat, TimeZone as _};

use super::{Context, ToolError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::note::text::{NotText, NotTextReason, Text};
use crate::vault::{FileContent, Revision, Vault};

pub(super) struct TextFile {
    pub path: VaultPath,
    pub content: FileContent,
}

pub(super) fn read(context: &Context, requested: &str) -> Result<TextFile, ToolError> {
    let (path, content) = context.index.names.read(context.name_context(), requested)?;
    Ok(TextFile { path, content })
}

impl TextFile {
    pub fn text(&self) -> Result<Text<'_>, ToolError> {
        Text::decode(&self.content.bytes, self.path.name())
            .map_err(|fault| not_text(&self.path, &fault))
    }

    /// The file as text that may be changed.
    pub fn editable(&self) -> Result<Text<'_>, ToolError> {
        let text = self.text()?;
        if text.encoding().is_editable() {
            Ok(text)
        } else {
            Err(ToolError::new(
                ErrorCode::BinaryFile,
                format!("`{}` is UTF-16 text, which can be read but not edited", self.path),
                "save it as UTF-8 first",
            ))
        }
    }

    /// Rejects a change that is based on another revision.
    pub fn expect(&self, revision: Option<&str>) -> Result<(), ToolError> {
        match revision.map(parse_revision).transpose()? {
            Some(expected) if expected != self.content.revision => {
                let (path, current) = (self.path.clone(), Some(self.content.revision));
                Err(crate::vault::VaultError::Stale { path, current }.into())
            }
            _ => Ok(()),
        }
    }
}

/// Rejects a result that is too large for tools to read.
pub(super) fn fits(vault: &Vault, path: &VaultPath, bytes: usize) -> Result<(), ToolError> {
    let (size, limit) = (bytes as u64, vault.max_file_bytes());
    if size > limit {
        Err(crate::vault::VaultError::TooLarge { path: path.clone(), size, limit }.into())
    } else {
        Ok(())
    }
}

pub(super) fn parse_revision(text: &str) -> Result<Revision, ToolError> {
    text.parse().map_err(|error: crate::vault::NoRevision| {
        let hint = "use the `revision` of the last read_file, write_file or edit_file";
        ToolError::invalid(error.to_string(), hint)
    })
}

pub(super) fn not_text(path: &VaultPath, fault: &NotText) -> ToolError {
    let hint = match fault.reason {
        NotTextReason::InvalidUtf8 { .. } if path.is_note() => {
            "save it as UTF-8, in an editor that knows its encoding; search_files finds lines in it \
             all the same"
        }
        _ => {
            "get_file_info shows more about it; only text, PDFs and PNG, JPEG, GIF and WebP images can be read"
        }
    };
    ToolError {
        data: Some(serde_json::json!({ "size": fault.size })),
        ..ToolError::new(fault.code(), format!("`{path}` is {fault}"), hint)
    }
}

/// Nanoseconds since the epoch as local time for programs: `2026-11-21T10:28:45+01:00`.
pub(super) fn local(nanoseconds: i64) -> String {
    moment(nanoseconds).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The same for people: `2026-11-21 10:28`.
pub(super) fn local_short(nanoseconds: i64) -> String {
    moment(nanoseconds).format("%Y-%m-%d %H:%M").to_string()
}

fn moment(nanoseconds: i64) -> DateTime<Local> {
    Local.timestamp_nanos(nanoseconds)
}

/// Bytes for people: `812 B`, `3.1 KB`, `12 MB`.
pub fn size(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 10.0 {
        format!("{value:.1} {}", units[unit])
    } else {
        format!("{value:.0} {}", units[unit])
    }
}

/// A path for people: misleading characters are escaped.
pub(super) fn shown(path: &str) -> String {
    if path.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        path.to_owned()
    } else {
        path.chars().flat_map(crate::note::path::show).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_path_is_shown_character_by_character(path in "[ -~é\u{7f}\u{200b}\n]{0,12}") {
            let each: String = path.chars().flat_map(crate::note::path::show).collect();
            prop_assert_eq!(shown(&path), each);
        }
    }
}
