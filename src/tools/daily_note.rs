//! `daily_note`

use chrono::{DateTime, FixedOffset, NaiveDate};

use super::ReadUpdate;
use super::prelude::*;
use super::text_file::{TextFile, fits};
use crate::edits::ReadOnly;
use crate::journal::Change;
use crate::note::code::ErrorCode;
use crate::note::edit::{Edit, apply_edit};
use crate::note::moment::Formatted;
use crate::note::path::VaultPath;
use crate::note::spoken::day::{self, Day as SpokenDay};
use crate::note::template::{self, Variables};
use crate::note::text::Text;
use crate::vault::{DailyNotes, Kind, Precondition, ResolvedEntry, VaultError, Want, WriteTarget};

/// How often to retry if the note changes meanwhile.
const ATTEMPTS: usize = 5;

/// A day without a year means the nearest such day, if that is at most this many days away.
const SURELY_MEANT: i64 = 92;

/// Bytes of the note's text in an answer.
const MAX_CONTENT_BYTES: usize = 20 << 10;

/// Opens the daily note of a day as set in Obsidian (folder, date format, template), creates it if
/// it does not exist, and can append text. Returns the note's path and text. Use it for "today's
/// note", journals and quick notes; Obsidian's own command opens the same note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DailyNote {
    /// The day: a date such as `2026-11-21`, or in words: `yesterday`, `last friday`, `three days ago`, `november
    /// fourteenth`. Default: today.
    date: Option<String>,
    /// Lines to append to the note.
    append: Option<String>,
    /// Create the note if it does not exist. If false, the answer only gives the path that it would
    /// have.
    #[serde(default = "yes")]
    create: bool,
}

fn yes() -> bool {
    true
}

/// The note.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its real path, or the path that it would have.
    path: String,
    /// The day: `2026-11-21`.
    date: String,
    /// Whether it exists now.
    exists: bool,
    /// Whether this call created it.
    created: bool,
    /// Whether text was added.
    appended: bool,
    /// Its text, if it exists; at most 20 KB.
    content: Option<String>,
    /// Whether there is more text: continue with read_file.
    truncated: bool,
    /// Identity of the present content.
    revision: Option<String>,
    /// Remarks on the settings for a person: unknown letters of a format, a missing template.
    remarks: Vec<String>,
    /// The change set, for `undo`; none if nothing changed.
    change_set: Option<u64>,
}

/// The day, and the path that the settings give it.
struct Day {
    settings: DailyNotes,
    /// The day, at the present time of day.
    time: DateTime<FixedOffset>,
    remarks: Vec<String>,
}

impl Tool for DailyNote {
    const NAME: &'static str = "daily_note";
    const TITLE: &'static str = "Open the daily note";
    const TIER: Tier = Tier::Cautious;
    const EXAMPLE: &'static str = r#"{"append": "text"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        if self.append.as_ref().is_some_and(String::is_empty) {
            let hint = "give the lines to add, or leave it out";
            return Err(ToolError::invalid("`append` is empty", hint));
        }
        let time = day_asked(context, self.date.as_deref().unwrap_or("today"))?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let settings = context.vault.daily_notes()?;
            let mut day = Day { settings, time, remarks: Vec::new() };
            match open_or_create(context, &self, &mut day) {
                // It was created or changed just now: retry.
                Err(error)
                    if attempts < ATTEMPTS
                        && matches!(
                            error.code,
                            ErrorCode::StaleRevision | ErrorCode::AlreadyExists
                        ) => {}
                done => return done.map(|data| Answer::new(words(&data), data)),
            }
        }
    }

    fn read_updates(note: &Output) -> Vec<ReadUpdate> {
        let Some(revision) = note.revision.clone() else { return Vec::new() };
        let last = u64::from(note.content.is_some() && !note.truncated);
        vec![ReadUpdate::Read { path: note.path.clone(), revision, first: 1, last, lines: 1 }]
    }
}

/// The day that `requested` names, at the present time of day. A day without a year is the one with
/// a note, else the nearest unless that is ambiguous.
pub(super) fn day_asked(
    context: &Context,
    requested: &str,
) -> Result<DateTime<FixedOffset>, ToolError> {
    let now = context.clock.now();
    let unknown = || {
        ToolError::invalid(
            format!("`{requested}` is not a date"),
            "give a date such as `2026-11-21`, `November 14th` or `last friday`, or `today`, `tomorrow`, \
             `yesterday`",
        )
    };
    let date = match day::parse(requested, now.date_naive()).ok_or_else(unknown)? {
        SpokenDay::Sure(date) => date,
        SpokenDay::Yearless { past, coming } => {
            let settings = context.vault.daily_notes()?;
            let has_note = |date: &NaiveDate| {
                let path = day::at_the_time_of(*date, now).map(|time| settings.path(&time).text);
                path.is_some_and(|path| context.vault.resolve(&path, Want::File).is_ok())
            };
            let away = |date: NaiveDate| (date - now.date_naive()).num_days().abs();
            let nearest = if away(past) <= away(coming) { past } else { coming };
            match (has_note(&past), has_note(&coming)) {
                (true, false) => past,
                (false, true) => coming,
                _ if away(nearest) <= SURELY_MEANT => nearest,
                _ => {
                    let message = format!("`{requested}` could be {past} or {coming}");
                    return Err(ToolError::invalid(message, "give the year too"));
                }
            }
        }
    };
    day::at_the_time_of(date, now).ok_or_else(unknown)
}

fn open_or_create(
    context: &Context,
    input: &DailyNote,
    day: &mut Day,
) -> Result<Output, ToolError> {
    match place(context, &day.path())? {
        WriteTarget::Existing(ResolvedEntry { path, meta }) if meta.kind == Kind::File => {
            existing(context, input, day, path)
        }
        WriteTarget::Existing(ResolvedEntry { path, meta }) => {
            Err(VaultError::NotAFile { path, kind: meta.kind }.into())
        }
        WriteTarget::Free(path) if input.create => {
            let mut bytes = day.template(context, &path)?;
            if let Some(append) = &input.append {
                bytes = appended(&path, &bytes, append)?;
            }
            write(context, day, path, bytes, Precondition::Absent, input.append.is_some())
        }
        WriteTarget::Free(path) if input.append.is_some() => Err(ToolError::not_found(
            format!("the daily note `{path}` does not exist"),
            "leave `create` out to make it",
        )),
        WriteTarget::Free(path) => Ok(day.output(&path)),
    }
}

/// The path of the note, whether it exists or not. The error for a caller who may not see the folder does not name it.
pub(super) fn place(context: &Context, requested: &str) -> Result<WriteTarget, ToolError> {
    let view = context.vault.view();
    let place = context.vault.resolve_new(requested);
    let path = match &place {
        Ok(WriteTarget::Existing(found)) => Some(found.path.clone()),
        Ok(WriteTarget::Free(path)) => Some(path.clone()),
        Err(_) => context.vault.parse(requested).ok(),
    };
    if !view.is_all() && path.is_none_or(|path| !view.holds(&path)) {
        return Err(ToolError::new(
            ErrorCode::Denied,
            "the folder of daily notes is not visible to this caller",
            "`[policy] read` in the settings says what callers of this kind may see",
        ));
    }
    Ok(place?)
}

fn existing(
    context: &Context,
    input: &DailyNote,
    day: &mut Day,
    path: VaultPath,
) -> Result<Output, ToolError> {
    let content = context.vault.read(&path)?;
    let file = TextFile { path, content };
    let Some(append) = &input.append else {
        let mut data = day.output(&file.path);
        data.exists = true;
        data.revision = Some(file.content.revision.to_string());
        show(&mut data, file.text()?.body());
        return Ok(data);
    };
    file.editable()?;
    let bytes = appended(&file.path, &file.content.bytes, append)?;
    let before = Precondition::Revision(file.content.revision);
    write(context, day, file.path, bytes, before, true)
}

fn write(
    context: &Context,
    day: &mut Day,
    path: VaultPath,
    bytes: Vec<u8>,
    before: Precondition,
    appended: bool,
) -> Result<Output, ToolError> {
    fits(&context.vault, &path, bytes.len())?;
    let verb = if before == Precondition::Absent { "make" } else { "add to" };
    let change = Change::Write { path: path.clone(), content: bytes.clone(), before };
    let title = format!("{verb} the daily note `{path}`");
    // A new name can redirect links to another note with that name.
    let (applied, _) = context.editor().apply_with_links(title, vec![change], ReadOnly::Refuse)?;
    let saved = applied.written();
    let mut data = day.output(&path);
    data.exists = true;
    data.created = saved.before.is_none();
    data.appended = appended;
    data.revision = Some(saved.revision.to_string());
    data.change_set = Some(applied.change_set.0);
    if let Ok(text) = Text::decode(&bytes, path.name()) {
        show(&mut data, text.body());
    }
    Ok(data)
}

/// The bytes with lines at their end. The last line ends as it did; in an empty note, with a
/// newline.
fn appended(path: &VaultPath, bytes: &[u8], lines: &str) -> Result<Vec<u8>, ToolError> {
    let content = if lines.ends_with('\n') || !bytes.is_empty() {
        lines.to_owned()
    } else {
        format!("{lines}\n")
    };
    let edited = apply_edit(bytes, &Edit::InsertAfter { line: -1, content });
    let edited = edited.map_err(|error| ToolError {
        hint: error.hint().map(str::to_owned),
        ..ToolError::plain(error.code(), format!("could not add to `{path}`: {error}"))
    })?;
    Ok(edited.bytes)
}

fn show(data: &mut Output, text: &str) {
    let fits = |end: &usize| text.is_char_boundary(*end);
    let end = (0..=MAX_CONTENT_BYTES.min(text.len())).rev().find(fits).unwrap_or(0);
    data.truncated = end < text.len();
    data.content = Some(text[..end].to_owned());
}

impl Day {
    /// The note's path as the settings name it.
    fn path(&mut self) -> String {
        let Formatted { text, unknown } = self.settings.path(&self.time);
        self.remark_on(&unknown, "the daily note's date format");
        text
    }

    fn remark_on(&mut self, unknown: &[char], what: &str) {
        if !unknown.is_empty() {
            let letters: Vec<String> = unknown.iter().map(|c| format!("`{c}`")).collect();
            let letters = letters.join(", ");
            self.remarks.push(format!("{letters} in {what} has no meaning and stays as it is"));
        }
    }

    /// The initial content of a new note at `path`.
    fn template(&mut self, context: &Context, path: &VaultPath) -> Result<Vec<u8>, ToolError> {
        let Some(requested) = self.settings.template.clone() else { return Ok(Vec::new()) };
        let found = match context.vault.resolve(&requested, Want::File) {
            Ok(found) => found.path,
            Err(error) => {
                // It may be the name of a note hidden from the caller.
                self.remarks.push(if context.vault.view().is_all() {
                    format!("made without the template `{requested}`: {error}")
                } else {
                    "made without the template, which is not found".to_owned()
                });
                return Ok(Vec::new());
            }
        };
        let file = TextFile { content: context.vault.read(&found)?, path: found };
        let variables = Variables {
            title: path.stem(),
            time: self.time,
            date_format: &self.settings.date_format,
            time_format: &self.settings.time_format,
        };
        let filled = template::fill(file.text()?.body(), &variables);
        self.remark_on(&filled.unknown, &format!("the template `{}`", file.path));
        Ok(filled.text.into_bytes())
    }

    fn output(&self, path: &VaultPath) -> Output {
        Output {
            path: path.as_str().to_owned(),
            date: self.time.format("%Y-%m-%d").to_string(),
            exists: false,
            created: false,
            appended: false,
            content: None,
            truncated: false,
            revision: None,
            remarks: self.remarks.clone(),
            change_set: None,
        }
    }
}

fn words(data: &Output) -> String {
    let what = match (data.exists, data.created, data.appended) {
        (false, ..) => "is not there yet",
        (_, true, true) => "was made, with the lines added",
        (_, true, false) => "was made",
        (_, false, true) => "has the lines added",
        (_, false, false) => "is there",
    };
    let revision = data.revision.as_ref().map_or(String::new(), |id| format!(", revision {id}"));
    let mut lines = vec![format!("the daily note `{}` {what}{revision}", data.path)];
    lines.extend(data.remarks.iter().map(|remark| format!("[{remark}]")));
    lines.extend(data.content.clone().filter(|content| !content.is_empty()));
    if data.truncated {
        lines.push("[there is more of it; read_file reads on]".to_owned());
    }
    lines.join("\n")
}
