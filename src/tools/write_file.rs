//! `write_file`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::relinked::Relinked;
use super::text_file::{self, parse_revision};
use super::tool::{argument, touches};
use super::{Answer, Basis, Context, Learnt, Tier, Tool, ToolError, Touch, long_line, twins};
use crate::edits::ReadOnly;
use crate::journal::{Change, Outcome};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::vault::{Before, Kind, ResolvedEntry, Vault, VaultError, Want, WriteTarget};

pub struct WriteFile;

/// Creates a file with this content, or replaces all of one that exists; to change part of a note use
/// edit_file. Missing folders are made. A file is found whatever the case of its path; where a note
/// elsewhere answers to the name, nothing is written and the answer says which (`create` writes all the
/// same). Links to another file of a new file's name still lead there. Give `expected_revision` (from
/// read_file) when replacing a note that was read: the write is refused if it changed meanwhile. It is
/// required where the new content is empty, or less than half of the old and over 1 KB shorter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Where, from the vault's root: `Projects/Garden.md`. A name without an extension becomes a note.
    path: String,
    /// The whole content of the file.
    content: String,
    /// The action if the file exists.
    #[serde(default)]
    if_exists: IfExists,
    /// Make a new file although a note answers to this name already.
    #[serde(default)]
    create: bool,
    /// The revision that was read; the write is refused if the file is another by now.
    #[serde(default)]
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

/// The argument that keeps an existing file.
const ONLY_NEW: (&str, &str) = (argument!(if_exists), "fail");

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
    /// The change set this is part of: what `undo` takes.
    change_set: u64,
    /// Links of other files that had led to another file of this name and were rewritten so that
    /// they still do.
    links: Relinked,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const TITLE: &'static str = "Write a file";
    const TIER: Tier = Tier::Cautious;
    const IDEMPOTENT: bool = true;
    const ONLY_NEW: Option<(&'static str, &'static str)> = Some(ONLY_NEW);
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "c.md", "content": "three"}"#;
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, input: Input) -> Result<Answer<Output>, ToolError> {
        let expected = input.expected_revision.as_deref().map(parse_revision).transpose()?;
        let (path, before) = match context.vault.resolve_new(&input.path)? {
            WriteTarget::Existing(found) if found.meta.kind != Kind::File => {
                return Err(VaultError::NotAFile { path: found.path, kind: found.meta.kind }.into());
            }
            WriteTarget::Existing(found) if input.if_exists == IfExists::Fail => {
                return Err(stays(found.path));
            }
            WriteTarget::Existing(found) => {
                if expected.is_none() {
                    refuse_to_shrink(&context.vault, &found, &input.content)?;
                }
                refuse_what_was_cut(&context.vault, &found, &input.content)?;
                (found.path, expected.map_or(Before::Any, Before::Revision))
            }
            WriteTarget::Free(path) if expected.is_some() => {
                return Err(context.vault.gone_since(&path).into());
            }
            WriteTarget::Free(path) => (free(context, path, input.create)?, Before::Absent),
        };
        let content = input.content.into_bytes();
        let bytes = content.len();
        let (applied, links) = context.editor().apply_with_links(
            format!("write `{path}`"),
            vec![Change::Write { path: path.clone(), content, before }],
            ReadOnly::Refuse,
        )?;
        let [Outcome::Written(saved), ..] = &applied.outcomes[..] else {
            unreachable!("the outcome of a write is that it was written")
        };
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

    fn learnt(written: &Output) -> Vec<Learnt> {
        let (path, revision) = (written.path.clone(), written.revision.clone());
        vec![Learnt::Written { path, revision }]
    }

    fn rests_on(input: &Input) -> Option<Basis> {
        input.expected_revision.is_none().then(|| Basis::Text {
            path: input.path.clone(),
            revision: argument!(expected_revision),
            only_new: ONLY_NEW,
            is_only_new: input.if_exists == IfExists::Fail,
        })
    }
}

/// The error for a file that exists and is to stay.
fn stays(path: VaultPath) -> ToolError {
    let hint = format!(
        "`{path}` exists; change a part of it with edit_file, choose another name, or replace all of \
         it: with the `expected_revision` that read_file gives, or with `if_exists: \"overwrite\"`"
    );
    ToolError { hint: Some(hint), ..VaultError::AlreadyExists { path }.into() }
}

/// Where a new file goes: with `.md` where its name has no extension.
///
/// # Errors
/// A note answers to that name already, and `create` is not set.
fn free(context: &Context, path: VaultPath, create: bool) -> Result<VaultPath, ToolError> {
    if !create {
        twins::refuse(context, &path, Want::File)?;
    }
    match path.has_type() {
        true => Ok(path),
        false => Ok(context.vault.new_path(&format!("{path}.md"))?),
    }
}

/// Refuses lines as they were shown where the file has more of them.
fn refuse_what_was_cut(
    vault: &Vault,
    found: &ResolvedEntry,
    content: &str,
) -> Result<(), ToolError> {
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

/// Refuses to take most of a file away from under a caller who has not shown that it was read. The
/// revision is left out of the error on purpose: it would be given back without a look.
fn refuse_to_shrink(vault: &Vault, found: &ResolvedEntry, content: &str) -> Result<(), ToolError> {
    let (old, new) = (found.meta.size, content.len() as u64);
    let empties = old > 0 && content.trim().is_empty();
    let shrinks = new * 2 < old && old - new > 1024;
    if !(empties || shrinks) {
        return Ok(());
    }
    let hint = if old > vault.max_file_bytes() {
        "it is too large to be read: delete it, which can be undone, and write it anew"
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
        ..ToolError::new(ErrorCode::InvalidInput, message, hint)
    })
}
