//! `get_file_info`

use super::prelude::*;
use super::text_file::{local, local_short, size};
use crate::note::counted::counted;
use crate::note::text::Text;
use crate::vault::{FileContent, Kind, Meta, ResolvedEntry, TrashOption, Want, nonblocking};

/// The most entries of a folder that are counted without blocking.
const MANY: usize = 4_096;

/// Describes a file or folder: size, creation and last change (local time), permissions; for text
/// its lines and words; for a folder its contents and newest change. `/` is the vault itself: also
/// its number of notes, and where deleted files go. Describes a link itself, not its target.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetFileInfo {
    /// The file or folder, from the vault's root; `/` for the whole vault.
    path: String,
}

/// The description.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path; empty for the vault itself.
    path: String,
    /// The vault's name; only for the vault itself.
    vault: Option<String>,
    /// `file`, `folder`, `link` or `special file`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Bytes; for a folder those of all files below it.
    size: u64,
    /// When it was created, local time; none if the file system does not store it.
    created: Option<String>,
    /// Last change, local time.
    modified: String,
    /// Last access as recorded by the system, local time.
    accessed: String,
    /// Such as `rw-r--r--`; none on systems without them.
    permissions: Option<String>,
    /// Whether it can be read.
    readable: bool,
    /// Whether it may be changed.
    writable: bool,
    /// Lines, for text.
    lines: Option<usize>,
    /// Words, for text.
    words: Option<usize>,
    /// The content of a folder.
    children: Option<Children>,
    /// The number of other names of the file (hard links).
    other_names: u64,
    /// The target of a link.
    link_target: Option<String>,
    /// The file that this one is a copy of, by its name: a sync program made it when two machines
    /// had changed the file.
    conflict_of: Option<String>,
    /// Conflict copies in the vault; only for the vault itself.
    conflict_copies: Option<usize>,
    /// Where deleted files go, by Obsidian's settings: `system`, `local` (`.trash` in the vault) or `none`; only for
    /// the vault itself.
    trash: Option<&'static str>,
}

/// The content of a folder.
#[derive(Default, Serialize, JsonSchema)]
pub struct Children {
    /// Files directly in it.
    files: usize,
    /// Folders directly in it.
    folders: usize,
    /// Files in it and in all folders below.
    total_files: usize,
    /// Notes among them.
    total_notes: usize,
    /// Folders in it and in all folders below.
    total_folders: usize,
    /// The file in it or below that changed last.
    newest: Option<Newest>,
}

/// The file that changed last.
#[derive(Serialize, JsonSchema)]
pub struct Newest {
    /// Its path.
    path: String,
    /// Local time.
    modified: String,
    #[serde(skip)]
    time: i64,
}

impl Tool for GetFileInfo {
    const NAME: &'static str = "get_file_info";
    const TITLE: &'static str = "Describe a file or folder";
    const TIER: Tier = Tier::Safe;
    const SELDOM: bool = true;
    const QUICK: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let found = context.find(&self.path, Want::Entry)?;
        let ResolvedEntry { path, meta } = &found;
        let (readable, (lines, words)) = match meta.kind {
            Kind::File => text_statistics(context, &found),
            Kind::Folder | Kind::Link | Kind::Other => (true, (None, None)),
        };
        let children = (meta.kind == Kind::Folder).then(|| children(context, &found));
        let data = Output {
            path: path.as_str().to_owned(),
            vault: path.is_root().then(|| context.vault.name().to_owned()),
            kind: meta.kind.word(),
            size: children.as_ref().map_or(meta.size, |(_, size)| *size),
            created: meta.created.map(local),
            modified: local(meta.modified),
            accessed: local(meta.accessed),
            permissions: meta.mode.map(permissions),
            readable,
            writable: meta.writable_bits(),
            lines,
            words,
            children: children.map(|(children, _)| children),
            other_names: if meta.kind == Kind::File { meta.names.saturating_sub(1) } else { 0 },
            link_target: context.vault.link_target(path),
            conflict_of: conflict_of(context, &found),
            conflict_copies: path.is_root().then(|| conflict_copies(context)),
            trash: path.is_root().then(|| match context.vault.obsidian().trash {
                TrashOption::System => "system",
                TrashOption::Local => "local",
                TrashOption::None => "none",
            }),
        };
        Ok(Answer::new(text(&data, meta), data))
    }
}

fn conflict_of(context: &Context, found: &ResolvedEntry) -> Option<String> {
    let original = match found.meta.kind {
        Kind::File => context.vault.catalogue().conflict_of(&found.path)?,
        _ => return None,
    };
    Some(original.as_str().to_owned())
}

/// Conflict copies of files that the caller may see.
fn conflict_copies(context: &Context) -> usize {
    if nonblocking::is_aborted() {
        return 0;
    }
    let view = context.vault.view();
    context.vault.conflicts().iter().filter(|(_, original)| view.shows(original)).count()
}

/// Lines and words.
type Counts = (Option<usize>, Option<usize>);

/// Whether a file can be read, and the lines and words of a text.
fn text_statistics(context: &Context, found: &ResolvedEntry) -> (bool, Counts) {
    if found.meta.size <= context.vault.max_file_bytes()
        && let Ok(content) = context.vault.read(&found.path)
    {
        return (true, text_counts(&content, found.path.name()));
    }
    (context.vault.open_file(&found.path).is_ok(), (None, None))
}

fn text_counts(content: &FileContent, name: &str) -> Counts {
    match Text::decode(&content.bytes, name) {
        Ok(text) => (Some(text.line_count()), Some(text.body().split_whitespace().count())),
        Err(_) => (None, None),
    }
}

fn children(context: &Context, found: &ResolvedEntry) -> (Children, u64) {
    let catalogue = context.vault.catalogue();
    let mut children = Children::default();
    let (mut bytes, mut newest) = (0, None);
    for (at, entry) in catalogue.within(&found.path).enumerate() {
        if at >= MANY && nonblocking::would_block() {
            break;
        }
        let direct = entry.path().parent() == Some(found.path.borrowed());
        match entry.kind {
            Kind::Folder => {
                children.folders += usize::from(direct);
                children.total_folders += 1;
            }
            Kind::File => {
                children.files += usize::from(direct);
                children.total_files += 1;
                children.total_notes += usize::from(entry.path().is_note());
                newest = newest.max(Some((entry.modified, entry.path())));
                bytes += entry.size;
            }
            Kind::Link | Kind::Other => {}
        }
    }
    children.newest = newest.map(|(modified, path)| Newest {
        path: path.as_str().to_owned(),
        modified: local(modified),
        time: modified,
    });
    (children, bytes)
}

fn permissions(mode: u32) -> String {
    let letters = ['r', 'w', 'x'].iter().cycle().take(9);
    letters
        .enumerate()
        .map(|(at, letter)| if mode & (1 << (8 - at)) != 0 { *letter } else { '-' })
        .collect()
}

fn text(info: &Output, meta: &Meta) -> String {
    let what = match &info.vault {
        Some(name) => format!("the vault `{name}`"),
        None => info.path.clone(),
    };
    let mut lines = vec![format!("{what}: {}, {}", info.kind, size(info.size))];
    if let Some(created) = meta.created {
        lines.push(format!("created {}", local_short(created)));
    }
    lines.push(format!("modified {}", local_short(meta.modified)));
    lines.push(format!("accessed {}", local_short(meta.accessed)));
    if let Some(permissions) = &info.permissions {
        lines.push(format!("permissions {permissions}"));
    }
    if !info.readable {
        lines.push("it cannot be read".to_owned());
    }
    if !info.writable {
        lines.push("it is read-only".to_owned());
    }
    if let (Some(text_lines), Some(words)) = (info.lines, info.words) {
        lines.push(format!("{}, {}", counted(text_lines, "line"), counted(words, "word")));
    }
    if let Some(children) = &info.children {
        let (files, folders) =
            (counted(children.files, "file"), counted(children.folders, "folder"));
        let below = counted(children.total_files, "file");
        let (notes, all) =
            (counted(children.total_notes, "note"), counted(children.total_folders, "folder"));
        lines.push(format!(
            "{files} and {folders} in it; with all below {below} ({notes}) and {all}"
        ));
        if let Some(newest) = &children.newest {
            lines.push(format!("`{}` changed last, {}", newest.path, local_short(newest.time)));
        }
    }
    if info.other_names > 0 {
        let names = usize::try_from(info.other_names).unwrap_or(usize::MAX);
        lines.push(format!("{} of the same file elsewhere", counted(names, "other name")));
    }
    if let Some(target) = &info.link_target {
        lines.push(format!("leads to {target}"));
    }
    if let Some(original) = &info.conflict_of {
        lines.push(format!("a sync program's conflict copy of `{original}`"));
    }
    if let Some(copies @ 1..) = info.conflict_copies {
        lines.push(format!("{} of sync programs", counted(copies, "conflict copy")));
    }
    lines.extend(info.trash.map(|trash| {
        let place = match trash {
            "local" => "`.trash` in the vault",
            "none" => "no trash; the journal keeps a copy",
            _ => "the system's trash",
        };
        format!("what is deleted goes to {place}")
    }));
    lines.join("\n")
}
