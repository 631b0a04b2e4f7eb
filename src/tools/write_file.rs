//! `write_file`

use super::prelude::*;
use super::relinked::Relinked;
use super::text_file::{self, parse_revision};
use super::{Basis, ReadUpdate, long_line, same_names};
use crate::edits::ReadOnly;
use crate::journal::Change;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::vault::{Kind, Precondition, ResolvedEntry, Vault, VaultError, Want, WriteTarget};

/// Creates a file with this content, or replaces the whole content of an existing one; use
/// edit_file to change a part. Missing folders are created. Case does not matter in the path. If a
/// note elsewhere has this name, nothing is written and the answer names it (`create` writes
/// anyway). Links to another file of a new file's name still lead there. Pass `expected_revision`
/// (from read_file) when you replace a note that you read: the write is refused if it has changed
/// since. It is required if the new content is empty, or less than half of the old and over 1 KB
/// shorter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// The path, from the vault's root: `Projects/Garden.md`. A name without an extension becomes a
    /// note.
    path: String,
    /// The whole content of the file.
    content: String,
    /// What to do if the file exists.
    #[serde(default)]
    if_exists: IfExists,
    /// Create a new file even if a note elsewhere has this name.
    #[serde(default)]
    create: bool,
    /// The revision that was read; the write is refused if the file has changed since.
    expected_revision: Option<String>,
}

/// The action if the file exists.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IfExists {
    /// Replace its content.
    #[default]
    Overwrite,
    /// Leave it and report an error.
    Fail,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path.
    path: String,
    /// Whether the file is new.
    created: bool,
    /// Bytes written.
    bytes: usize,
    /// Identity of the new content.
    revision: String,
    /// Identity of the old content.
    previous_revision: Option<String>,
    /// The change set, for `undo`.
    change_set: u64,
    /// Links to another file with this name, rewritten to keep their targets.
    links: Relinked,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const TITLE: &'static str = "Write a file";
    const TIER: Tier = Tier::Cautious;
    const IDEMPOTENT: bool = true;
    const ONLY_NEW: Option<(&'static str, &'static str)> = Some((argument!(if_exists), "fail"));
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "c.md", "content": "three"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let expected = self.expected_revision.as_deref().map(parse_revision).transpose()?;
        let (path, before) = match context.vault.resolve_new(&self.path)? {
            WriteTarget::Existing(found) if found.meta.kind != Kind::File => {
                return Err(VaultError::NotAFile { path: found.path, kind: found.meta.kind }.into());
            }
            WriteTarget::Existing(found) if self.if_exists == IfExists::Fail => {
                return Err(exists_error(found.path));
            }
            WriteTarget::Existing(found) => {
                if expected.is_none() {
                    refuse_to_shrink(&context.vault, &found, &self.content)?;
                }
                refuse_cut_lines(&context.vault, &found, &self.content)?;
                (found.path, expected.map_or(Precondition::Any, Precondition::Revision))
            }
            WriteTarget::Free(path) if expected.is_some() => {
                return Err(context.vault.gone_since(&path).into());
            }
            WriteTarget::Free(path) => (free(context, path, self.create)?, Precondition::Absent),
        };
        let content = self.content.into_bytes();
        let bytes = content.len();
        let (applied, links) = context.editor().apply_with_links(
            format!("write `{path}`"),
            vec![Change::Write { path: path.clone(), content, before }],
            ReadOnly::Refuse,
        )?;
        let saved = applied.written();
        let created = saved.before.is_none();
        let verb = if created { "created" } else { "overwrote" };
        let size = text_file::size(bytes as u64);
        let data = Output {
            path: path.as_str().to_owned(),
            created,
            bytes,
            revision: saved.revision.to_string(),
            previous_revision: saved.before.map(|revision| revision.to_string()),
            change_set: applied.change_set.0,
            links: Relinked::of(context.vault.view(), &links),
        };
        let mut lines = vec![format!("{verb} `{path}` ({size}), revision {}", data.revision)];
        lines.extend(data.links.text(false));
        Ok(Answer::new(lines.join("\n"), data))
    }

    fn read_updates(written: &Output) -> Vec<ReadUpdate> {
        let (path, revision) = (written.path.clone(), written.revision.clone());
        vec![ReadUpdate::Written { path, revision }]
    }

    fn rests_on(&self) -> Option<Basis> {
        self.expected_revision.is_none().then(|| Basis::Text {
            path: self.path.clone(),
            revision: argument!(expected_revision),
            only_new: (argument!(if_exists), "fail"),
            is_only_new: self.if_exists == IfExists::Fail,
        })
    }
}

/// The error for an existing file that must not be replaced.
fn exists_error(path: VaultPath) -> ToolError {
    let hint = format!(
        "`{path}` exists; change a part of it with edit_file, choose another name, or replace all of \
         it: with the `expected_revision` that read_file gives, or with `if_exists: \"overwrite\"`"
    );
    ToolError { hint: Some(hint), ..VaultError::AlreadyExists { path }.into() }
}

/// The path of a new file: with `.md` if its name has no extension.
///
/// # Errors
/// A note already has that name, and `create` is not set.
fn free(context: &Context, path: VaultPath, create: bool) -> Result<VaultPath, ToolError> {
    if !create {
        same_names::refuse(context, &path, Want::File)?;
    }
    if path.has_type() { Ok(path) } else { Ok(context.vault.new_path(&format!("{path}.md"))?) }
}

/// Refuses shortened lines if the file has longer ones.
fn refuse_cut_lines(vault: &Vault, found: &ResolvedEntry, content: &str) -> Result<(), ToolError> {
    if !content.lines().any(|line| line.len() >= long_line::MAX_CHARACTERS) {
        return Ok(());
    }
    // An unreadable file was not shown either.
    let Ok(old) = vault.read(&found.path) else { return Ok(()) };
    match Text::decode(&old.bytes, found.path.name()) {
        Ok(text) => long_line::refuse_cut(&found.path, &text, content),
        Err(_) => Ok(()),
    }
}

/// Refuses to remove most of a file that the caller has not read. The error deliberately omits the
/// revision: the caller would repeat the call with it without reading.
fn refuse_to_shrink(vault: &Vault, found: &ResolvedEntry, content: &str) -> Result<(), ToolError> {
    let (old, new) = (found.meta.size, content.len() as u64);
    let empties = old > 0 && content.trim().is_empty();
    let shrinks = new * 2 < old && old - new > 1024;
    if !(empties || shrinks) {
        return Ok(());
    }
    let hint = if old > vault.max_file_bytes() {
        "it is too large to be read: delete it, which can be undone, and write it again"
    } else {
        "read it first with read_file and give the `revision` that comes with it, or change only a \
         part with edit_file"
    };
    let sizes = format!("{} instead of {}", text_file::size(new), text_file::size(old));
    let message = format!(
        "`{}` would lose most of its text ({sizes}), and `expected_revision` is not given",
        found.path
    );
    Err(ToolError {
        data: Some(serde_json::json!({ "size": old, "new_size": new })),
        ..ToolError::invalid(message, hint)
    })
}
